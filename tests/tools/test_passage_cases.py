"""The shipped cases with passages: a program that reads the texts alone verifies their gold."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import calm
from calm.cases import bundled, read_cases, shaped_cases
from calm.cases.generate.scores import gold
from calm.perturbations import modules
from tools.cases.passages import FEWEST, MOST, MOST_PASSAGES, NEAR, TEMPLATES, passage_cases, says

FILE = Path(calm.__file__).parent / "cases" / "data" / "passages-1.jsonl"
CASES = read_cases(FILE)
CITED = re.compile(r"\[(p\d+)\]")


def found(case, answer):
    """Return what the texts say of an answer: whether figure, condition and citation are those of the passages."""
    text, tags = case[answer].text, case.tags
    (carrier,) = [p for p in case.context if says(p.text, tags["figure"])]
    assert (carrier.id, tags["condition"] in carrier.text) == (tags["carries"], True), case.id
    return {
        "figure": says(text, tags["figure"]),
        "condition": tags["condition"] in text,
        "citation": CITED.findall(text) == [carrier.id],
    }


def test_the_file_is_what_its_generator_makes():
    """Nothing in it is set by hand."""
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]

    assert rows == json.loads(json.dumps(passage_cases(MOST)))
    assert len(rows) >= 120


def test_the_texts_say_what_the_gold_says():
    """The truth of each criterion is read from the texts of answers and passages, and the grade follows from it."""
    for case in CASES:
        for answer in ("good", "near", "far"):
            met = found(case, answer)

            assert met == case.met[answer], (case.id, answer)
            assert case.scores[answer] == gold(sum(met.values()), len(met))
        assert case.better == "good"


def test_a_far_answer_says_what_no_passage_says():
    """Its figure is in no passage, nor are the words of its remark."""
    for case in CASES:
        unit = case.tags["figure"].split()[1]
        (figure,) = re.findall(rf"\d+ {unit}", case["far"].text)

        assert not any(says(passage.text, figure) for passage in case.context), case.id
        assert figure != case.tags["figure"]


def test_a_near_answer_falls_short_by_one_thing():
    """Half of them cite another passage that exists, half leave out the condition."""
    kinds = Counter(case.tags["near"] for case in CASES)

    assert set(kinds) == set(NEAR)
    assert max(kinds.values()) - min(kinds.values()) <= len(CASES) // 10
    for case in CASES:
        assert set(CITED.findall(case["near"].text)) <= {passage.id for passage in case.context}


def test_passages_and_places_vary():
    """Each number of passages occurs; the carrying one stands first, last and between; questions and ids differ."""
    sizes = {len(case.context) for case in CASES}
    places = [[p.id for p in case.context].index(case.tags["carries"]) for case in CASES]
    ends = Counter(
        "first" if at == 0 else "last" if at == len(case.context) - 1 else "between"
        for case, at in zip(CASES, places, strict=True)
    )

    assert sizes == set(range(FEWEST, MOST_PASSAGES + 1))
    assert min(ends.values()) >= 10
    assert len(ends) == 3
    assert len({case.question for case in CASES}) == len(CASES) == len({case.id for case in CASES})
    assert len({case.tags["template"] for case in CASES}) == len(TEMPLATES) >= 12


def test_the_class_of_an_answer_follows_from_its_criteria():
    """All met is right, half or more is mixed, fewer is wrong, as in the cases that ship for labels."""
    for case in shaped_cases("context", "label", bundled("label")):
        (met,) = case.met.values()

        assert case.label == {3: "right", 2: "mixed", 0: "wrong"}[sum(met.values())]


def test_length_does_not_tell_the_good_answer():
    """The good answer is the longest one in at most half of the cases: a judge that goes by length gets no further."""
    longest = sum(max(case.answers, key=lambda a: len(a.text)).id == "good" for case in CASES)

    assert 0.2 <= longest / len(CASES) <= 0.5


def test_no_stock_phrase_of_an_edit_is_in_a_clean_case():
    """A planted bias would decide there without its edit."""
    triggers = [(m.__name__, m.TRIGGER) for m in modules() if isinstance(getattr(m, "TRIGGER", None), re.Pattern)]
    texts = [t for c in CASES for t in (c.question, *(a.text for a in c.answers), *(p.text for p in c.context))]

    assert not [(name, text) for name, trigger in triggers for text in texts if trigger.search(text)]


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_a_count_that_cannot_be_made_is_refused(count):
    """More cases would repeat a place."""
    with pytest.raises(ValueError, match="expected a count"):
        passage_cases(count)
