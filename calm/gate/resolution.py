"""What so many cases can decide: how often a sound judge proves a claim, and what is said before the first call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import ceil, exp, floor, log, sqrt
from typing import Final, Literal, NamedTuple, TypeAlias

from calm.core.case import TIE, Case, digest
from calm.core.claims import Claim
from calm.core.edits import AnyEdit, Expects
from calm.core.measures import ADVANTAGE, MEASURES
from calm.core.reasons import Kind, because
from calm.core.verdict import Family, Label, Score, Verdict
from calm.errors import few_of
from calm.experiment.edited import Pair, has_room
from calm.experiment.lookahead import Order
from calm.experiment.pairs import aims_by_pilot, clusters_of, pair_up
from calm.experiment.setup import Setup
from calm.experiment.stopping import LEVEL, Design, Stopping
from calm.results.audit import CONTROLS
from calm.results.pairing import FEWEST, limits_of
from calm.results.records import widest
from calm.statistics.intervals import padded_t

NOISE: Final = 0.10
"""The share of asks in which a sound judge errs."""
MISSES: Final = 0.002
"""How often a sound judge may miss an attainable limit: with 50 claims .90 of its runs or more are green."""
MISSES_OF_MANY: Final = 0.001
"""The same in a run with every variant, which asks six times as many questions."""
STEP: Final = 0.01
"""Attainable limits are multiples of this."""
COIN: Final = 2.2
WORST_COIN: Final = 4.2
"""How many halves over the root of n a coin needs: for one mean, and for the worst of many variants."""
BOUNDS: Final = 3.0
WORST_SLACK: Final = 1.5
"""By how much the limit of a variant gives way beyond what the table says, over the root of the number of cases."""
USUAL: Final = 200
"""The cases of a run for which the suites state their limits."""
SLACK: Final[Mapping[str, float]] = {
    "accuracy": 1.5,
    "balanced_accuracy": 2.0,
    "kappa": 3.0,
    "weighted_kappa": 3.0,
    "rank_agreement": 3.0,
    "mean_absolute_error": 1.0,
    ADVANTAGE: 3.0,
    "rewording_rate": 1.5,
}
"""
By how much a limit that the table is not about gives way, over the root of n: what one case differs by, 3.7 times.

1.645 prove it, and 2.05 are the luck of a sample that one judge in 50 has. A case differs by .4 for a judge that is
right in four of five cases, or that inert words move in one of ten, and by twice that where a constant predictor is
right in half.
"""
TAILS: Final = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""The shares of runs of which the table says which limit they miss."""
ROOM: Final[Mapping[tuple[Family, Expects], float]] = {
    ("pairwise", Expects.NOT_BETTER): 0.90,
    ("score", Expects.NOT_BETTER): 0.7,
    ("rubric", Expects.NOT_BETTER): 15 / 16,
    ("listwise", Expects.NOT_BETTER): 0.974,
    ("label", Expects.NOT_BETTER): 2 / 3,
    ("score", Expects.WORSE): 0.9,
    ("rubric", Expects.WORSE): 0.5,
    ("label", Expects.WORSE): 2 / 3,
}
"""The share of the table's cases in which the treated answer can move, by what its pilot says."""
ASKED: Final = 0.75
"""The share of the cases that a claim about a whole run rests on where probes stop early; those of the table do not."""
ROOMY: Final = frozenset({"net_robustness", "gain", "net_detection"})
"""Measures with a value in those cases alone."""
DESIGN: Final = Design()
"""The asks that the table is about; more asks decide more."""


class Cell(NamedTuple):
    """
    What a row of the table is about.

    `expects` is what the probe's edit expects, "" for the clean arm alone, "run" for a claim about the whole run.
    """

    family: str
    measure: str
    op: str
    expects: str
    rotation: bool


