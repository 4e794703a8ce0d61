"""What a test holds: `probe(edit).proves(claim, ...)` asks, decides and records; nothing is asked before a claim is."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Literal, cast

from calm.core.case import Case
from calm.core.claims import Claim, Decision, Estimate, Outcome, decide
from calm.core.edits import AnyEdit, Edit, PromptEdit
from calm.core.measures import MEASURES, Measure
from calm.core.reasons import Kind, Reason, because, reason_of
from calm.core.texts import CaseTexts
from calm.core.verdict import FAMILIES
from calm.errors import ClaimError, ConfigError, EstimateError
from calm.experiment import run as experiment
from calm.experiment.lookahead import Ahead, Foreseen, Order
from calm.experiment.run import Decided, Setup, unserved
from calm.experiment.stopping import LEVEL
from calm.models.wire import Json
from calm.results.audit import Finding, Limit, control_of, finding
from calm.results.gatefile import Gate
from calm.results.wording import line
from calm.selfpreference.symbols import TABLE_MEASURES, TableMeasure
from calm.statistics.multiplicity import holm_rejects

if TYPE_CHECKING:
    from calm.selfpreference.crossing import Wanted

MAX_REPR = 240
"""Longest representation that pytest shows whole in a failed assertion."""


class CalmUndecidedWarning(UserWarning):
    """A claim is undecided, and `--calm-undecided warn` lets it pass."""


@dataclass(frozen=True, slots=True)
class Node:
    """The test that a probe belongs to: its id, and the name of its suite in kebab case."""

    id: str
    suite: str


class Proof:
    """What a claim's test asserts: true unless a claim failed, is undecided or is incomplete."""

    def __init__(
        self, findings: Sequence[Finding], *, passes: frozenset[Outcome], question: str, nothing: str = ""
    ) -> None:
        self.findings, self.question, self.nothing = tuple(findings), question, nothing
        self._passes = passes
        self.looked_at = False

    @property
    def holds(self) -> bool:
        """Whether every claim holds, without counting as having been looked at."""
        return all(f.outcome in self._passes or f.accepted is not None for f in self.findings)

    def __bool__(self) -> bool:
        self.looked_at = True
        undecided = [f for f in self.findings if f.outcome is Outcome.UNDECIDED and f.accepted is None]
        if undecided and Outcome.UNDECIDED in self._passes and self.holds:
            warnings.warn(line(undecided[0]), CalmUndecidedWarning, stacklevel=2)
        return self.holds

    def __repr__(self) -> str:
        if not self.findings:
            return f"NOT_TESTED: {self.nothing}"
        bad = [f for f in self.findings if f.outcome not in self._passes and f.accepted is None]
        rank = [Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED, Outcome.NOT_TESTED, Outcome.OBSERVED, Outcome.PASS]
        words = [line(f) for f in sorted(bad or self.findings, key=lambda f: rank.index(f.outcome))]
        text = words[0]
        for more in words[1:]:
            if len(text) + len(more) + 3 > MAX_REPR:
                break
            text = f"{text} | {more}"
        return text if len(text) <= MAX_REPR else f"{text[: MAX_REPR - 3]}..."


class Observed(Mapping[Measure, Estimate]):
    """What `.observe` measured: an estimate for each measure that could be had."""

    def __init__(self, findings: Sequence[Finding], estimates: Mapping[str, Estimate]) -> None:
        self.findings, self._estimates = tuple(findings), estimates

    def __getitem__(self, measure: Measure) -> Estimate:
        return self._estimates[measure.name]

    def __iter__(self) -> Iterator[Measure]:
        return iter([MEASURES[name] for name in self._estimates])

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        return " | ".join(line(f) for f in self.findings)[:MAX_REPR]


