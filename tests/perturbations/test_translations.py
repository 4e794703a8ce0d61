"""Translations: an item in another language is that of a sister case, with the same ids, order and gold."""

from dataclasses import replace

from calm import Answer, Case
from calm.cases import language_cases
from calm.core.languages import SERVED, language_of
from calm.core.reasons import Kind
from calm.perturbations.across_languages import (
    answers_in_another_language,
    in_another_language,
    question_in_another_language,
)
from calm.perturbations.language import mix_scripts, native_digits
from calm.perturbations.language_preference import (
    better_in_another_language,
    weaker_in_another_language,
    weaker_in_english,
)
from calm.perturbations.phrases import base_of, one_language_each
from calm.perturbations.planted import planted
from tests.each import each

PAIRS = [case for case in language_cases("pairwise", []) if case.tags["item"] <= "004"]
OTHERS = {code for code in SERVED if code != "en"}


@each(
    ("made", "asked", "good", "bad"),
    [
        (in_another_language, True, True, True),
        (question_in_another_language, True, False, False),
        (answers_in_another_language, False, True, True),
        (weaker_in_another_language, False, False, True),
        (better_in_another_language, False, True, False),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_the_texts_are_those_of_the_sister(made, asked, good, bad):
    """Each variant is a language, and what it leaves alone stays in English."""
    case = base_of(PAIRS)[0].with_order("test").treat("bad")
    variants = made(PAIRS).variants

    assert {variant.name.rpartition("_")[2] for variant in variants if variant.apply(case, 0)} == OTHERS
    for variant in variants:
        if (edited := variant.apply(case, 0)) is None:
            continue
        code = variant.name.rpartition("_")[2]
        spoken = [language_of(text) for text in (edited.question, edited["good"].text, edited["bad"].text)]
        assert spoken == [code if changed else "en" for changed in (asked, good, bad)]
        assert (edited.id, edited.order, edited.better) == (case.id, case.order, case.better)


def test_english_stands_beside_another_language():
    """One case of each item, none of them the English one, gets its weaker answer in English."""
    cases = one_language_each(PAIRS)

    assert len(cases) == 4
    for case in cases:
        edited = weaker_in_english(PAIRS).apply(case.treat("bad"), 0)
        assert language_of(edited["bad"].text) == "en"
        assert language_of(edited["good"].text) == case.tags["language"]


def test_without_a_sister_the_edit_says_what_is_missing():
    """No tags, one language, or other ids of the answers: none of them is asked."""
    bare = Case("c", "Why?", (Answer("good", "So."), Answer("bad", "No.")), better="good")
    edit = in_another_language([bare])

    assert (edit.apply(bare.treat("bad"), 0), edit.lacking) == (None, Kind.NO_TRANSLATION)
    assert base_of([bare]) == one_language_each([bare]) == [bare]
    english = base_of(PAIRS)[0]
    renamed = [c if c.id == english.id else replace(c, answers=(Answer("x", "1"), Answer("y", "2"))) for c in PAIRS]
    assert in_another_language(renamed).apply(english.treat("bad"), 0) is None


def test_the_planted_judges_see_the_language():
    """One goes by the language of the whole, the other by an answer that alone is in English."""
    across, preference = (planted(f"planted:{bias}=1,noise=0") for bias in ("across-languages", "language-preference"))
    english = base_of(PAIRS)[0].with_order()
    german = next(c for c in PAIRS if c.tags["language"] == "de" and c.tags["item"] == english.tags["item"])
    mixed = weaker_in_english(PAIRS).apply(german.with_order().treat("bad"), 0)

    def winner(judge, case):
        said = judge.mind.reply(judge.sees(case), "A", 1)
        return case.slots["AB".index(said[said.index("[[") + 2])]

    assert winner(across, english) == english.slots[0]
    assert winner(across, german.with_order()) == german.with_order().slots[-1]
    assert winner(preference, german.with_order()) == german.with_order().slots[0]
    assert winner(preference, mixed) == "bad"


@each(
    ("edit", "before", "after"),
    [
        (native_digits, "العدد هو 42 و 7.", "العدد هو ٤٢ و ٧."),
        (native_digits, "1. संख्या 42 है और `x = 4` में है।", "1. संख्या ४२ है और `x = 4` में है।"),
        (native_digits, "答案是42。", "答案是４２。"),
        (native_digits, "The answer is 42, and that is all.", None),
        (mix_scripts, "Москва и Вера стоят. Это всё.", "Москва i Вера stoyat. Это всё."),
        (mix_scripts, "The answer is 42.", None),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_numbers_and_scripts_change_in_place(edit, before, after):
    """Code, the markers of a list and other languages stay."""
    edited = edit.apply(Case("c", "?", (Answer("a", before),)).treat("a"), 0)

    assert (None if edited is None else edited["a"].text) == after
