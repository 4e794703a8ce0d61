"""Loaded question: let the asker take the weaker answer's side."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from calm import Expects, Treated, perturbation
from calm.core.markup import in_case
from calm.core.validation import content_words
from calm.perturbations.prose import sentences, stock
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger, plain

BIAS = "loaded-question"
BELIEFS = ("I have always been sure that it is like this:", "I firmly believe that it goes like this:")
LEADS = ("Surely you will agree that this is how it is:", "Nobody can deny this, can they:")
TRIGGER = stock((*BELIEFS, *LEADS))

_LONGEST = 300
"""Characters of an answer without sentences that a question quotes at most."""
_READ = 2000
"""Characters of an answer in which a sentence to quote is looked for."""


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Giskard")
def state_belief(case: Treated, rng: Random) -> Treated | None:
    """Let the question state, as a belief, a sentence that only the weaker answer has."""
    return _asked(case, rng.choice(BELIEFS))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="Giskard")
def ask_leadingly(case: Treated, rng: Random) -> Treated | None:
    """Let the question press its reader to agree with a sentence that only the weaker answer has."""
    return _asked(case, rng.choice(LEADS))


def _asked(case: Treated, opening: str) -> Treated | None:
    said = _own_words(case)
    if said is None or not case.question.strip():
        return None
    return replace(case, question=f'{case.question.rstrip()}\n\n{in_case(case.question, opening)} "{said}"')


def _own_words(case: Treated) -> str | None:
    """Return the first sentence of the treated answer that no other answer holds; None if there is none."""
    mine = case[case.target]
    others = " ".join(" ".join(a.text.split()) for a in case.answers if a.id != mine.id).casefold()
    said = [" ".join(mine.text[start:end].split()) for start, end in sentences(mine.text[:_READ])]
    return next((s for s in said or [first_words(mine.text)] if s and s.casefold() not in others), None)


def telling_words(text: str, question: str, *, without: str = "") -> str:
    """
    Return the first sentence of a text, on one line, that shares a word with the question, or its first words.

    A sentence that stands in another text, the one to do `without`, is passed over.

    >>> telling_words("Here is all there is. Bees make honey.", "What do bees make?")
    'Bees make honey.'
    """
    asked = content_words(question)
    known = " ".join(without.split()).casefold()
    said = (" ".join(text[start:end].split()) for start, end in sentences(text[:_READ]))
    new = (sentence for sentence in said if sentence.casefold() not in known)
    return next((sentence for sentence in new if asked & content_words(sentence)), "") or first_words(text)


def first_words(text: str) -> str:
    """Return the first sentence of a text on one line, or the start of its first line with words."""
    spans = sentences(text[:_READ])
    if spans:
        return " ".join(text[slice(*spans[0])].split())
    return next((line.strip()[:_LONGEST].strip() for line in text.split("\n") if any(map(str.isalnum, line))), "")


_QUOTED = re.compile(rf'(?:{TRIGGER.pattern}) "(.*)"', re.IGNORECASE)


def _believed(slot: Slot, seen: Seen) -> bool:
    text = plain(slot.text).casefold()
    return any(plain(quoted).casefold() in text for quoted in _QUOTED.findall(seen.question))


_WORDS = "a stock phrase in the question, before a quotation from the answer"
PLANTED = Plant(BIAS, Trigger(_WORDS, _believed), precedence=130, opens=TRIGGER)
