"""
Verdicts that ship with calm: real models gave them once.

`recorded:headlines/MODEL` scores headlines from 1 to 5, asked how good or how bad they are. `recorded:ifeval/MODEL`
marks verifiable criteria. Each verdict was given once, on unchanged cases. So there is one ask of each question, and
the only edit that such a judge can show is the framing of the headlines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from calm.core.case import Case, Framing
from calm.core.verdict import Criteria, Scale, Score, Task, Unreadable, Verdict
from calm.errors import ConfigError, JudgeError, nearest
from calm.models.wire import Endpoint, Json, Remarks, Send, Traits
from calm.selfpreference.recorded import (
    MISSING,
    SETS,
    RecordedSet,
    recorded_cases,
    recording,
    rubric_table,
    score_table,
    sheet,
)

if TYPE_CHECKING:
    from calm.selfpreference.framing_scores import ScoreTable
    from calm.selfpreference.rubric import RubricTable

REPEATS = 1
"""How often each question was asked."""
SERVES = frozenset({"framing", "self-preference"})
"""The suites that need only one verdict on each unchanged case."""


@dataclass(frozen=True, slots=True)
class RecordedJudge:
    """A judge that replays the verdicts of one model of a set."""

    recording: RecordedSet
    model: str
    traits: ClassVar[Traits] = Traits(as_given=True, quick=True, serves=SERVES, repeats=REPEATS)
    remarks: ClassVar[Remarks] = Remarks()
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()

    @property
    def name(self) -> str:
        """Its specification."""
        return f"recorded:{self.recording.name}/{self.model}"

    @property
    def task(self) -> Task:
        """What the model was asked to do."""
        return self.recording.task

    @property
    def scale(self) -> Scale:
        """The range of its scores, with the high end good in both framings."""
        return self.recording.scale

    @property
    def fingerprint(self) -> str:
        """What decides its verdicts: the version of the data, and the model."""
        return f"recorded-1:{self.recording.version}/{self.model}"

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        return {"model": self.model, "parameters": {"recorded": self.recording.version, "repeats": REPEATS}}

    def sees(self, case: Case) -> object:
        """Return what decides which verdict is replayed: the case's id, and its framing if both were asked."""
        framed = case.framing if case.framing in self.recording.framings else Framing.STANDARD
        return case.id, framed.value

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return the recorded verdict; `send` is not used.

        Raises:
            JudgeError: a case of another set, or a second ask of one question.
        """
        if send.ask > REPEATS:
            raise JudgeError(f"{self.name} holds one verdict a question; run it with --calm-repeats 1+1")
        places = _places(self.recording.name).get(case.id)
        if places is None:
            raise JudgeError(f"{self.name} holds no verdict on case {case.id!r}: it replays only its own cases")
        generator, found = places
        framed = case.framing if case.framing in self.recording.framings else Framing.STANDARD
        marks = sheet(self.recording.name).marks[framed, self.model, generator]
        if self.recording.task == "rubric":
            return Criteria({criterion: marks[place] == "1" for criterion, place in found.items()})
        mark = marks[next(iter(found.values()))]
        if mark == MISSING:
            return Unreadable("the record holds no verdict: the model's reply could not be read")
        return Score(self.scale.turned(float(mark)) if framed is Framing.NEGATIVE else float(mark))

    def cases(self) -> list[Case]:
        """Return the cases that it has verdicts on."""
        return recorded_cases(self.recording.name)

    def table(self) -> RubricTable | ScoreTable:
        """Return the verdicts of all models of its set, in the standard framing."""
        return rubric_table() if self.recording.task == "rubric" else score_table()


def bundled(spec: str) -> RecordedJudge:
    """
    Return the judge of a specification: `recorded:headlines/MODEL` or `recorded:ifeval/MODEL`.

    Raises:
        ConfigError: there is no such set or model; the message names the nearest.
    """
    start, _, rest = spec.partition(":")
    name, slash, model = rest.partition("/")
    if start != "recorded" or not slash:
        raise ConfigError(f"expected recorded:SET/MODEL, with a SET of {' or '.join(SETS)}, got {spec!r}")
    if name not in SETS:
        raise ConfigError(f"{spec}: expected a set of recorded verdicts, got {name!r}{nearest(name, SETS)}")
    found = recording(name)
    if model not in found.judges:
        raise ConfigError(f"{spec}: expected a model of {name}, got {model!r}{nearest(model, found.judges)}")
    return RecordedJudge(found, model)


@lru_cache(maxsize=len(SETS))
def _places(name: str) -> Mapping[str, tuple[str, Mapping[str, int]]]:
    """Return, by case id, whose answer it holds and the places of its marks."""
    return {case.id: _place(case) for case in recorded_cases(name)}


def _place(case: Case) -> tuple[str, Mapping[str, int]]:
    author = case.answers[0].author
    assert author is not None
    if case.criteria:
        return author, {criterion.id: int(criterion.id[1:]) for criterion in case.criteria}
    return author, {"score": int(case.tags["item"])}
