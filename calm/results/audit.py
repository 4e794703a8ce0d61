"""
The record of a run: provenance and findings, in and out as `calm-results/2`.

Everything but `run` and the texts is the same for the same judge, cases, edits and seed, whatever the order of cases,
the number of workers, and whatever was cached.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Final, Literal, Self, Union, cast, get_args, get_origin, get_type_hints

from calm.core.claims import Claim, Decision, Outcome
from calm.core.copies import names
from calm.core.edits import AnyEdit, Expects
from calm.core.files import json_of, read_bytes, read_json
from calm.core.measures import (
    MEASURES,
    Measure,
    acknowledgement,
    balanced_accuracy,
    consistency_rate,
    flips,
    rate,
    robustness_rate,
)
from calm.core.ready_made import unused
from calm.core.reasons import NONE, Kind, Reason, in_words, listed, ordered
from calm.core.references import references
from calm.core.texts import CaseTexts, Change, Exchange
from calm.core.trials import CUED, Trial, Trials
from calm.core.verdict import Code, Family, Scale, chances, code
from calm.errors import ConfigError
from calm.models.pricing import Cost
from calm.models.wire import Json
from calm.results.codes import (
    Ending,
    canonical,
    digest_of,
    ending_from_json,
    ending_to_json,
    from_code,
    gaps,
    reason_from_json,
    reason_to_json,
    refuse_changed,
    to_code,
)
from calm.results.control import Control, control_of
from calm.results.outputs import RESULTS, TEXTS, record_kind, remove, write_whole

SCHEMA = "calm-results/2"
_SHOWN: Final = 500
"""So many characters of a fault are shown: a value of the file may be in it."""
OLDER = ("calm-results/1",)
"""Schemas that reports can still show. Their rows have no inert arm, so nothing can be measured on them again."""
BASELINE = "baseline"
"""The first part of the key of the claim that nothing got worse. Like the controls, it is no bias."""
RUN = "run"
"""The first part of the keys of claims about all probes of a run together."""
CONTROLS = {
    "consistency": ("consistency_rate", "repeat_distance"),
    "rewording": ("rewording_rate",),
    "sensitivity": ("net_detection",),
}
"""The suites that are no bias, with the measures that decide them: without them a constant judge or a coin passes."""


AGREEMENT = "agreement"
"""The suite about agreement with gold labels and people. It is no bias, and a run without labels is whole."""
SHIPPED: Final = "calm.perturbations."
"""Modules of edits whose first line says after its colon what they do."""
LABELLED = "The cases as they are, compared with their labels."
"""What is done where agreement is measured."""

OF_OLDER = (Kind.INTERRUPTED, Kind.DID_NOT_RUN)
"""The notes by which a record without `tests` says that its run was not whole."""
LARGEST = 1e300
"""No number in a record is further from 0."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The claim of a finding."""

    op: Literal[">=", "<=", "abs<="]
    limit: float


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """
    One row of a finding in codes (see `calm.core.verdict.code`): a case under one variant, each arm in its order.

    `inert` is the arm that an edit is measured against, `floor` its name, `cluster` the question the case is about.
    `places` are where the judge was shown what its own prompt has no place for: "question", "end", "text".
    `own` names the text of the case itself that was shown, if the edit did not make it.
    `target` is the treated answer, `damaged` the harmed one, `hit` the criterion that was broken. `room` says whether
    the treated answer could still gain. `better`, `met` and `points` are the gold label and the weights of the
    criteria, `slots` the order in which the perturbed asks showed the answers, where a measure needs it. All numbers of
    the finding can be computed from them.
    """

    case: str
    edit: str
    hash: str
    pilot: Code | None
    clean: tuple[Code, ...]
    perturbed: tuple[Code, ...]
    control: tuple[Code, ...]
    inert: tuple[Code, ...] = ()
    floor: str = ""
    cluster: str = ""
    places: tuple[str, ...] = ()
    own: str = ""
    target: str | None = None
    damaged: str | None = None
    hit: str | None = None
    room: bool = True
    better: str | None = None
    met: Mapping[str, bool] = field(default_factory=dict)
    points: Mapping[str, float] = field(default_factory=dict)
    slots: tuple[tuple[str, ...], ...] = ()
    order: tuple[str, ...] = ()
    """The ids by slot as the clean asks showed them, where no edit was made or one that only moved answers."""
    worth: Mapping[str, float] = field(default_factory=dict)
    """The gold score of each answer that has one, where no edit was made."""
    people: Mapping[str, Code] = field(default_factory=dict)
    """What each person said of the case, where no edit was made."""
    chances: Mapping[str, Json] = field(default_factory=dict)
    """By arm, and `pilot`: for each ask the probability of each verdict, where the judge gave them."""
    cued: tuple[bool | None, ...] = ()
    """If a verdict moved and the judge gives reasons: by perturbed ask, whether its reason names the cue."""
    cued_before: tuple[bool | None, ...] = ()
    """The same of the clean asks, where there is no cue to name."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim of a probe, decided. `key` is `bias/measure[/perturbation]`; `low` and `high` are one-sided bounds."""

    key: str
    node: str
    bias: str
    perturbation: str | None
    expects: str | None
    dose: float | None
    summary: str
    task: str
    measure: str
    claim: Limit | None
    outcome: Outcome
    reason: Reason
    value: float | None
    low: float | None
    high: float | None
    level: float | None
    n: int
    excluded: Mapping[Reason, int]
    robustness_rate: float | None
    consistency_rate: float | None
    flips: Mapping[str, int]
    cases_to_decide: int | None
    channel: str
    asserted: bool
    accepted: str | None
    asks: str
    against: str | None = None
    stated: Limit | None = None
    """The limit that the suite states, where gate.toml replaced it in `claim`."""
    baseline: Mapping[str, Json] | None = None
    control: Control | None = None
    """What inert words in the place of the edit did to the same rows."""
    own: int = 0
    """How many of its cases were shown with a text that they hold themselves."""
    what: str = ""
    """What was done, as a clause that begins with a verb: by the edit, by its worst variant, or by a whole module."""
    references: Mapping[str, float] = field(default_factory=dict)
    """Of a measure of agreement: what a `constant` predictor reaches on the same cases, and what a second `person`."""
    unused: Mapping[Reason, int] = field(default_factory=dict)
    """How many texts that these cases hold for its edit were not shown, by reason; not counted of a worst variant."""
    scale: Mapping[str, float] = field(default_factory=dict)
    """The ends of the judge's scale, `low` and `high`, where a verdict is a score; else empty."""
    hunt: Mapping[str, str] = field(default_factory=dict)
    """If it failed: the `edits` and the place (`where`) of a hunt for the smallest example, if one makes sense."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """By the label of an edit in a row, or in `against`: how a command line names it, if it can."""
    lost: int = 0
    """How many cases more were asked and got too few replies: the figures are those of a part."""
    acknowledged: Mapping[str, int] = field(default_factory=dict)
    """Of a judge that gives reasons: rows that flipped, with a reason, with one that names the cue, and with one before
    that names it, too (`flips`, `reasons`, `named`, `before`)."""
    trials: tuple[TrialRecord, ...] = ()

    @property
    def single(self) -> bool:
        """Whether it is about one variant of a rotation, asked by itself beside the rotation that decides."""
        return self.reason.has(Kind.VARIANT)

    @property
    def red(self) -> bool:
        """Whether this finding alone keeps the gate from being green."""
        return self.accepted is None and self.outcome in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)


@dataclass(frozen=True, slots=True)
class JudgeRecord:
    """Which judge it was. `about` holds what the judge says of itself: model, prompt templates, parameters."""

    name: str
    task: str
    fingerprint: str | None
    model: str | None
    served: str | None
    prompt_sha256: str | None
    scale: Mapping[str, Json]
    parameters: Mapping[str, Json]
    about: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """
    Figures of one run. They differ between runs and decide nothing.

    `usd` is what is known of the cost, None where nothing is; `unpriced` are the models that were called at a price
    that is not known, with which `usd` is a lower bound.
    """

    started: str = ""
    seconds: float = 0.0
    calls: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    usd: float | None = None
    per_finding: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    unpriced: tuple[str, ...] = ()
    judge: str = ""
    """How the judge was named on the command line: a specification; empty where it had no name there."""
    case_files: tuple[str, ...] | None = ()
    """The files of the cases as they were named; empty: the bundled ones; None where the cases came from elsewhere."""
    kept: bool = True
    """Whether the replies were kept, so that a later run takes them from the cache."""

    @property
    def cost(self) -> Cost | None:
        """What the run cost; None where an old record says only that it is not known."""
        return None if self.usd is None and not self.unpriced else Cost(self.usd or 0.0, self.unpriced)


@dataclass(frozen=True, slots=True)
class Audit:
    """A whole run: who was judged by which data, what was found, and what it cost."""

    calm: str
    judge: JudgeRecord
    cases: Mapping[str, Json]
    seed: int
    repeats: str
    findings: tuple[Finding, ...]
    stopping: str = "fixed"
    """The rule by which claims were decided: at the end, or early at looks or anytime (`calm.experiment.stopping`)."""
    limits: Literal["suites", "attainable"] = "suites"
    """Which limits were taken: those of the suites, or the strictest that a sound judge meets with so many cases."""
    tests: tuple[Ending, ...] = ()
    """How each test with a probe ended; empty in the record of what no tests asked, and in older ones."""
    faults: tuple[Reason, ...] = ()
    """What is wrong with the run as a whole: it was interrupted, say, or two tests made the same claim."""
    run: Run = Run()
    texts: tuple[CaseTexts, ...] = ()
    extras: Mapping[str, Json] = field(default_factory=dict)
    """Other analyses by name, such as self-preference. Reports show them; they decide nothing."""

    @property
    def gaps(self) -> tuple[Reason, ...]:
        """Why the run is not whole: tests that crashed or did not run, and its faults."""
        return (*gaps(self.tests), *self.faults)

    @property
    def cut_short(self) -> bool:
        """Whether somebody interrupted the run."""
        return any(fault.has(Kind.INTERRUPTED) for fault in self.faults)

    @property
    def outcome(self) -> Outcome:
        """
        The worst red outcome (FAIL, INCOMPLETE, UNDECIDED); else PASS if anything was proven, or INCOMPLETE.

        A run that is not whole is INCOMPLETE, unless a claim failed.
        """
        open_ones = {f.outcome for f in self.findings if f.red} | ({Outcome.INCOMPLETE} if self.gaps else set())
        for outcome in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED):
            if outcome in open_ones:
                return outcome
        passed = any(f.outcome is Outcome.PASS for f in self.findings)
        return Outcome.PASS if passed else Outcome.INCOMPLETE

    def of(self, outcome: Outcome) -> tuple[Finding, ...]:
        """Return the findings with one outcome."""
        return tuple(f for f in self.findings if f.outcome is outcome)

    @property
    def biases(self) -> tuple[str, ...]:
        """The biases that were asked about, without the controls."""
        return tuple(sorted({f.bias for f in self.findings} - {*CONTROLS, AGREEMENT, BASELINE, RUN}))

    def tested(self, bias: str) -> bool:
        """Return whether any claim about a bias was decided, or at least answered about one case."""
        untested = (Outcome.NOT_TESTED, Outcome.OBSERVED)
        mine = [f for f in self.findings if f.bias == bias and f.outcome not in untested]
        return any(f.outcome is not Outcome.INCOMPLETE or f.n > 0 for f in mine)

    def settled(self, control: str) -> bool:
        """
        Return whether a control was decided: it has a finding of a measure that decides it, and none of these is open.

        Consistency is how often the judge agrees with itself, sensitivity how often it notices harm. Whether replies
        can be read, or the better answer is found, decides neither for good. But a control of which any claim failed is
        decided against the judge, whatever else is open. Where damage changes no class of a judge, the gold labels
        decide in its place: a constant judge finds one of them only.
        """
        mine = [f for f in self.findings if f.bias == control]
        if any(f.outcome is Outcome.FAIL and f.red for f in mine):
            return True
        # a variant by itself proves nothing, and need not apply: only its failure counts
        of = [f for f in mine if f.measure in CONTROLS[control]]
        if of and all(f.outcome is Outcome.NOT_TESTED and f.reason.has(Kind.NO_DAMAGED_CLASS) for f in of):
            of = [f for f in mine if f.measure == balanced_accuracy.name]
        # what applies to no case, such as a suite about runs of agents, leaves the control to its other claims
        of = [f for f in of if not (f.outcome is Outcome.NOT_TESTED and f.reason.has(Kind.APPLIES_NOT))]
        found = [f.outcome for f in of if f.outcome is Outcome.FAIL or not f.single]
        return bool(found) and all(outcome in (Outcome.PASS, Outcome.FAIL) for outcome in found)

    def _excused(self, control: str) -> bool:
        mine = [f for f in self.findings if f.bias == control and f.outcome is not Outcome.OBSERVED and not f.single]
        bare = [f.outcome is Outcome.NOT_TESTED and _without_better(f.reason) for f in mine]
        return control != "sensitivity" and bool(bare) and all(bare)

    @property
    def unasked(self) -> tuple[str, ...]:
        """
        The controls that a replay of recorded verdicts cannot ask, as they were not recorded; none of any other run.

        Inert words and harmed answers are never on record, and repeats are not where each case was asked once.
        """
        deciding = {
            c: [f for f in self.findings if f.bias == c and f.measure in measures and not f.single]
            for c, measures in CONTROLS.items()
        }
        if not any(f.reason.has(Kind.NOT_RECORDED) for found in deciding.values() for f in found):
            return ()
        lacking = (Kind.NOT_RECORDED, Kind.NEEDS_ASKS)
        return tuple(
            control
            for control, found in deciding.items()
            if found and all(f.outcome is Outcome.NOT_TESTED and any(map(f.reason.has, lacking)) for f in found)
        )

    @property
    def loose_ends(self) -> tuple[str, ...]:
        """
        Why the gate is not green although no finding says so.

        The controls that a replay cannot ask are none of these where its agreement with gold labels is proven: that
        tells it from a constant judge and from a coin.
        """
        reasons = []
        if not self.of(Outcome.PASS):
            reasons.append("no claim passed")
        asked = [c for c in CONTROLS if any(f.bias == c for f in self.findings) and not self._excused(c)]
        proven = any(f.bias == AGREEMENT and f.outcome is Outcome.PASS for f in self.findings)
        unasked = self.unasked
        loose = [c for c in asked if not self.settled(c) and not (proven and c in unasked)]
        left = [
            f"{control_without_result(c)}{'; a replay needs gold labels with which it agrees' if c in unasked else ''}"
            for c in loose
        ]
        return (*reasons, *left, *map(str, self.gaps))

    def green(self, *, undecided: str = "fail") -> bool:
        """
        Return whether all is proven that was claimed, by a run that is whole.

        `undecided="warn"` lets an undecided claim pass.
        """
        tolerated = {Outcome.UNDECIDED} if undecided == "warn" else set()
        return not {f.outcome for f in self.findings if f.red} - tolerated and not self.loose_ends

    def to_json(self) -> dict[str, Json]:
        """Return the audit as `calm-results/2`, without texts."""
        body: dict[str, Json] = {"schema": SCHEMA}
        plain = _plain(replace(self, findings=(), tests=(), faults=()))
        assert isinstance(plain, dict)
        plain.pop("texts")
        body |= plain
        body["outcome"] = self.outcome.value
        body["findings"] = [finding_to_json(f) for f in self.findings]
        body["tests"] = [ending_to_json(one) for one in self.tests]
        body["faults"] = [reason_to_json(one) for one in self.faults]
        if self.run.notes:
            body["run"] = {**_mapping(body["run"]), "note_codes": [to_code(note) for note in self.run.notes]}
        return {k: body[k] for k in _ORDER if k != "extras" or self.extras}

    @classmethod
    def from_json(cls, body: Mapping[str, Json], texts: Sequence[Mapping[str, Json]] = ()) -> Self:
        """
        Return the audit that `to_json` wrote.

        Raises:
            ConfigError: another schema, or a field that is missing or of the wrong kind; the message names it.
        """
        if body.get("schema") not in (SCHEMA, *OLDER):
            raise ConfigError(f"expected the results of a run, got {record_kind(body, SCHEMA)}")
        try:
            run = _run(_mapping(body["run"]))
            whole = "tests" in body
            return cls(
                calm=str(body["calm"]),
                judge=JudgeRecord(**_fitting(JudgeRecord, _mapping(body["judge"]))),  # type: ignore[arg-type]  # checked
                cases=_mapping(body["cases"]),
                seed=int(str(body["seed"])),
                repeats=str(body["repeats"]),
                findings=tuple(finding_from_json(_mapping(f)) for f in _list(body["findings"])),
                stopping=str(body.get("stopping", "fixed")),
                limits="attainable" if body.get("limits") == "attainable" else "suites",
                tests=tuple(ending_from_json(_mapping(one)) for one in _list(body.get("tests", []))),
                faults=tuple(reason_from_json(_mapping(one)) for one in _list(body["faults"]))
                if whole
                else tuple(note for note in run.notes if note.kind in OF_OLDER),
                run=run if whole else replace(run, notes=tuple(n for n in run.notes if n.kind not in OF_OLDER)),
                texts=tuple(texts_from_json(t) for t in texts),
                extras=_mapping(body.get("extras", {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"results of schema {SCHEMA!r} are damaged: {type(error).__name__} {error}") from error


_HEAD = ("schema", "calm", "judge", "cases", "seed", "repeats", "stopping", "limits", "outcome")
_ORDER = (*_HEAD, "tests", "faults", "findings", "extras", "run")


def finding(
    *,
    bias: str,
    node: str,
    task: str,
    edit: AnyEdit | None,
    against: AnyEdit | None,
    decision: Decision,
    trials: Trials | None,
    accepted: str | None = None,
    records: dict[tuple[int, bool, bool], TrialRecord] | None = None,
) -> Finding:
    """
    Return the record of one decision, with its trials in codes.

    `records` are those that were made for other decisions on the same trials, by the identities of these.
    """
    estimate, claim = decision.estimate, decision.claim
    shown = edit.label if edit and edit.name else None
    told = trials is not None and any(row.clean or row.target == CUED for row in trials.rows)
    moved = flips(trials) if trials and edit and told else None
    rows = sorted(trials.rows, key=lambda row: (row.case, row.edit)) if trials else []
    tied = edit is None or edit.expects in (Expects.TIE, Expects.OBSERVE)
    control, as_much = control_of(trials, bias)
    return Finding(
        key="/".join(part for part in (bias, decision.measure, shown) if part),
        node=node,
        bias=bias,
        perturbation=shown,
        expects=edit.expects.value if edit else None,
        dose=edit.dose if edit else None,
        summary=edit.summary if edit else LABELLED if bias == AGREEMENT else "The same prompt asked again.",
        task=task,
        measure=decision.measure,
        claim=Limit(claim.op, claim.limit) if claim is not None else None,
        outcome=decision.outcome,
        reason=listed([reason for reason in (decision.reason, as_much) if reason]),
        value=_rounded(estimate.value if estimate else None),
        low=_rounded(estimate.low if estimate else None),
        high=_rounded(estimate.high if estimate else None),
        level=estimate.level if estimate else None,
        n=estimate.n if estimate else 0,
        excluded=ordered(estimate.excluded if estimate else trials.excluded if trials else {}),
        robustness_rate=_shown_rate(robustness_rate, trials),
        consistency_rate=_shown_rate(consistency_rate, trials),
        flips={"toward": moved.toward, "away": moved.away, "other": moved.other} if moved else {},
        cases_to_decide=decision.cases_to_decide,
        channel=", ".join(sorted({r.channel for r in trials.rows if r.channel})) if trials else "",
        asserted=True,
        accepted=accepted,
        asks=trials.asks if trials else "",
        against=against.label if against else None,
        control=control,
        own=len({row.case for row in rows if row.own}),
        what=_what(edit, decision.reason) if edit else "",
        references=_references(decision, trials),
        unused=_unused(rows, decision.measure),
        scale=_points(trials.scale, trials.family) if trials else {},
        lost=sum(trials.lost.values()) if trials else 0,
        acknowledged=acknowledgement(trials) if trials and moved else {},
        trials=tuple(_recorded(rows, against is not None, tied, {} if records is None else records)),
    )


def control_without_result(control: str) -> str:
    """Return what a control that is not decided means."""
    return f"the control {control} has no result yet, and without it green would mean nothing"


def _what(edit: AnyEdit, reason: Reason) -> str:
    worst = reason.worst
    chosen = next((one for one in edit.variants if one.label == worst), edit)
    if not chosen.variants:
        return chosen.summary
    made = (getattr(one.rewrite, "rewrite", one.rewrite) for one in chosen.variants)  # an edit may rename another one
    shipped = all(getattr(one, "__module__", "").startswith(SHIPPED) for one in made)
    home = sys.modules.get(f"{SHIPPED}{edit.bias.replace('-', '_')}") if shipped else None
    return ((home and home.__doc__) or "").strip().partition("\n")[0].partition(": ")[2]


def finding_of_run(decision: Decision, *, task: str, stated: Claim, scale: Scale, family: Family) -> Finding:
    """Return the record of a decision about all probes of a run; `stated` is the claim before gate.toml."""
    estimate, claim = decision.estimate, decision.claim
    assert claim is not None, "something is claimed of a run"
    return Finding(
        key=f"{RUN}/{claim.measure}",
        node="",
        bias=RUN,
        perturbation=None,
        expects=None,
        dose=None,
        summary="All probes of the run together.",
        task=task,
        measure=claim.measure,
        claim=Limit(claim.op, claim.limit),
        outcome=decision.outcome,
        reason=decision.reason,
        value=_rounded(estimate.value if estimate else None),
        low=_rounded(estimate.low if estimate else None),
        high=_rounded(estimate.high if estimate else None),
        level=estimate.level if estimate else None,
        n=estimate.n if estimate else 0,
        excluded={},
        robustness_rate=None,
        consistency_rate=None,
        flips={},
        cases_to_decide=decision.cases_to_decide,
        channel="",
        asserted=True,
        accepted=None,
        asks="",
        stated=None if stated == claim else Limit(stated.op, stated.limit),
        scale=_points(scale, family),
    )


def _points(scale: Scale, family: Family) -> dict[str, float]:
    if family != "score":
        return {}
    return {"low": scale.low, "high": scale.high} | ({"best": scale.low} if scale.best == "low" else {})


def _references(decision: Decision, trials: Trials | None) -> dict[str, float]:
    measure = MEASURES.get(decision.measure)
    if measure is None or not measure.agrees or trials is None or decision.estimate is None:
        return {}
    return {name: round(value, 6) + 0.0 for name, value in references(measure, trials).items()}


def _unused(rows: Sequence[Trial], measure: str) -> dict[Reason, int]:
    if (measure in MEASURES and MEASURES[measure].worst_of) or not any(row.held for row in rows):
        return {}
    shown: dict[str, set[str]] = {}
    for row in rows:
        shown.setdefault(row.case, set()).add(row.own)
    found: Counter[Reason] = Counter()
    for case, held in {row.case: row.held for row in rows if row.held}.items():
        found.update(unused(held, shown[case]))
    return ordered(found)


def _without_better(reason: Reason) -> bool:
    if reason.kind not in (Kind.COUNTED, Kind.LISTED):
        return reason.kind in (Kind.ONE_ANSWER, Kind.EQUAL_ANSWERS, Kind.NO_GOLD)
    untold = reason.details[0] if reason.kind is Kind.COUNTED else 0
    return not untold and all(_without_better(one) for one in reason.details if isinstance(one, Reason))


def _recorded(
    rows: Sequence[Trial], controlled: bool, tied: bool, known: dict[tuple[int, bool, bool], TrialRecord]
) -> Iterator[TrialRecord]:
    for row in rows:
        about = id(row), controlled, tied
        found = known.get(about)
        if found is None:
            found = known[about] = _record(row, controlled=controlled, tied=tied)
        yield found


def _record(row: Trial, *, controlled: bool, tied: bool) -> TrialRecord:
    compared = tuple(code(v) for v in row.clean)
    return TrialRecord(
        case=row.case,
        edit=row.edit,
        hash=row.hash,
        pilot=code(row.pilot) if row.pilot is not None else None,
        clean=() if controlled else compared,
        perturbed=tuple(code(v) for v in row.perturbed),
        control=compared if controlled else (),
        inert=tuple(code(v) for v in row.inert),
        floor=row.floor,
        cluster="" if row.cluster == row.case else row.cluster,
        places=row.places,
        own=row.own,
        target=row.target,
        damaged=row.damaged,
        hit=row.hit,
        room=row.room,
        better=row.better,
        met=dict(row.met),
        points=dict(row.points),
        slots=row.slots if tied or row.order or row.target == CUED else (),
        order=row.order,
        worth=dict(row.worth),
        people={person: code(said) for person, said in row.people.items()},
        chances=_chances(row, "control" if controlled else "clean"),
        cued=row.cued,
        cued_before=row.cued_before,
    )


def _chances(row: Trial, compared: str) -> dict[str, Json]:
    pilot = () if row.pilot is None else (row.pilot,)
    if all(chances(verdict) is None for verdict in (*row.clean, *row.inert, *row.perturbed, *pilot)):
        return {}
    arms = {compared: row.clean, "inert": row.inert, "perturbed": row.perturbed, "pilot": pilot}
    laws = {arm: [chances(verdict) for verdict in verdicts] for arm, verdicts in arms.items()}
    return {
        arm: [None if law is None else {name: round(p, 9) for name, p in law.items()} for law in given]
        for arm, given in laws.items()
        if any(law is not None for law in given)
    }


def _shown_rate(measure: Measure, trials: Trials | None) -> float | None:
    return _rounded(rate(measure, trials)) if trials else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6) + 0.0  # + 0.0 turns -0.0 into 0.0


def finding_to_json(one: Finding) -> dict[str, Json]:
    """Return a finding as JSON-able data, with codes beside the words of its reasons."""
    plain = _plain(replace(one, excluded={}, unused={}))
    assert isinstance(plain, dict)
    plain["excluded"] = {**in_words(one.excluded)}
    plain["unused"] = {**in_words(one.unused)}
    if one.reason:
        plain["reason_code"] = to_code(one.reason)
    if one.excluded:
        plain["excluded_codes"] = [{**to_code(reason), "count": count} for reason, count in one.excluded.items()]
    if not one.acknowledged:
        del plain["acknowledged"]
    if one.unused:
        plain["unused_codes"] = [{**to_code(reason), "count": count} for reason, count in one.unused.items()]
    return plain


def finding_from_json(body: Mapping[str, Json]) -> Finding:
    """Return the finding that `finding_to_json` wrote; a KeyError or TypeError names what is missing."""
    data = dict(body)
    words = _fitting(_Words, {name: data.pop(name) for name in ("reason", "excluded")})
    reason = from_code(data.pop("reason_code", None), str(words["reason"]))
    excluded = _excluded(data.pop("excluded_codes", []), _mapping(words["excluded"]))
    left = _excluded(data.pop("unused_codes", []), _mapping(data.pop("unused", {})))
    control = _control(data.pop("control", None))
    claim = data.pop("claim")
    records = tuple(_trial(_mapping(t)) for t in _list(data.pop("trials")))
    outcome = Outcome(str(data.pop("outcome")))
    stated = _limit(data.pop("stated", None))
    limit = _limit(claim)
    kept = _fitting(Finding, data)
    return Finding(
        **kept,  # type: ignore[arg-type]
        claim=limit,
        stated=stated,
        outcome=outcome,
        reason=reason,
        excluded=excluded,
        unused=left,
        control=control,
        trials=records,
    )


def _excluded(codes: Json, words: Mapping[str, Json]) -> dict[Reason, int]:
    listed = [_mapping(code) for code in _list(codes)]
    found = {from_code(code, ""): _count(code.get("count")) for code in listed}
    if not found or NONE in found:
        return {from_code(None, text): _count(count) for text, count in words.items()}
    return found


def _count(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"excluded: expected a count, got {value!r}")
    return value


@dataclass(frozen=True, slots=True)
class _Words:
    """The reasons of a finding as a file spells them out."""

    reason: str
    excluded: Mapping[str, int]


def _control(body: Json) -> Control | None:
    if body is None or "perturbation" in _mapping(body):
        return None
    return Control(**_fitting(Control, _mapping(body)))  # type: ignore[arg-type]  # checked


def _limit(body: Json) -> Limit | None:
    return Limit(**_fitting(Limit, _mapping(body))) if body is not None else None  # type: ignore[arg-type]  # checked


def texts_to_json(texts: CaseTexts) -> dict[str, Json]:
    """Return the texts of a case as JSON-able data."""
    plain = _plain(texts)
    assert isinstance(plain, dict)
    if not texts.changes:
        del plain["changes"], plain["unlisted"]
    return plain


def texts_from_json(body: Mapping[str, Json]) -> CaseTexts:
    """Return the texts that `texts_to_json` wrote."""

    def arm(value: Json) -> tuple[tuple[Exchange, ...], ...]:
        return tuple(tuple(Exchange(**_fitting(Exchange, _mapping(e))) for e in _list(ask)) for ask in _list(value))  # type: ignore[arg-type]

    data = _fitting(CaseTexts, dict(body))
    clean, perturbed = arm(data.pop("clean")), arm(data.pop("perturbed"))
    changes = tuple(_change(_mapping(one)) for one in _list(data.pop("changes", [])))
    prompts = {name: tuple(_list(turns)) for name, turns in _mapping(data.pop("prompts")).items()}
    arms = {"clean": clean, "perturbed": perturbed}
    return CaseTexts(**data, **arms, prompts=prompts, changes=changes)  # type: ignore[arg-type]  # named fields


def _change(body: Mapping[str, Json]) -> Change:
    data = _fitting(Change, dict(body))
    return Change(**{**data, "names": tuple(map(str, _list(data.get("names", []))))})  # type: ignore[arg-type]  # checked


def _trial(body: Mapping[str, Json]) -> TrialRecord:
    _fitting(TrialRecord, dict(body))
    arms = {name: tuple(_list(body[name])) for name in ("clean", "perturbed", "control")}
    arms["inert"] = tuple(_list(body.get("inert", [])))
    slots = tuple(tuple(_list(order)) for order in _list(body.get("slots", [])))
    places = tuple(_list(body.get("places", [])))
    order = tuple(_list(body.get("order", [])))
    cued = {name: tuple(_list(body.get(name, []))) for name in ("cued", "cued_before")}
    rest = {k: v for k, v in body.items() if k not in (*arms, *cued, "slots", "places", "order")}
    return TrialRecord(**rest, **arms, **cued, slots=slots, places=places, order=order)  # type: ignore[arg-type]  # checked


def _run(body: Mapping[str, Json]) -> Run:
    data = {name: value for name, value in body.items() if name != "digest"}
    words, codes = _list(data.pop("notes", [])), _list(data.pop("note_codes", []))
    known = codes if len(codes) == len(words) else [None] * len(words)
    notes = tuple(from_code(code, str(text)) for code, text in zip(known, words, strict=True))
    unpriced = tuple(map(str, _list(data.pop("unpriced", []))))
    given = _fitting(Run, data).pop("case_files", [])
    files = None if given is None else tuple(map(str, _list(given)))
    return Run(notes=notes, unpriced=unpriced, case_files=files, **data)  # type: ignore[arg-type]  # checked


def _mapping(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {type(value).__name__}")
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, got {type(value).__name__}")
    return value


def _fitting(record: type, data: dict[str, Json]) -> dict[str, Json]:
    for name, fits in _kinds(record).items():
        if name in data and not fits(data[name]):
            raise TypeError(f"{record.__name__}: {name}={data[name]!r} is of the wrong kind")
    return data


@cache
def _kinds(record: type) -> dict[str, Callable[[Json], bool]]:
    return {name: _fits(hint) for name, hint in get_type_hints(record).items()}


def _fits(hint: object) -> Callable[[Json], bool]:
    if hint is Json:
        return lambda _: True
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [_fits(one) for one in arguments]
        return lambda value: any(fits(value) for fits in kinds)
    if origin is Literal:
        return lambda value: value in arguments
    if origin in (Mapping, dict):
        inner = _fits(arguments[1])
        return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
    if origin in (tuple, list):
        each = _fits(arguments[0])
        return lambda value: isinstance(value, list) and all(map(each, value))
    if hint in (int, float):
        number = (int,) if hint is int else (int, float)
        return lambda value: isinstance(value, number) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST
    if hint in (str, bool, NoneType):
        kind = cast("type", hint)
        return lambda value: isinstance(value, kind)
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: isinstance(value, dict)
    return lambda _: True


def _plain(value: object) -> Json:
    if type(value) in _ATOMS:  # most of a record: a row has dozens of them
        return cast("Json", value)
    if isinstance(value, Outcome):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Reason):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [v if type(v) in _ATOMS else _plain(v) for v in value]
    kind: type = type(value)  # everything else in a record is a dataclass
    values = [(name, getattr(value, name)) for name in names(kind)]
    plain: dict[str, Json] = {name: one if type(one) in _ATOMS else _plain(one) for name, one in values}
    return {k: v for k, v in plain.items() if v or k not in _IF_ANY} if kind is TrialRecord else plain


_ATOMS = frozenset({bool, int, float, str, type(None)})
_IF_ANY = ("order", "worth", "people", "cued", "cued_before")
"""What a row holds only where it is not empty."""


def write(audit: Audit, path: Path, *, texts: bool = True) -> None:
    """
    Write the results file and, beside it, `NAME.texts.jsonl`; each appears whole or not at all.

    Without `texts` the texts of an earlier run in this place are removed: they belong to no record.
    """
    write_whole(path, _laid_out(audit), RESULTS)
    if not texts:
        remove(texts_path(path), TEXTS)
        return
    lines = (f"{_text(texts_to_json(one))}\n" for one in audit.texts)
    write_whole(texts_path(path), lines, TEXTS)


def _laid_out(audit: Audit) -> Iterator[str]:
    """
    Yield results as text: a line for each entry and each trial.

    A finer layout of many trials takes seconds. A trial is written as its digest takes it, once for all findings of its
    probe; plain data of all trials at once would fill the memory.
    """
    body = replace(audit, findings=()).to_json() | {"outcome": audit.outcome.value}
    head = {name: value for name, value in body.items() if name != "findings"}
    rows: dict[int, str] = {}
    digest = digest_of(head, (_sealed(finding, rows) for finding in audit.findings))
    body["run"] = {**_mapping(body["run"]), "digest": digest}
    yield "{"
    for number, (name, value) in enumerate(body.items()):
        yield f"{',' if number else ''}\n {_text(name)}: "
        if name == "findings" and audit.findings:
            yield from _lines((_finding_text(finding, rows) for finding in audit.findings), " ")
        elif name == "tests" and audit.tests:
            yield from _lines((_text(ending_to_json(one)) for one in audit.tests), " ")
        else:
            yield _text(value)
    yield "\n}\n"


def _sealed(finding: Finding, rows: dict[int, str]) -> Iterator[str]:
    data = finding_to_json(replace(finding, trials=()))
    for number, name in enumerate(sorted(data)):
        yield f"{',' if number else '{'}{canonical(name)}:"
        if name != "trials":
            yield canonical(data[name])
            continue
        for place, trial in enumerate(finding.trials):
            text = rows.get(id(trial))
            if text is None:
                text = rows[id(trial)] = canonical(_plain(trial))
            yield f"{',' if place else '['}{text}"
        yield "]" if finding.trials else "[]"
    yield "}"


def _finding_text(finding: Finding, rows: Mapping[int, str]) -> str:
    data = finding_to_json(replace(finding, trials=()))
    if not finding.trials:
        return _text(data)
    entries = [f"{_text(name)}: {_text(value)}" for name, value in data.items() if name != "trials"]
    lines = _lines((rows[id(trial)] for trial in finding.trials), "  ")
    return "".join(["{", ", ".join(entries), ', "trials": ', *lines, "}"])


def _lines(texts: Iterable[str], indent: str) -> Iterator[str]:
    for number, text in enumerate(texts):
        yield f"{',' if number else '['}\n{indent} {text}"
    yield f"\n{indent}]"


_text: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def texts_path(results: Path) -> Path:
    """Return where the texts of a results file lie."""
    return results.with_name(f"{results.stem}.texts.jsonl")


def read(path: Path, *, texts: bool = True) -> Audit:
    """
    Return the audit in a results file, with its texts if their file lies beside it; without `texts`, with none.

    Raises:
        ConfigError: no such file, not JSON, not `calm-results/2`, or not as calm wrote it.
    """
    body = read_json(path, "a results file, which a run writes with --calm-results")
    if not isinstance(body, dict) or body.get("schema") not in (SCHEMA, *OLDER):
        found = record_kind(body, SCHEMA)
        raise ConfigError(f"{path}: expected a results file, which a run writes with --calm-results, got {found}")
    kept = _texts_beside(path) if texts else []
    try:
        audit = Audit.from_json(body, kept)
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error)[:_SHOWN]}; use a whole file that calm wrote") from error
    if body["schema"] == SCHEMA:
        refuse_changed(path, body)
    return audit


def _texts_beside(path: Path) -> list[Mapping[str, Json]]:
    beside = texts_path(path)
    try:
        told = read_bytes(beside).decode("utf-8") if beside.exists() else ""
        lines = told.split("\n")  # splitlines() cuts inside of texts
        return [cast("Mapping[str, Json]", json_of(line)) for line in lines if line]
    except (OSError, ValueError) as error:
        fault = f"{beside}: expected the texts of {path.name}, a JSON object a line; {error}"
        raise ConfigError(f"{fault}; move that file away to read the record without texts") from error
