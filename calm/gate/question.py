"""An edit put to a judge: `probe(edit).proves(claim, ...)` asks, decides and records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from calm.core.case import Case
from calm.core.claims import Claim, Decision, Outcome, decide
from calm.core.edits import AnyEdit, Edit
from calm.core.measures import MEASURES, Measure
from calm.core.memo import once
from calm.core.reasons import Kind, Reason, because
from calm.errors import ClaimError, EstimateError
from calm.experiment import run as experiment
from calm.experiment.lookahead import Order, Placeholder
from calm.experiment.stopping import LEVEL, Ruling
from calm.gate.arguments import chosen_claims, chosen_for
from calm.gate.context import Context
from calm.gate.naming import named
from calm.gate.outlook import attained, shortfall
from calm.gate.overrides import accepted, gated
from calm.gate.proof import FINE, Estimates, Proof
from calm.gate.smallest import hunted
from calm.results.audit import Finding, TrialRecord
from calm.results.findings import finding
from calm.statistics.multiplicity import bh_rejects

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
        return self._proof(self._findings(batch), passes)

    def allows(self, *claims: Claim, **by_task: Sequence[Claim]) -> Proof:
        """Ask the judge and fail only on evidence against a claim, not for lack of evidence for it: a smoke test."""
        batch = self._orders(chosen_claims(self, self._context.setup.family, claims, by_task), top_up=False)
        if (placeholder := self._traced(batch)) is not None:
            return cast(Proof, placeholder)
        found = self._findings(batch)
        findings = [replace(f, accepted=TOLERATED) if f.outcome is Outcome.UNDECIDED else f for f in found]
        return self._proof(findings, FINE | {Outcome.UNDECIDED})

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
        order = replace(order, claims=tuple(gated(context.gate, order.key(c.measure), c) for c in stated))
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
        return findings + self._variants(batch.variants, stated)

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

    def _proof(self, findings: Sequence[Finding], passes: frozenset[Outcome]) -> Proof:
        context = self._context
        context.findings += findings
        nothing = "" if findings else f"nothing is claimed for {context.setup.family} verdicts"
        proof = Proof(findings, passes=passes, question=repr(self), nothing=nothing)
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
