"""
Comparisons from files: JSON Lines, CSV, records of `calm self-preference`, and gate runs of several judges.

A comparison is an object (or a row under a header) with `prompt`, `judge`, `model_a`, `model_b` and `outcome` (`a`, `b`
or `tie`; `A`, `B`, `C` mean the same). Answers are given once each in a file of their own, objects with `prompt`,
`model`, and `text` or `embedding`; or with the comparison, as `text_a`, `text_b`, `text_own`, or `embedding_a` and so
on. `text_question` or `embedding_question` is the question, `log_perplexity_a` and so on how unlikely the judge finds
an answer.

Of a record, the cases name the author of each answer: the authors are the models that are rated. A verdict on a pair is
one comparison, in the order in which the pair was shown, so both orders give one each. Scores and criteria give one for
each two answers to a question: the higher one wins. A ranking gives one for each two of its answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Final, NoReturn, TypeAlias

from calm.cases import read_files
from calm.cases.foreign.records import load
from calm.core.case import Answer, Case
from calm.core.files import json_of, noted, read_bytes, refuse_large, refuse_twice, unopened
from calm.core.measures import TABLE_MEASURES
from calm.core.names import one_name
from calm.core.order import item_of
from calm.core.plugins import needed
from calm.core.verdict import FAMILY, Code, Task
from calm.errors import ConfigError, few_of, nearest
from calm.experiment.crossing import identity
from calm.models.wire import Json
from calm.plugins.uda.comparisons import INSTRUCTION, Answers, Comparisons, Content, Embed, Key, Named, arrays, question
from calm.results import audit
from calm.results.audit import Audit
from calm.results.reports.extras import as_list, as_mapping

# ---------------------------------------------------------------------------------------------- verdicts as comparisons


Said: TypeAlias = tuple[str, Case, tuple[Code, ...]]
"""A judge, a case with its answers in the order shown, and the judge's verdicts on it: a code for each ask."""
Value: TypeAlias = float | tuple[float, ...]
"""What verdicts say on average: a share of the first answer, a score, or places."""


@dataclass(frozen=True, slots=True)
class Known:
    """
    What is known of the cases that verdicts are about.

    `own` is the key of the first answer of each author, by item; `surprise` are log-perplexities, by judge, item and
    author.
    """

    own: Mapping[tuple[str, str], Key]
    surprise: Mapping[str, Mapping[str, Mapping[str, float]]]


def key_of(item: str, answer: Answer) -> Key:
    """Return the key of an answer: a model may have several answers to a question."""
    return item, answer.author or "", answer.text


def outcome(codes: Sequence[Code], case: Case) -> Value | None:
    """
    Return what the asks say on average, None if none can be read: a share of the first answer, a score, or places.

    Of a rubric it is the sum of the points that are met; of a ranking the place of each answer, 1 the best.
    """
    found = [value for code in codes if (value := _value(code, case)) is not None]
    if not found:
        return None
    places = [value for value in found if isinstance(value, tuple)]
    if places:
        return tuple(fmean(of) for of in zip(*places, strict=True))
    return fmean(value for value in found if isinstance(value, float))


def _value(code: Code, case: Case) -> Value | None:
    match code:
        case str() if code.startswith("!"):
            return None
        case str():
            return 0.5 if code == "tie" else float(code == case.answers[0].id)
        case dict():
            points = {criterion.id: criterion.points for criterion in case.criteria}
            if any(met is None for met in code.values()):
                return None
            return float(sum(points.get(name, 1.0) for name, met in code.items() if met))
        case list():
            place = {name: float(at) for at, group in enumerate(code, start=1) for name in group}
            return tuple(place.get(a.id, nan) for a in case.answers)
        case _:
            return float(code)


def named(judge: str, said: Sequence[tuple[Case, Value]], known: Known) -> Iterator[Named]:
    """Return the comparisons of one judge, in the order of the cases."""
    alone: dict[str, list[tuple[Case, float]]] = {}
    for case, value in said:
        if isinstance(value, tuple):
            for (a, place), (b, other) in combinations(zip(case.answers, value, strict=True), 2):
                yield from _one(judge, case, (a, b), _ahead(other, place), known)
        elif len(case.answers) == 1:
            alone.setdefault(item_of(case), []).append((case, value))
        else:
            yield from _one(judge, case, case.answers, value, known)
    for answered in alone.values():
        for (one, value), (two, other) in combinations(answered, 2):
            yield from _one(judge, one, (*one.answers, *two.answers), _ahead(value, other), known)


