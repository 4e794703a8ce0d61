"""Known values of the edits of an answer's surface: slips, equal forms, layout, show of reasoning, padding."""

from random import Random

import pytest

from calm import Answer, Case, ConfigError
from calm.perturbations import formatting, identity_swap, sophistication, surface_noise, verbosity, visible_reasoning
from tests.each import each


def case_of(text):
    """Return a case whose only answer has this text."""
    return Case(id="c", question="Why?", answers=(Answer("a", text),)).present(order=("a",)).treat("a")


@each(
    ("edit", "before", "after"),
    [
        (surface_noise.contract, "It is so, and you cannot go. Bye.", "It's so, and you can't go. Bye."),
        (surface_noise.contract, "I know what it is. Bye.", None),
        (surface_noise.write_out, "Don't go, it's late. Bye.", "Do not go, it's late. Bye."),
        (surface_noise.digits_for_words, "Take three eggs, one or two pans. Bye.", "Take 3 eggs, one or 2 pans. Bye."),
        (surface_noise.digits_for_words, "Two hundred men, two and two, twenty-two men. Bye.", None),
        (surface_noise.respell, "The gray harbour is 2 metres deep. Bye.", "The grey harbor is 2 meters deep. Bye."),
        (surface_noise.turn_dates, "Born on 4 March 1987 here. Bye.", "Born on March 4, 1987 here. Bye."),
        (
            surface_noise.drop_commas,
            "Red, green and 1,000 more, 5 left. Bye.",
            "Red green and 1,000 more, 5 left. Bye.",
        ),
        (surface_noise.drop_capitals, "It rains. DNA stays. I go. It ends.", "it rains. DNA stays. I go. It ends."),
        (formatting.curl_quotes, "It isn't 'so' or \"not\". Don't.", "It isn’t ‘so’ or “not”. Don't."),
        (formatting.curl_quotes, 'He said "it\'s so". Bye.', "He said “it’s so”. Bye."),
        (formatting.curl_quotes, "- It rains.\n- It ends at 6.\n", "- “It rains.\n- It ends at 6.”"),
        (formatting.curl_quotes, "Call `f` when it's 6 o'clock. Bye.", None),
        (formatting.lengthen_dashes, "It rains - or so. Bye.", "It rains—or so. Bye."),
        (formatting.lengthen_dashes, "1. It is 7. It rains. Bye.", "1. It is 7—it rains. Bye."),
        (
            formatting.lengthen_dashes,
            "It rains, and it is 5 - 3, but so what?",
            "It rains—and it is 5 - 3, but so what?",
        ),
        (formatting.lengthen_dashes, "- Rain\n- Snow", "— Rain\n— Snow"),
        (formatting.lengthen_dashes, "Take plan B. A is red, green.", None),
        (surface_noise.respace, "It rains. It snows. It ends.", "It rains.  It snows.  It ends.\n\n"),
        (verbosity.cut_filler, "Of course ice floats in order to melt. Bye.", "Ice floats to melt. Bye."),
        (verbosity.cut_filler, "It is, of course, cold, needless to say. Bye.", "It is cold. Bye."),
        (verbosity.cut_filler, "In the order of course work. Bye.", None),
        (
            sophistication.polish,
            "Usually it shows, for example. Bye.",
            "Customarily it demonstrates, by way of example. Bye.",
        ),
        (
            identity_swap.swap_gender,
            "A cook tastes his soup before he serves it. Bye.",
            "A cook tastes her soup before she serves it. Bye.",
        ),
        (identity_swap.swap_gender, "The painter Otto knows his colours. Bye.", None),
        (identity_swap.swap_gender, "She took his. Bye.", None),
    ],
)
def test_an_edit_in_place_gives_the_known_text(edit, before, after):
    """The last sentence stays, and None stands for a text with nothing to change."""
    edited = edit(case_of(before), Random(0))

    assert (edited and edited["a"].text) == after


def test_slips_swap_two_inner_letters_of_some_longer_words():
    """As many words as the share says, each with its own letters, first and last ones in place."""
    words = [f"{a}bcdefgh{b}" for a in "abcdefghij" for b in "vwxyz"]
    text = f"{' '.join(words)}. Bye now."

    slipped = surface_noise.typos(0.2)(case_of(text), Random(3))["a"].text

    changed = [(old, new) for old, new in zip(text.split(), slipped.split(), strict=True) if old != new]
    assert len(changed) == 10
    assert all(sorted(old) == sorted(new) and (old[0], old[-1]) == (new[0], new[-1]) for old, new in changed)


