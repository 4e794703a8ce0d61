"""What a test holds: `probe(edit)`, and `probe.cross()` for a judge and its peers on the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, cast

from calm.core.case import Case
from calm.core.claims import Claim, Decision, Outcome
from calm.core.edits import AnyEdit, Edit, PromptEdit
from calm.core.files import read_json
from calm.core.measures import TABLE_MEASURES, TableMeasure
from calm.core.names import bare
from calm.core.plugins import hook, needed
from calm.core.reasons import Kind, because
from calm.core.verdict import FAMILY, Task
from calm.errors import ClaimError, ConfigError, EstimateError
from calm.experiment.crossing import Member, member_of
from calm.experiment.lookahead import Order, Placeholder
from calm.experiment.run import unserved
from calm.experiment.setup import Setup
from calm.experiment.stopping import Ruling
from calm.gate.from_spec import judge_from
from calm.gate.question import FINE, Context, Proof, Question, chosen_claims, chosen_for, not_tested
from calm.results.audit import Finding
from calm.results.findings import finding
from calm.results.gatefile import accepted, gated

if TYPE_CHECKING:
    from calm.experiment.crossing import CrossResult


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
        proof = Proof(findings, passes=passes, question=self, nothing=nothing)
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
        from calm.experiment.crossing import TableJudge, why_none

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
        from calm.experiment.crossing import arranged_for, ask

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


class Probe:
    """
    The `probe` fixture: call it with an edit to get a `Question`.

    In a trace it decides nothing: it hands what the test would ask to the sink of its context, and the test goes on.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.questions: list[Question | Cross] = []

    def __repr__(self) -> str:
        return "probe"

    @property
    def setup(self) -> Setup:
        """What the run asks: the judge, its cases, and the asks a case."""
        return self.context.setup

    @property
    def tracing(self) -> bool:
        """Whether the test only runs for what it would ask."""
        return self.context.sink is not None

    def __call__(
        self, edit: AnyEdit | None = None, *, against: AnyEdit | None = None, cases: Sequence[Case] | None = None
    ) -> Question:
        """
        Return a question about an edit, or about the clean cases alone; nothing is asked yet.

        Args:
            edit: a perturbation, or several in `rotate(...)`.
            against: the edit to compare with, where the clean case is not the right control.
            cases: other cases than the run's.

        Raises:
            ClaimError: something else was given as an edit.
        """
        for name, value in (("edit", edit), ("against", against)):
            if value is not None and not isinstance(value, Edit | PromptEdit):
                wanted = f"probe(): expected {name} to be a perturbation"
                raise ClaimError(f"{wanted}, got {value!r}; decorate it with @perturbation or @prompt_edit")
        if against is not None and edit is None:
            raise ClaimError("probe(): against= needs an edit to compare with")
        question = Question(self.context, edit, against, cases)
        self.questions.append(question)
        return question

    def cross(self) -> Cross:
        """Return a question about answers whose authors are known, put to the judge and its peers; nothing is asked."""
        question = Cross(self.context)
        self.questions.append(question)
        return question

    def complaint(self) -> str | None:
        """Return what a test that passed did wrong with its probe, if anything."""
        if not self.questions:
            return "the test takes `probe` and never uses it: it proves nothing"
        for question in self.questions:
            if not question.ended:
                return f"{question!r} was never decided: end it with .proves(...), .allows(...) or .observe(...)"
            if question.open:
                return f"{question!r} ended in an error, and the test went on: let the error end the test"
        for proof in self.context.proofs:
            if not proof.holds:
                return (
                    f"the test passed although a claim of it did not: {proof!r}. "
                    "To accept a known failure use @pytest.mark.xfail(reason=...)"
                )
            if not proof.looked_at:
                return f"a claim was decided and never asserted: write `assert {proof.question!r}.proves(...)`"
        return None


def read_peers(text: str, task: Task, *, keyless: bool = False) -> tuple[Member, ...]:
    """
    Return the judges that a list with commas names, each once.

    Args:
        text: specifications of judges, and files (.json) that hold the verdicts of some.
        task: the task of the judge; the peers must give verdicts of its kind.
        keyless: whether no live call will be made, so that no key is needed.

    Raises:
        ConfigError: no such judge or file, or one with another kind of verdict; each is named.
    """
    found: dict[str, Member] = {}
    problems: list[str] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        try:
            recorded = name.endswith(".json") and not name.startswith("recorded:")
            members = read_record(Path(name)) if recorded else [member_of(judge_from(name, keyless=keyless))]
        except ConfigError as error:
            problems += [f"--calm-peers: {problem}" for problem in error.problems]
            continue
        for member in members:
            if FAMILY[member.task] != FAMILY[task]:
                wanted = f"verdicts of the judge's kind ({FAMILY[task]})"
                problems.append(f"--calm-peers: {name}: expected {wanted}, got task={member.task!r}; leave it out")
            found.setdefault(bare(member.model), member)
    if problems:
        raise ConfigError(problems)
    return tuple(found.values())


def read_record(path: Path) -> list[Member]:
    """
    Return the judges of a record, with their verdicts.

    Raises:
        ConfigError: no such file, or not a record of `calm self-preference`.
    """
    body = read_json(path, "a record that `calm self-preference` wrote")
    if not isinstance(body, dict):
        raise ConfigError(f"{path}: expected a record that `calm self-preference` wrote, got {type(body).__name__}")
    members_from = needed("peers", str(path))
    try:
        return list(members_from(body))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
