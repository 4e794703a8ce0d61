"""An edit put to a judge: `probe(edit).proves(claim, ...)` asks, decides and records, within what the run may spend."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeVar, cast

from calm.cases import upright
from calm.core.case import Case
from calm.core.claims import Claim, Decision, Estimate, Outcome, decide
from calm.core.edits import AnyEdit, Edit
from calm.core.measures import MEASURES, Measure
from calm.core.memo import once
from calm.core.reasons import Kind, Reason, because
from calm.core.texts import CaseTexts
from calm.core.verdict import FAMILIES, Family
from calm.engine.money import Caps
from calm.errors import ClaimError, ConfigError, EstimateError, few_of
from calm.experiment import run as experiment
from calm.experiment.lookahead import Lookahead, Order, Placeholder
from calm.experiment.setup import Setup
from calm.experiment.stopping import LEVEL, Ruling
from calm.gate.catalogue import named
from calm.gate.prices import Figure
from calm.gate.rehearsal import shares
from calm.gate.resolution import Limits, attained, shortfall
from calm.gate.smallest import hunted
from calm.models.wire import Json
from calm.results.audit import AGREEMENT, BASELINE, CONTROLS, RUN, Finding, TrialRecord
from calm.results.findings import finding
from calm.results.gatefile import Gate, accepted, gated
from calm.results.sentences import sentence
from calm.results.wording import claim, clipped, printable
from calm.statistics.multiplicity import bh_rejects

if TYPE_CHECKING:
    from calm.experiment.crossing import CrossInputs

T = TypeVar("T")


def chosen_claims(
    question: object, family: Family, claims: Sequence[Claim], by_task: Mapping[str, Sequence[Claim]]
) -> Sequence[Claim]:
    """
    Return the claims for a kind of verdict: those of its keyword, else the positional ones.

    Raises:
        ClaimError: no claims, something that is no claim, or two claims about one measure.
    """
    chosen = chosen_for(family, claims, by_task)
    for name, group in by_task.items():
        if isinstance(group, Claim):
            raise ClaimError(f"{question!r}: expected a list of claims, {name}=[...], got {name}={group}")
    if not claims and not by_task:
        raise ClaimError(f"{question!r}: expected at least one claim such as net_robustness >= 0.95")
    for one in (*claims, *(c for group in by_task.values() for c in group)):
        if not isinstance(one, Claim):
            raise ClaimError(f"{question!r}: expected claims such as net_robustness >= 0.95, got {one!r}")
    if len({c.measure for c in chosen}) < len(chosen):
        raise ClaimError(f"{question!r}: two claims about one measure; claim the stricter one")
    return chosen


def chosen_for(family: Family, positional: Sequence[T], by_task: Mapping[str, Sequence[T]]) -> Sequence[T]:
    """
    Return what is meant for a kind of verdict: its keyword's value, else the positional arguments.

    Raises:
        ClaimError: a keyword that is no kind of verdict.
    """
    if unknown := set(by_task) - set(FAMILIES):
        raise ClaimError(f"unknown kind of verdict {min(unknown)!r}; known: {', '.join(FAMILIES)}")
    return by_task.get(family, positional)


MAX_REPR = 240
"""Longest representation that pytest shows whole in a failed assertion."""
FINE = frozenset({Outcome.PASS, Outcome.NOT_TESTED, Outcome.OBSERVED})
"""The outcomes that never make a proof false."""
_WORST_FIRST = (
    Outcome.FAIL,
    Outcome.INCOMPLETE,
    Outcome.UNDECIDED,
    Outcome.NOT_TESTED,
    Outcome.OBSERVED,
    Outcome.PASS,
)


class CalmUndecidedWarning(UserWarning):
    """A claim is undecided, and `--calm-undecided warn` lets it pass."""


class Proof:
    """What a claim's test asserts: true unless a claim failed, is undecided or is incomplete."""

    def __init__(
        self, findings: Sequence[Finding], *, passes: frozenset[Outcome], question: object, nothing: str = ""
    ) -> None:
        self.findings, self.question, self.nothing = tuple(findings), question, nothing
        self._passes = passes
        self.looked_at = False

    @property
    def holds(self) -> bool:
        """Whether every claim holds, without counting as having been looked at."""
        return not self._bad

    @property
    def _bad(self) -> list[Finding]:
        return [f for f in self.findings if f.outcome not in self._passes and f.accepted is None]

    def __bool__(self) -> bool:
        self.looked_at = True
        undecided = [f for f in self.findings if f.outcome is Outcome.UNDECIDED and f.accepted is None]
        if undecided and Outcome.UNDECIDED in self._passes and self.holds:
            warnings.warn(_said(undecided[0]), CalmUndecidedWarning, stacklevel=2)
        return self.holds

    def __repr__(self) -> str:
        if not self.findings:
            return f"NOT_TESTED: {self.nothing}"
        ordered = sorted(self._bad or self.findings, key=lambda f: _WORST_FIRST.index(f.outcome))
        text, *others = map(_said, ordered)
        for other in others:
            if len(text) + len(other) + 3 > MAX_REPR:
                break
            text = f"{text} | {other}"
        return clipped(text, MAX_REPR)


