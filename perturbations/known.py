"""Known: what is known of an answer that is to be harmed, and which of its sentences matter most."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from calm import Treated
from calm.core.checks import verify
from calm.core.markup import without_code
from calm.perturbations.prose import sentences

_TOKEN = re.compile(r"[^\W_]{4,}|(?<!\w)[^\W_]*\d[^\W_]*(?:[-:.,/][^\W_]+)*")
_COMMON = frozenset(
    (
        *("about", "also", "been", "could", "does", "each", "every", "from", "have", "here", "into", "just", "like"),
        *("many", "more", "most", "much", "must", "need", "only", "other", "over", "please", "same", "should", "some"),
        *("such", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "very", "want"),
        *("were", "what", "when", "where", "which", "while", "will", "with", "would", "your"),
    )
)
"""Words that any sentence may share with any case."""
_NUMBER_WORTH = 3
_MOST_TRIED = 20


@dataclass(frozen=True, slots=True)
class Known:
    """
    What is known of the answer that is harmed.

    `right` holds the sentences that are known to be right, on one line each; None where no more is known of some.
    `beside` is what the case says beside the answer. `checks` are those of the criteria that the answer meets.
    """

    right: frozenset[str] | None = None
    beside: str = ""
    checks: tuple[Mapping[str, object], ...] = ()


NOTHING: Final = Known()


def known_of(case: Treated) -> tuple[str, Known]:
    """Return the treated answer, and what is known of it."""
    answer = case[case.target]
    said = [case.question, case.reference or "", *(t.text for t in case.turns), *(p.text for p in case.context)]
    met = case.met.get(answer.id, {})
    checks = tuple(c.check for c in case.criteria if c.check is not None and met.get(c.id) and c.points > 0)
    return answer.text, Known(_right(case, answer.text), "\n".join(said), checks)


def _right(case: Treated, text: str) -> frozenset[str] | None:
    """Return what a graded answer beside a reference says as that does, if it says any of it; None of another one."""
    if len(case.answers) > 1 or case.criteria or not case.reference:  # criteria are verified themselves
        return None
    reference = on_line(case.reference)
    said = (on_line(text[start:end]) for start, end in sentences(text))
    return frozenset(sentence for sentence in said if sentence in reference) or None


def on_line(text: str) -> str:
    """Return a text without its line breaks and repeated spaces."""
    return " ".join(text.split())


def unharmed(text: str, known: Known) -> str:
    """Return the text with blanks for its code and for what may be wrong already; every offset stays."""
    free = without_code(text)
    if known.right is None:
        return free
    parts, at = [], 0
    for start, end in sentences(text):
        kept = free[start:end] if on_line(text[start:end]) in known.right else " " * (end - start)
        parts += [" " * (start - at), kept]
        at = end
    return "".join([*parts, " " * (len(text) - at)])


def weights(text: str, spans: Sequence[tuple[int, int]], known: Known) -> list[tuple[bool, int]]:
    """
    Return for each span of a text whether a check fails without it, and how much it says of what the case is about.

    A number, or a sign with a digit, counts as much as three words. Checks are tried on the spans that say most.
    """
    topic = _tokens(known.beside)
    shares = [_shared(text[start:end], topic) for start, end in spans]
    tried = sorted(range(len(spans)), key=lambda i: -shares[i])[:_MOST_TRIED] if known.checks else []
    needed = {i for i in tried if _fails(text[: spans[i][0]] + text[spans[i][1] :], known)}
    return [(i in needed, share) for i, share in enumerate(shares)]


@lru_cache(maxsize=1)
def _tokens(said: str) -> frozenset[str]:
    """Return the words and numbers of a text; of one case they are asked for again and again."""
    return frozenset(_TOKEN.findall(said.casefold()))


def _shared(said: str, topic: frozenset[str]) -> int:
    found = topic.intersection(_TOKEN.findall(said.casefold()))
    return sum(_NUMBER_WORTH if any(map(str.isdigit, token)) else token not in _COMMON for token in found)


def _fails(text: str, known: Known) -> bool:
    return not all(verify(check, text) for check in known.checks)
