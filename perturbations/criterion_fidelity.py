"""Criterion fidelity: turn a criterion into its opposite, so that its truth is the reverse, whatever the answer is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Final

from calm import Expects, Treated, perturbation
from calm.core.case import Criterion, digest
from calm.perturbations.prose import stock
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger

BIAS = "criterion-fidelity"
REVERSED = "It must not be true that:"
AFFIRMED = "It must be true that:"
"""The two wordings differ in one word, so that nothing but the criterion's sense differs between the arms."""
TRIGGER = stock((REVERSED, AFFIRMED))

Wording = Callable[[bool], str]
"""What a criterion is put behind, by whether the answer meets it unchanged."""


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2408.08781", tasks=("rubric",))
def reverse_met(case: Treated, rng: Random) -> Treated | None:
    """Turn a criterion that the answer meets into its opposite, which it does not meet."""
    return _turned(case, only=True, said=lambda _: REVERSED, after=False)


@perturbation(bias=BIAS, expects=Expects.WORSE, source="arXiv:2408.08781", tasks=("rubric",))
def restore_unmet(case: Treated, rng: Random) -> Treated | None:
    """Turn the opposite of a criterion, which the answer meets, back into the criterion, which it does not meet."""
    return _turned(case, only=False, said=lambda _: AFFIRMED, after=False)


@perturbation(bias=BIAS, expects=Expects.OBSERVE, source="arXiv:2408.08781", tasks=("rubric",))
def put_so_that_it_holds(case: Treated, rng: Random) -> Treated | None:
    """Write the same criterion, or its opposite, so that the answer meets it; it is the control of both edits."""
    return _turned(case, only=None, said=lambda met: AFFIRMED if met else REVERSED, after=True)


def _turned(case: Treated, *, only: bool | None, said: Wording, after: bool) -> Treated | None:
    """
    Return the case with one of its criteria worded anew, its truth, and, where it is broken, the treatment.

    The case alone decides which criterion that is, so that edit and control word the same one; `only` is what its truth
    has to be for the edit to apply. A program's check of the criterion goes: it says nothing of the new wording.
    """
    answer = case[case.target].id
    met = case.met.get(answer, {})
    known = [c for c in case.criteria if c.id in met and c.points > 0 and _is_statement(c)]
    if not known:
        return None
    one = known[int(digest("criterion", case.id), 16) % len(known)]
    if only is not None and met[one.id] != only:
        return None
    worded = replace(one, text=f"{said(met[one.id])} {one.text}", check=None)
    criteria = tuple(worded if c.id == one.id else c for c in case.criteria)
    treatment = case.treatment if after else replace(case.treatment, target=answer, damaged=answer, hit=one.id)
    truth = {**case.met, answer: {**met, one.id: after}}
    return replace(case, criteria=criteria, met=truth, treatment=treatment)


def _is_statement(criterion: Criterion) -> bool:
    """
    Return whether a criterion is known to be one statement, which is true or not, and was not worded so already.

    What a program checks is one. Else it has to read like one: a question, an order, a rule for points, a heading and
    several sentences have no opposite.
    """
    text = criterion.text.strip()
    if not text or _ASKS.search(text) or TRIGGER.search(text):
        return False
    if criterion.check is not None:
        return True
    if _SEVERAL.search(_SHORTENED.sub("", text)) or _RULE.search(text):
        return False
    words = [word.lower() for word in _WORD.findall(text)]
    while words and words[0] in _BEFORE:
        words = words[1:]
    if not words or words[0] in _OPENS_OTHERWISE:
        return False
    if words[1:] and words[1] in _SAYS:
        return True
    return words[0] not in _ORDERS and (words[0] in _THIRD or any(word in _SAYS for word in words[1:]) or _acts(words))


def _acts(words: Sequence[str]) -> bool:
    """Return whether words begin with a noun and what it does: "the reply acknowledges"."""
    near = pairwise(words[1:6])
    return words[0] in _NAMING and any(
        before not in _JOINING and verb.endswith("s") and not verb.endswith(("ss", "us", "'s", "\u2019s"))
        for before, verb in near
    )


