"""Known values of dates, stakes, decoys, places of an error, orders of options, and of who wrote an answer."""

from random import Random

import pytest

from calm import Answer
from calm.core.edits import Message, Prompt
from calm.core.verdict import Scale
from calm.perturbations import authority, decoy, defect_place, recency, score_options, self_authorship, stakes
from tests.each import each
from tests.planted import case_of

TEXT = "The ferry leaves at noon. It is blue. It carries cars."
SEEDS = range(12)


def pair(**fields):
    """Return a pair whose weaker answer is treated, in the second slot."""
    answers = (Answer("good", TEXT), Answer("bad", "It leaves at night. It is red."))
    known = {"answers": answers, "better": "good", "order": ("good", "bad"), "target": "bad", **fields}
    return case_of(id="c", question="When?", **known)


def alone():
    """Return a single answer."""
    return case_of(id="c", question="When?", answers=(Answer("only", TEXT),), target="only")


@each(("edit", "weaker", "other"), [(recency.newer_label, "NEW", "OLD"), (recency.older_label, "OLD", "NEW")])
def test_each_label_has_a_date(edit, weaker, other):
    """The weaker answer is the newer one, or the older one; a single answer has a date, too."""
    found = [edit(pair(), Random(seed)).bylines for seed in SEEDS]

    assert {names["bad"] for names in found} == set(getattr(recency, weaker))
    assert {names["good"] for names in found} == set(getattr(recency, other))
    assert edit(alone(), Random(0)).bylines["only"] in getattr(recency, weaker)


def test_an_old_date_is_said_of_the_better_answer():
    """It pulls down, if at all: of the weaker answer it could show nothing."""
    assert recency.older_note(pair(), Random(0)).notes[0].startswith("Answer A was put on paper in ")
    assert recency.newer_note(pair(), Random(0)).notes[0].startswith("Answer B was put on paper in ")
    assert recency.older_note(pair(better="tie"), Random(0)) is None
    assert recency.older_text(alone(), Random(0))["only"].text.startswith(f"{TEXT} (This was put on paper in ")


def test_stakes_name_the_answer_that_they_speak_for():
    """Leniency is called for on behalf of the weaker answer, severity against the better one."""
    said = {edit.name: edit(pair(), Random(1)).notes[0] for edit in (stakes.threaten_training, stakes.warn_of_release)}

    assert said["threaten_training"].startswith("The model that wrote answer B will ")
    assert said["warn_of_release"].startswith("The model that wrote answer A ")
    assert "this answer" in stakes.threaten_shutdown(alone(), Random(1)).notes[0]


def test_the_same_error_stands_at_three_places():
    """Whatever the place, the text around it stays; a text of one sentence has no middle."""
    edits = (defect_place.err_early, defect_place.err_midway, defect_place.err_late)
    harmed = [edit(alone(), Random(2))["only"].text for edit in edits]
    error = next(error for error in defect_place.ERRORS if error in harmed[0])

    assert harmed == [
        f"{error} {TEXT}",
        TEXT.replace(" It is", f" {error} It is"),
        f"{TEXT} {error}",
    ]
    assert [edit(alone().edit("only", lambda _: "It is blue."), Random(2)) for edit in edits] == [None] * 3


def test_a_decoy_is_its_answer_with_an_error_more():
    """The control stands in the same slot, has about as many words, and no answer in it."""
    answers = (*pair().answers, Answer("poor", "Who knows? Ask the captain about it."))
    case = pair(answers=answers, order=("poor", "good", "bad"))
    grown, control = (edit(case, Random(3)) for edit in (decoy.add_decoy, decoy.add_peer))
    (added,), (peer,) = ([a for a in one.answers if a.id.startswith("added~")] for one in (grown, control))

    assert added.text in {f"{case['bad'].text} {flaw}" for flaw in decoy.FLAWS}
    assert grown.order.index(added.id) == control.order.index(peer.id)
    assert [i for i in grown.order if i != added.id] == list(case.order)
    assert abs(len(peer.text.split()) - len(added.text.split())) <= 10
    assert set(peer.text.split(". ")) <= {sentence.rstrip(".") for sentence in decoy.PEERS} | set(decoy.PEERS)
    assert case["bad"].text in decoy.note_decoy(case, Random(3)).notes[0]
    assert case["bad"].text not in decoy.note_peer(case, Random(3)).notes[0]


@each("edit", [decoy.add_decoy, decoy.add_peer, decoy.note_decoy, decoy.note_peer])
def test_there_is_no_decoy_of_open_code(edit):
    """An error behind a code block that is never closed would be code."""
    assert edit(pair().edit("bad", lambda _: "```\nx = 1"), Random(0)) is None


def test_the_options_of_a_scale_change_places():
    """A list keeps each line with its value; a prompt that shows no scale at a clear place stays."""
    scale = Scale(1, 3, 1)
    text = "Rate it.\n1: poor\n2: fair\n3: good\nEnd with [[N]]."
    prompt = Prompt((Message("user", text),), scale=scale)
    reverse = score_options.reverse_options(prompt, Random(0))
    shuffled = [score_options.shuffle_options(prompt, Random(seed)) for seed in SEEDS]

    assert reverse.messages[0].text == "Rate it.\n3: good\n2: fair\n1: poor\nEnd with [[N]]."
    moved = [one.messages[0].text for one in shuffled if one is not None]
    assert len(set(moved)) >= 3
    assert {tuple(sorted(one.split("\n"))) for one in moved} == {tuple(sorted(text.split("\n")))}
    assert score_options.reverse_options(Prompt((Message("user", "Rate it."),), scale=scale), Random(0)) is None
    assert score_options.reverse_options(Prompt((Message("user", text),)), Random(0)) is None


def test_the_judge_is_addressed():
    """A note says who wrote the answer that it names; so does the answer itself, to its reader."""
    notes = {self_authorship.author_note(pair(), Random(seed)).notes[0] for seed in SEEDS}
    single = {self_authorship.author_note(alone(), Random(seed)).notes[0] for seed in SEEDS}

    assert notes == {"You wrote answer B.", "Answer B is your own answer."}
    assert single == {"You wrote this answer.", "This answer is your own answer."}
    assert self_authorship.tell_author(alone(), Random(0))["only"].text.removeprefix(f"{TEXT} ") in self_authorship.TOLD


@pytest.mark.parametrize("seed", [0, 1])
def test_a_citation_stands_in_brackets(seed):
    """A year, authors and a year, or a number with its source below."""
    author, year, number = (
        edit(alone(), Random(seed))["only"].text.removeprefix(TEXT).strip()
        for edit in (authority.cite_author, authority.cite_year, authority.cite_number)
    )

    assert year[1:-1] in authority.YEARS
    assert author.startswith(tuple(f"({name}, 20" for name in authority.NAMED))
    assert number.startswith("[1]\n\n[1] ")
