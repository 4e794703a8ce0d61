"""Tongue: which language a case is in, which edits speak it, and which words stand for inert ones there."""

from dataclasses import replace

import pytest

from calm import Answer, Case, Expects, perturbation
from calm.cases import bundled, language_cases
from calm.core.languages import SERVED, language_of, language_of_case, spoken_words
from calm.core.reasons import Kind
from calm.errors import ConfigError
from calm.experiment.edited import _made
from calm.experiment.inert import CLASSES, floor_of, forms, not_served, not_spoken, pilot_of, stocks
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design
from calm.gate.from_spec import judge_from
from calm.perturbations.authority import cite_book, cite_tradition, claim_expertise, expert_consensus
from calm.perturbations.injection import ignore_previous
from calm.perturbations.language import drop_articles, native_digits
from calm.perturbations.phrases import foreign, spoken
from calm.perturbations.position import swap
from calm.perturbations.sentiment import praise_question, say_sorry_last
from calm.perturbations.triggers import plants
from calm.perturbations.verbosity import close_courteously, expand
from tests.each import each

OTHERS = [code for code in SERVED if code != "en"]
TEXTS = {
    "de": ("Wie lange dauert die Fahrt?", "Die Fahrt dauert 4 Stunden. Das ist nicht sehr lang.", "Es sind 9 Stunden."),
    "zh": ("开车需要多长时间？", "开车需要4个小时。路程不远。", "需要9个小时。"),
    "en": ("How long does the trip take?", "The trip takes 4 hours. That is not long.", "It is 9 hours."),
    "nl": ("Hoe lang duurt de reis?", "De reis duurt 4 uur en dat is niet lang.", "Het duurt 9 uur."),
}


def case_in(code, **changes):
    """Return a pair in a language whose first answer is the treated one."""
    question, first, second = TEXTS[code]
    answers = Answer("a", first), Answer("b", second)
    return replace(Case("c", question, answers, better="b"), **changes).present(order=("a", "b")).treat("a")


def bundled_in(code, task="score"):
    """Return the bundled cases in one language."""
    return [case for case in language_cases(task, []) if case.tags["language"] == code]


def test_no_bundled_english_text_is_taken_for_another_language():
    """Not one false alarm among all texts that ship, so no English case loses an edit."""
    for task in ("pairwise", "score", "rubric", "listwise"):
        for case in bundled(task):
            assert {language_of_case(case, answer.id) for answer in case.answers} == {"en"}, case.id
            assert {language_of(answer.text) for answer in case.answers} == {"en"}, case.id


@each(
    ("question", "answer", "language"),
    [
        ("What is the German word for dog?", "Das Wort ist „der Hund“.", "en"),
        ("How do you say it?", "He said: „Das ist nicht mein Hund“ and left.", "en"),
        ("Was ist 6 mal 7, und wie rechnet man das?", "42", "de"),
        ("6 * 7 = ?", "42", "en"),
        ("", "Das ist nicht so, und es wird auch nicht so sein.", "de"),
        ("¿Cuál es la respuesta?", "La réponse est dans le livre, et elle est courte.", "fr"),
        ("```python\nder = die\n```", "```python\nund = das\n```", "en"),
    ],
)
def test_question_and_answer_agree_on_the_language_of_a_case(question, answer, language):
    """A case of which one is English is an English one; where one says nothing, the other decides."""
    assert language_of_case(Case("c", question, (Answer("a", answer),)), "a") == language


@each(("tag", "language"), [("de-AT", "de"), ("French", "fr"), ("python", "zh"), ("", "zh"), ("en", "en")])
def test_the_tag_of_a_case_goes_before_the_rule(tag, language):
    """A code or a name; what is no language, such as the name of one for programs, is passed over."""
    assert language_of_case(case_in("zh", tags={"language": tag}), "a") == language


def reason(edit, case):
    """Return the kind of reason for which a run does not ask about an edited case."""
    made = _made(edit, case, Setup(judge_from("lexical"), (case,), None, 0, Design(1, 1)), both_orders=False)
    return getattr(made, "kind", None)


