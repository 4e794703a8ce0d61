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


def said(family, text):
    """Return what the claim says of a setting by its name, simulated once."""
    found = {one.name: one for one in (*fair_judges.FAIR, *fair_judges.BIASED)}[text]
    return fair_judges.simulated(family, found, FEW)


def test_the_simulated_claim_is_the_one_of_the_suite():
    """The limit that the suite ships, for every kind of verdict that it serves."""
    suite = Path(__file__).parents[2] / "suites" / "test_self_preference.py"

    assert f"proves(self_preference_excess <= {fair_judges.LIMIT}, listwise=[])" in suite.read_text("utf-8")


@pytest.mark.parametrize("setting", fair_judges.FAIR, ids=name)
@pytest.mark.parametrize("family", TASKS)
def test_no_fair_judge_fails_whatever_its_skill(family, setting):
    """At most .05 in truth: a share above .12 of 100 runs has a chance of .0012 then, for each of the settings."""
    assert said(family, setting.name).fails <= 0.12


def test_over_all_fair_judges_hardly_any_fails():
    """Of all settings and tasks together at most 1 %, which errs by .0013."""
    shares = [said(family, one.name).fails for family in TASKS for one in fair_judges.FAIR]

    assert sum(shares) / len(shares) <= 0.01


@pytest.mark.parametrize("setting", fair_judges.BIASED, ids=name)
@pytest.mark.parametrize("family", TASKS)
def test_a_judge_that_prefers_its_own_does_not_pass(family, setting):
    """Its excess is beyond the limit: PASS in at most .05, and .12 of 100 runs by chance."""
    assert said(family, setting.name).passes <= 0.12


@pytest.mark.parametrize("family", TASKS)
def test_a_judge_that_prefers_its_own_in_half_fails(family):
    """Where its answers are as good as the others', in nearly every run."""
    assert said(family, "prefers its own in 50 %").fails >= 0.95


@pytest.mark.parametrize(("family", "least"), [("pairwise", 0.75), ("score", 0.45), ("rubric", 0.30)])
def test_a_judge_that_prefers_its_own_in_30_percent_fails_often(family, least):
    """Three standard errors below what 200 runs showed."""
    assert said(family, "prefers its own in 30 %").fails >= least


@pytest.mark.parametrize("family", TASKS)
def test_a_fair_judge_as_skilled_as_its_peers_passes(family):
    """The suite can be green."""
    assert said(family, "as skilled").passes >= 0.70


def test_without_truth_fair_judges_would_be_accused():
    """Why nothing is claimed then: a skilled judge of the best answers, and a coin that writes the worst."""
    assert said("pairwise", "more skilled, writes better").plain >= 0.5
    assert said("pairwise", "tosses a coin, writes worse").plain >= 0.9
    assert said("pairwise", "prefers its own in 30 %, writes better").plain <= 0.1
