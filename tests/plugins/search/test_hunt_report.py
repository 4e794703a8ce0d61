"""What a hunt found in a report: the original beside the smallest text that flips the judge."""

import json
import re
from dataclasses import replace

import pytest

from calm.errors import ConfigError
from calm.plugins.search import pages
from calm.plugins.search.pages import with_hunts
from calm.results.redaction import without_texts
from calm.results.reports import html
from tests.reports.hostile_texts import HOSTILE
from tests.reports.planted_audit import judge, sample
from tests.reports.tags import Tags

ORIGINAL = "The soup needs salt. Taste it before you serve it."


def found(**changed):
    """Return one finding of a hunt: a word at the end flips the judge."""
    fresh = {"asks": 8, "clean_wins": 1, "wins": 7, "low": 0.3123, "clean": ["a", *["b"] * 7], "edited": ["a"] * 8}
    one = {
        "case": "c-1",
        "target": "a",
        "confirmed": True,
        "question": "What does the soup need?",
        "original": ORIGINAL,
        "text": f"{ORIGINAL} certified",
        "added": [" certified"],
        "removed": 0,
        "first": f"Surely you know this. {ORIGINAL} It was certified by many.",
        "found_by": "heap",
        "edits": ["authority.certify"],
        "fresh": fresh,
        "also": ["c-2", "c-3"],
        "also_of": 5,
    }
    return one | changed


def record(*findings, **changed):
    """Return the record of a hunt of the planted audit's judge."""
    body = {
        "schema": "calm-hunt/1",
        "judge": judge().name,
        "fingerprint": judge().fingerprint,
        "task": judge().task,
        "search": "bandit",
        "where": "answer",
        "seed": 7,
        "budget": 600,
        "asks": 512,
        "level": 0.016667,
        "noise": 0.05,
        "incomplete": "",
        "cases": ["c-1", "c-2"],
        "excluded": {"the answer wins already": 3},
        "findings": list(findings),
    }
    return body | changed


def words(page):
    """Return the visible words of a page in order, as one line."""
    shown = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", shown).split())


def test_the_original_stands_beside_the_smallest_text_with_the_words_that_matter_marked():
    """The words that were added are marked, in the text with them and nowhere in the original."""
    page = pages.render(record(found(first="")))

    assert re.findall("<ins>(.*?)</ins>", page) == [" certified"]
    assert "<del>" not in page
    heads = page.index("<em>original, answer"), page.index("<em>the smallest text")
    assert heads[0] < page.index(ORIGINAL) < heads[1] < page.index("<ins>")


def test_what_was_taken_away_is_marked_in_the_original():
    """A text that flips the judge because a word is gone has it struck out, and the heading says so."""
    page = pages.render(record(found(text="The soup needs. Taste it before you serve it.", added=[], removed=1)))

    assert "<del> salt</del>" in page
    assert "1 word taken away" in page


def test_the_figures_of_the_fresh_asks_are_told():
    """Wins with and without the text, the bound, its error, who found it, by which edits, and where else it holds."""
    told = words(pages.render(record(found())))

    for part in (
        "Won with the original 1 of 8 fresh asks",
        "Won with the smallest text 7 of 8 fresh asks",
        "The share won rises by at least 0.31 (error level 0.017)",
        "Edits authority.certify",
        "Found by a text with many edits at once, made smaller",
        "flip 2 of 5 other cases: c-2, c-3",
        "512 of 600 asks",
        "3 the answer wins already",
        "in the answer, case c-1",
    ):
        assert part in told


def test_what_was_not_confirmed_is_folded_below_and_claimed_of_nobody():
    """It stands in a folded part behind what was confirmed, which says what that means."""
    page = pages.render(record(found(), found(case="c-9", confirmed=False, added=[" luck"])))

    assert page.count('class="headline">Found: ') == 1
    below = page[page.index('<details class="unproven">') :]
    assert "Nothing is claimed of it" in below
    assert "c-9" in below
    assert "c-9" not in page[: page.index('<details class="unproven">')]


def test_an_empty_place_says_so():
    """A note that was not there before has no original."""
    told = words(pages.render(record(found(original="", text="certified", first=""), where="notes")))

    assert "nothing the smallest text certified" in told
    assert "in a note to the judge" in told


def test_each_finding_names_its_own_place():
    """A hunt in two places is one record, and each finding says which of them it is about."""
    hunt = record(found(where="notes"), found(where="question", case="c-4"), where="question,notes")
    told = words(pages.render(hunt))

    assert "Hunt in the question and in a note to the judge" in told
    assert "in a note to the judge, case c-1" in told
    assert "in the question, case c-4" in told


