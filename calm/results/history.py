"""Runs of the same task over time: what each claim measured in each of them, and what changed between two."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

from calm.core.claims import Outcome, decimals
from calm.errors import ConfigError
from calm.results.audit import RUN, Audit, Finding, JudgeRecord, read
from calm.results.compare import RANK
from calm.results.gatefile import WORSENING
from calm.results.parts import aligned, section
from calm.results.records import Change, changes, same_kind
from calm.results.redaction import without_texts
from calm.results.wording import printable, value

MOST_FILES: Final = 2_000
"""JSON files that a folder of results may hold: with more it is probably another folder."""
LINES: Final = 40
"""Lines of each part that a terminal shows."""
SHOWN: Final = 5
"""Runs whose values a line shows, the last ones."""
KINDS: Final = ("judge", "prompt", "cases", "calm", "design")
"""What can change between two runs: the judge and its model, its prompt, the cases, calm, and how it asks."""
FINGERPRINT: Final = "judge fingerprint"
"""It changes with the prompt and the model, too: it is a change of its own only where nothing explains it."""
_KIND: Final = {
    "judge prompt sha256": "prompt",
    "calm": "calm",
    "seed": "design",
    "repeats": "design",
    "stopping": "design",
    "limits": "design",
}


@dataclass(frozen=True, slots=True)
class Past:
    """A run of a history, without its rows and texts. `changes` say what differs from the run before."""

    name: str
    started: datetime
    audit: Audit
    changes: tuple[Change, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which kinds of things changed since the run before, in the order of `KINDS`."""
        names = {change.what for change in self.changes}
        found = {_kind(name) for name in names - {FINGERPRINT}}
        if FINGERPRINT in names and "prompt" not in found:
            found.add("judge")
        return tuple(kind for kind in KINDS if kind in found)

    @property
    def day(self) -> str:
        """When it was started, to the minute, in UTC."""
        return f"{self.started:%Y-%m-%d %H:%M}"


@dataclass(frozen=True, slots=True)
class Line:
    """One claim over all runs of a history: its finding in each of them, None where it was not made."""

    key: str
    findings: tuple[Finding | None, ...]

    @property
    def last(self) -> Finding:
        """The finding of the last run that has one."""
        return next(one for one in reversed(self.findings) if one is not None)

    @property
    def now(self) -> Finding | None:
        """The finding of the last run."""
        return self.findings[-1]

    @property
    def turned(self) -> bool:
        """Whether the outcome differs between any two runs that have one."""
        return len({one.outcome for one in self.findings if one is not None}) > 1


