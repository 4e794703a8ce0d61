"""Cases about one question are one item of an interval, whatever their number."""

from dataclasses import replace

import pytest

from calm.core.case import Case
from calm.core.edits import Expects, perturbation
from calm.core.measures import gain, readable_rate
from calm.core.verdict import Preferred, Unreadable
from calm.experiment.pairs import clusters_of
from calm.experiment.run import run
from calm.experiment.stopping import Stopping
from tests.planted import Planted, fair, pair, pairs, setup


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite(case, rng):
    """Cite a book in the weaker answer."""
    return case.edit(case.target, lambda text: f"{text} (A Book)")


def copies(questions, count):
    """Return cases that ask each of some questions so many times, with answers of their own."""
    return [
        replace(pair(f"q{q:03}-{k}"), question=f"What is question {q}?") for q in range(questions) for k in range(count)
    ]


def groups(cases):
    """Return the sets of ids that share a cluster."""
    found = clusters_of(cases)
    return {frozenset(c.id for c in cases if found[c.id] == name) for name in found.values()}


def test_cases_with_one_question_are_a_cluster():
    """Whatever their answers are."""
    cases = copies(3, 2)

    assert groups(cases) == {frozenset({f"q{q:03}-0", f"q{q:03}-1"}) for q in range(3)}


@pytest.mark.parametrize("other", [{"reference": "Four."}, {"fields": {"source": "A text."}}])
def test_another_reference_or_text_makes_another_question(other):
    """A summary of each of many articles is asked for in the same words."""
    one, two, three = copies(1, 3)

    assert groups([one, replace(two, **other), three]) == {frozenset({one.id, three.id}), frozenset({two.id})}


def test_a_tag_says_what_belongs_together():
    """It goes before the question, also where all questions are one."""
    one, two, three = copies(1, 3)
    tagged = [
        replace(one, tags={"cluster": "a"}),
        replace(two, tags={"cluster": "a"}),
        replace(three, tags={"cluster": "b"}),
    ]

    assert groups(tagged) == {frozenset({one.id, two.id}), frozenset({three.id})}


def test_a_question_that_all_cases_share_says_nothing():
    """Each case is a cluster of its own: "Which summary is better?" is no repeated question."""
    cases = copies(1, 4)

    assert groups(cases) == {frozenset({c.id}) for c in cases}


def test_cases_without_a_question_are_their_own_clusters():
    """An empty text is no question that some of the cases repeat."""
    cases = [Case(id=f"c{i}", question="", answers=pair("x").answers) for i in range(3)]

    assert groups(cases) == {frozenset({c.id}) for c in cases}


def test_a_probe_counts_questions():
    """Twenty questions asked ten times prove what twenty cases prove, and not what 200 do."""
    with setup(Planted(fair), copies(20, 10)) as given:
        repeated = run(given, cite, [gain <= 0.10])
    with setup(Planted(fair), pairs(200)) as given:
        plain = run(given, cite, [gain <= 0.10])

    many, all_different = (found.rulings[0].decision for found in (repeated, plain))
    assert (many.outcome.value, many.estimate.n, many.estimate.clusters) == ("UNDECIDED", 200, 20)
    assert (all_different.outcome.value, all_different.estimate.clusters) == ("PASS", 45)
    assert {row.cluster for row in repeated.rulings[0].trials.rows} == set(clusters_of(copies(20, 10)).values())


def test_one_repeated_question_that_goes_wrong_widens_the_interval():
    """All ten cases of two questions of twenty are taken in: a tenth, as if two of twenty cases were."""
    taken = Planted(
        lambda case, ask: Preferred(
            "bad" if case.id < "q002" and any("Book" in a.text for a in case.answers) else "good"
        )
    )

    with setup(taken, copies(20, 10), stopping=Stopping.FIXED) as given:
        repeated = run(given, cite, [gain <= 0.15], top_up=False).rulings[0].decision.estimate

    assert (repeated.value, repeated.n, repeated.clusters) == (pytest.approx(0.1), 200, 20)
    assert repeated.low < 0 < 0.2 < repeated.high


@pytest.mark.parametrize("rule", list(Stopping))
def test_each_stopping_rule_counts_questions(rule):
    """A rate of yes or no with one ask a case, where the two cases of some questions differ."""
    odd = Planted(
        lambda case, ask: Unreadable("odd") if case.id < "q010" and case.id.endswith("-1") else fair(case, ask)
    )

    with setup(odd, copies(60, 2), stopping=rule) as given:
        found = run(given, None, [readable_rate >= 0.70]).rulings[0].decision

    assert found.outcome.value == "PASS"
    assert found.estimate.clusters <= 60
    assert found.estimate.n <= 2 * found.estimate.clusters
