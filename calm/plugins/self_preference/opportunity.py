"""
Self-preference as an equal-opportunity gap (arXiv 2410.21819), and what remains of it against outsiders.

Only pairs with exactly one answer of the judge count. Outcomes are coded from the judge's side: +1 its own answer, -1
the other one, 0 neither (a tie, a split between orders, nothing readable), as `SELF`, `OTHER` and `NONE`.

    gap = P(judge picks self | people picked self) - P(judge picks other | people picked other)

The gap of a fair judge is not 0: noise of judge and people makes it positive for a strong generator and negative for a
weak one, up to about half. `excess_opportunity` subtracts the mean gap of outsiders on the same pairs. `both_orders`
needs no label: it compares how often the own answer and the other one win in both orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from math import hypot
from random import Random
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.core.claims import Estimate
from calm.core.reasons import Kind, Reason, because
from calm.errors import EstimateError
from calm.plugins.self_preference.contrasts import (
    DRAWS,
    Bools,
    Floats,
    binomial_error,
    estimate_difference,
    resampled,
)
from calm.statistics.intervals import newcombe, wilson
from calm.statistics.paired import mcnemar_exact

Outcomes: TypeAlias = NDArray[np.int8]
"""`SELF`, `OTHER` or `NONE` for each pair."""

SELF, OTHER, NONE = 1, -1, 0


@dataclass(frozen=True, slots=True)
class Confusion:
    """
    How a judge and people decided pairs, in counts: in `self_as_other` people are for self and the judge for other.

    `self_as_none` and `other_as_none` are pairs that people decided and the judge did not; `gold_none` those that
    people did not decide, which no equal-opportunity gap can use.
    """

    self_as_self: int
    self_as_other: int
    other_as_other: int
    other_as_self: int
    self_as_none: int = 0
    other_as_none: int = 0
    gold_none: int = 0

    def __post_init__(self) -> None:
        counts = [getattr(self, name) for name in self.__dataclass_fields__]
        if min(counts) < 0:
            raise EstimateError(f"expected counts of 0 or more, got {counts}")

    @property
    def n(self) -> int:
        """Pairs that both decided."""
        return self.self_as_self + self.self_as_other + self.other_as_other + self.other_as_self


def confusion(gold: Outcomes, judged: Outcomes) -> Confusion:
    """
    Return the counts of pairs by people's and the judge's outcome.

    >>> confusion(np.array([1, 1, -1, 0], np.int8), np.array([1, 0, 1, 1], np.int8))
    Confusion(self_as_self=1, self_as_other=0, other_as_other=0, other_as_self=1, self_as_none=1, other_as_none=0, \
gold_none=1)
    """
    _check(gold, judged)

    def count(people: int, judge: int) -> int:
        return int(((gold == people) & (judged == judge)).sum())

    return Confusion(
        count(SELF, SELF),
        count(SELF, OTHER),
        count(OTHER, OTHER),
        count(OTHER, SELF),
        count(SELF, NONE),
        count(OTHER, NONE),
        int((gold == NONE).sum()),
    )


@dataclass(frozen=True, slots=True)
class Opportunity:
    """
    The two recalls, each in [0, 1] with its n, and their gap in [-1, 1] with Newcombe's one-sided bounds.

    `gap.excluded` counts the pairs that are in no recall, by reason.
    """

    recall_self: float
    n_self: int
    recall_other: float
    n_other: int
    gap: Estimate


def equal_opportunity(
    counts: Confusion, *, undecided: Literal["leave out", "count"] = "leave out", level: float = 0.05
) -> Opportunity:
    """
    Return the equal-opportunity gap from counts.

    Pairs that the judge left undecided are left out, as in the paper (where there are none by construction), or count
    as a recall of neither. The two classes are independent groups of pairs (Newcombe 1998); each bound is at `level`.

    Raises `EstimateError` where people picked self, or other, in no pair: the gap is then not defined.

    >>> found = equal_opportunity(Confusion(1852, 108, 118, 160))
    >>> round(found.recall_self, 4), round(found.recall_other, 4), round(found.gap.value, 4)
    (0.9449, 0.4245, 0.5204)
    """
    leave_out = undecided == "leave out"
    n_self = counts.self_as_self + counts.self_as_other + (0 if leave_out else counts.self_as_none)
    n_other = counts.other_as_other + counts.other_as_self + (0 if leave_out else counts.other_as_none)
    for n, who in ((n_self, "the judge's own answer"), (n_other, "the other answer")):
        if not n:
            raise EstimateError(f"expected pairs in which people preferred {who}, got none: the gap is not defined")
    recalls = counts.self_as_self / n_self, counts.other_as_other / n_other
    low, high = newcombe(counts.self_as_self, n_self, counts.other_as_other, n_other, level)
    reasons = {because(Kind.PEOPLE_UNDECIDED): counts.gold_none}
    if leave_out:
        reasons[because(Kind.JUDGE_UNDECIDED)] = counts.self_as_none + counts.other_as_none
    excluded = {reason: n for reason, n in reasons.items() if n}
    gap = Estimate(recalls[0] - recalls[1], low, high, n_self + n_other, level, excluded)
    return Opportunity(recalls[0], n_self, recalls[1], n_other, gap)


def demographic_parity(picked_self: int, picked_other: int, *, level: float = 0.05) -> Estimate:
    """
    Return P(judge picks an answer | its own) - P(judge picks it | the other's), in [-1, 1], from all decided pairs.

    With one own answer a pair this is 2 p - 1, p the rate at which the judge picks its own; Wilson's bounds for p, each
    at `level`. It needs no label of people, so it includes pairs that people tied, and it also measures quality.

    Raises `EstimateError` for no pairs.

    >>> round(demographic_parity(2012, 226).value, 3)
    0.798
    """
    n = picked_self + picked_other
    if picked_self < 0 or picked_other < 0 or not n:
        raise EstimateError(f"expected pairs that the judge decided, got {picked_self} and {picked_other}")
    low, high = wilson(picked_self, n, level)
    return Estimate(2 * picked_self / n - 1, 2 * low - 1, 2 * high - 1, n, level)


def own_scores(own_first: Floats, own_second: Floats) -> Floats:
    """
    Return the score of the own answer, in [0, 1], from log-probabilities of the verdict letters in both orders.

    Args:
        own_first: shape [pairs, 2], the log-probabilities of (own, other) where the own answer came first.
        own_second: likewise where it came second; again (own, other), whatever their letters.

    p(own) / (p(own) + p(other)) in each order, then the mean; the probability of a tie letter is left out. NaN (a
    verdict that was not in its format) in one order makes the pair NaN. The other answer's score is 1 minus it.

    >>> own_scores(np.log([[0.8, 0.2]]), np.log([[0.3, 0.7]])).round(2).tolist()
    [0.55]
    """
    shapes = own_first.shape, own_second.shape
    if shapes[0] != shapes[1] or len(shapes[0]) != 2 or shapes[0][1] != 2:
        raise EstimateError(f"expected two arrays of shape [pairs, 2], got {shapes[0]} and {shapes[1]}")
    with np.errstate(over="ignore", invalid="ignore"):
        each = [1 / (1 + np.exp(order[:, 1] - order[:, 0])) for order in (own_first, own_second)]
    return np.asarray((each[0] + each[1]) / 2, dtype=np.float64)


def outcomes_of_scores(scores: Floats) -> Outcomes:
    """
    Return the outcome of each pair by its own answer's score: above or below a half; a half or NaN is `NONE`.

    >>> outcomes_of_scores(np.array([0.7, 0.2, 0.5, np.nan])).tolist()
    [1, -1, 0, 0]
    """
    return np.asarray(np.sign(np.nan_to_num(scores, nan=0.5) - 0.5), dtype=np.int8)


def outcomes_of_orders(own_first: Outcomes, own_second: Outcomes) -> Outcomes:
    """
    Return `SELF` or `OTHER` where it wins in both orders, else `NONE` (a split, or a tie in one of them).

    >>> outcomes_of_orders(np.array([1, 1, -1], np.int8), np.array([1, -1, -1], np.int8)).tolist()
    [1, 0, -1]
    """
    _check(own_first, own_second)
    return np.where(own_first == own_second, own_first, np.int8(NONE)).astype(np.int8)


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of pairs that go to self, to the other and to none; they add up to 1."""

    own: float
    other: float
    none: float
    n: int


def shares(judged: Outcomes) -> Shares:
    """
    Return the three shares of a judge's outcomes.

    >>> shares(np.array([1, 1, -1, 0], np.int8))
    Shares(own=0.5, other=0.25, none=0.25, n=4)
    """
    if not judged.size:
        raise EstimateError("expected at least one pair, got none")
    n = judged.size
    return Shares(float((judged == SELF).mean()), float((judged == OTHER).mean()), float((judged == NONE).mean()), n)


@dataclass(frozen=True, slots=True)
class BothOrders:
    """
    How often the own answer and the other one win in both orders: counts, exact two-sided p, and the split rate.

    `null` is the share of own wins in both orders that a judge without a preference has: (1 - split) / 2, which is a
    quarter only for independent fair coins. `share` is own wins among the pairs that did not split, None if all did.
    """

    own: int
    other: int
    split: int
    share: float | None
    null: float
    p: float


def both_orders(own_first: Outcomes, own_second: Outcomes) -> BothOrders:
    """
    Return the exact sign test on the pairs that both orders decide alike.

    It needs no label, and cannot separate preference from quality: compare it with outsiders on the same pairs.

    >>> both_orders(np.array([1, 1, 1, 1, 1, -1], np.int8), np.array([1, 1, 1, 1, 1, 1], np.int8))
    BothOrders(own=5, other=0, split=1, share=1.0, null=0.4166666666666667, p=0.0625)
    """
    joined = outcomes_of_orders(own_first, own_second)
    if not joined.size:
        raise EstimateError("expected at least one pair, got none")
    own, other = int((joined == SELF).sum()), int((joined == OTHER).sum())
    split = joined.size - own - other
    share = own / (own + other) if own + other else None
    return BothOrders(own, other, split, share, (1 - split / joined.size) / 2, mcnemar_exact(own, other))


def opportunity_bootstrap(
    gold: Outcomes,
    judged: Outcomes,
    rng: Random,
    *,
    cases: Sequence[str] | None = None,
    level: float = 0.05,
    draws: int = DRAWS,
) -> Estimate:
    """
    Return the equal-opportunity gap with bounds from resampling cases, all pairs of a case together.

    `cases` names the case of each pair (default: each pair its own); the judge's undecided pairs are left out. Use it
    where a case gives several pairs, as Newcombe's interval would treat them as independent.

    Raises `EstimateError` for an empty class, also in a resampled set: the class is then too small.
    """
    value = equal_opportunity(confusion(gold, judged)).gap
    counts, n = _by_case(gold, judged[None], cases)
    replicates = _gaps(np.einsum("bn,knc->bkc", resampled(rng, n, draws), counts, optimize=True))[:, 0]
    still = _still(counts.sum(axis=1)[0])
    found = estimate_difference(value.value, replicates, n, level, least=still)
    return Estimate(found.value, found.low, found.high, n, level, value.excluded)


def parity_bootstrap(
    judged: Outcomes, rng: Random, *, cases: Sequence[str] | None = None, level: float = 0.05, draws: int = DRAWS
) -> Estimate:
    """
    Return `demographic_parity` with bounds from resampling cases, all pairs of a case together.

    `cases` names the case of each pair (default: each pair its own); n counts those with a pair that the judge decided.

    Raises `EstimateError` for fewer than 2 such cases.
    """
    decided = judged != NONE
    if cases is not None and len(cases) != judged.size:
        raise EstimateError(f"expected the case of each of {judged.size} pairs, got {len(cases)}")
    named = None if cases is None else list(compress(cases, decided.tolist()))
    hits, n = _by_case(judged[decided], judged[decided][None], named)
    picked, of = hits[0][:, 0], hits[0][:, 1] + hits[0][:, 3]
    value = demographic_parity(int(picked.sum()), int((of - picked).sum())).value
    weights = resampled(rng, n, draws)
    replicates = 2 * (weights @ picked) / (weights @ of) - 1
    least = 2 * binomial_error(float(picked.sum()), float(of.sum())) if abs(value) == 1 else 0.0
    return estimate_difference(value, replicates, n, level, least=least)


def excess_opportunity(
    gold: Outcomes,
    judged: Outcomes,
    outsiders: Outcomes,
    rng: Random,
    *,
    cases: Sequence[str] | None = None,
    usable: Bools | None = None,
    level: float = 0.05,
    draws: int = DRAWS,
    names: Sequence[str] = (),
) -> Estimate:
    """
    Return a judge's equal-opportunity gap minus the mean gap of outsiders on the same pairs, with bootstrap bounds.

    Args:
        gold: people's outcome of each pair, shape [pairs].
        judged: the judge's.
        outsiders: shape [judges, pairs]; judges whose family is neither the judge's nor the other answer's, coded from
            the same side (`SELF`: the answer of the judge in question). Pairs that an outsider left undecided are in
            none of its recalls.
        rng: draws the bootstrap samples.
        cases: the case of each pair; all pairs of a case are resampled together.
        usable: shape [judges, pairs], the pairs on which each judge is an outsider (default: all); only these are
            compared with it.
        level: of each bound.
        draws: how many samples.
        names: of the outsiders.

    An outsider of whose pairs a class is empty, also in a resampled set, is left out, and `excluded` says so with its
    number of cases. 0 for a fair judge as skilled as the outsiders; a fair judge of another skill keeps a residual of a
    few hundredths.

    Raises `EstimateError` for no outsider, or where each of them is left out.
    """
    if outsiders.ndim != 2 or not len(outsiders):
        raise EstimateError(f"expected outsiders of shape [judges, pairs], got {outsiders.shape}")
    fit = np.ones(outsiders.shape, dtype=np.bool_) if usable is None else usable
    weights, n = None, gold.size
    observed, replicates, least = [], [], []
    excluded: dict[Reason, int] = {}
    last: EstimateError | None = None
    for place, (one, theirs) in enumerate(zip(outsiders, fit, strict=True)):
        shared = np.where(theirs, gold, np.int8(NONE)).astype(np.int8)
        counts, n = _by_case(shared, np.stack([judged, one]), cases)
        weights = resampled(rng, n, draws) if weights is None else weights
        whole = counts.sum(axis=1)
        try:
            drawn = _excess(_gaps(np.einsum("bn,knc->bkc", weights, counts, optimize=True)))
            observed.append(_excess(_gaps(whole[None])))
        except EstimateError as error:
            last = error
            on = np.flatnonzero(theirs).tolist()
            asked = len({cases[pair] for pair in on} if cases is not None else on)
            excluded[because(Kind.FEW_DECIDED_BY, names[place] if names else str(place))] = asked
            continue
        replicates.append(drawn)
        least.append(_still(whole[0]))
    if last is not None and not observed:
        raise last
    value, drawn = np.mean(observed, axis=0), np.mean(replicates, axis=0)
    return replace(estimate_difference(float(value[0]), drawn, n, level, least=min(least)), excluded=excluded)


def _still(counts: Floats) -> float:
    classes = [(float(counts[hit]), float(counts[hit + 1])) for hit in (0, 2)]
    return hypot(*(binomial_error(hits, n) for hits, n in classes if hits in (0.0, n)))


def _check(gold: Outcomes, judged: Outcomes) -> None:
    if gold.shape != judged.shape:
        raise EstimateError(f"expected as many verdicts as labels, got {judged.shape} and {gold.shape}")
    for values in (gold, judged):
        if not np.isin(values, (SELF, OTHER, NONE)).all():
            raise EstimateError("expected outcomes of 1 (self), -1 (other) or 0 (none), got another number")


def _by_case(gold: Outcomes, judged: Outcomes, cases: Sequence[str] | None) -> tuple[Floats, int]:
    """Return counts [judges, cases, (self hit, self, other hit, other)], and the number of cases."""
    for row in judged:
        _check(gold, row)
    if cases is not None and len(cases) != gold.size:
        raise EstimateError(f"expected the case of each of {gold.size} pairs, got {len(cases)}")
    decided = judged != NONE
    flags = np.stack(
        [
            (gold == SELF) & (judged == SELF),
            (gold == SELF) & decided,
            (gold == OTHER) & (judged == OTHER),
            (gold == OTHER) & decided,
        ],
        axis=-1,
    ).astype(np.float64)
    if cases is None:
        return flags, gold.size
    names, places = np.unique(np.asarray(cases), return_inverse=True)
    counts = np.zeros((len(judged), len(names), 4))
    for row in range(len(judged)):
        np.add.at(counts[row], places, flags[row])
    return counts, len(names)


def _gaps(counts: Floats) -> Floats:
    """Return the gap of each set of counts, shape [..., (self hit, self, other hit, other)]."""
    if (counts[..., 1] == 0).any() or (counts[..., 3] == 0).any():
        raise EstimateError(
            "expected decided pairs that people gave to self and to other, got none of a kind, at least in a resampled "
            "set: the gap is not defined, or the class is too small for an interval"
        )
    return np.asarray(counts[..., 0] / counts[..., 1] - counts[..., 2] / counts[..., 3], dtype=np.float64)


def _excess(gaps: Floats) -> Floats:
    return np.asarray(gaps[:, 0] - gaps[:, 1:].mean(axis=1), dtype=np.float64)
