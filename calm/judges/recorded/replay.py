"""A judge that replays the verdicts of a table: a user's, or a published one that ships with calm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from calm.core.case import Case, digest
from calm.core.files import read_bytes
from calm.core.reasons import Kind, because
from calm.core.verdict import Scale, Task, Verdict
from calm.errors import JudgeError
from calm.judges.reading import Format
from calm.judges.recorded.entries import Entries, read_entries
from calm.judges.recorded.record import VerdictRecord, content
from calm.models.wire import Endpoint, Json, Remarks, Send, Traits


@dataclass(frozen=True, slots=True)
class Source:
    """
    What a judge replays: the records of a table, a hash of it, which columns held what, and the cases that it brings.

    `own` is empty where the cases are the user's. A table that brings cases may be used with a part of them.
    """

    entries: Entries
    sha256: str
    columns: Mapping[str, str] = field(default_factory=dict)
    own: tuple[Case, ...] = ()


def table_in(file: Path, columns: Mapping[str, str] | None = None) -> Source:
    """
    Return the table of a user's file; `columns` says which column holds a field that is not called so.

    Raises:
        ConfigError: the file is no table of verdicts; all faulty records are named.
    """
    columns = {} if columns is None else columns
    return Source(read_entries(file, columns), sha256(read_bytes(file)).hexdigest(), columns)


@dataclass(frozen=True, eq=False)
class Replay:
    """
    The verdicts of a table as a judge: `recall` of its record must be called with the cases before it is asked.

    Args:
        name: how reports call it.
        task: what the judge was asked to do.
        scale: the range of its scores.
        source: the table.
        form: how its replies say a verdict.
        model: as which author it is known.
        family: the family of the model, if its name does not show it.
    """

    name: str
    task: Task
    scale: Scale
    source: Source
    form: Format
    model: str = ""
    family: str | None = None
    record: VerdictRecord = field(init=False)
    traits: Traits = field(init=False)
    fingerprint: str = field(init=False)

    endpoints: ClassVar[tuple[Endpoint, ...]] = ()

    def __post_init__(self) -> None:
        record = VerdictRecord(self.source.entries, self.task, self.scale, self.form, self.source.own)
        read = [repr(part) for part in (self.scale, self.form, sorted(self.source.columns.items()))]
        object.__setattr__(self, "record", record)
        object.__setattr__(self, "traits", Traits(as_given=True, quick=True, repeats=record.repeats, recorded=record))
        object.__setattr__(self, "fingerprint", digest("replay-1", self.task, self.source.sha256, read))

    @property
    def _file(self) -> str:
        """The name of the table, without its folder; a published one is a set and a judge."""
        name = self.source.entries.name
        return name if self.source.own else Path(name).name

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        entries = self.record.entries
        parameters: dict[str, Json] = {"records": len(entries.all), "repeats": self.record.repeats}
        return {"model": self.model, "family": self.family, "parameters": {"recorded": self._file, **parameters}}

    @property
    def remarks(self) -> Remarks:
        """Which columns of the table were not read, and what stands in the place of inert words."""
        idle, notes = self.record.entries.idle, []
        if idle:
            notes.append(because(Kind.IDLE_COLUMNS, self._file, ", ".join(idle)))
        if self.record.leaning:
            notes.append(because(Kind.NUMERIC_PREFERENCE, self._file))
        if self.record.repeats > 1:
            notes.append(because(Kind.REPEATS_AS_FLOOR, self.name))
        return Remarks(tuple(notes))

    def sees(self, case: Case) -> object:
        """Return what decides which verdict is replayed, and what its reply means: the case as it is shown."""
        place, shown = self.record.place(case), digest(repr(content(case)))[:16]
        return ("edited" if place is None else place[0]), case.slots, case.framing.value, shown

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return the recorded verdict of an ask; `send` is not used.

        Raises:
            JudgeError: there is none.
        """
        verdicts, number = self.record.verdicts(case), max(1, send.ask)
        if number > len(verdicts):
            raise JudgeError(because(Kind.NOT_RECORDED))
        return verdicts[number - 1]
