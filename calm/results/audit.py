"""
The record of a run: provenance and findings, in and out as `calm-results/2`.

Everything but `run` and the texts is the same for the same judge, cases, edits and seed, whatever the order of cases,
the number of workers, and whatever was cached.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Any, Final, Literal, Self, cast

from calm.core.case import names
from calm.core.claims import Outcome
from calm.core.files import json_of, read_bytes, read_json, record_at
from calm.core.measures import balanced_accuracy
from calm.core.reasons import NONE, UNFIT, Kind, Reason, in_words
from calm.core.texts import CaseTexts, Picture
from calm.core.trials import Trial
from calm.core.verdict import Code
from calm.errors import ConfigError, few_of
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
from calm.results.outputs import RESULTS, TEXTS, record_kind, remove, write_whole
from calm.results.plain import IF_ANY, from_plain, list_of, object_of, to_plain

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
OF_OLDER = (Kind.INTERRUPTED, Kind.DID_NOT_RUN)
"""The notes by which a record without `tests` says that its run was not whole."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The claim of a finding."""

    op: Literal[">=", "<=", "abs<="]
    limit: float

    @property
    def two_sided(self) -> bool:
        """Whether it is about both sides of zero."""
        return self.op == "abs<="

    @property
    def ends(self) -> tuple[float, ...]:
        """The limit, and the one on the other side of zero if there is one."""
        return (self.limit, -self.limit) if self.two_sided else (self.limit,)


@dataclass(frozen=True, slots=True)
class Control:
    """
    What inert words did: `moved` is the share of verdicts that they move beyond those that a repeat moves.

    `gain` is the favour that they add to the treated answer, None where there is none; `floor` names where they were,
    and how many; `n` counts the rows.
    """

    floor: str
    moved: float
    gain: float | None
    n: int


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
    order: tuple[str, ...] = field(default=(), metadata=IF_ANY)
    """The ids by slot as the clean asks showed them, where no edit was made or one that only moved answers."""
    worth: Mapping[str, float] = field(default_factory=dict, metadata=IF_ANY)
    """The gold score of each answer that has one, where no edit was made, or one of which nothing is required."""
    people: Mapping[str, Code] = field(default_factory=dict, metadata=IF_ANY)
    """What each person said of the case, where no edit was made."""
    chances: Mapping[str, Json] = field(default_factory=dict)
    """By arm, and `pilot`: for each ask the probability of each verdict, where the judge gave them."""
    cued: tuple[bool | None, ...] = field(default=(), metadata=IF_ANY)
    """If a verdict moved and the judge gives reasons: by perturbed ask, whether its reason names the cue."""
    cued_before: tuple[bool | None, ...] = field(default=(), metadata=IF_ANY)
    """The same of the clean asks, where there is no cue to name."""


