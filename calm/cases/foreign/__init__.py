"""Cases in other formats: CALM's files, MT-bench, LLMBar and IFEval style rows, and any table with a column map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from calm.cases.foreign.columns import FIELDS, Columns, columns_from, has_votes, import_table
from calm.cases.foreign.formats import import_calm, import_ifeval, import_llmbar, import_mtbench
from calm.cases.foreign.records import ImportResult, Kind, load
from calm.core.annotations import Votes
from calm.errors import ConfigError, nearest

__all__ = ["FIELDS", "FORMATS", "Columns", "Format", "ImportResult", "columns_from", "import_cases"]

Format: TypeAlias = Literal["calm", "mtbench", "llmbar", "ifeval", "csv", "tsv", "json", "jsonl", "parquet"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""The first four know their keys. The others need a column map; the ending of the file's name shows which it is."""
_KNOWN: Final = {"calm": import_calm, "mtbench": import_mtbench, "llmbar": import_llmbar, "ifeval": import_ifeval}


def import_cases(
    path: Path, *, form: Format | None = None, columns: Columns | None = None, votes: Votes | None = None
) -> ImportResult:
    """
    Return the cases of a foreign file, all of them or none.

    Args:
        path: the file.
        form: its format; None: the known one of its columns, else a table, of the kind that its name ends in.
        columns: for a table, which column holds what; a column with the name of a field needs no entry. For votes in
            the format of MT-bench, the column of the id alone.
        votes: what several records about the same answers make; None: the majority is the gold.

    Raises:
        ConfigError: a file that cannot be read, a map that does not fit it, or all its faulty records, each as
            `file: record: field: message`.
    """
    if form is not None and form not in FORMATS:
        raise ConfigError(f"expected a format, got format={form!r}{nearest(form, FORMATS)}")
    kind: Kind | None = form if form in ("csv", "tsv", "parquet") else "json" if form else None
    table = load(path, None if form in _KNOWN and path.suffix.lower() == ".parquet" else kind)
    name = "" if columns is None else columns.columns.get("id", "")
    plain = columns in (None, Columns(), Columns({"id": name}))
    guessed = form is None and plain and has_votes(table)
    known = "mtbench" if guessed else form
    if known not in _KNOWN:
        return import_table(table, columns or Columns(), votes or "majority")
    if votes and known != "mtbench":
        raise ConfigError(f"--votes: expected a table or --format mtbench, got --format {known}; leave it out")
    if known == "mtbench" and plain:
        found = import_mtbench(table, name, votes or "majority")
    elif columns not in (None, Columns()):
        raise ConfigError(
            f"--map, --value, --better: expected them with a table, got --format {known} "
            "(mtbench takes --map id=COLUMN alone)"
        )
    else:
        found = _KNOWN[known](table)
    note = f"its columns are those of --format {known}, so it was read as that"
    return replace(found, notes=(note, *found.notes)) if guessed else found
