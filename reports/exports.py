"""What other tools are told of a run: a row for the gate and for each finding, with names that any tool can hold."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from calm.models.secrets import without_userinfo
from calm.results.audit import Audit, Finding
from calm.results.redaction import without_texts
from calm.results.reports.html import visible
from calm.results.sentences import sentence
from calm.results.steps import verdict_of
from calm.results.tabular import as_read, whole
from calm.results.wording import clipped

GATE: Final = "gate"
"""The name of the row of the whole run; its value is 1 for a green gate and 0 for any other."""
_NAME: Final = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(/[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*)*"
)
"""Names that every tool takes as they are."""
LONGEST_NAME: Final = 120
LONGEST: Final = 500
"""Characters of one text; the rest is cut."""


@dataclass(frozen=True, slots=True)
class Row:
    """
    One result as a tool is told of it.

    `name` is the key of the finding in signs that all tools take, `key` the key itself. `label` is the outcome of the
    record, such as FAIL. `value`, `low` and `high` are in the unit of the measure; None where nothing was measured.
    `limit` is what the claim allows, such as "<= 0.25", `cases` how many cases were counted, `edit` what was tried.
    """

    name: str
    id: str
    key: str
    value: float | None
    label: str
    sentence: str
    low: float | None = None
    high: float | None = None
    limit: str = ""
    cases: int = 0
    edit: str = ""
    accepted: str = ""

    def plain(self) -> dict[str, str | float]:
        """Return its parts that say something, but name and id."""
        parts = asdict(self)
        return {name: parts[name] for name in parts if name not in ("name", "id") and parts[name] not in (None, "")}


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """
    A run as a tool is told of it: an id that the same file always has, when it began, what it was, and its rows.

    `facts` are the judge, its model, its task, and how it was asked. The first row is that of the gate.
    """

    id: UUID
    started: datetime
    facts: dict[str, str]
    rows: tuple[Row, ...]


def exported(audit: Audit, source: Path) -> ExportedRun:
    """
    Return what other tools are told of a run, with no text of a case.

    Args:
        audit: the run.
        source: its file, whose contents give the ids: what is sent twice is the same twice.

    Raises:
        OSError: the file cannot be read.
    """
    with source.open("rb") as file:
        run = uuid5(NAMESPACE_URL, f"calm:{file_digest(file, 'sha256').hexdigest()}")
    audit, green = without_texts(as_read(audit)), audit.green()  # a reason may quote what a judge or a server said
    headline = text(": ".join(verdict_of(audit, green=green)))
    gate = Row(GATE, str(uuid5(run, "")), GATE, float(green), audit.outcome.value, headline)
    rows, taken = [gate], {GATE}
    for place, one in enumerate(audit.findings):
        rows.append(_row(one, run, place, taken))
        taken.add(rows[-1].name)
    facts = {
        "judge": audit.judge.name,
        "model": audit.judge.served or audit.judge.model or "",
        "task": audit.judge.task,
        "version": audit.calm,
        "seed": str(audit.seed),
        "asks": audit.repeats,
        "stopping": audit.stopping,
        "limits": audit.limits,
    }
    facts = {name: text(said) for name, said in facts.items() if said}
    return ExportedRun(run, _moment(audit.run.started), facts, tuple(rows))


def _row(one: Finding, run: UUID, place: int, taken: Container[str]) -> Row:
    key = text(one.key)
    return Row(
        name=next(name for name in _names(one.key, place) if name not in taken),
        id=str(uuid5(run, f"{place}:{key}")),
        key=key,
        value=one.value,
        label=one.outcome.value,
        sentence=text(sentence(one)),
        low=one.low,
        high=one.high,
        limit="" if one.claim is None else f"{one.claim.op} {one.claim.limit:g}",
        cases=one.n,
        edit=text(one.perturbation or ""),
        accepted=text(one.accepted or ""),
    )


def _names(key: str, place: int) -> Iterator[str]:
    """
    Yield names for a key, the plainest first; all but the last are the same in every run.

    >>> list(_names("verbosity/gain/pad@4", 2))
    ['verbosity/gain/pad-4', 'verbosity-gain-pad-4-7f0aaaea', 'verbosity-gain-pad-4-7f0aaaea-2']
    """
    if len(key) <= LONGEST_NAME and _NAME.fullmatch(plain := key.replace("@", "-")):
        yield plain
    short = re.sub(r"[^A-Za-z0-9_]+", "-", text(key))[:LONGEST_NAME].strip("-")
    own = f"{short or 'finding'}-{uuid5(NAMESPACE_URL, str(whole(key))).hex[:8]}"
    yield own
    yield f"{own}-{place}"


def text(said: str) -> str:
    """Return a text on one line, cut, without a credential, and with what cannot be seen made visible."""
    return clipped(without_userinfo(" ".join(visible(str(whole(said))[: 4 * LONGEST]).split())), LONGEST)


def _moment(started: str) -> datetime:
    try:
        found = datetime.fromisoformat(started)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)
