"""Edits of the prompt of a judge that is mitigated."""

from collections import Counter

import pytest

from calm.core.claims import Outcome
from calm.experiment.run import run
from calm.plugins.mitigate.asks import swap
from tests.core.test_prompt_edits import ROBUST, decided, judging, kindly, knowing, planned_and_made, please
from tests.planted import Planted, fair, pairs, setup


def test_a_mitigation_passes_the_edit_on():
    """Both orders are asked with the edited prompt."""
    with judging(knowing, wrap=swap) as (ready, wire):
        result = run(ready, please, ROBUST, top_up=False)

    assert Counter(seen.messages[-1][1].endswith(" please") for seen in wire.judged) == {True: 48, False: 96}
    assert result.rulings[0].trials.rows[0].perturbed[0].answer == "good"


def test_a_mitigated_judge_without_a_prompt_is_not_tested():
    """Nor has a mitigation around it a prompt that could be rewritten."""
    with setup(swap(Planted(fair)), pairs(3)) as ready:
        found = decided(run(ready, please, ROBUST))

    assert found == (Outcome.NOT_TESTED, "the judge has no prompt that can be rewritten")


@pytest.mark.parametrize("against", [None, kindly])
def test_a_plan_counts_the_calls_of_both_orders(against):
    """The plan's calls are those that the run makes, the first live one included."""
    planned, made = planned_and_made(against, wrap=swap)

    assert planned == made
