"""`cases()`: those of the run, and made-up ones with their gold label; both shrink to what a person reads first."""

from importlib import import_module
from random import Random

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from calm.cases import bundled
from calm.core.checks import verify
from calm.core.verdict import FAMILY
from calm.errors import EstimateError
from calm.strategies import cases
from calm.strategies.cases import during, running
from tests.planted import pairs

QUIET = settings(database=None, deadline=None)


def smallest(strategy, holds=lambda _: True):
    """Return what Hypothesis shrinks to, with a fixed seed."""
    return find(strategy, holds, settings=settings(QUIET, max_examples=2_000), random=Random(1))


def test_without_a_run_they_are_the_bundled_pairs():
    """A test that asks nobody draws what ships."""
    assert smallest(cases()) == bundled("pairwise")[0]


def test_the_cases_of_a_run_shrink_to_the_earliest_that_fails():
    """In the order of their file: a case is looked up when it is drawn."""
    strategy = cases()

    with during(pairs(40), "pairwise", ""):
        assert smallest(strategy).id == "c000"
        assert smallest(strategy, lambda case: case.id > "c011").id == "c012"
    assert running().cases[0] == bundled("pairwise")[0]


def test_a_run_without_cases_is_an_error_that_says_so():
    """Nothing can be drawn."""
    with during((), "pairwise", ""), pytest.raises(EstimateError, match="at least one case"):
        smallest(cases())


@pytest.mark.parametrize("task", sorted(FAMILY))
def test_made_up_cases_fit_the_task_and_hold_the_truth(task):
    """Whatever is drawn, the gold label is the sum."""

    @settings(QUIET, max_examples=60, derandomize=True)
    @given(cases(generated=True))
    def holds(case):
        first, second = map(int, case.question.removeprefix("What is ").removesuffix("?").split(" + "))
        right = {a.id for a in case.answers if a.text.startswith(f"It is {first + second}.")}
        match FAMILY[task]:
            case "pairwise":
                assert len(case.answers) == 2
                assert right == {case.better}
            case "listwise":
                assert len(case.answers) > 2
                assert right == {case.better}
                assert {i for i, score in case.scores.items() if score == max(case.scores.values())} == right
            case "label":
                assert (case.label == "right") == (right == {"only"})
            case _ if task == "score":
                assert (case.scores["only"] == 10) == (right == {"only"})
            case _:
                said = {c.id: verify(c.check, case.answers[0].text) for c in case.criteria}
                assert case.met == {"only": said}
                assert said["right"] == (right == {"only"})

    with during((), task, ""):
        holds()


def test_a_made_up_case_shrinks_to_nothing_plus_nothing():
    """Numbers get small and remarks go."""
    case = smallest(cases(generated=True))

    assert (case.question, [a.text for a in case.answers]) == ("What is 0 + 0?", ["It is 0.", "It is 1."])


def test_equal_ids_mean_equal_cases(monkeypatch):
    """The words that an edit draws depend on the id, so two cases must not share one: the sums are few, they meet."""
    monkeypatch.setattr(import_module("calm.strategies.cases"), "MOST", 0)

    @settings(QUIET, max_examples=60, derandomize=True)
    @given(st.lists(cases(generated=True), min_size=10, max_size=20))
    def holds(found):
        assert len({case.id for case in found}) == len({repr(case.content()) for case in found})

    holds()
