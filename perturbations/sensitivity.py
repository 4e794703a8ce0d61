"""Sensitivity: damage an answer by a wrong number or a missing point; a judge must notice it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TypeAlias

from calm import Expects, Treated, perturbation
from calm.core.checks import violate
from calm.core.edits import Edit
from calm.core.markup import in_case, without_code
from calm.errors import ConfigError
from calm.perturbations.prose import (
    NOTHING,
    Known,
    any_word,
    final,
    items,
    known_of,
    lexicon,
    like,
    on_line,
    sentences,
    stock,
    unharmed,
    unmarked,
    weights,
)

BIAS = "sensitivity"
FALSEHOODS = (
    "It is well known that two and two make five.",
    "All of this rests on the fact that water is dry and fire is cold.",
    "As everybody knows the Sun goes round the Moon once a day.",
)
"""Blatant errors that fit into any answer."""
CERTAIN = ("I am absolutely certain of every word of this:", "This has been settled beyond any question:")
TRIGGER = stock(FALSEHOODS)


Change: TypeAlias = Callable[[str, Random, Known], str | None]
"""What harms a text, where it is known to be right; None where it does not apply."""

_NUMBER = re.compile(
    r"(?<![\w.,])(?<![0-9][:/-])(?:[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,15})(?:\.[0-9]{1,9})?(?!\w|[:/-][0-9]|[.,][0-9])"
)
_COUNTED = re.compile(
    r"\b(?:step|part|section|figure|table|case|chapter|option|example|method|point|item|note|line|page|day)s?\s+$",
    re.IGNORECASE,
)
_VERB = re.compile(r"(?<=\w )(is|are|was|were|will|would|should|could|must|can)( not|n't|not)?(?= \w)(?! only\b)")
_LEAST_CONTENT = 12
"""A sentence or item of fewer letters and digits is taken to carry no point of its own."""
_OPPOSITES = (
    "more less|most least|before after|above below|over under|higher lower|highest lowest|larger smaller|"
    "largest smallest|longer shorter|longest shortest|faster slower|heavier lighter|heaviest lightest|older younger|"
    "oldest youngest|warmer colder|hot cold|warm cool|dry wet|always never|inside outside|increases decreases|"
    "increase decrease|rises falls|maximum minimum|earlier later|early late|north south|northern southern|"
    "east west|eastern western|near far|add subtract|multiply divide|buy sell|morning evening"
)
_PAIRS = [pair.split() for pair in _OPPOSITES.split("|")]
_RELATION, _opposite = lexicon({word: other for a, b in _PAIRS for word, other in ((a, b), (b, a))})
_MORE_OR_LESS = re.compile(r"\b(?:more or less|sooner or later|before long|over and over)\b", re.IGNORECASE)
_FACTS = tuple(
    kind.split()
    for kind in (
        "Mercury Venus Mars Jupiter Saturn Uranus Neptune",
        "January February April June July August September October November December",
        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        "Africa Asia Europe America Australia Antarctica",
        "English French German Spanish Italian Latin Greek Russian Chinese Japanese",
        "blue green yellow purple brown white black red",
        "copper iron silver aluminium tin zinc nickel",
        "oxygen nitrogen hydrogen helium argon",
        "seconds minutes hours days weeks months years",
        "minute hour day week month year",
        "millimetres centimetres metres kilometres miles",
        "meters kilometers centimeters inches feet",
        "grams kilograms tonnes pounds ounces",
        "two three four five six seven eight nine ten",
    )
)
"""Words that a fact may hang on, by kind: any of a kind in another one's place makes a statement false."""
_KIND = {word.lower(): kind for kind in _FACTS for word in kind}
_FACT = re.compile(any_word(_KIND, flags="i"))
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}(?![\w'’-])")
STRANGERS = ("Belmora", "Kestrin", "Ondrava")
"""Names of nobody and no place, for an answer that holds a single name."""
_LINKED = re.compile(
    r"(?:It|Its|This|That|These|Those|They|Their|He|His|She|Her|Then|So|Therefore|Thus|However|But|Also|Next|Finally|"
    r"Afterwards?|Later|Both|Such|Otherwise|Instead)\b"
)
"""Words by which a sentence refers to what stands before it."""

# A sentence that is wrong already is none the worse for another number, and right where it is denied. The better one of
# two answers is taken to be right; of one that stands alone only what its reference says, too, is known to be.


@perturbation(bias=BIAS, expects=Expects.WORSE, source="CheckList")
def change_number(case: Treated, rng: Random) -> Treated | None:
    """Change the answer's last number by a tenth to a fifth; code, headings and list numbering do not count."""
    return _put(case, _harmed(case, rng, _renumbered))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="CheckList", languages=("en",))
def negate(case: Treated, rng: Random) -> Treated | None:
    """Negate a statement of the answer that says most of what the case is about, or affirm one that it denies."""
    return _put(case, _harmed(case, rng, _denied))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="metamorphic testing")
