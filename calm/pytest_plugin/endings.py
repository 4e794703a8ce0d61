"""
How each test of the gate ended, and what it found, as both travel from the test to the process that the user sees.

A report of pytest says that a test failed, not why. So the process that ran the test says with each report whether a
decision ended it; a report that says nothing, as of a worker that died, is taken for a crash.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from calm.core.reasons import Reason
    from calm.core.texts import CaseTexts
    from calm.gate.probe import Probe
    from calm.gate.verdict_of import NoVerdict
    from calm.results.audit import Finding
    from calm.results.codes import Ending, State

PHASES = {"setup": "setup", "call": "body", "teardown": "teardown"}
"""The phases of a test, and what they are called in words."""

LONGEST = 300
"""Characters of an error that a record keeps."""


def ended_without_verdict(call: pytest.CallInfo[None]) -> NoVerdict | None:
    """Return what ended a test that got no reply; None for every other end."""
    known = sys.modules.get("calm.gate.verdict_of")
    error = call.excinfo.value if call.excinfo is not None else None
    return error if known is not None and isinstance(error, known.NoVerdict) else None


def end_in(item: pytest.Item, call: pytest.CallInfo[None], report: Any, made: Probe | None) -> str:
    """Return how a phase ended its test, for its report: as ASCII, which xdist can carry; empty where it went on."""
    from calm.results.codes import State, reason_to_json

    error = call.excinfo.value if call.excinfo is not None else None
    if report.passed:
        return ""
    unanswered = ended_without_verdict(call)
    state, reason = (State.CRASHED, unanswered.reason) if unanswered else _ended(item, error, report, made)
    return json.dumps({"state": State(state).value, **reason_to_json(reason)})


def _ended(item: pytest.Item, error: BaseException | None, report: Any, made: Probe | None) -> tuple[State, Reason]:
    from calm.core.reasons import NONE, Kind, Said, because, reason_of
    from calm.results.codes import State

    if isinstance(error, pytest.skip.Exception):
        return State.NOT_TESTED, because(Kind.SKIPPED, Said(_first(str(error))))
    if isinstance(error, pytest.xfail.Exception):
        return State.NOT_TESTED, because(Kind.EXPECTED, Said(_first(str(error))))
    claims = report.when == "call" and (error is None or isinstance(error, AssertionError))
    if claims and made is not None and not all(proof.holds for proof in made.context.proofs):
        return State.DECIDED, NONE
    if report.skipped:
        if error is None:
            if made is None or not (made.context.findings or made.context.proofs):
                return State.NOT_TESTED, NONE
            found = made.context.findings
            return State.NOT_TESTED, found[0].reason if found else reason_of(made.context.proofs[0].nothing)
        if isinstance(error, AssertionError | pytest.fail.Exception):  # an expected failure, of an assertion of its own
            return State.DECIDED, NONE
        if _named(item, error):
            return State.NOT_TESTED, because(Kind.EXPECTED, Said(_first(str(getattr(report, "wasxfail", "")))))
    said = f"{type(error).__name__}: {error}" if error is not None else str(report.longrepr)
    return State.CRASHED, because(Kind.FAILED_IN, PHASES[report.when], Said(_first(said)))


def _named(item: pytest.Item, error: BaseException) -> bool:
    """Return whether an xfail of a test names the kind of an error: what it does not name is no known failure."""
    kinds = [marker.kwargs.get("raises") for marker in item.iter_markers("xfail")]
    return any(isinstance(error, kind) for kind in kinds if kind is not None)


def _first(text: str) -> str:
    """Return the first line of a text that says something, cut."""
    line = next((part for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


@dataclass(slots=True)
class _Entry:
    """
    One test: how it ended so far, whether its last phase came, and whether its report lacks what calm adds.

    `due`: its body is still to be reported. A test that ended in its setup has none.
    """

    end: Ending | None = None
    over: bool = False
    due: bool = True
    bare: bool = False


class Endings:
    """
    Tests that were collected, and what their reports say; kept in the process that the user sees.

    Workers of xdist tell their controller the ids of all tests first, and which of them are in the record with their
    first report. Until then all of them are. A test that asks for its probe while it runs is named when it does.
    """

    def __init__(self) -> None:
        self._collected: dict[str, None] = {}
        self._named: set[str] | None = None
        self._entries: dict[str, _Entry] = {}
        self._died: dict[str, None] = {}
        self.alone: set[str] = set()
        """The tests that asked the judge without a probe: they claim nothing, and are no part of the gate."""
        self.unanswered: dict[str, str] = {}
        """Which of them got no reply, and what is to be said of it."""

    def collect(self, nodes: Iterable[str]) -> None:
        """Add tests that were collected."""
        self._collected |= dict.fromkeys(nodes)

    def name(self, nodes: Iterable[str]) -> None:
        """Say which of the collected tests are in the record."""
        self._named = {*(self._named or ()), *nodes}

    def note(self, report: Any) -> None:
        """Take what a report says of how its test ended."""
        if report.when == "setup" or report.nodeid not in self._entries:  # a test may run again
            self._entries[report.nodeid] = _Entry()
        if report.when not in PHASES:
            self._died[report.nodeid] = None
        entry = self._entries[report.nodeid]
        found = _end_of(report)
        if found is not None and (entry.end is None or _rank(found) > _rank(entry.end)):
            entry.end = found
        entry.over |= report.when == "teardown"
        entry.due &= report.passed if report.when == "setup" else report.when != "call" or hasattr(report, "context")
        entry.bare |= report.when == "call" and not hasattr(report, "calm") and not hasattr(report, "context")

    @property
    def empty(self) -> bool:
        """Whether no test in the record was collected."""
        return not self._nodes

    @property
    def gateless(self) -> bool:
        """Whether no test that ran is one of the gate: each asks without a probe, and pytest says how it ended."""
        return all(one.node in self.alone for one in self.endings())

    @property
    def lost(self) -> bool:
        """Whether any test did not come to its end."""
        return any(one.lost for one in self.endings())

    def endings(self) -> tuple[Ending, ...]:
        """Return how each test in the record ended, by its name."""
        return tuple(self._ending(node) for node in sorted(self._nodes))

    @property
    def _nodes(self) -> list[str]:
        named = [node for node in self._collected if self._named is None or node in self._named]
        # nobody knows whether a test that died had a probe; in a run without any, it is none of ours
        return list(dict.fromkeys([*named, *self._died])) if named else []

    def _ending(self, node: str) -> Ending:
        from calm.core.reasons import Kind, because
        from calm.results.codes import Ending, State

        entry = self._entries.get(node)
        if entry is None:
            return Ending(node, State.NOT_RUN, because(Kind.NOT_BEGUN))
        if entry.end is not None and entry.end.lost:
            return entry.end
        if not entry.over:
            return Ending(node, State.NOT_RUN, because(Kind.CUT_SHORT))
        if entry.bare and self._named is not None:  # before that, nobody knows whether it is one of ours
            return Ending(node, State.CRASHED, because(Kind.REPORT_BARE))
        if entry.due and self._named is not None:
            return Ending(node, State.CRASHED, because(Kind.REPORT_KEPT))
        return entry.end or Ending(node, State.DECIDED)


def _end_of(report: Any) -> Ending | None:
    """Return the end of a test that a report tells, or None; a subtest ends its test only if it crashes."""
    from calm.core.reasons import Kind, Said, because
    from calm.results.codes import Ending, State, ending_from_json

    if report.when not in PHASES:  # xdist's own report about the test that a dead worker was to run
        return Ending(report.nodeid, State.CRASHED, because(Kind.PROCESS_DIED))
    if told := getattr(report, "calm", {}).get("end"):
        found = ending_from_json({"node": report.nodeid, **json.loads(told)})
    elif report.failed:
        said = Said(_first(str(report.longrepr)))
        found = Ending(report.nodeid, State.CRASHED, because(Kind.FAILED_IN, PHASES[report.when], said))
    elif report.skipped:
        found = Ending(report.nodeid, State.NOT_TESTED)
    else:
        return None
    return None if hasattr(report, "context") and not found.lost else found


def _rank(one: Ending) -> int:
    from calm.results.codes import State

    return [State.DECIDED, State.NOT_TESTED, State.NOT_RUN, State.CRASHED].index(one.state)


@dataclass(frozen=True, slots=True)
class Record:
    """What a test with a probe found, and what that took."""

    node: str
    subject: dict[str, Any] | None
    findings: Sequence[Finding]
    texts: Sequence[CaseTexts]
    seconds: dict[str, float]
    asks: list[int]
    """Asks that were needed, and that all cases would have needed before any top-up."""
    extras: dict[str, Any]

    def to_json(self) -> str:
        """Return it as ASCII: xdist cannot carry every text."""
        from calm.results.audit import finding_to_json, texts_to_json

        body = {name: getattr(self, name) for name in ("node", "subject", "seconds", "asks", "extras")}
        body["findings"] = [finding_to_json(one) for one in self.findings]
        body["texts"] = [texts_to_json(one) for one in self.texts]
        return json.dumps(body)

    @classmethod
    def from_json(cls, text: str) -> Record:
        """Return what `to_json` wrote."""
        from calm.results.audit import finding_from_json, texts_from_json

        body = json.loads(text)
        findings = [finding_from_json(one) for one in body.pop("findings")]
        texts = [texts_from_json(one).set_aside() for one in body.pop("texts")]
        return cls(findings=findings, texts=texts, **body)


class Found:
    """What the tests of a run found, gathered from their records."""

    def __init__(self) -> None:
        self.findings: dict[str, Finding] = {}
        self.texts: dict[tuple[str, str], CaseTexts] = {}
        self.seconds: dict[str, float] = {}
        self.asks: dict[str, list[int]] = {}
        self.extras: dict[str, Any] = {}
        self.subjects: dict[str, dict[str, Any]] = {}
        self.twice: list[Reason] = []
        self.together: set[str] = set()
        """The keys of claims about all probes of the run, or about a baseline, that this run made."""

    @property
    def told(self) -> bool:
        """Whether anything is decided or observed: a run that told nothing must not take the place of one that did."""
        from calm.core.claims import Outcome

        return any(f.outcome not in (Outcome.NOT_TESTED, Outcome.INCOMPLETE) for f in self.findings.values())

    def add(self, record: Record) -> None:
        """Add what a test found; no two tests, and no two questions of one, make the same finding."""
        from calm.core.claims import Outcome
        from calm.core.reasons import Kind, because

        node = record.node
        if record.subject:
            self.subjects[node] = record.subject
        mine: dict[str, Finding] = {}
        for finding in record.findings:
            key = finding.key
            before = self.findings.get(key, finding)
            if before.node != node:
                self.twice.append(because(Kind.TWICE, key, before.node, node))
            if mine.setdefault(key, finding) != finding:
                self.twice.append(because(Kind.TWICE_IN_TEST, key, node))
            # a test that a plugin runs again cannot take back a claim that was decided against the judge
            self.findings[key] = before if before.outcome in (Outcome.FAIL, Outcome.UNDECIDED) else finding
        self.texts |= {(t.case, t.hash): t for t in record.texts}
        self.seconds |= record.seconds
        self.asks[node] = record.asks
        self.extras |= record.extras
