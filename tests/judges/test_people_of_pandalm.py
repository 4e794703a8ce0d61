"""PandaLM's three people and two judges: agreement by the product, and by other packages on the table."""

import csv
import gzip
from collections import Counter
from importlib.resources import files

import krippendorff
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, cohen_kappa_score

from calm.core.agreement import truth_of
from calm.core.measures import MEASURES
from calm.core.people import people_of, references, replacing
from calm.core.trials import Trials
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.run import run
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design
from calm.gate.from_spec import cases_from, judge_from
from calm.statistics.agreement import gwet_ac1
from tests.statistics.oracles.alternative_annotator import alternative_test

JUDGES = ("gpt-3.5", "pandalm-7b")
LABELS = {"1": "first", "2": "last", "t": "equal", ".": "unread"}


@pytest.fixture(scope="module", params=JUDGES)
def both(request):
    """Return a judge's rows as the product makes them, and the table of its file: people by person, judge, gold."""
    judge = judge_from(f"recorded:pandalm/{request.param}")
    engine = Engine(Store(None, Mode.OFF))
    try:
        setup = Setup(judge, tuple(cases_from([], judge)), engine, design=Design(1, 1))
        found = run(setup, None, [], observed=[MEASURES["accuracy"]])
    finally:
        engine.close()
    trials = found.rulings[0].trials
    assert isinstance(trials, Trials)
    packed = files("calm").joinpath("judges", "data", "pandalm-1.csv.gz").read_bytes()
    table = list(csv.DictReader(gzip.decompress(packed).decode().splitlines()))
    people = [[LABELS[row["people"][place]] for row in table] for place in range(3)]
    said = [LABELS[row[request.param]] for row in table]
    gold = [vote if count > 1 else None for votes in zip(*people, strict=True) for vote, count in mode(votes)]
    return trials, people, said, gold


def mode(votes):
    return Counter(votes).most_common(1)


def estimate(name, trials):
    return MEASURES[name].estimate(trials, 0.05).value


def ac1(true, told):
    """Return Gwet's AC1 by its formula, of three labels; a reply without a verdict is of none and never right."""
    n = len(true)
    share = [(true.count(label) + told.count(label)) / (2 * n) for label in ("first", "last", "equal")]
    chance = sum(p * (1 - p) for p in share) / 2
    return (accuracy_score(true, told) - chance) / (1 - chance)


def with_gold(said, gold):
    kept = [(one, true) for one, true in zip(said, gold, strict=True) if true is not None]
    return [one for one, _ in kept], [true for _, true in kept]


def test_agreement_with_the_gold_is_that_of_scikit_learn(both):
    """Nine digits, over the pairs on which two people say the same; a reply without a verdict is never right."""
    trials, _, said, gold = both
    told, true = with_gold(said, gold)

    assert sum(truth_of(row, "pairwise") is not None for row in trials.rows) == len(true)
    assert estimate("accuracy", trials) == pytest.approx(accuracy_score(true, told), abs=1e-9)
    assert estimate("kappa", trials) == pytest.approx(cohen_kappa_score(true, told), abs=1e-9)
    found = [
        one if one != "unread" else ("first" if truth != "first" else "last")
        for one, truth in zip(told, true, strict=True)
    ]
    assert estimate("balanced_accuracy", trials) == pytest.approx(balanced_accuracy_score(true, found), abs=1e-9)
    assert estimate("gwet_ac", trials) == pytest.approx(ac1(true, told), abs=1e-9)
    if "unread" not in told:
        assert ac1(true, told) == pytest.approx(gwet_ac1(list(zip(true, told, strict=True))), abs=1e-9)


def test_people_agree_as_the_package_says(both):
    """Krippendorff's alpha of three people on all 999 pairs."""
    trials, people, _, _ = both
    numbers = [[("first", "last", "equal").index(label) for label in one] for one in people]

    found = people_of(trials)

    assert found.cases == 999
    assert found.alpha == pytest.approx(krippendorff.alpha(numbers, level_of_measurement="nominal"), abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.2, 0.25, 0.3])
def test_the_alternative_annotator_test_is_that_of_a_second_person(both, epsilon):
    """All figures of each person; cases whose verdict cannot be read are left out by both."""
    trials, people, said, _ = both

    ours = replacing(trials, epsilon)

    theirs = alternative_test([None if one == "unread" else one for one in said], people, epsilon=epsilon)
    for mine, other in zip((ours.people[name] for name in sorted(ours.people)), theirs.annotators, strict=True):
        assert (mine.n, mine.rejected) == (other.n, other.rejected)
        expected = [other.advantage, other.advantage_human, other.p_value]
        assert [mine.advantage, mine.of_person, mine.p] == pytest.approx(expected, abs=1e-9)
    assert ours.winning_rate == pytest.approx(theirs.winning_rate)
    assert ours.passes == theirs.passes


def test_a_person_stands_beside_the_judge(both):
    """A person against what the two others agree on: kappa by scikit-learn, the mean of three people."""
    trials, people, _, _ = both
    kappas = []
    for place, own in enumerate(people):
        others = [one for other, one in enumerate(people) if other != place]
        shared = [a if a == b else None for a, b in zip(*others, strict=True)]
        told, true = with_gold(own, shared)
        kappas.append(cohen_kappa_score(true, told))

    assert references(MEASURES["kappa"], trials)["person"] == pytest.approx(sum(kappas) / 3, abs=1e-9)
