"""
Published verdicts of real judges, as cases to replay and tables to analyse: only numbers, no texts.

| set | judges | answers | verdicts |
|---|---|---|---|
| `headlines` | 5 | headlines of 100 news items by 5 models and by people | scores 1 to 5, in two framings |
| `ifeval` | 12 | answers to 541 prompts by the same 12 models | 834 verifiable criteria, met or not |

Questions and answers are stand-ins that name the item and the author. A case holds one answer; the cases of one
question share the tag `item`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from calm.core.case import Answer, Case, Criterion, Framing, digest
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError, nearest
from calm.judges.reading import Format
from calm.judges.recorded.entries import Entries, Entry
from calm.judges.recorded.replay import Replay, Source

if TYPE_CHECKING:
    from calm.experiment.crossing import Wording
    from calm.plugins.self_preference.rubric import RubricTable
    from calm.plugins.self_preference.scores import ScoreTable


MISSING = "."
ANSWER = "answer"
"""The id of the one answer of a case."""


@dataclass(frozen=True, slots=True)
class RecordedSet:
    """A set of recorded verdicts: its version, task and scale, its judges, and the framings of the questions."""

    name: str
    version: str
    task: Task
    scale: Scale
    judges: tuple[str, ...]
    framings: tuple[Framing, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """
    The raw marks of a set by framing, judge and generator: a character for each item or criterion ("." if missing).

    `truth` is by generator and `family` by model; both are empty for the headlines, where nothing is known to be true.
    """

    marks: Mapping[tuple[Framing, str, str], str]
    truth: Mapping[str, str]
    family: Mapping[str, str]
    criteria: tuple[tuple[int, str, int], ...]


HEADLINE_FAMILIES: Mapping[str, str] = {
    "claude-3-7-sonnet-20250219": "claude",
    "deepseek-chat": "deepseek",
    "gemini-2.5-pro-preview-05-06": "gemini",
    "gpt-4.1-2025-04-14": "gpt",
    "human": "human",
    "sonar-reasoning-pro": "sonar",
}

SETS = ("headlines", "ifeval")


@lru_cache(maxsize=len(SETS))
def recording(name: str) -> RecordedSet:
    """
    Return the description of a set of recorded verdicts.

    Raises:
        ConfigError: no such set.
    """
    if name not in SETS:
        raise ConfigError(f"expected a set of recorded verdicts, got {name!r}{nearest(name, SETS)}")
    judges = tuple(dict.fromkeys(judge for _, judge, _ in sheet(name).marks))
    if name == "headlines":
        return RecordedSet(name, "headlines-1", "score", Scale(1, 5, 1), judges, (Framing.STANDARD, Framing.NEGATIVE))
    return RecordedSet(name, "ifeval-1", "rubric", Scale(), judges, (Framing.STANDARD,))


@lru_cache(maxsize=len(SETS))
def sheet(name: str) -> Sheet:
    """Return the raw marks of a set."""
    if name == "headlines":
        rows = _rows("headlines-1.csv")
        marks = {(Framing(r["framing"]), r["judge"], r["generator"]): r["scores"] for r in rows}
        return Sheet(marks, {}, HEADLINE_FAMILIES, ())
    truth = _rows("ifeval-1-truth.csv")
    return Sheet(
        {(Framing.STANDARD, r["judge"], r["generator"]): r["bits"] for r in _rows("ifeval-1-verdicts.csv")},
        {r["generator"]: r["bits"] for r in truth},
        {r["generator"]: r["family"] for r in truth},
        tuple((int(r["instance"]), r["instruction"], int(r["length"])) for r in _rows("ifeval-1-criteria.csv")),
    )


def recorded_cases(name: str) -> list[Case]:
    """
    Return the cases of a set: one answer by one author each, with the truth of its criteria if it is known.

    Raises:
        ConfigError: no such set.
    """
    recording(name)
    return _headlines() if name == "headlines" else _ifeval()


def score_table(framing: Framing = Framing.STANDARD, *, people: bool = False) -> ScoreTable:
    """
    Return the headlines' scores in one framing; negative ones are mapped back, so that 5 is the best in both.

    Args:
        framing: standard or negative.
        people: whether texts by people are also a column; no published figure includes them.
    """
    from calm.plugins.self_preference import scores

    marks, family = sheet("headlines").marks, sheet("headlines").family
    rows = [
        (judge, generator, f"{item:03d}", float(mark))
        for (asked, judge, generator), line in marks.items()
        if asked is framing and (people or generator != "human")
        for item, mark in enumerate(line)
        if mark != MISSING
    ]
    table = scores.score_table(rows, family, low=1, high=5)
    return scores.mapped_back(table) if framing is Framing.NEGATIVE else table


def rubric_table() -> RubricTable:
    """Return all verdicts on the criteria of IFEval with their truth, one point each."""
    import numpy as np

    from calm.plugins.self_preference import contrasts, rubric

    found = sheet("ifeval")
    judges, generators = recording("ifeval").judges, tuple(found.truth)

    def bits(line: str) -> rubric.Marks:
        return (np.frombuffer(line.encode("ascii"), dtype=np.uint8) - ord("0")).astype(np.int8)

    names = [f"{instance}/{place}/{what}" for place, (instance, what, _) in enumerate(found.criteria)]
    last = found.criteria[-1][0]
    return rubric.RubricTable(
        contrasts.Grid(judges, generators, found.family),
        tuple(str(i) for i in range(last + 1)),
        tuple(names),
        np.array([instance for instance, _, _ in found.criteria], dtype=np.int64),
        np.stack([[bits(found.marks[Framing.STANDARD, j, g]) for g in generators] for j in judges]),
        np.stack([bits(found.truth[g]) for g in generators]),
        np.ones(len(names)),
        tuple(length for *_, length in found.criteria),
        tuple(rubric.axis_of(what) for _, what, _ in found.criteria),
    )


def _headlines() -> list[Case]:
    written: dict[str, set[int]] = {}
    for (_, _, generator), line in sheet("headlines").marks.items():
        written.setdefault(generator, set()).update(i for i, mark in enumerate(line) if mark != MISSING)
    return [
        Case(
            id=f"headlines-{item:03d}-{generator}",
            question=f"headline {item}",
            answers=(Answer(ANSWER, f"headline {item} by {generator}", author=generator),),
            tags={"item": f"{item:03d}"},
        )
        for item in range(100)
        for generator in sorted(written)
        if item in written[generator]
    ]


def _ifeval() -> list[Case]:
    found = sheet("ifeval")
    by_instance: dict[int, list[int]] = {}
    for place, (instance, _, _) in enumerate(found.criteria):
        by_instance.setdefault(instance, []).append(place)
    return [
        Case(
            id=f"ifeval-{instance:03d}-{generator}",
            question=f"prompt {instance}",
            answers=(Answer(ANSWER, f"answer of {generator} to prompt {instance}", author=generator),),
            criteria=tuple(Criterion(f"r{p:03d}", found.criteria[p][1]) for p in places),
            met={ANSWER: {f"r{p:03d}": bits[p] == "1" for p in places}},
            tags={"item": f"{instance:03d}"},
        )
        for instance, places in by_instance.items()
        for generator, bits in found.truth.items()
    ]


def _rows(file: str) -> list[dict[str, str]]:
    text = files("calm").joinpath("plugins", "self_preference", "data", file).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


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
