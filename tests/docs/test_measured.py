"""Each page of measured figures says in one form how they were measured, and one command knows them all."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import pages, renew
from tests.docs.pages import DOCS, PAGES, ROOT, load_generator

MARK = re.compile(r"<!-- (generated|measured): ([a-z -]+) -->\n")
NIGHT_MINUTES = 300
"""How long the lane of the night may take; ci/nightly.yml stops it after 350."""
BY_HAND = {"landings"}
"""A row for each landing, with its date."""


def measured():
    """Return the page and name of each table that a benchmark writes."""
    known = {*load_generator().TABLES, *load_generator().RUNS}
    marks = [(page, name) for page in PAGES for _, name in MARK.findall(page.read_text("utf-8"))]
    return {(str(page.relative_to(ROOT)), name) for page, name in marks if name not in known | BY_HAND}


def test_one_command_renews_each_table():
    """Every table between marks that `docs/generate.py` does not write, and the page of calibration as a whole."""
    whole = {(one.page, one.name) for one in renew.TABLES if one.name == "calibration"}

    assert {(one.page, one.name) for one in renew.TABLES} - whole == measured()
    assert whole == {("docs/measured/calibration.md", "calibration")}


@pytest.mark.parametrize("table", renew.TABLES, ids=lambda one: one.name)
def test_each_table_says_how_it_was_measured(table):
    """Date, commit, machine and command stand under it in one form, and the command is that of its entry."""
    told = renew.age(table)
    text = (ROOT / table.page).read_text("utf-8")

    assert told
    modules = {command.split()[0] for command in table.commands}
    lines = [line for line in pages.MEASURED.finditer(text) if line["command"].split()[2].partition(".")[2] in modules]
    assert lines or "was not noted" in told


def test_no_page_says_it_in_another_form():
    """Neither by hand, nor with a path of the machine."""
    for page in [*PAGES, DOCS / "measured" / "README.md"]:
        lines = re.findall(r"^(?:Made by|Measured) .*$", page.read_text("utf-8"), re.MULTILINE)
        others = [line for line in lines if pages.figures(line)]

        assert not [line for line in others if "python -m benchmarks" in line], page
        assert not re.search(r"by: `[^`]*[ =]/", "\n".join(lines)), page


def test_the_night_has_the_time_for_what_it_measures_anew():
    """The seeded tables of half an hour at most, each command once."""
    again = [one for one in renew.TABLES if one.seeded and one.minutes <= 30]

    assert sum({one.commands: one.minutes for one in again}.values()) < NIGHT_MINUTES
    assert len(again) > 10


def test_what_is_put_into_a_page_is_what_stands_in_it(tmp_path):
    """The line under it is no part of the figures, and is as the pages have it."""
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- measured: one -->\nold\n<!-- end: one -->\n\nafter\n", "utf-8")

    pages.put(page, "one", "| a |\n|---|\n| 1 |\n", pages.measured("load 1.0"))

    assert pages.block(page, "one") == "| a |\n|---|\n| 1 |"
    assert pages.MEASURED.search(page.read_text("utf-8"))["more"] == "; load 1.0"
    assert page.read_text("utf-8").endswith("<!-- end: one -->\n\nafter\n")
    with pytest.raises(SystemExit, match="two"):
        pages.put(page, "two", "", "")


def test_rows_that_are_kept_say_where_each_run_added_to_them(tmp_path):
    """A run that goes on adds no second line; rows that come from a page bring that page's lines, before its own."""
    rows, page = tmp_path / "rows.jsonl", tmp_path / "page.md"
    old = "Measured on or before 2026-11-01, at a commit that was not noted."
    page.write_text(f"text\n\n{old}\n", "utf-8")

    assert pages.noted(rows) == ""
    pages.carry(page, rows)
    pages.note(rows)
    pages.note(rows)

    assert pages.noted(rows).split("\n\n") == [old, pages.measured()]
    assert pages.figures(pages.noted(rows)) == ""


@pytest.mark.slow
def test_a_page_that_says_something_else_is_out_of_date(tmp_path, capsys):
    """A table is changed by one digit; the check measures it anew, names it, and returns 1; of the page itself, 0."""
    [table] = [one for one in renew.TABLES if one.name == "papers-own"]
    text = (ROOT / table.page).read_text("utf-8")
    copies = [replace(table, page=str(tmp_path / name)) for name in ("same.md", "other.md")]
    Path(copies[0].page).write_text(text, "utf-8")
    Path(copies[1].page).write_text(text.replace("| 3.175000 | 3.175000 |", "| 3.175001 | 3.175000 |"), "utf-8")

    assert [renew.check([one], 1, tmp_path) for one in copies] == [0, 1]
    same, other = capsys.readouterr().out.splitlines()
    assert ("equal" in same, "OUT OF DATE" in other) == (True, True)
    assert "3.175001" in Path(copies[1].page).read_text("utf-8")
