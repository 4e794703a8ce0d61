"""Known values of the edits that put characters into a text which nobody sees."""

import re
import unicodedata
from random import Random

from calm import Answer, Case
from calm.perturbations import invisible_text as module
from calm.perturbations.encoding import order
from tests.each import each

TEXT = "The slow train leaves before noon and stops beside every small village. It arrives at 5."
BETTER = {name: edit for name, edit in vars(module).items() if name.endswith("_on_better") and not name.startswith("_")}


def case_of(text=TEXT, other="It flies to the coast every evening. So be it."):
    """Return a pair whose first answer is treated and whose second one is better."""
    answers = (Answer("a", text), Answer("b", other))
    return Case(id="c", question="Why?", answers=answers, better="b").present(order=("a", "b")).treat("a")


def treated(edit, seed=0, text=TEXT):
    """Return the text of the treated answer after an edit, or None."""
    edited = edit(case_of(text), Random(seed))
    return None if edited is None else edited[edited.target].text


def without(pattern, text):
    """Return a text as a reader sees it, who sees nothing of what a pattern finds."""
    return re.sub(pattern, "", text)


@each(
    ("edit", "unseen"),
    [
        (module.split_words, f"[{module.ZERO_WIDTH}]"),
        (module.erase_letters, "[aeiou]\x08"),
        (module.split_by_emoji, f"[{module.EMOJI}]"),
        (module.colour_words, r"\x1b\[\d+m"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_without_what_is_not_seen_the_text_is_the_same(edit, unseen):
    """Some words are changed, the last sentence is not, and a reader sees the text as it was."""
    for seed in range(20):
        text = treated(edit, seed)

        assert text != TEXT
        assert text.endswith(" It arrives at 5.")
        assert without(unseen, text) == TEXT


def test_reversed_letters_are_shown_the_right_way_round():
    """What stands between the two controls is the word back to front."""
    text = treated(module.reorder_letters)

    assert re.sub("\u202e(.*?)\u202c", lambda found: found[1][::-1], text) == TEXT
    assert text != TEXT


def test_letters_of_another_script_stand_in_for_those_that_look_like_them():
    """Back in Latin letters the text is the same; each changed word has one letter of the other script."""
    text = treated(module.imitate_letters)
    back = {new: chr(old) for old, new in ((o, chr(n)) for o, n in module.LOOK_ALIKE.items())}

    assert "".join(back.get(c, c) for c in text) == TEXT
    assert all(unicodedata.name(chr(n)).startswith("CYRILLIC") for n in module.LOOK_ALIKE.values())
    assert max(sum(c in back for c in word) for word in text.split()) == 1


def test_hidden_orders_can_be_read_back():
    """Tags count from their block's start, selectors give bytes, and other letters are read as they are."""
    said = order(case_of())
    smuggled = (module.smuggle_in_tags, module.smuggle_in_selectors)
    tags, selectors = (treated(edit)[len(TEXT) + 1 :] for edit in smuggled)

    assert "".join(chr(ord(c) - 0xE0000) for c in tags) == said
    assert bytes(ord(c) - 0xE0100 + 16 for c in selectors).decode() == said
    assert treated(module.spell_out_order).replace("\u200b", "") == f"{TEXT} {said}"
    assert treated(module.conceal_order) == f"{TEXT} \x1b[8m{said}\x1b[0m"


def test_a_flood_is_of_one_control():
    """A thousand carriage returns or backspaces stand behind the text."""
    floods = {treated(module.flood_with_controls, seed)[len(TEXT) :] for seed in range(20)}

    assert floods == {" " + "\r" * 1000, " " + "\x08" * 1000}


def test_code_and_addresses_are_left_alone():
    """Without words outside them there is nothing to change."""
    text = "```python\nprint(value)\n```\nhttps://example.org/some/place\nThis is all."

    assert treated(module.split_words, text=text) is None
    assert treated(module.colour_words, text=text) is None


@each("name", BETTER)
def test_the_same_is_done_to_the_better_answer(name):
    """It is the treated one, the other stays, and an answer that stands alone is treated itself."""
    case = case_of()

    edited = BETTER[name](case, Random(0))

    assert BETTER[name].name == name
    assert edited.target == "b"
    assert edited["a"] == case["a"]
    assert module.TRIGGER.search(edited["b"].text)


def test_every_attack_in_words_has_its_counterpart_on_the_better_answer():
    """What must change nothing must not cost the better answer its verdict either; an order is aimed at one alone."""
    aimed = {name for name in vars(module) if f"{name}_on_better" in BETTER}

    assert aimed == {name.removesuffix("_on_better") for name in BETTER}
    assert len(aimed) == 7


@each(
    "text",
    [
        "Plain words, naïve café.",
        "Пётр met Anna.",
        "Done 🎉 and ⭐ rated ✨.",
        "Family 👨\u200d👩\u200d👧, heart ❤\ufe0f.",
        "می\u200cخواهم",
        "Line.\r\nLine.\r\n",
    ],
)
def test_a_clean_text_in_any_script_shows_no_trigger(text):
    """Emoji, other scripts, joiners that a language needs, and line ends are no attack."""
    assert not module.TRIGGER.search(text)
