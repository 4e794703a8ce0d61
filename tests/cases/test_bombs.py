"""Small files that name gigabytes, and large ones that are none of cases: each is refused in one line."""

import json
import os
import sqlite3
import zipfile
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calm.cases import read_cases
from calm.cases.foreign.records import load
from calm.cases.logs import read_logs
from calm.errors import ConfigError
from calm.plugins.logs import deepeval, inspect_logs
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


ENDLESS = (
    "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) as payload_json, 1 as rowid from n"
)
HUGE = "payload_json text generated always as (printf('%.*c', 900000000, 'x')) virtual"
DATABASES = {
    "a view": ([f"create view test_runs as {ENDLESS}"], "without a table test_runs"),
    "a virtual table": (["create virtual table test_runs using fts5(payload_json)"], "without a table test_runs"),
    "a computed column": ([f"create table test_runs (a, {HUGE})"], "keep no column payload_json"),
    **{
        f"a value {value}": (["create table test_runs (payload_json)", f"insert into test_runs values ({value})"], said)
        for value, said in (("null", "got NULL"), ("5", "got a number"), ("x'00ff'", "got bytes"))
    },
    "bytes as text": (
        ["create table test_runs (payload_json)", "insert into test_runs values (cast(x'ff7b' as text))"],
        "that SQLite refuses",
    ),
}


@pytest.mark.parametrize("name", DATABASES)
def test_a_database_that_computes_or_holds_something_else_is_refused(name, tmp_path):
    """As the process says that reads it: nothing that is computed is read."""
    path, (made, said) = tmp_path / "deepeval.db", DATABASES[name]
    with closing(sqlite3.connect(path)) as base:
        for one in made:
            base.execute(one)
        base.commit()

    found = deepeval.newest_run(str(path))

    assert isinstance(found, str)
    assert said in found


def test_a_run_in_a_database_that_is_no_json_is_refused(tmp_path):
    """Through the door: broken JSON, and JSON over the limits."""
    path = tmp_path / "deepeval.db"
    with closing(sqlite3.connect(path)) as base:
        base.execute("create table test_runs (payload_json)")
        base.execute("insert into test_runs values (?)", ["[" * 5000 + "]" * 5000])
        base.commit()

    assert "nested at most 100 deep" in refused(lambda one: read_logs([one]), path)


def test_an_archive_over_a_limit_is_not_unfolded(tmp_path, subtests):
    """By what it says of its parts: 600 MB in 600 kB, and a name twice."""
    for name, parts, said in [
        ("large", {"header.json": 600}, "at most 500 MB once unfolded, got 629.1 MB"),
        ("twice", {"header.json": 1}, "a name twice"),
    ]:
        with subtests.test(name):
            path = tmp_path / f"{name}.eval"
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
                for part, size in parts.items():
                    with packed.open(part, "w") as file:
                        for _ in range(size):
                            file.write(b" " * (1 << 20))
                    if name == "twice":
                        with pytest.warns(UserWarning, match="Duplicate"):
                            packed.writestr(part, "{}")

            found = inspect_logs.dumped((str(path), "eval"))

            assert isinstance(found, str)
            assert said in found