class Estimates(Mapping[Measure, Estimate]):
    """What `.observe` measured: an estimate for each measure that has one."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        self._estimates = {
            f.measure: Estimate(f.value, f.low, f.high, f.n, f.level, f.excluded)
            for f in findings
            if f.value is not None and f.low is not None and f.high is not None and f.level is not None
        }

    def __getitem__(self, measure: Measure) -> Estimate:
        return self._estimates[measure.name]

    def __iter__(self) -> Iterator[Measure]:
        return iter([MEASURES[name] for name in self._estimates])

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        return " | ".join(map(_said, self.findings))[:MAX_REPR]


def _said(one: Finding) -> str:
    return printable(f"{one.outcome.value} {claim(one)}: {sentence(one)}")


@dataclass(frozen=True, slots=True)
class Node:
    """The test that a probe belongs to: its id, and the name of its suite in kebab case."""

    id: str
    suite: str


class Sink(Protocol):
    """Takes what a test would ask while the test is traced."""

    def take(self, orders: Sequence[Order]) -> None:
        """Take a question's own order, and after it those of its variants."""

    def take_cross(self, order: Order, wanted: Callable[[], CrossInputs]) -> None:
        """Take a question about authors and judges, and what tells what the cross is made of."""


@dataclass(slots=True)
class LookaheadSink:
    """The sink of a look-ahead: gathers the orders that it is to run. A cross is asked when its test runs."""

    lookahead: Lookahead
    gathered: list[tuple[Lookahead, Order]]

    def take(self, orders: Sequence[Order]) -> None:
        """Gather the orders."""
        self.gathered += [(self.lookahead, order) for order in orders]

    def take_cross(self, order: Order, wanted: Callable[[], CrossInputs]) -> None:
        """Leave a cross to its test."""


