"""A table of results as a judge: in each record a question, one or two answers, a verdict, and maybe a gold label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from calm.cases.foreign.columns import NOTHING, Columns, import_table, lean, leans, shared_columns, unknown_columns
from calm.cases.foreign.records import Table, load, names_of, written
from calm.cases.logs.judgments import Judgment, scaled
from calm.cases.proposed import OF_JUDGE, VERDICT, proposal
from calm.core.case import TIE, Case, Framing
from calm.core.files import read_bytes
from calm.core.names import parts
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError
from calm.judges.reading import Format
from calm.judges.recorded.entries import Entries, Entry
from calm.judges.recorded.replay import Replay, Source


@dataclass(frozen=True, slots=True)
class Results:
    """
    The judge whose verdicts a table holds, with its cases; and how the table was read, by field and by word.

    `left` records are left out, as they have no question or no answer.
    """

    judge: Replay
    read: Mapping[str, str]
    left: int = 0


def results_in(path: Path, columns: Mapping[str, str], words: Mapping[str, str], scale: Scale | None = None) -> Results:
    """
    Return the judge of a table of results; records without a gold label are its unlabelled cases.

    Args:
        path: the table.
        columns: the columns by field that a user named: fields of a case, and `verdict`, what the judge said.
        words: what the words of verdicts and gold mean, as far as a user said: a letter of an answer, "tie", a number.
        scale: the scale of scores; None: the usual one that holds them all.

    Raises:
        ConfigError: no table, a column that is missing or is two fields at once, a word without a known meaning, or
            two records on the same.
    """
    table = load(path, what="a table of verdicts")
    if unknown := unknown_columns(columns, table):
        raise ConfigError(unknown)
    verdict = columns.get(VERDICT) or _verdict_column(table)
    found = proposal(table, {**columns, VERDICT: verdict}, words, {}, scale=scale)
    if found.lacking:
        lacking = " ".join(f'--map {key}="COLUMN"' for key in found.lacking)
        raise ConfigError(f"{table.name}: no column for {found.lacking[0]}: add {lacking}; {_columns(table)}")
    if unexplained := [one for one in found.words if not one.known]:
        named = ", ".join(one.key for one in unexplained)
        values = " ".join(f'--value "{one.key}={one.value}"' for one in unexplained)
        raise ConfigError(
            f"{table.name}: expected words whose meaning is known, got {named}; say what each means, such as {values}"
        )
    held = {**columns, **{one.key: one.value for one in found.columns}}
    if shared := shared_columns({**held, VERDICT: verdict}, VERDICT):
        raise ConfigError([f"{table.name}: {one}" for one in shared])
    meant = {**words, **{one.key: one.value for one in found.words}}
    imported = import_table(table, Columns({key: held[key] for key in held if key != VERDICT}, meant))
    rows = tuple(row for record, row in enumerate(table.rows, 1) if record not in imported.left)
    left, table = len(table.rows) - len(rows), replace(table, rows=rows)
    if len(imported.cases) != len(table.rows):
        raise ConfigError(
            f"{table.name}: expected each question with its answers once, got {len(table.rows)} records on "
            f"{len(imported.cases)} of them; keep one record of each, or number the repeats "
            "(docs/how-to/replay-verdicts.md)"
        )
    several = len(imported.cases[0].answers)
    if several > 2:
        raise ConfigError(f"{table.name}: expected one or two answers in a record, got {several}")
    task: Task = "score" if several == 1 else "pairwise"
    said: Sequence[object]
    if task == "score":
        said, scale = _scores(table, imported.cases, verdict, meant, scale)
    else:
        said, scale = _sides(table, verdict, meant), Scale()
    if task == "pairwise" and any(_leaning(table, column, meant) for column in (verdict, held.get("better", "better"))):
        meant |= {"1": "a", "1.5": TIE, "2": "b"}
    entries = tuple(
        Entry(record, case.id, (), Framing.STANDARD, 1, None, value, raw=False)
        for record, (case, value) in enumerate(zip(imported.cases, said, strict=True), 1)
    )
    read = {VERDICT: verdict, **held, **meant}
    digest = sha256(read_bytes(path)).hexdigest()
    source = Source(Entries(table.name, entries, ()), digest, read, imported.cases)
    return Results(Replay(path.stem, task, scale, source, Format(), model=path.stem), read, left)


def _columns(table: Table) -> str:
    return f"its columns: {names_of(table.columns)}"


def _verdict_column(table: Table) -> str:
    """Return the column of the judge's verdicts by its name."""
    named = [one for one in table.columns if not OF_JUDGE.isdisjoint(parts(one))]
    exact = [one for one in named if one.lower() == VERDICT]
    if len(exact or named) != 1:
        got = f"{', '.join(named)}" if named else "none"
        raise ConfigError(
            f'{table.name}: expected one column of what the judge said, got {got}; add --map verdict="COLUMN"; '
            f"{_columns(table)}"
        )
    return (exact or named)[0]


def _leaning(table: Table, column: str, meant: Mapping[str, str]) -> bool:
    """Return whether a column holds a numeric preference, beside words that are explained."""
    return leans({written(row.get(column)).strip() for row in table.rows}, meant)


def _sides(table: Table, verdict: str, meant: Mapping[str, str]) -> list[str | None]:
    """Return which answer each verdict prefers; None where there is none."""
    leaning = _leaning(table, verdict, meant)
    found: list[str | None] = []
    for record, row in enumerate(table.rows, 1):
        word = written(row.get(verdict)).strip()
        if not word or meant.get(word) == NOTHING:
            found.append(None)
            continue
        side = meant.get(word) or (lean(word) if leaning else word.lower())
        if side not in ("a", "b", TIE):
            raise ConfigError(
                f"{table.name}: record {record}: {verdict}: expected a, b or tie, got {word!r}; say what it means, as "
                f'in --value "{word}=a", or "{word}=none" if it is no verdict'
            )
        found.append(side)
    return found


def _scores(
    table: Table, cases: Sequence[Case], verdict: str, meant: Mapping[str, str], scale: Scale | None
) -> tuple[list[float | None], Scale]:
    """Return what the judge said of each record on a scale that holds the gold, too, and the scale."""
    numbers = {word: None if value == NOTHING else float(value) for word, value in meant.items()}
    values = [row.get(verdict) for row in table.rows]
    given = [value for value in values if value not in (None, "")]
    gold = [score for case in cases for score in case.scores.values()]
    judgments = [Judgment(table.name, f"record {n}", "", (), value) for n, value in enumerate([*given, *gold], 1)]
    placed = scaled(judgments, numbers, scale)
    known = iter(placed.values)
    return [None if value in (None, "") else next(known) for value in values], placed.scale
