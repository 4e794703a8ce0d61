"""
The roll of a run: which tests with a probe were collected, and how each of them ended.

A report of pytest says that a test failed, not why. So the process that ran the test says with each report whether a
decision ended it; a report that says nothing, as of a worker that died, is taken for a crash.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.asking import ended_without_verdict

if TYPE_CHECKING:
    from calm.core.reasons import Reason
    from calm.gate.probe import Probe
    from calm.results.codes import Ending, State

PHASES = {"setup": "setup", "call": "body", "teardown": "teardown"}
"""The phases of a test, and what they are called in words."""
LONGEST = 300
"""Characters of an error that a record keeps."""


def on_roll(item: pytest.Item) -> bool:
    """Return whether a test takes the probe or the judge of a run."""
    return not {"probe", "judge"}.isdisjoint(getattr(item, "fixturenames", ()))


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
    from calm.core.reasons import NONE, Kind, Said, because
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
            return State.NOT_TESTED, _untested(made)
        if isinstance(error, AssertionError | pytest.fail.Exception):  # an expected failure, of an assertion of its own
            return State.DECIDED, NONE
        if _named(item, error):
            return State.NOT_TESTED, because(Kind.EXPECTED, Said(_first(str(getattr(report, "wasxfail", "")))))
    said = f"{type(error).__name__}: {error}" if error is not None else str(report.longrepr)
    return State.CRASHED, because(Kind.FAILED_IN, PHASES[report.when], Said(_first(said)))


def _untested(made: Probe | None) -> Reason:
    """Return why no claim of a test could be tested."""
    from calm.core.reasons import NONE, reason_of

    if made is None:
        return NONE
    found = made.context.findings
    return found[0].reason if found else reason_of(made.context.proofs[0].nothing) if made.context.proofs else NONE


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


class Roll:
    """
    Tests that were collected, and what their reports say; kept in the process that the user sees.

    Workers of xdist tell their controller the ids of all tests first, and which of them are on the roll with their
    first report. Until then all of them are. A test that asks for its probe while it runs is named when it does.
    """

    def __init__(self) -> None:
        self._collected: dict[str, None] = {}
        self._named: set[str] | None = None
        self._entries: dict[str, _Entry] = {}
        self._died: dict[str, None] = {}

    def collect(self, nodes: Iterable[str]) -> None:
        """Add tests that were collected."""
        self._collected |= dict.fromkeys(nodes)

    def name(self, nodes: Iterable[str]) -> None:
        """Say which of the collected tests are on the roll."""
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
        """Whether no test on the roll was collected."""
        return not self._nodes

    def endings(self) -> tuple[Ending, ...]:
        """Return how each test on the roll ended, by its name."""
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
