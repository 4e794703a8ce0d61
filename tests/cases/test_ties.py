"""The pairs of equally good answers that ship: their parts, what keeps two equal, and what their reader said."""

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from calm.cases import bundled, equal_cases
from calm.core.case import TIE, Answer, Case

READ = Path(__file__).with_name("ties_1_read.csv")
CATEGORIES = {"advice", "code", "safety", "science", "support", "writing"}
RUN = 7
"""So many words in a row stand in one answer of a pair at most."""


@pytest.fixture(scope="module")
def cases():
    """Return the pairs that ship, as the largest run of shipped cases has them."""
    return equal_cases("listwise", bundled("listwise"))


def texts(case):
    """Return the two texts of a pair."""
    return [answer.text for answer in case.answers]


def lengths(case):
    """Return the numbers of words of both answers, the smaller one first."""
    return sorted(len(text.split()) for text in texts(case))


def runs(text):
    """Return each run of words in a text, without case and marks."""
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[start : start + RUN]) for start in range(len(words) - RUN + 1)}


def test_there_are_pairs_of_six_kinds_and_half_are_long(cases):
    """At least 120 pairs, as many of each kind, in turn: the first ones that a small run asks about are of all six."""
    count = Counter(case.tags["category"] for case in cases)
    long = [case for case in cases if case.tags["length"] == "long"]

    assert len({case.id for case in cases}) == len(cases) >= 120
    assert count == dict.fromkeys(CATEGORIES, len(cases) // 6)
    assert {case.tags["category"] for case in cases[:6]} == CATEGORIES
    assert len(cases) <= 2 * len(long) <= 1.1 * len(cases)
    assert Counter(case.tags["category"] for case in long) == dict.fromkeys(CATEGORIES, len(long) // 6)


def test_the_gold_of_each_is_a_tie(cases):
    """Two answers under names that say nothing of their worth."""
    assert {(case.better, *(answer.id for answer in case.answers)) for case in cases} == {(TIE, "x", "y")}


def test_a_long_answer_has_300_to_800_words_and_a_short_one_fewer(cases):
    """The tag `length` says it of both."""
    for case in cases:
        shorter, longer = lengths(case)
        assert (shorter >= 300 and longer <= 800) if case.tags["length"] == "long" else longer < 300, case.id


def test_two_answers_are_as_long_and_say_it_in_other_words(cases):
    """They differ by 5% in words at most, and no run of seven words stands in both."""
    for case in cases:
        shorter, longer = lengths(case)
        assert longer - shorter <= 0.05 * shorter, case.id
        assert not set.intersection(*map(runs, texts(case))), case.id


def test_two_long_answers_begin_differently(cases):
    """Their first 200 characters do not settle it: neither answer is the beginning of the other."""
    for case in cases:
        if case.tags["length"] == "long":
            assert len({text[:200] for text in texts(case)}) == 2, case.id


def test_the_texts_have_plain_quotation_marks_and_dashes(cases):
    """Those of a keyboard: a curled or long one is what an edit adds."""
    marks = "\u2018\u2019\u201c\u201d\u201e\u2013\u2014\u00ab\u00bb"
    assert [case.id for case in cases for text in (case.question, *texts(case)) if set(marks) & set(text)] == []


def test_some_are_in_three_other_languages(cases):
    """Four each, half of them long, and the tag `language` says which."""
    count = Counter((case.tags["language"], case.tags["length"]) for case in cases if "language" in case.tags)

    assert count == {(language, length): 2 for language in ("de", "es", "fr") for length in ("long", "short")}


def test_a_second_reader_read_each_pair(cases):
    """A row of the table for each pair: whether the reader mended it, and whether its answers are as good."""
    with READ.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))

    assert [row["case"] for row in rows] == [case.id for case in cases]
    assert Counter(row["mended"] for row in rows) == {"yes": 71, "no": 55}
    assert Counter(row["equal"] for row in rows) == {"yes": 114, "mostly": 12}
    assert all(row["note"] for row in rows if row["mended"] == "yes" or row["equal"] != "yes")


@pytest.mark.parametrize("task", ["pairwise", "listwise"])
def test_a_run_of_shipped_cases_gets_as_many_of_them(cases, task):
    """At most all of them; a sample gets the first ones."""
    shipped = bundled(task)

    assert equal_cases(task, shipped) == cases[: len(shipped)] == cases
    assert equal_cases(task, shipped[7:47]) == cases[:40]


@pytest.mark.parametrize("task", ["pairwise", "listwise"])
def test_a_run_of_its_own_cases_has_pairs_of_its_own(task):
    """Also if only one of them is its own."""
    own = Case("mine", "Why?", (Answer("a", "So."), Answer("b", "Thus.")), better="a")

    assert equal_cases(task, [own]) == ()
    assert equal_cases(task, [*bundled(task), own]) == ()


@pytest.mark.parametrize("task", ["score", "rubric", "label"])
def test_a_run_without_pairs_has_none(task):
    """No pair is in question where one answer stands alone."""
    assert equal_cases(task, bundled(task)) == ()
