"""Logs made to fill the memory, or to be computed, are refused."""

import sqlite3
import zipfile
from contextlib import closing

import pytest

from calm.cases.logs import read_logs
from calm.plugins.logs import deepeval, inspect_logs
from tests.cases.test_bombs import refused

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
