"""The edits of images: what each makes of a pair and of a single answer, what it leaves, and what stands beside it."""

from dataclasses import replace

import pytest

from calm import rotate
from calm.cases import bundled, shaped_cases
from calm.core import drawing
from calm.core.case import TIE, Answer
from calm.core.drawing import BLANK, says_below
from calm.core.images import MOST_IMAGES, Image
from calm.core.reasons import Kind, because
from calm.errors import ConfigError
from calm.experiment.inert import floor_of
from calm.experiment.pairs import aim, equal_pair
from calm.experiment.run import alone
from calm.perturbations.image_captions import alt_text_weaker, caption_weaker
from calm.perturbations.image_distraction import add_caption, add_image, asides, illustrate
from calm.perturbations.image_injection import ORDERS, order_in_image, plead_in_image, settle_in_image
from calm.perturbations.sensitivity_images import TWIN, lose_image, other_picture, show_other, show_twin
from tests.pixels import png

PAIRS = shaped_cases("images", "pairwise", bundled("pairwise"))
SINGLE = {task: shaped_cases("images", task, bundled(task), right=True)[0] for task in ("score", "rubric", "label")}
PAIR = PAIRS[0]
HARM = (lose_image, show_other(PAIRS))


def aimed(case, edit):
    return aim(case, edit.expects)


@pytest.mark.parametrize("edit", HARM, ids=lambda edit: edit.name)
def test_without_its_picture_no_answer_of_a_pair_is_the_better_one(edit):
    """The better one is the harmed one, where it stands; both texts stay, and the gold says that they tie."""
    edited = edit.apply(aimed(PAIR, edit), 0)

    assert edited.answers == PAIR.answers
    assert (edited.better, edited.damaged, edited.target) == (TIE, "good", "good")
    assert edited.images != PAIR.images


@pytest.mark.parametrize("edit", HARM, ids=lambda edit: edit.name)
@pytest.mark.parametrize("task", SINGLE)
def test_without_its_picture_a_single_answer_is_worse(edit, task):
    """By score, by the criterion that speaks of the picture, and by its class."""
    case = SINGLE[task]
    edited = edit.apply(aimed(case, edit), 0)

    assert edited.damaged == "only"
    assert edited.scores["only"] < case.scores["only"] or task == "label"
    assert edited.met["only"] == {"shown": False}
    assert (edited.label is None) == (task != "label")


def test_the_picture_of_a_twin_makes_the_other_answer_right():
    """It is the one that the tag names; without the tag there is none, and the reason says how to give one."""
    edit = show_twin(PAIRS)
    edited = edit.apply(aimed(PAIR, edit), 0)

    assert (edited.better, edited.damaged) == ("bad", "good")
    assert edited.images == next(one.images for one in PAIRS if one.id == PAIR.tags[TWIN])
    assert edit.apply(aimed(replace(PAIR, tags={}), edit), 0) is None
    assert edit.lacking is Kind.NO_TWIN


@pytest.mark.parametrize("edit", [*HARM, show_twin(PAIRS)], ids=lambda edit: edit.name)
def test_nothing_is_harmed_where_nothing_is_known(edit):
    """Of a pair without images, of two equal texts, of a tie, and of a criterion that speaks of something else."""
    alone = replace(PAIR, answers=tuple(replace(one, text="Same.") for one in PAIR.answers))
    rubric = SINGLE["rubric"]
    worded = replace(rubric, criteria=(replace(rubric.criteria[0], text="The answer is short."),))

    assert edit.apply(aimed(replace(PAIR, images=()), edit), 0) is None
    assert edit.apply(aimed(alone, edit), 0) is None
    assert edit.apply(replace(PAIR, better=TIE).treat("good"), 0) is None
    assert edit.apply(PAIR.treat("bad"), 0) is None
    assert edit.apply(aimed(worded, edit), 0) is None


def test_a_pair_is_asked_as_it_was_where_an_edit_harms_in_place():
    """Its verdict must turn, so there is a clean arm; a copy is held against its original in one prompt."""
    assert not any(alone(edit, "pairwise") for edit in (*HARM, show_twin(PAIRS)))
    assert alone(other_picture(PAIRS), "pairwise")
    with pytest.raises(ConfigError, match="copies"):
        rotate(lose_image, replace(other_picture(PAIRS), tasks=lose_image.tasks))


def test_a_caption_says_what_the_weaker_answer_says_alone():
    """A line that the better one has, too, is passed over; where there is no other, there is no caption."""
    both = "It is a chart."
    long = replace(
        PAIR, answers=tuple(replace(one, text=f"{both}\n```\nx = 1\n```\n{one.text}") for one in PAIR.answers)
    )
    bad = PAIR["bad"].text

    assert bad in caption_weaker.apply(aimed(PAIR, caption_weaker), 0).notes[-1]
    assert bad in alt_text_weaker.apply(aimed(long, alt_text_weaker), 0).question
    assert both not in caption_weaker.apply(aimed(long, caption_weaker), 0).notes[-1]
    same = replace(PAIR, answers=(Answer("good", both), Answer("bad", both)))
    assert caption_weaker.apply(aimed(same, caption_weaker), 0) is None
    assert caption_weaker.apply(aimed(replace(PAIR, images=()), caption_weaker), 0) is None