class Question:
    """An edit put to the judge, not yet asked. End it with `.proves`, `.allows` or `.observe`."""

    def __init__(
        self, probe: Probe, edit: AnyEdit | None, against: AnyEdit | None, cases: Sequence[Case] | None
    ) -> None:
        self._probe, self._edit, self._against, self._cases = probe, edit, against, cases
        self.ended = False

    def __repr__(self) -> str:
        return f"probe({self._edit!r})" if self._edit else "probe()"

    def __bool__(self) -> bool:
        raise ClaimError(f"{self!r} has no truth of its own: end it with .proves(...), .allows(...) or .observe(...)")

    def proves(self, *claims: Claim, **by_task: Sequence[Claim]) -> Proof:
        """
        Ask the judge and decide all claims; true unless one is FAIL, UNDECIDED or INCOMPLETE.

        A keyword named after a kind of verdict (`pairwise`, `score`, `rubric`, `listwise`) replaces the claims for
        judges of that kind.

        Raises:
            ClaimError: no claims, something that is no claim, or a claim that says nothing about this edit.
            EditError: the edit changed nothing, or changed what it must not.
        """
        chosen = self._chosen(claims, by_task)
        if self._probe.tracing:
            return cast(Proof, self._foreseen(chosen, (), top_up=True))
        decided = self._run(chosen, (), top_up=True)
        passes = {Outcome.PASS, Outcome.NOT_TESTED, Outcome.OBSERVED}
        if self._probe.undecided == "warn":
            passes.add(Outcome.UNDECIDED)
        return self._proof(decided, frozenset(passes))

    def allows(self, *claims: Claim, **by_task: Sequence[Claim]) -> Proof:
        """Ask the judge and fail only on evidence against a claim, not for lack of evidence for it: a smoke test."""
        chosen = self._chosen(claims, by_task)
        if self._probe.tracing:
            return cast(Proof, self._foreseen(chosen, (), top_up=False))
        decided = self._run(chosen, (), top_up=False)
        tolerated = "claimed with .allows: only evidence against it counts"
        findings = [replace(f, accepted=tolerated) if f.outcome is Outcome.UNDECIDED else f for f in decided]
        passes = {Outcome.PASS, Outcome.NOT_TESTED, Outcome.OBSERVED, Outcome.UNDECIDED}
        return self._proof(findings, frozenset(passes))

    def observe(self, *measures: Measure, **by_task: Sequence[Measure]) -> Observed:
        """
        Ask the judge and record measures without a limit.

        A keyword named after a kind of verdict replaces the measures for judges of that kind, as in `proves`.
        """
        self._refuse_unknown(by_task)
        chosen = by_task.get(self._probe.setup.family, measures)
        if not chosen or not all(isinstance(m, Measure) for m in chosen):
            raise ClaimError(f"observe() expects measures such as gain, got {chosen!r}")
        experiment.check(self._edit, [Claim(m.name, "<=", 0.0) for m in chosen], self._probe.setup.family)
        if self._probe.tracing:
            return cast(Observed, self._foreseen((), chosen, top_up=False))
        findings = self._run((), chosen, top_up=False)
        self._probe.record(findings)
        estimates = {
            f.measure: Estimate(
                f.value, f.low, f.high, f.n, f.level, {reason_of(why): n for why, n in f.excluded.items()}
            )
            for f in findings
            if f.value is not None and f.low is not None and f.high is not None and f.level is not None
        }
        return Observed(findings, estimates)

    def _chosen(self, claims: Sequence[Claim], by_task: Mapping[str, Sequence[Claim]]) -> Sequence[Claim]:
        self._refuse_unknown(by_task)
        for family, group in by_task.items():
            if isinstance(group, Claim):
                raise ClaimError(f"{self!r}: expected a list of claims, {family}=[...], got {family}={group}")
        chosen = by_task.get(self._probe.setup.family, claims)
        if not claims and not by_task:
            raise ClaimError(f"{self!r}: expected at least one claim such as net_robustness >= 0.95")
        for claim in (*claims, *(c for group in by_task.values() for c in group)):
            if not isinstance(claim, Claim):
                raise ClaimError(f"{self!r}: expected claims such as net_robustness >= 0.95, got {claim!r}")
        if len({c.measure for c in chosen}) < len(chosen):
            raise ClaimError(f"{self!r}: two claims about one measure; claim the stricter one")
        return chosen

    def _refuse_unknown(self, by_task: Mapping[str, object]) -> None:
        if unknown := set(by_task) - set(FAMILIES):
            raise ClaimError(f"unknown kind of verdict {min(unknown)!r}; known: {', '.join(FAMILIES)}")

    def _foreseen(self, claims: Sequence[Claim], observed: Sequence[Measure], *, top_up: bool) -> Foreseen:
        """Let what the test will ask be asked now, and return what lets its trace go on."""
        if (claims or observed) and not self._unserved():
            order, variants = self._orders(claims, observed, top_up=top_up)
            self._say_too_few(order.setup, order.claims)
            for one in (order, *variants, *self._beside(order)):
                self._probe.ahead.submit(one)
        return Foreseen()

    def _orders(
        self, claims: Sequence[Claim], observed: Sequence[Measure], *, top_up: bool
    ) -> tuple[Order, tuple[Order, ...]]:
        """Return what is to be asked: the question, and each variant by itself where the run wants that."""
        setup = self._probe.setup_for(self._cases)
        gated = tuple(self._gated(c) for c in claims)
        order = Order(setup, self._edit, gated, tuple(observed), self._against, top_up)
        one_by_one = self._probe.every_variant and self._edit is not None and bool(claims)
        variants = self._edit.variants if one_by_one and self._edit is not None else ()
        return order, tuple(replace(order, edit=v, observed=(), top_up=False) for v in variants)

    def _run(self, claims: Sequence[Claim], observed: Sequence[Measure], *, top_up: bool) -> list[Finding]:
        self.ended = True
        if not claims and not observed:
            return []
        stated = {c.measure: c for c in claims}
        if reason := self._unserved():
            return [self._accepted(self._finding(self._edit, d), stated) for d in _not_tested(claims, observed, reason)]
        order, variants = self._orders(claims, observed, top_up=top_up)
        self._say_too_few(order.setup, order.claims)
        timed = self._probe.ahead.result(order)
        result, seconds = timed.result, timed.seconds
        self._probe.asked += result.asked
        self._probe.planned += result.planned
        self._probe.texts += [t for t in result.texts if (t.case, t.hash) not in self._probe.seen_texts]
        self._probe.seen_texts |= {(t.case, t.hash) for t in result.texts}
        controls = self._controls(self._beside(order))
        findings = [
            replace(self._accepted(self._finding(self._edit, d), stated), control=controls.get(d.decision.measure))
            for d in result.decided
        ]
        self._probe.seconds |= {f.key: seconds for f in findings}
        return findings + self._variants(variants)

    def _beside(self, order: Order) -> tuple[Order, ...]:
        """Return what is to be asked as the control of an order, where the run wants that and there is one."""
        if not self._probe.every_variant or order.edit is None or order.against is not None:
            return ()
        from calm.perturbations.controls import control_beside  # loads a module that most runs need not

        control = control_beside(order.edit)
        claimed = (MEASURES[c.measure] for c in experiment.with_readability(order.edit, order.claims))
        measures = tuple(dict.fromkeys((*claimed, *order.observed)))
        return () if control is None else (replace(order, edit=control, claims=(), observed=measures, top_up=False),)

    def _controls(self, orders: Sequence[Order]) -> dict[str, dict[str, Json]]:
        """Ask controls, and return by measure what they came to."""
        asked = [(order.edit, d) for order in orders for d in self._probe.ahead.result(order).result.decided]
        return {
            d.decision.measure: control_of(d.decision.estimate, edit)
            for edit, d in asked
            if edit is not None and d.decision.estimate is not None
        }

    def _unserved(self) -> Reason:
        return unserved(self._probe.setup.judge, self._edit.bias if self._edit else self._probe.node.suite)

    def _say_too_few(self, setup: Setup, claims: Sequence[Claim]) -> None:
        """Say of a claim that so few cases can never prove, before its calls are paid; it can still fail."""
        for claim in claims:
            least = MEASURES[claim.measure].smallest_n(claim, LEVEL)
            if len(setup.cases) < least - 1:  # `smallest_n` may be one too careful
                few = f"{len(setup.cases)} cases cannot prove {claim}, whatever the judge says"
                self._probe.say(f"{self._key(claim.measure)}: {few}: at least {least} are needed")

    def _key(self, measure: str) -> str:
        edit = self._edit
        bias = edit.bias if edit else self._probe.node.suite
        return "/".join(part for part in (bias, measure, edit.label if edit and edit.name else "") if part)

    def _gated(self, claim: Claim) -> Claim:
        """
        Return the claim with the limit that gate.toml sets for it.

        Raises:
            ConfigError: the limit has the wrong sign for a claim on both sides.
        """
        override = self._probe.gate.limit_for(self._key(claim.measure))
        if override is None or override.limit is None:
            return claim
        if claim.op == "abs<=" and override.limit <= 0:
            raise ConfigError(f"gate.toml: {override}: expected a limit above 0 for {claim}, got {override.limit!r}")
        return replace(claim, limit=override.limit)

    def _accepted(self, found: Finding, stated: Mapping[str, Claim]) -> Finding:
        """Return a finding with what gate.toml says of it: the limit that the suite states, or why it is accepted."""
        gate = self._probe.gate
        override, claim = gate.limit_for(found.key), stated.get(found.measure)
        if override is not None and claim is not None and found.claim is not None and claim.limit != found.claim.limit:
            words = f"gate.toml, until {override.expires}: {override.reason}"
            reason = f"{found.reason}; {words}" if found.reason else words
            found = replace(found, stated=Limit(claim.op, claim.limit), reason=reason)
        kinds = {Outcome.FAIL: gate.waiver, Outcome.UNDECIDED: gate.waiver, Outcome.NOT_TESTED: gate.accepts_untested}
        entry = kinds[found.outcome](found.key) if found.outcome in kinds else None
        if entry is None:
            return found
        return replace(found, accepted=f"gate.toml, until {entry.expires}: {entry.reason}")

    def _finding(self, edit: AnyEdit | None, decided: Decided) -> Finding:
        node = self._probe.node
        return finding(
            bias=edit.bias if edit else node.suite,
            node=node.id,
            task=self._probe.setup.judge.task,
            edit=edit,
            against=self._against,
            decision=decided.decision,
            trials=decided.trials,
        )

    def _variants(self, orders: Sequence[Order]) -> list[Finding]:
        """Ask each variant of a rotation by itself: FAIL where Holm's procedure finds evidence, else only observed."""
        asked: list[tuple[AnyEdit | None, Decided, float]] = []
        for order in orders:
            timed = self._probe.ahead.result(order)
            asked += [(order.edit, d, timed.seconds) for d in timed.result.decided]
        claimed = [
            i for i, (_, d, _) in enumerate(asked) if d.decision.claim is not None and d.decision.estimate is not None
        ]
        tests = [partial(_fails, asked[i][1]) for i in claimed]
        failing = {claimed[i] for i in holm_rejects(tests, LEVEL)} if tests else set()
        findings = []
        for position, (variant, decided, seconds) in enumerate(asked):
            decision = decided.decision
            if decision.outcome in (Outcome.PASS, Outcome.FAIL, Outcome.UNDECIDED):
                outcome = Outcome.FAIL if position in failing else Outcome.OBSERVED
                decision = replace(decision, outcome=outcome, cases_to_decide=None, reason=because(Kind.VARIANT))
            elif decision.outcome is Outcome.NOT_TESTED:
                decision = replace(decision, reason=because(Kind.VARIANT_OPEN, decision.reason))
            findings.append(self._finding(variant, replace(decided, decision=decision)))
            self._probe.seconds[findings[-1].key] = seconds
        return findings

    def _proof(self, findings: Sequence[Finding], passes: frozenset[Outcome]) -> Proof:
        self._probe.record(findings)
        nothing = "" if findings else f"nothing is claimed for {self._probe.setup.family} verdicts"
        proof = Proof(findings, passes=passes, question=repr(self), nothing=nothing)
        self._probe.proofs.append(proof)
        return proof


