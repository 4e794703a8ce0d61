"""Imports all of calm before the first inner run of pytest."""

import pytest

from tests.docs.running import import_all


@pytest.fixture(autouse=True, scope="session")
def all_imported():
    """pytester unloads what is imported after it: what has parts in C, or is compared, must be there before."""
    import_all()
