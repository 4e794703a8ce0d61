"""The written texts that ship for pairwise cases: what they may change, their balance, and what their reader said."""

import csv
import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from calm.cases import bundled, texts_brought
from calm.core.ready_made import check_texts
from calm.perturbations.sentiment import PLANTED as MOOD
from calm.perturbations.sentiment import TONES
from calm.perturbations.triggers import Seen, Slot
from calm.perturbations.verbosity import PLANTED as LENGTH
from calm.results.notes import cases_record
from calm.suites.test_refinement_aware import REVISIONS
from calm.suites.test_sentiment import MOODS
from calm.suites.test_verbosity import PADDING

READ = Path(__file__).with_name("pairwise_1_texts_read.csv")
CATEGORIES = ("advice", "factual", "science")


@pytest.fixture(scope="module")
def cases():
    """Return the bundled pairs."""
    return bundled("pairwise")


@pytest.fixture(scope="module")
def texts(cases):
    """Return each text by its case, name and answer."""
    return {
        (case.id, name, answer): text
        for case in cases
        for name, by_answer in case.variants.items()
        for answer, text in by_answer.items()
    }


def test_each_text_is_one_that_our_own_writer_may_write(cases):
    """The rules of its kind find nothing, and neither do those for texts that anybody brings."""
    rows = check_texts(cases, lambda name: name == "fallacy")

    assert len(rows) == 360
    assert [(row.case, row.name, str(row.fault or row.notes[0])) for row in rows if row.fault or row.notes] == []


def test_three_categories_hold_texts_and_the_others_none(cases):
    """Each of their pairs holds five: three for the worse or better answer, and two tones."""
    held = Counter(case.tags["category"] for case in cases if case.variants)

    assert held == dict.fromkeys(CATEGORIES, 24)
    assert {sum(map(len, case.variants.values())) for case in cases if case.variants} == {5}


def test_each_text_is_for_the_answer_that_its_suite_treats(texts):
    """The better answer is broken, the worse one made longer and polished; each tone is on both equally often."""
    count = Counter((name, answer) for _, name, answer in texts)

    assert count == {
        ("lengthen", "bad"): 72,
        ("fallacy", "good"): 72,
        ("polish", "bad"): 72,
        **{(tone, answer): 18 for tone in TONES for answer in ("good", "bad")},
    }


def test_a_second_reader_found_each_text_as_it_stands(texts):
    """A row of the table is about the text that ships, by its hash: one that was changed must be read again."""
    with READ.open(encoding="utf-8", newline="") as stream:
        rows = {(row["case"], row["text"], row["answer"]): row for row in csv.DictReader(stream)}

    assert {key: hashlib.sha256(text.encode()).hexdigest()[:12] for key, text in texts.items()} == {
        key: row["sha256"] for key, row in rows.items()
    }
    assert Counter(row["second_reader"] for row in rows.values()) == {"as written": 318, "mended": 42}
    assert {row["changes_better"] for row in rows.values()} == {"no"}
    assert {(row["text"] == "fallacy", row["content"]) for row in rows.values()} == {
        (True, "result kept"),
        (False, "same"),
    }
    assert Counter(row["natural"] for row in rows.values()) == {"yes": 346, "stiff": 14}


def carries(plant, case, answer, text):
    """Return which answers of a pair carry a trigger with a text in the place of one."""
    slots = tuple(Slot(a.id, text if a.id == answer else a.text) for a in case.answers)
    return [slots[place].label for place in plant.carriers(Seen("pairwise", case.question, slots))]


@pytest.mark.parametrize(("plant", "names"), [(LENGTH, ("lengthen",)), (MOOD, tuple(TONES))], ids=["verbosity", "mood"])
def test_a_planted_judge_sees_most_of_them_by_rules_that_name_none(cases, plant, names):
    """Nine in ten at least: by words per content, and by words of feeling; a clean pair hardly ever."""
    seen = [
        carries(plant, case, answer, text) == [answer]
        for case in cases
        for name in names
        for answer, text in case.variants.get(name, {}).items()
    ]
    clean = sum(bool(carries(plant, case, "", "")) for case in cases)

    assert 0.9 <= sum(seen) / len(seen) <= 1.0
    assert clean <= 2


@pytest.mark.parametrize("rotation", [PADDING, MOODS, REVISIONS], ids=["verbosity", "mood", "revision"])
def test_the_texts_of_some_pairs_leave_the_draws_of_all_others_alone(cases, rotation):
    """A pair without texts is asked what it was asked before any pair held one; a pair with texts, its own first."""
    bare = [replace(case, variants={}) for case in cases]
    before, now = rotation.within(bare), rotation.within(list(reversed(cases)))
    drawn = {case.id: [v.label for v in now.choices(case.treat("bad"), 7)] for case in cases}
    rules = {case.id: [v.label for v in before.choices(case.treat("bad"), 7)] for case in bare}
    first = {label for label, *_ in rules.values()}
    without = [case.id for case in cases if not case.variants]

    assert len(without) == 168
    assert {id: drawn[id] for id in without} == {id: rules[id] for id in without}
    assert len(first) > 3
    for case in cases:
        taken = [v.label for v in now.variants if "bad" in case.variants.get(v.takes[0], {})]
        assert drawn[case.id][: len(taken)] == taken, case.id


def test_only_texts_that_somebody_brings_count_as_brought(cases):
    """Those that ship do not, in any sample of the pairs; a changed one does, and so does one of another pair."""
    first, other = (case for case in cases if case.id in ("adv-001", "adv-002"))
    mine = replace(first, variants={**first.variants, "polish": {"bad": "Pour water on it."}, "sad": {"bad": "Alas."}})

    assert texts_brought(cases) == {}
    assert "texts" not in cases_record(cases, 240)
    assert cases_record([mine, other], 2)["texts"] == {"polish": 1, "sad": 1}
    assert texts_brought(cases[:40]) == {}
    assert texts_brought([replace(other, id="mine")]) == dict.fromkeys(sorted(other.variants), 1)
