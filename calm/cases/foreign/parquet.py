"""
A Parquet file unfolded in a helper process: a few kilobytes of it can name gigabytes.

Only that process imports this module, which needs pyarrow.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final, TypeAlias

import pyarrow
import pyarrow.parquet

from calm.core.files import MOST_BYTES, MOST_COLUMNS, MOST_VALUES, megabytes

Unfolded: TypeAlias = tuple[tuple[str, ...], list[dict[str, object]]]
"""The names of the columns, and a record for each row."""

_ROWS: Final = 50
"""Rows that are unfolded at a time."""


def unfolded(data: bytes) -> Unfolded | str:
    """Return the records of a Parquet file, or what is wrong with it."""
    try:
        file = pyarrow.parquet.ParquetFile(BytesIO(data))
        if fault := _too_much(file.metadata):
            return fault
        columns = tuple(str(name) for name in file.schema_arrow.names)
        rows: list[dict[str, object]] = []
        size = 0
        for batch in file.iter_batches(_ROWS, use_threads=False):
            size += batch.nbytes
            if size > MOST_BYTES:
                return f"expected at most {megabytes(MOST_BYTES)} once unfolded, got more; keep fewer rows or columns"
            rows += batch.to_pylist()  # not pandas: it writes NaN where a value is missing
    except pyarrow.ArrowMemoryError as error:
        raise MemoryError from error
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        return f"expected a Parquet file, got an error: {str(error).partition(chr(10))[0]}"
    return columns, rows


def _too_much(metadata: pyarrow.parquet.FileMetaData) -> str:
    """Return what a file says of itself that is over a limit."""
    if metadata.num_columns > MOST_COLUMNS:
        return f"expected at most {MOST_COLUMNS} columns, got {metadata.num_columns}"
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
    if values > MOST_VALUES:
        return f"expected at most {MOST_VALUES:,} values, got {values:,}"
    return ""
