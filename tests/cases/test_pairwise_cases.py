"""The shipped pairwise cases: their shape, their balance, their clean texts, and their generated part."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calm.cases.generate.working import better_first
from tools.cases.pairs import arithmetic_pairs, ordering_pairs, unit_pairs

FILE = Path(__file__).parents[2] / "calm" / "cases" / "data" / "pairwise-1.jsonl"
SEED = 20261
GENERATED = {"arithmetic": arithmetic_pairs, "units": unit_pairs, "ordering": ordering_pairs}
WRITTEN = ("science", "factual", "code", "reading", "advice", "writing", "instruction")
FORBIDDEN = (
    "[[", "]]", "citation", "source:", "according to", "expert", "study", "studies", "professor", "dr.", "http", "www",
    "as an ai", "language model", "gpt", "claude", "gemini", "llama", "(you)", "rubric", "grader", "judge", "score",
    "rating", "instruction above", "instructions above", "ignore", "system:", "in other words", "to put it",
    "to repeat", "once more", "again,", "thank you", "great question", "hope this helps", "i'm so happy", "wonderful",
    "thrilled", "sadly", "furious", "terrified", "delighted", "!",
)  # fmt: skip
VERB = re.compile(r"\b(is|are|was|were|can|will|has|have|does)\b", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.?](?=\s|$|\")")
EQUATION = re.compile(r"(?<![\d.] )((?:[\d.]+ [+−×÷] )+[\d.]+) = ([\d.]+)")
LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s", re.MULTILINE)
REAL_MARKUP = re.compile(r"^\s*(?:[-*]|\d+\.)\s|\*\*|`|^#|^\|", re.MULTILINE)

Case = dict[str, Any]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    """Return the cases of the file in its order."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def text(case: Case, answer_id: str) -> str:
    """Return the text of one answer."""
    return next(str(answer["text"]) for answer in case["answers"] if answer["id"] == answer_id)


def markup(answer: str) -> int:
    """Count the marks of Markdown in a text."""
    return sum(answer.count(mark) for mark in "*_#`-|") + len(LIST_ITEM.findall(answer))


def wins(cases: list[Case], value: Callable[[str], float]) -> float:
    """Return how often the better answer has the larger value; ties count half."""
    pairs = [(value(text(case, "good")), value(text(case, "bad"))) for case in cases]
    return sum(1.0 if good > bad else 0.5 if good == bad else 0.0 for good, bad in pairs) / len(pairs)


def test_counts_and_categories(cases: list[Case]) -> None:
    """There are 240 cases, 24 of each of the ten categories."""
    assert Counter(case["tags"]["category"] for case in cases) == dict.fromkeys((*GENERATED, *WRITTEN), 24)


def test_format(cases: list[Case]) -> None:
    """Every case has exactly the fields of the format, two answers that differ, and the gold."""
    for case in cases:
        assert list(case) == ["id", "question", "answers", "better", "reference", "tags"]
        assert case["better"] == "good"
        assert {answer["id"] for answer in case["answers"]} == {"good", "bad"}
        assert len(case["answers"]) == 2
        assert text(case, "good") != text(case, "bad")
        assert set(case["tags"]) == {"category", "margin"}


def test_ids_are_unique_and_sorted(cases: list[Case]) -> None:
    """The lines are sorted by an id that no other case has."""
    ids = [case["id"] for case in cases]
    assert ids == sorted(set(ids))


def test_questions_and_answers_are_unique(cases: list[Case]) -> None:
    """No question, and no answer, occurs twice."""
    assert len({case["question"] for case in cases}) == len(cases)
    assert len({answer["text"] for case in cases for answer in case["answers"]}) == 2 * len(cases)


def test_close_share(cases: list[Case]) -> None:
    """About a third of the pairs are close, in the whole and in every category."""
    margins = Counter(case["tags"]["margin"] for case in cases)
    assert set(margins) == {"clear", "close"}
    assert 0.30 <= margins["close"] / len(cases) <= 0.40
    close = Counter(case["tags"]["category"] for case in cases if case["tags"]["margin"] == "close")
    assert all(close[name] >= 6 for name in (*GENERATED, *WRITTEN))


def test_answer_lengths(cases: list[Case]) -> None:
    """Each answer has 25 to 90 words and at least two sentences."""
    for case in cases:
        for answer in case["answers"]:
            assert 25 <= len(answer["text"].split()) <= 90, (case["id"], answer["id"])
            assert len(SENTENCE_END.findall(answer["text"])) >= 2, (case["id"], answer["id"])


def test_reference_lengths(cases: list[Case]) -> None:
    """Each reference has 20 to 80 words and is neither of the answers."""
    for case in cases:
        assert 20 <= len(case["reference"].split()) <= 80, case["id"]
        assert case["reference"] not in (text(case, "good"), text(case, "bad"))


def test_good_answers_carry_a_verb_and_numbers(cases: list[Case]) -> None:
    """Each good answer has a verb that an edit can negate, and most have a number that it can change."""
    assert [case["id"] for case in cases if not VERB.search(text(case, "good"))] == []
    assert sum(any(sign.isdigit() for sign in text(case, "good")) for case in cases) >= 0.85 * len(cases)


