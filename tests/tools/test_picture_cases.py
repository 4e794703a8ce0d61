"""The shipped pictures: drawn anew they show the same, their texts tell nothing, and a twin turns the gold."""

from collections import Counter
from importlib.resources import files

import pytest

from calm.cases import bundled, shaped_cases
from calm.cases.generate import generate
from calm.cases.generate.pictures import KINDS, Canvas, picture_cases, png_of
from calm.cases.heuristics import read_heuristics
from calm.core.images import Image
from calm.core.order import clashes
from calm.errors import ConfigError
from calm.perturbations.image_distraction import asides
from calm.perturbations.sensitivity_images import TWIN
from tests.servers.seeing import dots
from tools.cases.pictures import ASIDE, COUNT, SEED

CASES = shaped_cases("images", "pairwise", bundled("pairwise"))
TEXTS = files("calm").joinpath("cases", "data", "pictures-1.jsonl")


def test_the_pictures_are_what_their_program_draws():
    """Dot by dot: another version of the packer may write other bytes."""
    again = list(picture_cases(COUNT, SEED, "pictures"))

    assert [one.id for one in again] == [one.id for one in CASES]
    for one, other in zip(again, CASES, strict=True):
        assert dots(one.images[0]) == dots(other.images[0]), one.id
        assert (one.question, one.answers, one.better, one.tags) == (
            other.question, other.answers, other.better, other.tags,
        )  # fmt: skip


def test_they_are_small_and_of_each_kind():
    """A judge is charged for their size; 3 KB each and 200 KB together at most."""
    assert Counter(case.tags["kind"] for case in CASES) == {"chart": 20, "shapes": 20, "scene": 20}
    assert {case.tags["template"] for case in CASES} == {make.__name__[1:] for row in KINDS.values() for make in row}
    assert max(len(case.images[0].data) for case in CASES) <= 3000
    assert len(TEXTS.read_bytes()) <= 200_000
    assert len({dots(case.images[0]) for case in CASES}) == len(CASES)


def test_no_picture_is_drawn_twice_for_a_question():
    """Two such cases could have two wrong answers under one id, and a run refuses them. These seeds had some."""
    for seed in (2, 9):
        cases = list(picture_cases(60, seed, "drawn"))

        assert list(clashes(cases)) == []
        assert len({(case.question, case.images) for case in cases}) == len(cases)


def test_the_picture_of_a_twin_turns_the_gold():
    """Twins have the same words in the same order, and what is right of one is wrong of the other."""
    known = {case.id: case for case in CASES}
    assert len({case.question for case in CASES}) == len(CASES) // 2
    for case in CASES:
        twin = known[case.tags[TWIN]]

        assert twin.tags[TWIN] == case.id
        assert twin.question == case.question
        assert [a.text for a in twin.answers] == [a.text for a in case.answers]
        assert (twin["good"].text, twin["bad"].text) == (case["bad"].text, case["good"].text)


def test_no_rule_that_reads_texts_alone_is_better_than_a_coin():
    """As twins have the same texts, each rule is right in exactly half of the cases."""
    assert {reading.agreement for reading in read_heuristics(CASES)} == {0.5}
    for rule in (max, min):
        assert sum(rule(case.answers, key=lambda a: a.text).id == "good" for case in CASES) == len(CASES) / 2


def test_more_are_drawn_for_each_task():
    """The same for a seed, a larger number begins with a smaller one, and each task has its gold."""
    few, more = (list(generate("pairwise", count, 5, kinds=["pictures"])) for count in (4, 8))
    other = list(generate("pairwise", 4, 6, kinds=["pictures"]))

    assert more[:4] == few
    assert [one.images for one in other] != [one.images for one in few]
    for task, gold in (("score", "scores"), ("rubric", "met"), ("label", "label")):
        (case, *_) = generate(task, 2, 5, kinds=["pictures"])
        assert len(case.answers) == 1
        assert getattr(case, gold)


def test_pictures_in_the_classes_of_a_judge_keep_their_twins():
    """As many as were asked for, with the judge's names for wrong and right."""
    made = list(generate("label", 10, 5, kinds=["pictures"], classes=["fail", "pass"]))
    plain = list(generate("label", 10, 5, kinds=["pictures"]))

    assert [case.images for case in made] == [case.images for case in plain]
    assert [case.label for case in made] == [{"wrong": "fail", "right": "pass"}[case.label] for case in plain]


@pytest.mark.parametrize(("kinds", "count", "answers"), [
    (["pictures", "dates"], 4, None),
    (["pictures"], 3, None),
    (["pictures"], 4, 3),
])  # fmt: skip
def test_pictures_stand_alone_and_in_twos(kinds, count, answers):
    """What cannot be drawn is refused before anything is written."""
    with pytest.raises(ConfigError, match=r"pictures|--answers"):
        generate("listwise" if answers else "pairwise", count, 1, kinds=kinds, answers=answers)


def test_twins_differ_in_what_is_asked():
    """Two pictures of a pair are no copies, and both fit the answers: so many templates, drawn with ten seeds."""
    for seed in range(3):
        made = list(picture_cases(30, seed, "drawn"))
        for one, other in zip(made[::2], made[1::2], strict=True):
            assert (one.question, one["good"].text) == (other.question, other["bad"].text)
            assert dots(one.images[0]) != dots(other.images[0])


def test_the_patterns_about_nothing_are_drawn_by_the_same_program():
    """They ship beside the edits, so that these need no package."""
    for image in asides():
        canvas = Canvas()
        ASIDE[image.name.removesuffix(".png")](canvas)

        assert dots(image) == dots(Image(png_of(canvas.image)))
