"""The alternative-annotator test against an implementation that another person wrote from the paper."""

from math import comb
from random import Random

import pytest

from calm.core.people import differences, replacing
from calm.core.trials import Trial, Trials
from calm.core.verdict import Preferred, Scale, Score, Tie, Unreadable
from calm.errors import EstimateError
from calm.statistics.agreement import LEAST, alternative_annotator
from tests.statistics.oracles.alternative_annotator import alternative_test, signed_rank_test, t_test

PEOPLE = ("ann", "ben", "eva")
SCALE = Scale(1, 10)


def verdict(label):
    if label is None:
        return Unreadable("no verdict")
    return Score(label) if isinstance(label, float) else Tie() if label == 0 else Preferred(str(label))


def trials_of(judge, people, family="pairwise"):
    """Return rows with what the judge and each person said; a person without a label is left out."""
    rows = [
        Trial(
            str(place),
            clean=(verdict(said),),
            order=("1", "2"),
            people={name: verdict(row[place]) for name, row in people.items() if row[place] is not None},
        )
        for place, said in enumerate(judge)
    ]
    return Trials(tuple(rows), family, SCALE)


def same(ours, theirs, people):
    """Compare both results in all figures to nine digits."""
    for name, other in zip(people, theirs.annotators, strict=True):
        mine = ours.people[name]
        assert (mine.n, mine.rejected) == (other.n, other.rejected)
        assert [mine.advantage, mine.of_person, mine.p] == pytest.approx(
            [other.advantage, other.advantage_human, other.p_value], abs=1e-9
        )
    assert ours.winning_rate == pytest.approx(theirs.winning_rate, abs=1e-9)
    assert ours.advantage == pytest.approx(theirs.average_advantage, abs=1e-9)
    assert ours.passes == theirs.passes


@pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.2, 0.25, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_labels_of_pairs_give_what_the_paper_gives(seed, epsilon):
    """Three people who agree in most cases, a judge that does in fewer; some labels are missing."""
    rng = Random(seed)
    truth = [rng.choice([0, 1, 2]) for _ in range(160)]

    def sees(share):
        return [label if rng.random() < share else rng.choice([0, 1, 2]) for label in truth]

    people = {name: [one if rng.random() < 0.9 else None for one in sees(0.8)] for name in PEOPLE}
    judge = [one if rng.random() < 0.95 else None for one in sees(0.5 + 0.08 * seed)]

    theirs = alternative_test(judge, [people[name] for name in PEOPLE], epsilon=epsilon)

    same(replacing(trials_of(judge, people), epsilon), theirs, PEOPLE)


@pytest.mark.parametrize("seed", range(4))
def test_scores_give_what_the_paper_gives(seed):
    """By the root mean square of the distances to the others."""
    rng = Random(seed)
    truth = [rng.uniform(2, 9) for _ in range(90)]
    people = {name: [float(round(min(10, max(1, t + rng.gauss(0, 1))))) for t in truth] for name in PEOPLE}
    judge = [float(round(min(10, max(1, t + rng.gauss(0, 1 + seed))))) for t in truth]

    theirs = alternative_test(judge, [people[name] for name in PEOPLE], epsilon=0.2, score="rmse")

    same(replacing(trials_of(judge, people, "score"), 0.2), theirs, PEOPLE)


def test_a_person_with_few_cases_is_not_tested():
    """Below 30 the paper names a rank test that does not keep its level here: such a person has no p value."""
    judge = [1, 2] * 50
    people = {"ann": [1, 2] * 49 + [1, 1], "ben": [1, 2] * 45 + [2, 1] * 5, "eva": [1, 2] * 14 + [1] + [None] * 71}

    found = replacing(trials_of(judge, people), 0.2)

    assert found.people["eva"].p is None
    assert found.people["eva"].n == LEAST - 1
    assert found.winning_rate in (0, 0.5, 1)


def test_no_difference_in_n_cases_shows_no_more_than_n_cases_can():
    """The formula of the paper divides 0 by 0. The greatest chance of n ties under H0 is (1 - epsilon)^n."""
    same_said = {name: [0.0] * 30 for name in PEOPLE}

    found = alternative_annotator(same_said, epsilon=0.1)

    assert [one.p for one in found.people.values()] == pytest.approx([0.9**30] * 3)
    assert not found.passes  # .042 for each of three is too much for Benjamini and Yekutieli
    assert alternative_annotator(same_said, epsilon=0.2).passes
    assert alternative_annotator({n: [1.0] * 30 for n in PEOPLE}, epsilon=0.2).people["ann"].p == 1


def test_too_few_people_or_cases_have_no_test():
    """The error names what is lacking, and the product says nothing of it."""
    with pytest.raises(EstimateError, match="two people"):
        alternative_annotator({"ann": [0.0] * 40}, epsilon=0.2)
    with pytest.raises(EstimateError, match="got 5 at most"):
        alternative_annotator({name: [0.0] * 5 for name in PEOPLE}, epsilon=0.2)

    assert replacing(trials_of([1] * 5, {name: [1] * 5 for name in PEOPLE}), 0.2) is None


def test_a_case_counts_for_who_agrees_better_with_the_others():
    """The judge says 1, as Ben and Eva do; Ann says 2."""
    row = trials_of([1], {"ann": [2], "ben": [1], "eva": [1]}).rows[0]

    assert differences(row, SCALE) == {"ann": -1.0, "ben": 0.0, "eva": 0.0}


def size(test, n, epsilon):
    """Return how often a test rejects at level .05 at the edge of its hypothesis, if the judge never wins alone."""
    chances = (comb(n, wins) * epsilon**wins * (1 - epsilon) ** (n - wins) for wins in range(n + 1))
    samples = ([1] * wins + [0] * (n - wins) for wins in range(n + 1))
    return sum(chance for chance, d in zip(chances, samples, strict=True) if test(d, epsilon) <= 0.05)


def test_the_rank_test_of_the_paper_does_not_keep_its_level():
    """Why nothing is tested below 30 cases; the t test of more is nearer to its level, and not at it."""
    assert size(signed_rank_test, 29, 0.2) == pytest.approx(0.46, abs=0.005)
    assert size(signed_rank_test, 29, 0.1) == pytest.approx(0.94, abs=0.005)
    assert size(t_test, 30, 0.2) == pytest.approx(0.12, abs=0.005)
    assert size(t_test, 100, 0.2) == pytest.approx(0.08, abs=0.005)
