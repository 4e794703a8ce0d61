"""Rubric-based self-preference on small tables that can be counted by hand."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from calm.errors import EstimateError
from calm.plugins.self_preference import overestimation, recorded, rubric
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.rubric import Row, rubric_table

FAMILIES = {"a": "A", "b": "B", "c": "C"}


def table(verdicts, truth, *, instance=None, points=None):
    """Return a table of judges a, b, c by generators a, b, c, from lists of marks."""
    verdicts, truth = np.array(verdicts, np.int8), np.array(truth, np.int8)
    judges, generators, r = verdicts.shape
    instance = np.arange(r) if instance is None else np.array(instance)
    names = ("a", "b", "c")
    return rubric.RubricTable(
        Grid(names[:judges], names[:generators], FAMILIES),
        tuple(str(i) for i in range(int(instance.max()) + 1)),
        tuple(f"c{i}" for i in range(r)),
        instance,
        verdicts,
        truth,
        np.ones(r) if points is None else np.array(points, float),
    )


def test_failed_criteria_that_are_credited_are_over_estimated():
    """Of three failed ones the judge credits two; what is met is not eligible."""
    one = table([[[1, 1, 0, 1]]], [[0, 0, 0, 1]])

    over, eligible = overestimation.overestimated_rubrics(one).totals()

    assert (over.tolist(), eligible.tolist()) == ([[2]], [[3]])


def test_the_roles_flip_for_negative_points():
    """A fault that is there and that the judge does not see is over-estimated; an absent one is not eligible."""
    one = table([[[0, 1, 0]]], [[1, 1, 0]], points=[-2, -1, -1])

    over, eligible = overestimation.overestimated_rubrics(one).totals()

    assert (over.tolist(), eligible.tolist()) == ([[1]], [[2]])


def test_unknown_marks_are_neither():
    """A verdict that could not be read, and a truth that is not known."""
    one = table([[[-1, 1, 1]]], [[0, -1, 0]])

    over, eligible = overestimation.overestimated_rubrics(one).totals()

    assert (over.tolist(), eligible.tolist()) == ([[1]], [[1]])


def test_instances_are_compared_with_all_opponents():
    """a lost to b and c by the truth; the judge ties it with b and lets it win over c."""
    one = table([[[1, 1], [1, 1], [1, 0]]], [[0, 0], [1, 1], [1, 0]], instance=[0, 0])
    judged, true = (rubric.signs(rubric.scored(one, marks)) for marks in (one.verdicts, one.truth))

    found = overestimation.overestimated_instances(judged, true)

    assert found.over.sum(axis=2).tolist() == [[2, 0, 0]]
    assert found.eligible.sum(axis=2).tolist() == [[2, 0, 1]]
    assert (found.to_win[0, 0, 0], found.to_tie[0, 0, 0]) == (1, 1)


def test_ties_are_exact_where_decimals_would_not_be():
    """One of three and two of six are a tie; a direct assessment may be of another number of criteria."""
    scores = rubric.direct_scores(np.array([[1 / 3], [2 / 6], [1.0]]))

    assert rubric.signs(scores)[:, :, 0].tolist() == [[0, 0, -1], [0, 0, -1], [1, 1, 0]]
    assert scores.values()[2, 0] == 1.0


def test_an_instance_without_a_readable_score_has_no_sign():
    """It is neither a loss nor a tie."""
    scores = rubric.direct_scores(np.array([[np.nan], [np.nan]]))

    assert rubric.signs(scores)[0, 1, 0] == rubric.NO_SIGN
    assert np.isnan(rubric.system_scores(scores)).all()


def test_scores_with_negative_points_are_clipped():
    """HealthBench: points of what is met, over the positive points, between 0 and 1."""
    one = table([[[1, 1, 0], [0, 1, 0], [1, 0, 1]]], [[1, 1, 1]] * 3, instance=[0, 0, 0], points=[3, -2, 1])

    found = rubric.scored(one, one.verdicts).values()

    assert found[0, :, 0].tolist() == [0.25, 0.0, 1.0]


def test_both_readings_of_the_family_differ():
    """With itself the mean of .6 and .2, without itself .2; the others are at .4."""
    grid = Grid(("a",), ("a", "a2", "b"), {"a": "A", "a2": "A", "b": "B"})

    found = overestimation.hspp(np.array([[0.6, 0.2, 0.4]]), grid, "a")

    ratios = (found.ratio_self, found.ratio_family_with_self, found.ratio_family_without_self)
    assert ratios == pytest.approx((1.5, 1.0, 0.5))


def test_a_ratio_without_a_denominator_is_none_and_is_named():
    """It is no infinity, and no mean loses it silently."""
    grid = Grid(("a", "b"), ("a", "b"), FAMILIES)
    rates = np.array([[0.5, 0.0], [0.4, 0.2]])

    found = [overestimation.hspp(rates, grid, judge) for judge in "ab"]

    assert found[0].ratio_self is None
    assert "the ratio has no denominator" in found[0].reason
    assert overestimation.mean_ratio(found, "self") == overestimation.MeanRatio(0.5, 1, ("a",))


def test_a_committee_needs_more_than_half():
    """Two of four is not met; two of three readable ones is; one member is no committee."""
    marks = np.array([[1, 1, 1], [1, 1, -1], [0, 0, -1], [0, -1, -1]], np.int8)

    assert rubric.committee_marks(marks).tolist() == [0, 1, -1]


def test_a_committee_of_direct_assessments_is_their_mean():
    """1/2 and 1 make 3/4; with one readable member there is none."""
    found = rubric.committee_scores(rubric.direct_scores(np.array([[0.5, 0.5], [1.0, np.nan]])))

    assert found.values()[0] == 0.75
    assert np.isnan(found.values()[1])


def test_pairwise_verdicts_make_system_scores():
    """A win and a tie against one opponent: .75."""
    judged = np.array([[[[0, 0], [1, 0]], [[-1, 0], [0, 0]]]], np.int8)

    assert rubric.pairwise_system_scores(judged).tolist() == [[0.75, 0.25]]


def test_slices_keep_all_generators():
    """By topic: each slice has its criteria and its instances."""
    one = table([[[1, 1, 0]] * 3] * 3, [[0, 1, 0]] * 3, instance=[0, 0, 1])

    found = one.slices(["style", "content", "style"])

    assert {name: (len(s.criteria), len(s.instances)) for name, s in found.items()} == {
        "style": (2, 2),
        "content": (1, 1),
    }
    assert found["style"].verdicts.tolist() == [[[1, 0]] * 3] * 3


def test_recorded_criteria_can_be_sliced_by_topic_and_length():
    """The topics of IFEval are the first parts of its instructions' names; slices hold every criterion once."""
    one, criteria = recorded.rubric_table(), recorded.sheet("ifeval").criteria
    topics = [name.partition(":")[0] for _, name, _ in criteria]

    by_topic, by_length = one.slices(topics), one.slices(rubric.labels_by_size([length for *_, length in criteria]))

    assert {len(by_topic), len(by_length)} == {9, 4}
    assert sum(len(s.criteria) for s in by_topic.values()) == sum(len(s.criteria) for s in by_length.values()) == 834


