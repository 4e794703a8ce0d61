"""Credit on criteria of known truth: preference is found, and skill, leniency and worth are not taken for it."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from calm.core.reasons import Kind
from calm.errors import EstimateError
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.skill import credit, credit_excess
from tests.plugins.self_preference.test_rubric import FAMILIES, table


def sharp(n=400, *, fond=0.0, best=True, seed=5):
    """Return a table of a sharp judge a, whose answers are the best, and of two that credit half of all failures."""
    rng = Random(seed)
    truth = np.array([[rng.random() < (0.95 if g == 0 and best else 0.7) for _ in range(n)] for g in range(3)])
    misses = np.array([0.05, 0.5, 0.5])
    said = [
        [[t or rng.random() < misses[j] + (fond if j == g == 0 else 0) for t in truth[g]] for g in range(3)]
        for j in range(3)
    ]
    return table(np.array(said).astype(np.int8), truth.astype(np.int8))


def excess(one, judge="a"):
    """Return the excess of a judge of a table."""
    return credit_excess(credit(one), one.grid, judge)


def why(one, judge="a"):
    """Return the kind of the reason for which a judge has no excess."""
    with pytest.raises(EstimateError) as raised:
        excess(one, judge)
    return raised.value.args[0].kind


def test_a_fair_judge_of_the_best_answers_that_sees_more_is_not_accused():
    """Its excess is 0 in both readings, and it is right more often than the outsiders."""
    found = excess(sharp(1500))

    assert found.estimate.low < 0 < found.estimate.high < 0.08
    assert found.skill[0] > found.skill[1] + 0.15


def test_credit_for_own_failures_is_found_as_a_share_of_the_verdicts():
    """.6 of the failures, which weigh a half whatever their number: an excess of .30."""
    for best in (False, True):
        found = excess(sharp(fond=0.6, best=best))

        assert found.estimate.low < 0.30 < found.estimate.high
        assert found.estimate.low > 0.08


def test_the_interval_joins_both_readings():
    """It holds each of them, and its value is that at equal skill."""
    found = excess(sharp(fond=0.3))

    assert found.estimate.low == min(one.low for one in found.readings)
    assert found.estimate.high == max(one.high for one in found.readings)
    assert found.estimate.value == found.readings[1].value != found.readings[0].value


def test_credit_turns_round_for_negative_points():
    """A fault that is there and is not seen is credit for what fails; points are shares of an instance."""
    one = table([[[0, 1, 0]], [[1, 1, 1]]], [[1, 1, 0]], points=[-2, 1, 1], instance=[0, 0, 1])
    one = replace(one, grid=Grid(("a", "b"), ("a",), FAMILIES))

    given = credit(one)

    assert given.known.sum(axis=3)[:, 0, 0].tolist() == pytest.approx([1 / 3, 2 / 3 + 1])
    assert given.credited.sum(axis=3)[:, 0, 0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert given.credited.sum(axis=3)[:, 1, 0].tolist() == pytest.approx([1 / 3, 1.0])


def test_what_cannot_be_told_has_one_reason(subtests):
    """Too few failures, one outsider, a judge that says the same of everything, outsiders that guess."""
    one = sharp()
    guess = np.array([[Random(f"{g} {i}").random() < 0.5 for i in range(400)] for g in range(3)])
    verdicts = one.verdicts.copy()
    verdicts[1:] = guess
    alone = replace(one.grid, families={"a": "A", "b": "B", "c": "B"})
    four = replace(one, grid=Grid(("a", "b"), one.grid.generators, FAMILIES), verdicts=one.verdicts[:2])
    for what, other, kind in [
        ("no failure", replace(one, truth=np.vstack([np.ones_like(one.truth[:1]), one.truth[1:]])), Kind.ONE_SIDED),
        ("one outsider", four, Kind.ONE_OUTSIDER),
        (
            "constant",
            replace(one, verdicts=np.concatenate([np.ones_like(verdicts[:1]), one.verdicts[1:]])),
            Kind.NEVER_DECIDES,
        ),
        ("guesses", replace(one, verdicts=verdicts), Kind.UNSKILLED_OUTSIDERS),
    ]:
        with subtests.test(what):
            assert why(other) is kind
    with pytest.raises(EstimateError, match="expected a judge outside the family of 'a'"):
        excess(replace(one, grid=alone))  # b and c are of one family: no column is related to neither


def test_few_instances_have_no_excess():
    """Nine failures are too few, however often they are credited."""
    one = sharp(n=18, best=False)
    one = replace(one, truth=np.tile(np.arange(18) % 2, (3, 1)).astype(np.int8))

    with pytest.raises(EstimateError) as raised:
        excess(one)

    assert str(raised.value.args[0]) == (
        "the truth is for the judge's own answer in 9 questions and against it in 9: at least 10 of each are needed"
    )