@dataclass(slots=True)
class Context:
    """
    What the questions of a test share.

    `sink`: given in a trace, in which nothing is decided. `supposed`: there, an answer was
    supposed, so that what follows may never be asked. `lenient`: whether the test is expected to fail. `limits`: which
    limits claims get. `announced`: it was said what the cases of the run can decide. `say`: shows a message to the user
    at once. The other fields are what the test found; `seconds` are per finding, `asks_made` and `asks_planned` count
    asks. All tests of a run share `claimed`: by the key of a finding the test and the order that make it. `twice`: why
    a trace is refused.
    """

    setup: Setup
    node: Node
    undecided: Literal["fail", "warn"] = "fail"
    every_variant: bool = False
    lenient: Callable[[], bool] = lambda: False
    limits: Limits = "suites"
    announced: bool = False
    gate: Gate = field(default_factory=Gate)
    say: Callable[[str], None] = lambda _text: None
    lookahead: Lookahead = field(default_factory=lambda: Lookahead(1))
    sink: Sink | None = None
    supposed: bool = False
    wanted_by: Callable[[], CrossInputs] | None = None
    proofs: list[Proof] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    texts: dict[tuple[str, str], CaseTexts] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    extras: dict[str, Json] = field(default_factory=dict)
    asks_made: int = 0
    asks_planned: int = 0
    claimed: dict[str, tuple[str, Order]] = field(default_factory=dict)
    twice: list[Reason] = field(default_factory=list)

    @property
    def wanted(self) -> CrossInputs:
        """What a cross of judges and authors can use: the run's cases and the peers of the judge."""
        if self.wanted_by is not None:
            return self.wanted_by()
        from calm.experiment.crossing import CrossInputs

        return CrossInputs(self.setup.cases)

    def claim(self, orders: Sequence[Order]) -> None:
        """
        Note which findings the orders of a question make: no other question of the run makes one of them.

        Raises:
            ConfigError: one does, or the bias has a name of calm's own. In a trace `twice` gets the reasons instead.
        """
        found = [because(Kind.NAME_TAKEN, name) for name in sorted({one.bias for one in orders} & {RUN, BASELINE})]
        clashes: dict[str, list[str]] = {}
        for order in orders:
            for key in order.keys:
                node, first = self.claimed.setdefault(key, (self.node.id, order))
                if node != self.node.id or (first is not order and first.name != order.name):
                    clashes.setdefault(node, []).append(key)
        for node, keys in clashes.items():
            kind, nodes = (Kind.TWICE_IN_TEST, (node,)) if node == self.node.id else (Kind.TWICE, (node, self.node.id))
            found.append(because(kind, few_of(keys, 3), *nodes))
        if self.sink is not None:
            self.twice += found
        elif found:
            raise ConfigError([str(one) for one in found])

    def setup_for(self, cases: Sequence[Case] | None) -> Setup:
        """
        Return the setup with other cases, if others were given.

        Raises:
            ConfigError: something that is no case, or two cases with one id.
        """
        if cases is None:
            return self.setup
        given = tuple(cases)
        for case in given:
            if not isinstance(case, Case):
                raise ConfigError(f"probe(cases=...): expected cases, got {type(case).__name__}")
        twice = [name for name, count in Counter(c.id for c in given).items() if count > 1]
        if twice:
            raise ConfigError(f"probe(cases=...): two cases with the id {twice[0]!r}; each counts as one of its own")
        judge = self.setup.judge
        return replace(self.setup, cases=tuple(upright(given, judge.task, judge.scale)), equals=())


TOLERATED = "claimed with .allows: only evidence against it counts"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What a question asks: its own order with the claims as the test states them, and its variants'."""

    order: Order
    stated: tuple[Claim, ...]
    variants: tuple[Order, ...] = ()

    @property
    def all(self) -> list[Order]:
        """All orders, the question's own first."""
        return [self.order, *self.variants]