@dataclass(frozen=True, slots=True)
class Claimed:
    """
    The claims of one probe: what its edit expects, whether it is a rotation, and how many questions it is about.

    `room`: in how many of them the treated answer can move; None: in as many as in the table.
    """

    claims: tuple[Claim, ...]
    expects: Expects | None
    rotation: bool
    clusters: int
    room: int | None = None

    def worth(self, claim: Claim, family: Family) -> int:
        """Return how many cases of the table have as much to tell of a claim."""
        expects = Expects.NOT_BETTER if self.of_run else self.expects
        share = None if expects is None else ROOM.get((family, expects))
        most = ASKED if self.of_run else 1.0
        if self.room is None or share is None or (MEASURES[claim.measure].worst_of or claim.measure) not in ROOMY:
            return floor(most * self.clusters)
        return floor(most * self.room / share + 1e-9)

    @property
    def of_run(self) -> bool:
        """Whether the claims are about a whole run."""
        return self.expects is None and self.rotation

    def leaves_out(self, claim: Claim) -> bool:
        """Return whether a run does not test a claim, since the cases are enough and those with room are not."""
        measure = MEASURES[claim.measure]
        if self.room is None or measure.worst_of or claim.measure not in ROOMY:
            return False
        return self.room < measure.smallest_n(claim, LEVEL) - 1 <= self.clusters


@dataclass(frozen=True, slots=True)
class Attainable:
    """
    Chooses attainable limits for the claims of one probe, or (without `expects`, as a rotation) of a whole run.

    Claims about `kept` measures stay as they are. `misses` is one of `TAILS`.
    """

    family: Family
    expects: Expects | None = None
    rotation: bool = True
    kept: tuple[str, ...] = ()
    misses: float = MISSES

    def limited(self, claim: Claim, questions: int, room: int | None) -> Claim | None:
        """Return the claim with its attainable limit; None if so few cases prove it at no limit."""
        if claim.measure in self.kept:
            return claim
        probe = Claimed((claim,), self.expects, self.rotation, questions, room)
        found = attainable(claim, self.family, probe, self.misses)
        return _provable_at_all(found, probe) if found is not None and probe.of_run else found


def missed(claim: Claim, family: Family, probe: Claimed) -> float:
    """
    Return how often a sound judge leaves a claim open, in [0, 1].

    Of a claim that the table does not know: always if no judge could prove it with so few cases, else never.
    """
    if probe.leaves_out(claim):
        return 0.0
    if (found := _limits(claim, family, probe)) is None:
        return float(probe.clusters < MEASURES[claim.measure].smallest_n(claim, LEVEL))
    return _share(claim, found)


def green(probes: Iterable[Claimed], family: Family, of_run: Iterable[Claim]) -> float:
    """
    Return how often a sound judge proves all claims of some probes and those about their run, in [0, 1].

    The claims about the mean of one probe stand or fall together, as they rest on the same asks; all else is taken to
    be independent.
    """
    asked = list(probes)
    chance = 1.0
    for probe in asked:
        by_kind: dict[bool, float] = {}
        for claim in probe.claims:
            worst = bool(MEASURES[claim.measure].worst_of)
            by_kind[worst] = max(by_kind.get(worst, 0.0), missed(claim, family, probe))
        for share in by_kind.values():
            chance *= 1 - share
    for claim in of_run:
        if whole := pool(claim, asked):
            chance *= 1 - missed(claim, family, whole)
    return chance


def pool(claim: Claim, probes: Iterable[Claimed]) -> Claimed | None:
    """Return a claim about the whole run as one of a probe of its own; None if too few probes claim the measure."""
    mine = [p for p in probes if any(c.measure == claim.measure for c in p.claims)]
    if len(mine) < FEWEST:
        return None
    rooms = [p.room for p in mine if p.room is not None]
    room = max(rooms) if len(rooms) == len(mine) else None
    return Claimed((claim,), None, rotation=True, clusters=max(p.clusters for p in mine), room=room)


def attainable(claim: Claim, family: Family, probe: Claimed, misses: float = MISSES) -> Claim | None:
    """
    Return a claim with the strictest limit that a sound judge proves but for a share of its runs, in whole steps.

    Never one that is stricter than the claim's own. A claim that the table does not know stays. None if so few cases
    prove it at no limit that the table knows.
    """
    if MEASURES[claim.measure].crosswise:
        return claim if probe.of_run else _of_equals(claim, probe.clusters)
    if claim.measure in SLACK:
        return _by_root(claim, probe.clusters)
    found = _limits(claim, family, probe)
    if found is None:
        return claim
    slack = 0.0
    if MEASURES[claim.measure].worst_of:  # one wording may apply to fewer cases than all do together
        slack = WORST_SLACK * max(0.0, 1 / sqrt(max(1, probe.worth(claim, family))) - 1 / sqrt(USUAL))
    steps = (found[TAILS.index(misses)] + slack * (-1 if claim.op == ">=" else 1)) / STEP
    if claim.op == ">=":
        limit = min(claim.limit, round(floor(steps + 1e-9) * STEP, 10))
        possible = limit > _worst_end(claim)
    else:
        limit = max(claim.limit, round(ceil(steps - 1e-9) * STEP, 10))
        possible = limit < _worst_end(claim)
    return replace(claim, limit=limit) if possible else None