SAME: Final = tuple(
    name
    for name in names(TrialRecord)
    if name in names(Trial) and name not in {"pilot", "clean", "inert", "perturbed", "cluster", "slots", "people"}
)
"""The fields of a row that its record holds as they are."""


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
    acknowledged: Mapping[str, int] = field(default_factory=dict, metadata=IF_ANY)
    """Of a judge that gives reasons: rows that flipped, with a reason, with one that names the cue, and with one before
    that names it, too (`flips`, `reasons`, `named`, `before`)."""
    of: int = field(default=0, metadata=IF_ANY)
    """Of an undecided claim that counts a part of the cases: of how many it does; else 0."""
    trials: tuple[TrialRecord, ...] = ()

    @property
    def needed(self) -> int | None:
        """About how many cases like those of its run decide it; `cases_to_decide` are those that it counts."""
        few = self.cases_to_decide
        return ceil(few * self.of / self.n) if few and self.of and self.n else few

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
        # what fits no case, such as a suite about runs of agents, leaves the control to its other claims
        of = [f for f in of if not (f.outcome is Outcome.NOT_TESTED and any(map(f.reason.has, UNFIT)))]
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
            untested = () if self.findings else dict.fromkeys(str(test.reason) for test in self.tests if test.reason)
            reasons.append(": ".join(filter(None, ("no claim passed", few_of(list(untested), 2)))))
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
        plain = to_plain(replace(self, findings=(), tests=(), faults=()))
        assert isinstance(plain, dict)
        plain.pop("texts")
        body |= plain
        body["outcome"] = self.outcome.value
        body["findings"] = [finding_to_json(f) for f in self.findings]
        body["tests"] = [ending_to_json(one) for one in self.tests]
        body["faults"] = [reason_to_json(one) for one in self.faults]
        if self.run.notes:
            body["run"] = {**object_of(body["run"]), "note_codes": [to_code(note) for note in self.run.notes]}
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
            run = _run(object_of(body["run"]))
            whole = "tests" in body
            return cls(
                calm=str(body["calm"]),
                judge=from_plain(JudgeRecord, body["judge"]),
                cases=object_of(body["cases"]),
                seed=int(str(body["seed"])),
                repeats=str(body["repeats"]),
                findings=tuple(finding_from_json(object_of(f)) for f in list_of(body["findings"])),
                stopping=str(body.get("stopping", "fixed")),
                limits="attainable" if body.get("limits") == "attainable" else "suites",
                tests=tuple(ending_from_json(object_of(one)) for one in list_of(body.get("tests", []))),
                faults=tuple(reason_from_json(object_of(one)) for one in list_of(body["faults"]))
                if whole
                else tuple(note for note in run.notes if note.kind in OF_OLDER),
                run=run if whole else replace(run, notes=tuple(n for n in run.notes if n.kind not in OF_OLDER)),
                texts=tuple(texts_from_json(t) for t in texts),
                extras=object_of(body.get("extras", {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"results of schema {SCHEMA!r} are damaged: {type(error).__name__} {error}") from error


_HEAD = ("schema", "calm", "judge", "cases", "seed", "repeats", "stopping", "limits", "outcome")
_ORDER = (*_HEAD, "tests", "faults", "findings", "extras", "run")


def control_without_result(control: str) -> str:
    """Return what a control that is not decided means."""
    return f"the control {control} has no result yet, and without it green would mean nothing"


def _without_better(reason: Reason) -> bool:
    if reason.kind not in (Kind.COUNTED, Kind.LISTED):
        return reason.kind in (Kind.ONE_ANSWER, Kind.EQUAL_ANSWERS, Kind.NO_GOLD)
    untold = reason.details[0] if reason.kind is Kind.COUNTED else 0
    return not untold and all(_without_better(one) for one in reason.details if isinstance(one, Reason))


def finding_to_json(one: Finding) -> dict[str, Json]:
    """Return a finding as JSON-able data, with codes beside the words of its reasons."""
    plain = to_plain(replace(one, excluded={}, unused={}))
    assert isinstance(plain, dict)
    plain["excluded"] = {**in_words(one.excluded)}
    plain["unused"] = {**in_words(one.unused)}
    if one.reason:
        plain["reason_code"] = to_code(one.reason)
    if one.excluded:
        plain["excluded_codes"] = [{**to_code(reason), "count": count} for reason, count in one.excluded.items()]
    if one.unused:
        plain["unused_codes"] = [{**to_code(reason), "count": count} for reason, count in one.unused.items()]
    return plain


def finding_from_json(body: Mapping[str, Json]) -> Finding:
    """Return the finding that `finding_to_json` wrote; a KeyError or TypeError names what is missing."""
    data = dict(body)
    words = from_plain(_Words, {name: data.pop(name) for name in ("reason", "excluded")})
    control = data.pop("control", None)
    if isinstance(control, dict) and "perturbation" in control:
        control = None  # that of an older record was asked by itself and measured something else
    known: dict[str, Any] = {
        "reason": from_code(data.pop("reason_code", None), words.reason),
        "excluded": _excluded(data.pop("excluded_codes", []), words.excluded),
        "unused": _excluded(data.pop("unused_codes", []), object_of(data.pop("unused", {}))),
    }
    return from_plain(Finding, {**data, "control": control}, **known)


def _excluded(codes: Json, words: Mapping[str, Any]) -> dict[Reason, int]:
    listed = [object_of(code) for code in list_of(codes)]
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


def texts_to_json(texts: CaseTexts) -> dict[str, Json]:
    """Return the texts of a case as JSON-able data."""
    plain = to_plain(texts)
    assert isinstance(plain, dict)
    if not texts.changes:
        del plain["changes"], plain["unlisted"]
    return plain


def texts_from_json(body: Mapping[str, Json]) -> CaseTexts:
    """Return the texts that `texts_to_json` wrote."""
    return from_plain(CaseTexts, dict(body))


def _run(body: Mapping[str, Json]) -> Run:
    data = {name: value for name, value in body.items() if name != "digest"}
    words, codes = list_of(data.pop("notes", [])), list_of(data.pop("note_codes", []))
    known = codes if len(codes) == len(words) else [None] * len(words)
    notes = tuple(from_code(code, str(text)) for code, text in zip(known, words, strict=True))
    return from_plain(Run, data, notes=notes)


def write(audit: Audit, path: Path, *, texts: bool = True) -> None:
    """
    Write the results file and, beside it, `NAME.texts.jsonl`; each appears whole or not at all.

    Without `texts` the texts of an earlier run in this place are removed: they belong to no record.
    """
    write_whole(path, _laid_out(audit), RESULTS)
    if not texts:
        remove(texts_path(path), TEXTS)
        return
    lines = (f"{_text(texts_to_json(one))}\n" for one in _pictured_once(audit.texts))
    write_whole(texts_path(path), lines, TEXTS)


def _pictured_once(texts: Iterable[CaseTexts]) -> Iterator[CaseTexts]:
    """Yield texts in which only the first mention of an image has its small copy."""
    there: set[str] = set()
    for one in texts:
        kept: dict[str, tuple[Picture, ...]] = {}
        for arm, pictures in one.images.items():
            kept[arm] = tuple(
                replace(picture, small="") if picture.sha256 in there else picture for picture in pictures
            )
            there.update(picture.sha256 for picture in pictures)
        yield replace(one, images=kept) if kept else one


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
    body["run"] = {**object_of(body["run"]), "digest": digest}
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
                text = rows[id(trial)] = canonical(to_plain(trial))
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
    Return the audit in a results file, or in the folder that an audit wrote, with its texts if they lie beside it.

    Without `texts`, it has none.

    Raises:
        ConfigError: no such file, not JSON, not `calm-results/2`, or not as calm wrote it.
    """
    path = record_at(path)
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
