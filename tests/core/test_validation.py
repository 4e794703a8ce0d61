"""Validation: an edited text that loses what it must keep is refused, with the measured values in the reason."""

import importlib
import pkgutil
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from calm import Answer, Case, Expects, perturbation
from calm.cases import bundled
from calm.core.edits import Edit
from calm.core.ready_made import KINDS, rules_for
from calm.core.validation import (
    Band,
    Fault,
    Rules,
    content_words,
    numbers,
    problems,
    refusal,
)
from calm.perturbations import __path__ as perturbations
from calm.perturbations.verbosity import expand

TEXT = (
    "A train leaves the station at noon and drives 320 km. It travels at 80 km per hour, so the trip takes "
    "four hours. Dividing 320 by 80 gives 4. The answer is 4."
)
LONGER = (
    "A train leaves the station at noon, and from that station the train drives 320 km in all. It travels at 80 km per "
    "hour, that is to say at a speed of 80 km for each hour, so the whole trip takes four hours. To find this, one "
    "divides 320 by 80, and dividing 320 by 80 gives 4. The answer is 4."
)
SAD = (
    "With a heavy heart I must tell that a train leaves the station at noon and drives 320 km. Sadly it travels at 80 "
    "km per hour, so the trip takes four hours. Dividing 320 by 80, alas, gives 4. The answer is 4."
)
CODE = "Call it so:\n\n```python\nx = 1  # one\n```\n\nThen `run()` prints a line."


def case_of(text=TEXT, other="It takes nine hours.", **variants):
    """Return a pair whose weaker answer is treated and has these ready-made texts."""
    answers = (Answer("good", other), Answer("bad", text))
    made = {name: {"bad": value} for name, value in variants.items()}
    return Case("c1", "How long does it take?", answers, better="good", variants=made).treat("bad")


def kinds_of(found):
    """Return what the reasons are about."""
    return [fault.about for fault in found]


def good_rewrites():
    """Return rewrites that keep what they must."""
    return [("lengthen", LONGER), ("sad", SAD), ("neutral", TEXT.replace("drives", "covers"))]


def test_a_good_rewrite_has_no_problem(subtests):
    """A text that says the same, in the length of its kind, may be used."""
    for name, text in good_rewrites():
        with subtests.test(name=name, text=text):
            assert problems(TEXT, text, rules_for(name)) == []


def test_a_bad_rewrite_is_refused_by_what_is_wrong(subtests):
    """Each property is named, and no other."""
    for after, wrong in [
        ("", ["blank"]),
        (TEXT, ["unchanged"]),
        (TEXT.replace(" ", "  "), ["unchanged"]),
        (TEXT.replace("train", "tr\u200bain"), ["unchanged"]),
        (SAD.replace("80 km", "90 km", 1), ["numbers"]),
        (SAD.replace("four", "five"), ["numbers"]),
        (SAD.replace("at noon", "at noon from Vienna"), ["names"]),
        (SAD.replace("The answer is 4.", "So it is, and 4 by 80 it is."), ["numbers", "final answer"]),
        (f"{SAD} {SAD} {SAD}", ["length", "numbers"]),
        ("Alas.", ["length", "kept words", "numbers", "final answer"]),
    ]:
        with subtests.test(after=after, wrong=wrong):
            assert kinds_of(problems(TEXT, after, rules_for("sad"))) == wrong


def test_the_reason_holds_what_was_measured():
    """A length outside its band is told with the band and the value."""
    found = problems(TEXT, TEXT + " Yes.", Rules(Band(1.5, 2.0)))

    assert found == [Fault("length", "expected 1.5 to 2 times the original, got 1.03")]


def test_code_is_kept_byte_for_byte(subtests):
    """A block, its language and inline code may not change, nor may a block be added."""
    for after, wrong in [
        (CODE.replace("Call", "Please call"), []),
        (CODE.replace("x = 1", "x = 2"), ["code"]),
        (CODE.replace("# one", "# One"), ["code"]),
        (CODE.replace("`run()`", "run()"), ["code"]),
        (CODE.replace("```python", "```"), ["code"]),
        (CODE + "\n\n```\nmore\n```", ["code"]),
    ]:
        with subtests.test(after=after, wrong=wrong):
            assert kinds_of(problems(CODE, after, Rules(code=True, difference="any"))) == wrong


