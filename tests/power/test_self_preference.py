"""Self-preference of known size: found by the corrected estimators, and not found in fair judges."""

from functools import cache

import pytest

from benchmarks.self_preference import CORRECTED, FAIR, KINDS, METHODS, RUNS, simulated

PLANTED = [kind for kind in KINDS if kind.preference]
PUBLISHED = {method.name.partition(" (")[0]: method for method in METHODS if method.true is None}
BY_NAME = {kind.name: kind for kind in KINDS}
CHANCE = 0.03
"""What a share of 200 runs may fall below .95, or rise above .05, by chance: two standard errors."""


def name(thing):
    """Return the name of a method or a kind."""
    return thing.name


@cache
def cell(method, kind):
    """Return what a method says of a kind of judge, simulated once."""
    return simulated(method, kind, RUNS)


@pytest.mark.parametrize("method", CORRECTED, ids=name)
def test_a_planted_preference_is_recovered_in_95_of_100_tables(method):
    """The interval holds the planted size, and lies wholly above the neutral value in nearly all of them."""
    found = cell(method, BY_NAME["prefers its own"])

    assert found.covered >= 0.95 - CHANCE
    assert found.accused >= 0.75


def test_over_all_methods_95_of_100_intervals_hold_what_was_planted():
    """A single method's share of 200 errs by 1.5 points: the mean over methods by less."""
    covered = [cell(method, BY_NAME["prefers its own"]).covered for method in CORRECTED]

    assert sum(covered) / len(covered) >= 0.95


@pytest.mark.parametrize("kind", KINDS, ids=name)
@pytest.mark.parametrize("method", CORRECTED, ids=name)
def test_the_true_value_is_covered_for_every_kind_of_judge(method, kind):
    """Lenient, best, worst or fond of itself: nominal .95, less what chance allows and a bootstrap costs."""
    assert cell(method, kind).covered >= 0.95 - CHANCE - 0.01


@pytest.mark.parametrize("kind", FAIR, ids=name)
@pytest.mark.parametrize("method", CORRECTED, ids=name)
def test_no_fair_judge_is_accused(method, kind):
    """Each bound errs in 2.5 of 100 tables."""
    assert cell(method, kind).accused <= 0.025 + CHANCE


@pytest.mark.parametrize(
    ("method", "kind", "share"),
    [
        ("S - R", "fair, lenient", "accused"),
        ("S - G", "fair, writes the best", "accused"),
        ("S - G", "fair, writes the worst", "cleared"),
        ("equal-opportunity gap", "fair, writes the best", "accused"),
        ("equal-opportunity gap", "fair, writes the worst", "cleared"),
        ("HSPP ratio by rubric", "fair, writes the best", "accused"),
        ("HSPP ratio by rubric", "fair, writes the worst", "cleared"),
    ],
)
def test_the_published_ones_accuse_fair_judges(method, kind, share):
    """A lenient judge, and a judge of its own best or worst answers, in nearly every table."""
    assert getattr(cell(PUBLISHED[method], BY_NAME[kind]), share) >= 0.95