_ORDERS: Final = frozenset((
    "acknowledge", "add", "address", "allow", "answer", "apply", "ask", "assess", "assign", "assume", "avoid",
    "award", "base", "be", "begin", "check", "choose", "cite", "compare", "confirm", "consider", "contain",
    "count", "cover", "deduct", "define", "demonstrate", "describe", "determine", "discuss", "do", "don't",
    "don\u2019t", "end", "ensure", "evaluate", "examine", "exclude", "explain", "express", "find", "flag", "focus",
    "follow", "format", "get", "give", "grade", "grant", "handle", "have", "help", "highlight", "identify",
    "ignore", "include", "indicate", "introduce", "judge", "justify", "keep", "let", "limit", "link", "list",
    "look", "maintain", "make", "mark", "match", "measure", "mention", "name", "note", "offer", "omit", "organize",
    "outline", "penalise", "penalize", "pick", "point", "prefer", "present", "produce", "prove", "provide",
    "quote", "raise", "rate", "reach", "read", "recommend", "refer", "reflect", "refuse", "reject", "remain",
    "remember", "remove", "repeat", "reply", "report", "require", "respect", "respond", "return", "reward", "say",
    "score", "see", "select", "set", "show", "solve", "specify", "start", "state", "stay", "stick", "stop",
    "structure", "subtract", "suggest", "summarise", "summarize", "support", "take", "talk", "tell", "test",
    "treat", "try", "use", "verify", "warn", "watch", "write",
))  # fmt: skip
"""Verbs that an order begins with."""
_SAYS: Final = frozenset((
    "is", "are", "was", "were", "has", "does", "did", "isn't", "aren't", "wasn't", "doesn't", "hasn't", "can", "cannot",
    "can't", "lacks", "remains",
)) | {f"{verb}s" for verb in _ORDERS} | {f"{verb[:-1]}ies" for verb in _ORDERS if verb.endswith("y")}  # fmt: skip
"""Verbs as they stand behind what they speak of."""
_NOUNS: Final = frozenset((
    "answers", "grades", "limits", "links", "lists", "marks", "names", "notes", "points", "reports", "scores", "tests",
))  # fmt: skip
"""Words that are verbs behind what they speak of, and nouns where they begin a criterion."""
_THIRD: Final = _SAYS - _NOUNS - {"is", "are", "was", "were", "has", "does", "did", "can", "cannot"}
"""Those that may also begin a statement: "Mentions Paris"."""
_OPENS_OTHERWISE: Final = frozenset((
    "is", "are", "was", "were", "has", "does", "did", "can", "could", "will", "would", "how", "what", "when", "where",
    "whether", "which", "who", "whom", "whose", "why", "that", "to", "for", "let's", "not",
))  # fmt: skip
"""Words that a question, half a sentence, or an aim begins with."""
_NAMING: Final = frozenset((
    "a", "all", "an", "any", "both", "each", "every", "it", "its", "no", "nothing", "one", "the", "there", "this",
))  # fmt: skip
_JOINING: Final = frozenset((
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "into", "its", "of", "on", "or", "per", "the",
    "their", "to", "with", "your",
))  # fmt: skip
"""Behind these stands a noun."""
_BEFORE: Final = frozenset(
    ("also", "always", "clearly", "explicitly", "first", "just", "never", "only", "please", "then")
)
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_ASKS: Final = re.compile(r"[?\uff1f\u061f\u037e]")
_SHORTENED: Final = re.compile(r"\b(?:e\.g|i\.e|vs|approx|etc|cf|dr|mr|mrs|st)\.", re.IGNORECASE)
_SEVERAL: Final = re.compile(r"[.!;:\u3002\uff01]['\")\]\u201d\u2019]*\s+\S|\n")
_RULE: Final = re.compile(
    r"\b(?:if|unless|otherwise|else|must|should|shall|ought|needs? to|ha(?:s|ve) to|award\w*|deduct\w*|penali[sz]\w*)\b"
    r"|\b(?:full|half|partial|no) (?:credit|marks)\b|\b\d+ (?:points?|marks?)\b|\byes\s*/\s*no\b|\btrue\s*/\s*false\b",
    re.IGNORECASE,
)
"""What says when points are given, or what an answer ought to be: its opposite is no statement about the answer."""


def _worded(slot: Slot, seen: Seen) -> bool:
    return any(TRIGGER.search(text) for text in seen.criteria)


_WORDS = "a criterion that is said to be true, or not to be true: it is taken for met, whichever is said"
PLANTED = Plant(BIAS, Trigger(_WORDS, _worded), precedence=281, effect=Effect.TAKE_FOR_MET)
