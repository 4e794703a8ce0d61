"""`@pytest.mark.calm(repeats=...)` and `@pytest.mark.calm_every_variant`: what a test says of how it is asked."""

import pytest

TWICE = """
import pytest

from calm import robustness_rate
from edits import flatter


@pytest.mark.calm(repeats="{repeats}")
def test_courtesy_is_observed(probe):
    probe(flatter).observe(robustness_rate)
"""


@pytest.mark.parametrize("options", [(), ("--calm-repeats=4+4",)])
def test_a_test_states_its_own_asks(project, workers, options):
    """The design of a marked test is its own, whatever the run's, and the record says so."""
    project.write("test_flattery.py", TWICE.format(repeats="2+1"))

    project.run("--calm-results=results.json", *options, *workers)

    body = project.results()
    assert body["repeats"] == "2+1"
    [finding] = body["findings"]
    assert finding["asks"] == "2+1"
    assert {(len(t["clean"]), len(t["perturbed"])) for t in finding["trials"]} == {(2, 1)}


def test_asks_that_mean_nothing_are_a_configuration_error(project):
    """The message names the test and what it should say."""
    project.write("test_flattery.py", TWICE.format(repeats="two"))

    result = project.run("--calm-results=results.json")

    assert result.ret == 4
    result.stdout.fnmatch_lines(["*test_courtesy_is_observed*repeats=...): expected clean+perturbed asks*got 'two'*"])


EXTRA = """
import pytest

from calm import robustness_rate
from edits import flatter, greet

pytestmark = pytest.mark.calm_every_variant({how})


def test_courtesy_is_observed(probe):
    probe(flatter).observe(robustness_rate)


def test_a_greeting_is_observed(probe):
    probe(greet).observe(robustness_rate)
"""
BOTH = {"flattery/robustness_rate/flatter", "flattery/robustness_rate/greet"}


@pytest.fixture
def paper(project):
    """Return a project with a protocol in a folder of its own."""
    project.write("paper/test_protocol.py", EXTRA.format(how="folder=True"))
    return project


def test_a_protocol_is_asked_only_if_its_folder_or_file_is_named(paper, subtests):
    """Neither a run of everything nor `--calm-every-variant` asks it; the name of a test unlocks that test alone."""
    for named, asked in [
        ((".",), set()),
        ((".", "--calm-every-variant"), set()),
        (("paper",), BOTH),
        (("paper/test_protocol.py",), BOTH),
        ((".", "paper/test_protocol.py"), BOTH),
        ((".", "paper"), BOTH),
        (("paper/test_protocol.py::test_a_greeting_is_observed",), {"flattery/robustness_rate/greet"}),
        ((".", "paper/test_protocol.py::test_a_greeting_is_observed"), {"flattery/robustness_rate/greet"}),
    ]:
        (paper.path / "results.json").unlink(missing_ok=True)
        with subtests.test(repr(named)):
            paper.run("--calm-results=results.json", "-k", "test_protocol", *named)

            written = (paper.path / "results.json").exists()
            assert (set(paper.outcomes()) if written else set()) == asked
