"""
The tables of an audit as files. The trials are CSV or Parquet: a row for each case, arm and ask. Parquet has a file for
each table.

Findings that rest on the same trials share their rows. In CSV, a text that a spreadsheet would take for a formula
begins with an apostrophe, and what cannot be seen is made visible; Parquet holds texts as they are.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

from calm.core.verdict import CLASS, Code, Scale, as_written
from calm.errors import ConfigError
from calm.results import outputs
from calm.results.audit import Audit, TrialRecord
from calm.results.reports.html import visible
from calm.results.reports.probes import shown_scale
from calm.results.tabular import CASES, FINDINGS, FLIPS, Cell, Kind, Row, Table, groups, verdict_text, whole

COLUMNS: Mapping[str, Kind] = {
    "keys": "string",
    "bias": "string",
    "perturbation": "string",
    "against": "string",
    "task": "string",
    "expects": "string",
    "case": "string",
    "cluster": "string",
    "edit": "string",
    "hash": "string",
    "target": "string",
    "damaged": "string",
    "hit": "string",
    "room": "bool",
    "better": "string",
    "arm": "string",
    "ask": "int32",
    "kind": "string",
    "verdict": "string",
    "score": "double",
    "slots": "string",
    "slot": "int32",
}
"""
The columns and their kinds in Parquet. `keys` are the findings that rest on the row, separated by spaces, `slot` is the
place of the answer that won, from 1.
"""

CHUNK, BATCH = 1_000_000, 50_000
"""Characters of CSV, and rows of Parquet, that are held at a time."""
_FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
_FAILED = {"!unreadable": "unreadable", "!refused": "refused", "!no-reply": "no-reply"}


def rows(audit: Audit) -> Iterator[Row]:
    """Yield a row for each case, arm and ask, in the order of the record."""
    orders = _orders(audit)
    for findings in groups(audit):
        one = findings[0]
        shared: Row = {
            "keys": " ".join(f.key for f in findings),
            "bias": one.bias,
            "perturbation": one.perturbation,
            "against": one.against,
            "task": one.task,
            "expects": one.expects,
        }
        for trial in one.trials:
            yield from _rows(shared, trial, orders.get(trial.case, ()), shown_scale(audit.judge) or Scale())


def _orders(audit: Audit) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[tuple[str, ...]]] = {}
    for trial in (trial for one in audit.findings for trial in one.trials if trial.order):
        found.setdefault(trial.case, set()).add(trial.order)
    return {case: next(iter(orders)) for case, orders in found.items() if len(orders) == 1}


def _slot(code: Code, order: Sequence[str]) -> int | None:
    """
    Return the place of the answer that a verdict puts first, from 1; None where none wins, or its place is not known.

    >>> _slot("b", ("a", "b")), _slot([["b"], ["a"]], ("a", "b")), _slot("tie", ("a", "b")), _slot("b", ())
    (2, 2, None, None)
    """
    first = code[0] if isinstance(code, list) and code else [code]
    return order.index(first[0]) + 1 if len(first) == 1 and first[0] in order else None


def _rows(shared: Row, trial: TrialRecord, order: tuple[str, ...], scale: Scale) -> Iterator[Row]:
    pilot = () if trial.pilot is None else (trial.pilot,)
    arms = (
        ("pilot", pilot),
        ("clean", trial.clean),
        ("inert", trial.inert),
        ("perturbed", trial.perturbed),
        ("control", trial.control),
    )
    for arm, codes in arms:
        written = [as_written(code, scale) for code in codes]
        for number, code in enumerate(written, 0 if arm == "pilot" else 1):
            slots = trial.slots[number - 1] if arm == "perturbed" and len(trial.slots) >= number else None
            # half of the asks about a harmed answer show it in the other slot, and the record does not say which
            usual = () if arm == "perturbed" and trial.damaged is not None else trial.order or order
            yield {
                **shared,
                "case": trial.case,
                "cluster": trial.cluster or trial.case,
                "edit": trial.edit,
                "hash": trial.hash,
                "target": trial.target,
                "damaged": trial.damaged,
                "hit": trial.hit,
                "room": trial.room,
                "better": None if trial.better is None else verdict_text(trial.better),
                "arm": arm,
                "ask": number,
                "kind": _kind(code),
                "verdict": verdict_text(code),
                "score": float(code) if isinstance(code, int | float) else None,
                "slots": None if slots is None else json.dumps(list(slots), ensure_ascii=False),
                "slot": _slot(code, slots or usual),
            }


def _kind(code: Code) -> str:
    """
    Return what kind of verdict a code stands for.

    >>> [_kind(c) for c in ("good", "tie", "!refused", 7.0, {"c1": True}, [["a"], ["b"]], "~grounded")]
    ['preferred', 'tie', 'refused', 'score', 'criteria', 'ranking', 'label']
    """
    if isinstance(code, dict):
        return "criteria"
    if isinstance(code, list):
        return "ranking"
    if isinstance(code, int | float):
        return "score"
    if code.startswith(CLASS):
        return "label"
    return _FAILED.get(code, "tie" if code == "tie" else "preferred")


TRIALS = Table("trials", COLUMNS, rows)
TABLES = (TRIALS, FINDINGS, CASES, FLIPS)
"""All tables of an audit; the first one has the name of the file that is asked for."""


# CSV


def render_csv(audit: Audit) -> str:
    """Return the trials as CSV with a head, in UTF-8, comma, and line feed."""
    return "".join(_lines(audit))


def _lines(audit: Audit) -> Iterator[str]:
    known = cache(neutral)  # a text stands in many rows
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(audit):
        writer.writerow([_cell(row[name], known) for name in COLUMNS])
        if out.tell() > CHUNK:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def write_csv(audit: Audit, path: Path) -> None:
    """Write the trials as CSV; the file appears whole or not at all."""
    outputs.write_whole(path, _lines(audit), outputs.TRIALS)


def _cell(value: Cell, known: Callable[[str], str]) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    return known(value) if isinstance(value, str) else value


def neutral(text: str) -> str:
    r"""
    Return a text that no spreadsheet takes for a formula.

    >>> neutral("=1+1"), neutral(" @SUM(A1)"), neutral("good"), neutral("a\x00b")
    ("'=1+1", "' @SUM(A1)", 'good', 'a␀b')
    """
    shown = visible(text)
    begins = text[:1] in ("\t", "\r", "\n") or shown.lstrip()[:1] in tuple(_FORMULA)
    return f"'{shown}" if begins else shown


# Parquet


def parquet_paths(path: Path) -> dict[str, Path]:
    """
    Return where each table is written: the trials at the path, and the others beside it.

    >>> [str(place) for place in parquet_paths(Path("results.parquet")).values()]
    ['results.parquet', 'results.findings.parquet', 'results.cases.parquet', 'results.flips.parquet']
    """
    beside = {table.name: path.with_name(f"{path.stem}.{table.name}{path.suffix}") for table in TABLES}
    return beside | {TRIALS.name: path}


def write_parquet(audit: Audit, path: Path) -> None:
    """
    Write all tables as Parquet; each file appears whole or not at all.

    Raises:
        ConfigError: pyarrow is not installed, or a file cannot be written.
    """
    places = parquet_paths(path)
    for table in reversed(TABLES):  # the trials last: they have the name that was asked for
        _write_table(audit, table, places[table.name])


def _write_table(audit: Audit, table: Table, path: Path) -> None:
    arrow, parquet = _pyarrow()
    kinds = {
        "string": arrow.string(),
        "outcome": arrow.string(),
        "bool": arrow.bool_(),
        "int32": arrow.int32(),
        "int64": arrow.int64(),
        "double": arrow.float64(),
    }
    fields = [(name, kinds[kind]) for name, kind in table.columns.items()]
    schema = arrow.schema(fields, metadata={"form": table.form})
    with (
        outputs.written_beside(path, outputs.PARQUET) as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for batch in _batches(table, audit):
            writer.write_table(arrow.table(batch, schema=schema))


def _batches(table: Table, audit: Audit) -> Iterator[dict[str, list[Cell]]]:
    found = table.rows(audit)
    some = list(islice(found, BATCH))
    while True:
        yield {name: [whole(row[name]) for row in some] for name in table.columns}
        some = list(islice(found, BATCH))
        if not some:
            return


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        from calm.core.releases import absent, install

        raise ConfigError(
            f"{absent('pyarrow', error)}, which writes Parquet; install it: {install('parquet')}; or write CSV"
        ) from error
    return pyarrow, pyarrow.parquet