def _ahead(a: float, b: float) -> float:
    return 0.5 if a == b else float(a > b)


def _one(judge: str, case: Case, answers: Sequence[Answer], share: float, known: Known) -> Iterator[Named]:
    a, b = answers
    if a.author == b.author or a.author is None or b.author is None:
        return
    item = item_of(case)
    of = known.surprise.get(judge, {}).get(item, {})
    surprise = of.get(a.author, nan), of.get(b.author, nan), of.get(judge, nan)
    own = known.own.get((item, judge), (item, judge))
    yield Named(item, judge, a.author, b.author, share, key_of(item, a), key_of(item, b), own, surprise)


# -------------------------------------------------------------------------------------------------------------- records

RECORDS: Final = ("calm-self-preference", audit.SCHEMA.partition("/")[0])
"""The schemas of the records that hold verdicts on answers, without their versions."""
_HEAD: Final = 200
"""A record names its schema within so many characters."""


def record_in(path: Path) -> Mapping[str, Json] | None:
    """
    Return the record that a file holds, whatever its name; None for comparisons, or a file that cannot be read here.

    Raises:
        ConfigError: an empty file, a record cut short, or JSON of another kind.
    """
    if not path.is_file():
        return None
    try:
        text = read_bytes(path).decode("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError):
        return None
    if not text:
        raise ConfigError(f"{path}: expected at least one comparison, got an empty file; write one JSON object a line")
    line = text.partition("\n")[0].strip()
    with suppress(ValueError):
        first = json_of(line)  # JSON by itself, and no record
        if not isinstance(first, dict) or "schema" not in first:
            return None
    if path.suffix.lower() == ".csv":
        return None
    if path.suffix.lower() != ".json" and line != "{" and '"schema"' not in line[:_HEAD]:
        return None
    try:
        body = json_of(text)
    except ValueError as error:
        raise ConfigError(
            f"{path}: expected comparisons, one JSON object a line, or a whole record, got damaged JSON: {error}; "
            f"write the file again"
        ) from error
    schema = body.get("schema") if isinstance(body, dict) else None
    if not isinstance(body, dict) or str(schema).partition("/")[0] not in RECORDS:
        raise ConfigError(
            f"{path}: expected comparisons, a record of `calm self-preference` or the results of a run, got "
            f"schema={schema!r}; give one of these"
        )
    return body


def compared(
    records: Mapping[Path, Mapping[str, Json]], answers: Path | None, held: Answers
) -> tuple[list[Named], int]:
    """
    Return the comparisons of records, and how many verdicts could not be read; the answers are put into `held`.

    Raises:
        ConfigError: no cases, cases that name no authors or are not those of the record, or a judge twice.
    """
    if answers is None:
        raise ConfigError(
            "--answers: expected the cases that the judges were asked about, which `calm answer` writes, got none; a "
            "record holds no texts"
        )
    found: list[Named] = []
    unread = 0
    owners: dict[str, Path] = {}
    for path, body in records.items():
        said, known = (
            _self_preference(path, body, answers, held)
            if str(body["schema"]).startswith(RECORDS[0])
            else _gate(path, answers, held)
        )
        values: dict[str, list[tuple[Case, Value]]] = {}
        for judge, case, codes in said:
            if (value := outcome(codes, case)) is not None:
                values.setdefault(judge, []).append((case, value))
            else:
                values.setdefault(judge, [])
                unread += 1
        for judge, mine in values.items():
            if judge in owners:
                raise ConfigError(
                    f"{path}: expected judges that differ, got {judge!r} again after {owners[judge]}; leave one of the "
                    f"two files out"
                )
            owners[judge] = path
            found += named(judge, mine, known)
    return found, unread


# ------------------------------------------------------------------------------------------------- who said what


def _self_preference(path: Path, body: Mapping[str, Json], answers: Path, held: Answers) -> tuple[list[Said], Known]:
    members = needed("peers", "a record of judges")(body) if "judged" in body else []
    if not members:
        raise ConfigError(
            f"{path}: expected a record with verdicts, got one of recorded judges; ask judges about --cases"
        )
    names = [member.model for member in members]
    cases = _authored(answers, members[0].task, names)
    shown = {identity(case): case for case in cases}
    if FAMILY[members[0].task] == "pairwise":  # pairs in both orders
        shown |= {identity(case): case for case in (replace(c, answers=c.answers[::-1]) for c in cases)}
    asked = as_mapping(body.get("cases"))
    if missing := [key for key in asked if key not in shown]:
        raise ConfigError(
            f"{answers}: expected the cases that {path} is about, got no case with the texts of {len(missing)} of "
            f"{len(asked)}; give the file that the judges were asked about"
        )
    said: list[Said] = [
        (str(one["model"]), shown[key], (_code(as_mapping(one["verdicts"])[key]),))
        for one in map(as_mapping, as_list(body["judged"]))
        if not one.get("dimension") and one.get("framing", "standard") == "standard"
        for key in asked
        if key in as_mapping(one["verdicts"])
    ]
    return said, Known(_hold(cases, held), needed("likelihoods", "a record of judges")(body))


def _gate(path: Path, answers: Path, held: Answers) -> tuple[list[Said], Known]:
    found = audit.read(path)
    judge = found.judge.model or found.judge.name
    task = next((task for task in FAMILY if task == found.judge.task), None)
    if task is None:
        raise ConfigError(f"{path}: expected the task of a judge, got task={found.judge.task!r}")
    cases = _authored(answers, task, [judge])
    asked = _clean(found)
    if not asked:
        raise ConfigError(f"{path}: expected verdicts on cases as they are, got none; run the suite test_consistency")
    by_id = {case.id: case for case in cases}
    if missing := [name for name in asked if name not in by_id]:
        raise ConfigError(
            f"{answers}: expected the cases of {path}, got none called {missing[0]!r}; give the file that the run had "
            f"as --calm-cases"
        )
    said: list[Said] = []
    for case in cases:
        if case.id in asked:
            codes, order = asked[case.id]
            known = {answer.id for answer in case.answers}
            if strange := [c for c in codes if isinstance(c, str) and c not in known | {"tie"} and c[:1] != "!"]:
                raise ConfigError(f"{path}: case {case.id!r}: expected an answer of {answers}, got {strange[0]!r}")
            turned = case.present(order=order) if set(order) == known else case
            said.append((judge, replace(turned, answers=turned.shown), codes))
    return said, Known(_hold(cases, held), {})


def _clean(found: Audit) -> dict[str, tuple[tuple[Code, ...], tuple[str, ...]]]:
    """
    Return by case the codes of its clean asks and the order shown; rows without an edit are preferred.

    Figures of a table of judges are left out: their rows are about cases that calm arranged for them.
    """
    asked: dict[str, tuple[tuple[Code, ...], tuple[str, ...]]] = {}
    findings = [finding for finding in found.findings if finding.measure not in TABLE_MEASURES]
    rows = [row for finding in findings for row in finding.trials if row.clean]
    for row in sorted(rows, key=lambda row: not row.order):  # a stable sort: rows that tell the order come first
        asked.setdefault(row.case, (row.clean, row.order))
    return asked


def _authored(answers: Path, task: Task, judges: Sequence[str]) -> list[Case]:
    cases = [case for case in read_files([answers], task=task) if all(a.author for a in case.answers)]
    if not cases:
        raise ConfigError(
            f"{answers}: expected cases that name the author of each answer, got none: without authors there is no "
            f"model to rate; let models answer with `calm answer`, or add `author` to the answers"
        )
    names = one_name((answer.author for case in cases for answer in case.answers if answer.author), judges)

    return [
        replace(case, answers=tuple(replace(a, author=names[a.author or ""]) for a in case.answers)) for case in cases
    ]


# ------------------------------------------------------------------------------------------------------- the texts


def _hold(cases: Sequence[Case], held: Answers) -> dict[tuple[str, str], Key]:
    own: dict[tuple[str, str], Key] = {}
    for case in cases:
        item = item_of(case)
        held.setdefault(question(item), case.question)
        for answer in case.answers:
            key = key_of(item, answer)
            held.setdefault(key, answer.text)
            own.setdefault((item, answer.author or ""), key)
    return own


def _code(value: Json) -> Code:
    if isinstance(value, str | int | float):
        return value
    return {name: met for name, met in as_mapping(value).items() if isinstance(met, bool | None)}


# ------------------------------------------------------------------------------------------------- files of comparisons

OUTCOMES: Mapping[str, float] = {"a": 1.0, "b": 0.0, "tie": 0.5, "A": 1.0, "B": 0.0, "C": 0.5}
NEEDED = ("prompt", "judge", "model_a", "model_b", "outcome")
SIDES = ("a", "b", "own")
KEYS = (
    *NEEDED,
    *(f"{kind}_{side}" for kind in ("text", "embedding") for side in (*SIDES, "question")),
    *(f"log_perplexity_{side}" for side in SIDES),
)
ANSWERED = ("prompt", "model")
ANSWER_KEYS = (*ANSWERED, "text", "embedding")
MAX_SHOWN = 20
"""This many faults that differ are spelled out; the others are counted."""
MAX_LINE = 5_000_000
"""A longer line is refused: it is a file of another kind."""

Row: TypeAlias = Mapping[str, object]


@dataclass(slots=True)
class _Faults:
    """Faults by their words: the place of the first of each, and how many there are."""

    first: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return self.counts.total()

    def note(self, where: str, message: str) -> None:
        self.first.setdefault(message, where)
        self.counts[message] += 1

    def put(self, held: Answers, key: Key, content: Content, where: str) -> None:
        if held.setdefault(key, content) != content:
            what = f"answer of {key[1]!r}" if key[1] else "question"
            self.note(where, f"expected one {what} to prompt {key[0]!r}, got two that differ; give each its own id")

    def settle(self) -> None:
        told = [
            f"{where}: {message}{f' (and {more} more like it)' if (more := self.counts[message] - 1) else ''}"
            for message, where in self.first.items()
        ]
        if told[MAX_SHOWN:]:
            told[MAX_SHOWN:] = [f"and {len(told) - MAX_SHOWN} more; fix these first"]
        if told:
            raise ConfigError(told)


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
    faults = _Faults()
    held: Answers = {}
    records = {path: body for path in files if (body := record_in(path)) is not None}
    lines = [path for path in files if path not in records]
    found, unread = compared(records, answers, held) if records else ([], 0)
    if answers is not None and lines:
        for where, row in _rows(answers, ANSWERED, ANSWER_KEYS, faults):
            _answer(where, row, held, faults)
    for path in lines:
        before = len(found)
        for where, row in _rows(path, NEEDED, KEYS, faults):
            if (one := _comparison(where, row, held, faults)) is not None:
                found.append(one)
        if len(found) == before and not faults:
            faults.note(str(path), "expected at least one comparison, got an empty file; write one JSON object a line")
    faults.settle()
    return arrays(found, held, embed, questions=INSTRUCTION in extra), unread


def _rows(path: Path, needed: Sequence[str], known: Sequence[str], faults: _Faults) -> Iterator[tuple[str, Row]]:
    try:
        with path.open("rb") as file:
            refuse_large(file, path)
        if path.suffix.lower() == ".csv":
            table = load(noted(path), "csv")
            if set(needed) - set(table.columns) or set(table.columns) - set(known):
                faults.note(str(path), _other_columns(table.columns, needed, known))
                return
            for record, row in enumerate(table.rows, 1):
                yield f"{path}: record {record}", {key: value for key, value in row.items() if value != ""}
        else:
            yield from _json_rows(path, faults)
    except OSError as error:
        raise ConfigError(unopened(path, error, "ratings in CSV or JSON Lines")) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: expected UTF-8, got byte 0x{error.object[error.start]:02x}; save it as UTF-8"
        ) from error


