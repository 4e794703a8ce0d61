"""
A real llama.cpp server computes fewer prompt tokens of a gate that asks case by case.

    CALM_LLAMA_SERVER=llama-server CALM_GGUF=model.gguf pytest tests/slow/test_prefixes.py -s      # some minutes

Without the two it is skipped: see docs/how-to/test-against-real-servers.md. With the package `gguf`, the first layer
of the model is used, which is faster and counts alike.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.prefixes import Way, cut, run

SERVER, MODEL = os.environ.get("CALM_LLAMA_SERVER"), os.environ.get("CALM_GGUF")
CASES = 10
LESS = 0.80
"""At most this share of what the other order costs; 0.66 was measured with 20 cases."""
pytestmark = pytest.mark.skipif(not (SERVER and MODEL), reason="needs CALM_LLAMA_SERVER and CALM_GGUF")


def test_case_by_case_a_server_computes_less(tmp_path):
    """As many tokens are sent, but where a pilot says otherwise, and fewer of them are computed."""
    model = cut(Path(MODEL), 1, tmp_path) if find_spec("gguf") else Path(MODEL)

    by_itself, by_case = (run(SERVER, model, Way(1, 1, 0, by_case), cases=CASES) for by_case in (False, True))

    print(by_itself, by_case, sep="\n")
    assert by_case.sent == pytest.approx(by_itself.sent, rel=0.05)
    assert by_case.computed < LESS * by_itself.computed
