"""
Verdicts on pairs, from the side of one author: who won, in both orders, by a judge and by outsiders.

Outsiders are coded from the same side, whichever judge is in question. A judge without a readable verdict in one order
of a pair is left out of that pair: the rest would measure the position of the answer, not its worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from random import Random

import numpy as np

from calm.core.case import TIE
from calm.core.claims import Estimate
from calm.core.verdict import Preferred, Tie, Verdict
from calm.errors import EstimateError
from calm.selfpreference.contrasts import DRAWS, Floats, Grid
from calm.selfpreference.opportunity import (
    NONE,
    OTHER,
    SELF,
    BothOrders,
    Outcomes,
    both_orders,
    excess_opportunity,
    outcomes_of_scores,
    own_scores,
)
from calm.selfpreference.verdicts import Judgment, item_of
from calm.statistics.intervals import padded_t


@dataclass(frozen=True, slots=True)
class AuthorPair:
    """
    A pair of an author's answer and one of another author, with the verdicts on it.

    `gold` is people's outcome. `said` holds each judge's outcome in every order, those first in which the author's own
    answer came first; `scores` its score of the own answer, for judges that gave probabilities in both orders.
    """

    item: str
    other: str
    gold: int
    said: Mapping[str, tuple[int, ...]]
    scores: Mapping[str, float]

    def outcome(self, judge: str) -> int:
        """Return who won: by the mean score of both orders, else the winner of all orders; `NONE` if there is none."""
        if judge in self.scores:
            return int(outcomes_of_scores(np.array([self.scores[judge]]))[0])
        said = set(self.said[judge])
        return said.pop() if len(said) == 1 else NONE

    def favour(self, judge: str) -> float:
        """Return the share of orders that the own answer won, a tie counting a half."""
        return fsum((one + 1) / 2 for one in self.said[judge]) / len(self.said[judge])


def faced(judged: Sequence[Judgment], author: str) -> list[AuthorPair]:
    """Return the pairs with one answer of an author and one of another; `judged` holds the verdicts of all judges."""
    pairs: dict[tuple[str, frozenset[str]], dict[str, list[tuple[bool, Judgment]]]] = {}
    orders: dict[tuple[str, frozenset[str]], set[str]] = {}
    for one in judged:
        authors = [answer.author for answer in one.case.answers]
        if len(authors) == 2 and authors.count(author) == 1 and None not in authors:
            key = item_of(one.case), frozenset(answer.id for answer in one.case.answers)
            first = one.case.shown[0].author == author
            pairs.setdefault(key, {}).setdefault(one.judge, []).append((not first, one))
            orders.setdefault(key, set()).add(one.case.id)
    found = []
    for key, by_judge in pairs.items():
        case = next(iter(by_judge.values()))[0][1].case
        own = next(answer.id for answer in case.answers if answer.author == author)
        other = next(str(answer.author) for answer in case.answers if answer.author != author)
        said: dict[str, tuple[int, ...]] = {}
        scores: dict[str, float] = {}
        for judge, given in by_judge.items():
            verdicts = [one.verdict for _, one in sorted(given, key=lambda g: g[0])]
            if len(verdicts) < len(orders[key]) or not all(isinstance(v, Preferred | Tie) for v in verdicts):
                continue
            said[judge] = tuple(_side(v.answer if isinstance(v, Preferred) else None, own) for v in verdicts)
            if len(verdicts) == 2 and (score := _score(verdicts, case.answers, own)) is not None:
                scores[judge] = score
        found.append(AuthorPair(key[0], other, _side(case.better, own), said, scores))
    return found


def outcomes(pairs: Sequence[AuthorPair], judge: str) -> tuple[Outcomes, Outcomes, tuple[str, ...]]:
    """Return gold and judged outcome, and the item, of the pairs on which a judge gave a verdict."""
    seen = [pair for pair in pairs if judge in pair.said]
    gold = np.array([pair.gold for pair in seen], dtype=np.int8)
    return gold, np.array([pair.outcome(judge) for pair in seen], dtype=np.int8), tuple(pair.item for pair in seen)


def orders_of(pairs: Sequence[AuthorPair], judge: str) -> BothOrders:
    """
    Return the wins of either side in both orders, with the exact sign test, over the pairs asked in both.

    Raises `EstimateError` where no pair was.
    """
    said = [pair.said[judge] for pair in pairs if len(pair.said.get(judge, ())) == 2]
    first, second = (np.array([one[place] for one in said], dtype=np.int8) for place in range(2))
    return both_orders(first, second)


def gap_excess(
    pairs: Sequence[AuthorPair],
    judge: str,
    families: Mapping[str, str],
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
) -> Estimate:
    """
    Return a judge's equal-opportunity gap minus that of outsiders on the same pairs, in [-2, 2].

    `pairs` are those of the judge's own answers. An outsider has a family that is neither the judge's nor the other
    author's; pairs with a relative of the judge are left out. Items are resampled whole.

    Raises `EstimateError` where there is no outsider, or a class of pairs is empty, also in a resampled set.
    """
    seen = [pair for pair in pairs if judge in pair.said and families[pair.other] != families[judge]]
    others = dict.fromkeys(name for pair in seen for name in pair.said if families[name] != families[judge])
    usable = {name: [name in p.said and families[p.other] != families[name] for p in seen] for name in others}
    outsiders = [name for name, fit in usable.items() if any(fit)]
    if not outsiders:
        raise EstimateError(
            f"expected a judge outside the family of {judge!r} on pairs of its answers and those of a third family, "
            "got none; add judges or generators of other families"
        )
    gold, said, items = outcomes(seen, judge)
    rows = [[p.outcome(name) if name in p.said else NONE for p in seen] for name in outsiders]
    return excess_opportunity(
        gold,
        said,
        np.array(rows, dtype=np.int8),
        rng,
        cases=items,
        usable=np.array([usable[name] for name in outsiders]),
        level=level,
        draws=draws,
    )


def pair_excess(
    judged: Sequence[Judgment], judge: str, families: Mapping[str, str], *, level: float = 0.05
) -> Estimate:
    """
    Return how much more often a judge prefers its own answer than outsiders do on the same pairs, in [-1, 1].

    A preference counts 1 or 0, a tie a half. An outsider has a family that is neither the judge's nor the other
    author's. Both orders and all pairs of an item are averaged first: the item is the unit. Padded t, one-sided bounds
    at `level`. The worth of the answers cancels; 0 for a fair judge as skilled as the outsiders.

    Raises `EstimateError` where no pair with an own answer was judged by the judge and an outsider, or one item alone.
    """
    values: dict[str, list[float]] = {}
    for pair in faced(judged, judge):
        if judge not in pair.said or families[pair.other] == families[judge]:
            continue
        related = families[judge], families[pair.other]
        outside = [pair.favour(name) for name in pair.said if families[name] not in related]
        if outside:
            values.setdefault(pair.item, []).append(pair.favour(judge) - fsum(outside) / len(outside))
    means = [fsum(found) / len(found) for found in values.values()]
    if len(means) < 2:
        raise EstimateError(
            f"expected pairs of an answer of {judge!r} and one of another family, judged by it and by a judge related "
            f"to neither, for at least 2 items, got {len(means)}; add judges or generators of other families"
        )
    low, high = padded_t(means, -1, 1, level)
    return Estimate(fsum(means) / len(means), low, high, len(means), level)


def wins(judged: Sequence[Judgment]) -> dict[tuple[str, str], float]:
    """Return the share of pairs that an author's answers won, by judge and author; a tie is half a win for both."""
    won: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        if not isinstance(one.verdict, Preferred | Tie):
            continue
        chosen = one.verdict.answer if isinstance(one.verdict, Preferred) else None
        for answer in one.case.answers:
            if answer.author is not None:
                value = 0.5 if chosen is None else float(chosen == answer.id)
                won.setdefault((one.judge, answer.author), []).append(value)
    return {key: fsum(values) / len(values) for key, values in won.items()}


