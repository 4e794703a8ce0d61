"""The number of cases that an undecided claim is said to need: a fresh run of that size decides it."""

from random import Random

from calm.core.claims import Claim, Outcome
from calm.core.trials import Trial, Trials
from calm.core.verdict import Preferred, Scale, Score
from calm.experiment.stopping import Asks, Stopping, looks, rule_on

LOST = Preferred("b")


def ceiling(rng, n):
    """Return n rows of a sound judge of scores that errs in a tenth of its asks; four of five are at 9 or 10."""

    def ask(true):
        return Score(float(rng.randint(1, 10) if rng.random() < 0.1 else true))

    rows = []
    for number in range(n):
        true = rng.choice([9, 10]) if rng.random() < 0.8 else rng.randint(4, 8)
        arms = {
            arm: tuple(ask(true) for _ in range(asks)) for arm, asks in (("clean", 2), ("inert", 1), ("perturbed", 1))
        }
        rows.append(Trial(f"c{number}", target="only", room=ask(true).value <= 7.75, **arms))
    return Trials(tuple(rows), "score", Scale())


def ruled(trials, n):
    """Return the decision on `gain <= 0.05` at the end of a run of n cases."""
    look = looks(Stopping.FIXED, n, top_ups=0).looks[-1]
    return rule_on(Stopping.FIXED, Claim("gain", "<=", 0.05), trials, Asks(2, 1, 1), look).decision


def test_a_fresh_run_of_that_size_decides_scores_at_the_ceiling():
    """
    Of 200 cases about 50 have room; the number that such a run names decides in most fresh runs.

    Four of five are meant to; of 24 with a share of .8 at most 12 decide with probability .001.
    """
    rng, fresh, needed = Random(5), [], []
    while len(fresh) < 24:
        first = ruled(ceiling(rng, 200), 200)
        if first.outcome is not Outcome.UNDECIDED or first.cases_to_decide is None or first.cases_to_decide > 1500:
            continue
        needed.append(first.cases_to_decide)
        fresh.append(ruled(ceiling(rng, needed[-1]), needed[-1]).outcome is not Outcome.UNDECIDED)

    assert sum(fresh) > 12
    assert sorted(needed)[12] > 200


def test_a_judge_that_never_moves_needs_what_the_exact_bound_needs():
    """Twenty cases without any movement: the number decides a fresh run, and is little more than the least that can."""
    claim = Claim("gain", "<=", 0.10)
    still = [Trial(f"c{i}", target="a", clean=(LOST,) * 2, inert=(LOST,), perturbed=(LOST,)) for i in range(200)]

    def ruled_on(n):
        look = looks(Stopping.FIXED, n, top_ups=0).looks[-1]
        trials = Trials(tuple(still[:n]), "pairwise", Scale())
        return rule_on(Stopping.FIXED, claim, trials, Asks(2, 1, 1), look).decision

    needed = ruled_on(20).cases_to_decide
    assert needed is not None
    assert ruled_on(needed).outcome is Outcome.PASS
    assert needed <= 45
