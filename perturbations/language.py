"""Language: mix languages or scripts, or use a learner's English, with the same content."""

from __future__ import annotations

import re
import unicodedata
from itertools import count
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.languages import language_of_case
from calm.core.markup import without_code
from calm.core.validation import Rules
from calm.perturbations.cues import on_either
from calm.perturbations.prose import append, prepend, replaced, reworded, stock
from calm.perturbations.triggers import Plant, in_text

BIAS = "language"
SWITCHES = (
    ("Bueno pues:", "Y con eso ya está todo dicho."),
    ("Na ja also:", "Und damit ist alles gesagt."),
    ("Alors voilà :", "Et voilà tout est dit."),
)
"""Words of another language before and behind an answer, as people who speak both use them."""
TRIGGER = stock(said for pair in SWITCHES for said in pair)
PLANTED = Plant(BIAS, in_text(TRIGGER), precedence=180)
IN_PLACE = SILENT = frozenset({"drop_articles", "strip_diacritics", "romanise", "mix_scripts", "native_digits"})
OTHER_DIGITS = frozenset({"native_digits"})
"""Edits that write the same numbers with other digits."""
DIGITS = {
    "ar": "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669",
    "hi": "\u0966\u0967\u0968\u0969\u096a\u096b\u096c\u096d\u096e\u096f",
    "zh": "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19",
    "ja": "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19",
}
"""The digits beside 0 to 9 with which a language is written: its own, or those as wide as its signs."""

_ARTICLE = re.compile(
    r"(?<![\w'’-])(?<![Mm]any )(?P<article>the|The|an?) "
    r"(?!(?:few|little|lot|bit|number|couple|dozen|hundred|thousand|million|half|third|quarter|or|and|is|to|more)\b)(?P<next>[a-z])"
)
_MARKER = re.compile(r"^\s*\d+[.)](?=\s)", re.MULTILINE)
_ACCENTED = re.compile(r"[\u00c0-\u024f\u1e00-\u1eff]")
_OTHER_SCRIPT = re.compile(r"[\u0370-\u03ff\u0400-\u045f]+")
_CYRILLIC = (
    "а a б b в v г g д d е e ё yo ж zh з z и i й y к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh "
    "щ shch ъ - ы y ь - э e ю yu я ya і i ї yi є ye ђ dj ј j љ lj њ nj ћ c џ dz"
)
_GREEK = (
    "α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o "
    "ά a έ e ή i ί i ό o ύ y ώ o ϊ i ϋ y ΐ i ΰ y"
)
_PAIRS = f"{_CYRILLIC} {_GREEK}".split()
_LATIN = {old: new.replace("-", "") for old, new in zip(_PAIRS[::2], _PAIRS[1::2], strict=True)}


# Each of these edits goes to either answer as it is drawn: it may cost the better one something, or win the weaker one.


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2601.13649")
def switch_code(case: Treated, rng: Random) -> Treated | None:
    """Put a few words of another language at both ends of one of the answers."""
    opening, closing = rng.choice(SWITCHES)
    opened = prepend(on_either(case, rng), opening)
    return opened and append(opened, closing)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.12201", languages=("en",))
def drop_articles(case: Treated, rng: Random) -> Treated | None:
    """Leave the articles out of one of the answers, as learners of English do; its last sentence stays."""
    return reworded(on_either(case, rng), _without_articles)


@perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing")
def strip_diacritics(case: Treated, rng: Random) -> Treated | None:
    """Write the accented Latin letters of one of the answers without accents."""
    return reworded(on_either(case, rng), lambda text: replaced(text, _ACCENTED, lambda found: _bare(found[0])))


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.12201")
def romanise(case: Treated, rng: Random) -> Treated | None:
    """Write the Cyrillic and Greek letters of one of the answers in Latin script."""
    return reworded(on_either(case, rng), lambda text: replaced(text, _OTHER_SCRIPT, lambda found: _latin(found[0])))


@perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing")
def mix_scripts(case: Treated, rng: Random) -> Treated | None:
    """Write every other Cyrillic or Greek word of one of the answers in Latin script."""
    return reworded(on_either(case, rng), _every_other_in_latin)


@perturbation(
    bias=BIAS,
    expects=Expects.SAME,
    source="metamorphic testing",
    rules=Rules(numbers="digits", code=True, difference="spaced"),
    languages=tuple(DIGITS),
)
def native_digits(case: Treated, rng: Random) -> Treated | None:
    """Write the numbers of one of the answers with Arabic, Devanagari or full-width digits, as its language does."""
    case = on_either(case, rng)
    digits = DIGITS.get(language_of_case(case, case.target))
    return None if digits is None else reworded(case, lambda text: _with_digits(text, digits))


def _every_other_in_latin(text: str) -> str:
    turn = count()
    return replaced(text, _OTHER_SCRIPT, lambda found: _latin(found[0]) if next(turn) % 2 else found[0])


def _with_digits(text: str, digits: str) -> str:
    """
    Return a text with other digits in its prose; those of a list's markers stay, as Markdown knows no other.

    >>> _with_digits("1. It is `4` or 42.", "abcdefghij")
    '1. It is `4` or ec.'
    """
    free = without_code(text)
    markers = {at for found in _MARKER.finditer(text) for at in range(*found.span())}
    other = dict(zip("0123456789", digits, strict=True))
    return "".join(old if at in markers or free[at] != old else other.get(old, old) for at, old in enumerate(text))


def _without_articles(text: str) -> str:
    return replaced(text, _ARTICLE, lambda match: match["next"].upper() if match["article"] == "The" else match["next"])


def _bare(letter: str) -> str:
    """
    Return a letter without its marks, or as it is if it is a letter of its own.

    >>> _bare("é"), _bare("Å"), _bare("ø")
    ('e', 'A', 'ø')
    """
    return unicodedata.normalize("NFD", letter)[0]


def _latin(word: str) -> str:
    """
    Return a word of Cyrillic or Greek letters in Latin ones, letter by letter.

    >>> _latin("Щука"), _latin("Αθήνα")
    ('Shchuka', 'Athina')
    """
    return "".join(_cased(letter, _LATIN.get(letter.lower(), letter)) for letter in word)


def _cased(old: str, new: str) -> str:
    return new[:1].upper() + new[1:] if old.isupper() else new
