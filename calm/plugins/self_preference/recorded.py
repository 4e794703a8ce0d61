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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from calm.core.case import Answer, Case, Criterion, Framing
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError, nearest

if TYPE_CHECKING:
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
