"""
Turn a prompt round by rule: which answer is better becomes which is worse, how good becomes how bad.

Only plain sentences are turned. If a text says what is good in any other words, nothing is turned: a twin that asks for
"the answer that follows the instruction worse" is no question. Then a person must write it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

_VALUES: Final = re.compile(
    r"\b(?:better|best|good|great|excellent|prefer\w*|superior|worse|worst|bad|poor\w*|winn\w+|wins?|stronger|higher|"
    r"highest|favou?r\w*|correct\w*|helpful\w*|quality|perfect\w*|accura\w+|outstanding|lower|lowest|weak\w*)\b",
    re.IGNORECASE,
)
"""Words that say which way round a prompt asks; each must be in a sentence that a rule knows."""
_NOUN: Final = (
    r"(?:answer|response|output|reply|assistant|completion|one|candidate|review|comment|summary|translation|draft|"
    r"version|option|model|bot|agent)s?"
)
_SLOT: Final = r"(?:[A-Z0-9]|\[?\{\{[^{}]+\}\}\]?|[Aa]ssistant [A-Z0-9])"
_MORE: Final = r",? (?:and|but|or|while|without)\b[^?\n]*(?=\?)"
"""The rest of a question with several criteria: the opposite of all of them is not the opposite of one."""
_PAIRWISE: Final = (
    (
        rf"\b(which (?:of the )?(?:two )?{_NOUN} )((?:(?:is|are) (?:the )?(?:better|best)|(?:\w+ )?"
        rf"(?:helps|serves|answers) (?:\w+ ){{1,5}}(?:better|more)){_MORE})",
        "{0}is worse, if the better one {1}",
    ),
    (rf"\b(which (?:of the )?(?:two )?(?:{_NOUN} )?(?:is|are) )(?:the )?(better|best)\b", "{0}worse"),
    (
        rf"\b(which (?:of the )?(?:two )?(?:{_NOUN} )(?:\w+ )?(?:helps|serves|answers) (?:\w+ ){{1,5}})(better|more)\b",
        "{0}less",
    ),
    (rf"\b((?:if|when) (?:the )?(?:{_NOUN} )?{_SLOT} is )(better)\b", "{0}worse"),
    (r"\b((?:if|when) (?:neither|none) (?:of them )?(?:is|does) )(better)\b", "{0}worse"),
    (r"\b((?:if|when) both are (?:equally|as) )(good)\b", "{0}bad"),
    (rf"\b(the )(better|best)( (?:{_NOUN}))\b", "{0}worse{2}"),
)
_SCORE: Final = (
    (r"\b(how )(good)\b", "{0}bad"),
    (r"(\b\d+\s*(?:=|:|is|means|for|\()\s*(?:the )?)(best|good)\b", "{0}worst"),
    (r"(\b\d+\s*(?:=|:|is|means|for|\()\s*(?:the )?)(worst|bad)\b", "{0}best"),
)


@dataclass(frozen=True, slots=True)
class Turned:
    """A text that asks the other way round (None: no rule turns it), and the word and line that no rule knows."""

    text: str | None
    word: str = ""
    line: int = 0


def turned(template: str, task: Literal["pairwise", "score"]) -> Turned:
    """
    Return a template that asks for the worse answer, or how bad an answer is.

    >>> turned("Say which answer is better. End with [[A]] if A is better.", "pairwise").text
    'Say which answer is worse. End with [[A]] if A is worse.'
    >>> turned("Choose the one that answers better.", "pairwise")
    Turned(text=None, word='better', line=1)
    """
    known: list[tuple[int, int, str]] = []
    for pattern, form in _PAIRWISE if task == "pairwise" else _SCORE:
        for found in re.finditer(pattern, template, re.IGNORECASE):
            if not any(start < found.end() and found.start() < end for start, end, _ in known):
                known.append((found.start(), found.end(), form.format(*(group or "" for group in found.groups()))))
    for word in _VALUES.finditer(template):
        if not any(start <= word.start() < end for start, end, _ in known):
            return Turned(None, word[0], template.count("\n", 0, word.start()) + 1)
    if not known:
        return Turned(None)
    parts, at = [], 0
    for start, end, text in sorted(known):
        parts += [template[at:start], text]
        at = end
    return Turned("".join([*parts, template[at:]]))
