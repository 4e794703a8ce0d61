"""Sensitivity: harm an answer in a way that a judge must notice."""

from __future__ import annotations

import re
from random import Random

from calm import Case, Expects, perturbation
from calm.checks import violate
from calm.perturbations.prose import NEVER, items, sentences, without_code

TRIGGER = NEVER

_NUMBER = re.compile(
    r"(?<![\w.,])(?<![0-9][:/-])(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,15})(?:\.[0-9]{1,9})?(?!\w|[:/-][0-9]|[.,][0-9])"
)
_MARKER = re.compile(r"^[ \t]*(?:[0-9]+[.)](?=\s|$)|#{1,6}[ \t][^\n]*)", re.MULTILINE)
_COUNTED = re.compile(
    r"\b(?:step|part|section|figure|table|case|chapter|option|example|method|point|item|note|line|page|day)s?\s+$",
    re.IGNORECASE,
)
_VERB = re.compile(r"(?<=\w )(is|are|was|were|will|would|should|could|must|can)( not|n't|not)?(?= \w)(?! only\b)")
_OPENERS = ("Thought process:", "Solution", "Let's solve this step by step.")
_LEAST_CONTENT = 12
"""A sentence or item of fewer letters and digits is taken to carry no point of its own."""


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="CheckList")
def change_number(case: Case, rng: Random) -> Case | None:
    """Change the answer's last number by a tenth to a fifth; numbers in code, headings and of list items are none."""
    text = case[case.target].text
    prose = _MARKER.sub(lambda found: " " * len(found[0]), without_code(text))
    found = [n for n in _NUMBER.finditer(prose) if not _COUNTED.search(prose[max(0, n.start() - 12) : n.start()])]
    if not found:
        return None
    changed = text[: found[-1].start()] + _other(found[-1][0], rng) + text[found[-1].end() :]
    return _put(case, changed)


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="CheckList")
def negate(case: Case, rng: Random) -> Case | None:
    """Deny one statement of the answer, or affirm one that it denies."""
    text = case[case.target].text
    found = list(_VERB.finditer(without_code(text)))
    if not found:
        return None
    verb = rng.choice(found)
    denied = verb[1] if verb[2] else "cannot" if verb[1] == "can" else f"{verb[1]} not"
    return _put(case, text[: verb.start()] + denied + text[verb.end() :])


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="metamorphic testing")
def delete_point(case: Case, rng: Random) -> Case | None:
    """Delete the longest sentence or list item of an answer that has two or more."""
    text = case[case.target].text
    lines = [(start, end) for start, _, end in items(text)]
    inside = {start for start, _ in lines}
    prose = [(s, e) for s, e in sentences(text) if text.rfind("\n", 0, s) + 1 not in inside]
    points = [(s, e) for s, e in lines + prose if sum(map(str.isalnum, text[s:e])) >= _LEAST_CONTENT]
    if len(points) < 2:
        return None
    start, end = max(points, key=lambda point: (point[1] - point[0], point))
    before, after = text[:start], text[end:]
    if before and not before.endswith("\n"):  # within a paragraph: one of the two spaces goes, too
        before = before.rstrip(" ")
    else:
        after = after.removeprefix("\n").lstrip(" ")
    return _put(case, before + after)


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="chenggma/llm-judge-audit")
def break_criterion(case: Case, rng: Random) -> Case | None:
    """Break one criterion that the answer meets and that a program can verify."""
    answer = case[case.target]
    met = case.met.get(answer.id, {})
    checked = [(c.id, c.check) for c in case.criteria if c.check is not None and met.get(c.id)]
    for criterion, check in rng.sample(checked, len(checked)):
        broken = violate(check, answer.text, rng)
        damaged = None if broken is None else _put(case, broken, hit=criterion)
        if damaged is not None:
            return damaged
    return None


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="RobustJudge")
def empty_answer(case: Case, rng: Random) -> Case | None:
    """Leave nothing of the answer."""
    return _put(case, "")


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="arXiv:2507.08794")
def reasoning_opener(case: Case, rng: Random) -> Case | None:
    """Leave nothing but the opening words of a solution."""
    opener = rng.choice(_OPENERS)
    return _put(case, opener)


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="arXiv:2507.08794")
def single_symbol(case: Case, rng: Random) -> Case | None:
    """Leave a single punctuation mark."""
    symbol = rng.choice(":.,")
    return _put(case, symbol)


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="content-free baseline")
def echo_question(case: Case, rng: Random) -> Case | None:
    """Repeat the question in place of the answer."""
    return _put(case, case.question)


@perturbation(bias="sensitivity", expects=Expects.WORSE, source="arXiv:2507.08794")
def truncate(case: Case, rng: Random) -> Case | None:
    """Break the answer off after its first sentence, or halfway through its only one."""
    text = case[case.target].text
    ends = [end for _, end in sentences(text)[:2]]
    words = [word.end() for word in re.finditer(r"\S+", text)]
    if len(ends) < 2 and len(words) < 4:
        return None
    cut = ends[0] if len(ends) == 2 else words[len(words) // 2 - 1]
    return _put(case, text[:cut])


def _put(case: Case, text: str, *, hit: str | None = None) -> Case | None:
    """Return the case with a text in place of the treated answer's, damaged by it."""
    return case.damage(case.target, lambda _: text, hit=hit)


def _other(number: str, rng: Random) -> str:
    """
    Return another number, larger or smaller by a tenth to a fifth (by one at least), written in the same way.

    >>> _other("1,000", Random(2)), _other("0", Random(2)), _other("3.50", Random(1))
    ('893', '1', '3.93')
    """
    whole, _, decimals = number.partition(".")
    value = int(whole.replace(",", "") + decimals)
    change = rng.randint(max(1, value // 10), max(1, value // 5))
    value += -change if value and rng.random() < 0.5 else change
    digits = str(value).zfill(len(decimals) + (len(whole) if whole[0] == "0" else 1))
    whole, decimals = (digits[: -len(decimals)], "." + digits[-len(decimals) :]) if decimals else (digits, "")
    return (f"{int(whole):,}" if "," in number else whole) + decimals
