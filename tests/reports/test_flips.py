"""All flips in one list: each can be reached, however many there are, and the page stays small."""

import re
from dataclasses import replace

from calm.core.claims import Outcome
from calm.core.texts import CaseTexts
from calm.results.audit import Limit
from calm.results.reports.html import render
from tests.reports.planted_audit import empty, finding, trial

MANY = 6_000


def flipped(count, *, question="How deep is the lake? " * 8, came="(A book says so.) " * 10):
    """Return an audit in which so many rows flipped, with the beginnings of their texts."""
    rows = tuple(
        replace(trial(f"case-{i:05}", ["good"] * 2, ["bad"], hash=f"h{i}", edit="cite_book"), target="bad")
        for i in range(count)
    )
    kept = tuple(
        CaseTexts(r.case, r.hash, question, None, "good", {}, {}, (), (), came=came, went="gone") for r in rows
    )
    return empty(findings=(finding(trials=rows, commands={"cite_book": "authority.cite_book"}),), texts=kept)


def places(page):
    """Return the ids of all flips in a page."""
    return re.findall(r'id="(c-[^"]+)"', page)


def test_a_flip_shows_its_question_its_edit_and_its_verdicts():
    """And it ends in its command, though its prompts were not kept."""
    audit = flipped(70)
    audit = replace(audit, run=replace(audit.run, judge="my judge.toml", case_files=("a.jsonl", "b c.csv")))

    page = render(audit)

    assert len(places(page)) == 70
    assert page.count("<q>How deep is the lake?") == 70
    assert page.count("<ins>(A book says so.)") == 70
    again = "calm try &#39;my judge.toml&#39; --cases a.jsonl --cases &#39;b c.csv&#39; --case=case-00069"
    assert f"{again} --edit=authority.cite_book --seed=1 --target=bad" in page


def test_a_flip_whose_texts_were_not_kept_says_so_once():
    """It has its command alone, and one line above says why."""
    audit = flipped(70)

    page = render(replace(audit, texts=audit.texts[:67]))

    assert page.count("<q>How deep is the lake?") == 67
    assert (
        page.count("3 of them show no question and no edit, as the texts of only the most telling cases are kept") == 1
    )
    assert "no question and no edit" not in render(audit)


def test_a_missed_error_is_told_without_ids():
    """The damaged copy won; nothing stands before an arrow, and two verdicts do not run together."""
    missed = replace(trial("case-1", [], ["b~damaged", "tie"], hash="h", edit="fallacy"), damaged="b~damaged")
    changes = {"bias": "fallacy-oversight", "measure": "net_detection", "claim": Limit(">=", 0.60), "value": -0.5}
    one = finding(**changes, key="fallacy-oversight/net_detection", expects="WORSE", outcome=Outcome.FAIL)
    kept = CaseTexts("case-1", "h", "How?", None, "b", {}, {}, (), (), came="sand", went="yeast")

    page = render(empty(findings=(replace(one, trials=(missed,)),), texts=(kept,)))

    assert "~damaged" not in page
    assert page.count("<code>the damaged copy wins</code>, <code>tie</code>") == 1
    assert page.count("the damaged copy wins (1 of 2 asks), tie (1 of 2 asks)") == 1
    assert page.count("<ins>sand</ins> <del>yeast</del>") == 2
    assert "→ <code>the damaged" not in page


def test_thousands_can_be_reached_and_the_page_stays_small():
    """Each has its place; where there are too many, less is said of each."""
    page = render(flipped(MANY))

    assert len(set(places(page))) == MANY
    assert len(page.encode()) < 3_000_000
    assert "<b>case-05999</b>" in page


def test_what_no_command_can_name_has_none():
    """A flip whose edit no command line can name, or whose case a test brought, shows no command."""
    audit = flipped(3)
    audit = replace(audit, run=replace(audit.run, judge="judge.toml"))
    nameless = replace(audit.findings[0], commands={})

    page = render(replace(audit, findings=(nameless,)))

    assert len(places(page)) == 3
    assert "calm try judge.toml" not in page
