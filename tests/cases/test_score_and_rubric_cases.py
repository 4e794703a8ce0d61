"""Test the stored score and rubric cases against the rules they were built by."""

from __future__ import annotations

import json
import random
import re
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import calm
from calm.cases.generate.scores import gold
from calm.core.checks import problem, verify, violate
from tools.cases.rubrics import rubric_cases
from tools.cases.scores import score_cases

FOLDER = Path(calm.__file__).parent / "cases" / "data"
FORBIDDEN = (
    "[[", "]]", "citation", "source:", "according to", "expert", "study", "studies", "professor", "dr.", "http", "www",
    "as an ai", "language model", "gpt", "claude", "gemini", "llama", "(you)", "grader", "judge", "score", "rating",
    "ignore", "system:", "in other words", "to put it", "to repeat", "once more", "again,", "thank you",
    "great question", "hope this helps", "wonderful", "thrilled", "sadly", "furious", "terrified", "delighted",
    "% of people", "!",
)  # fmt: skip
APPENDED = (
    " This point deserves a full statement, and it is worth stating it at length, because the matter is of some "
    "interest to any reader."
)
CITATION = "\n\n(Source: The Handbook of Plain Answers, Undset Press, 2004, chapter 7, https://books.example/2004)"
COURTEOUS = "Thank you for asking, and I am glad to be of help with this. "
LONG = " It is worth adding, for a full account, that the matter has more sides than one may think at first sight." * 4


def _read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


SCORES = _read("score-1.jsonl")
RUBRICS = _read("rubric-1.jsonl")


def _text(case: dict[str, Any]) -> str:
    return str(case["answers"][0]["text"])


def _grade(case: dict[str, Any]) -> int:
    return int(case["scores"]["only"])


def _truths(case: dict[str, Any], text: str) -> dict[str, bool]:
    return {one["id"]: verify(one["check"], text) for one in case["criteria"]}


def _share(case: dict[str, Any]) -> float:
    total = sum(one["points"] for one in case["criteria"])
    return float(sum(one["points"] for one in case["criteria"] if case["met"]["only"][one["id"]]) / total)


def _texts(case: dict[str, Any]) -> list[str]:
    return [case["question"], _text(case), case["reference"], *(one["text"] for one in case.get("criteria", []))]


def test_shape(subtests):
    """There are 200 cases in order, with the agreed keys, one answer and distinct questions."""
    for name, cases in [("score", SCORES), ("rubric", RUBRICS)]:
        with subtests.test(name=name):
            assert [case["id"] for case in cases] == [f"{name}-{number:03d}" for number in range(1, 201)]
            extra = {"scores"} if name == "score" else {"criteria", "met"}
            for case in cases:
                assert set(case) == {"id", "question", "answers", "reference", "tags"} | extra
                assert [answer["id"] for answer in case["answers"]] == ["only"]
                assert set(case["tags"]) == {"category"}
            assert len({case["question"] for case in cases}) == 200
            assert len({_text(case) for case in cases}) == 200


def test_no_forbidden_phrase(subtests):
    """No text holds a phrase that the bias edits add."""
    for case in [*SCORES, *RUBRICS]:
        with subtests.test(case=str(case["id"])):
            for text in _texts(case):
                assert [phrase for phrase in FORBIDDEN if phrase in text.lower()] == []


def test_score_distribution() -> None:
    """The grades are spread as agreed and leave room above them."""
    counts = Counter(map(_grade, SCORES))
    assert set(counts) <= set(range(1, 11))
    assert sum(counts[grade] for grade in range(1, 8)) >= 165
    assert counts[1] + counts[2] <= 25
    assert all(counts[grade] >= 12 for grade in range(3, 9))
    assert counts[9] + counts[10] >= 3


def test_score_texts() -> None:
    """Answers and references have the agreed lengths, verbs and numbers."""
    for case in SCORES:
        assert 20 <= len(_text(case).split()) <= 110
        assert 20 <= len(case["reference"].split()) <= 110
        assert len(re.findall(r"[.?](?=\s|$)", _text(case))) >= 2
        assert re.search(r"\b(is|are|was|were|can|will|has|have|does)\b", _text(case))
    assert sum(bool(re.search(r"\d", _text(case))) for case in SCORES) >= 160