class Question:
    """An edit put to the judge; nothing is asked yet. End it with `.proves`, `.allows` or `.observe`."""

    def __init__(
        self, context: Context, edit: AnyEdit | None, against: AnyEdit | None, cases: Sequence[Case] | None
    ) -> None:
        self._context, self._edit, self._against, self._cases = context, edit, against, cases
        self.ended = False
        self.open = False
        """Whether it is being decided: so it stays if an error ends that."""

    def __repr__(self) -> str:
        return f"probe({self._edit!r})" if self._edit else "probe()"

    def __bool__(self) -> bool:
        raise ClaimError(f"{self!r} has no truth of its own: end it with .proves(...), .allows(...) or .observe(...)")

    def proves(self, *claims: Claim, **by_task: Sequence[Claim]) -> Proof:
        """
        Ask the judge and decide all claims; true unless one is FAIL, UNDECIDED or INCOMPLETE.

        A keyword named after a kind of verdict (`pairwise`, `score`, `rubric`, `listwise`, `label`) replaces the claims
        for judges of that kind.

        Raises:
            ClaimError: no claims, something that is no claim, or a claim that says nothing about this edit.
            EditError: the edit changed nothing, or changed what it must not.
        """
        batch = self._orders(chosen_claims(self, self._context.setup.family, claims, by_task), top_up=True)
        if (placeholder := self._traced(batch)) is not None:
            return cast(Proof, placeholder)
        passes = FINE | {Outcome.UNDECIDED} if self._context.undecided == "warn" else FINE
        return self._proof(self._findings(batch), passes, claims)

    def allows(self, *claims: Claim, **by_task: Sequence[Claim]) -> Proof:
        """Ask the judge and fail only on evidence against a claim, not for lack of evidence for it: a smoke test."""
        batch = self._orders(chosen_claims(self, self._context.setup.family, claims, by_task), top_up=False)
        if (placeholder := self._traced(batch)) is not None:
            return cast(Proof, placeholder)
        found = self._findings(batch)
        findings = [replace(f, accepted=TOLERATED) if f.outcome is Outcome.UNDECIDED else f for f in found]
        return self._proof(findings, FINE | {Outcome.UNDECIDED}, claims)

    def observe(self, *measures: Measure, **by_task: Sequence[Measure]) -> Estimates:
        """
        Ask the judge and record measures without a limit.

        A keyword named after a kind of verdict replaces the measures for judges of that kind, as in `proves`.

        Raises:
            ClaimError: no measures, something that is no measure, or one that says nothing about this edit.
        """
        family = self._context.setup.family
        chosen = chosen_for(family, measures, by_task)
        if not (chosen or family in by_task) or not all(isinstance(m, Measure) for m in chosen):
            raise ClaimError(f"observe() expects measures such as gain, got {chosen!r}")
        if (worst := next((m for m in chosen if m.worst_of), None)) is not None:
            raise ClaimError(f"{worst.name} is decided variant by variant: claim it, or observe {worst.worst_of}")
        experiment.check(self._edit, [Claim(m.name, "<=", 0.0) for m in chosen], family)
        batch = self._orders((), chosen, top_up=False)
        if (placeholder := self._traced(batch)) is not None:
            return cast(Estimates, placeholder)
        findings = self._findings(batch)
        self._context.findings += findings
        self.open = False
        return Estimates(findings)

    def _orders(self, claims: Sequence[Claim], observed: Sequence[Measure] = (), *, top_up: bool) -> Batch:
        """Return what is to be asked; variants are asked by themselves only if the run wants every variant."""
        self.ended = self.open = True
        context, edit = self._context, self._edit
        setup, own_cases = context.setup_for(self._cases), self._cases is not None
        if isinstance(edit, Edit):  # the same object each time: a test finds what was asked ahead of it
            edit = once(setup.memo, partial(edit.within, setup.cases), (edit, setup.cases), "within")
        stated, suite = tuple(claims), context.node.suite
        order = Order(
            setup,
            edit,
            stated,
            tuple(observed),
            self._against,
            top_up,
            suite,
            own_cases=own_cases,
            lenient=context.supposed or context.lenient(),
        )
        if order.idle:
            context.claim([order])
            return Batch(order, stated)
        keyed = zip(order.keys, stated, strict=False)
        order = replace(order, claims=tuple(gated(context.gate, key, claim) for key, claim in keyed))
        if context.limits == "attainable":
            kept = [c.measure for c in stated if context.gate.limit_for(order.key(c.measure)) is not None]
            order = attained(order, kept, many=context.every_variant)
        variants = edit.variants if context.every_variant and edit is not None else ()
        means = tuple(c for c in order.claims if not MEASURES[c.measure].worst_of)
        one = replace(order, observed=(), top_up=False, lenient=True)
        alone = [replace(one, edit=v, claims=means) for v in variants if means]
        limited = (replace(o, claims=tuple(gated(context.gate, o.key(c.measure), c) for c in means)) for o in alone)
        batch = Batch(order, stated, tuple(limited))
        context.claim(batch.all)
        return batch

    def _traced(self, batch: Batch) -> Placeholder | None:
        """In a trace: hand over what is to be asked, and return what takes the place of its result."""
        sink = self._context.sink
        if sink is None:
            return None
        sink.take(batch.all)
        self._context.supposed = True
        return Placeholder()

    def _findings(self, batch: Batch) -> list[Finding]:
        """Ask, decide, and return what was found."""
        order, context = batch.order, self._context
        stated = {c.measure: c for c in batch.stated}
        if order.idle:
            reasons = not_tested(order.claims, order.observed, order.unserved)
            return [accepted(context.gate, self._finding(order, d), stated) for d in reasons]
        if not context.announced and (short := shortfall(order)):
            context.say(short)
        timing = context.lookahead.result(order)
        result = timing.result
        context.asks_made += result.asked
        context.asks_planned += result.planned
        context.texts |= {(t.case, t.hash): t for t in result.texts if (t.case, t.hash) not in context.texts}
        made: dict[tuple[int, bool, bool], TrialRecord] = {}
        findings = [accepted(context.gate, self._finding(order, d, made), stated) for d in result.rulings]
        context.seconds |= {f.key: timing.seconds for f in findings}
        return findings + self._variants(batch.variants, stated) if batch.variants else findings

    def _variants(self, orders: Sequence[Order], stated: Mapping[str, Claim]) -> list[Finding]:
        """Ask each variant of a rotation by itself: FAIL by Benjamini and Hochberg's procedure, else only observed."""
        asked: list[tuple[Order, Ruling, float]] = []
        for order in orders:
            timing = self._context.lookahead.result(order)
            asked += [(order, d, timing.seconds) for d in timing.result.rulings]
        claimed = [
            i for i, (_, d, _) in enumerate(asked) if d.decision.claim is not None and d.decision.estimate is not None
        ]
        tests = [partial(_fails, asked[i][1]) for i in claimed]
        failing = {claimed[i] for i in bh_rejects(tests, LEVEL)} if tests else set()
        findings = []
        for position, (order, decided, seconds) in enumerate(asked):
            decision = _of_variant(decided.decision, fails=position in failing)
            found = self._finding(order, replace(decided, decision=decision))
            findings.append(accepted(self._context.gate, found, stated))
            self._context.seconds[findings[-1].key] = seconds
        return findings

    def _finding(
        self, order: Order, decided: Ruling, records: dict[tuple[int, bool, bool], TrialRecord] | None = None
    ) -> Finding:
        found = finding(
            bias=order.bias,
            node=self._context.node.id,
            task=order.setup.judge.task,
            edit=order.edit,
            against=order.against,
            decision=decided.decision,
            trials=decided.trials,
            records=records,
        )
        found = replace(found, commands=named(order, decided.trials))
        return replace(found, hunt=hunted(order, decided.trials)) if found.outcome is Outcome.FAIL else found

    def _proof(self, findings: Sequence[Finding], passes: frozenset[Outcome], claims: Sequence[Claim]) -> Proof:
        context = self._context
        context.findings += findings
        nothing = because(Kind.NOTHING_CLAIMED, context.setup.family, *(claim.measure for claim in claims))
        proof = Proof(findings, passes=passes, question=self, nothing="" if findings else str(nothing))
        context.proofs.append(proof)
        self.open = False
        return proof