def _fails(decided: Decided, level: float) -> bool:
    claim, trials = decided.decision.claim, decided.trials
    if claim is None or trials is None:
        return False
    try:
        return decide(MEASURES[claim.measure].estimate(trials, level), claim) is Outcome.FAIL
    except EstimateError:
        return False


class Cross:
    """
    The judge and its peers put to the same answers, each by a known author. End it with `.proves` or `.observe`.

    What is claimed are figures of the whole table (`self_preference_ratio <= 1.25`), not means over cases.
    """

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._question = Question(probe, None, None, None)
        self.ended = False

    def __repr__(self) -> str:
        return "probe.cross()"

    def __bool__(self) -> bool:
        raise ClaimError(f"{self!r} has no truth of its own: end it with .proves(...) or .observe(...)")

    def proves(self, *claims: Claim, **by_task: Sequence[Claim]) -> Proof:
        """
        Ask the judges and decide all claims; true unless one is FAIL, UNDECIDED or INCOMPLETE.

        NOT_TESTED, with the reason, where the data do not allow it: no authors, no own answers, no other judge.

        Raises:
            ClaimError: no claims, or one that is no figure of the judge's kind of verdicts.
        """
        chosen = self._question._chosen(claims, by_task)
        setup = self._probe.setup
        for claim in chosen:
            known = TABLE_MEASURES.get(claim.measure)
            if known is None or setup.family not in known.families:
                can = [m.name for m in TABLE_MEASURES.values() if setup.family in m.families]
                what = f"{claim.measure} is no figure of {setup.family} verdicts"
                raise ClaimError(f"{self!r}: {what}; claim {' or '.join(can) if can else 'nothing of such a judge'}")
        if self._probe.tracing:
            return cast(Proof, Foreseen())
        self.ended = True
        gated = [self._question._gated(c) for c in chosen]
        began = perf_counter()
        decided = self._decided(gated) if gated else []
        stated = {c.measure: c for c in chosen}
        findings = [self._question._accepted(self._finding(d), stated) for d in decided]
        self._probe.seconds |= {f.key: perf_counter() - began for f in findings}
        self._probe.record(findings)
        passes = {Outcome.PASS, Outcome.NOT_TESTED, Outcome.OBSERVED}
        if self._probe.undecided == "warn":
            passes.add(Outcome.UNDECIDED)
        nothing = "" if findings else f"nothing is claimed for {setup.family} verdicts"
        proof = Proof(findings, passes=frozenset(passes), question=repr(self), nothing=nothing)
        self._probe.proofs.append(proof)
        return proof

    def observe(self, *measures: TableMeasure, **by_task: Sequence[TableMeasure]) -> tuple[Finding, ...]:
        """
        Ask the judges and record figures without a limit.

        NOT_TESTED, with the reason, where the data do not allow one, or the judge's verdicts have no such figure.
        """
        self._question._refuse_unknown(by_task)
        family = self._probe.setup.family
        chosen = by_task.get(family, measures)
        if not chosen or not all(isinstance(m, TableMeasure) for m in chosen):
            raise ClaimError(f"{self!r}: observe() expects figures such as self_preference_excess, got {chosen!r}")
        if self._probe.tracing:
            return cast("tuple[Finding, ...]", Foreseen())
        self.ended = True
        began = perf_counter()
        served = [m for m in chosen if family in m.families]
        unlimited = [Claim(m.name, "<=", m.fair + 1) for m in served]  # a claim carries the name; no limit is kept
        decided = self._decided(unlimited) if served else []
        others = [Decision(m.name, None, Outcome.NOT_TESTED, reason=because(Kind.NO_FIGURE, family)) for m in chosen]
        findings = [self._finding(replace(d, decision=_without_limit(d.decision))) for d in decided]
        findings += [self._finding(Decided(d, None)) for m, d in zip(chosen, others, strict=True) if m not in served]
        self._probe.seconds |= {f.key: perf_counter() - began for f in findings}
        self._probe.record(findings)
        return tuple(findings)

    def _decided(self, claims: Sequence[Claim]) -> list[Decided]:
        from calm.selfpreference import crossing  # numpy: only a run that gets here pays for it

        setup = self._probe.setup
        if reason := unserved(setup.judge, self._probe.node.suite):
            return _not_tested(claims, (), reason)
        crossed, trials = None, None
        try:
            if isinstance(setup.judge, crossing.Tabled):
                tables = crossing.recorded_tables(setup.judge)
            else:
                arranged = crossing.arranged_for(setup.judge, self._probe.wanted, setup.seed)
                crossed = crossing.ask(arranged, setup.engine)
                self._probe.asked += len(arranged.cases) * len(arranged.members)
                self._probe.planned += len(arranged.cases) * len(arranged.members)
                trials = crossing.trials_of(crossed)
                if crossed.missing:
                    return _not_tested(claims, (), crossed.missing, Outcome.INCOMPLETE)
                tables = crossing.tables_of(crossed)
        except EstimateError as error:
            return _not_tested(claims, (), because(Kind.FIGURE, str(error)))
        model = crossing.model_of(setup.judge)
        found = [
            Decided(crossing.decide_on(tables, model, c, setup.seed, log_scale=TABLE_MEASURES[c.measure].log), trials)
            for c in claims
        ]
        if any(d.decision.estimate is not None for d in found):
            leaking = crossed.crossing.leaks if crossed else ()
            figures = tables.report(setup.seed, leaking=leaking)
            self._probe.extras["self_preference"] = crossing.record(figures, tables, crossed, setup.seed)
        return found

    def _finding(self, decided: Decided) -> Finding:
        found = self._question._finding(None, decided)
        return replace(found, summary="The same answers judged by one of their authors and by other judges.")


