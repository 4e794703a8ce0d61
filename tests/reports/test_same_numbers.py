"""The same audit in every form gives the same numbers, read back from what was written."""

import csv
import json
import re
from dataclasses import replace
from html import unescape
from io import StringIO

import pyarrow.parquet

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because
from calm.results.audit import Control, read, write
from calm.results.reports import html, markdown, sarif, tables
from calm.results.sentences import sentence
from calm.results.wording import bill, control, figures, floor, untested_by_reason, value
from tests.reports.planted_audit import empty, finding, sample

INERT = Control("text-10", 0.2841, -0.0123, 197)
FIRST, *REST = sample().findings
AUDIT = replace(sample(), findings=(replace(FIRST, control=INERT), *REST))
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
    """Each result has the value and bounds of its finding, and says its sentence in its message."""
    red = [f for f in DECIDED if f.red or f.accepted]

    assert from_sarif() == {f.key: (f.value, f.low, f.high) for f in red}
    results = json.loads(sarif.render(AUDIT))["runs"][0]["results"]
    texts = {r["properties"]["key"]: r["message"]["text"] for r in results}
    assert [f.key for f in red if sentence(f) not in texts[f.key]] == []


def test_markdown_holds_them_as_people_read_them():
    """Every claim's value and interval, to two places."""
    assert from_markdown() == {f.key: rounded(f) for f in DECIDED}


def test_the_page_holds_them_as_people_read_them():
    """The same words as in the summary."""
    page = from_html()

    assert not [f.key for f in DECIDED if value(f) not in page]


def test_tables_hold_the_same_verdicts(tmp_path, subtests):
    """Each row is an ask of the record, and no ask is left out."""
    for form in ["csv", "parquet"]:
        with subtests.test(form=form):
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
                for arm in ("clean", "inert", "perturbed", "control")
                for number, code in enumerate(getattr(t, arm), 1)
            }
            assert {row[1:] for row in found} == told


def test_every_form_shows_the_same_control():
    """What neutral words did is the same in the terminal, the page and the summary; SARIF holds it exactly."""
    one = AUDIT.findings[0]
    told = "moved 0.28, gained -0.01"
    result = next(r for r in json.loads(sarif.render(AUDIT))["runs"][0]["results"] if r["properties"]["key"] == one.key)

    assert control(one) == f"neutral words {told}"
    assert f"neutral words {told}" in figures(one)
    assert f"neutral words {told}" in from_html()
    assert f"| 0.31 [0.26, 0.37] | {told} |" in markdown.render(AUDIT)
    assert result["properties"]["control"] == {"floor": "text-10", "moved": 0.2841, "gain": -0.0123, "n": 197}


def test_junit_holds_them_as_people_read_them():
    """A property for each claim, with the words of the summary."""
    shown = unescape(sarif.render_junit(AUDIT))

    assert not [f.key for f in DECIDED if f'name="{f.key}" value="{f.outcome.value} {value(f)}"' not in shown]


def test_no_zero_is_negative():
    """A value that rounds to nothing has no sign."""
    assert value(finding(measure="gain", claim=None, value=-0.004, low=-0.02, high=0.001)) == "0.00 [-0.02, 0.00]"


def test_a_ratio_is_not_clipped_to_one():
    """What is no share may be above 1."""
    assert value(finding(measure="self_preference_ratio", value=1.6, low=1.4, high=1.9)) == "1.60 [1.40, 1.90]"


def test_a_control_without_a_treated_answer_has_no_gain():
    """Where an edit treats no answer, inert words gain nothing; a place that is not known is not named."""
    one = finding(control=Control("elsewhere", 0.02, None, 7))

    assert control(one) == "neutral words moved 0.02"
    assert floor(one) == ""
    assert "neutral words moved 0.02, on 7 rows" in html.render(empty(findings=(one,)))


def test_a_record_that_counts_little_is_read_all_the_same():
    """Ways of flips and kinds of calls that are not there are none."""
    one = finding(flips={"toward": 3})
    audit = empty(findings=(one,), run=replace(empty().run, calls={}))

    assert "changed verdicts: 3 in favour of the edited answer, 0 against it" in figures(one)
    assert "calls not recorded" in bill(audit)
    assert "3 / 0 / 0" in markdown.render(audit)


def untested(bias, reason, perturbation="x"):
    """Return a finding that could not be tested."""
    key = f"{bias}/gain/{perturbation}"
    return finding(key=key, bias=bias, perturbation=perturbation, outcome=Outcome.NOT_TESTED, reason=reason, value=None)


def test_each_reason_is_said_once():
    """What has one reason stands together, an edit is not named twice, and single variants are counted."""
    no_notes, task = "the judge is shown no notes", "the judge's task is pairwise"
    other, inapt = (
        because(Kind.OTHER_TASK, "edit", "score", "pairwise"),
        because(Kind.VARIANT, because(Kind.APPLIES_NOT)),
    )
    found = [
        untested("a", no_notes),
        untested("b", other),
        untested("c", no_notes),
    ]
    found += [untested("authority", inapt, name) for name in ("v1", "v2")]
    found += [
        untested("d", inapt, "v1"),
        untested("d", "there are no cases", "z"),
    ]

    told = untested_by_reason(empty(findings=(finding(), *found)))

    assert told == [
        ("a, c", no_notes, 2),
        ("b", f"serves score; {task}", 1),
        ("d", "there are no cases", 1),
        ("2 variants by themselves", "", 2),
    ]
