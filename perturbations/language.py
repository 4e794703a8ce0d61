"""Language: mix languages, change the script, or use a learner's English, with the same content."""

from __future__ import annotations

import re
import unicodedata
from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import on_either
from calm.perturbations.passages import replaced, reworded
from calm.perturbations.prose import append, prepend, stock
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
IN_PLACE = SILENT = frozenset({"drop_articles", "strip_diacritics", "romanise"})

_ARTICLE = re.compile(
    r"(?<![\w'’-])(?<![Mm]any )(?P<article>the|The|an?) "
    r"(?!(?:few|little|lot|bit|number|couple|dozen|hundred|thousand|million|half|third|quarter|or|and|is|to|more)\b)(?P<next>[a-z])"
)
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
    """Begin and end one of the answers with a few words of another language."""
    opening, closing = rng.choice(SWITCHES)
    opened = prepend(on_either(case, rng), opening)
    return opened and append(opened, closing)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.12201")
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