def not_tested(
    claims: Sequence[Claim], observed: Sequence[Measure], reason: Reason, outcome: Outcome = Outcome.NOT_TESTED
) -> list[Ruling]:
    """Return that claims and measures were not tested, or not completely, and why."""
    found = [Decision(c.measure, c, outcome, reason=reason) for c in claims]
    return [Ruling(d, None) for d in (*found, *(Decision(m.name, None, outcome, reason=reason) for m in observed))]


def _of_variant(decision: Decision, *, fails: bool) -> Decision:
    """Return the decision on a variant by itself: what does not fail is observed only."""
    if decision.outcome in (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED):
        outcome = Outcome.FAIL if fails else Outcome.OBSERVED
        return replace(decision, outcome=outcome, cases_to_decide=None, reason=because(Kind.VARIANT))
    if decision.outcome is Outcome.NOT_TESTED:
        return replace(decision, reason=because(Kind.VARIANT, decision.reason))
    return decision


def _fails(decided: Ruling, level: float) -> bool:
    claim, trials = decided.decision.claim, decided.trials
    if claim is None or trials is None:
        return False
    try:
        return decide(MEASURES[claim.measure].estimate(trials, level), claim) is Outcome.FAIL
    except EstimateError:
        return False


WEIGHT: Final = (
    "injection",
    "position",
    "verbosity",
    "formatting",
    "authority",
    "bandwagon",
    "self-authorship",
    "sentiment",
    "framing",
    "refinement-aware",
    "fallacy-oversight",
    "distraction",
    "diversity",
    "compassion-fade",
)
"""
Biases of the default gate, those first that an answer can use most easily or that most judges were found to have.

The controls and the agreement with labels come before them: without these nothing is green. So do tests that a user
wrote or named, which are none of these.
"""
NAMED: Final = 3
"""So many biases that a cap does not reach are named."""


