"""Several verdicts on one case to one: by mean or by majority, with weights; and when too few could be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Literal, TypeAlias

from calm.core.case import TIE, Case
from calm.core.verdict import (
    Criteria,
    Preferred,
    Ranking,
    Refused,
    Score,
    Tie,
    Unreadable,
    Verdict,
    readable,
)

Rule: TypeAlias = Literal["mean", "majority"]
Weighted: TypeAlias = list[tuple[Verdict, float]]

NEAR = 1e-9


def combined(
    verdicts: Sequence[Verdict], case: Case, rule: Rule = "mean", *, weights: Sequence[float] = (), all_: bool = False
) -> Verdict:
    """
    Return the one verdict of several.

    Those that say nothing are left out; there is no verdict if not more than half of them (or, with `all_`, not every
    one) can be read. Weights, if there are any, need not sum to one.
    """
    given = list(zip(verdicts, weights or [1.0] * len(verdicts), strict=True))
    found = [(v, w) for v, w in given if readable(v)]
    silent = [v for v, _ in given if not readable(v)]
    if not found or (silent and all_) or 2 * len(found) <= len(given):
        return _none(silent, len(given))
    if not fsum(w for _, w in found) > 0:
        found = [(v, 1.0) for v, _ in found]
    if all(isinstance(v, Preferred | Tie) for v, _ in found):
        return _choice(found, case, rule)
    if all(isinstance(v, Score) for v, _ in found):
        return _score(found, rule)
    if all(isinstance(v, Criteria) for v, _ in found):
        return _criteria(found)
    if all(isinstance(v, Ranking) for v, _ in found):
        return _ranking(found)
    return Unreadable("the verdicts are of different kinds")


def _none(silent: Sequence[Verdict], asked: int) -> Verdict:
    if len(silent) == asked and silent and all(isinstance(v, Refused) for v in silent):
        return silent[0]
    if len(silent) == 1 and isinstance(silent[0], Unreadable | Refused):
        return silent[0]
    return Unreadable(f"{len(silent)} of {asked} verdicts could not be read")


def _choice(found: Weighted, case: Case, rule: Rule) -> Verdict:
    """Return the answer with the greater share of probability or of votes, if ties have no greater one."""
    total = fsum(w for _, w in found)
    names = (*(a.id for a in case.answers), TIE)
    shares = {n: fsum(w * _probability(v, n, rule) for v, w in found) / total for n in names}
    known = rule == "majority" or len(found) > 1 or _probabilities(found[0][0]) is not None
    first, second = sorted(names[:-1], key=lambda n: -shares[n])[:2]
    if shares[first] > shares[second] + NEAR and shares[first] >= shares[TIE] - NEAR:
        return Preferred(first, shares if known else None)
    return Tie(shares if known else None)


def _probabilities(verdict: Verdict) -> Mapping[str, float] | None:
    return verdict.probabilities if isinstance(verdict, Preferred | Tie) else None


def _probability(verdict: Verdict, name: str, rule: Rule) -> float:
    known = _probabilities(verdict)
    if known is not None and rule == "mean":
        return known.get(name, 0.0)
    return float((verdict.answer if isinstance(verdict, Preferred) else TIE) == name)


def _score(found: Weighted, rule: Rule) -> Verdict:
    values = sorted((v.value, w) for v, w in found if isinstance(v, Score))
    total = fsum(w for _, w in values)
    if rule == "mean":
        return Score(fsum(value * w for value, w in values) / total)
    below = 0.0
    for place, (value, w) in enumerate(values):
        below += w
        if abs(below - total / 2) < NEAR and place + 1 < len(values):
            return Score((value + values[place + 1][0]) / 2)
        if below > total / 2:
            return Score(value)
    return Score(values[-1][0])


def _criteria(found: Weighted) -> Verdict:
    """Return each criterion as most see it: None where they are even, or not more than half of them can be read."""
    read = [(v, w) for v, w in found if isinstance(v, Criteria)]
    met: dict[str, bool | None] = {}
    shares: dict[str, float] = {}
    for criterion in dict.fromkeys(c for v, _ in read for c in v.met):
        votes = [(_share(v, criterion), w) for v, w in read if v.met.get(criterion) is not None]
        total = fsum(w for _, w in votes)
        if 2 * len(votes) <= len(read) or not total > 0:
            met[criterion] = None
            continue
        share = shares[criterion] = fsum(s * w for s, w in votes) / total
        met[criterion] = None if abs(share - 0.5) < NEAR else share > 0.5
    if all(m is None for m in met.values()):
        return Unreadable("the verdicts are even on every criterion")
    return Criteria(met, shares)


def _share(verdict: Criteria, criterion: str) -> float:
    known = (verdict.probabilities or {}).get(criterion)
    return float(bool(verdict.met[criterion])) if known is None else known


def _ranking(found: Weighted) -> Verdict:
    """Return the order of the mean ranks; answers with one rank are tied."""
    total = fsum(w for _, w in found)
    means: dict[str, float] = {}
    for verdict, w in found:
        for name, rank in _ranks(verdict).items():
            means[name] = means.get(name, 0.0) + rank * w / total
    groups: list[list[str]] = []
    for name in sorted(means, key=lambda n: (means[n], n)):
        if groups and abs(means[groups[-1][0]] - means[name]) < NEAR:
            groups[-1].append(name)
        else:
            groups.append([name])
    return Ranking(tuple(tuple(group) for group in groups))


def _ranks(verdict: Verdict) -> dict[str, float]:
    ranks: dict[str, float] = {}
    place = 0
    for group in verdict.order if isinstance(verdict, Ranking) else ():
        ranks |= dict.fromkeys(group, place + (len(group) - 1) / 2)
        place += len(group)
    return ranks