def win_rates(judged: Sequence[Judgment], grid: Grid) -> Floats:
    """Return `wins` as a table, NaN where a judge gave no verdict on an author's pairs."""
    found = wins(judged)
    return np.array([[found.get((j, g), np.nan) for g in grid.generators] for j in grid.judges], dtype=np.float64)


def grid_of(judged: Sequence[Judgment], families: Mapping[str, str]) -> Grid:
    """Return the judges and the authors of verdicts on pairs, in their order of appearance."""
    authors = tuple(dict.fromkeys(a.author for one in judged for a in one.case.answers if a.author is not None))
    return Grid(tuple(dict.fromkeys(one.judge for one in judged)), authors, families)


def _side(answer: str | None, own: str) -> int:
    if answer is None or answer == TIE:
        return NONE
    return SELF if answer == own else OTHER


def _score(verdicts: Sequence[Verdict], answers: Sequence[object], own: str) -> float | None:
    """Return the mean score of the own answer in both orders, from the probabilities; None without them."""
    ids = [str(getattr(answer, "id", "")) for answer in answers]
    other = next(name for name in ids if name != own)
    logs = []
    for verdict in verdicts:
        known = verdict.probabilities if isinstance(verdict, Preferred | Tie) else None
        if known is None or not known.get(own, 0.0) + known.get(other, 0.0) > 0:
            return None
        with np.errstate(divide="ignore"):
            logs.append(np.log(np.array([[known.get(own, 0.0), known.get(other, 0.0)]])))
    return float(own_scores(*logs)[0])