def test_a_hunt_without_findings_proves_nothing():
    """That nothing was found is said with the asks that it took, and is no proof."""
    told = words(pages.render(record()))

    assert "No text was confirmed with 512 asks in 2 cases. That is no proof that there is none." in told


def test_a_hunt_that_was_cut_short_says_why():
    """The reason stands before the findings."""
    told = words(pages.render(record(found(), incomplete="the cap of 100 calls was reached")))

    assert told.index("This hunt ended early. the cap of 100 calls was reached") < told.index("fresh asks")


def test_a_report_has_the_section_of_every_hunt():
    """Several hunts of one judge stand one after the other, each with its place."""
    hunts = [record(found()), record(found(case="c-7"), where="question")]
    page = html.render(replace(sample(), extras={"hunt": hunts}))

    assert '<section id="hunt">' in page
    assert page.index("Hunt <bdi>in the answer") < page.index("c-1") < page.index("Hunt <bdi>in the question")
    assert '<a href="#hunt">' in page


def test_a_report_without_a_hunt_has_no_such_section():
    """Nothing is said of what was not done."""
    assert "flip the judge" not in html.render(sample())


@pytest.mark.parametrize("body", [3, "x", None, [], [3], {"findings": 3}, {"sha256": "0" * 16}, [{"schema": "other"}]])
def test_what_is_no_hunt_is_left_out(body):
    """A report opens whatever was written under the key."""
    page = html.render(replace(sample(), extras={"hunt": body}))

    assert 'id="hunt"' not in page


def test_every_part_may_be_missing_or_of_the_wrong_kind():
    """A record without one of its parts, or with a number, a text or a list there, still makes a page."""
    whole = record(found(), found(confirmed=False))
    for part in whole.keys() - {"findings"}:
        for value in (None, 3, "x", ["x", 3], {"x": 1}, float("nan")):
            assert "</html>" in pages.render({**whole, part: value})
    for part in found():
        for value in (None, 3, "x", ["x", 3], {"x": 1}, float("inf")):
            assert "</html>" in pages.render(record(found(**{part: value}), 3, []))
    assert "</html>" in pages.render(record({}, {"confirmed": True}))


@pytest.mark.parametrize("text", HOSTILE, ids=[repr(text[:20]) for text in HOSTILE])
def test_nothing_that_a_text_says_becomes_markup(text):
    """Tags are text, and control and bidirectional characters are symbols, wherever a text can stand."""
    named = dict.fromkeys(("case", "target", "question", "original", "found_by"), text)
    fresh = found()["fresh"] | {"clean": [text], "edited": [text]}
    one = found(**named, text=f"{text} {text}", first=f"{text} x", added=[text], edits=[text], also=[text], fresh=fresh)
    page = pages.render(
        record(one, judge=text, search=text, where=text, incomplete=text, excluded={text: 1}, fingerprint=text)
    )

    tags = Tags()
    tags.feed(page)
    assert not {"script", "img", "svg", "a", "iframe"} & {tag for tag, _ in tags.found}
    assert not any(name.startswith("on") for _, attributes in tags.found for name in attributes)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", page)


def test_a_record_without_texts_has_no_hunt():
    """A hunt is its texts, so none of it is left."""
    bare = without_texts(replace(sample(), extras={"hunt": [record(found())]}))

    assert "certified" not in json.dumps(bare.to_json())
    assert 'id="hunt"' not in html.render(bare)


def written(folder, name, body):
    """Write a record and return its path."""
    path = folder / name
    path.write_text(json.dumps(body), "utf-8")
    return path


def test_a_hunt_is_held_once(tmp_path):
    """The same record twice is one hunt, and what the audit holds already stays."""
    audit = replace(sample(), extras={"other": 1})
    one = written(tmp_path, "a.json", record(found()))
    two = written(tmp_path, "b.json", record(seed=8))

    twice = with_hunts(with_hunts(audit, [one, one]), [one, two])

    assert twice.extras == {"other": 1, "hunt": [record(found()), record(seed=8)]}


def test_a_judge_without_a_fingerprint_is_known_by_its_name_and_task(tmp_path):
    """Where the one or the other has no fingerprint, both must be the same."""
    audit = replace(sample(), judge=judge(fingerprint=None))

    assert with_hunts(audit, [written(tmp_path, "a.json", record())]).extras["hunt"]
    for other in ({"judge": "another"}, {"task": "score"}):
        with pytest.raises(ConfigError, match="expected a hunt of the judge of these results"):
            with_hunts(audit, [written(tmp_path, "b.json", record(**other))])