def test_rows_make_the_same_table():
    """In any order of rows, with an unknown verdict left out."""
    rows = [
        Row("a", "a", "i1", "x", True, False),
        Row("b", "a", "i1", "x", None, False),
        Row("a", "a", "i2", "y", False, True, points=-1.0),
    ]

    found = rubric_table(rows, FAMILIES)

    assert found.criteria == ("i1/x", "i2/y")
    assert found.verdicts.tolist() == [[[1, 0]], [[-1, -1]]]
    assert found.truth.tolist() == [[0, 1]]
    assert found.points.tolist() == [1.0, -1.0]


def test_rows_that_contradict_are_refused(subtests):
    """Nothing is overwritten in silence."""
    for second, message in [
        (Row("a", "a", "i", "x", False, True), "expected one verdict by 'a' on 'a', got two"),
        (Row("b", "a", "i", "x", True, False), "expected one truth for 'a', got two"),
        (Row("b", "a", "i", "x", True, True, points=2.0), "expected one weight, got 1.0 and 2.0"),
    ]:
        with subtests.test(second=second, message=message), pytest.raises(EstimateError, match=message):
            rubric_table([Row("a", "a", "i", "x", True, True), second], FAMILIES)


def planted(ratio=1.0, lenient=1.0, n=600):
    """Return a table in which judge a misses its own failures `ratio` times as often as its leniency explains."""
    rng = Random(4)
    miss = np.array([[0.2 * ratio, 0.2, 0.3], [0.2, 0.2, 0.3], [0.2, 0.2, 0.3]])
    miss[0] *= lenient
    verdicts = [[[int(rng.random() < miss[j, g]) for _ in range(n)] for g in range(3)] for j in range(3)]
    return table(verdicts, [[0] * n] * 3)


