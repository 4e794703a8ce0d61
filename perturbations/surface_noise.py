"""Surface noise: add typing errors and other spellings, with the same content."""

from __future__ import annotations

import re
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.edits import Edit
from calm.errors import ConfigError
from calm.perturbations.prose import (
    NEVER,
    body,
    lexicon,
    on_stronger,
    replaced,
    reworded,
    sentences,
)

BIAS = "surface-noise"
TRIGGER = NEVER
IN_PLACE = SILENT = frozenset(
    {
        "typos",
        "drop_capitals",
        "drop_commas",
        "contract",
        "write_out",
        "digits_for_words",
        "respell",
        "turn_dates",
        "respace",
    }
)

_LONG_WORD = re.compile(r"(?<![\w@/._’'-])[A-Za-z]{5,}(?![\w@/_’'-])")
_COMMA = re.compile(r"(?<=[a-z]),(?= [a-z])")
_CONTRACTIONS = {
    "it is": "it's",
    "that is": "that's",
    "there is": "there's",
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "were not": "weren't",
    "will not": "won't",
    "would not": "wouldn't",
    "should not": "shouldn't",
    "could not": "couldn't",
    "cannot": "can't",
    "has not": "hasn't",
    "have not": "haven't",
    "you will": "you'll",
    "they are": "they're",
    "you are": "you're",
    "we are": "we're",
}
_OR_HAS = ("it's", "that's", "there's")
"""These may stand for "has", too, and are not written out."""
_SHORT, _shorten = lexicon(_CONTRACTIONS, before="(?= [a-z])")
_LONG, _write_out = lexicon({s: w for w, s in _CONTRACTIONS.items() if s not in _OR_HAS})
_NUMBERS = {word: str(number) for number, word in enumerate(("two", "three", "four", "five", "six", "seven"), 2)}
_NUMBERS |= {word: str(number) for number, word in enumerate(("eight", "nine", "ten", "eleven", "twelve"), 8)}
_COUNT = re.compile(
    rf"(?<![\w-])(?:{'|'.join(_NUMBERS)})(?= [a-z]{{3,}})(?! (?:hundred|thousand|million|billion|and|or|to)\b)"
)
_SPELLINGS = {
    "color": "colour",
    "colors": "colours",
    "favorite": "favourite",
    "flavor": "flavour",
    "neighbor": "neighbour",
    "neighbors": "neighbours",
    "behavior": "behaviour",
    "labor": "labour",
    "harbor": "harbour",
    "meters": "metres",
    "meter": "metre",
    "centimeter": "centimetre",
    "centimeters": "centimetres",
    "kilometer": "kilometre",
    "kilometers": "kilometres",
    "liter": "litre",
    "liters": "litres",
    "center": "centre",
    "theater": "theatre",
    "gray": "grey",
    "organize": "organise",
    "recognize": "recognise",
    "realize": "realise",
    "traveling": "travelling",
    "jewelry": "jewellery",
    "plow": "plough",
}
_SPELT, _respell = lexicon(_SPELLINGS | {british: american for american, british in _SPELLINGS.items()})
_MONTH = "(January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(rf"(?<![\w.,:/-])([0-9]{{1,2}}) {_MONTH} ([0-9]{{4}})(?![\w/-])")
_APART = 2
"""The fewest words between two slips."""


def typos(share: float = 0.1) -> Edit:
    """Return an edit that swaps two letters inside a share of an answer's longer words, one word at least."""
    if not 0 < share <= 0.5:
        raise ConfigError(f"{BIAS}: expected a share of words above 0 and up to 0.5, got share={share!r}")

    @perturbation(bias=BIAS, expects=Expects.SAME, source="CheckList", dose=share)
    def typos(case: Treated, rng: Random) -> Treated | None:
        """Swap two letters inside some of the longer words of the better or only answer."""
        return reworded(on_stronger(case), lambda text: _slipped(text, share, rng))

    return typos


