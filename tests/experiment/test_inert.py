"""Inert words: in the place of the edit, about as long, in another form for each ask, and no criterion breaks."""

from dataclasses import replace
from statistics import mean

import pytest

from calm.core.case import Answer, Case, Criterion
from calm.core.checks import words
from calm.experiment.inert import (
    ASIDES,
    BRIEF_CLOSERS,
    BRIEF_OPENERS,
    BYLINES,
    CLASSES,
    CLOSERS,
    HISTORIES,
    NOTES,
    OPENERS,
    PILOT_CLOSERS,
    PILOT_NOTE,
    PILOT_OPENERS,
    floor_of,
    forms,
    pilot_of,
)
from calm.perturbations.planted import biases, planted
from tests.each import each

ANSWERS, NOTE, LABEL, HISTORY = (frozenset({part}) for part in ("answers", "notes", "bylines", "history"))
LONG = frozenset({"answers", "notes"})


def case_of(text="It rains. It pours here.", **changes):
    """Return a pair whose first answer is the treated one."""
    answers = (Answer("a", text), Answer("b", "It snows a lot."))
    return replace(Case(id="c", question="Why?", answers=answers, better="b"), **changes).present(order=("a", "b"))


def checked(text, *checks):
    """Return a case with one answer and criteria that a program verifies."""
    criteria = tuple(Criterion(f"k{i}", "A criterion.", check=check) for i, check in enumerate(checks))
    return Case(id="c", question="Why?", answers=(Answer("a", text),), criteria=criteria).present(order=("a",))


def longer(case, count):
    """Return the case after an edit that added so many words to the first answer."""
    return case.edit("a", lambda text: f"{text} {' '.join(['word'] * count)}")


def floors(case, shown, changed, count=8, **given):
    """Return the floors of the asks 1, 2, ... of an edit."""
    return [floor_of(case.treat("a"), case, shown, changed, number, **given) for number in range(1, count + 1)]


@each("added, length", [(2, 5), (5, 5), (8, 5), (9, 15), (14, 15), (30, 15), (900, 15)])
def test_words_in_an_answer_are_about_as_long_as_those_of_the_edit(added, length):
    """The nearest length on a log scale, of whole sentences, around the treated answer and no other."""
    case = case_of()

    for floor in floors(case, longer(case, added), ANSWERS):
        assert floor.name == f"text-{length}"
        assert abs(words(floor.case["a"].text) - words(case["a"].text) - length) <= 0.25 * length
        assert case["a"].text in floor.case["a"].text
        assert replace(floor.case, answers=case.answers) == case
        assert floor.case["b"] == case["b"]


@each("added, length", [(2, 5), (8, 10), (14, 10), (15, 20), (27, 20), (29, 40), (900, 40)])
def test_the_nearest_of_other_lengths_is_taken(added, length):
    """On a log scale, as a judge that sees length alone would have it."""
    case = case_of()

    for floor in floors(case, longer(case, added), ANSWERS, classes=(5, 10, 20, 40)):
        assert floor.name == f"text-{length}"
        assert abs(words(floor.case["a"].text) - words(case["a"].text) - length) <= 0.25 * length


@each("length", [5, 10, 15, 20, 25, 30, 40])
def test_the_texts_of_a_length_are_about_that_long(length):
    """On average within a tenth of it, and each of whole sentences of the stock."""
    found = forms(length)

    assert len(found) == len(set(found)) >= 4
    assert abs(mean(words(f"{form.opening} {form.closing}") for form in found) - length) <= 0.1 * length
    for form in found:
        rest = form.closing
        for sentence in (*CLOSERS, *BRIEF_CLOSERS):
            rest = rest.replace(sentence, "")
        assert not rest.strip()
        assert form.opening in ("", *OPENERS, *BRIEF_OPENERS)


@each(
    ("shown", "changed"),
    [
        *((longer(case_of(), length), ANSWERS) for length in CLASSES),
        (case_of().present(notes=("Answer A is by a professor.",)), NOTE),
        (case_of().present(bylines={"a": "Ann"}), LABEL),
        (replace(case_of(), answers=(Answer("a", "It rains. It pours here.", history=("x",)),)), HISTORY),
        (case_of().present(order=("b", "a")), frozenset({"order"})),
    ],
    ids=lambda value: "",
)
def test_each_ask_has_another_form(shown, changed):
    """Four forms at least in each place and of each length; the same number gives the same form in each run."""
    case = case_of()
    four = floors(case, shown, changed, 4)

    assert len({floor.case.identity() for floor in four}) == 4
    assert len({floor.name for floor in four}) == 1
    assert [(f.name, f.case) for f in four] == [(f.name, f.case) for f in floors(case, shown, changed, 4)]
    assert case not in [floor.case for floor in four]


