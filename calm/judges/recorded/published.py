"""
Published verdicts of real judges that ship with calm, with the repeats and the orders in which they were given.

| set | judges | verdicts |
|---|---|---|
| `position` | 6 models | 168 pairs of MT-bench and DevBench in both orders, three times each |
| `scores` | 18 runs of 3 models | four answers to each item of RewardBench 2 from 1 to 10, eight times each |
| `llmbar` | 47 pairs of a model and a prompt | 419 pairs of LLMBar with gold, in both orders, once each |
| `pandalm` | 2 models | 999 pairs of PandaLM with the majority of three people as gold, in one order, once each |

Verdicts are facts; the texts that they are about belong to others and are not here. A case holds ids in place of texts
and says so. `calm cases import --verdicts SET` puts in the texts of a user who has them.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Final

from calm.cases.foreign.texts import NUMBER
from calm.core.annotations import Annotation
from calm.core.case import TIE, Answer, Case, Framing, digest
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError, nearest
from calm.experiment.pairs import CLUSTER
from calm.judges.reading import Format
from calm.judges.recorded.entries import Entries, Entry
from calm.judges.recorded.replay import Replay, Source

NO_TEXT: Final = "[no text ships with calm]"
"""What stands behind the id of a question or an answer, wherever its text would be shown."""
FAILED: Final = "-"
"""The mark of a call without a reply: it is no verdict, and no ask."""
ANSWER: Final = "answer"
"""The id of the one answer of a case."""

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """
    A set of published verdicts.

    `known` are the columns that say what a row is about; each other column holds the marks of a judge. `cases` and
    `entries` make the cases of a row, and what a judge said of them.
    """

    name: str
    task: Task
    scale: Scale
    known: tuple[str, ...]
    cases: Callable[[Row], list[Case]]
    entries: Callable[[Row, str], Iterator[Entry]]

    @property
    def version(self) -> str:
        """The name of its file, which has another number if any verdict changes."""
        return f"{self.name}-1"


def published(spec: str) -> Replay:
    """
    Return the judge of a specification, such as `recorded:position/gpt-4-0613`.

    Raises:
        ConfigError: there is no such set or judge; the message names the nearest, or all.
    """
    name, _, judge = spec.removeprefix("recorded:").partition("/")
    if name not in PUBLISHED:
        raise ConfigError(f"{spec}: expected a set of published verdicts, got {name!r}{nearest(name, PUBLISHED)}")
    known = judges_of(name)
    if judge not in known:
        raise ConfigError(f"{spec}: expected a judge of {name}, got {judge!r}{nearest(judge, known)}")
    found = PUBLISHED[name]
    return Replay(spec, found.task, found.scale, _source(name, judge), Format(), model=judge.partition("/")[0])


def judges_of(name: str) -> tuple[str, ...]:
    """Return the names of the judges of a set, as they are written after `recorded:SET/`."""
    return tuple(column for column in _rows(name)[0] if column not in PUBLISHED[name].known)


def published_cases(name: str, judge: str | None = None) -> list[Case]:
    """Return the cases of a set that a judge was asked about; without a judge, all of them."""
    rows = _rows(name)
    return [case for row in rows if judge is None or row[judge] for case in PUBLISHED[name].cases(row)]


def _source(name: str, judge: str) -> Source:
    found = PUBLISHED[name]
    entries = tuple(entry for row in _rows(name) if row[judge] for entry in found.entries(row, row[judge]))
    version = f"{found.version}/{judge}"
    # a case of which every call failed has no verdict and stays: the run says how many these are
    return Source(Entries(version, entries, ()), digest(version), own=tuple(published_cases(name, judge)))


@lru_cache(maxsize=4)
def _rows(name: str) -> Sequence[Row]:
    data = files("calm").joinpath("judges", "data", f"{PUBLISHED[name].version}.csv.gz").read_bytes()
    return list(csv.DictReader(gzip.decompress(data).decode().splitlines()))


def _said(case: str, order: tuple[str, ...], repeat: int, said: str | None) -> Entry:
    return Entry(0, case, order, Framing.STANDARD, repeat, None, said, raw=False)


def _answer(answer: str, what: str, author: str | None = None) -> Answer:
    return Answer(answer, f"{what} {NO_TEXT}", author=author)


# ------------------------------------------------------------------------------------------------ position of answers


def _position_cases(row: Row) -> list[Case]:
    about = f"{row['benchmark']}-{row['item']}"
    # DevBench asks about two sides of the same answers: these two are one question for the interval
    cluster = about if row["benchmark"] == "mtbench" else about.rpartition("-")[0]
    names = [row["a"], row["b"]]
    return [
        Case(
            id=_position_id(row),
            question=f"{row['benchmark']} {row['item']} {NO_TEXT}",
            answers=tuple(_answer(name, f"answer of {name}", author=name) for name in names),
            tags={"benchmark": row["benchmark"], NUMBER: row["item"], "item": about, CLUSTER: cluster},
        )
    ]


def _position_id(row: Row) -> str:
    """Return the id of a pair: one of its authors stands in all pairs of a benchmark, so the other names it."""
    always = {"mtbench": "vicuna-13b-v1.3", "devbench": "human"}[row["benchmark"]]
    return f"{row['benchmark']}-{row['item']}-{row['a'] if row['b'] == always else row['b']}"


def _position_entries(row: Row, marks: str) -> Iterator[Entry]:
    order = row["a"], row["b"]
    for slots, said in ((order, marks[:3]), (order[::-1], marks[3:])):
        meaning = {"1": slots[0], "2": slots[1], "t": TIE}
        for repeat, mark in enumerate(said, 1):
            yield _said(_position_id(row), slots, repeat, meaning.get(mark))


# ---------------------------------------------------------------------------------------------------- repeated scores

REPEATS: Final = 8
"""Scores of each answer in one run."""


def _score_cases(row: Row) -> list[Case]:
    item = f"{row['subset']}-{row['item']}"
    return [
        Case(
            id=f"{item}-{number}",
            question=f"{row['subset']} {row['item']} {NO_TEXT}",
            answers=(_answer(ANSWER, f"answer {number}"),),
            tags={
                "subset": row["subset"],
                NUMBER: row["item"],
                "item": item,
                "answer": str(number),
                "chosen": "no" if number else "yes",
                CLUSTER: item,
            },
        )
        for number in range(4)
    ]


def _score_entries(row: Row, marks: str) -> Iterator[Entry]:
    for number in range(4):
        case = f"{row['subset']}-{row['item']}-{number}"
        given = marks[REPEATS * number : REPEATS * (number + 1)].replace(FAILED, "")
        for repeat, mark in enumerate(given, 1):
            yield _said(case, (), repeat, str(int(mark, 11)))


# ----------------------------------------------------------------------------------------------------- pairs with gold


def _pair(row: Row, about: str, word: str, better: str | None, tags: Mapping[str, str]) -> Case:
    return Case(
        id=about,
        question=f"{about} {NO_TEXT}",
        answers=tuple(_answer(f"{word}_{number}", f"{word} {number}") for number in (1, 2)),
        better=better,
        tags={**tags, NUMBER: row["item"], "item": about, CLUSTER: about},
    )


def _llmbar_cases(row: Row) -> list[Case]:
    about = f"{row['subset']}-{row['item']}"
    return [_pair(row, about, "output", f"output_{row['gold']}", {"subset": row["subset"]})]


def _llmbar_entries(row: Row, marks: str) -> Iterator[Entry]:
    order = "output_1", "output_2"
    for slots, mark in zip((order, order[::-1]), marks, strict=True):
        yield _said(f"{row['subset']}-{row['item']}", slots, 1, None if mark == "." else f"output_{mark}")


_RESPONSES: Final = {"1": "response_1", "2": "response_2", "t": TIE}


def _pandalm_cases(row: Row) -> list[Case]:
    vote, count = Counter(row["people"]).most_common(1)[0]
    better = _RESPONSES[vote] if count > 1 else None
    people = {f"person {number}": Annotation(better=_RESPONSES[mark]) for number, mark in enumerate(row["people"], 1)}
    case = _pair(row, f"pandalm-{row['item']}", "response", better, {})
    return [replace(case, annotations=people)]


def _pandalm_entries(row: Row, marks: str) -> Iterator[Entry]:
    yield _said(f"pandalm-{row['item']}", ("response_1", "response_2"), 1, _RESPONSES.get(marks))


PUBLISHED: Final[Mapping[str, PublishedSet]] = {
    one.name: one
    for one in (
        PublishedSet(
            "position", "pairwise", Scale(), ("benchmark", "item", "a", "b"), _position_cases, _position_entries
        ),
        PublishedSet("scores", "score", Scale(1, 10, 1), ("subset", "item"), _score_cases, _score_entries),
        PublishedSet("llmbar", "pairwise", Scale(), ("subset", "item", "gold"), _llmbar_cases, _llmbar_entries),
        PublishedSet("pandalm", "pairwise", Scale(), ("item", "people"), _pandalm_cases, _pandalm_entries),
    )
}