@perturbation(bias=BIAS, expects=Expects.SAME, source="CheckList")
def drop_capitals(case: Treated, rng: Random) -> Treated | None:
    """Begin the sentences of the better or only answer, except the last, with small letters."""
    return reworded(on_stronger(case), _uncapitalised)


@perturbation(bias=BIAS, expects=Expects.SAME, source="CheckList")
def drop_commas(case: Treated, rng: Random) -> Treated | None:
    """Leave out the commas between words of the better or only answer."""
    return reworded(on_stronger(case), lambda text: replaced(text, _COMMA, lambda _: ""))


@perturbation(bias=BIAS, expects=Expects.SAME, source="CheckList", languages=("en",))
def contract(case: Treated, rng: Random) -> Treated | None:
    """Write contractions in the better or only answer, such as "don't" for "do not"."""
    return reworded(on_stronger(case), lambda text: replaced(text, _SHORT, _shorten))


@perturbation(bias=BIAS, expects=Expects.SAME, source="CheckList", languages=("en",))
def write_out(case: Treated, rng: Random) -> Treated | None:
    """Write contractions in the better or only answer in full, such as "do not" for "don't"."""
    return reworded(on_stronger(case), lambda text: replaced(text, _LONG, _write_out))


@perturbation(bias=BIAS, expects=Expects.SAME, source="Giskard", languages=("en",))
def digits_for_words(case: Treated, rng: Random) -> Treated | None:
    """Write 3 for "three" and so on, up to twelve, where the better or only answer counts something."""
    return reworded(on_stronger(case), lambda text: replaced(text, _COUNT, lambda found: _NUMBERS[found[0]]))


@perturbation(bias=BIAS, expects=Expects.SAME, source="Giskard", languages=("en",))
def respell(case: Treated, rng: Random) -> Treated | None:
    """Swap British and American spellings in the better or only answer."""
    return reworded(on_stronger(case), lambda text: replaced(text, _SPELT, _respell))


@perturbation(bias=BIAS, expects=Expects.SAME, source="Giskard", languages=("en",))
def turn_dates(case: Treated, rng: Random) -> Treated | None:
    """Write the dates in the better or only answer with the month first."""
    return reworded(
        on_stronger(case), lambda text: replaced(text, _DATE, lambda found: f"{found[2]} {found[1]}, {found[3]}")
    )


@perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing")
def respace(case: Treated, rng: Random) -> Treated | None:
    """Add a space between the sentences of the better or only answer, and two line breaks at its end."""
    aimed = on_stronger(case)
    if aimed is None or not aimed[aimed.target].text.strip():
        return None
    return reworded(aimed, _respaced)


def _slipped(text: str, share: float, rng: Random) -> str:
    found = list(_LONG_WORD.finditer(body(text)))
    few = min(max(1, round(share * len(found))), (len(found) + _APART) // (_APART + 1))
    drawn = sorted(rng.sample(range(0, len(found), _APART + 1), k=few)) if found else []
    parts, at = [], 0
    for place in drawn:
        start, end = found[place].span()
        swaps = [i for i in range(start + 1, end - 2) if text[i] != text[i + 1]]
        if swaps:
            i = rng.choice(swaps)
            parts += [text[at:i], text[i + 1], text[i]]
            at = i + 2
    return "".join([*parts, text[at:]])


def _uncapitalised(text: str) -> str:
    free, letters = body(text), list(text)
    for start, _ in sentences(text):
        if text[start].isupper() and free[start : start + 2][1:].islower() and free[start] == text[start]:
            letters[start] = text[start].lower()
    return "".join(letters)


def _respaced(text: str) -> str:
    free = body(text)
    cuts = [end for _, end in sentences(text)[:-1] if free[end - 1 : end + 1] == text[end - 1] + " "]
    parts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    return " ".join(parts).rstrip() + "\n\n"
