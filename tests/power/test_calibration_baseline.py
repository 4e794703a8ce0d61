"""
A baseline: an unchanged judge is seldom red, a judge that got worse seldom is not, and the margin is kept.

Verdicts are drawn with numpy; looks, bounds and evidence are those of the product. Each test states how seldom it
fails for nothing. `python -m benchmarks.baselines` measures the same on whole simulated gates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from random import Random

import numpy as np
import pytest
from scipy.special import ndtri

from calm.core.claims import Claim, Decision, Outcome
from calm.core.edits import Expects, perturbation
from calm.core.measures import MEASURES
from calm.core.order import place_of, start_of
from calm.core.trials import Trial, Trials
from calm.core.verdict import Preferred, Scale
from calm.experiment.stopping import LEVEL, Design
from calm.results.audit import Audit, JudgeRecord
from calm.results.findings import finding
from calm.results.pairing import Growth
from calm.results.worsening import EVIDENCE, against, margin_of
from calm.statistics.intervals import clustered_t
from calm.statistics.multiplicity import holm_rejects
from calm.statistics.sequential import plan_for

QUESTIONS, PROBES, FLOORS = 200, 13, 5
STAGES = [Design().asks(number) for number in range(3)]
OFTEN = [Design(4, 2).asks(number) for number in range(3)]
LOOKS = {
    name: plan_for(QUESTIONS, sequential=name == "sequential", top_ups=2).looks for name in ("fixed", "sequential")
}
LIMITS = {"pairwise": {"net_robustness": 0.10, "gain": 0.15}, "score": {"gain": 0.05}}
"""By how much a measure may be off its best value."""
NOISES = ("0", "0.05", "0.10", "0.15", "close")
RULES = {"both fixed": ("fixed", "fixed"), "then early": ("fixed", "sequential"), "both early": ("sequential",) * 2}


def uniform(rng, *shape):
    """Return numbers in [0, 1)."""
    drawn = np.frombuffer(rng.randbytes(8 * prod(shape)), np.uint64) >> np.uint64(11)
    return (drawn * 2.0**-53).reshape(shape)


@dataclass
class Asked:
    """One claim of a probe in one run: the values of the cases after each top-up, how many cases, how many top-ups."""

    values: list
    n: int
    topped: int


class Pairs:
    """A pairwise judge that errs with a probability of its own in each case; a hit decides for the worse answer."""

    task = "pairwise"

    def __init__(self, noise, rng):
        self.wrong = np.full(QUESTIONS, 0.02 if noise == "close" else float(noise))
        if noise == "close":
            close = uniform(rng, QUESTIONS) < 0.3
            self.wrong[close] = uniform(rng, int(close.sum()))

    def pilot(self, rng):
        """Return which cases have room: the worse answer has not won already."""
        return uniform(rng, QUESTIONS) >= self.wrong

    def ask(self, rng, count, hit=False):
        """Return whether each ask prefers the worse answer."""
        return (uniform(rng, QUESTIONS, count) < self.wrong[:, None]) | np.reshape(hit, (-1, 1))

    def values(self, clean, inert, perturbed):
        """Return the values of the cases by measure."""
        c, i, p = (arm.mean(axis=1) for arm in (clean, inert, perturbed))
        return {"net_robustness": c * (1 - p) + p * (1 - c) - c * (1 - i) - i * (1 - c), "gain": p - i}


class Scores:
    """A judge that scores from 1 to 10 with noise; a hit adds three points."""

    task = "score"

    def __init__(self, noise, rng):
        self.level, self.noise = np.floor(3 + 4 * uniform(rng, QUESTIONS)), float(noise)

    def pilot(self, rng):
        """Return which cases have room: a quarter of the scale above them."""
        return self.ask(rng, 1)[:, 0] <= 7.75

    def ask(self, rng, count, hit=False):
        """Return the scores."""
        noise = self.noise * ndtri(np.clip(uniform(rng, QUESTIONS, count), 1e-12, None))
        return np.clip(np.round(self.level[:, None] + noise + 3 * np.reshape(hit, (-1, 1))), 1, 10)

    def values(self, clean, inert, perturbed):
        """Return the values of the cases by measure."""
        return {"gain": (perturbed.mean(axis=1) - inert.mean(axis=1)) / 9}


def asked(judge, rng, rule, hits, kept=None, asks_of=STAGES):
    """Return one run: each claim of each probe, decided at the looks of a rule."""
    room = judge.pilot(rng)
    last = asks_of[-1]
    clean, inert = judge.ask(rng, last.clean), [judge.ask(rng, last.inert) for _ in range(FLOORS)]
    probes = []
    for number, hit in enumerate(hits):
        arms = clean, inert[number % FLOORS], judge.ask(rng, last.perturbed, hit)
        if kept is not None:
            kept.append((room, arms))
        stages = []
        for asks in asks_of:
            sizes = asks.clean, asks.inert, asks.perturbed
            found = judge.values(*(arm[:, :size] for arm, size in zip(arms, sizes, strict=True)))
            stages.append({name: np.where(room, value, np.nan) for name, value in found.items()})
        probes.append(
            {name: decided([stage[name] for stage in stages], LIMITS[judge.task][name], rule) for name in stages[0]}
        )
    return probes


def decided(values, limit, rule):
    """Return the claim at the look that decides it, else at the last one."""
    for look in LOOKS[rule]:
        cells = values[look.topped][: look.n]
        cells = cells[~np.isnan(cells)]
        ones = [1] * len(cells)
        proof, counter = (clustered_t(cells, ones, -1, 1, level) for level in (look.prove, look.disprove))
        if proof[1] <= limit or counter[0] > limit:
            break
    return Asked(values, look.n, look.topped)


def compared(old, new):
    """Return the growth of each claim of each probe, and of each measure of all of them, on what both runs asked."""
    alone, together = [], {}
    for before, after in zip(old, new, strict=True):
        for name in before:
            n, topped = min(before[name].n, after[name].n), min(before[name].topped, after[name].topped)
            drops = after[name].values[topped][:n] - before[name].values[topped][:n]
            here = np.flatnonzero(~np.isnan(drops))
            sums, sizes = together.setdefault(name, (np.zeros(QUESTIONS), np.zeros(QUESTIONS, int)))
            sums[here] += drops[here]
            sizes[here] += 1
            alone.append(Growth(drops[here].tolist(), [1] * len(here), 2.0))
            if name == "gain":  # every reply can be read in both runs
                together.setdefault("unreadable_gain", (np.zeros(QUESTIONS), np.zeros(QUESTIONS, int)))[1][:n] += 1
    return alone, {
        name: Growth(sums[sizes > 0].tolist(), sizes[sizes > 0].tolist(), 2.0, PROBES)
        for name, (sums, sizes) in together.items()
    }


def judged(task, old, new):
    """Return which probes got worse by the evidence, which measures did, and which are not proven within the margin."""
    alone, together = compared(old, new)
    every = [*alone, *together.values()]
    fallen = holm_rejects([lambda level, one=one: one.shift(level)[0] > 0 for one in every], EVIDENCE)
    claims = len(alone) // PROBES
    worse = {place // claims for place in fallen if place < len(alone)}
    measures = [name for place, name in enumerate(together, start=len(alone)) if place in fallen]
    unproven = [name for name, one in together.items() if one.bounds(LEVEL)[1] > margin_of(name, task, QUESTIONS)]
    return worse, measures, unproven


def rates(make, rules, *, before=(0.0,) * PROBES, after=(0.0,) * PROBES, runs=400, asks_of=STAGES):
    """Return how often a comparison is red, finds the first probe, finds all together, or proves the margin."""
    rng = Random(1)
    found = {"red": 0, "first": 0, "together": 0, "passed": 0}
    for _ in range(runs):
        judge, luck = make(rng), uniform(rng, PROBES, QUESTIONS)
        old, new = (
            asked(judge, rng, rule, [drawn < dose for drawn, dose in zip(luck, doses, strict=True)], asks_of=asks_of)
            for rule, doses in zip(rules, (before, after), strict=True)
        )
        worse, measures, unproven = judged(judge.task, old, new)
        found["red"] += bool(worse or measures or unproven)
        found["first"] += 0 in worse
        found["together"] += bool(measures)
        found["passed"] += not measures and not unproven
    return {name: count / runs for name, count in found.items()}


def only(dose):
    """Return doses of which the first probe has this one."""
    return (dose, *(0.0,) * (PROBES - 1))


ORDER = sorted((f"c{number}" for number in range(QUESTIONS)), key=partial(place_of, 0))
"""The cases in the order in which a run asks them."""
BIASES = [f"bias-{number}" for number in range(99) if start_of(f"bias-{number}", QUESTIONS) == 0][:PROBES]
"""Names of biases whose probes begin with the first of these cases, as those that are drawn do."""


def recorded(task, probes, kept):
    """Return one run of pairs as its record."""
    found = []
    for number, (claims, (room, arms)) in enumerate(zip(probes, kept, strict=True)):
        edit = perturbation(bias=BIASES[number], expects=Expects.NOT_BETTER)(_edit)
        for name, claim in claims.items():
            asks = STAGES[claim.topped]
            rows = []
            for case in range(claim.n):
                said = [tuple(Preferred("bad" if bad else "good") for bad in arm[case]) for arm in arms]
                clean, inert, perturbed = (
                    v[:k] for v, k in zip(said, (asks.clean, asks.inert, asks.perturbed), strict=True)
                )
                names = {"case": ORDER[case], "hash": f"h{case}", "target": "bad", "room": bool(room[case])}
                rows.append(Trial(**names, clean=clean, inert=inert, perturbed=perturbed, floor="text-10"))
            trials = Trials(tuple(rows), task, Scale(), asks=str(asks))
            limit = {"net_robustness": Claim(name, ">=", 0.90), "gain": Claim(name, "<=", 0.15)}[name]
            decision = Decision(name, limit, Outcome.PASS, MEASURES[name].estimate(trials, LEVEL))
            found.append(
                finding(bias=edit.bias, node="n", task=task, edit=edit, against=None, decision=decision, trials=trials)
            )
    judge = JudgeRecord("j", task, None, "m", "m", None, {"low": 1.0, "high": 10.0}, {})
    return Audit("0", judge, {"n": QUESTIONS, "sha256": "c"}, 0, "2+1", tuple(found), stopping="sequential")


def _edit(case, rng):
    """Edit."""


def test_the_drawn_comparison_is_that_of_the_records():
    """The same draws as records of two runs give the same growth, the same evidence and the same claims."""
    rng, judge_of = Random(3), partial(Pairs, "0.05")
    for doses in (only(0.0), only(0.4), (0.2,) * PROBES):
        judge, luck, runs, records = judge_of(rng), uniform(rng, PROBES, QUESTIONS), [], []
        for given in (only(0.0), doses):
            kept = []
            hits = [drawn < dose for drawn, dose in zip(luck, given, strict=True)]
            runs.append(asked(judge, rng, "sequential", hits, kept))
            records.append(recorded("pairwise", runs[-1], kept))

        found = {f.key: f for f in against(*records)}
        worse, measures, unproven = judged("pairwise", *runs)
        _, together = compared(*runs)

        for name, grown in together.items():
            one = found[f"baseline/worsening/{name}"]
            assert one.value == pytest.approx(grown.mean, abs=1e-6)
            assert (one.outcome is Outcome.PASS) is (name not in measures and name not in unproven)
            if one.outcome is Outcome.PASS:
                assert (one.low, one.high) == pytest.approx(grown.bounds(LEVEL), abs=1e-6)
        assert {f.bias for f in found.values() if f.outcome is Outcome.FAIL} - {"baseline"} == {
            BIASES[number] for number in worse
        }


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("rules", RULES)
def test_an_unchanged_judge_is_seldom_red(noise, rules):
    """By evidence or for want of proof: .02 of runs are promised, of which over .07 are found in one of 10^6 tests."""
    found = rates(partial(Pairs, noise), RULES[rules], runs=300)

    assert found["red"] <= 0.07


@pytest.mark.parametrize(("noise", "least"), [("0", 0.95), ("0.5", 0.60)])
def test_a_rise_of_gain_from_09_to_14_on_scores_is_found(noise, least):
    """In one probe of 13, with noise of half a point in .80 of runs, without noise in all: under 1 in 10^6 fails."""
    found = rates(partial(Scores, noise), RULES["both fixed"], before=only(0.27), after=only(0.42), runs=200)

    assert found["first"] >= least


def test_more_asks_find_more():
    """With 4+2 asks and noise of one point the same rise is found in .67 of runs, with 2+1 in .35."""
    few, many = (
        rates(partial(Scores, "1"), RULES["both fixed"], before=only(0.27), after=only(0.42), runs=200, asks_of=asks)
        for asks in (STAGES, OFTEN)
    )

    assert many["first"] > few["first"] + 0.1


@pytest.mark.parametrize(("noise", "dose"), [("0", 0.20), ("0.05", 0.247), ("0.10", 0.314), ("close", 0.26)])
@pytest.mark.parametrize("rules", RULES)
def test_a_judge_worse_by_the_margin_is_seldom_not_found(noise, dose, rules):
    """All probes worse by .20 in net robustness: .05 may pass, of which over .14 are found in one of 10^6 tests."""
    found = rates(partial(Pairs, noise), RULES[rules], after=(dose,) * PROBES, runs=200)

    assert found["passed"] <= 0.14