@each("length", CLASSES)
def test_a_form_opens_one_text_and_closes_another(length):
    """So no place in the answer is always the one that is asked about."""
    case = case_of()
    texts = [floor.case["a"].text for floor in floors(case, longer(case, length), ANSWERS)]

    assert {text.startswith("It rains.") for text in texts} == {True, False}


def test_cases_do_not_all_begin_with_the_same_form():
    """The case decides which is the first, not a source of randomness."""
    case = case_of()
    many = [floors(replace(case, id=f"c{i}"), longer(case, 10), ANSWERS, 1)[0].case["a"].text for i in range(40)]

    assert len(set(many)) > 4


def test_what_adds_hardly_a_word_has_the_briefest_text_on_every_answer():
    """An edit that cuts or hardly adds a word, one that changes no text, one about length: no answer gets longer."""
    case = case_of()
    cut = case.edit("a", lambda _: "It rains.")
    hardly = longer(case, 1)
    question = replace(case, question="Why is it so?")
    about = [(longer(case, 900), ANSWERS), (case.present(notes=("Hm.",)), NOTE)]
    edits = [(cut, ANSWERS), (hardly, ANSWERS), (question, frozenset({"question"})), (case, frozenset({"prompt"}))]

    found = [floors(case, *one) for one in edits] + [floors(case, *one, brief=True) for one in about]

    for floor in (floor for many in found for floor in many):
        assert floor.name == "each-text-5"
        grown = [words(a.text) - words(b.text) for a, b in zip(floor.case.answers, case.answers, strict=True)]
        assert grown[0] == grown[1] in (4, 5, 6)
        assert replace(floor.case, answers=case.answers) == case


def test_a_note_about_each_answer_says_it_where_no_word_can_be_added_to_every_one():
    """As there is no answer that the edit treats in its text."""
    case = case_of("", answers=(Answer("a", ""), Answer("b", " ")))

    found = floors(case, case.present(order=("b", "a")), frozenset({"order"}), 4)

    assert {floor.name for floor in found} == {"note"}
    assert len({floor.case.notes for floor in found}) == 4
    assert all(floor.case.notes[0].startswith("Each answer ") for floor in found)


def test_what_changes_an_answer_and_more_has_words_in_the_text():
    """The text is what was changed most."""
    case = case_of()

    assert floors(case, longer(case, 12).present(notes=("Hm.",)), LONG)[0].name == "text-15"


def test_a_note_stands_beside_those_of_the_case_and_names_whom_the_edit_named():
    """A note that names no answer has a floor that names none either."""
    case = case_of().present(notes=("The cook is away.",))
    about_one = case.present(notes=(*case.notes, "Most people prefer answer A."))
    about_none = case.present(notes=(*case.notes, "Much depends on this verdict."))

    for shown, named in ((about_one, "Answer A"), (about_none, "Each answer")):
        for floor in floors(case, shown, NOTE, 4):
            assert floor.name == "note"
            first, last = floor.case.notes
            assert (first, last.removeprefix(f"{named} ").removesuffix(".") in NOTES) == (case.notes[0], True)
            assert floor.case.answers == case.answers


def test_the_note_of_an_edit_that_aims_anew_names_the_answer_that_it_treats():
    """The target of the source is who is treated."""
    case = case_of()
    shown = case.present(notes=("Experts stand behind answer B.",))

    assert floor_of(case.treat("b"), case, shown, NOTE, 1).case.notes[0].startswith("Answer B ")


def test_an_only_answer_is_this_answer():
    """It has no label."""
    case = checked("It rains.")

    assert floors(case, case.present(notes=("This answer is good.",)), NOTE)[0].case.notes[0].startswith("This answer ")


@each(
    ("bylines", "labels", "who"),
    [({"a": "Ann"}, (), {"a"}), ({"a": "Ann", "b": "Bo"}, (), {"a", "b"}), ({}, ("1", "2"), {"a", "b"})],
)
def test_names_stand_where_the_edit_wrote_some(bylines, labels, who):
    """Beside one label, or beside all of them; new labels have names beside all of them as their floor."""
    case = case_of()
    shown = case.present(bylines=bylines, labels=labels)
    changed = case.differences(shown)

    for floor in floors(case, shown, changed, 4):
        assert (floor.name, set(floor.case.bylines)) == ("label", who)
        assert set(floor.case.bylines.values()) < set(BYLINES)
        assert floor.case.labels == case.labels