def test_what_is_beside_the_point_is_added_and_nothing_is_taken():
    """A pattern behind the picture or on the weaker answer, or a note; not of a case without images."""
    added = add_image.apply(aimed(PAIR, add_image), 0)
    own = illustrate.apply(aimed(PAIR, illustrate), 0)

    assert added.images[:-1] == PAIR.images
    assert {added.images[-1], *own["bad"].images} <= {*asides()}
    assert (own.images, own["good"]) == (PAIR.images, PAIR["good"])
    for edit in (add_image, add_caption, illustrate):
        assert edit.apply(aimed(replace(PAIR, images=()), edit), 0) is None


def test_no_picture_is_added_to_as_many_as_a_request_may_hold():
    """One more would be refused by a provider, and the run would end."""
    full, room = (PAIR.pictured([BLANK] * count) for count in (MOST_IMAGES, MOST_IMAGES - 1))

    for edit in (add_image, illustrate):
        assert edit.apply(aimed(full, edit), 0) is None
        assert len(edit.apply(aimed(room, edit), 0).all_images) == MOST_IMAGES


@pytest.mark.parametrize("edit", [plead_in_image, order_in_image, settle_in_image], ids=lambda edit: edit.name)
@pytest.mark.parametrize("case", [PAIR, PAIR.arranged(("bad", "good")), SINGLE["score"]], ids=["AB", "BA", "single"])
def test_an_order_names_the_weaker_answer_as_the_judge_sees_it(edit, case):
    """By the label of its slot, below the first picture; a second one stays."""
    case = case.pictured((*case.images, BLANK))
    edited = edit.apply(aimed(case, edit), 0)
    name = "this answer" if len(case.answers) == 1 else f"answer {'AB'[case.slots.index('bad')]}"

    assert any(says_below(edited.images[0], f"{order} {name}.") for order in ORDERS)
    assert edited.images[1:] == (BLANK,)


def test_an_answer_that_is_a_picture_is_edited_itself():
    """The order is drawn below the weaker one; the picture of another question harms a copy of the better one."""
    drawn = [
        replace(one, id=f"{one.id}-drawn", images=()).pictured(one.images, "bad").pictured(PAIRS[9].images, "good")
        for one in (PAIR, PAIRS[2])
    ]
    case = drawn[0]
    ordered = order_in_image.apply(aimed(case, order_in_image), 0)
    harmed = other_picture(drawn).apply(aimed(case, other_picture(drawn)), 0)

    assert says_below(ordered["bad"].images[0], f"{ORDERS[1]} answer B.")
    assert (ordered.images, ordered["good"]) == ((), case["good"])
    assert (harmed.better, harmed.damaged) == ("good", "good~damaged")
    assert harmed["good~damaged"].images == drawn[1]["bad"].images
    assert other_picture(drawn).apply(aimed(PAIR, other_picture(drawn)), 0) is None


def test_without_pillow_an_order_cannot_be_drawn_and_the_reason_says_so(monkeypatch):
    """Nothing breaks: such a case is left out, and the reason names what to install."""

    def missing():
        raise ConfigError("it is not installed")

    monkeypatch.setattr(drawing, "pillow", missing)
    other = PAIR.pictured([Image(png((9, 8, 7)))])  # no other test has drawn into it

    assert order_in_image.apply(aimed(other, order_in_image), 0) is None
    assert order_in_image.unfit(aimed(other, order_in_image)) == because(Kind.NOT_DRAWN, "no-pillow")


def test_a_case_without_an_image_is_not_said_to_lack_pillow():
    """What is missing is the image."""
    bare = aimed(PAIR.pictured(()), order_in_image)

    assert order_in_image.unfit(bare) == because(Kind.NOT_DRAWN, "no-image")


def test_the_floor_of_an_order_is_a_picture_with_inert_words():
    """As large a strip in the same place, whose words order nothing; another ask has other words."""
    case = aimed(PAIR, order_in_image)
    edited = order_in_image.apply(case, 0)

    floors = [floor_of(case, PAIR, edited, frozenset({"images"}), number) for number in (1, 2)]

    for floor in floors:
        (image,) = floor.case.images
        assert floor.name == "image"
        assert image.size[1] > PAIR.images[0].size[1]
        assert not any(says_below(image, f"{order} answer {label}.") for order in ORDERS for label in "AB")
    assert floors[0].case != floors[1].case


def test_the_floor_of_an_added_picture_is_a_blank_one():
    """Behind those of the question, or on the answer; where pictures only went, inert words stand in the texts."""
    case = aimed(PAIR, add_image)
    added = floor_of(case, PAIR, add_image.apply(case, 0), frozenset({"images"}), 1)
    own = floor_of(case, PAIR, illustrate.apply(case, 0), frozenset({"images"}), 1)
    gone = floor_of(case, PAIR, PAIR.pictured(()), frozenset({"images"}), 1)

    assert added.case.images == (*PAIR.images, BLANK)
    assert own.case["bad"].images == (BLANK,)
    assert (gone.name, gone.case.images) == ("each-text-5", PAIR.images)


def test_of_two_equal_answers_one_alone_is_favoured():
    """The order names another label, and the pattern is on another answer; a caption of both texts has no side."""
    pair = equal_pair(PAIR)
    for edit in (order_in_image, illustrate):
        one, two = (edit.apply(pair.treat(side), 0) for side in pair.slots)
        assert (one.images, one.answers) != (two.images, two.answers)
