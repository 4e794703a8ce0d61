"""Each method of the publications is given by a command: a small run of it calls what the table names."""

import ast
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from benchmarks import own_data, pages, papers
from benchmarks.methods import METHODS
from benchmarks.paper_lines import PAPERS
from benchmarks.papers import BY
from calm.plugins.mitigate.mitigations import fault
from tests.papers import small_runs
from tests.plugins.self_preference.conftest import Studio, judge_file, questions
from tests.servers import wire_server
from tests.servers.authors import MARKS, authors_respond

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "measured" / "papers.md"
EVERY = [(paper, method) for paper, methods in METHODS for method in methods]
UDA = ["--answers", "cases.jsonl", "--weights", "agreement", "--epochs", "2", "--keep-collapsed", "-o", "m.safetensors"]
PRINTED = TESTS / "papers" / "data" / "uda_human_"
RUNS = {
    "pairwise": small_runs.own("pairwise"),
    "each": ["self-preference", "pairwise.json", "--votes", "each"],
    "plurality": ["self-preference", "pairwise.json", "--votes", "plurality"],
    "probabilities": small_runs.own("sure"),
    "score": small_runs.own("score"),
    "rubric": small_runs.own("rubric"),
    "rubric_all": small_runs.own("rubric_all"),
    "points": small_runs.own("points"),
    "ifeval": ["self-preference", "recorded:ifeval/GPT-5", "--committee", "GPT-5,Qwen-4B,Gemma-4B", "--slices", "axis"],
    "headlines": ["self-preference", "recorded:headlines/deepseek-chat"],
    "uda train": ["uda", "train", "pairwise.json", *UDA],
    "uda report": ["uda", "report", f"{PRINTED}baseline.csv", "--gold", f"{PRINTED}row.csv"],
}
"""The command of each run in this process."""
NEEDS = {"uda train": "pairwise", "each": "pairwise", "plurality": "pairwise", "compare": "protocol"}
"""What is run before."""
PROTOCOLS = {"protocol": "planted:noise=0.1", "protocol of scores": "planted:noise=0.1,task=score"}
"""The judges of the runs in a process of their own."""


def likely(folder):
    """Return what `calm self-preference --perplexity` calls, of models on a server that says how likely texts are."""
    with wire_server(authors_respond(questions(folder, 12))) as server:
        for model in MARKS:
            judge_file(folder, model, server, "rubric-all")
        one = Studio(folder, server)
        answers, cache = one.answer(), folder / "cache.sqlite"
        given = [*one.judges, f"--cases={answers}", "--perplexity", f"--cache-file={cache}"]
        status, names = small_runs.called("self-preference", *given)
    assert status == 0
    return names


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
        if name in NEEDS:
            made(NEEDS[name])
        if name in PROTOCOLS:
            return small_runs.gate(folder, PROTOCOLS[name], f"{name.replace(' ', '-')}.json")
        if name == "compare":
            shutil.copy("protocol.json", "copy.json")
            return small_runs.called("compare", "protocol.json", "copy.json", "--as", "calm")[1]
        if name == "perplexity":
            return likely(tmp_path_factory.mktemp("likely"))
        status, names = small_runs.called(*RUNS[name])
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
            else:
                assert set(method.calls) <= run(method.run)


def test_each_method_has_a_test_of_a_known_value(subtests):
    """The test that the table names is there."""
    for paper, method in EVERY:
        with subtests.test(f"{paper}: {method.name}"):
            file, _, name = method.test.partition("::")
            tree = ast.parse((TESTS / file).read_text("utf-8"))

            assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@cache
def figures(place):
    """Return the figures of a publication and what is called while they are computed."""
    return small_runs.profiled(lambda: list(PAPERS[place][1]()))


@pytest.mark.parametrize("place", range(len(PAPERS)), ids=[title for title, _ in PAPERS])
def test_each_figure_is_computed_by_what_serves_users(place):
    """What the page names for a figure is called while it is computed, and the table of methods has its command."""
    lines, called = figures(place)

    for one in lines:
        assert (one.ours == "-") <= (not one.by)
        if one.by:
            assert one.by in called
            assert BY[one.by]


def test_two_printed_numbers_are_no_reproduction():
    """No figure that comes from other printed numbers is counted as equal."""
    counted = dict(re.findall(r"^\| (.+) \| (\S+) \| \S+ \|$", papers.counts(), re.MULTILINE))

    assert [title for title, _ in PAPERS if counted[title] == "-"] == [
        title for place, (title, _) in enumerate(PAPERS) if not any(one.raw and one.by for one in figures(place)[0])
    ]


def test_each_figure_of_a_source_belongs_to_a_method():
    """Its line names a method of the table, and no line claims more equal figures than its source has."""
    names = {method.name for _, method in EVERY}
    every = [one for place in range(len(PAPERS)) for one in figures(place)[0]]

    assert {one.method for one in [*every, *own_data.FIGURES] if one.method} <= names
    assert all(one.cells[1] <= one.cells[0] for one in every)
    assert not [one.what for one in every if one.cells[1] < one.cells[0] and not one.remark]


def test_the_commands_compute_what_a_second_program_does(run):
    """Each figure of the small runs; the page shows the same."""
    for name in own_data.KINDS:
        run(name)

    found = own_data.compared(Path())

    assert {one.name: ours for one, ours, _ in found} == pytest.approx(
        {one.name: second for one, _, second in found}, abs=own_data.CLOSE
    )
    assert pages.block(PAGE, "papers-own") == own_data.table(found)
