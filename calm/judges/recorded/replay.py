"""A judge that replays the verdicts of a user's table."""

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
from calm.judges.recorded.entries import read_entries
from calm.judges.recorded.record import VerdictRecord, content
from calm.models.wire import Endpoint, Json, Remarks, Send, Traits


@dataclass(frozen=True, eq=False)
class Replay:
    """
    The verdicts of a table as a judge: `recall` of its record must be called with the cases before it is asked.

    Args:
        name: how reports call it.
        task: what the judge was asked to do.
        scale: the range of its scores.
        file: the table.
        form: how its replies say a verdict.
        columns: which column holds a field that is not called so.
        model: as which author it is known.
        family: the family of the model, if its name does not show it.

    Raises:
        ConfigError: the file is no table of verdicts; all faulty records are named.
    """

    name: str
    task: Task
    scale: Scale
    file: Path
    form: Format
    columns: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    family: str | None = None
    record: VerdictRecord = field(init=False)
    traits: Traits = field(init=False)
    fingerprint: str = field(init=False)

    endpoints: ClassVar[tuple[Endpoint, ...]] = ()

    def __post_init__(self) -> None:
        record = VerdictRecord(read_entries(self.file, self.columns), self.task, self.scale, self.form)
        read = [repr(part) for part in (self.scale, self.form, sorted(self.columns.items()))]
        content = sha256(read_bytes(self.file)).hexdigest()
        object.__setattr__(self, "record", record)
        object.__setattr__(self, "traits", Traits(as_given=True, quick=True, repeats=record.repeats, recorded=record))
        object.__setattr__(self, "fingerprint", digest("replay-1", self.task, content, read))

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        entries = self.record.entries
        parameters: dict[str, Json] = {"records": len(entries.all), "repeats": self.record.repeats}
        return {"model": self.model, "family": self.family, "parameters": {"recorded": self.file.name, **parameters}}

    @property
    def remarks(self) -> Remarks:
        """Which columns of the table were not read, and what stands in the place of inert words."""
        idle, notes = self.record.entries.idle, []
        if idle:
            notes.append(because(Kind.IDLE_COLUMNS, self.file.name, ", ".join(idle)))
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