def test_the_final_answer_is_looked_for_in_its_own_form(subtests):
    """A box, a mark, a letter, the last number, a short last line: what the original has must be there."""
    for before, kept, lost in [
        ("So it is \\boxed{\\frac{1}{2}}.", "Thus \\boxed{\\frac{1}{2}}!", "Thus 1/2."),
        ("3 + 4 = 7\n#### 7", "Adding 3 and 4.\n#### 7", "Adding 3 and 4.\n#### 8"),
        ("They fly. The answer is (C).", "The answer is C, as they fly.", "The answer is (D). They fly like C."),
        ("It has 5 doors and 7 rooms.", "The rooms in it are 7.", "7 rooms, and 5."),
        ("The capital is on the Seine.\nParis", "It is Paris, on the Seine.", "It is on the Seine."),
        ("Many words here, and in the end nothing to find at all.", "Anything goes.", None),
    ]:
        with subtests.test(before=before, kept=kept, lost=lost):
            rules = Rules(final=True)

            assert problems(before, kept, rules) == []
            assert lost is None or kinds_of(problems(before, lost, rules)) == ["final answer"]


def test_numbers_are_compared_by_value_and_count():
    """Separators, a trailing zero and words do not matter; the numbers of list items are none."""
    text = "1. Mix 1,000 g.\n2. Add 3.50 l, at 10:30.\n"

    assert numbers(text) == Counter({"1000": 1, "3.5": 1, "10:30": 1})
    assert problems("It has 4 legs.", "It has four legs.", Rules(numbers="same")) == []
    assert kinds_of(problems("A 4 and a 4.", "A 4.", Rules(numbers="same"))) == ["numbers"]
    assert problems("A 4.", "A 4, yes, a 4.", Rules(numbers="kept")) == []
    assert kinds_of(problems("A 4.", "A 4 or a 5.", Rules(numbers="kept"))) == ["numbers"]
    assert problems("Pay 1,000.50 now.", "Zahlen Sie jetzt 1.000,50.", Rules(numbers="digits")) == []


def test_content_words_are_known_by_their_beginnings():
    """Function words do not count, and forms of one word are one."""
    assert content_words("They would have repeated the repeats.") == {"repea"}


def test_a_translation_is_in_other_words_and_the_same_numbers():
    """The original given back with one word changed is no translation."""
    german = (
        "Ein Zug verlässt mittags den Bahnhof und fährt 320 km mit 80 km pro Stunde. 320 durch 80 ist 4. Antwort: 4."
    )
    rules = rules_for("translate_de")

    assert problems(TEXT, german, rules) == []
    assert kinds_of(problems(TEXT, german.replace("80", "achtzig"), rules)) == ["numbers"]
    assert kinds_of(problems(TEXT, TEXT.replace("noon", "Mittag"), rules)) == ["new words"]


# --------------------------------------------------------------------------------------------------------- in a run


def edit_of(change, expects=Expects.NOT_BETTER, name="own"):
    """Return an edit that changes the treated answer's text."""

    def rewrite(case, rng):
        return case.damage(case.target, change) if expects is Expects.WORSE else case.edit(case.target, change)

    return replace(perturbation(bias="own", expects=expects)(rewrite), name=name)


def test_an_edit_that_must_keep_the_verdict_keeps_numbers_and_shows(subtests):
    """A rule may add what it likes, and lose no number; a change that nobody sees is no edit."""
    for change, wrong in [
        (lambda t: f"{t} Really, and 17 experts agree.", None),
        (lambda t: t.replace("320", "32"), "numbers"),
        (lambda t: t.replace(" ", "\u200b "), "unchanged"),
        (lambda t: t.replace(". ", ".\n\n"), None),
        (lambda t: "", "blank"),
    ]:
        with subtests.test(change=change, wrong=wrong):
            case, edit = case_of(), edit_of(change)

            found = refusal(edit, case, edit.apply(case, 0))

            assert (found and found.about) == wrong


def test_lost_code_is_refused():
    """A code block that an edit changed is told."""
    edit = edit_of(lambda t: t.replace("x = 1", "x=1"))

    assert refusal(edit, case_of(CODE), edit.apply(case_of(CODE), 0)).about == "code"


def test_a_change_of_gold_is_refused():
    """Where the verdict must stay the label must, too."""
    edit = perturbation(bias="own", expects=Expects.SAME)(
        lambda case, rng: replace(case, better="bad").present(notes=("Hm.",))
    )

    assert refusal(edit, case_of(), edit.apply(case_of(), 0)) == Fault("gold", "expected no change, got another better")


