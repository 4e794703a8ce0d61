"""
How often claims pass and fail with so many cases, by seeded simulation of a judge and of the looks of a run.

| name | meaning |
|---|---|
| `Simulated`, `Rules` | the judge: its kind of verdict, noise and bias; the run: its asks and its stopping rule |
| `odds` | how often one claim passes and fails at several numbers of cases |
| `ProbeClaims`, `all_green` | how often all claims of several probes pass together |
| `provable` | the strictest limit that each simulated run proves of a claim |
| `worst_outcomes` | what becomes of a claim about the worst variant of a rotation |

Looks, levels and bounds are the gate's own. Noise errs in each ask anew; a bias decides a share of the cases for the
treated answer, whatever the variant. All variants of a probe are held against the same inert asks, as where their inert
words are equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, permutations
from math import sqrt
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from calm.core.claims import Claim
from calm.core.edits import Expects
from calm.core.measures import MEASURES, Measure
from calm.core.verdict import Family
from calm.experiment.edited import NO_ROOM
from calm.experiment.stopping import LEVEL, TOP_UPS, Design, Stopping, looks, most_harm
from calm.experiment.worst import DECISIONS, FAIL_SPENT, FEWEST, PASS_SPENT, SCREEN_LEVELS, SCREENS
from calm.gate.scenario import Scenario
from calm.results.pairing import FEWEST as FEWEST_POOLED
from calm.results.pairing import limits_of
from calm.statistics.power import Bias, Noise, bounds, draw_thetas, uniforms
from calm.statistics.sequential import GroupPlan, nominal_levels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Codes: TypeAlias = NDArray[np.int16]
    Flags: TypeAlias = NDArray[np.bool_]
    Outcomes: TypeAlias = NDArray[np.int64]

SEED = 0
RUNS = 1000
"""Simulated runs of one claim."""
JOINT_RUNS = 500
"""Simulated runs of several probes."""
ROTATION = 11
"""Variants of a rotation where nothing says how many there are: as many as the larger ones of the suites have."""
CRITERIA, RANKED, GRADES, CLASSES = 4, 4, 10, 3
"""Criteria of a simulated rubric, answers of a simulated ranking, values of a simulated scale, classes in an order."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A judge that is simulated."""

    family: Family = "pairwise"
    noise: Noise = field(default_factory=Noise)
    bias: Bias = field(default_factory=Bias)


@dataclass(frozen=True, slots=True)
class Rules:
    """How often a case is asked, when claims are decided, and how often undecided ones are topped up."""

    design: Design = field(default_factory=Design)
    stopping: Stopping = Stopping.SEQUENTIAL
    top_ups: int = TOP_UPS

    def plan(self, n: int) -> GroupPlan:
        """Return the looks at n cases; those of the anytime rule are taken to be the sequential ones."""
        rule = Stopping.FIXED if self.stopping is Stopping.FIXED else Stopping.SEQUENTIAL
        return looks(rule, n, top_ups=self.top_ups)


@dataclass(frozen=True, slots=True)
class Odds:
    """How often a claim passes and fails with n cases."""

    n: int
    passes: float
    fails: float


@dataclass(frozen=True, slots=True)
class ProbeClaims:
    """
    The claims of one probe, the cases that it applies to (None: all), and what it expects (None: clean arm alone).

    `variants`: how many variants its rotation has.
    """

    claims: tuple[Claim, ...]
    cases: int | None = None
    expects: Expects | None = Expects.NOT_BETTER
    variants: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class _Verdicts:
    """The verdicts of a family as codes: their distances, and the favour of the treated answer."""

    size: int
    apart: Floats
    favour: Floats

    @property
    def best(self) -> int:
        """The verdict that favours the treated answer most."""
        return int(self.favour.argmax())

    def between(self, one: Sequence[Codes], other: Sequence[Codes]) -> Floats:
        """Return the mean distance of the verdicts of two arms, for each case."""
        return _mean([self.apart[u * self.size + v] for u in one for v in other])

    def within(self, arm: Sequence[Codes]) -> Floats:
        """Return the mean distance of two verdicts of an arm, for each case."""
        return _mean([self.apart[u * self.size + v] for u, v in combinations(arm, 2)])

    def favoured(self, arm: Sequence[Codes]) -> Floats:
        """Return the mean favour of the treated answer in an arm, for each case."""
        return _mean([self.favour[u] for u in arm])


