"""Each method of the publications is given by a command: a small run of it calls what the table names."""

import ast
from functools import cache
from pathlib import Path

import pytest

from benchmarks.methods import METHODS
from calm.judges.mitigations import fault
from tests.papers import small_runs

TESTS = Path(__file__).parents[1]
EVERY = [(paper, method) for paper, methods in METHODS for method in methods]
UDA = ["--answers", "cases.jsonl", "--weights", "agreement", "--epochs", "2", "-o", "uda.safetensors"]
RUNS = {
    "pairwise": [small_runs.own("pairwise")],
    "probabilities": [small_runs.own("sure")],
    "score": [small_runs.own("score")],
    "rubric": [small_runs.own("rubric")],
    "rubric_all": [small_runs.own("rubric_all")],
    "points": [small_runs.own("points")],
    "ifeval": [
        ["self-preference", "recorded:ifeval/GPT-5", "--committee", "GPT-5,Qwen-4B,Gemma-4B", "--slices", "axis"]
    ],
    "headlines": [["self-preference", "recorded:headlines/deepseek-chat"]],
    "uda": [small_runs.own("pairwise"), ["uda", "train", "pairwise.json", *UDA]],
}
"""The commands of each run in this process; what the last one calls counts."""
PROTOCOLS = {"protocol": "planted:noise=0.1", "protocol of scores": "planted:noise=0.1,task=score"}
"""The judges of the runs in a process of their own."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return what a run calls; each run is made once."""
    folder = tmp_path_factory.mktemp("runs")
    small_runs.write_inputs(folder)
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.syspath_prepend(str(folder))

    @cache
    def made(name):
        if name in PROTOCOLS:
            return small_runs.gate(folder, PROTOCOLS[name], f"{name.replace(' ', '-')}.json")
        if name == "compare":
            made("protocol")
            return small_runs.called("compare", "protocol.json", "protocol.json", "--as", "calm")[1]
        *before, last = RUNS[name]
        for arguments in before:
            assert small_runs.called(*arguments)[0] == 0
        status, names = small_runs.called(*last)
        assert status == 0
        return names

    yield made
    patch.undo()


def test_each_method_is_called_by_its_command(run, subtests):
    """The functions that compute it are called while the documented command runs."""
    for paper, method in EVERY:
        with subtests.test(f"{paper}: {method.name}"):
            if method.run == "mitigations":
                assert [fault(name) for name in method.calls] == [""]
            elif method.run != "perplexity":  # its own test asks a server
                assert set(method.calls) <= run(method.run)


def test_each_method_has_a_test_of_a_known_value(subtests):
    """The test that the table names is there."""
    for paper, method in EVERY:
        with subtests.test(f"{paper}: {method.name}"):
            file, _, name = method.test.partition("::")
            tree = ast.parse((TESTS / file).read_text("utf-8"))

            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
