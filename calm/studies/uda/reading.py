"""
Comparisons from files: JSON Lines, CSV, and the records of `calm self-preference` and of gate runs (`bridge`).

A comparison is an object (or a row under a header) with `prompt`, `judge`, `model_a`, `model_b` and `outcome` (`a`, `b`
or `tie`; `A`, `B`, `C` mean the same). Answers are given once each in a file of their own, objects with `prompt`,
`model`, and `text` or `embedding`; or with the comparison, as `text_a`, `text_b`, `text_own`, or `embedding_a` and so
on. `text_question` or `embedding_question` is the question, `log_perplexity_a` and so on how unlikely the judge finds
an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeAlias

from calm.cases.foreign.records import load
from calm.core.files import json_of, read_bytes, refuse_large, refuse_twice, unopened
from calm.core.inputs import noted
from calm.errors import ConfigError, nearest
from calm.studies.uda import bridge
from calm.studies.uda.comparisons import INSTRUCTION, Answers, Comparisons, Content, Key, Named, arrays, question
from calm.studies.uda.embeddings import Embed

OUTCOMES: Mapping[str, float] = {"a": 1.0, "b": 0.0, "tie": 0.5, "A": 1.0, "B": 0.0, "C": 0.5}
NEEDED = ("prompt", "judge", "model_a", "model_b", "outcome")
SIDES = ("a", "b", "own")
KEYS = (
    *NEEDED,
    *(f"{kind}_{side}" for kind in ("text", "embedding") for side in (*SIDES, "question")),
    *(f"log_perplexity_{side}" for side in SIDES),
)
ANSWER_KEYS = ("prompt", "model", "text", "embedding")
MAX_SHOWN = 20
"""This many faults are spelled out; the others are counted."""
MAX_LINE = 5_000_000
"""A longer line is refused: it is a file of another kind."""

Row: TypeAlias = Mapping[str, object]


@dataclass(slots=True)
class _Faults:
    shown: list[str] = field(default_factory=list)
    count: int = 0

    def note(self, where: str, message: str) -> None:
        self.count += 1
        if len(self.shown) < MAX_SHOWN:
            self.shown.append(f"{where}: {message}")

    def settle(self) -> None:
        if self.count > len(self.shown):
            self.shown.append(f"and {self.count - len(self.shown)} more; fix these first")
        if self.shown:
            raise ConfigError(self.shown)


def read(
    files: Sequence[Path], answers: Path | None, embed: Embed, *, extra: Sequence[str] = ()
) -> tuple[Comparisons, int]:
    """
    Return the comparisons of some files, with the embeddings of their answers, and how many verdicts said nothing.

    Args:
        files: JSON Lines, CSV if the name ends in .csv, or records of `calm self-preference` or of gate runs.
        answers: a file of answers, likewise, or the cases that records are about; None if the comparisons bring them.
        embed: gives the vectors of the texts; it is not called if all answers have embeddings.
        extra: what the network will see beyond the paper's features; questions are embedded for the instruction only.

    Raises:
        ConfigError: all faults of the files, the first `MAX_SHOWN` spelled out; or embeddings that do not fit together.
    """
    refuse_twice(files)
    faults, held = _Faults(), Answers()
    records = {path: body for path in files if (body := bridge.record_in(path)) is not None}
    lines = [path for path in files if path not in records]
    found, unread = bridge.compared(records, answers, held) if records else ([], 0)
    if answers is not None and lines:
        for where, row in _rows(answers, faults):
            _answer(where, row, held, faults)
    for path in lines:
        before = len(found)
        for where, row in _rows(path, faults):
            if (one := _comparison(where, row, held, faults)) is not None:
                found.append(one)
        if len(found) == before and not faults.count:
            faults.note(str(path), "expected at least one comparison, got an empty file; write one JSON object a line")
    faults.settle()
    return arrays(found, held, embed, questions=INSTRUCTION in extra), unread


def read_gold(path: Path) -> dict[str, float]:
    """
    Return ratings that are taken as true, by model, from a JSON object.

    Raises:
        ConfigError: no such file, or not an object of finite numbers.
    """
    try:
        data = json_of(read_bytes(path).decode("utf-8"), parse_constant=_no_constant)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: expected a JSON object of ratings by model, got: {error}") from error
    if not isinstance(data, dict) or not data or not all(_is_number(value) for value in data.values()):
        raise ConfigError(f'{path}: expected a JSON object of finite ratings by model, such as {{"model-1": 1210.5}}')
    return {str(name): float(value) for name, value in data.items()}


def _rows(path: Path, faults: _Faults) -> Iterator[tuple[str, Row]]:
    try:
        with path.open("rb") as file:
            refuse_large(file, path)
        if path.suffix.lower() == ".csv":
            for record, row in enumerate(load(noted(path), "csv").rows, 1):
                yield f"{path}: record {record}", {key: value for key, value in row.items() if value != ""}
        else:
            yield from _json_rows(path, faults)
    except OSError as error:
        raise ConfigError(unopened(path, error, "ratings in CSV or JSON Lines")) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: expected UTF-8, got byte 0x{error.object[error.start]:02x}; save it as UTF-8"
        ) from error


def _json_rows(path: Path, faults: _Faults) -> Iterator[tuple[str, Row]]:
    with noted(path).open(encoding="utf-8-sig") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > MAX_LINE:
                faults.note(
                    where, f"expected at most {MAX_LINE:,} characters, got a longer line; write one object a line"
                )
                return
            if not line.strip():
                continue
            try:
                data = json_of(line, parse_constant=_no_constant)
            except ValueError as error:
                faults.note(where, f"expected a JSON object, got an error: {error}")
                continue
            if isinstance(data, dict):
                yield where, data
            else:
                faults.note(where, f"expected a JSON object, got {type(data).__name__}; write one object a line")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"expected a finite number, got {name}")


def _answer(where: str, row: Row, held: Answers, faults: _Faults) -> None:
    names = _names(where, row, ("prompt", "model"), ANSWER_KEYS, faults)
    content = _content(where, row, "text", "embedding", faults)
    if names is None:
        return
    if content is None:
        faults.note(where, "expected `text` or `embedding`, got neither; add one")
        return
    _put(held, (names[0], names[1]), content, where, faults)


def _comparison(where: str, row: Row, held: Answers, faults: _Faults) -> Named | None:
    names = _names(where, row, NEEDED, KEYS, faults)
    if names is None:
        return None
    prompt, judge, one, two, outcome = names
    if one == two:
        faults.note(where, f"expected two models, got {one!r} against itself; leave the line out")
        return None
    if outcome not in OUTCOMES:
        faults.note(where, f"expected outcome a, b or tie, got outcome={outcome!r}; change it")
        return None
    first, second, own = (prompt, one), (prompt, two), (prompt, judge)
    keys = (first, second, own, question(prompt))
    for side, key in zip((*SIDES, "question"), keys, strict=True):
        content = _content(where, row, f"text_{side}", f"embedding_{side}", faults)
        if content is not None:
            _put(held, key, content, where, faults)
    a, b, its = (_surprise(where, row, f"log_perplexity_{side}", faults) for side in SIDES)
    return Named(prompt, judge, one, two, OUTCOMES[outcome], first, second, own, (a, b, its))


def _put(held: Answers, key: Key, content: Content, where: str, faults: _Faults) -> None:
    if held.put(key, content):
        return
    prompt, model = key[:2]
    what = f"answer of {model!r}" if model else "question"
    faults.note(where, f"expected one {what} to prompt {prompt!r}, got two that differ; give each its own id")


def _surprise(where: str, row: Row, name: str, faults: _Faults) -> float:
    """Return a log-perplexity; NaN where the row has none."""
    value = row.get(name)
    if value is None:
        return math.nan
    try:
        found = float(value) if isinstance(value, str) else value
    except ValueError:
        found = value
    if _is_number(found) and isinstance(found, int | float) and found >= 0:
        return float(found)
    faults.note(where, f"expected {name} as a number of 0 or more, got {_shown(value)}")
    return math.nan


def _names(
    where: str, row: Row, needed: Sequence[str], known: Sequence[str], faults: _Faults
) -> tuple[str, ...] | None:
    before = faults.count
    for key in row:
        if key not in known:
            faults.note(where, f"unknown key {key!r}{nearest(str(key), known)}")
    values = [row.get(key) for key in needed]
    for key, value in zip(needed, values, strict=True):
        if not isinstance(value, str) or not value.strip():
            faults.note(where, f"expected {key} as a text that is not blank, got {key}={_shown(value)}")
    return tuple(str(value) for value in values) if faults.count == before else None


def _content(where: str, row: Row, text: str, embedding: str, faults: _Faults) -> Content | None:
    words, numbers = row.get(text), row.get(embedding)
    if words is not None and numbers is not None:
        faults.note(where, f"expected {text} or {embedding}, got both; leave one out")
        return None
    if words is not None:
        if isinstance(words, str) and words.strip():
            return words
        faults.note(where, f"expected {text} as a text that is not blank, got {_shown(words)}")
        return None
    if isinstance(numbers, str):  # a cell of CSV
        try:
            numbers = json_of(numbers, parse_constant=_no_constant)
        except ValueError:
            numbers = None
    if numbers is None and row.get(embedding) is None:
        return None
    if isinstance(numbers, list) and numbers and all(_is_number(x) for x in numbers):
        return tuple(float(x) for x in numbers)
    faults.note(where, f"expected {embedding} as a list of finite numbers, got {_shown(row.get(embedding))}")
    return None


def _is_number(value: object) -> bool:
    """Return whether a value is a number that 32 bits can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 3e38


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