def _without_limit(decision: Decision) -> Decision:
    """Return what was measured for a claim as an observation."""
    outcome = decision.outcome if decision.estimate is None else Outcome.OBSERVED
    return replace(decision, claim=None, outcome=outcome, cases_to_decide=None)


def _not_tested(
    claims: Sequence[Claim], observed: Sequence[Measure], reason: Reason, outcome: Outcome = Outcome.NOT_TESTED
) -> list[Decided]:
    found = [Decision(c.measure, c, outcome, reason=reason) for c in claims]
    return [Decided(d, None) for d in (*found, *(Decision(m.name, None, outcome, reason=reason) for m in observed))]


class Probe:
    """
    The `probe` fixture: call it with an edit to get a `Question`.

    With `tracing` it decides nothing: it lets `ahead` ask what the test will want, and the test goes on.
    """

    def __init__(
        self,
        setup: Setup,
        node: Node,
        *,
        undecided: Literal["fail", "warn"] = "fail",
        every_variant: bool = False,
        gate: Gate | None = None,
        say: Callable[[str], None] = lambda _text: None,
        ahead: Ahead | None = None,
        tracing: bool = False,
        wanted: Callable[[], Wanted] | None = None,
    ) -> None:
        self.setup, self.node = setup, node
        self._wanted = wanted
        self.extras: dict[str, Json] = {}
        self.ahead, self.tracing = ahead or Ahead(1), tracing
        self.undecided, self.every_variant, self.gate = undecided, every_variant, gate or Gate()
        self.questions: list[Question | Cross] = []
        self.proofs: list[Proof] = []
        self.findings: list[Finding] = []
        self.texts: list[CaseTexts] = []
        self.seen_texts: set[tuple[str, str]] = set()
        self.seconds: dict[str, float] = {}
        self.say = say
        self.asked = self.planned = 0

    def __repr__(self) -> str:
        return "probe"

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
        question = Question(self, edit, against, cases)
        self.questions.append(question)
        return question

    def cross(self) -> Cross:
        """Return a question about answers whose authors are known, put to the judge and its peers; nothing is asked."""
        question = Cross(self)
        self.questions.append(question)
        return question

    @property
    def wanted(self) -> Wanted:
        """What a cross of judges and authors can use: the run's cases and the peers of the judge."""
        if self._wanted is not None:
            return self._wanted()
        from calm.selfpreference.crossing import Wanted

        return Wanted(self.setup.cases)

    def setup_for(self, cases: Sequence[Case] | None) -> Setup:
        """Return the setup with other cases, if others were given."""
        if cases is None:
            return self.setup
        given = tuple(cases)
        for case in given:
            if not isinstance(case, Case):
                raise ConfigError(f"probe(cases=...): expected cases, got {type(case).__name__}")
        twice = [name for name, count in Counter(c.id for c in given).items() if count > 1]
        if twice:
            raise ConfigError(f"probe(cases=...): two cases with the id {twice[0]!r}; each counts as one of its own")
        return replace(self.setup, cases=given)

    def record(self, findings: Iterable[Finding]) -> None:
        """Keep findings for the run's record."""
        self.findings += findings

    def complaint(self) -> str | None:
        """Return what a test that passed did wrong with its probe, if anything."""
        if not self.questions:
            return "the test takes `probe` and never uses it: it proves nothing"
        for question in self.questions:
            if not question.ended:
                return f"{question!r} was never decided: end it with .proves(...), .allows(...) or .observe(...)"
        for proof in self.proofs:
            if not proof.holds:
                return (
                    f"the test passed although a claim of it did not: {proof!r}. "
                    "To accept a known failure use @pytest.mark.xfail(reason=...)"
                )
            if not proof.looked_at:
                return f"a claim was decided and never asserted: write `assert {proof.question}.proves(...)`"
        return None