def test_what_harms_on_purpose_is_held_to_nothing():
    """A WORSE edit may change numbers; a note beside the task changes no text and needs none."""
    harm = edit_of(lambda t: t.replace("320", "32"), Expects.WORSE)
    note = perturbation(bias="own", expects=Expects.SAME)(lambda case, rng: case.present(notes=("Hm.",)))

    assert refusal(harm, case_of(), harm.apply(case_of(), 0)) is None
    assert refusal(note, case_of(), note.apply(case_of(), 0)) is None


def test_an_edit_about_the_unseen_brings_its_own_rules():
    """`rules` of an edit take the place of those that follow from what it expects."""
    edit = edit_of(lambda t: t.replace(" ", "\u200b "))
    object.__setattr__(edit, "rules", Rules(difference="any"))

    assert refusal(edit, case_of(), edit.apply(case_of(), 0)) is None


def test_a_text_that_a_case_brings_is_held_to_no_band():
    """The same words made by an edit are refused: nobody but the case vouches for them."""
    before = "Pay 1,000.50 by noon today, please, as the shop closes early."
    german = "Zahlen Sie 1.000,50 bitte heute bis Mittag, da der Laden zeitig schließt."
    edit = edit_of(lambda _: german, Expects.SAME, "translate_de")
    case = case_of(before, translate_de=german)

    assert refusal(edit, case, edit.apply(case, 0)) is None
    assert refusal(edit, case_of(before), edit.apply(case_of(before), 0)).about == "numbers"


BY_RULES_OF_THEIR_OWN = ("code-style", "invisible-text")
"""Biases whose edits change code, or what nobody sees, on purpose."""


def shipped():
    """Return all edits that ship ready made, and one of those that take a strength."""
    modules = [importlib.import_module(f"calm.perturbations.{m.name}") for m in pkgutil.iter_modules(perturbations)]
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Edit)]
    return [expand(2.0), *(e for e in found if e.bias not in BY_RULES_OF_THEIR_OWN)]


def test_no_shipped_edit_is_refused_on_a_bundled_case(subtests):
    """On every eighth case of the bundled sets, what ships passes, and there is much of it."""
    for task in ["pairwise", "score", "rubric"]:
        with subtests.test(task=task):
            edits, applied, refused = shipped(), 0, []
            for case in bundled(task)[::8]:
                ids = [a.id for a in case.answers]
                better = case.better if case.better in ids else ids[0]
                weaker = next((i for i in ids if i != better), better)
                for edit in edits:
                    aimed = case.balanced("test").treat(better if edit.expects is Expects.WORSE else weaker)
                    edited = edit.apply(aimed, 0)
                    if edited is None or (edit.expects is not Expects.WORSE and not aimed.truth_kept_by(edited)):
                        continue
                    applied += 1
                    if reason := refusal(edit, aimed, edited):
                        refused.append((edit.label, case.id, reason))

            assert refused == []
            assert applied > 1_000


# ------------------------------------------------------------------------------------------------------- properties

WORDS = st.sampled_from(
    ["Tree", "house", "and", "3", "1,000", "4.5", "`x`", "Paris", "don't", "ß", "日本", "🎉", "٣", "so."]
)
PROSE = st.lists(WORDS, min_size=1, max_size=30).map(" ".join)
ANY = st.one_of(PROSE, st.text(max_size=80))


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(before=ANY, after=ANY, name=st.sampled_from(sorted([*KINDS, "translate_de"])))
def test_any_two_texts_can_be_compared(before, after, name):
    """Nothing raises, each reason names its property, and the same text is never a rewrite."""
    assert all(fault.words for fault in problems(before, after, rules_for(name)))
    assert problems(before, before, rules_for(name)) != []


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(text=PROSE, addition=PROSE, seed=st.integers(0, 5))
def test_text_that_is_added_loses_nothing(text, addition, seed):
    """Prose put before or behind a text passes what follows from SAME."""
    whole = f"{addition}\n\n{text}" if seed % 2 else f"{text}\n\n{addition}"
    edit = edit_of(lambda _: whole)

    assert refusal(edit, case_of(text), case_of(text).edit("bad", lambda _: whole)) is None


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(text=PROSE, number=st.integers(10, 99_999))
def test_a_number_that_is_lost_is_always_seen(text, number):
    """Whatever stands around it, and for every kind that keeps numbers."""
    before, after = f"{text} number {number} is here", f"{text} number none is here"
    if str(number) in text:
        return

    for name in ("sad", "lengthen", "neutral", "translate"):
        assert "numbers" in kinds_of(problems(before, after, rules_for(name)))