def test_the_double_ratio_finds_what_was_planted():
    """Twice as often, within the interval; lenience by itself is none."""
    found = []
    for one in (planted(), planted(lenient=1.8), planted(ratio=2.0)):
        sample = overestimation.resample(overestimation.overestimated_rubrics(one), Random(1))
        found.append(overestimation.double_ratio(sample, one.grid, "a"))

    fair, lenient, fond = found
    assert fair.low < 1 < fair.high
    assert lenient.low < 1 < lenient.high
    assert 1.25 < fond.low < 2 < fond.high


def few(rng, *, own=4, miss=0.3, ratio=1.0):
    """Return a table in which the answers of a fail `own` criteria alone, those of the others a hundred each."""
    truth = np.ones((3, 200), np.int8)
    truth[0, :own] = 0
    truth[1:, 100:] = 0
    rates = np.full((3, 3), miss)
    rates[0, 0] *= ratio
    said = np.array([[[t or rng.random() < rates[j, g] for t in truth[g]] for g in range(3)] for j in range(3)])
    return table(said.astype(np.int8), truth)


def test_few_own_failures_prove_nothing(subtests):
    """
    At the limit of the suite, a ratio of 1.25, no interval lies wholly below it more often than by chance.

    A bootstrap alone says so in a quarter of the tables with four own failures: no failure credited never varies.
    """
    for own in [2, 4, 8]:
        with subtests.test(own=own):
            rng = Random(own)
            passed = failed = 0
            for seed in range(60):
                one = few(rng, own=own, ratio=1.25)
                over = overestimation.overestimated_rubrics(one)
                found = overestimation.double_ratio(overestimation.resample(over, Random(seed), 200), one.grid, "a")
                passed, failed = passed + (found.high < 1.25), failed + (found.low > 1.25)

            assert passed <= 13  # of 60 at .05 each: a chance below one in a million
            assert failed <= 13


def test_one_own_failure_has_no_interval():
    """Nothing can be said of how that rate varies."""
    one = few(Random(1), own=1)
    sample = overestimation.resample(overestimation.overestimated_rubrics(one), Random(1))

    for estimator in (overestimation.double_ratio, overestimation.rate_excess):
        with pytest.raises(EstimateError, match="the answers of 'a' to fail in at least 2 questions, got 1"):
            estimator(sample, one.grid, "a")


def test_a_ratio_without_data_is_refused(subtests):
    """A judge that is not there, and one whose answers failed nothing."""
    for judge, message in [
        ("d", "expected one of the judges"),
        ("a", "too few verdicts of 'a' on its own answers for an interval"),
    ]:
        with subtests.test(judge=judge, message=message):
            one = planted()
            one = replace(one, truth=np.array([[1] * 600, [0] * 600, [0] * 600], np.int8))

            with pytest.raises(EstimateError, match=message):
                overestimation.double_ratio(
                    overestimation.resample(overestimation.overestimated_rubrics(one), Random(1)), one.grid, judge
                )


def test_a_seed_gives_the_same_interval():
    """Randomness is an argument."""
    over = overestimation.overestimated_rubrics(planted())
    grid = planted().grid

    first, second, third = (
        overestimation.double_ratio(overestimation.resample(over, Random(s)), grid, "a") for s in (1, 1, 2)
    )

    assert first == second
    assert first.low != third.low
