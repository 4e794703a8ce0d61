"""
Who preferred what: comparisons from JSON Lines or CSV, as arrays.

A comparison is an object (or a row under a header) with `prompt`, `judge`, `model_a`, `model_b` and `outcome` (`a`, `b`
or `tie`; `A`, `B`, `C` mean the same). Answers are given once each in a file of their own, objects with `prompt`,
`model`, and `text` or `embedding`; or with the comparison, as `text_a`, `text_b`, `text_own`, or `embedding_a` and so
on. The judge's own answer to a prompt is that of the model that has the judge's name.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.core.files import json_of, read_bytes, refuse_large
from calm.core.inputs import noted
from calm.errors import ConfigError, nearest
from calm.studies.uda.elo import Floats, Ints, Lanes, lanes
from calm.studies.uda.embeddings import Embed, Vectors

OUTCOMES: Mapping[str, float] = {"a": 1.0, "b": 0.0, "tie": 0.5, "A": 1.0, "B": 0.0, "C": 0.5}
NEEDED = ("prompt", "judge", "model_a", "model_b", "outcome")
SIDES = ("a", "b", "own")
KEYS = (*NEEDED, *(f"{kind}_{side}" for kind in ("text", "embedding") for side in SIDES))
ANSWER_KEYS = ("prompt", "model", "text", "embedding")
MAX_SHOWN = 20
"""This many faults are spelled out; the others are counted."""
MAX_LINE = 5_000_000
"""A longer line is refused: it is a file of another kind."""

Row: TypeAlias = Mapping[str, object]
Content: TypeAlias = "str | tuple[float, ...]"


@dataclass(frozen=True, slots=True)
class Comparisons:
    """
    Comparisons as arrays, one entry each; `embeddings` has one row for each answer.

    `judge`, `first`, `second` number the names in `judges` and `models`; `prompt` numbers the prompts; `one`, `two` and
    `own` are rows of the embeddings, `own` -1 where the judge has no answer to the prompt.
    """

    judges: tuple[str, ...]
    models: tuple[str, ...]
    prompt: Ints
    judge: Ints
    first: Ints
    second: Ints
    share: Floats
    one: Ints
    two: Ints
    own: Ints
    embeddings: Vectors

    def __len__(self) -> int:
        return len(self.judge)

    @property
    def dims(self) -> int:
        """Return the number of dimensions of the embeddings."""
        return int(self.embeddings.shape[1])

    def lanes(self) -> Lanes:
        """Return the comparisons laid out by judge, in their order."""
        return lanes(self.judge, self.first, self.second, len(self.judges))

    def take(self, chosen: NDArray[np.bool_]) -> Comparisons:
        """Return the comparisons that are chosen; judges, models and embeddings stay as they are."""
        return Comparisons(
            self.judges,
            self.models,
            self.prompt[chosen],
            self.judge[chosen],
            self.first[chosen],
            self.second[chosen],
            self.share[chosen],
            self.one[chosen],
            self.two[chosen],
            self.own[chosen],
            self.embeddings,
        )

    def without_judge(self, left_out: int) -> Comparisons:
        """Return the comparisons of all judges but one; the others keep their order."""
        rest = self.take(self.judge != left_out)
        judges = tuple(name for j, name in enumerate(self.judges) if j != left_out)
        renumbered = (rest.judge - (rest.judge > left_out)).astype(np.int32)
        return Comparisons(
            judges,
            rest.models,
            rest.prompt,
            renumbered,
            rest.first,
            rest.second,
            rest.share,
            rest.one,
            rest.two,
            rest.own,
            rest.embeddings,
        )


def split(data: Comparisons, validation: float) -> tuple[Comparisons, Comparisons]:
    """
    Return what to train on and what to validate on: the first share for each judge and ordered pair.

    Raises:
        ConfigError: either part would be empty for a judge.
    """
    key = (data.judge.astype(np.int64) * len(data.models) + data.first) * len(data.models) + data.second
    order = np.argsort(key, kind="stable")
    _, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
    place = np.empty(len(data), np.int64)
    place[order] = np.arange(len(data)) - np.repeat(starts, counts)
    size = np.empty(len(data), np.int64)
    size[order] = np.repeat(counts, counts)
    validates = place < np.floor(size * validation)
    for part, name in ((validates, "validation"), (~validates, "training")):
        have = set(data.judge[part].tolist())
        lacking = [judge for j, judge in enumerate(data.judges) if j not in have]
        if lacking:
            raise ConfigError(
                f"expected {name} comparisons of each judge, got none of {', '.join(map(repr, lacking))} with "
                f"validation={validation}; give several comparisons for each judge and pair of models, or another share"
            )
    return data.take(~validates), data.take(validates)


def check(data: Comparisons, *, own: bool) -> None:
    """
    Refuse comparisons that teach nothing: too few judges or models, or none of the judge's own answers.

    Raises:
        ConfigError: each fault in a line.
    """
    problems = []
    if len(data.judges) < 2:
        problems.append(
            f"expected two judges or more, got {len(data.judges)}: there is no consensus of one; add judges"
        )
    if len(data.models) < 3:
        problems.append(f"expected three models or more, got {len(data.models)}: two correlate perfectly; add models")
    if own and (data.own < 0).any():
        lacking = sorted({data.judges[j] for j in data.judge[data.own < 0]})
        problems.append(
            f"expected the judge's own answer to each prompt, got none for some of {', '.join(map(repr, lacking))}; "
            f"add an answer with model = the judge's name, or leave own answers out with --without-own"
        )
    if problems:
        raise ConfigError(problems)


# ------------------------------------------------------------------------------------------------------------- reading


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


@dataclass(slots=True)
class _Answers:
    """The answers met so far: each once, by prompt and model."""

    rows: dict[tuple[str, str], int] = field(default_factory=dict)
    contents: list[Content | None] = field(default_factory=list)

    def row(self, prompt: str, model: str) -> int:
        return self.rows.setdefault((prompt, model), len(self.rows))

    def put(self, prompt: str, model: str, content: Content, where: str, faults: _Faults) -> None:
        row = self.row(prompt, model)
        self.contents.extend([None] * (len(self.rows) - len(self.contents)))
        if self.contents[row] not in (None, content):
            faults.note(
                where,
                f"expected one answer of {model!r} to prompt {prompt!r}, got two that differ; give each its own id",
            )
        self.contents[row] = content


def read(comparisons: Path, answers: Path | None, embed: Embed) -> Comparisons:
    """
    Return the comparisons of a file, with the embeddings of their answers.

    Args:
        comparisons: JSON Lines, or CSV if the name ends in .csv.
        answers: a file of answers, likewise; None if the comparisons bring them.
        embed: gives the vectors of the texts; it is not called if all answers have embeddings.

    Raises:
        ConfigError: all faults of the files, the first `MAX_SHOWN` spelled out; or embeddings that do not fit together.
    """
    faults, held = _Faults(), _Answers()
    if answers is not None:
        for where, row in _rows(answers, faults):
            _answer(where, row, held, faults)
    columns: list[tuple[str, str, str, str, float]] = []
    for where, row in _rows(comparisons, faults):
        if (found := _comparison(where, row, held, faults)) is not None:
            columns.append(found)
    if not columns and not faults.count:
        faults.note(
            str(comparisons), "expected at least one comparison, got an empty file; write one JSON object a line"
        )
    faults.settle()
    return _arrays(columns, held, embed)


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
            yield from _csv_rows(path, faults)
        else:
            yield from _json_rows(path, faults)
    except OSError as error:
        raise ConfigError(f"{path}: expected a file that can be read, got: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: expected UTF-8, got byte 0x{error.object[error.start]:02x}; save it as UTF-8"
        ) from error


def _csv_rows(path: Path, faults: _Faults) -> Iterator[tuple[str, Row]]:
    with noted(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        try:
            for row in reader:
                where = f"{path}:{reader.line_num}"
                if None in row or None in row.values():
                    faults.note(where, "expected as many cells as the header has, got more or fewer; quote commas")
                    continue
                yield where, {key: value for key, value in row.items() if value != ""}
        except csv.Error as error:
            faults.note(f"{path}:{reader.line_num}", f"expected CSV, got an error: {error}")


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


def _answer(where: str, row: Row, held: _Answers, faults: _Faults) -> None:
    names = _names(where, row, ("prompt", "model"), ANSWER_KEYS, faults)
    content = _content(where, row, "text", "embedding", faults)
    if names is None:
        return
    if content is None:
        faults.note(where, "expected `text` or `embedding`, got neither; add one")
        return
    held.put(names[0], names[1], content, where, faults)


def _comparison(where: str, row: Row, held: _Answers, faults: _Faults) -> tuple[str, str, str, str, float] | None:
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
    for side, model in zip(SIDES, (one, two, judge), strict=True):
        content = _content(where, row, f"text_{side}", f"embedding_{side}", faults)
        if content is not None:
            held.put(prompt, model, content, where, faults)
    return prompt, judge, one, two, OUTCOMES[outcome]


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
            numbers = json.loads(numbers, parse_constant=_no_constant)
        except (ValueError, RecursionError):
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


def _arrays(columns: Sequence[tuple[str, str, str, str, float]], held: _Answers, embed: Embed) -> Comparisons:
    prompts = {name: i for i, name in enumerate(dict.fromkeys(c[0] for c in columns))}
    judges = {name: i for i, name in enumerate(dict.fromkeys(c[1] for c in columns))}
    models = {name: i for i, name in enumerate(dict.fromkeys(name for c in columns for name in c[2:4]))}
    lacking = sorted({(c[0], name) for c in columns for name in c[2:4] if (c[0], name) not in held.rows})
    if lacking:
        shown = "; ".join(f"{model!r} to prompt {prompt!r}" for prompt, model in lacking[:5])
        raise ConfigError(
            f"expected the text or embedding of every answer compared, got none for {len(lacking)}, such as {shown}; "
            f"give them with --answers, or as text_a and text_b"
        )
    used = sorted({held.rows[c[0], n] for c in columns for n in c[1:4] if (c[0], n) in held.rows})
    compact = {row: i for i, row in enumerate(used)}
    contents = [content for row in used if (content := held.contents[row]) is not None]

    def rows(which: int) -> Ints:
        found = (held.rows.get((c[0], str(c[which]))) for c in columns)
        return np.array([-1 if row is None else compact[row] for row in found], np.int32)

    return Comparisons(
        judges=tuple(judges),
        models=tuple(models),
        prompt=np.array([prompts[c[0]] for c in columns], np.int32),
        judge=np.array([judges[c[1]] for c in columns], np.int32),
        first=np.array([models[c[2]] for c in columns], np.int32),
        second=np.array([models[c[3]] for c in columns], np.int32),
        share=np.array([c[4] for c in columns], np.float64),
        one=rows(2),
        two=rows(3),
        own=rows(1),
        embeddings=_vectors(contents, embed),
    )


def _vectors(contents: Sequence[Content], embed: Embed) -> Vectors:
    texts = [content for content in contents if isinstance(content, str)]
    if texts and len(texts) < len(contents):
        raise ConfigError(
            f"expected texts alone or embeddings alone, got {len(texts)} texts and {len(contents) - len(texts)} "
            f"embeddings: vectors of different makers do not compare; give one kind"
        )
    if texts:
        return embed(texts)
    sizes = sorted({len(content) for content in contents})
    if len(sizes) > 1:
        raise ConfigError(
            f"expected embeddings of one length, got lengths {', '.join(map(str, sizes))}; use one embedder"
        )
    return np.array(contents, np.float32)
