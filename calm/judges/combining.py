"""
The one law by which several verdicts on a case become one.

| rule | preference | score | criterion | ranking |
|---|---|---|---|---|
| `majority` | more votes for an answer than for the other | median | met by more than half of the votes | mean place |
| `mean` | more probability for an answer than for the other | mean | met by more than half on average | mean place |
| `unanimous` | every verdict prefers the answer | | | |

- **Ties.** A preference that no answer wins is a tie. A verdict that is a tie speaks for neither answer, so it decides
  nothing against those that do.
- **Even splits.** Half is not a majority: an even split is a tie of answers, and a criterion that is not met. The
  criterion is not None, which would mean that it could not be read. A class wins by the most votes, or by the most
  probability on average; two that share the first place leave no verdict, as of classes there is no tie.
- **Weights.** A verdict of weight 2 counts as two equal ones, under every rule: in votes, means, medians and places.
- **Probabilities.** `mean` uses those that a verdict has, and gives back their mean; a verdict without is certain.
  `majority` counts votes alone.
- **Silence.** What cannot be read is left out. If that is half of the verdicts or more (or any, where every one is
  needed), there is none: the first that could not be read, or a refusal if all of these are. The same holds for each
  criterion, which is None then. A verdict that never came (`NoReply`) leaves none, whatever the others say.

Decision 11 argues why.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import fsum
from typing import Literal, TypeAlias

from calm.core.case import TIE, Case
from calm.core.verdict import (
    Criteria,
    Label,
    NoReply,
    Preferred,
    Ranking,
    Refused,
    Score,
    Tie,
    Unreadable,
    Verdict,
    readable,
)

Rule: TypeAlias = Literal["majority", "mean"]

LAW = 2
"""The version of the law, which is part of the fingerprints of judges that it changes: the cache holds old verdicts."""
NEAR = 1e-9
"""Sums of a few decimal numbers that differ by no more are equal."""


def combined(
    verdicts: Sequence[Verdict], case: Case, rule: Rule = "mean", *, weights: Sequence[float] = (), every: bool = False
) -> Verdict:
    """
    Return the one verdict of several on a case, at least one of them.

    Weights are above 0 and need not sum to one; without any, all are equal. With `every`, there is no verdict unless
    each one can be read.

    >>> from calm.core.case import Answer
    >>> pair = Case("c", "Which?", (Answer("x", "one"), Answer("y", "two")))
    >>> combined([Preferred("x"), Tie(), Tie()], pair, "majority")
    Preferred(answer='x', probabilities=None)
    >>> combined([Score(2.0), Score(7.0), Score(6.0)], pair, weights=[2, 1, 1])
    Score(value=4.25, probabilities=None)
    """
    none = _none(verdicts, every=every)
    if none is not None:
        return none
    found = [(v, w) for v, w in zip(verdicts, weights or [1.0] * len(verdicts), strict=True) if readable(v)]
    if len(found) == 1:
        return found[0][0]
    probable = rule == "mean"
    if all(isinstance(v, Preferred | Tie) for v, _ in found):
        return _preference(found, case, probable=probable)
    if all(isinstance(v, Score) for v, _ in found):
        values = [(v.value, w) for v, w in found if isinstance(v, Score)]
        return Score(_mean(values) if probable else _median(values))
    if all(isinstance(v, Criteria) for v, _ in found):
        return _criteria([(v, w) for v, w in found if isinstance(v, Criteria)], case, len(verdicts), probable=probable)
    if all(isinstance(v, Label) for v, _ in found):
        return _class([(v, w) for v, w in found if isinstance(v, Label)], probable=probable)
    if all(isinstance(v, Ranking) for v, _ in found):
        return _ranking([(v, w) for v, w in found if isinstance(v, Ranking)], case)
    return Unreadable("the verdicts are of different kinds")


def unanimous(verdicts: Sequence[Verdict], case: Case) -> Verdict:
    """Return the preference that all verdicts on a pair share, a tie where they differ; each must be readable."""
    none = _none(verdicts, every=True)
    if none is not None:
        return none
    known = all(isinstance(v, Preferred | Tie) and v.probabilities is not None for v in verdicts)
    shares = _shares([(v, 1.0) for v in verdicts], case, probable=True) if known else None
    first, *others = (_answer(v) for v in verdicts)
    return Tie(shares) if first == TIE or any(one != first for one in others) else Preferred(first, shares)


def _none(verdicts: Sequence[Verdict], *, every: bool) -> Verdict | None:
    lost = next((v for v in verdicts if isinstance(v, NoReply)), None)
    silent = [v for v in verdicts if not readable(v)]
    if lost is not None or not silent or (2 * len(silent) < len(verdicts) and not every):
        return lost
    if all(isinstance(v, Refused) for v in silent):
        return silent[0]
    return next((v for v in silent if isinstance(v, Unreadable)), Unreadable("no criterion could be read"))


def _preference(found: Sequence[tuple[Verdict, float]], case: Case, *, probable: bool) -> Verdict:
    shares = _shares(found, case, probable=probable)
    first, second = (answer.id for answer in case.answers)
    lead = shares[first] - shares[second]
    known = shares if probable else None
    return Tie(known) if abs(lead) < NEAR else Preferred(first if lead > 0 else second, known)


def _shares(found: Sequence[tuple[Verdict, float]], case: Case, *, probable: bool) -> dict[str, float]:
    names = (*(answer.id for answer in case.answers), TIE)
    return {name: _mean([(_share(v, name, probable=probable), w) for v, w in found]) for name in names}


def _share(verdict: Verdict, name: str, *, probable: bool) -> float:
    known = verdict.probabilities if isinstance(verdict, Preferred | Tie) else None
    return known.get(name, 0.0) if probable and known else float(_answer(verdict) == name)


def _answer(verdict: Verdict) -> str:
    return verdict.answer if isinstance(verdict, Preferred) else TIE


def _class(found: Sequence[tuple[Label, float]], *, probable: bool) -> Verdict:
    names = dict.fromkeys(name for v, _ in found for name in (v.value, *(v.probabilities or {})))
    shares = {name: _mean([(_in_class(v, name, probable=probable), w) for v, w in found]) for name in names}
    most = max(shares.values())
    top = [name for name, share in shares.items() if most - share < NEAR]
    if len(top) > 1:
        return Unreadable(f"the verdicts are divided between {' and '.join(top)}")
    return Label(top[0], shares if probable else None)


def _in_class(verdict: Label, name: str, *, probable: bool) -> float:
    known = verdict.probabilities if probable else None
    return float(verdict.value == name) if known is None else known.get(name, 0.0)


def _criteria(found: Sequence[tuple[Criteria, float]], case: Case, asked: int, *, probable: bool) -> Criteria:
    met: dict[str, bool | None] = {}
    shares: dict[str, float] = {}
    for criterion in (c.id for c in case.criteria):
        votes = [(_met(v, criterion, probable=probable), w) for v, w in found if v.met.get(criterion) is not None]
        met[criterion] = None
        if 2 * len(votes) > asked:
            shares[criterion] = _mean(votes)
            met[criterion] = shares[criterion] > 0.5 + NEAR
    return Criteria(met, shares if probable else None)


def _met(verdict: Criteria, criterion: str, *, probable: bool) -> float:
    known = verdict.probabilities or {}
    return known[criterion] if probable and criterion in known else float(bool(verdict.met[criterion]))


def _ranking(found: Sequence[tuple[Ranking, float]], case: Case) -> Ranking:
    places: dict[str, list[tuple[float, float]]] = {answer.id: [] for answer in case.answers}
    for ranking, weight in found:
        before = 0
        for group in ranking.order:
            for answer in group:
                places[answer].append((before + (len(group) + 1) / 2, weight))
            before += len(group)
    means = {answer: _mean(values) for answer, values in places.items()}
    groups: list[list[str]] = []
    for answer in sorted(means, key=means.__getitem__):
        if groups and means[answer] - means[groups[-1][-1]] < NEAR:
            groups[-1].append(answer)
        else:
            groups.append([answer])
    return Ranking(tuple(tuple(sorted(group, key=list(means).index)) for group in groups))


def _mean(values: Sequence[tuple[float, float]]) -> float:
    mean = fsum(value * weight for value, weight in values) / fsum(weight for _, weight in values)
    return min(max(value for value, _ in values), max(min(value for value, _ in values), mean))


def _median(values: Sequence[tuple[float, float]]) -> float:
    ordered = sorted(values)
    half = fsum(weight for _, weight in ordered) / 2
    reached = 0.0
    for (value, weight), (after, _) in pairwise(ordered):
        reached += weight
        if abs(reached - half) < NEAR * half:
            return (value + after) / 2
        if reached > half:
            return value
    return ordered[-1][0]
