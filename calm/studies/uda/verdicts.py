"""What judges said of answers by known authors, as comparisons of these authors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan
from statistics import fmean

from calm.core.case import Answer, Case
from calm.core.items import item_of
from calm.core.verdict import Code
from calm.studies.uda.comparisons import Key, Named


@dataclass(frozen=True, slots=True)
class Said:
    """A judge's verdicts on a case, a code for each ask; the answers of the case are in the order shown."""

    judge: str
    case: Case
    codes: tuple[Code, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """
    What is known of the cases that verdicts are about.

    `own` is the key of the first answer of each author, by item; `surprise` are log-perplexities, by judge, item and
    author.
    """

    own: Mapping[tuple[str, str], Key]
    surprise: Mapping[str, Mapping[str, Mapping[str, float]]]


def key_of(item: str, answer: Answer) -> Key:
    """Return the key of an answer: a model may have several answers to a question."""
    return item, answer.author or "", answer.text


def outcome(said: Said) -> float | tuple[float, ...] | None:
    """
    Return what the asks say on average, None if none can be read: a share of the first answer, a score, or places.

    Of a rubric it is the sum of the points that are met; of a ranking the place of each answer, 1 the best.
    """
    found = [value for code in said.codes if (value := _value(code, said.case)) is not None]
    if not found:
        return None
    places = [value for value in found if isinstance(value, tuple)]
    if places:
        return tuple(fmean(of) for of in zip(*places, strict=True))
    return fmean(value for value in found if isinstance(value, float))


def _value(code: Code, case: Case) -> float | tuple[float, ...] | None:
    match code:
        case str() if code.startswith("!"):
            return None
        case str():
            return 0.5 if code == "tie" else float(code == case.answers[0].id)
        case dict():
            points = {criterion.id: criterion.points for criterion in case.criteria}
            if any(met is None for met in code.values()):
                return None
            return float(sum(points.get(name, 1.0) for name, met in code.items() if met))
        case list():
            place = {name: float(at) for at, group in enumerate(code, start=1) for name in group}
            return tuple(place.get(a.id, nan) for a in case.answers)
        case _:
            return float(code)


def named(judge: str, said: Sequence[tuple[Case, float | tuple[float, ...]]], known: Known) -> Iterator[Named]:
    """Return the comparisons of one judge, in the order of the cases."""
    alone: dict[str, list[tuple[Case, float]]] = {}
    for case, value in said:
        if isinstance(value, tuple):
            for (a, place), (b, other) in combinations(zip(case.answers, value, strict=True), 2):
                yield from _one(judge, case, (a, b), _ahead(other, place), known)
        elif len(case.answers) == 1:
            alone.setdefault(item_of(case), []).append((case, value))
        else:
            yield from _one(judge, case, case.answers, value, known)
    for answered in alone.values():
        for (one, value), (two, other) in combinations(answered, 2):
            yield from _one(judge, one, (*one.answers, *two.answers), _ahead(value, other), known)


def _ahead(a: float, b: float) -> float:
    """Return 1 for the higher of two numbers, 0 for the lower, a half for equal ones."""
    return 0.5 if a == b else float(a > b)


def _one(judge: str, case: Case, answers: Sequence[Answer], share: float, known: Known) -> Iterator[Named]:
    """Return the comparison of two answers to the question of a case; none of two answers of one model."""
    a, b = answers
    if a.author == b.author or a.author is None or b.author is None:
        return
    item = item_of(case)
    of = known.surprise.get(judge, {}).get(item, {})
    surprise = of.get(a.author, nan), of.get(b.author, nan), of.get(judge, nan)
    own = known.own.get((item, judge), (item, judge))
    yield Named(item, judge, a.author, b.author, share, key_of(item, a), key_of(item, b), own, surprise)