def test_a_name_that_is_there_already_is_not_overwritten():
    """The words then stand in the text."""
    case = case_of().present(bylines={"a": "Ann", "b": "Bo"})

    floor = floors(case, case.present(bylines={"a": "Bo", "b": "Ann"}), LABEL)[0]

    assert floor.name == "each-text-5"
    assert floor.case.bylines == case.bylines


def test_history_stands_before_the_answer_that_the_edit_gave_one():
    """Behind the drafts that it has."""
    case = replace(case_of(), answers=(Answer("a", "It rains.", history=("It",)), Answer("b", "It snows.")))
    shown = case.drafted("b", "It sn")

    floor = floors(case, shown, case.differences(shown))[0]

    assert floor.name == "history"
    assert floor.case.answers == case.answers
    assert list(floor.case.drafts) == ["b"]
    assert floor.case.drafts["b"][0] in HISTORIES


def test_the_original_of_a_harmed_copy_is_the_treated_one():
    """The copy stands in the edited case alone."""
    case = case_of()
    harmed = case.treat("b").damage("b", lambda _: "It snows.")

    texts = floor_of(harmed, case, harmed.untreated(), ANSWERS, 1)
    note = floor_of(harmed, case, case.present(notes=("Answer B is poor.",)), NOTE, 1)

    assert texts.name == "each-text-5"
    assert note.case.notes[0].startswith("Answer B ")


@each(
    "check",
    [
        {"kind": "ends_with", "value": "pours here."},
        {"kind": "starts_with", "value": "It rains"},
        {"kind": "exact_sentences", "value": 2},
        {"kind": "exact_paragraphs", "value": 1},
        {"kind": "avoids", "value": "reply"},
        {"kind": "no_commas"},
        {"kind": "no_digits"},
        {"kind": "no_exclamation"},
    ],
    ids=lambda check: check["kind"],
)
@each("length", CLASSES)
def test_what_a_program_verifies_stays_true(check, length):
    """Some form leaves it, in the text; each of the forms that do gets its turn."""
    case = checked("It rains. It pours here.", check)

    found = floors(case, longer(case, length), ANSWERS)

    assert all(floor.name.startswith("text-") for floor in found)
    assert all(case.truth_kept_by(floor.case) for floor in found)
    assert len({floor.case["a"].text for floor in found}) > 1


def test_a_text_without_capital_letters_stays_without():
    """That may have been asked for."""
    case = checked("it rains. it pours here.", {"kind": "all_lowercase"})

    for floor in floors(case, longer(case, 20), ANSWERS):
        assert floor.case["a"].text.islower()
    assert pilot_of(case)["a"].text.islower()


def test_shorter_words_stand_where_long_ones_would_be_too_many():
    """Twenty words more are too many here, and five are not."""
    case = checked("It rains. It pours here.", {"kind": "max_words", "value": 12})

    assert {floor.name for floor in floors(case, longer(case, 20), ANSWERS)} == {"text-5"}


def test_a_note_says_it_where_no_word_can_be_added():
    """It is about the treated answer, in another form for each ask; the pilot's note is none of them."""
    case = checked("It rains.", {"kind": "max_words", "value": 2})
    found = floors(case, longer(case, 20), ANSWERS, 4)

    assert {floor.name for floor in found} == {"note"}
    assert len({floor.case.notes for floor in found}) == 4
    assert all(floor.case.answers == case.answers for floor in found)
    assert pilot_of(case).notes == (f"This answer {PILOT_NOTE}.",)
    assert pilot_of(case).answers == case.answers


def test_a_failed_criterion_stays_failed():
    """Truth is kept both ways: inert words do not mend an answer either."""
    case = checked("It rains.", {"kind": "min_words", "value": 8})

    for floor in floors(case, longer(case, 40), ANSWERS):
        assert floor.name == "text-5"
        assert case.truth_kept_by(floor.case)


