"""See in the text of a prompt which end of a scale is the good one, and by which words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from calm.core.verdict import Scale

_FAULT: Final = (
    r"severe\w*|severity|toxic\w*|harm(?!less|on)\w*|dangerous\w*|danger|unsafe\w*|offensive\w*|abus(?:e|ive)\w*|"
    r"hate(?:ful)?|violen(?:t|ce)|violat\w+|biased|bias(?:es)?|discriminat\w+|hallucinat\w+|fabricat\w+|refus(?:al|e)\w*|"
    r"refusing|risk\w*|rude\w*|insult\w*|threat\w*|profan\w+|obscen\w+|illegal|malicious|inappropriate\w*|misleading|"
    r"deceptive|manipulative|plagiari\w+|spam|errors?|mistakes?|flaws?|defects?|problematic|contradict\w+|leak\w*|jailbreak\w*|lazy|laziness|PII"
)
_BAD: Final = (
    r"worst|worse|bad(?:ly)?|poor\w*|terrible|awful|wrong\w*|useless|fail\w*|catastroph\w+|un(?!iversal|til|der)\w+|"
    r"in(?:correct|complete|accurate|consistent|coherent|sufficient)\w*|irrelevant\w*|incomprehensible|issues?|problems?"
)
_GOOD: Final = (
    r"best|better|good|great|excellent|perfect\w*|outstanding|correct\w*|ideal\w*|helpful\w*|faithful\w*|safe(?:ty)?|"
    r"harmless\w*|benign|accura\w+|relevan\w+|useful\w*|quality|clear\w*|clarity|complete|coheren\w+|fluen\w+|grounded\w*|"
    r"consisten\w+|appropriate\w*|respectful\w*|polite\w*|acceptable|compl(?:y|ies|iant|iance)|flawless|unbiased|well"
)
_NOT: Final = (
    r"not|no|never|none|without|avoid\w*|free|lacks?|lacking|\w+n't|non|neither|nor|refrain\w*|prevent\w*|absence|absent|"
    r"minimi[sz]\w*|zero|cannot|less|least|little"
)
_ALONE: Final = (
    r"\b(?!\W+(?:handling|mitigation|management|prevention|analysis|correction|detection|assessment|awareness|"
    r"messages?)\b)"
)
"""The end of a word that is not the first half of a name, as in "error handling"."""
_WORD: Final = re.compile(
    rf"\b(?:(?P<good>{_GOOD})|(?P<fault>{_FAULT})|(?P<bad>{_BAD})|(?P<no>{_NOT})){_ALONE}", re.IGNORECASE
)
_OTHERWISE: Final = re.compile(
    r"\b(?:reduc|lower|deduct|penali[sz]|subtract|cost|identif|find|found|detect|explain|mention|address|fix|catch|warn|"
    r"point|describ|discuss|acknowledg|refus\w+(?=.*\b(?:harm|unsafe|danger|illegal|toxic|malicious|inappropriate)))",
    re.IGNORECASE,
)
"""What is done to a fault, so that speaking of it is no fault."""
_REACH: Final = 4
"""So many words a negation reaches over."""
_BESIDE: Final = (
    r"[\]\"'`*]{0,4}\s{0,9}(?:points?\s{0,9}|stars?\s{0,9})?"
    r"(?:=+|:|\(|[-–—→]+(?!\s*\d)|(?:,\s{0,9})?\b(?:is|means?|meaning|for|if|when|being|indicat\w+|represent\w+|denot\w+)\b)"
    r"[\s\"'`*(\[:]*(?=(?P<words>[A-Za-z][^.;\n)\]]{0,90}))"
)
"""What stands between a value and the words that explain it, and these words."""
_BEFORE: Final = re.compile(r"[A-Za-z][A-Za-z ,'-]{1,50}\Z")
"""The words before a value in brackets, as in "very harmful (5)"."""
_RANGE: Final = re.compile(r"\d\s*(?:[-–—~]|to|and)\s*\Z", re.IGNORECASE)
"""What stands before the end of a range: what follows is about the scale, not about this value, but in brackets."""
_HIGHER: Final = (
    (r"\bhigher\b[^.;\n]{0,40}\b(?:better|safer|best|good)\b|\blower\b[^.;\n]{0,40}\bworse\b", "high"),
    (
        rf"\b(?:higher|larger|greater)\b[^.;\n]{{0,40}}\b(?:worse|(?:more|greater|higher) (?:\w+ )?(?:{_FAULT}))\b"
        r"|\blower\b[^.;\n]{0,40}\b(?:better|safer|good)\b",
        "low",
    ),
)
_BETWEEN: Final = (
    r"(?:(?:the|its|this|an?|any|overall|total|level|degree|amount|extent|likelihood|probability|of|potential|possible|"
    r"each|following|answer|response|reply|content|text|output|message|model|assistant)(?:'s|s')?\W+){0,6}"
)
_RATED: Final = (
    r"(?:\bhow\W+(?:very\W+)?|\b(?:rate|grade|score|judge|assess|evaluate|measure|quantify|estimate|rating|scoring)\W+"
    rf"{_BETWEEN})(?:for\W+)?"
)
_MERIT: Final = re.compile(rf"{_RATED}(?P<what>{_GOOD})\b", re.IGNORECASE)
_DEMERIT: Final = re.compile(rf"{_RATED}(?P<what>{_FAULT}|bad){_ALONE}", re.IGNORECASE)
_COUNTED: Final = (
    r"\b(?:how (?:much|many)|count|(?:number|amount|share|percentage|proportion|extent) of)\W+"
    rf"(?:(?!(?:{_NOT})\b)\w+\W+){{0,4}}?(?P<what>{_FAULT}){_ALONE}"
    rf"(?=(?:(?!\b(?:{_GOOD}|rate|score)\b)[^.!\n\d]){{0,90}}\b\d+\s*(?:\([^()\n]{{1,40}}\)\s*)?(?:[-–—~]|to|and)\s*\d)"
)
"""A fault that is counted on a scale, which follows."""
_SCORED: Final = rf"(?<![\w-])(?P<what>{_FAULT})[ _-](?:scores?|ratings?|levels?|scale|grade)\b"
_ASKS: Final = re.compile(
    r"(?:\b(?:does|do|did|is|are|was|were|has|have|contains?)\b(?=[^.!?\n]{3,200}\?)|\bwhether\b"
    r"|\b(?:determine|decide|check|judge|assess|evaluate|tell|say|detect|identify) (?:if|whether)\b)"
    r"(?P<words>[^.!?\n]{3,200})",
    re.IGNORECASE,
)
_YES: Final = ("yes", "true", "y")
_NAME: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Direction:
    """Which end of a scale is good (None: nothing says so), the words that say it, and where they begin."""

    best: Literal["high", "low"] | None = None
    words: str = ""
    at: int = 0

    @property
    def fault(self) -> str:
        """The words by which the low end is the good one; empty where it is not."""
        return self.words if self.best == "low" else ""


def direction_of(
    text: str, scale: Scale, values: Mapping[str, float | str] | None = None, names: Iterable[str] = ()
) -> Direction:
    """
    Return which end of a scale a prompt calls the good one.

    The words beside a value say it first ("5 (very harmful)"), then what a yes says ("Is it toxic?"), then what is
    rated ("how severe"), then the name of the verdict ("toxicity").

    Args:
        text: the prompt.
        scale: its scale, whatever its `best`.
        values: what the words of a verdict are worth.
        names: how the verdict is called: its field, its tag.

    >>> direction_of("Rate it from 1 (poor) to 5 (excellent).", Scale(1, 5)).best
    'high'
    >>> direction_of("How toxic is it?", Scale(0, 4)), direction_of("Score it.", Scale(0, 4)).best
    (Direction(best='low', words='toxic', at=4), None)
    """
    worth = {word.lower(): value for word, value in (values or {}).items() if isinstance(value, int | float)}
    for pattern, best in _HIGHER:
        if found := re.search(pattern, text, re.IGNORECASE):
            return Direction("high" if best == "high" else "low", found[0], found.start())
    beside = list(_beside(text, scale, worth))
    for found_by in (beside, _asked(text, scale, worth), _rated(text), _called(names)):
        ends = {one.best: one for one in found_by}
        if len(ends) == 1:
            return next(iter(ends.values()))
        if ends:
            return Direction()
    return Direction()


def _tone(words: str) -> tuple[int, str]:
    """
    Return 1 where words call something good, -1 where they call it bad, else 0; and the word that does.

    >>> _tone("no hallucinations at all"), _tone("very harmful"), _tone("not helpful"), _tone("somewhat")
    ((1, 'hallucinations'), (-1, 'harmful'), (-1, 'helpful'), (0, ''))
    """
    if _OTHERWISE.search(words):
        return 0, ""
    found: dict[int, str] = {}
    negated = -_REACH - 1
    places = [one.start() for one in re.finditer(r"\w+", words)]
    for one in _WORD.finditer(words):
        number = sum(place < one.start() for place in places)
        if one["no"]:
            negated = number
            continue
        tone = 1 if one["good"] else -1
        found.setdefault(-tone if number - negated <= _REACH else tone, one[0])
    return next(iter(found.items())) if len(found) == 1 else (0, "")


def _beside(text: str, scale: Scale, worth: Mapping[str, float]) -> Iterator[Direction]:
    for end, sign in ((scale.high, 1), (scale.low, -1)):
        number = rf"(?<![\d.]){end:g}(?:\.0+)?(?![\d.]*\d)"
        for value in (number, *(rf"\b{re.escape(word)}\b" for word, worth_of in worth.items() if worth_of == end)):
            for words, at in _explained(text, value):
                tone, word = _tone(words)
                if tone:
                    yield Direction("high" if tone == sign else "low", word, at + words.find(word))
    for named, worth_of in worth.items():
        tone, _ = _tone(named)
        if tone and worth_of in (scale.low, scale.high):
            yield Direction(
                "high" if (tone > 0) == (worth_of == scale.high) else "low", named, max(0, text.find(named))
            )


def _explained(text: str, value: str) -> Iterator[tuple[str, int]]:
    for found in re.finditer(value + _BESIDE, text, re.IGNORECASE):
        between = text[found.start() : found.start("words")]
        if "(" in between or not _RANGE.search(text, max(0, found.start() - 12), found.start()):
            yield found["words"], found.start("words")
    for found in re.finditer(rf"[(\[]\s{{0,9}}{value}\s{{0,9}}[)\]]", text, re.IGNORECASE):
        start = max(0, found.start() - 60)
        if before := _BEFORE.search(text[start : found.start()].rstrip()):
            yield before[0], start + before.start()


def _asked(text: str, scale: Scale, worth: Mapping[str, float]) -> Iterator[Direction]:
    yes = next((worth[word] for word in _YES if word in worth), None)
    if yes not in (scale.low, scale.high):
        return
    for found in _ASKS.finditer(text):
        tone, word = _tone(found["words"])
        if tone:
            at = found.start("words") + found["words"].find(word)
            yield Direction("high" if (tone > 0) == (yes == scale.high) else "low", word, at)


def _rated(text: str) -> Iterator[Direction]:
    for found in _MERIT.finditer(text):
        yield Direction("high", found["what"], found.start("what"))
    for found in (*_DEMERIT.finditer(text), *re.finditer(_COUNTED, text, re.IGNORECASE)):
        yield Direction("low", found["what"], found.start("what"))
    for found in re.finditer(_SCORED, text, re.IGNORECASE):
        if not re.search(
            rf"\b(?:{_NOT}|anti)\W+(?:\w+\W+)?\Z", text[max(0, found.start() - 40) : found.start()], re.IGNORECASE
        ):
            yield Direction("low", found["what"], found.start("what"))


def _called(names: Iterable[str]) -> Iterator[Direction]:
    for name in names:
        words = [word.lower() for word in _NAME.findall(name)]
        tone, _ = _tone(" ".join(words))
        if tone:
            tone = 1 if words[-1] == "free" else tone
            yield Direction("high" if tone > 0 else "low", name)
