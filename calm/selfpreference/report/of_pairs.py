"""All figures of verdicts on pairs, each pair in both orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from random import Random

from calm.core.items import item_of
from calm.core.units import Unit
from calm.errors import EstimateError
from calm.selfpreference import (
    opportunity,
    pairs,
)
from calm.selfpreference.contrasts import DRAWS
from calm.selfpreference.families import Leak
from calm.selfpreference.perplexity import Curves
from calm.selfpreference.report.of_opportunity import opportunity_parts
from calm.selfpreference.report.rows import (
    JudgeRow,
    SelfPreference,
    add_excess,
    estimates_of,
    families_in,
    matrix_of,
    pull,
)
from calm.selfpreference.verdicts import Judgment


def of_pairs(
    judged: Sequence[Judgment],
    families: Mapping[str, str],
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
) -> SelfPreference:
    """
    Return all figures of verdicts on pairs, each pair in both orders.

    Published: shares of own pairs that go to `own`, `other` and `none` (a split between the orders included), and where
    pairs have gold labels the equal-opportunity `gap`; of the pairs asked in both orders how many the own answer won
    both times (`own_twice`), the other one (`other_twice`), and the exact two-sided p (`p_twice`); `unread`, the share
    of own pairs of which the judge said nothing in one of the orders, which are in no other figure.

    Corrected: `own_pull`, on pairs that are known to be equal; `self_preference_excess`, over outsiders on the same
    pairs, and `gap_excess`, the gap minus theirs. Where no pair has a gold label, `reasons` says what the excess is
    worth.

    Parts: the counts behind the gap, and both recalls, gap and demographic parity beside those of outsiders.

    Matrix: the share of its pairs that an answer wins.

    Raises `EstimateError` for no pairs.
    """
    grid = pairs.grid_of(judged, families)
    rows = []
    state = rng.getstate()
    own = {judge: pairs.faced(judged, judge) for judge in grid.judges}
    for judge, faced in own.items():
        rng.setstate(state)  # the same for every judge, in any order
        gold, said, _ = pairs.outcomes(faced, judge)
        published: dict[str, float | None] = {}
        gap = partial(pairs.gap_excess, faced, judge, families, rng, level=level, draws=draws)
        corrected, reasons = estimates_of(
            {"own_pull": partial(pull, partial(pairs.known, faced, judge, families), level), "gap_excess": gap}
        )
        add_excess(partial(pairs.pair_excess, faced, judge, families, level=level), corrected, reasons)
        if faced:
            published["unread"] = 1 - said.size / len(faced)
        if said.size:
            found = opportunity.shares(said)
            published |= {"own": found.own, "other": found.other, "none": found.none}
            published |= _twice(faced, judge)
            try:
                published["gap"] = opportunity.equal_opportunity(opportunity.confusion(gold, said)).gap.value
            except EstimateError as error:
                reasons["gap"] = str(error)
        elif faced:
            why = f"{judge} gave no verdict that could be read on both orders of a pair of its own"
            reasons = dict.fromkeys(("own", *reasons), why)
        rows.append(JudgeRow(judge, families[judge], published, corrected, reasons))
    items = len({item_of(one.case) for one in judged})
    matrix = matrix_of(Unit.PAIRS_WON, grid, pairs.win_rates(judged, grid))
    rng.setstate(state)
    parts = opportunity_parts(own, families, rng, level=level, draws=draws)
    known = families_in(grid)
    return SelfPreference("pairwise", items, tuple(rows), (matrix,), known, curves or {}, tuple(leaks), parts)


def _twice(faced: Sequence[pairs.AuthorPair], judge: str) -> dict[str, float | None]:
    """Return how often the own answer and the other one won in both orders, and the p of the exact sign test."""
    try:
        found = pairs.orders_of(faced, judge)
    except EstimateError:
        return {}
    return {"own_twice": float(found.own), "other_twice": float(found.other), "p_twice": found.p}