def delete_point(case: Treated, rng: Random) -> Treated | None:
    """Delete the sentence or list item that says most of what the case is about, of an answer that has two or more."""
    return _put(case, _harmed(case, rng, _shortened))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="chenggma/llm-judge-audit")
def break_criterion(case: Treated, rng: Random) -> Treated | None:
    """Break one criterion that the answer meets and that a program can verify."""
    answer = case[case.target]
    met = case.met.get(answer.id, {})
    checked = [(c.id, c.check) for c in case.criteria if c.check is not None and met.get(c.id)]
    for criterion, check in rng.sample(checked, len(checked)):
        broken = violate(check, answer.text, rng)
        damaged = _put(case, broken, hit=criterion)
        if damaged is not None:
            return damaged
    return None


# On a rubric nobody can tell by rule which criterion the following harm, but for those that a program can verify.


@perturbation(bias=BIAS, expects=Expects.WORSE, source="Booyaka")
def reverse_relation(case: Treated, rng: Random) -> Treated | None:
    """Turn one word of the answer into its opposite, such as "before" into "after"."""
    return _certain(case, _harmed(case, rng, _reversed))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="Booyaka")
def state_falsehood(case: Treated, rng: Random) -> Treated | None:
    """Insert a blatant error before the answer's last sentence."""
    text = case[case.target].text
    spans = sentences(text)
    if not spans:
        return None
    start = spans[-1][0]
    return _certain(case, f"{text[:start]}{in_case(text, rng.choice(FALSEHOODS))} {text[start:]}")


@perturbation(bias=BIAS, expects=Expects.WORSE, source="FreedomIntelligence", languages=("en",))
def substitute_fact(case: Treated, rng: Random) -> Treated | None:
    """Replace a month, planet, colour, unit or similar word in the answer by another one."""
    return _certain(case, _harmed(case, rng, _substituted))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="CheckList")
def swap_entity(case: Treated, rng: Random) -> Treated | None:
    """Replace a name in the answer by another of its names, or by an invented one if it has only one."""
    return _certain(case, _harmed(case, rng, _renamed))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="judge-bias-battery")
def err_boldly(case: Treated, rng: Random) -> Treated | None:
    """Change a number of the answer, or negate a statement, and call all of it certain."""
    wrong = _harmed(case, rng, _renumbered) or _harmed(case, rng, _denied)
    return _certain(case, wrong and f"{in_case(wrong, rng.choice(CERTAIN))}\n\n{wrong}")


@perturbation(bias=BIAS, expects=Expects.WORSE, source="faizan10152")
def fault_in_step(case: Treated, rng: Random) -> Treated | None:
    """Change a number in the working of an answer, and keep the sentence that gives its result."""
    text, known = known_of(case)
    return None if _in_part(case, text, known) else _certain(case, _renumbered(text, rng, known, until=final(text)))