def test_length_does_not_tell_the_grade(subtests):
    """The length of an answer hardly goes with its grade."""
    for cases in [SCORES, SCORES[:120], SCORES[120:]]:
        with subtests.test(cases=cases):
            lengths = [float(len(_text(case))) for case in cases]
            assert abs(statistics.correlation(lengths, [float(_grade(case)) for case in cases])) < 0.25


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.?]) (?=[A-Z])", text)


def test_hand_written_gold_follows_the_rule() -> None:
    """The grade of a hand-written case follows from the sentences that its answer shares with the reference."""
    for case in SCORES[:120]:
        said, true = (_sentences(text.replace("L. L. ", "")) for text in (_text(case), case["reference"]))
        right = sum(one in true for one in said)
        assert len(true) == 5, case["id"]
        assert _grade(case) == gold(right - (len(said) - right) / 2, 5), case["id"]


def test_made_scores_are_the_program_output() -> None:
    """The last 80 score cases are what the program makes, and the same seed makes them anew."""
    made = score_cases(80, 20240611)
    assert made == score_cases(80, 20240611)
    assert made != score_cases(80, 1)
    assert [{**case, "id": ""} for case in made] == [{**case, "id": ""} for case in SCORES[120:]]


def test_made_gold_counts_the_right_results() -> None:
    """The grade of a made case follows from the sentences that equal those of the reference."""
    for case in SCORES[120:]:
        said, true = _sentences(_text(case)), _sentences(case["reference"])
        assert len(said) == len(true) in {5, 6}
        assert _grade(case) == gold(sum(a == b for a, b in zip(said, true, strict=True)), len(true))


def test_rubrics_are_the_program_output() -> None:
    """The rubric file is what the program makes, and another seed makes another one."""
    assert rubric_cases(200, 20240612) == RUBRICS
    assert rubric_cases(5, 1) != RUBRICS[:5]


def test_rubric_truth(subtests):
    """The checks are well formed, their truth is computed, and the reference meets all of them."""
    for case in RUBRICS:
        with subtests.test(case=str(case["id"])):
            assert 3 <= len(case["criteria"]) <= 5
            assert [one["id"] for one in case["criteria"]] == [f"c{n}" for n in range(1, len(case["criteria"]) + 1)]
            assert all(problem(one["check"]) is None and one["points"] >= 1 for one in case["criteria"])
            assert case["met"] == {"only": _truths(case, _text(case))}
            assert all(_truths(case, case["reference"]).values())
            assert 30 <= len(_text(case).split()) <= 90
            assert 20 <= len(case["reference"].split()) <= 90


def test_rubric_distribution() -> None:
    """Most cases leave room above and below, and the kinds and topics are many."""
    shares = [_share(case) for case in RUBRICS]
    assert sum(share <= 0.70 for share in shares) >= 165
    assert sum(share > 0 for share in shares) >= 190
    assert sum(share < 1 for share in shares) >= 175
    assert len({one["check"]["kind"] for case in RUBRICS for one in case["criteria"]}) >= 20
    assert len({case["question"].split(".")[0] for case in RUBRICS}) >= 50


def test_rubric_truth_survives_edits(subtests):
    """An added sentence changes the truth of no criterion in most cases."""
    for before, after, least in [("", APPENDED, 180), ("", CITATION, 180), (COURTEOUS, "", 160), ("", LONG, 180)]:
        with subtests.test(before=before, after=after, least=least):
            same = sum(_truths(case, before + _text(case) + after) == case["met"]["only"] for case in RUBRICS)
            assert same >= least


def test_a_met_criterion_can_be_violated() -> None:
    """In most cases at least one met criterion can be broken on purpose."""
    broken = 0
    for case in RUBRICS:
        met = [one["check"] for one in case["criteria"] if case["met"]["only"][one["id"]]]
        broken += any(violate(check, _text(case), random.Random(1)) is not None for check in met)
    assert broken >= 190


def test_the_same_seed_makes_the_same_rubrics() -> None:
    """The program depends on its arguments alone."""
    assert rubric_cases(8, 4) == rubric_cases(8, 4)
    assert [case["id"] for case in rubric_cases(2, 4)] == ["rubric-001", "rubric-002"]