def _of_equals(claim: Claim, n: int) -> Claim | None:
    """
    Return a claim about a pull with a limit that n pairs prove of a judge that tosses a coin between equal answers.

    Each pair then varies by a half, as it is asked four times; a few pairs are lost to the bounds themselves.
    """
    spread = WORST_COIN if MEASURES[claim.measure].worst_of else COIN
    limit = round(ceil((spread / sqrt(n) + BOUNDS / n) / STEP) * STEP, 10)
    looser = replace(claim, limit=max(claim.limit, limit))
    return looser if looser.limit < 1 else None


def _by_root(claim: Claim, n: int) -> Claim | None:
    """Return a claim of which as much less is asked for as fewer cases than `USUAL` tell less."""
    less = SLACK[claim.measure] * max(0.0, 1 / sqrt(n) - 1 / sqrt(USUAL)) * (-1 if claim.op == ">=" else 1)
    steps = (claim.limit + less) / STEP
    limit = round((floor(steps + 1e-9) if claim.op == ">=" else ceil(steps - 1e-9)) * STEP, 10)
    low, high = MEASURES[claim.measure].range
    return replace(claim, limit=limit) if low < limit < high else None


def _provable_at_all(claim: Claim, probe: Claimed) -> Claim | None:
    """
    Return a claim about a whole run with a limit that so few questions can prove, however still the judge is.

    Rows of one question can move together, so that many of them are worth no more than one.
    """
    measure, n = MEASURES[claim.measure], probe.clusters
    if probe.room is not None and claim.measure in ROOMY:
        n = probe.room
    step = -STEP if claim.op == ">=" else STEP
    for number in range(round(1 / STEP)):
        looser = replace(claim, limit=round(claim.limit + number * step, 10))
        if measure.smallest_n(looser, LEVEL) <= n:
            return looser
    return None


def knows(design: Design, stopping: Stopping) -> bool:
    """Return whether the table is about a run: with its asks or more, and not by the anytime rule."""
    enough = design.clean >= DESIGN.clean and design.perturbed >= DESIGN.perturbed
    return enough and stopping is not Stopping.ANYTIME


def _worst_end(claim: Claim) -> float:
    measure = MEASURES[claim.measure]
    low, high = (1 - measure.high, 1 - measure.low) if measure.flipped else (measure.low, measure.high)
    return low if claim.op == ">=" else high


def _share(claim: Claim, limits: tuple[float, ...]) -> float:
    """Return the share of runs that miss the claim's limit; beyond the table it falls as between its last two rows."""
    sign = -1 if claim.op == ">=" else 1
    edge, points = sign * claim.limit + 1e-9, [sign * limit for limit in limits]
    if edge < points[0]:
        return 1.0 if points[0] == points[-1] else _between(edge, points[:2], TAILS[:2])
    for place, (left, right) in enumerate(pairwise(points)):
        if left <= edge < right:
            return _between(edge, (left, right), TAILS[place : place + 2])
    if points[-1] - points[-2] < 1e-9:
        return 0.0
    return _between(edge, points[-2:], TAILS[-2:])


def _between(x: float, points: Iterable[float], tails: Iterable[float]) -> float:
    """Return a tail between two points, or beyond them, by a straight line on the log scale; at most 1."""
    (a, b), (u, v) = points, tails
    if b - a < 1e-9:
        return v
    return min(1.0, exp(log(u) + (x - a) / (b - a) * (log(v) - log(u))))


