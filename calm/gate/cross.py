"""A judge and its peers put to the same answers: `probe.cross().proves(own_pull <= 0.15)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, cast

from calm.core.claims import Claim, Decision, Outcome
from calm.core.plugins import hook
from calm.core.reasons import Kind, because
from calm.errors import ClaimError, EstimateError
from calm.experiment.lookahead import Order, Placeholder
from calm.experiment.run import unserved
from calm.experiment.stopping import Ruling
from calm.gate.arguments import chosen_claims, chosen_for
from calm.gate.context import Context
from calm.gate.overrides import accepted, gated
from calm.gate.proof import FINE, Proof
from calm.gate.question import not_tested
from calm.results.audit import Finding
from calm.results.findings import finding
from calm.selfpreference.symbols import TABLE_MEASURES, TableMeasure

if TYPE_CHECKING:
    from calm.selfpreference.crossing.design import CrossResult


class Cross:
    """
    The judge and its peers put to the same answers, each by a known author. End it with `.proves` or `.observe`.

    What is claimed are figures of the whole table (`own_pull <= 0.15`), not means over cases.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.ended = False
        self.open = False
        """Whether it is being decided: so it stays if an error ends that."""

    def __repr__(self) -> str:
        return "probe.cross()"

    def __bool__(self) -> bool:
        raise ClaimError(f"{self!r} has no truth of its own: end it with .proves(...) or .observe(...)")

    def proves(self, *claims: Claim, **by_task: Sequence[Claim]) -> Proof:
        """
        Ask the judges and decide all claims; true unless one is FAIL, UNDECIDED or INCOMPLETE.

        NOT_TESTED, with the reason, where the data do not allow it: no authors, no own answers, no other judge. An
        excess is OBSERVED: quality that others miss would look like preference. It takes the place of a pull of which
        too few answers are known to be equal.

        Raises:
            ClaimError: no claims, or one that is no figure of the judge's kind of verdicts.
        """
        context, family = self._context, self._context.setup.family
        chosen = chosen_claims(self, family, claims, by_task)
        for claim in chosen:
            known = TABLE_MEASURES.get(claim.measure)
            if known is None or family not in known.families:
                can = [m.name for m in TABLE_MEASURES.values() if family in m.families]
                what = f"{claim.measure} is no figure of {family} verdicts"
                raise ClaimError(f"{self!r}: {what}; claim {' or '.join(can) if can else 'nothing of such a judge'}")
        limited = [gated(context.gate, f"{context.node.suite}/{c.measure}", c) for c in chosen]
        if (placeholder := self._traced(limited)) is not None:
            return cast(Proof, placeholder)
        stated = {c.measure: c for c in chosen}
        began = perf_counter()
        findings = [accepted(context.gate, self._finding(d), stated) for d in self._decided(limited)]
        self._note(findings, perf_counter() - began)
        passes = FINE | {Outcome.UNDECIDED} if context.undecided == "warn" else FINE
        nothing = "" if findings else f"nothing is claimed for {family} verdicts"
        proof = Proof(findings, passes=passes, question=repr(self), nothing=nothing)
        context.proofs.append(proof)
        return proof

    def observe(self, *measures: TableMeasure, **by_task: Sequence[TableMeasure]) -> tuple[Finding, ...]:
        """
        Ask the judges and record figures without a limit.

        NOT_TESTED, with the reason, where the data do not allow one, or the judge's verdicts have no such figure.

        Raises:
            ClaimError: no figures, or something else.
        """
        family = self._context.setup.family
        chosen = chosen_for(family, measures, by_task)
        if not chosen or not all(isinstance(m, TableMeasure) for m in chosen):
            raise ClaimError(f"{self!r}: observe() expects figures such as self_preference_excess, got {chosen!r}")
        served = [m for m in chosen if family in m.families]
        unlimited = [Claim(m.name, "<=", m.fair + 1) for m in served]  # a claim carries the name; no limit is kept
        if (placeholder := self._traced(unlimited)) is not None:
            return cast("tuple[Finding, ...]", placeholder)
        others = [Decision(m.name, None, Outcome.NOT_TESTED, reason=because(Kind.NO_FIGURE, family)) for m in chosen]
        began = perf_counter()
        findings = [self._finding(replace(d, decision=_without_limit(d.decision))) for d in self._decided(unlimited)]
        findings += [self._finding(Ruling(d, None)) for m, d in zip(chosen, others, strict=True) if m not in served]
        self._note(findings, perf_counter() - began)
        return tuple(findings)

    def _traced(self, claims: Sequence[Claim]) -> Placeholder | None:
        """In a trace: hand over what is to be asked, and return what takes the place of its result."""
        context = self._context
        order = Order(context.setup, None, tuple(claims), suite=context.node.suite)
        context.claim([order])
        if context.sink is None:
            self.ended = self.open = True
            return None
        context.sink.take_cross(order, lambda: context.wanted)
        return Placeholder()

    def _note(self, findings: Sequence[Finding], seconds: float) -> None:
        self._context.seconds |= {f.key: seconds for f in findings}
        self._context.findings += findings
        self.open = False

    def _decided(self, claims: Sequence[Claim]) -> list[Ruling]:
        """Ask, and decide claims on the tables of all authors and judges."""
        from calm.selfpreference.crossing.design import TableJudge, why_none

        setup, suite = self._context.setup, self._context.node.suite
        if not claims:
            return []
        if reason := unserved(setup.judge, suite):
            return not_tested(claims, (), reason)
        if (decide := hook("cross")) is None:
            return not_tested(claims, (), because(Kind.NO_PLUGIN, "self_preference"))
        found: list[Ruling]
        try:
            crossed = None if isinstance(setup.judge, TableJudge) else self._ask([c.measure for c in claims])
            found, figures = decide(setup.judge, crossed, claims, setup.seed)
        except EstimateError as error:
            return not_tested(claims, (), why_none(error))
        if figures is not None:
            self._context.extras["self_preference"] = figures
        return found

    def _ask(self, measures: Sequence[str]) -> CrossResult:
        from calm.selfpreference.crossing.design import arranged_for, ask

        context = self._context
        arranged = arranged_for(context.setup.judge, context.wanted, context.setup.seed, measures)
        crossed = ask(arranged, context.setup.engine)
        asks = len(arranged.cases) * len(arranged.members)
        context.asks_made += asks
        context.asks_planned += asks
        return crossed

    def _finding(self, decided: Ruling) -> Finding:
        context = self._context
        found = finding(
            bias=context.node.suite,
            node=context.node.id,
            task=context.setup.judge.task,
            edit=None,
            against=None,
            decision=decided.decision,
            trials=decided.trials,
        )
        return replace(found, summary="The same answers judged by one of their authors and by other judges.")


def _without_limit(decision: Decision) -> Decision:
    """Return what was measured for a claim as an observation."""
    outcome = decision.outcome if decision.estimate is None else Outcome.OBSERVED
    return replace(decision, claim=None, outcome=outcome, cases_to_decide=None)
