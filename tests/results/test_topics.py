"""Topics that nobody declared: a column is named whose groups move together, and no other."""

from dataclasses import replace
from random import Random

import pytest

from calm.core.edits import Expects, perturbation
from calm.core.measures import accuracy, gain, net_robustness
from calm.core.reasons import Kind
from calm.core.verdict import Preferred, Scale
from calm.experiment.run import run
from calm.experiment.stopping import Stopping
from calm.results.codes import from_code, to_code
from calm.results.findings import finding
from calm.results.notes import BEGINNING, ERRORS, FEWEST, TOGETHER, columns_of, found, topics
from tests.planted import Planted, chance, fair, pairs, setup

TOPICS = 20


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite(case, rng):
    """Cite a book in the weaker answer."""
    return case.edit(case.target, lambda text: f"{text} (A Book)")


def tagged(count=200):
    """Return pairs about topics, with a tag that says nothing and another one for each case."""
    drawn = chance("colours")
    return [
        replace(case, tags={"topic": str(place % TOPICS), "colour": str(drawn.randrange(TOPICS)), "own": case.id})
        for place, case in enumerate(pairs(count))
    ]


def findings(judge, cases):
    """Return the findings of a probe and of the clean arm, on all cases."""
    with setup(judge, cases, stopping=Stopping.FIXED) as given:
        results = (
            (cite, run(given, cite, (net_robustness >= 0.90, gain <= 0.15))),
            (None, run(given, None, (accuracy >= 0.5,))),
        )
    return [
        finding(
            bias="authority" if edit else "accuracy",
            node="suites/test_x.py::test_x",
            task="pairwise",
            edit=edit,
            against=None,
            decision=ruling.decision,
            trials=ruling.trials,
            accepted=None,
        )
        for edit, result in results
        for ruling in result.rulings
    ]


def named(judge, seed=0):
    """Return the notes about the columns of the cases."""
    cases = tagged()
    return topics(findings(judge, cases), cases, Scale(), seed)


def by_topic(case, ask):
    """Err in half of the asks about one topic in five, and in one of fifty about the others."""
    often = 0.5 if int(case.tags["topic"]) % 5 == 0 else 0.02
    return Preferred("bad" if chance("err", case.id, ask).random() < often else "good")


def taken_in(case, ask):
    """Fall for the book in one topic of five; else be right."""
    cited = any("(A Book)" in answer.text for answer in case.answers)
    return Preferred("bad" if cited and int(case.tags["topic"]) % 5 == 0 else "good")


def noisy(case, ask):
    """Err in one ask of ten, whatever it is about."""
    return Preferred("bad" if chance("err", case.id, ask).random() < 0.1 else "good")


@pytest.mark.parametrize(("rule", "errs"), [(by_topic, True), (taken_in, False)])
def test_a_judge_that_goes_by_topic_is_found(rule, errs):
    """The column is named that holds the topics, and neither of the others; the note survives a file."""
    notes = named(Planted(rule))

    assert [(note.kind, note.details[:3]) for note in notes] == [(Kind.TOPIC, ("topic", TOPICS, 200))]
    assert from_code(to_code(notes[0]), str(notes[0])) == notes[0]
    assert (notes[0].details[3] == ERRORS) is errs  # or what the edit does to it
    assert notes[0].details[4] > 1.5  # the interval by topic is so much wider


@pytest.mark.parametrize("rule", [noisy, fair])
def test_a_judge_that_does_not_is_not(rule):
    """Noise moves no group together, and what never moves has nothing to say."""
    assert named(Planted(rule)) == []


def test_which_columns_cases_have(subtests):
    """Groups of two on average, five at least; each partition once; how questions begin is a column."""
    cases = [replace(case, question=f"Where is town {i}?") for i, case in enumerate(pairs(40))]

    def columns(tag):
        return set(columns_of([replace(case, tags=tag(i)) for i, case in enumerate(cases)]))

    for tag, wanted in (
        (lambda i: {"topic": str(i % 8)}, {"topic"}),
        (lambda i: {"topic": str(i % 8), "same": f"t{i % 8}"}, {"topic"}),
        (lambda i: {"topic": str(i % (FEWEST - 1))}, set()),
        (lambda i: {"topic": str(i)}, set()),
        (lambda i: {"topic": "one"}, set()),
        (lambda i: {"cluster": str(i % 8)}, set()),
        (lambda i: {"topic": str(i % 8)} if i < 20 else {}, {"topic"}),
    ):
        with subtests.test(wanted=wanted, first=tag(0)):
            assert columns(tag) == wanted
    begun = [replace(case, question=f"Where {i % 8} is town {i}?") for i, case in enumerate(cases)]
    assert set(columns_of(begun)) == {BEGINNING}


def silent(seed):
    """Return whether any of three columns that say nothing is named, where values of 120 questions have no topic."""
    rng = Random(seed)
    units = [str(number) for number in range(120)]
    measured = {
        key: {unit: float(rng.random() < 0.1) - float(rng.random() < 0.05) for unit in units if rng.random() < 0.8}
        for key in (ERRORS, "one", "two", "three")
    }
    labels = {f"c{n}": {unit: str(rng.randrange(6 + 10 * n)) for unit in units} for n in range(3)}
    return bool(found(measured, labels, seed))


def test_a_column_that_says_nothing_is_rarely_named():
    """
    In at most .01 of runs, with three columns.

    Of 100 runs more than 9 name one in fewer than 1 of 10^6 (binomial: 1e-7).
    """
    assert sum(map(silent, range(100))) <= 9


def test_all_claims_together_tell_what_none_tells_alone():
    """Twenty claims, in each of which topics sway a little."""
    rng = Random(1)
    topic = {str(number): number % TOPICS for number in range(200)}
    measured = {ERRORS: {}} | {
        f"claim {claim}": {unit: float(rng.random() < 0.05 + 0.15 * (of % 5 == 0)) for unit, of in topic.items()}
        for claim in range(20)
    }

    topics = found(measured, {"topic": {unit: str(of) for unit, of in topic.items()}}, 0)

    assert [(one.column, one.groups, one.most) for one in topics] == [("topic", TOPICS, TOGETHER)]