def _limits(claim: Claim, family: Family, probe: Claimed) -> tuple[float, ...] | None:
    """Return the limits at each of `TAILS`, between the numbers of cases in the table; None if it does not know."""
    n, of_run = probe.worth(claim, family), probe.of_run
    if claim.measure in ("readable_rate", "unreadable_gain"):
        level = LEVEL if of_run or claim.op == ">=" else LEVEL / 2  # looks share the level of what an edit does
        return (_constant(claim, n, sqrt(FEWEST) if of_run else 1.0, level),) * len(TAILS)
    expects = "run" if of_run else "" if probe.expects is None else probe.expects.value
    rotation = probe.rotation and not of_run
    measure = "gain" if claim.measure == "lift" else claim.measure  # which has room in fewer cases, and is no surer
    known = _table().get(Cell(family, measure, claim.op, expects, rotation))
    if known is None:
        return None
    sizes = sorted(known)
    below = max((size for size in sizes if size <= n), default=None)
    if below is None:
        return (_worst_end(claim),) * len(TAILS)
    above = min((size for size in sizes if size > n), default=below)
    if above == below:
        return known[below]
    weight = (1 / below - 1 / n) / (1 / below - 1 / above)
    return tuple(a + weight * (b - a) for a, b in zip(known[below], known[above], strict=True))


def _constant(claim: Claim, n: int, shrunk: float, level: float) -> float:
    """Return the limit that n cases prove at a level of a measure that is best in every case."""
    if n < 2:
        return _worst_end(claim)
    measure = MEASURES[claim.measure]
    best = 1.0 if claim.op == ">=" else 0.0
    low, high = padded_t([best] * n, measure.low / shrunk, measure.high / shrunk, level)
    return low if claim.op == ">=" else high


@cache
def _table() -> Mapping[Cell, Mapping[int, tuple[float, ...]]]:
    """Return the table: limits by what they are about and by the number of cases."""
    found: dict[Cell, dict[int, tuple[float, ...]]] = {}
    lines = files(__package__).joinpath("resolution.csv").read_text("utf-8").splitlines()
    for line in lines[1:]:
        family, measure, op, expects, rotation, n, *limits = line.split(",")
        cell = Cell(family, measure, op, expects, rotation == "1")
        found.setdefault(cell, {})[int(n)] = tuple(map(float, limits))
    return found


Limits: TypeAlias = Literal["suites", "attainable"]
"""Which limits a run takes: those of its suites, or the strictest that its cases let a sound judge prove."""
LIMITS: Final[tuple[Limits, ...]] = ("suites", "attainable")
ENOUGH: Final = 0.95
"""A gate serves if a sound judge passes it at least this often."""
SHOWN: Final = 3
"""How many claims are named that so few cases hardly decide."""
TRIED: Final = 100
"""Cases on which an edit is tried; the share to which it applies is taken to be that of all."""


