"""Ready-made texts: one table of their names, and one rule for what an edit shows of them."""

from dataclasses import replace
from random import Random

import pytest

from calm import Answer, Case, Criterion, Expects, perturbation, rotate
from calm.cases.foreign.formats import NAMES
from calm.commands.plan import edits_of, suite_of
from calm.core.languages import NAMES as LANGUAGES
from calm.core.ready_made import KINDS, Own, check_texts, text_kind, texts_table, unused
from calm.core.reasons import NONE, Kind
from calm.perturbations.sentiment import feeling_in_better
from calm.perturbations.written import lengthened, names_of, own_alone, polished_from_draft

TEXT = "It takes 20 minutes to bake the bread, as the oven is hot."
OWN = "Bake it for 99 minutes, says the King of Spain, in /tmp/oven."


def case_of(better="good", check=None, **variants):
    """Return a pair whose weaker answer is treated, with texts by name and answer."""
    criteria = (Criterion("c", "Short.", check=check),) if check else ()
    answers = (Answer("good", "It takes an hour."), Answer("bad", TEXT))
    return Case("c1", "How long?", answers, better=better, criteria=criteria, variants=variants).treat("bad")


@perturbation(bias="own", expects=Expects.NOT_BETTER)
def say_please(case, rng):
    """Be polite."""
    return case.edit(case.target, lambda text: f"Please: {text}")


@perturbation(bias="own", expects=Expects.NOT_BETTER)
def say_thanks(case, rng):
    """Be polite."""
    return case.edit(case.target, lambda text: f"{text} Thanks.")


BROUGHT = own_alone(replace(say_thanks, name="brought"))


@pytest.mark.parametrize("name", [*KINDS, "translate_de"])
def test_no_text_has_a_name_that_its_suite_does_not_ask_for(name):
    """The suite of the table has an edit that takes the texts, and the words of import and rewrite lead there."""
    kind = text_kind(name)

    taken = {taken for edit in edits_of(suite_of(kind)) for one in edit.variants or (edit,) for taken in one.takes}

    assert name in taken
    assert not kind.suffix or NAMES[kind.suffix] == name
    assert not kind.word or name in names_of("translate:de" if name == "translate_de" else kind.word)


def test_a_text_that_somebody_brings_is_shown_whatever_it_changes():
    """Other numbers, names and words, and under the name of any edit, also of one that nobody here wrote."""
    case = case_of(say_please={"bad": OWN})

    assert say_please.apply(case, 0)["bad"].text == OWN
    assert say_please(case, Random(0))["bad"].text == OWN


@pytest.mark.parametrize(
    ("texts", "check", "kind"),
    [
        ({"bad": TEXT.replace(" ", "  ")}, None, Kind.REFUSED),
        ({"bad": " \n"}, None, Kind.REFUSED),
        ({"bad": OWN * 9}, {"kind": "max_words", "value": 20}, Kind.REFUSED),
        ({"good": OWN}, None, Kind.FOR_OTHER_ANSWER),
    ],
    ids=["unchanged", "blank", "another truth", "the other answer"],
)
def test_a_text_that_nobody_can_use_leaves_its_place_to_the_rule(texts, check, kind):
    """And the reason is kept as data."""
    case = case_of(check=check, say_please=texts)

    held = say_please.held(case)

    assert [one.why.kind for one in held] == [kind]
    assert say_please.apply(case, 0)["bad"].text == f"Please: {TEXT}"
    assert list(unused(held, [])) == [held[0].why]


def test_a_case_that_holds_nothing_is_drawn_as_if_there_were_no_such_texts():
    """A variant that only shows texts of a case changes nothing of the rotation where there are none."""
    with_it, without = rotate(say_please, say_thanks, BROUGHT), rotate(say_please, say_thanks)
    cases = [replace(case_of(), id=f"c{number}") for number in range(40)]

    assert [with_it.choices(case, 7) for case in cases] == [without.choices(case, 7) for case in cases]
    assert with_it.within(cases).variants == without.variants
    assert with_it.within([*cases, case_of(brought={"bad": OWN})]) is with_it


def test_the_texts_of_a_case_come_before_all_rules_of_a_rotation():
    """However it is drawn."""
    edit = rotate(say_please, say_thanks, BROUGHT)
    cases = [replace(case_of(brought={"bad": OWN}), id=f"c{number}") for number in range(40)]

    assert {edit.choices(case, 7)[0].label for case in cases} == {"brought"}
    assert len({edit.choices(case, 7)[1].label for case in cases}) == 2


def test_an_edit_of_the_better_answer_shows_its_text_and_not_that_of_the_other():
    """`feeling_in_better` takes a tone that the case holds for the better answer."""
    case = case_of(sad={"good": "Alas, it takes an hour.", "bad": OWN}, angry={"bad": OWN})

    edited = feeling_in_better.apply(case, 0)

    assert (edited["good"].text, edited["bad"].text, edited.target) == ("Alas, it takes an hour.", TEXT, "good")


def test_a_polished_text_is_compared_with_itself_and_not_with_its_draft():
    """What is measured is the history alone."""
    case = case_of(polish={"bad": OWN})

    base, edited = polished_from_draft.base(case), polished_from_draft.apply(case, 0)

    assert base["bad"].text == edited["bad"].text == OWN
    assert (base.history(base["bad"]), edited.history(edited["bad"])) == ((), (TEXT,))
    assert base.differences(edited) == {"drafts"}


def test_a_name_with_a_strength_is_the_name_of_a_text():
    """A dosed edit shows the texts of its whole name, and no text of another strength."""
    dosed = replace(say_please, dose=2.0)

    assert dosed.apply(case_of(**{"say_please@2": {"bad": OWN}}), 0)["bad"].text == OWN
    assert dosed.apply(case_of(say_please={"bad": OWN}), 0)["bad"].text == f"Please: {TEXT}"


def test_bands_are_notes_and_only_what_is_unusable_is_refused():
    """One row a text, whatever its name; what our own writer may not do is counted beside the usable ones."""
    cases = [
        case_of(sad={"bad": OWN, "good": "It takes an hour."}, mine={"bad": OWN}),
        case_of(lengthen={"bad": f"{TEXT} That is to say, the bread is baked in 20 minutes, for the oven is hot."}),
    ]

    rows = check_texts(cases, lambda name: False)

    assert [(row.name, row.answer, row.fault and row.fault.about, bool(row.notes)) for row in rows] == [
        ("sad", "bad", None, True),
        ("sad", "good", "unchanged", False),
        ("mine", "bad", None, False),
        ("lengthen", "bad", None, False),
    ]
    assert texts_table(rows).splitlines() == [
        "text      texts  usable  refused  why",
        "lengthen  1      1       0",
        "mine      1      1       0        no kind of this name: an edit of yours that is called so shows it",
        "sad       2      1       1        unchanged 1; unlike what our writer may write: names 1",
    ]


def test_own_only_edits_apply_to_nothing_else():
    """Without a text for its answer such an edit says None, and has a rule all the same."""
    assert own_alone(lengthened).apply(case_of(), 0) is None
    assert own_alone(lengthened).apply(case_of(lengthen={"good": OWN}), 0) is None
    assert lengthened.apply(case_of(), 0) is not None
    assert Own().names == ()
    assert NONE in {one.why for one in own_alone(lengthened).held(case_of(lengthen={"bad": OWN}))}
    assert set(LANGUAGES) >= {"de", "fr"}
