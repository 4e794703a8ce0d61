"""Small files that name gigabytes, and large ones that are none of cases: each is refused in one line."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calm.cases import read_cases
from calm.cases.foreign.records import load
from calm.errors import ConfigError
from tests.lanes import slow


def refused(read, path):
    """Return the one line that says why a file is refused."""
    with pytest.raises(ConfigError) as error:
        read(path)
    assert len(error.value.problems) <= 2
    assert error.value.problems[0].startswith(f"{path}:")
    assert len(str(error.value)) < 500
    return str(error.value)


def repeated(value, count):
    """Return a column of one value, which a file holds once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([value]))


def in_one_row(text, count):
    """Return a column of one row: a list that holds a text so many times, and a file holds it once."""
    return pa.ListArray.from_arrays(pa.array([0, count], pa.int32()), repeated(text, count))


BOMBS = {
    "many rows": (lambda: {"question": repeated("x" * 10**6, 4500)}, "at most 500 MB once unfolded"),
    "one row": (lambda: {"question": in_one_row("y" * 10**5, 40_000)}, "at most 500 MB once unfolded"),
    "columns": (lambda: {f"c{n}": ["x"] for n in range(1001)}, "expected at most 1000 columns, got 1001"),
    "nothing": (lambda: {"question": pa.nulls(20_000_001, pa.string())}, "expected at most 20,000,000 values"),
}


@pytest.mark.parametrize("name", ["many rows", "columns", slow("one row"), slow("nothing")])
def test_a_parquet_file_that_unfolds_to_gigabytes_is_refused(tmp_path, name):
    """4.5 GB in 200 kB, in many rows and in one, and rows without a value: the limit is said, not found by dying."""
    path, (table, said) = tmp_path / "bomb.parquet", BOMBS[name]
    pq.write_table(pa.table(table()), path, compression="zstd")

    assert path.stat().st_size < 2_000_000
    assert said in refused(load, path)


def test_a_parquet_file_is_unfolded_whole(tmp_path):
    """What is within the limits comes back from the other process as it was: missing values, lists, numbers, bytes."""
    rows = [{"a": "ü", "b": [{"c": 1}, None], "d": 1.5, "e": b"\x00"}, {"a": None, "b": [], "d": None, "e": None}] * 700
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    found = load(tmp_path / "a.parquet")

    assert found.columns == ("a", "b", "d", "e")
    assert list(found.rows) == rows


def test_a_table_of_too_many_columns_is_refused(tmp_path, subtests):
    """200,000 columns are compared with each other by no one, and are not listed in the message."""
    names = [f"c{n}" for n in range(200_000)]
    for name, text in [
        ("wide.csv", ",".join(names) + "\n" + ",".join("x" * 200_000)),
        ("wide.tsv", "\t".join(names) + "\n"),
        ("wide.json", json.dumps([dict.fromkeys(names, "")])),
        ("wide.jsonl", "\n".join(json.dumps({name: ""}) for name in names)),
    ]:
        with subtests.test(name):
            (tmp_path / name).write_text(text)

            assert "expected at most 1000 columns, got 200000" in refused(load, tmp_path / name)


def test_a_file_of_many_empty_values_is_refused(tmp_path, subtests):
    """A byte or two for each value, a hundred bytes of memory: counted before they are made."""
    for name, text, said in [
        ("many.csv", ",".join(map(str, range(1000))) + "\n" + f"{',' * 999}\n" * 20_001, "at most 20,000,000 cells"),
        ("many.json", "[" + "[]," * 10_000_001 + "[]]", "at most 20,000,000 values"),
        ("many.jsonl", '{"a":[[],[]]}\n' * 5_000_001, "at most 20,000,000 values"),
    ]:
        with subtests.test(name):
            (tmp_path / name).write_text(text)

            assert said in refused(load, tmp_path / name)


@pytest.mark.parametrize("read", [load, read_cases])
def test_a_file_that_is_too_large_is_refused(read, tmp_path, subtests):
    """One line of 1 GB, a file that does not end, a number of 100,000 digits, nesting without end."""
    sparse = tmp_path / "line.jsonl"
    with sparse.open("wb") as file:
        os.truncate(file.fileno(), 10**9)
    (tmp_path / "endless.jsonl").symlink_to("/dev/zero")
    for name, text, said in [
        ("line.jsonl", "", "expected at most 500 MB, got 1,000 MB"),
        ("endless.jsonl", "", "expected at most 500 MB, got more"),
        ("digits.jsonl", '{"id": ' + "9" * 100_000 + "}", "expected numbers of at most 300 digits"),
        ("nested.jsonl", '{"id": ' + "[" * 200_000, "nested at most 100 deep"),
    ]:
        with subtests.test(name):
            if text:
                (tmp_path / name).write_text(text)

            assert said in refused(read, tmp_path / name)


def test_a_packed_file_is_refused(tmp_path, subtests):
    """Gzip and spreadsheets are not unpacked at all."""
    for magic, what in [(b"\x1f\x8b", "a gzip file"), (b"PK\x03\x04", "a zip file or a spreadsheet")]:
        with subtests.test(what):
            (tmp_path / "a.csv").write_bytes(magic + b"\x00" * 100)

            assert f"got {what}" in refused(load, tmp_path / "a.csv")
