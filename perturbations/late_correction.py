"""Late correction: let the user correct a fact in the last turns; an answer that keeps to the old one must lose."""

from __future__ import annotations

import re
from random import Random
from typing import Final

from calm import Expects, Treated, perturbation
from calm.core.case import Turn
from calm.core.checks import verify
from calm.core.markup import without_code
from calm.perturbations.conversation import asker, places, replier, with_turns
from calm.perturbations.prose import counted, stock, unmarked
from calm.perturbations.triggers import Plant, Seen, Slot, Trigger

BIAS = "late-correction"
BEGINS = "There is one thing that I put wrongly before:"
NOTED = "I keep to what you say now."
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS: Final = (
    *("January", "February", "April", "June", "July", "August", "September", "October", "November", "December"),
)
"""The months without March and May, which are words of other meanings, too."""
TRIGGER = stock((BEGINS,))
_FACT = re.compile(
    rf"(?<![\w.:,-])(?:[A-Za-z]{{0,4}}-?\d{{1,8}}(?:[.:]\d{{2}})?|{'|'.join((*DAYS, *MONTHS))})(?![\w.:,-]?\w)"
)
_SAID = re.compile(rf'{re.escape(BEGINS)} it is "([^"]+)" and not "([^"]+)"')
_DIGITS = re.compile(r"\d+")
_LAST_DAY, _NEXT = 28, 10
_SMALL = 2
"""A number of so few digits is the same fact only where it counts the same: 2 children are not 2 eggs."""


@perturbation(bias=BIAS, expects=Expects.WORSE, source="own", tasks=("pairwise", "score", "rubric", "listwise"))
def follow_old_fact(case: Treated, rng: Random) -> Treated | None:
    """Let the user say a number, a day or a month wrongly first and correct it, and the better answer miss that."""
    facts = _facts(case)
    if not facts:
        return None
    right = rng.choice(facts)
    wrong = _other(right, rng)
    if any(_holds(text, wrong) for text in (case.question, *(turn.text for turn in case.turns))):
        return None
    hit = _broken(case, right, wrong)
    if hit is None and len(case.answers) == 1 and case.criteria:
        return None  # no program knows which criterion is about the fact
    harmed = case.damage(case.target, lambda text: _replaced(text, right, wrong), hit=hit)
    if harmed is None:
        return None
    told = [Turn(turn.role, _replaced(turn.text, right, wrong)) for turn in case.turns]
    correction = Turn(asker(case), f'{BEGINS} it is "{right}" and not "{wrong}".')
    return with_turns(harmed, (*told, correction, Turn(replier(case), NOTED)))


def _facts(case: Treated) -> list[str]:
    """Return the facts of the answer that the user said in a turn; none of the question, or of code."""
    said = {fact for place in places(case) for fact in _in(case.turns[place].text)}
    asked = {fact for fact, _ in _in(case.question)}
    told = _in(without_code(case[case.target].text))
    return list(dict.fromkeys(one[0] for one in told if one in said and one[0] not in asked))


def _broken(case: Treated, right: str, wrong: str) -> str | None:
    """Return the id of the first criterion that a program finds kept by the answer, and broken with the old fact."""
    text = case[case.target].text
    old = _replaced(text, right, wrong)
    checked = ((one.id, one.check) for one in case.criteria if one.check is not None)
    return next((name for name, check in checked if verify(check, text) and not verify(check, old)), None)


def _in(text: str) -> list[tuple[str, str]]:
    """Return the facts of a text, a small number with what it counts; the number of a list item is none."""
    free = unmarked(text)
    return [
        (one[0], counted(free, one.start(), one.end()) if one[0].isdecimal() and len(one[0]) <= _SMALL else "")
        for one in _FACT.finditer(free)
    ]


def _other(fact: str, rng: Random) -> str:
    """Return another fact of the same kind, which does not differ in form: a day for a day, a time for a time."""
    for words in (DAYS, MONTHS):
        if fact in words:
            return rng.choice([word for word in words if word != fact])
    *_, last = _DIGITS.finditer(fact)
    digits = last[0]
    if ":" in fact:
        others = [one for one in ("00", "15", "30", "45") if one != digits]
    elif fact == digits and int(digits) <= _LAST_DAY and not digits.startswith("0"):  # it may be the day of a month
        span = range(2, _NEXT) if int(digits) < _NEXT else range(_NEXT, _LAST_DAY + 1)
        others = [str(number) for number in span if number != int(digits)]
    else:
        others = [f"{digits[:-1]}{digit}" for digit in "123456789" if digit != digits[-1]]
    return f"{fact[: last.start()]}{rng.choice(others)}{fact[last.end() :]}"


def _holds(text: str, fact: str) -> bool:
    return fact in text and _pattern(fact).search(unmarked(text)) is not None


def _replaced(text: str, old: str, new: str) -> str:
    """Return a text with another fact in the place of one; headings and the numbers of list items stay."""
    if old not in text:
        return text
    parts, at = [], 0
    for found in _pattern(old).finditer(unmarked(text)):
        parts += [text[at : found.start()], new]
        at = found.end()
    return "".join([*parts, text[at:]])


def _pattern(fact: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.:,-]){re.escape(fact)}(?![\w.:,-]?\w)")


def _keeps_to_old(slot: Slot, seen: Seen) -> bool:
    found = (_SAID.search(turn.text) for turn in seen.turns)
    return any(said is not None and _holds(slot.text, said[2]) and not _holds(slot.text, said[1]) for said in found)


PLANTED = Plant(BIAS, Trigger("a fact that a stock phrase in a turn calls wrong, in the answer", _keeps_to_old))