def _other_columns(columns: Sequence[str], needed: Sequence[str], known: Sequence[str]) -> str:
    if lacking := [name for name in needed if name not in columns]:
        return (
            f"expected the columns {', '.join(needed)}, got no {lacking[0]!r} but {few_of(columns, 3)}; a matrix of "
            f"ratings is read by `calm uda report`"
        )
    odd = next(name for name in columns if name not in known)
    return f"unknown column {odd!r}{nearest(odd, known)}"


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
    names = _names(where, row, ANSWERED, ANSWER_KEYS, faults)
    content = _content(where, row, "text", "embedding", faults)
    if names is None:
        return
    if content is None:
        faults.note(where, "expected `text` or `embedding`, got neither; add one")
        return
    faults.put(held, (names[0], names[1]), content, where)


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
            faults.put(held, key, content, where)
    a, b, its = (_surprise(where, row, f"log_perplexity_{side}", faults) for side in SIDES)
    return Named(prompt, judge, one, two, OUTCOMES[outcome], first, second, own, (a, b, its))


def _surprise(where: str, row: Row, name: str, faults: _Faults) -> float:
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
    before = len(faults)
    for key in row:
        if key not in known:
            faults.note(where, f"unknown key {key!r}{nearest(str(key), known)}")
    values = [row.get(key) for key in needed]
    for key, value in zip(needed, values, strict=True):
        if not isinstance(value, str) or not value.strip():
            faults.note(where, f"expected {key} as a text that is not blank, got {key}={_shown(value)}")
    return tuple(str(value) for value in values) if len(faults) == before else None


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
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 3e38


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
