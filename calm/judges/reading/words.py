"""
The few words that a reader of verdicts knows, in ten languages; they stand in `data/words.toml` alone.

Rules go by position first; these words only lower what a position says ("not [[B]]"), or tell a draft from a final
verdict. All languages are looked for at once, since a judge may write its reasons in one and its verdict in another.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from importlib.resources import files
from typing import Final, TypeAlias

Languages: TypeAlias = Mapping[str, Sequence[str]]

UNSPACED: Final = frozenset(("ja", "zh", "ko"))
"""Languages whose words are found inside of a run of letters."""
AFTER: Final = frozenset(("ja", "ko"))
"""Languages that say no after what they deny."""


class Cue(Enum):
    """What a word says of the verdict beside it."""

    __hash__ = object.__hash__  # that of `Enum` computes anew, and a reply is looked at for 36 of them

    NOUN = "noun"  # it names a verdict
    CHOICE = "choice"  # it says that the judge decides
    DENIED = "denied"  # it denies
    THAN = "than"  # what stands after it is the lesser one
    IF = "if"  # it is a condition or a guess
    LESSER = "lesser"  # it names the answer that is not the better one
    FOLLY = "folly"  # it would be wrong to give the verdict
    ASIDE = "aside"  # it names another number than the verdict
    WHOSE = "whose"  # the verdict is somebody else's
    CITED = "cited"  # the name of an object in JSON that holds somebody else's verdict, or none yet
    WHOLE = "whole"  # it names the whole of several verdicts
    OTHERS = "others"  # somebody else's words, an order to the judge, or an example
    DRAFT = "draft"  # a draft
    FINAL = "final"  # final
    PAUSE = "pause"  # set off by a sign: the judge stops, and doubts what it said
    TURN = "turn"  # before a verdict in its own sentence: it corrects an earlier one
    TAKEN_BACK = "taken-back"  # the judge takes back what it said
    OWN = "own"  # the verdict that the judge gave, as it speaks of it
    REVISED = "revised"  # the judge names another value than the verdict that it gave
    JOINT = "joint"  # another clause begins
    SUMMARY = "summary"  # the judge sums up
    BETTER = "better"  # one answer is called the better one
    ALLOWED = "allowed"  # no cue, though it holds the word of one


@lru_cache(maxsize=1)
def table() -> Mapping[str, Languages]:
    """Return all words, by cue and language."""
    return tomllib.loads(files("calm").joinpath("judges", "data", "words.toml").read_text("utf-8"))


@lru_cache(maxsize=64)
def cue(kind: Cue, *, before: bool = False) -> re.Pattern[str]:
    """Return the expression of a cue; `before` leaves out the languages whose denial follows what it denies."""
    spaced: list[str] = []
    openers: list[str] = []
    unspaced: list[str] = []
    for language, words in table()[kind.value].items():
        if before and language in AFTER:
            continue
        for word in map(str.lower, words):
            kinds = unspaced if language in UNSPACED else openers if word.startswith("^") else spaced
            kinds.append(word.removeprefix("^"))
    parts = [rf"(?<!\w){_tree(spaced)}(?!\w)"] if spaced else []
    parts += [rf"(?:^|[,;:(¿]\s?){_tree(openers)}(?!\w)"] if openers else []
    parts += [_tree(unspaced)] if unspaced else []
    return re.compile("|".join(parts))


def _tree(words: list[str]) -> str:
    """Return an expression for some words that looks at each letter once."""
    rest: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        rest.setdefault(word[:1], []).append(word[1:])
    ends = "" in rest
    rest.pop("", None)
    found = "|".join(f"{_LETTERS.get(letter) or re.escape(letter)}{_tree(more)}" for letter, more in rest.items())
    if not found:
        return ""
    return f"(?:{found})?" if ends else f"(?:{found})" if len(rest) > 1 else found


_LETTERS: Final = {"*": r"\w*", " ": r"\s"}


def plain(text: str) -> str:
    """Return a text in lower case, without the phrases that hold the word of a cue and are none."""
    if not text:
        return ""
    low = _forced().sub(" ", cue(Cue.ALLOWED).sub(" ", text.lower()))
    return _mine().sub(lambda found: re.sub(r"\s?(?:would|würde)\s?", "", found[0]), low)


@lru_cache(maxsize=1)
def _mine() -> re.Pattern[str]:
    """Return an expression for "I would", which supposes nothing; "I would have" does."""
    return re.compile(rf"\b(?:{one_of('mine')})\b(?!\s(?:\w+\s)?(?:have|need|haben))")


@lru_cache(maxsize=1)
def _forced() -> re.Pattern[str]:
    """Return an expression for "if I had to choose" with nothing after it: what follows is the verdict all the same."""
    return re.compile(rf"(?:{one_of('forced')})(?=\s*(?:[,:.;!?)*，、：。]|\Z))")


def has(kind: Cue, text: str, *, before: bool = False) -> bool:
    """
    Return whether a text has a cue.

    >>> has(Cue.DENIED, "The verdict is not"), has(Cue.DENIED, "There is no doubt that it is")
    (True, False)
    """
    return bool(text) and _has(kind, text, before)  # beside a verdict on a line of its own there is nothing


@lru_cache(maxsize=4096)
def _has(kind: Cue, text: str, before: bool) -> bool:
    return cue(kind, before=before).search(plain(text)) is not None


def one_of(name: str, *languages: str) -> str:
    """Return an expression for one of the words of a table, the longest first."""
    found = table()[name]
    words = {word for language in languages or found for word in found.get(language, ())}
    return "|".join(re.escape(word).replace(r"\ ", r"\s{1,4}") for word in sorted(words, key=lambda w: (-len(w), w)))
