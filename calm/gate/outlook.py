"""What the cases of a run can decide: said in one line before the first call, and taken as limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from calm.core.case import TIE, Case, digest
from calm.core.claims import Claim
from calm.core.edits import AnyEdit, Expects
from calm.core.measures import MEASURES
from calm.core.reasons import Kind, because
from calm.core.verdict import Label, Score, Verdict
from calm.errors import few_of
from calm.experiment.aim import aims_by_pilot, has_room
from calm.experiment.lookahead import Order
from calm.experiment.pairs import Pair, pair_up
from calm.experiment.setup import Setup, clusters_of
from calm.gate.resolution import MISSES, MISSES_OF_MANY, Attainable, Claimed, green, knows, missed, pool
from calm.results.audit import CONTROLS
from calm.results.pairing import limits_of
from calm.results.records import widest

Limits: TypeAlias = Literal["suites", "attainable"]
"""Which limits a run takes: those of its suites, or the strictest that its cases let a sound judge prove."""
LIMITS: Final[tuple[Limits, ...]] = ("suites", "attainable")
ENOUGH: Final = 0.95
"""A gate serves if a sound judge passes it at least this often."""
SHOWN: Final = 3
"""How many claims are named that so few cases hardly decide."""
TRIED: Final = 100
"""Cases on which an edit is tried; the share to which it applies is taken to be that of all."""


def outlook(orders: Iterable[Order]) -> str:
    """
    Return in one line what the cases of a run that asks some orders can show, and how often a sound judge is green.

    Empty if that is not known of all of them, as of fewer asks a case than the usual ones.

    Each edit is tried on `TRIED` of its cases. Where they have gold, it says in how many of them the answer can move.
    """
    asked = [o for o in orders if _sized(o) and o.top_up and not o.idle]
    if not asked or not all(_known(o.setup) for o in asked):
        return ""
    samples: dict[int, _Sample] = {}
    probes: list[tuple[Order, Claimed]] = []
    for order in asked:
        drawn = samples.setdefault(id(order.setup.cases), _Sample(order.setup.cases))
        if (probe := drawn.probe(order)) is not None:
            probes.append((order, probe))
    if not probes:
        return ""
    family, most = asked[0].setup.family, max(samples.values(), key=lambda one: one.questions)
    cases, clusters = len(most.cases), most.questions
    fitted = any(order.limiter is not None for order in asked)
    of_run: Sequence[Claim] = limits_of(family)
    if fitted:
        whole = [pool(claim, [probe for _, probe in probes]) for claim in of_run]
        limited = (Attainable(family).limited(one.claims[0], one.clusters, one.room) for one in whole if one)
        of_run = [claim for claim in limited if claim is not None]
    chance = green([probe for _, probe in probes], family, of_run)
    about = ("1 case" if cases == 1 else f"{cases} cases") + (
        f" about {clusters} questions" if clusters < cases else ""
    )
    passes = f"a judge without bias passes in {_percent(chance)} of runs"
    lost = list(dict.fromkeys(_named(order) for order, probe in probes if len(probe.claims) < len(order.claims)))
    none = f"; too few to test {few_of(lost, SHOWN)}" if lost else ""
    are = "is" if cases == 1 else "are"
    if none and not _controlled(probes):
        return f"{about} {are} too few to test {few_of(lost, SHOWN)}; take more cases"
    pairs = [(new, old) for order, probe in probes for new in probe.claims for old in order.claims]
    if wider := widest((new, old) for new, old in pairs if (new.measure, new.op) == (old.measure, old.op)):
        seen = because(Kind.AT_RESOLUTION, cases, *wider)
        return f"{seen}; {passes}{none}"
    if chance >= ENOUGH:
        return f"{about} {are} enough for these limits{none}"
    text = f"{about} {are} too few for these limits: {passes}"
    misses = {f"{_named(o)}: {c}": missed(c, family, probe) for o, probe in probes for c in probe.claims}
    least = sorted((name for name, miss in misses.items() if miss > 0.01), key=lambda name: -misses[name])
    weak = few_of([f"{name} ({_percent(1 - misses[name])})" for name in least], SHOWN)
    fix = "take more cases" if fitted else "take more cases, or --calm-limits attainable"
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


def _sized(order: Order) -> bool:
    """Return whether anything is claimed whose chances are known: those of agreement depend on the labels, too."""
    measures = [MEASURES[claim.measure] for claim in order.claims]
    return any(measure.topped or measure.about_silence for measure in measures)


def _known(setup: Setup) -> bool:
    return setup.repeatable and knows(setup.design, setup.stopping)


def _named(order: Order) -> str:
    edit = order.edit
    return f"{order.bias}/{edit.label}" if edit and edit.name else order.bias


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
            self._known[key] = tuple(_ranked(c) if aims_by_pilot(c, edit.expects) else c for c in tried)
        return pair_up(replace(order.setup, cases=self._known[key]), edit, order.against).pairs


def _ranked(case: Case) -> Case:
    """Return a case with gold scores that rank its answers by their ids: then no pilot has to be asked."""
    ids = sorted(answer.id for answer in case.answers)
    return replace(case, scores={one: float(-place) for place, one in enumerate(ids)})


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