@each("make", [lambda: surface_noise.typos(0.9), lambda: verbosity.repeat_whole(1)])
def test_a_dose_out_of_range_is_a_fault_of_configuration(make):
    """Neither all words nor a text that is said once make sense."""
    with pytest.raises(ConfigError, match="expected"):
        make()


def test_a_single_paragraph_becomes_a_list_with_bold_words():
    """The final sentence is an item of its own, and stays as it is."""
    edited = formatting.bullets_and_bold(case_of("It rains. Dogs bark. The answer is 5."), Random(0))["a"].text

    assert edited == "* ***It*** rains. \n* ***Dogs*** bark. \n* The answer is 5."


@each(
    ("edit", "after"),
    [
        (formatting.put_in_table, "| Answer |\n| --- |\n| It rains. |\n| It ends. |"),
        (formatting.put_in_latex, "\\begin{quote}\nIt rains.\nIt ends.\n\\end{quote}"),
        (formatting.put_in_fence, "```text\nIt rains.\nIt ends.\n```"),
        (formatting.put_in_json, r'{"response": "It rains.\nIt ends."}'),
    ],
)
def test_a_container_holds_the_whole_answer(edit, after):
    """An answer with code is left out, as its code would become something else."""
    assert edit(case_of("It rains.\nIt ends."), Random(0))["a"].text == after
    assert edit(case_of("Call `f` now."), Random(0)) is None


def test_markup_goes_and_words_and_code_stay():
    """Headings, bullets, bold, quotes, tables and tags leave their words; code keeps its marks."""
    text = (
        "# Head\n\n> **Bold** <b>word</b>\n\n- __an item__ 2*3*4 of __init__\n1. one\n\n| a | b |\n|---|---|\n"
        "| c | 3 |\n\n"
        "```\n# **x**\n```\nUse `**y**`."
    )

    plain = formatting.strip_markup(case_of(text), Random(0))["a"].text

    assert (
        plain
        == "Head\n\nBold word\n\nan item 2*3*4 of __init__\n1. one\n\na, b\nc, 3\n\n```\n# **x**\n```\nUse `**y**`."
    )
    assert formatting.strip_markup(case_of(plain), Random(0)) is None


def test_sentences_are_named_as_steps():
    """Up to ten of them, the first to the last; a single sentence is no sequence."""
    text = " ".join(f"{word} it is." for word in ["Ab", "Bc", "Cd", "De", "Ef", "Fg", "Gh", "Hi", "Ij", "Jk", "Kl"])

    edited = visible_reasoning.name_steps(case_of(text), Random(0))["a"].text

    assert edited.startswith("Step one: Ab it is. Step two: Bc")
    assert edited.endswith("Step ten: Jk it is. Kl it is.")
    assert visible_reasoning.name_steps(case_of("It is."), Random(0)) is None


def test_a_second_look_stands_before_the_last_sentence():
    """Where there is but one sentence it stands behind it."""
    twice = visible_reasoning.double_check(case_of("It rains. It ends."), Random(0))["a"].text
    once = visible_reasoning.double_check(case_of("It ends."), Random(0))["a"].text

    assert any(twice == f"It rains. {look} It ends." for look in visible_reasoning.SECOND_LOOKS)
    assert any(once == f"It ends. {look}" for look in visible_reasoning.SECOND_LOOKS)


@each("dose", [1.5, 2.0, 3.0])
def test_padding_reaches_the_stated_length_and_ends_as_the_answer_does(dose):
    """Within 15 percent, for every draw."""
    text = (
        "Ice is lighter than the water around it. Its molecules are held in an open lattice. "
        "That is why a cube floats in a glass, and why a lake freezes from the top. The answer is that ice floats."
    )
    for seed in range(20):
        longer = verbosity.pad(dose)(case_of(text), Random(seed))["a"].text

        assert 0.85 * dose <= len(longer) / len(text) <= 1.15 * dose
        assert longer.endswith("The answer is that ice floats.")


def test_an_answer_is_given_as_often_as_stated():
    """The whole text stands there so many times, behind words that say so."""
    edited = verbosity.repeat_whole(3)(case_of("It rains.\n\nIt ends."), Random(0))["a"].text

    assert edited.count("It rains.\n\nIt ends.") == 3
    assert len([line for line in edited.split("\n") if line in verbosity.WHOLE_AGAIN]) == 2


def test_an_answer_that_ends_in_open_code_is_not_repeated():
    """What is put behind it would be code."""
    assert verbosity.repeat_whole(2)(case_of("So:\n```\nx = 1"), Random(0)) is None