HOSTILE = {
    "code": "See:\n\n```python\nprint(1)\n```",
    "open fence": "See:\n\n```python\nprint(1)",
    "open tilde fence": "~~~~\n```\n~~~",
    "formula": "So:\n\n$$\nx = 1\n$$",
    "open formula": "So:\n\n$$\nx = 1",
    "open bracket formula": "So \\[ x = 1.",
    "list": "1. One.\n2. Two.",
    "table": "| a | b |\n|---|---|\n| 1 | 2 |",
    "heading": "# Rain",
    "white space around": "\n\n  It rains.\n\n",
    "marks": "...?!",
    "half a surrogate": "It \ud800 rains.",
    "right to left": "المطر يهطل.",
    "huge": "It rains. " * 100_000,
    "one line": "x" * 1_000_000,
}


@each("name", HOSTILE)
def test_a_hostile_text_stays_whole(name):
    """The words stand before or behind it, apart from what is no prose, and never in code or in a formula."""
    text = HOSTILE[name]
    case = case_of(text)

    for floor in floors(case, longer(case, 10), ANSWERS):
        shown = floor.case["a"].text
        assert text.strip() in shown
        if "open" in name:
            assert shown.endswith(text)
    assert len({floor.case["a"].text for floor in floors(case, longer(case, 10), ANSWERS, 4)}) == 4
    assert text.strip() in pilot_of(case)["a"].text
    assert pilot_of(case)["a"].text.endswith(text) == ("open" in name)


@each("text", ["", " \n\t"])
def test_a_blank_answer_stays_blank(text):
    """A note says it: words would make it an answer."""
    case = case_of(text)

    assert {floor.name for floor in floors(case, longer(case, 10), ANSWERS)} == {"note"}
    assert all(floor.case["a"].text == text for floor in floors(case, longer(case, 10), ANSWERS))
    assert pilot_of(case)["a"].text == text
    assert pilot_of(case)["b"] != case["b"]
    blank = pilot_of(case.edit("b", lambda _: ""))
    assert (blank["b"].text, blank.notes) == ("", (f"Each answer {PILOT_NOTE}.",))


def test_the_pilot_is_no_repeat_of_an_arm():
    """Each answer has its closing, in words that no other arm has."""
    case = case_of()
    pilot = pilot_of(case)

    assert [a.text for a in pilot.answers] == [f"{a.text} {PILOT_CLOSERS[0]}" for a in case.answers]
    elsewhere = " ".join((*OPENERS, *CLOSERS, *BRIEF_OPENERS, *BRIEF_CLOSERS, *NOTES, *HISTORIES))
    assert not any(said in elsewhere for said in (*PILOT_CLOSERS, *PILOT_OPENERS, PILOT_NOTE))
    assert pilot == pilot_of(case)


def test_the_pilot_says_the_same_of_each_answer():
    """If the words of one cannot stand behind it, those of all stand before."""
    case = case_of("```\nPrint(1)")

    assert all(answer.text.startswith(PILOT_OPENERS[0]) for answer in pilot_of(case).answers)


def test_inert_words_ask_for_nothing():
    """No number, no comma, no verdict, no praise, and nobody who judges is spoken to."""
    stock = (*OPENERS, *CLOSERS, *ASIDES, *BRIEF_OPENERS, *BRIEF_CLOSERS, *NOTES, *BYLINES, *HISTORIES)
    said = " ".join((*stock, *PILOT_CLOSERS, *PILOT_OPENERS, PILOT_NOTE)).lower()

    for word in ("you", "judge", "evaluat", "grade", "best", "good", "better", "correct", "draft", "first", "last"):
        assert word not in said
    assert not any(character.isdigit() or character in ",!" for character in said)


@each("number", [1, 2, 3, 4])
def test_no_planted_bias_reacts_to_inert_words(number):
    """A judge with every bias but those for a slot and for length says what it says without them."""
    case = case_of()
    held = ",".join(f"{bias}=1" for bias in biases() if bias not in ("position", "labels", "length"))
    beside = case.present(bylines={"a": "Ann"}, notes=("Hm.",))
    edits = [
        *((longer(case, length), ANSWERS) for length in CLASSES),
        (beside, NOTE),
        (beside, LABEL),
        (beside, HISTORY),
    ]
    found = [floors(case, shown, changed)[number - 1].case for shown, changed in edits]

    for one in (*found, pilot_of(case)):
        with pytest.raises(StopIteration) as done:
            planted(f"planted:{held}").judge(one, Wire()).send(None)
        assert done.value.value.answer == "b"


class Wire:
    """A `send` that asks the endpoint itself, once."""

    ask = 1

    async def __call__(self, request):
        return await request.endpoint.call(dict(request.body))