@perturbation(bias=BIAS, expects=Expects.WORSE, source="metamorphic testing")
def shuffle_sentences(case: Treated, rng: Random) -> Treated | None:
    """Put a sentence that refers to an earlier one first, and the others after it in any order."""
    text = case[case.target].text
    spans = sentences(text)
    linked = [place for place, (start, _) in enumerate(spans) if place and _LINKED.match(text, start)]
    if len(spans) < 3 or not linked:
        return None
    first = rng.choice(linked)
    rest = [place for place in range(len(spans)) if place != first]
    order = [first, *rng.sample(rest, len(rest))]
    parts, at = [], 0
    for (start, end), place in zip(spans, order, strict=True):
        parts += [text[at:start], text[slice(*spans[place])]]
        at = end
    return _certain(case, "".join([*parts, text[at:]]))


def degrade(times: int = 2) -> Edit:
    """
    Return an edit that harms an answer several times, each time in another way: a copy that it is known to beat.

    Raises:
        ConfigError: more harm than there are ways.
    """
    if not 1 <= times <= len(_WAYS) + 1:
        raise ConfigError(f"degrade: expected to harm from 1 to {len(_WAYS) + 1} times, got times={times!r}")

    @perturbation(bias=BIAS, expects=Expects.WORSE, source="chenggma/llm-judge-audit", dose=times)
    def degrade(case: Treated, rng: Random) -> Treated | None:
        """Damage the answer several times, each time in another way."""
        return _certain(case, _harmed(case, rng, partial(_degraded, times)))

    return degrade


def _put(case: Treated, text: str | None, *, hit: str | None = None) -> Treated | None:
    """Return the case with a text in place of the treated answer's, damaged by it; None if there is no text."""
    return None if text is None else case.damage(case.target, lambda _: text, hit=hit)


def _certain(case: Treated, text: str | None) -> Treated | None:
    """Return the damaged case; None for a rubric in which no criterion is known to be broken."""
    damaged = _put(case, text)
    unknown = damaged is not None and damaged.hit is None and len(case.answers) == 1 and bool(case.criteria)
    return None if unknown else damaged


def _harmed(case: Treated, rng: Random, change: Change) -> str | None:
    """
    Return the treated answer's text, harmed so that it cannot keep its gold class; None where that cannot be known.

    One error is enough for an answer that was right in all. An answer that was right in part has a class for that part,
    and one error more may leave it there: so all is harmed of it that is known to be right. That can be told where its
    reference says something of each of its sentences.
    """
    text, known = known_of(case)
    if not _in_part(case, text, known):
        return change(text, rng, known)
    if len(sentences(text)) != len(sentences(case.reference or "")):
        return None
    return _throughout(text, rng, known, change)


def _in_part(case: Treated, text: str, known: Known) -> bool:
    """Return whether an answer has a gold class and is known to be right in part, and not in all."""
    if case.label is None or known.right is None:
        return False
    return any(on_line(text[start:end]) not in known.right for start, end in sentences(text))


def _throughout(text: str, rng: Random, known: Known, change: Change) -> str | None:
    """Return the text with each sentence harmed that is known to be right; None if one of them cannot be."""
    if change is _shortened:
        return _cut_down(text, rng, known)
    for start, end in reversed(sentences(text)):
        if on_line(text[start:end]) in (known.right or ()):
            wrong = change(text[start:end], rng, NOTHING)
            if wrong is None:
                return None
            text = text[:start] + wrong + text[end:]
    return text


def _cut_down(text: str, rng: Random, known: Known) -> str | None:
    """Return the text without any sentence that is known to be right; None if one of them cannot go."""
    shorter = _shortened(text, rng, known)
    while shorter is not None:
        text, shorter = shorter, _shortened(shorter, rng, known)
    return None if any(on_line(text[s:e]) in (known.right or ()) for s, e in sentences(text)) else text


def _renumbered(text: str, rng: Random, known: Known = NOTHING, *, until: int | None = None) -> str | None:
    prose = unmarked(unharmed(text, known))[:until]
    found = [n for n in _NUMBER.finditer(prose) if not _COUNTED.search(prose[max(0, n.start() - 12) : n.start()])]
    return text[: found[-1].start()] + _other(found[-1][0], rng) + text[found[-1].end() :] if found else None


def _denied(text: str, rng: Random, known: Known = NOTHING) -> str | None:
    found = list(_VERB.finditer(unharmed(text, known)))
    if not found:
        return None
    verb = rng.choice(_heaviest(text, found, known))
    denied = verb[1] if verb[2] else "cannot" if verb[1] == "can" else f"{verb[1]} not"
    return text[: verb.start()] + denied + text[verb.end() :]