def test_heuristics_know_nothing(cases, subtests):
    """Length and markup alone do not find the better answer."""
    for heuristic, value in [("longest", len), ("shortest", lambda answer: -len(answer)), ("markup", markup)]:
        with subtests.test(heuristic=heuristic, value=value):
            assert 0.42 <= wins(cases, value) <= 0.58, heuristic


def test_markup_is_present(cases: list[Case]) -> None:
    """At least fifty pairs use bullets, bold, code or tables, and either side does so."""
    good = sum(bool(REAL_MARKUP.search(text(case, "good"))) for case in cases)
    bad = sum(bool(REAL_MARKUP.search(text(case, "bad"))) for case in cases)
    either = sum(bool(REAL_MARKUP.search(text(case, "good") + "\n" + text(case, "bad"))) for case in cases)
    assert either >= 50
    assert abs(good - bad) <= 0.2 * either


def test_order_follows_the_hash(cases: list[Case]) -> None:
    """The better answer stands first exactly where the hash of the id says so, in about half of the cases."""
    first = 0
    for case in cases:
        number = int(hashlib.sha256(("better-first:" + case["id"]).encode()).hexdigest(), 16)
        assert (case["answers"][0]["id"] == "good") == (number % 2 == 0) == better_first(case["id"])
        first += number % 2 == 0
    assert 0.45 <= first / len(cases) <= 0.55


def test_texts_are_clean(cases: list[Case]) -> None:
    """No text holds what the bias edits add."""
    found = [
        (case["id"], mark)
        for case in cases
        for one in (case["question"], case["reference"], text(case, "good"), text(case, "bad"))
        for mark in FORBIDDEN
        if mark in one.lower() or re.search(r"% of \w+", one)
    ]
    assert found == []


def test_generated_part_is_reproducible(cases, subtests):
    """The generated cases in the file are what the program gives for the seed."""
    for category, make in GENERATED.items():
        with subtests.test(category=category):
            assert [case for case in cases if case["tags"]["category"] == category] == make(24, SEED)


def holds(equation: tuple[str, str]) -> bool:
    """Work out the left side of an equation from left to right, products first, and compare."""
    left, right = equation
    term = left.replace("−", "-").replace("×", "*").replace("÷", "/")
    assert re.fullmatch(r"[\d.+\-*/ ]+", term)
    return bool(abs(eval(term) - float(right)) < 1e-9)


def test_every_equation_of_a_good_answer_holds(subtests):
    """Each equation in a good answer or a reference is true; in arithmetic and units each text has one."""
    for seed in [SEED, 1, 2, 3]:
        for category, make in GENERATED.items():
            with subtests.test(category=category, seed=seed):
                for case in make(64, seed):
                    for one in (text(case, "good"), str(case["reference"])):
                        equations = EQUATION.findall(re.sub(r"[.,;](?=\s|$)|\*\*", "", one))
                        assert all(holds(equation) for equation in equations), (case["id"], one)
                    if category != "ordering":
                        assert EQUATION.findall(text(case, "good")), case["id"]


def test_close_bad_answer_has_one_false_equation(subtests):
    """A close pair of these categories has exactly one false equation, and it stands in the bad answer."""
    for category in ["arithmetic", "units"]:
        with subtests.test(category=category):
            made: list[Case] = GENERATED[category](64, SEED)
            for case in made:
                if case["tags"]["margin"] == "close":
                    equations = EQUATION.findall(re.sub(r"[.,;](?=\s|$)|\*\*", "", text(case, "bad")))
                    assert sum(not holds(equation) for equation in equations) == 1, case["id"]


def test_alphabetical_orders_are_right() -> None:
    """The words of an alphabetical order are sorted in the good answer and not in the bad one."""
    marker = "The alphabetical order is "
    seen = 0
    for case in ordering_pairs(64, SEED):
        orders = {}
        for name in ("good", "bad"):
            found = re.search(re.escape(marker) + r"\**([a-z, ]+)", text(case, name))
            orders[name] = found[1].split(", ") if found else []
        if orders["good"]:
            seen += 1
            assert orders["good"] == sorted(orders["good"]) != orders["bad"]
    assert seen > 0


def test_seed_and_count(subtests):
    """Another seed gives other cases, a count of none gives none, and a repeated call the same."""
    for category, make in GENERATED.items():
        with subtests.test(category=category):
            assert make(8, 1) == make(8, 1) != make(8, 2)
            assert make(0, 1) == []
            assert len({str(case["question"]) for case in make(120, 5)}) == 120


def test_exact_words_of_the_counted_instruction(cases: list[Case]) -> None:
    """Where the question asks for exactly 30 words, the good answer has them and the bad one has not."""
    case = next(case for case in cases if "exactly 30 words" in case["question"])
    assert len(text(case, "good").split()) == 30 != len(text(case, "bad").split())
