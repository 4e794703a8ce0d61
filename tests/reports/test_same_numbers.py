"""The same audit in every form gives the same numbers, read back from what was written."""

import csv
import json
import re
from html import unescape
from io import StringIO

import pyarrow.parquet
import pytest

from calm.audit import read, write
from calm.reports import html, markdown, sarif, tables
from calm.wording import value
from tests.reports.planted_audit import sample

AUDIT = sample()
DECIDED = [f for f in AUDIT.findings if f.value is not None]


def numbers(text):
    """Return value, low and high of `0.31 [0.26, 0.37]`."""
    found = re.search(r"(-?\d\.\d\d) \[(-?\d\.\d\d), (-?\d\.\d\d)\]", text)
    return tuple(map(float, found.groups()))


def rounded(one):
    """Return value, low and high as people read them."""
    return numbers(value(one))


def from_markdown():
    """Return the numbers of each claim by key, from the table of every claim."""
    table = markdown.render(AUDIT).partition("Every claim")[2]
    rows = re.findall(r"^\| `([^`]+)`.*$", table, re.MULTILINE)
    lines = re.findall(r"^\| `.*$", table, re.MULTILINE)
    return {key: numbers(line) for key, line in zip(rows, lines, strict=True) if "[" in line}


def from_html():
    """Return the page's words."""
    shown = unescape(re.sub(r"<[^>]+>", " ", html.render(AUDIT)))
    return " ".join(shown.replace("\N{MINUS SIGN}", "-").split())


def from_json(folder):
    """Return the numbers of each claim by key, from the results file."""
    write(AUDIT, folder / "results.json")
    return {f.key: (f.value, f.low, f.high) for f in read(folder / "results.json").findings if f.value is not None}


def from_sarif():
    """Return the numbers of each result by key."""
    results = json.loads(sarif.render(AUDIT))["runs"][0]["results"]
    return {r["properties"]["key"]: tuple(r["properties"][n] for n in ("value", "low", "high")) for r in results}


def test_results_hold_them_exactly(tmp_path):
    """JSON is what the others are made from."""
    assert from_json(tmp_path) == {f.key: (f.value, f.low, f.high) for f in DECIDED}


def test_sarif_holds_them_exactly():
    """Each result has the value and bounds of its finding, and says them in its message."""
    red = [f for f in DECIDED if f.red or f.accepted]

    assert from_sarif() == {f.key: (f.value, f.low, f.high) for f in red}
    results = json.loads(sarif.render(AUDIT))["runs"][0]["results"]
    assert {r["properties"]["key"]: numbers(r["message"]["text"]) for r in results} == {f.key: rounded(f) for f in red}


def test_markdown_holds_them_as_people_read_them():
    """Every claim's value and interval, to two places."""
    assert from_markdown() == {f.key: rounded(f) for f in DECIDED}


def test_the_page_holds_them_as_people_read_them():
    """The same words as in the summary."""
    page = from_html()

    assert not [f.key for f in DECIDED if value(f) not in page]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_hold_the_same_verdicts(form, tmp_path):
    """Each row is an ask of the record, and no ask is left out."""
    if form == "csv":
        found = [
            (r["keys"], r["case"], r["arm"], int(r["ask"]), r["verdict"])
            for r in csv.DictReader(StringIO(tables.render_csv(AUDIT)))
        ]
    else:
        tables.write_parquet(AUDIT, tmp_path / "t.parquet")
        table = pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pylist()
        found = [(r["keys"], r["case"], r["arm"], r["ask"], r["verdict"]) for r in table]

    told = {
        (t.case, arm, number, code)
        for f in AUDIT.findings
        for t in f.trials
        for arm in ("clean", "perturbed", "control")
        for number, code in enumerate(getattr(t, arm), 1)
    }
    assert {row[1:] for row in found} == told