def by_weight(orders: Iterable[Order]) -> list[Order]:
    """Return orders by the weight of their biases; those of one bias stay in their order."""
    first = [*CONTROLS, AGREEMENT]

    def turn(order: Order) -> tuple[int, int, str]:
        if order.bias in first:
            return 0, first.index(order.bias), ""
        return (2, WEIGHT.index(order.bias), "") if order.bias in WEIGHT else (1, 0, order.bias)

    return sorted(orders, key=turn)


def shortage(orders: Sequence[Order], caps: Caps) -> str:
    """
    Return in one line what caps leave of a run that asks some orders in turn; empty if it needs no more than they let.

    The need is that of a sound judge, from a rehearsal in which nothing is asked. A judge with biases needs more, and
    replies that are kept already need no call.
    """
    needs = shares(orders)
    whole = reduce(Figure.plus, needs, Figure())
    short = [text for passed, text in _weighed(caps, whole) if passed]
    if not short:
        return ""
    spent, reached = Figure(), 0
    for need in needs:
        spent = spent.plus(need)
        if any(passed for passed, _ in _weighed(caps, spent)):
            break
        reached += 1
    decided, total = (sum(len(order.claims) for order in some) for some in (orders[:reached], orders))
    left = list(dict.fromkeys(order.bias for order in orders[reached:]))
    return f"{short[0]}: it decides about {decided} of {total} claims; left open: {few_of(left, NAMED)}"


def _weighed(caps: Caps, need: Figure) -> list[tuple[bool, str]]:
    """Return for each cap whether a need passes it, and what to say then."""
    tokens, minutes = need.input + need.output, need.seconds / 60
    return [
        (
            most is not None and needed > most,
            f"{caps.option}{name} {most} is less than this run needs from an empty cache ({about})",
        )
        for name, most, needed, about in (
            ("calls", caps.calls, need.calls, f"about {need.calls:,} calls"),
            ("tokens", caps.tokens, tokens, f"about {tokens:,} tokens"),
            ("usd", caps.usd, need.usd or 0.0, f"about {need.usd or 0.0:.2f} US dollars"),
            ("minutes", caps.minutes, minutes, f"about {minutes:.0f} minutes"),
        )
    ]