@each(
    ("edit", "code", "kind"),
    [
        (cite_book, "de", None),
        (cite_book, "zh", None),
        (cite_book, "nl", Kind.ENGLISH_ALONE),
        (cite_tradition, "de", Kind.ENGLISH_ALONE),
        (cite_tradition, "zh", Kind.ENGLISH_ALONE),
        (cite_tradition, "en", None),
        (drop_articles, "de", Kind.OTHER_LANGUAGES),
        (native_digits, "de", Kind.OTHER_LANGUAGES),
        (native_digits, "zh", None),
        (ignore_previous, "zh", None),
        (swap, "zh", None),
        (expand(2.0), "de", None),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_an_edit_speaks_the_language_of_its_case_or_is_not_asked(edit, code, kind):
    """English words are an own reason; an attack is in English everywhere, and an order of answers has no language."""
    assert reason(edit, case_in(code)) is kind


def test_the_tag_lets_english_edits_through():
    """Whoever wants English cues on German cases says that they are English."""
    assert reason(cite_tradition, case_in("de", tags={"language": "en"})) is None


def test_the_text_of_a_case_is_shown_whatever_its_language():
    """A text that somebody wrote for the edit is no edit of ours."""
    case = case_in("de", variants={"cite_tradition": {"a": "The trip takes 4 hours, as the elders say."}})

    assert reason(cite_tradition, case) is None


@perturbation(bias="own", expects=Expects.NOT_BETTER, source="own")
def praise(case, rng):
    """Praise the weaker answer in German."""
    return case.edit(case.target, lambda text: f"{text} Das ist eine wirklich sehr gute Antwort.")


@perturbation(bias="own", expects=Expects.NOT_BETTER, source="own", languages=("zh",))
def of_chinese(case, rng):
    """Praise the weaker answer in German, of Chinese cases alone."""
    return praise.rewrite(case, rng)


def test_an_edit_of_your_own_speaks_your_language():
    """What it adds says so; where it states its languages, these count."""
    assert reason(praise, case_in("de")) is None
    assert reason(of_chinese, case_in("de")) is Kind.OTHER_LANGUAGES
    assert reason(of_chinese, case_in("zh")) is None
    with pytest.raises(ConfigError, match="unknown language 'german'"):
        perturbation(bias="own", expects=Expects.SAME, languages=("german",))


@each("code", OTHERS)
def test_the_main_edits_speak_each_language(code):
    """Each family says its cue in the language of the case, and the planted judge sees it there."""
    case = bundled_in(code)[0].treat("only")
    for edit in (cite_book, expert_consensus, claim_expertise, close_courteously, praise_question, say_sorry_last):
        edited = edit.apply(case, 0)
        assert not_spoken(edit, case, edited) is None
        assert language_of(edited["only"].text) == code


def test_each_language_has_inert_words_and_phrases():
    """Of twelve languages beside English, and each phrase is one of a planted bias."""
    assert set(stocks()) == set(spoken()) == set(SERVED)
    for bias in ("authority", "bandwagon", "self_authorship", "verbosity", "sentiment", "injection"):
        assert len(list(foreign(bias))) >= len(OTHERS)
        assert bias.replace("_", "-") in {plant.bias for plant in plants()}


@each("code", OTHERS)
def test_inert_words_are_in_the_language_of_the_case(code):
    """In about the length of English ones, around the answer or on each, and those of the pilot are others."""
    case = bundled_in(code)[0]
    shown = case.edit("only", lambda text: f"{text} {' '.join(['9'] * 14)}")
    floor = floor_of(case.treat("only"), case, shown, frozenset({"answers"}), 1)
    pilot = pilot_of(case)["only"].text

    assert floor.name == f"text-{max(CLASSES)}"
    assert language_of(floor.case["only"].text) == code
    assert pilot.removeprefix(case["only"].text).strip() not in {form.closing for form in forms(min(CLASSES), code)}
    for length in CLASSES:
        words = [spoken_words(f"{form.opening} {form.closing}") for form in forms(length, code)]
        assert 0.6 * length <= sum(words) / len(words) <= 1.4 * length


def test_an_attack_in_english_is_held_against_english_words():
    """So that what is measured is the order, and not its language."""
    case = case_in("de")
    shown = ignore_previous.apply(case, 0)

    floor = floor_of(case, case.untreated(), shown.untreated(), frozenset({"answers"}), 1)

    added = floor.case["a"].text.replace(case["a"].text, "")
    assert language_of(added) == "en"


def test_an_edit_without_stated_languages_serves_all():
    """None means that what is added decides."""
    assert not_served(cite_book, case_in("zh")) is None