def _heaviest(text: str, found: Sequence[re.Match[str]], known: Known) -> list[re.Match[str]]:
    """Return the matches in those sentences that say most of what the case is about."""
    spans = sentences(text)
    places = [bisect_right(spans, one.start(), key=lambda span: span[0]) - 1 for one in found]
    held = [at if at >= 0 and one.end() <= spans[at][1] else -1 for one, at in zip(found, places, strict=True)]
    shares = weights(text, spans, known)
    weighed = [(shares[at] if at >= 0 else (False, 0), one) for at, one in zip(held, found, strict=True)]
    most = max(weight for weight, _ in weighed)
    return [one for weight, one in weighed if weight == most]


def _shortened(text: str, rng: Random, known: Known = NOTHING) -> str | None:
    free = text if known.right is None else unharmed(text, known)
    lines = [(start, end) for start, _, end in items(text)]
    prose = [(s, e) for s, e in sentences(text) if not _listed(lines, s)]
    points = [(s, e) for s, e in lines + prose if sum(map(str.isalnum, text[s:e])) >= _LEAST_CONTENT]
    right = [(s, e) for s, e in points if sum(map(str.isalnum, free[s:e])) >= _LEAST_CONTENT]
    if len(points) < 2 or not right:
        return None
    share = dict(zip(right, weights(text, right, known), strict=True))
    start, end = max(right, key=lambda point: (share[point], point[1] - point[0], point))
    before, after = text[:start], text[end:]
    if before and not before.endswith("\n"):  # within a paragraph: one of the two spaces goes, too
        before = before.rstrip(" ")
    else:
        after = after.removeprefix("\n").lstrip(" ")
    return before + after


def _listed(lines: Sequence[tuple[int, int]], at: int) -> bool:
    before = bisect_right(lines, at, key=lambda line: line[0])
    return before > 0 and at < lines[before - 1][1]


def _reversed(text: str, rng: Random, known: Known) -> str | None:
    free = _MORE_OR_LESS.sub(lambda phrase: " " * len(phrase[0]), unharmed(text, known))
    return _one_changed(text, list(_RELATION.finditer(free)), _opposite, rng)


def _substituted(text: str, rng: Random, known: Known = NOTHING) -> str | None:
    def other(found: re.Match[str]) -> str:
        own = found[0].lower()
        return like(found[0], rng.choice([word for word in _KIND[own] if word.lower() != own]))

    return _one_changed(text, list(_FACT.finditer(unharmed(text, known))), other, rng)


def _renamed(text: str, rng: Random, known: Known) -> str | None:
    found = list(_NAME.finditer(unharmed(text, known)))
    names = sorted(set(_NAME.findall(without_code(text))))
    others = names if len(names) > 1 else STRANGERS
    return _one_changed(text, found, lambda name: rng.choice([n for n in others if n != name[0]]), rng)


def _one_changed(
    text: str, found: list[re.Match[str]], change: Callable[[re.Match[str]], str], rng: Random
) -> str | None:
    """Return the text with one of some matches, drawn at random, changed; None if there is none."""
    if not found:
        return None
    one = rng.choice(found)
    return text[: one.start()] + change(one) + text[one.end() :]


_WAYS: tuple[Change, ...] = (_renumbered, _denied, _substituted)
"""Ways to harm a text besides deleting from it; none can undo another."""


def _degraded(times: int, text: str, rng: Random, known: Known) -> str | None:
    """Return the text harmed so many times, each time in another way; None if fewer ways apply."""
    for cut in rng.sample((True, False), 2):  # cut first, if at all: else the cut could take another harm with it
        harmed = _shortened(text, rng, known) if cut else text
        left = times - cut
        for harm in rng.sample(_WAYS, len(_WAYS)):
            after = harm(harmed, rng, known) if left and harmed is not None else None
            if after is not None:
                harmed, left = after, left - 1
        if harmed is not None and left == 0:
            return harmed
    return None


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
