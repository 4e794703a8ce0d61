"""
Verdicts that ship with calm on answers whose authors are known: real models gave them once.

`recorded:headlines/MODEL` scores headlines from 1 to 5, asked how good or how bad they are. `recorded:ifeval/MODEL`
marks verifiable criteria. Each verdict was given once, on unchanged cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calm.core.case import Case, Framing, digest
from calm.errors import ConfigError, nearest
from calm.judges.reading import Format
from calm.judges.recorded.entries import Entries, Entry
from calm.judges.recorded.replay import Replay, Source
from calm.plugins.self_preference.recorded import (
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
    from calm.experiment.crossing import Wording
    from calm.plugins.self_preference.rubric import RubricTable
    from calm.plugins.self_preference.scores import ScoreTable


@dataclass(frozen=True, eq=False)
class RecordedJudge(Replay):
    """A judge that replays the verdicts of one model of a set, and holds those of all models of it as a table."""

    @property
    def recording(self) -> RecordedSet:
        """The set of its verdicts."""
        return recording(_parts(self.name)[0])

    def table(self) -> RubricTable | ScoreTable:
        """Return the verdicts of all models of its set, in the standard framing."""
        return rubric_table() if self.task == "rubric" else score_table()

    def worded(self) -> Mapping[Wording, ScoreTable]:
        """Return the scores of all models of its set in each framing; nothing for criteria."""
        from calm.experiment.crossing import Wording

        if self.task == "rubric":
            return {}
        return {Wording(framing=framing): score_table(framing) for framing in self.recording.framings}


def bundled(spec: str) -> RecordedJudge:
    """
    Return the judge of a specification: `recorded:headlines/MODEL` or `recorded:ifeval/MODEL`.

    Raises:
        ConfigError: there is no such set or model; the message names the nearest.
    """
    name, model = _parts(spec)
    if not spec.startswith("recorded:") or not model:
        raise ConfigError(f"expected recorded:SET/MODEL, with a SET of {' or '.join(SETS)}, got {spec!r}")
    if name not in SETS:
        raise ConfigError(f"{spec}: expected a set of recorded verdicts, got {name!r}{nearest(name, SETS)}")
    found = recording(name)
    if model not in found.judges:
        raise ConfigError(f"{spec}: expected a model of {name}, got {model!r}{nearest(model, found.judges)}")
    cases = tuple(recorded_cases(name))
    version = f"{found.version}/{model}"
    entries = tuple(entry for case in cases for entry in _entries(found, model, case))
    source = Source(Entries(version, entries, ()), digest(version), own=cases)
    return RecordedJudge(spec, found.task, found.scale, source, Format(), model=model)


def _parts(spec: str) -> tuple[str, str]:
    """Return the set and the model of a specification."""
    name, _, model = spec.removeprefix("recorded:").partition("/")
    return name, model


def _entries(found: RecordedSet, model: str, case: Case) -> Iterator[Entry]:
    """Yield what a model said of a case, in each framing in which it was asked."""
    author = case.answers[0].author
    assert author is not None, "every answer of a set has an author"
    for framing in found.framings:
        said = _said(found, sheet(found.name).marks[framing, model, author], case, framing)
        yield Entry(0, case.id, (), framing, 1, None, said, raw=False)


def _said(found: RecordedSet, marks: str, case: Case, framing: Framing) -> float | Mapping[str, bool] | None:
    """Return the truths of a case's criteria, or how good its score says it is; None for a reply without a verdict."""
    if found.task == "rubric":
        return {criterion.id: marks[int(criterion.id[1:])] == "1" for criterion in case.criteria}
    mark = marks[int(case.tags["item"])]
    if mark == MISSING:
        return None
    return found.scale.turned(float(mark)) if framing is Framing.NEGATIVE else float(mark)
