"""
Every block of every page is run, or `tests/docs/not_run.toml` says why not.

`pytest tests/slow/test_doc_blocks.py` runs all pages, with some minutes of processor; `pytest tests/` runs the quick
ones. Blocks that need a package of another tool are skipped where it is not installed.
"""

# pytester unloads what an inner run imported, and modules with C extensions cannot be imported twice in one process
import jax  # noqa: F401
import matplotlib.pyplot as plt  # noqa: F401
import pyarrow as pa  # noqa: F401
import pytest

import calm.plugins.uda.training  # noqa: F401
from tests.docs.pages import name
from tests.docs.running import RUN, Reader, import_all

import_all()


@pytest.mark.parametrize("page", RUN, ids=name)
def test_each_block_of_a_page_runs(page, pytester, monkeypatch, capfd, subtests):
    """As it stands, after the ones above it."""
    Reader(page, pytester, monkeypatch, capfd).does_all(subtests)