def outlook(orders: Iterable[Order], of: int = 0) -> str:
    """
    Return in one line what the cases of a run that asks some orders can show, and how often a sound judge is green.

    `of`: how many cases the run has, where its tests ask about a part of them.

    Empty if that is not known of all of them, as of fewer asks a case than the usual ones.

    Each edit is tried on `TRIED` of its cases. Where they have gold, it says in how many of them the answer can move.
    """
    claimed = [(o, [MEASURES[claim.measure] for claim in o.claims]) for o in orders]
    # of agreement no chances are known: they depend on the labels, too
    sized = [o for o, measures in claimed if any(one.topped or one.about_silence for one in measures)]
    asked = [o for o in sized if o.top_up and not o.idle]
    if not asked or not all(_known(o.setup) for o in asked):
        return ""
    family, fitted = asked[0].setup.family, any(order.limiter is not None for order in asked)
    samples = {key: _Sample(known) for key, known in {id(o.setup.cases): o.setup.cases for o in asked}.items()}
    most = max(samples.values(), key=lambda one: one.questions)
    cases, clusters = len(most.cases), most.questions
    of_run: Sequence[Claim] = limits_of(family)
    found = [(order, samples[id(order.setup.cases)].probe(order)) for order in asked]
    probes = [(order.title, order, probe) for order, probe in found if probe is not None]
    if not probes:
        return ""
    if fitted:
        whole = [pool(claim, [probe for _, _, probe in probes]) for claim in of_run]
        limited = (Attainable(family).limited(one.claims[0], one.clusters, one.room) for one in whole if one)
        of_run = [claim for claim in limited if claim is not None]
    chance = green([probe for _, _, probe in probes], family, of_run)
    counted = f"{cases} of the {of} cases" if cases < of else "1 case" if cases == 1 else f"{cases} cases"
    about = counted + (f" about {clusters} questions" if clusters < cases else "")
    passes = f"a judge without bias passes in {_percent(chance)} of runs"
    lost = list(dict.fromkeys(name for name, order, probe in probes if order.claims and not probe.claims))
    none = f"; too few to test {few_of(lost, SHOWN)}" if lost else ""
    are = "is" if cases == 1 else "are"
    if none and not _controlled([(order, probe) for _, order, probe in probes]):
        return f"{about} {are} too few to test {few_of(lost, SHOWN)}; take more cases"
    pairs = [(new, old) for _, order, probe in probes for new in probe.claims for old in order.claims]
    if wider := widest((new, old) for new, old in pairs if (new.measure, new.op) == (old.measure, old.op)):
        seen = because(Kind.AT_RESOLUTION, cases, *wider, family)
        return f"{seen}; {passes}{none}"
    if chance >= ENOUGH:
        return f"{about} {are} enough for these limits{none}"
    text = f"{about} {are} too few for these limits: {passes}"
    misses = {f"{name}: {c}": missed(c, family, probe) for name, _, probe in probes for c in probe.claims}
    least = sorted((claim for claim, miss in misses.items() if miss > 0.01), key=lambda claim: -misses[claim])
    weak = few_of([f"{claim} ({_percent(1 - misses[claim])})" for claim in least], SHOWN)
    eased = not fitted and any(_limits(claim, family, p) is not None for _, _, p in probes for claim in p.claims)
    fix = "take more cases, or --calm-limits attainable" if eased else "take more cases"
    return f"{text}; these claims pass least often: {weak}{none}; {fix}" if weak else f"{text}{none}; {fix}"


def without_gold(setups: Sequence[Setup]) -> str:
    """Return in one line what a run tests of pairs of which no answer is known to be the better one; else nothing."""
    setup = next((one for one in setups if one.family == "pairwise" and one.repeatable), None)
    if setup is None:
        return ""
    bare = sum(case.better in (None, TIE) or len(case.answers) < 2 for case in setup.cases)
    if not bare:
        return ""
    which = f"{bare} of {len(setup.cases)} cases name" if bare > 1 else f"1 of {len(setup.cases)} cases names"
    return (
        f"{which} no better answer: calm tests there whether a cue decides between equal answers, and whether harm is "
        "noticed; name the better one to test whether a cue lifts the worse one"
    )


def shortfall(order: Order) -> str:
    """Return the same line about one order, if a sound judge often does not prove what it claims; else nothing."""
    said = outlook([order])
    return said if ";" in said else ""


def attained(order: Order, kept: Sequence[str] = (), *, many: bool = False) -> Order:
    """
    Return an order whose claims get attainable limits when it runs; those about `kept` measures stay.

    `many`: it is one of so many that each limit has to be missed more seldom.

    The limits depend on the cases that the edit applies to and on the pilots, which are asked before the judge sees the
    edit: on no verdict that the claims are about.
    """
    if not order.claims or not order.top_up or order.idle or not _known(order.setup):
        return order
    misses = MISSES_OF_MANY if many else MISSES
    return replace(order, limiter=Attainable(order.setup.family, *_kind(order.edit), tuple(sorted(kept)), misses))


def foreseen(order: Order, questions: int, room: int | None = None) -> tuple[Claim, ...]:
    """
    Return the claims of an order with the limits that they get on so many questions; without those that get none.

    `room`: in how many of them the treated answer can move; None: in as many as in the table of resolutions.
    """
    if order.limiter is None:
        return order.claims
    limited = (order.limiter.limited(claim, questions, room) for claim in order.claims)
    return tuple(claim for claim in limited if claim is not None)


def _known(setup: Setup) -> bool:
    # the probabilities of a decision model say in one ask what a judge in words says in more than the table's
    return setup.repeatable and knows(DESIGN if setup.judge.traits.mute else setup.design, setup.stopping)


def _kind(edit: AnyEdit | None) -> tuple[Expects | None, bool]:
    """Return what an edit expects, and whether it is a rotation."""
    return (edit.expects, len(edit.variants) > 1) if edit else (None, False)


