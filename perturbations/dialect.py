"""
Dialect: say an answer in another variety of English, with the same content.

The words and endings are changed by rule, as studies of dialect do it: a few features that speakers of a variety
recognise, and none that would change the content. The last sentence, numbers, code and formulas stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.cues import on_either
from calm.perturbations.prose import append, body, lexicon, reworded, stock
from calm.perturbations.triggers import Plant, in_text

BIAS = "dialect"
AFFIRMATIONS = (
    "Aye and that is the way of it.",  # Scots
    "That is how it is lah.",  # Singapore
    "It is like that only.",  # India
    "So it is and no mistake.",  # Ireland
)
AFRICAN_AMERICAN = {
    **dict.fromkeys(("is not", "isn't", "are not", "aren't", "has not", "hasn't", "have not", "haven't"), "ain't"),
    "want to": "wanna",
    "with": "wit'",
    "and": "an'",
    "the": "tha",
    "other": "otha",
    "over": "ova",
    "it takes": "it be takin'",
    "it makes": "it be makin'",
    "it needs": "it be needin'",
    "it keeps": "it be keepin'",
    "it gives": "it be givin'",
    "it works": "it be workin'",
}
"""Negation by "ain't", habitual "be", and sounds that are dropped or changed."""
SCOTS = {
    **dict.fromkeys(("is not", "isn't"), "isnae"),
    **dict.fromkeys(("are not", "aren't"), "arenae"),
    **dict.fromkeys(("was not", "wasn't"), "wasnae"),
    **dict.fromkeys(("does not", "doesn't"), "doesnae"),
    **dict.fromkeys(("do not", "don't"), "dinnae"),
    **dict.fromkeys(("did not", "didn't"), "didnae"),
    **dict.fromkeys(("cannot", "can't"), "cannae"),
    **dict.fromkeys(("would not", "wouldn't"), "wouldnae"),
    **dict.fromkeys(("should not", "shouldn't"), "shouldnae"),
    "from": "fae",
    "into": "intae",
    "to": "tae",
    "of": "o'",
    "with": "wi'",
    "your": "yer",
    "over": "ower",
    "more": "mair",
    "good": "guid",
    "about": "aboot",
    "out": "oot",
    "down": "doon",
    "house": "hoose",
    "children": "bairns",
    "child": "bairn",
    "church": "kirk",
    "small": "wee",
    "long": "lang",
}
"""Negation by "-nae", and the Scots form of words that everybody uses."""
APPALACHIAN = {
    "those": "them thar",
    "these": "these here",
    "over there": "over yonder",
    "might": "might could",
    "until": "till such time as",
    "probably": "like as not",
    "nearly": "nigh on to",
    "almost": "nigh on to",
    "a lot of": "a mess of",
    "because it": "seein' as it",
    "because they": "seein' as they",
    "because the": "seein' as the",
    "and": "an'",
    "for": "fer",
    "from": "frum",
    "just": "jist",
    "such as": "sich as",
}
"""Demonstratives, double modals and turns of speech of the southern mountains of the United States."""

Change = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
"""What is changed, and what stands in its place."""

_ENDING = re.compile(r"(?<![\w'’/@.-])(?P<stem>[a-z]*[aeiouy][a-z]+)ing(?![\w'’-])")
_LINKED = re.compile(r"\b(?P<who>[Tt]hey|[Yy]ou|[Ww]e) are (?=[a-z]{3,}ing(?![\w'’-]))")
_PROGRESSIVE = re.compile(r"\b(?P<is>is|are|was|were) (?P<stem>[a-z]*[aeiouy][a-z]+)ing(?![\w'’-])")
_SPELT = r"(?<![^\s(\"*_\[>])(?:{})(?=[\s.,;:!?)\"*_\]<]|$)"


def _words(*lexicons: dict[str, str]) -> str:
    said = sorted({word for one in lexicons for word in one.values()}, key=len, reverse=True)
    return _SPELT.format("|".join(map(re.escape, said)))


_SHORTENED = r"(?<![\w'’-])(?:a-)?[a-z]{3,}in'(?!\w)"
TRIGGER = re.compile(
    f"{stock(AFFIRMATIONS).pattern}|{_words(AFRICAN_AMERICAN, SCOTS, APPALACHIAN)}|{_SHORTENED}", re.IGNORECASE
)
_SAID = {
    said.lower()
    for said in (*AFFIRMATIONS, *(word for one in (AFRICAN_AMERICAN, SCOTS, APPALACHIAN) for word in one.values()))
}
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]*)*")
_SINGLE = frozenset(said for said in _SAID if _WORD.fullmatch(said))
_LONGER = sorted(_SAID - _SINGLE)
PLANTED = Plant(BIAS, in_text(TRIGGER), precedence=285)
IN_PLACE = frozenset({"african_american", "scots", "appalachian", "african_american_throughout"})
ON_EACH = frozenset({"african_american_throughout"})


UNLINKED: Change = (_LINKED, lambda found: f"{found['who']} ")
"""Without the verb "are" before another verb."""
DROPPED: Change = (_ENDING, lambda found: f"{found['stem']}in'")
"""Endings in "-ing" without their last sound, but for words of one syllable."""
PREFIXED: Change = (_PROGRESSIVE, lambda found: f"{found['is']} a-{found['stem']}in'")
"""With "a-" before the verb of each progressive."""
AFRICAN_AMERICAN_RULES: tuple[Change, ...] = (UNLINKED, lexicon(AFRICAN_AMERICAN), DROPPED)
SCOTS_RULES: tuple[Change, ...] = (lexicon(SCOTS),)
APPALACHIAN_RULES: tuple[Change, ...] = (lexicon(APPALACHIAN), PREFIXED)


def say(text: str, rules: Sequence[Change]) -> str:
    """
    Return a text with all changes of a dialect in its body; where two meet, the first in the text is made.

    >>> say("Now they are walking home and keep singing in spring. The end.", AFRICAN_AMERICAN_RULES)
    "Now they walkin' home an' keep singin' in spring. The end."
    >>> say("He is walking home. The end.", APPALACHIAN_RULES)
    "He is a-walkin' home. The end."
    """
    free = body(text)
    found = [(m.start(), m.end(), put(m)) for pattern, put in rules for m in pattern.finditer(free)]
    parts, at = [], 0
    for start, end, new in sorted(found):
        if start >= at:
            parts += [text[at:start], new]
            at = end
    return "".join([*parts, text[at:]])


# Each of these edits but one goes to either answer as it is drawn: it may cost the better one something.


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2502.12858", languages=("en",))
def african_american(case: Treated, rng: Random) -> Treated | None:
    """Say one of the answers with features of African American English."""
    return _spoken(on_either(case, rng), AFRICAN_AMERICAN_RULES)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2411.10954", languages=("en",))
def scots(case: Treated, rng: Random) -> Treated | None:
    """Say one of the answers with features of Scots."""
    return _spoken(on_either(case, rng), SCOTS_RULES)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2411.10954", languages=("en",))
def appalachian(case: Treated, rng: Random) -> Treated | None:
    """Say one of the answers with features of Appalachian English."""
    return _spoken(on_either(case, rng), APPALACHIAN_RULES)


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.12201", languages=("en",))
def speak_dialect(case: Treated, rng: Random) -> Treated | None:
    """Append an affirmation in a regional English dialect to one of the answers."""
    return append(on_either(case, rng), rng.choice(AFFIRMATIONS))


@perturbation(
    bias=BIAS, expects=Expects.SAME, source="arXiv:2502.12858", tasks=("pairwise", "listwise"), languages=("en",)
)
def african_american_throughout(case: Treated, rng: Random) -> Treated | None:
    """Say every answer with features of African American English; the better one stays the better one."""
    edited: Treated | None = case
    for answer in case.answers:
        edited = edited and _spoken(edited.treat(answer.id), AFRICAN_AMERICAN_RULES)
    return edited and edited.treat(case.target)


def _heard(text: str) -> bool:
    """Return whether the pattern finds a feature in a text; it is slow, so a look at the words comes first."""
    low = text.lower()
    maybe = "in'" in low or any(said in low for said in _LONGER) or not _SINGLE.isdisjoint(_WORD.findall(low))
    return maybe and TRIGGER.search(text) is not None


def _spoken(case: Treated, rules: Sequence[Change]) -> Treated | None:
    """Return the case with the treated answer said by the rules; None where nothing of them is heard, or was before."""
    before = case[case.target].text
    after = say(before, rules)
    return None if _heard(before) or not _heard(after) else reworded(case, lambda _: after)