@dataclass(frozen=True, slots=True)
class History:
    """
    The runs of a folder, the oldest first, and each claim over them.

    `left_out` are the files that are not shown, each with the reason.
    """

    runs: tuple[Past, ...]
    lines: tuple[Line, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def title(self) -> str:
        """How many runs of which judge, and from when to when."""
        first, last = self.runs[0], self.runs[-1]
        judge = last.audit.judge
        when = first.day if len(self.runs) == 1 else f"{first.day} to {last.day}"
        return f"{len(self.runs)} run{'s' * (len(self.runs) != 1)} of {judge.name} ({judge.task}), {when} UTC"


def history(folder: Path, newest: Path | None = None, *, texts: bool = True) -> History:
    """
    Return the runs whose results lie in a folder, or in folders within it, in the order of their starts.

    The runs are those of the task of `newest`, or else of the task that most of them have. A file that is no results
    file, cannot be read, or is of another task is left out, with the reason.

    Args:
        folder: where the results lie.
        newest: one more results file, which need not lie there.
        texts: whether what may quote a text, such as a parameter of the judge, is shown as it is, not as a digest.

    Raises:
        ConfigError: no such folder, too many files, no run that can be shown, or `newest` cannot be read.
    """
    left_out: list[tuple[str, str]] = []
    known: dict[str, Past] = {}
    for name, path in _files(folder, newest):
        try:
            past = _past(name, path, texts=texts)
        except ConfigError as error:
            if newest is not None and path == newest:
                raise
            left_out.append((name, "; ".join(error.problems).removeprefix(f"{path}: ")))
            continue
        twin = known.setdefault(_identity(past.audit), past)
        if twin is not past:
            left_out.append((name, f"the same run as {twin.name}"))
    runs = sorted(known.values(), key=lambda past: (past.started, past.name))
    if not runs:
        why = "".join(f"\n{name}: {reason}" for name, reason in left_out[:LINES])
        raise ConfigError(
            f"--history: expected a folder with results that --calm-results or `calm audit` wrote, got none in "
            f"{str(folder)!r}{why}"
        )
    judge = next((past.audit.judge for past in runs if newest and past.name == str(newest)), _usual(runs))
    other = [past for past in runs if not same_kind(past.audit.judge, judge)]
    left_out += [(past.name, f"another task: {past.audit.judge.task}, not {judge.task}") for past in other]
    runs = [past for past in runs if same_kind(past.audit.judge, judge)]
    runs = [runs[0], *(replace(b, changes=changes(a.audit, b.audit)) for a, b in pairwise(runs))]
    return History(tuple(runs), _lines_of(runs), tuple(left_out))


def _files(folder: Path, newest: Path | None) -> Iterator[tuple[str, Path]]:
    try:
        if not folder.is_dir():
            what = "a file" if folder.exists() else "nothing"
            raise ConfigError(f"--history: expected a folder with results, got {what} at {str(folder)!r}")
        paths = []
        for path in folder.rglob("*.json"):
            if path.is_file():
                paths.append(path)
            if len(paths) > MOST_FILES:
                raise ConfigError(
                    f"--history: expected a folder with at most {MOST_FILES:,} JSON files, got more in "
                    f"{str(folder)!r}; name the folder that holds the results"
                )
    except OSError as error:
        raise ConfigError(f"--history: {str(folder)!r} cannot be read: {error.strerror or error}") from error
    if newest is not None:
        yield str(newest), newest
    for path in sorted(paths):
        if newest is None or not path.samefile(newest):
            yield path.relative_to(folder).as_posix(), path


def _past(name: str, path: Path, *, texts: bool) -> Past:
    """
    Return a run without its rows and texts.

    Raises:
        ConfigError: it cannot be read, or does not say when it was started.
    """
    audit = read(path, texts=False)
    audit = audit if texts else without_texts(audit)
    try:
        started = datetime.fromisoformat(audit.run.started)
    except ValueError as error:
        raise ConfigError(f"it does not say when it was started: started={audit.run.started!r}") from error
    started = started.replace(tzinfo=UTC) if started.tzinfo is None else started.astimezone(UTC)
    findings = tuple(replace(f, trials=()) for f in audit.findings if f.measure != WORSENING)
    return Past(name, started, replace(audit, findings=findings))


def _usual(runs: Sequence[Past]) -> JudgeRecord:
    judges = [past.audit.judge for past in reversed(runs)]
    return max(judges, key=lambda judge: sum(same_kind(judge, other) for other in judges))


def _identity(audit: Audit) -> str:
    run, findings = audit.run, [(f.key, f.value, f.outcome.value) for f in audit.findings]
    return json.dumps([run.started, run.seconds, run.calls, audit.judge.fingerprint, findings], sort_keys=True)


def _lines_of(runs: Sequence[Past]) -> tuple[Line, ...]:
    tables = [{f.key: f for f in past.audit.findings} for past in runs]
    keys = dict.fromkeys(key for table in tables for key in table)
    lines = [Line(key, tuple(table.get(key) for table in tables)) for key in keys]
    claimed = [line for line in lines if any(f and f.claim and f.value is not None for f in line.findings)]
    return tuple(sorted(claimed, key=_urgency))


def _urgency(line: Line) -> tuple[object, ...]:
    last = line.last
    return line.now is None, RANK.index(last.outcome), last.bias != RUN, not line.turned, line.key


def _kind(name: str) -> str:
    return "cases" if name.partition(" ")[0] == "cases" else _KIND.get(name, "judge")


def render_text(found: History) -> str:
    """
    Return a history for a terminal: the runs with what changed, then the claims, those first that are not proven.

    Characters that a terminal would act on are written as escapes.
    """
    runs = [
        (
            str(number),
            past.day,
            past.audit.outcome.value,
            f"{len(past.audit.of(Outcome.PASS))} proven, {len(past.audit.of(Outcome.FAIL))} failed",
            f"changed: {', '.join(past.kinds)}" if past.kinds else "",
            past.name,
        )
        for number, past in enumerate(found.runs, 1)
    ]
    claims = [_cells(line) for line in found.lines]
    parts = [
        [printable(found.title)],
        section("Runs", [[line] for line in aligned(runs)], LINES, last=True),
        section("Claims", [[line] for line in aligned(claims)], LINES),
        section("Left out", [[line] for line in aligned(found.left_out)], LINES),
    ]
    return "\n".join(line for part in parts for line in part)


def _cells(line: Line) -> tuple[str, ...]:
    last = line.last
    shown = line.findings[-SHOWN:]
    values = [value(last) if one is last else _value(one) for one in shown]
    outcomes = [
        f"{name} x{count}" if (count := len(list(group))) > 1 else name
        for name, group in groupby("not made" if one is None else one.outcome.value for one in shown)
    ]
    limit = "" if last.claim is None else f"{last.claim.op.replace('abs', '+-')} {decimals(last.claim.limit)}"
    return line.key, limit, " ".join(values), ", ".join(outcomes)


def _value(one: Finding | None) -> str:
    return "-" if one is None or one.value is None else value(one).partition(" ")[0]