def _mean(parts: Sequence[Floats]) -> Floats:
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total / len(parts)


@cache
def _verdicts(family: Family) -> _Verdicts:
    """Return the verdicts of a family; on pairs and rankings the code 0 is right, on a rubric all criteria are met."""
    import numpy as np

    if family == "pairwise":
        apart, favour = [[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0]
    elif family == "score":
        steps = range(GRADES)
        apart = [[abs(a - b) / (GRADES - 1) for b in steps] for a in steps]
        favour = [a / (GRADES - 1) for a in steps]
    elif family == "label":  # as many classes in an order as the bundled cases have
        steps = range(CLASSES)
        apart = [[abs(a - b) / (CLASSES - 1) for b in steps] for a in steps]
        favour = [a / (CLASSES - 1) for a in steps]
    elif family == "rubric":
        sets = range(2**CRITERIA)
        apart = [[(a ^ b).bit_count() / CRITERIA for b in sets] for a in sets]
        favour = [1 - a.bit_count() / CRITERIA for a in sets]
    else:
        orders, pairs = list(permutations(range(RANKED))), list(combinations(range(RANKED), 2))
        signs = [[order.index(a) < order.index(b) for a, b in pairs] for order in orders]
        apart = [[sum(x != y for x, y in zip(a, b, strict=True)) / len(pairs) for b in signs] for a in signs]
        favour = [1 - order.index(RANKED - 1) / (RANKED - 1) for order in orders]
    return _Verdicts(len(favour), np.array(apart).ravel(), np.array(favour))


class _Sample:
    """Cases of many simulated runs (first axis; cases on the second), and draws of asks about them."""

    def __init__(self, judge: Simulated, rng: Random, runs: int, n: int) -> None:
        import numpy as np

        self.judge, self.kind, self.shape = judge, _verdicts(judge.family), (runs, n)
        self._rng, self._theta = rng, draw_thetas(judge.noise, rng, (runs, n))
        spread = judge.family in ("score", "rubric", "label")
        self.true = self._drawn(self.kind.size) if spread else np.zeros(self.shape, dtype=np.int16)
        self.moved = self.true
        if judge.bias.dose:
            self.moved = np.where(self.draw() < judge.bias.dose, np.int16(self.kind.best), self.true)
        self._clean: list[Codes] = []
        self._pilot: Codes | None = None

    def draw(self) -> Floats:
        """Return a uniform number for each case."""
        return uniforms(self._rng, self.shape)

    def _drawn(self, size: int) -> Codes:
        import numpy as np

        return (self.draw() * size).astype(np.int16)

    def errors(self) -> Codes:
        """Return 1 for each case in which an ask errs, else 0."""
        import numpy as np

        return (self.draw() < self._theta).astype(np.int16)

    def ask(self, latent: Codes) -> Codes:
        """Return one ask of each case by a judge that would say `latent` if it did not err."""
        import numpy as np

        if self.judge.family == "rubric":
            for criterion in range(CRITERIA):
                latent = latent ^ (self.errors() << criterion)
            return latent
        if self.kind.size == 2:
            return latent ^ self.errors()
        other = (latent + 1 + self._drawn(self.kind.size - 1)) % self.kind.size
        return np.where(self.errors() > 0, other, latent).astype(np.int16)

    def asks(self, latent: Codes, count: int) -> list[Codes]:
        """Return several asks."""
        return [self.ask(latent) for _ in range(count)]

    def clean(self, count: int) -> list[Codes]:
        """Return the first asks of the untouched cases, which all probes share."""
        while len(self._clean) < count:
            self._clean.append(self.ask(self.true))
        return self._clean[:count]

    @property
    def pilot(self) -> Codes:
        """The pilot of each case, which all probes share."""
        if self._pilot is None:
            self._pilot = self.ask(self.true)
        return self._pilot

    @property
    def room(self) -> Flags:
        """Whether the treated answer can gain, as the pilot says."""
        bar = 0.5 if self.judge.family == "pairwise" else NO_ROOM
        room: Flags = self.kind.favour[self.pilot] <= bar
        return room


@dataclass(frozen=True, slots=True)
class _Arms:
    """The asks of a probe at one stage."""

    clean: Sequence[Codes] = ()
    inert: Sequence[Codes] = ()
    perturbed: Sequence[Codes] = ()


def _shift(arms: _Arms, sample: _Sample) -> Floats:
    return sample.kind.favoured(arms.perturbed) - sample.kind.favoured(arms.inert)


def _noticed(arms: _Arms, sample: _Sample) -> Floats:
    """Return the net detection: each ask about harm errs as any other does."""
    import numpy as np

    if sample.judge.family in ("score", "label"):
        favour = sample.kind.favour
        return _mean([np.sign(favour[u] - favour[v]) for u in arms.clean for v in arms.perturbed])
    if sample.judge.family == "rubric":
        return _mean([((v & 1) - (u & 1)).astype(np.float64) for u in arms.clean for v in arms.perturbed])
    return _mean([(1 - 2 * v).astype(np.float64) for v in arms.perturbed])


_CELLS: Mapping[str, Callable[[_Arms, _Sample], Floats]] = {
    "net_robustness": lambda arms, sample: (
        sample.kind.between(arms.clean, arms.perturbed) - sample.kind.between(arms.clean, arms.inert)
    ),
    "gain": _shift,
    "mean_shift": _shift,
    "rewording_rate": lambda arms, sample: (
        sample.kind.between(arms.clean, arms.perturbed) - sample.kind.within(arms.clean)
    ),
    "net_detection": _noticed,
    "consistency_rate": lambda arms, _: _mean([(u == v).astype(float) for u, v in combinations(arms.clean, 2)]),
    "repeat_distance": lambda arms, sample: sample.kind.within(arms.clean),
    "accuracy": lambda arms, sample: 1 - sample.kind.between(arms.clean, [sample.true]),
    "readable_rate": lambda arms, sample: 1 - 0 * sample.kind.favour[arms.clean[0]],
    "unreadable_gain": lambda arms, sample: 0 * sample.kind.favour[arms.clean[0]],
}
"""The value of each case; every reply can be read."""


def modelled(claim: Claim) -> bool:
    """Return whether a claim can be simulated here."""
    measure = MEASURES.get(claim.measure)
    return measure is not None and (measure.worst_of or measure.name) in _CELLS


class _Probe:
    """The asks of one simulated probe, before the top-up and after it."""

    def __init__(self, sample: _Sample, probe: ProbeClaims, rules: Rules, n: int) -> None:
        import numpy as np

        self._sample, self._probe = sample, probe
        stages = rules.design.stages(edited=probe.expects is not None)[: rules.top_ups + 1]
        more = stages[-1]
        harmed = probe.expects is Expects.WORSE
        true, shown = sample.true, sample.moved
        if harmed:  # to the bottom; on a rubric the first criterion, on pairs whether an ask errs
            shown = true | 1 if sample.judge.family == "rubric" else np.zeros_like(true)
        edited = probe.expects is not None
        inert = sample.asks(true, more.inert) if edited and not harmed else []
        if harmed and sample.judge.family in ("pairwise", "listwise"):
            perturbed = [sample.errors() for _ in range(more.perturbed)]
        else:
            perturbed = sample.asks(shown, more.perturbed) if edited else []
        self._arms = [_Arms(sample.clean(a.clean), inert[: a.inert], perturbed[: a.perturbed]) for a in stages]

    def harms(self, claim: Claim, of: Measure) -> Floats:
        """Return how far each case moved the way that a claim forbids, against the clean asks."""
        import numpy as np

        first = replace(self._arms[0], inert=self._arms[0].clean)
        values = _CELLS[of.name](first, self._sample)
        if of.name == "net_robustness":  # nothing is taken off: the clean asks are no floor of their own movement
            return self._sample.kind.between(first.clean, first.perturbed)
        if claim.op == ">=":
            return (of.high - values) / (of.high - of.low)
        return np.abs(values) if claim.op == "abs<=" else np.maximum(values, 0.0)

    def values(self, measure: str, topped: int = 0) -> Floats:
        """Return the value of each case after so many top-ups."""
        return _CELLS[measure](self._arms[topped], self._sample)

    def room(self, measure: str) -> Flags | None:
        """Return which cases have a value; None: all."""
        if measure in ("gain", "net_robustness") and self._probe.expects is Expects.NOT_BETTER:
            return self._sample.room
        if self._probe.expects is Expects.WORSE and self._sample.judge.family in ("score", "label"):
            above: Flags = self._sample.pilot > 0
            return above
        if self._probe.expects is Expects.WORSE and self._sample.judge.family == "rubric":
            met: Flags = (self._sample.pilot & 1) == 0
            return met
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Bounds:
    """What each look (first axis) proves and disproves in each run, as limits of which the smaller is the stricter."""

    claim: Claim
    proofs: Floats
    counters: Floats

    def outcomes(self, limit: float | None = None) -> Outcomes:
        """Return for each run 1 for a pass, -1 for a fail, 0 otherwise: what the first look says that decides."""
        import numpy as np

        edge = _sign(self.claim) * (self.claim.limit if limit is None else limit)
        outcome = np.zeros(self.proofs.shape[1], dtype=np.int64)
        for proof, counter in zip(self.proofs, self.counters, strict=True):
            now = np.where(proof <= edge + 1e-12, 1, np.where(counter > edge, -1, 0))
            outcome = np.where(outcome == 0, now, outcome)
        return outcome

    def stops(self) -> Outcomes:
        """Return the place of the look at which each run is decided; the last one where none decides."""
        import numpy as np

        edge = _sign(self.claim) * self.claim.limit
        decided = (self.proofs <= edge + 1e-12) | (self.counters > edge)
        return np.where(decided.any(axis=0), decided.argmax(axis=0), len(self.proofs) - 1)


def _sign(claim: Claim) -> int:
    return -1 if claim.op == ">=" else 1


def _ends(claim: Claim, values: Floats, room: Flags | None, level: float, shrunk: float = 1.0) -> tuple[Floats, Floats]:
    """Return what bounds at a level prove and disprove; the pseudo-items stand at ends that are `shrunk`."""
    import numpy as np

    measure = MEASURES[claim.measure]
    low, high = bounds(values, measure.low / shrunk, measure.high / shrunk, level, where=room)
    if measure.flipped:
        low, high = 1 - high, 1 - low
    match claim.op:
        case "<=":
            return high, low
        case ">=":
            return -low, -high
        case "abs<=":
            return np.maximum(high, -low), np.maximum(low, -high)


def _bounds(probe: _Probe, claim: Claim, plan: GroupPlan, value_of: str = "") -> _Bounds:
    """Return what the looks prove of a claim; `value_of` names a measure whose values are taken in its place."""
    import numpy as np

    name = value_of or claim.measure
    stages = {topped: probe.values(name, topped) for topped in {look.topped for look in plan.looks}}
    room = probe.room(name)
    proofs, counters = [], []
    for look in plan.looks:
        values, kept = stages[look.topped][:, : look.n], None if room is None else room[:, : look.n]
        proof, counter = _ends(claim, values, kept, look.prove)
        if look.disprove != look.prove:
            counter = _ends(claim, values, kept, look.disprove)[1]
        proofs.append(proof)
        counters.append(counter)
    return _Bounds(claim, np.array(proofs), np.array(counters))


def _pooled(asked: Sequence[tuple[_Probe, Outcomes]], claim: Claim) -> _Bounds:
    """Return what the rows of several probes prove of a claim about the whole run; each asked so many first cases."""
    import numpy as np

    sums = np.zeros_like(asked[0][0].values(claim.measure))
    sizes = np.zeros_like(sums)
    place = np.arange(sums.shape[1])[None, :]
    for probe, cases in asked:
        room, here = probe.room(claim.measure), place < cases[:, None]
        here = here if room is None else here & room
        sums += np.where(here, probe.values(claim.measure), 0.0)
        sizes += here
    known = sizes > 0
    average = sizes.sum(axis=1, keepdims=True) / np.maximum(1, known.sum(axis=1, keepdims=True))
    mean = sums.sum(axis=1, keepdims=True) / np.maximum(1, sizes.sum(axis=1, keepdims=True))
    values = mean + (sums - mean * sizes) / np.maximum(average, 1e-9)
    proof, counter = _ends(claim, values, known, LEVEL, sqrt(len(asked)))
    return _Bounds(claim, np.array([proof]), np.array([counter]))


def odds(asked: Scenario, rules: Rules, sizes: Sequence[int], rng: Random, *, runs: int = RUNS) -> list[Odds]:
    """
    Return how often a claim passes and fails with so many cases, by simulation of a judge with two verdicts.

    One draw of runs serves all sizes: a smaller one is the beginning of a larger one, so the curve is smooth. Cases are
    independent. The Monte-Carlo error of a share is at most 1 / (2 sqrt(runs)).

    >>> from calm.gate.scenario import scenario
    >>> still = scenario("net_robustness", noise=0.0)
    >>> [o.passes for o in odds(still, Rules(), (30, 40), Random(1), runs=5)]
    [0.0, 1.0]
    """
    import numpy as np

    judge, claim = Simulated("pairwise", asked.noise, asked.bias), asked.claim
    probe = ProbeClaims((claim,), expects=asked.expects)
    if MEASURES[claim.measure].worst_of:
        rotation = replace(probe, variants=ROTATION)
        found = [worst_outcomes(claim, rotation, judge, rules, n, rng=rng, runs=runs // 10) for n in sizes]
    else:
        sample = _Sample(judge, rng, runs, max(sizes))
        probes = [_Probe(sample, probe, rules, max(sizes)) for _ in range(asked.probes)]
        if asked.probes > 1:
            found = [_pooled([(p, np.full(runs, n)) for p in probes], claim).outcomes() for n in sizes]
        else:
            found = [_bounds(probes[0], claim, rules.plan(n), asked.value_of).outcomes() for n in sizes]
    return [Odds(n, float((o > 0).mean()), float((o < 0).mean())) for n, o in zip(sizes, found, strict=True)]


def all_green(
    probes: Sequence[ProbeClaims],
    judge: Simulated,
    rules: Rules,
    n: int,
    rng: Random,
    *,
    runs: int = JOINT_RUNS,
) -> float:
    """
    Return how often all claims of all probes pass with n cases, by simulation; clean asks and pilots are shared.

    The claims about the run as a whole are among them. Probes are independent of each other given the cases. A sound
    judge notices what was damaged as surely as it finds the better answer, and all its replies can be read. The
    Monte-Carlo error is at most 1 / (2 sqrt(runs)).

    >>> probe = ProbeClaims((Claim("net_robustness", ">=", 0.90), Claim("gain", "<=", 0.15)))
    >>> [all_green([probe] * 3, Simulated(), Rules(), n, Random(1), runs=5) for n in (30, 40)]
    [0.0, 1.0]
    """
    import numpy as np

    sample = _Sample(judge, rng, runs, n)
    green = np.ones(runs, dtype=bool)
    pools: dict[str, list[tuple[_Probe, Outcomes]]] = defaultdict(list)
    for probe in probes:
        width = min(n, probe.cases or n)
        made, plan = _Probe(sample, probe, rules, width), rules.plan(width)
        means = [_bounds(made, claim, plan) for claim in probe.claims if not MEASURES[claim.measure].worst_of]
        for found in means:
            green &= found.outcomes() > 0
        if means:
            ends = np.array([look.n for look in plan.looks])
            cases = ends[np.max([found.stops() for found in means], axis=0)]
            for found in means:
                pools[found.claim.measure].append((made, cases))
        for claim in probe.claims:
            if MEASURES[claim.measure].worst_of and probe.variants > 1:
                apart = worst_outcomes(claim, probe, judge, rules, width, rng=rng, runs=max(100, runs // 5))
                green &= uniforms(rng, (runs,)) < (apart > 0).mean()
    for claim in limits_of(judge.family):
        if len(pools[claim.measure]) >= FEWEST_POOLED:
            green &= _pooled(pools[claim.measure], claim).outcomes() > 0
    return float(green.mean())


def provable(
    claims: Sequence[Claim],
    probe: ProbeClaims,
    judge: Simulated,
    rules: Rules,
    n: int,
    *,
    rng: Random,
    probes: int = 1,
    runs: int = RUNS,
) -> list[Floats]:
    """
    Return for each claim the strictest limit that each simulated run proves of its measure, the strictest runs first.

    `probes`: over how many probes of the same kind the claims are pooled, as claims about a whole run; each probe stops
    where its own claims with these limits are decided.
    """
    import numpy as np

    sample = _Sample(judge, rng, runs, n)
    made = [_Probe(sample, probe, rules, n) for _ in range(probes)]
    plan = rules.plan(n)
    ends = np.array([look.n for look in plan.looks])
    bounded = [[_bounds(one, claim, plan) for claim in claims] for one in made]
    if probes > 1:
        asked = [(one, ends[np.max([b.stops() for b in its], axis=0)]) for one, its in zip(made, bounded, strict=True)]
        bounded = [[_pooled(asked, claim) for claim in claims]]
    return [_sign(b.claim) * np.sort(b.proofs.min(axis=0)) for b in bounded[0]]


def worst_outcomes(
    claim: Claim, probe: ProbeClaims, judge: Simulated, rules: Rules, n: int, *, rng: Random, runs: int = RUNS
) -> Outcomes:
    """
    Return for each run what becomes of a claim about the worst of a rotation's variants: 1 pass, -1 fail, 0 neither.

    Screening, then the decision on fresh cases, as in `calm.experiment.worst`. Not as there, every case can show every
    variant, and no case is asked again. A rotation that has too few cases for any variant is not tested, which counts
    as a pass.
    """
    return worst_at(claim, [claim.limit], probe, judge, rules, n=n, rng=rng, runs=runs)[0]


def worst_at(
    claim: Claim,
    limits: Sequence[float],
    probe: ProbeClaims,
    judge: Simulated,
    rules: Rules,
    *,
    n: int,
    rng: Random,
    runs: int = RUNS,
) -> list[Outcomes]:
    """Return the same for each of several limits, by the same draws."""
    import numpy as np

    of = MEASURES[MEASURES[claim.measure].worst_of]
    shape = (runs, probe.variants)
    sample = _Sample(judge, rng, runs * probe.variants, SCREENS[-1] + DECISIONS[-1])
    arms = _Probe(sample, replace(probe, variants=1), replace(rules, top_ups=0), n)
    room = arms.room(of.name)
    share = 1.0 if room is None else float(room.mean())
    seen = min(SCREENS[-1], round(share * rules.plan(n).looks[0].n))
    if seen < FEWEST:
        return [np.ones(runs, dtype=np.int64) for _ in limits]
    harms, values = arms.harms(claim, of)[:, :seen], arms.values(of.name)[:, SCREENS[-1] :].reshape(*shape, -1)
    found = []
    for limit in limits:
        asked = replace(claim, measure=of.name, limit=limit)
        passed, used = _screened(asked, of, harms)
        left, suspects = round(share * n) - used.reshape(shape), (~passed).reshape(shape)
        outcome = np.where(suspects, _decided(asked, values, suspects, left), 1)
        found.append(np.asarray(outcome.min(axis=1), dtype=np.int64))
    return found


def _screened(claim: Claim, of: Measure, harms: Floats) -> tuple[Flags, Outcomes]:
    """Return whether each variant is acquitted, and on how many cases it was asked."""
    import numpy as np
    from scipy.special import betaincinv

    limit = most_harm(claim, of)
    passed, over = np.zeros((2, len(harms)), dtype=bool)
    used = np.full(len(harms), harms.shape[1], dtype=np.int64)
    for count, level in zip(SCREENS, SCREEN_LEVELS, strict=True):
        if count > harms.shape[1]:
            break
        harm = harms[:, :count].sum(axis=1)
        high = np.where(harm >= count, 1.0, betaincinv(harm + 1, np.maximum(count - harm, 1e-9), 1 - level))
        now, hopeless = ~over & (high <= limit), harm > limit * count
        used = np.where(~over & (now | hopeless), count, used)
        passed |= now
        over |= now | hopeless
    return passed, used


def _decided(claim: Claim, values: Floats, suspects: Flags, left: Outcomes) -> Outcomes:
    """Return what the fresh cases say of each suspicious variant; one with too few of them is left out as a pass."""
    import numpy as np

    many = np.broadcast_to(suspects.sum(axis=1, keepdims=True), suspects.shape)
    of, outcome, beyond = MEASURES[claim.measure], np.zeros(suspects.shape, dtype=np.int64), np.zeros_like(suspects)
    proofs, edge = nominal_levels(PASS_SPENT, DECISIONS), _sign(claim) * claim.limit
    for number in np.unique(many[suspects]):
        counters = nominal_levels([LEVEL / int(number) * share for share in FAIL_SPENT], DECISIONS)
        for count, prove, disprove in zip(DECISIONS, proofs, counters, strict=True):
            these = suspects & (many == number) & (outcome == 0) & (left >= 2)
            for size in np.unique(np.minimum(count, left[these])):
                mine = these & (np.minimum(count, left) == size)
                rows = values[mine][:, :size]
                proof, _ = _ends(claim, rows, None, prove)
                _, counter = _ends(claim, rows, None, disprove)
                outcome[mine] = np.where(proof <= edge + 1e-12, 1, np.where(counter > edge, -1, 0))
                mean = rows.mean(axis=1)
                beyond[mine] = (1 - mean if of.flipped else mean) * _sign(claim) > edge
    return np.where((outcome == 0) & (left < DECISIONS[0]) & ~beyond, 1, outcome)