def _controlled(probes: Iterable[tuple[Order, Claimed]]) -> bool:
    """Return whether the controls keep all claims that decide them: a run that leaves one of these out is not green."""

    def deciding(order: Order, claims: Iterable[Claim]) -> set[str]:
        return {claim.measure for claim in claims if claim.measure in CONTROLS.get(order.bias, ())}

    return all(deciding(order, order.claims) == deciding(order, probe.claims) for order, probe in probes)


def _percent(share: float) -> str:
    """
    Return a share for people, never rounded to certainty.

    >>> _percent(0.9996), _percent(0.974), _percent(0.001)
    ('over 99 %', '97 %', 'under 1 %')
    """
    return "over 99 %" if share > 0.99 else "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"


@dataclass(slots=True)
class _Sample:
    """The cases of some probes, and those of them on which their edits are tried."""

    cases: tuple[Case, ...]
    questions: int = field(init=False)
    _clusters: dict[str, str] = field(init=False)
    _drawn: tuple[Case, ...] = field(init=False)
    _known: dict[tuple[Expects, int], tuple[Case, ...]] = field(default_factory=dict)
    """The cases on which an edit is tried, by what it expects and by how many they are."""

    def __post_init__(self) -> None:
        self._clusters = clusters_of(self.cases)
        self._drawn = self.cases
        if len(self.cases) > TRIED:  # a file may hold all cases of a kind together
            self._drawn = tuple(sorted(self.cases, key=lambda case: digest("tried", case.id))[:TRIED])
        self.questions = len(set(self._clusters.values()))

    def probe(self, order: Order) -> Claimed | None:
        """Return the claims of an order with the questions that its edit applies to; None if there are none."""
        if order.edit is None:
            asked = [pair.cluster for pair in pair_up(replace(order.setup, cases=self.cases), None, None).pairs]
            few = len(set(asked))
            return Claimed(foreseen(order, few), None, rotation=False, clusters=few) if few else None
        tried = self._drawn
        try:
            pairs = self._pairs(order, order.edit, tried)
            if not pairs and len(self.cases) > len(tried):
                tried = self.cases
                pairs = self._pairs(order, order.edit, tried)
        except Exception:  # noqa: BLE001 - an edit that breaks is reported where its test runs
            return Claimed(foreseen(order, self.questions), *_kind(order.edit), self.questions)
        if not pairs:
            return None
        known = [can for pair in pairs if (can := _has_room(order, order.edit, pair)) is not None]
        all_tried = len({self._clusters[case.id] for case in tried})
        applies = len({self._clusters[pair.source.id] for pair in pairs})
        questions = max(1, round(self.questions * applies / all_tried))
        room = round(questions * sum(known) / len(known)) if known else None
        return Claimed(foreseen(order, questions, room), *_kind(order.edit), questions, room)

    def _pairs(self, order: Order, edit: AnyEdit, tried: tuple[Case, ...]) -> list[Pair]:
        """Return the cases that an edit applies to; where a pilot aims, the first answer is taken as the best."""
        key = edit.expects, len(tried)
        if key not in self._known:
            found = []
            for case in tried:
                by_id = {one: float(-place) for place, one in enumerate(sorted(answer.id for answer in case.answers))}
                # with scores by their ids, no pilot has to be asked
                found.append(replace(case, scores=by_id) if aims_by_pilot(case, edit.expects) else case)
            self._known[key] = tuple(found)
        return pair_up(replace(order.setup, cases=self._known[key]), edit, order.against).pairs


def _has_room(order: Order, edit: AnyEdit, pair: Pair) -> bool | None:
    """Return whether the answer can move, if the judge says of it what the gold says; None where it says nothing."""
    family, scale, target = order.setup.family, order.setup.judge.scale, pair.treatment.target
    gold: Verdict | None = None
    if family == "score" and target is not None and target in pair.source.scores:
        gold = Score(pair.source.scores[target])
    elif family == "label" and scale.classes is not None and pair.source.label in scale.classes.names:
        gold = Label(pair.source.label)
    if gold is None:
        return None
    return has_room(replace(pair.source.treat(None), treatment=pair.treatment), edit.expects, gold, family, scale)
