"""
Self-preference of known size: found by the corrected estimators, and not found in fair judges, skilled or not.

The last tests hold the claim of the suite, as the product decides it, against `benchmarks.fair_judges`.
"""

from functools import cache
from pathlib import Path

import pytest

from benchmarks import fair_judges
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


# ------------------------------------------------------------------------------------- what the suite's claim says

FEW = 100
"""Simulated runs of a setting: a share of .05 errs by .022, one of .90 by .03."""
TASKS = ("pairwise", "score", "rubric")
FAIR_ALL = (*fair_judges.FAIR, *fair_judges.SKILLED)


def said(family, setting, *, equal=True):
    """Return what the claim says of a setting, simulated once."""
    return fair_judges.simulated(family, setting, FEW, equal=equal)


def tasks(setting):
    """Return the kinds of verdicts that a setting is about: what a judge does with a tie concerns pairs alone."""
    return TASKS[:1] if setting.equals else TASKS


def test_the_simulated_claim_is_the_one_of_the_suite():
    """The limits that the suite ships, for every kind of verdict that it serves."""
    suite = (Path(__file__).parents[2] / "suites" / "test_self_preference.py").read_text("utf-8")
    limits = fair_judges.LIMITS

    assert limits["pairwise"] == limits["twins"] == limits["score"]
    assert f"own_pull <= {limits['pairwise']:.2f}, rubric=[own_pull <= {limits['rubric']:.2f}]" in suite


@pytest.mark.parametrize("setting", FAIR_ALL, ids=name)
def test_no_fair_judge_fails_whatever_others_miss_or_like(setting):
    """At most .05 in truth: a share above .20 of 100 runs has a chance below one in a million for each setting."""
    for family in tasks(setting):
        assert said(family, setting).fails <= 0.20
    assert said("pairwise", setting, equal=False).fails <= 0.20


def test_over_all_fair_judges_hardly_any_fails():
    """Of all settings and tasks together at most 1 %, which errs by .0015."""
    shares = [said(family, one).fails for one in FAIR_ALL for family in tasks(one)]

    assert sum(shares) / len(shares) <= 0.01


@pytest.mark.parametrize("setting", [*FAIR_ALL[1:], fair_judges.ORIGINALS], ids=name)
def test_on_twins_no_fair_judge_fails_but_one_that_sees_what_nobody_sees(setting):
    """Whatever its skill and the worth of its wording; at most .05 in truth, as above."""
    assert said("twins", setting).fails <= 0.20


def test_what_twins_find():
    """Five standard errors below what 200 runs showed; what outsiders do not see of a wording is held to be a taste."""
    assert said("twins", fair_judges.BREAKS[0]).fails >= 0.7
    assert said("twins", fair_judges.BIASED[-1]).fails >= 0.95
    assert said("twins", fair_judges.UNSEEN).fails >= 0.8
    assert said("twins", fair_judges.ORIGINALS).passes >= 0.8


def test_an_excess_accuses_fair_judges():
    """Why it decides nothing: of a quality that peers miss in .90 of runs, of a taste that they share in .69."""
    assert fair_judges.accused(fair_judges.UNSEEN, FEW) >= 0.7
    assert fair_judges.accused(fair_judges.TASTE[1], FEW) >= 0.45
    assert max(fair_judges.accused(one, FEW) for one in fair_judges.BREAKS) <= 0.05


@pytest.mark.parametrize("setting", [*fair_judges.BREAKS, *fair_judges.BIASED], ids=name)
def test_a_judge_that_prefers_its_own_does_not_pass(setting):
    """Its pull is beyond the limit: PASS in at most .05, and above .20 of 100 runs by less than one in a million."""
    for family in tasks(setting):
        assert said(family, setting).passes <= 0.20


@pytest.mark.parametrize(("share", "least"), [(1.0, 1.0), (0.6, 0.9), (0.3, 0.15)])
def test_a_judge_that_breaks_ties_for_itself_is_found(share, least):
    """Five standard errors below what 200 runs showed, whatever it does with the other ties."""
    for one in fair_judges.BREAKS:
        if one.breaks == share:
            assert said("pairwise", one).fails >= least


def test_a_judge_that_takes_its_own_wrong_answers_is_found_without_equal_ones():
    """In nine of ten pairs, whatever they are worth."""
    assert said("pairwise", fair_judges.BIASED[-1], equal=False).fails >= 0.9


def test_a_judge_that_says_tie_passes():
    """The suite can be green."""
    [tie] = [one for one in FAIR_ALL if one.equals == "tie"]

    assert said("pairwise", tie).passes >= 0.95
