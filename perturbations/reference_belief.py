"""
Reference or belief: give the judge a wrong reference; one that is to go by its reference must follow it all the same.

What a reference says may differ from what a judge believes: facts change, and a question may be about a rule of one
house. A judge that must go by the reference, but goes by its belief, makes the reference useless, and its
verdict is wrong wherever the belief is (arXiv:2601.07506). A judge without this instruction may do either.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Final

from calm import Expects, Treated, perturbation
from calm.core.case import TIE, Treatment
from calm.core.edits import Prompt
from calm.core.markup import without_code
from calm.perturbations.prose import contradicts, sentences
from calm.perturbations.triggers import Effect, Plant, Seen, Slot, Trigger, plain

BIAS = "reference-belief"
SOURCE = "arXiv:2601.07506"
DENIAL = "Most people get one point wrong. It is a mistake to say this:"
TRIGGER = re.compile(re.escape(DENIAL), re.IGNORECASE)
CONTRADICTS: Final = "contradicts"
"""The tag of a case that names the answer which contradicts the reference, by its id, where no program can tell."""

BESIDE = frozenset({"swap_reference", "deny_in_reference"})
"""Edits that harm an answer by what is shown beside it: its text stays."""

_REFERENCE = r"(?:reference|gold(?:en)? answer|ground[ -]truth|model answer|expected answer|correct answer)"
_RULE = (
    r"(?:correct|right|true|contradict\w*|against|according|agree\w*|disagree\w*|match\w*|consistent|compar\w+|differ\w*|"
    r"go(?:es)? by|follow\w*|based on|rely|trust)"
)
_TOLD = re.compile(rf"\b{_REFERENCE}\b[^.!?\n]*\b{_RULE}\b|\b{_RULE}\b[^.!?\n]*\b{_REFERENCE}\b", re.IGNORECASE)
_THE = r"(?:(?:the|this|that|any|a|its|your|given|provided|above|following)\s+)*"
_IT = rf"(?:{_THE}{_REFERENCE}|it)\b"
_NOT = r"(?:not|never|n['’]t|without)\s+(?:\w+ly\s+|always\s+|have\s+to\s+|need\s+to\s+|to\s+)*"
_FOLLOW = (
    r"(?:rely(?:ing)?\s+on|trust|follow|go(?:ing)?\s+by|use|consult|consider|depend\s+on|be\s+bound\s+by|"
    r"compare\s+\w+\s+(?:with|to))"
)
_WRONG = (
    r"(?:wrong|incorrect|false|outdated|incomplete|inaccurate|unreliable|imperfect|misleading|biased|ignored|not|"
    r"differ|errors?|mistakes?)"
)
_DOUBTED = re.compile(
    rf"\b{_REFERENCE}(?:\s+(?:answer|itself|given|provided|above))*\s+(?:"
    rf"(?:may|might|can|could)\s+(?:\w+\s+){{0,3}}{_WRONG}|(?:is|are)\s+(?:not|sometimes|often|only|merely|just)|"
    rf"isn['’]t|(?:need|must|should)\s+not|does\s+not\s+(?:have|need)|cannot|(?:has|contains)\s+(?:errors|mistakes))\b|"
    rf"{_NOT}{_FOLLOW}\s+{_IT}|\bunless\s+{_IT}|(?<!not\s)(?<!never\s)(?<!n['’]t\s)"
    rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|set\s+aside|forget|distrust|overrul\w+|overrid\w+)\s+{_IT}",
    re.IGNORECASE,
)
"""Words that tell a judge not to go by the reference, or that it may be wrong."""
_FREE = re.compile(
    r"\b(?:need\s+not|needn['’]t|not\s+(?:have|need)\s+to|not\s+necessarily|n['’]t\s+(?:have|need)\s+to)\b",
    re.IGNORECASE,
)
"""A sentence with these words lets an answer differ from the reference."""
_SENTENCE = re.compile(r"[^.!?\n]+")
_TAGS = re.compile(r"\{[{%#].*?[}%#]\}", re.DOTALL)


def goes_by_reference(prompt: Prompt | None) -> bool:
    """
    Return whether a judge is instructed to go by the reference: a sentence of its prompt says that, or it has no
    prompt.

    A sentence says so if it names the reference beside a word such as "correct", "contradicts" or "according to". None
    does in a prompt that doubts the reference, or says not to follow it.
    """
    if prompt is None:
        return True
    texts = [_TAGS.sub("", message.text) for message in prompt.messages]
    if any(_DOUBTED.search(text) for text in texts):
        return False
    return any(_TOLD.search(one) and not _FREE.search(one) for text in texts for one in _SENTENCE.findall(text))


@perturbation(bias=BIAS, expects=Expects.WORSE, source=SOURCE, tasks=("pairwise",))
def swap_reference(case: Treated, rng: Random) -> Treated | None:
    """Give the weaker answer, which contradicts the reference, as the reference; by it the better one is wrong."""
    ids = [answer.id for answer in case.answers]
    if case.reference is None or len(ids) != 2 or case.better == TIE:
        return None
    better = case[case.better or case.target]
    weaker = case[next(i for i in ids if i != better.id)]
    if not weaker.text.strip() or plain(weaker.text) in (plain(better.text), plain(case.reference)):
        return None
    told = case.tags.get(CONTRADICTS) == weaker.id
    if not told and not contradicts(weaker.text, better.text, case.reference, asked=case.question):
        return None  # the better one may only be better written: it is right by either text
    return replace(case, reference=weaker.text, better=weaker.id, treatment=Treatment(better.id, better.id))


@perturbation(bias=BIAS, expects=Expects.WORSE, source=SOURCE, tasks=("score",))
def deny_in_reference(case: Treated, rng: Random) -> Treated | None:
    """Let the reference deny one of the sentences that it and the answer have in common."""
    if case.reference is None or len(case.answers) != 1 or case.criteria:
        return None
    reference, text = case.reference, without_code(case[case.target].text)
    said = {plain(text[start:end]) for start, end in sentences(text)}
    shared = [span for span in sentences(reference) if plain(reference[slice(*span)]) in said]
    if not shared:
        return None
    start, end = rng.choice(shared)
    wrong = f'{reference[:start]}{DENIAL} "{reference[start:end]}"{reference[end:]}'
    scores = {answer: score - 3 for answer, score in case.scores.items()}
    return replace(case, reference=wrong, scores=scores, treatment=Treatment(case.target, case.target))


def _believed(slot: Slot, seen: Seen) -> bool:
    """Return whether an answer is right but for the swapped reference, as a judge that knows better sees it."""
    if len(seen.answers) == 1:
        return TRIGGER.search(seen.reference) is not None
    texts = {plain(answer.text) for answer in seen.answers}
    return len(texts) > 1 and plain(seen.reference) in texts - {plain(slot.text)}


PLANTED = Plant(
    BIAS,
    Trigger("a reference that denies the answer, or that is the text of another one", _believed),
    effect=Effect.OVERLOOK,
)
