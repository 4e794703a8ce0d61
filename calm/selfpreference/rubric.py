"""
Self-preference in rubric-based evaluation (arXiv 2604.06996): over-estimation against a truth that is known.

Every generator answers every instance (a prompt with some criteria), every judge marks every answer, and for each
criterion it is known whether the answer meets it. What a judge credits beyond that is over-estimation:

    by rubric     share of the failed criteria of G that J marks as met
    by instance   share of the comparisons that G lost by the truth and does not lose by J's marks, over all opponents;
                  its parts are loss to win and loss to tie

HSPP ratio = over-estimation of one's own answers / mean over-estimation of the generators outside the family. It takes
leniency out, not difficulty: where a generator's failures are subtle, every judge over-estimates it. `double_ratio`
holds the ratio against that of judges outside the family.

Verdicts are int8: 1 met, 0 not met, `MISSING` (-1) unknown. Signs of comparisons are 1, 0, -1, or `NO_SIGN` (2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.claims import Estimate
from calm.errors import EstimateError
from calm.selfpreference.contrasts import (
    DRAWS,
    Bools,
    Floats,
    Grid,
    Link,
    Target,
    estimate_difference,
    estimate_ratio,
    excess,
    resampled,
)

Marks: TypeAlias = NDArray[np.int8]
Signs: TypeAlias = NDArray[np.int8]
Ints: TypeAlias = NDArray[np.int64]

MISSING = -1
NO_SIGN = 2


@dataclass(frozen=True, slots=True)
class RubricTable:
    """
    Verdicts of judges on criteria, with the truth.

    `verdicts` [judges, generators, criteria] and `truth` [generators, criteria] are 1, 0 or -1 (unknown); `instance`
    [criteria] is the place of each criterion's instance in `instances`; `points` [criteria] its weight, below 0 where
    meeting it counts against an answer; `criteria` its name. Generators share the criteria.
    """

    grid: Grid
    instances: tuple[str, ...]
    criteria: tuple[str, ...]
    instance: Ints
    verdicts: Marks
    truth: Marks
    points: Floats

    def __post_init__(self) -> None:
        j, g, r = len(self.grid.judges), len(self.grid.generators), len(self.criteria)
        shapes = {"verdicts": (j, g, r), "truth": (g, r), "instance": (r,), "points": (r,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise EstimateError(f"expected {name} of shape {shape}, got {getattr(self, name).shape}")
        if not r:
            raise EstimateError("expected at least one criterion, got none")
        if not np.array_equal(np.unique(self.instance), np.arange(len(self.instances))):
            raise EstimateError("expected a criterion of every instance, got an instance that has none")
        if (self.points == 0).any():
            raise EstimateError("expected points other than 0; leave such criteria out")

    def kept(self, chosen: Bools) -> RubricTable:
        """Return the table of some criteria, for all generators; instances that lose all of theirs are dropped."""
        if not chosen.any():
            raise EstimateError("expected at least one criterion to keep, got none")
        left, place = np.unique(self.instance[chosen], return_inverse=True)
        return replace(
            self,
            instances=tuple(self.instances[i] for i in left),
            criteria=tuple(c for c, keep in zip(self.criteria, chosen.tolist(), strict=True) if keep),
            instance=place.astype(np.int64),
            verdicts=self.verdicts[:, :, chosen],
            truth=self.truth[:, chosen],
            points=self.points[chosen],
        )

    def slices(self, labels: Sequence[str]) -> dict[str, RubricTable]:
        """Return a table for each label; `labels` has one for each criterion (its length, topic, sign of points)."""
        if len(labels) != len(self.criteria):
            raise EstimateError(f"expected a label for each of {len(self.criteria)} criteria, got {len(labels)}")
        of = np.asarray(labels)
        return {str(label): self.kept(of == label) for label in dict.fromkeys(labels)}


@dataclass(frozen=True, slots=True)
class Row:
    """One verdict of a judge on one criterion of one answer; `met` and `truth` may be unknown."""

    judge: str
    generator: str
    instance: str
    criterion: str
    met: bool | None
    truth: bool | None
    points: float = 1.0


def rubric_table(rows: Iterable[Row], families: Mapping[str, str]) -> RubricTable:
    """
    Return the table of single verdicts, in their order of appearance; a verdict that is absent is unknown.

    Raises `EstimateError` for no rows, two verdicts of a judge on one criterion, or two truths or weights of it.
    """
    judges: dict[str, int] = {}
    generators: dict[str, int] = {}
    instances: dict[str, int] = {}
    criteria: dict[tuple[str, str], int] = {}
    verdicts: dict[tuple[int, int, int], int] = {}
    truth: dict[tuple[int, int], int] = {}
    points: dict[int, float] = {}
    for row in rows:
        judge = judges.setdefault(row.judge, len(judges))
        generator = generators.setdefault(row.generator, len(generators))
        instances.setdefault(row.instance, len(instances))
        criterion = criteria.setdefault((row.instance, row.criterion), len(criteria))
        where = f"criterion {row.criterion!r} of {row.instance!r}"
        if (judge, generator, criterion) in verdicts:
            raise EstimateError(f"{where}: expected one verdict by {row.judge!r} on {row.generator!r}, got two")
        verdicts[judge, generator, criterion] = MISSING if row.met is None else int(row.met)
        true = MISSING if row.truth is None else int(row.truth)
        if truth.setdefault((generator, criterion), true) != true:
            raise EstimateError(f"{where}: expected one truth for {row.generator!r}, got two")
        if points.setdefault(criterion, row.points) != row.points:
            raise EstimateError(f"{where}: expected one weight, got {points[criterion]} and {row.points}")
    if not verdicts:
        raise EstimateError("expected at least one verdict, got none")
    marks = np.full((len(judges), len(generators), len(criteria)), MISSING, dtype=np.int8)
    places = np.array(list(verdicts), dtype=np.intp)
    marks[places[:, 0], places[:, 1], places[:, 2]] = list(verdicts.values())
    true_marks = np.full((len(generators), len(criteria)), MISSING, dtype=np.int8)
    places = np.array(list(truth), dtype=np.intp)
    true_marks[places[:, 0], places[:, 1]] = list(truth.values())
    return RubricTable(
        Grid(tuple(judges), tuple(generators), families),
        tuple(instances),
        tuple(f"{instance}/{criterion}" for instance, criterion in criteria),
        np.array([instances[instance] for instance, _ in criteria], dtype=np.int64),
        marks,
        true_marks,
        np.array([points[i] for i in range(len(criteria))], dtype=np.float64),
    )


def labels_by_size(sizes: Sequence[float], bins: int = 4) -> list[str]:
    """
    Return for each criterion which part of the range of sizes it lies in, the parts holding about equal numbers.

    For slices by length of the criterion's text: "28 to 41", "41 to 60".

    >>> labels_by_size([10, 20, 30, 40], 2)
    ['10 to 25', '10 to 25', '25 to 40', '25 to 40']
    """
    if not sizes or bins < 1:
        raise EstimateError(f"expected sizes and at least one bin, got {len(sizes)} and {bins}")
    edges = np.unique(np.quantile(np.asarray(sizes, dtype=np.float64), np.linspace(0, 1, bins + 1)))
    if edges.size == 1:
        return [f"{edges[0]:g}"] * len(sizes)
    places = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, edges.size - 2)
    return [f"{edges[place]:g} to {edges[place + 1]:g}" for place in places]


def labels_by_sign(points: Floats) -> list[str]:
    """
    Return for each criterion whether meeting it counts for or against an answer.

    >>> labels_by_sign(np.array([1.0, -2.0]))
    ['for', 'against']
    """
    return ["for" if weight > 0 else "against" for weight in points.tolist()]


# ------------------------------------------------------------------------------------------------ scores of instances


@dataclass(frozen=True, slots=True)
class Fractions:
    """
    Scores of instances as fractions, so that ties stay exact: `earned` of `possible`, both [..., instances].

    Where nothing is possible the score is unknown.
    """

    earned: Floats
    possible: Floats

    def values(self) -> Floats:
        """Return the scores, in [0, 1]; NaN where unknown."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.possible > 0, self.earned / self.possible, np.nan)


def scored(table: RubricTable, marks: Marks) -> Fractions:
    """
    Return the score of each instance from marks [..., criteria]: points earned of the positive points.

    With points of 1 the share of criteria met. Points of criteria met with negative weight are subtracted, and the sum
    is clipped to what is possible (HealthBench's rule). Criteria without a mark are left out of both.
    """
    earned = _by_instance(table, (marks == 1) * table.points)
    possible = _by_instance(table, (marks != MISSING) * np.maximum(table.points, 0.0))
    return Fractions(np.clip(np.round(earned, 9), 0.0, possible), np.round(possible, 9))


def direct_scores(met: Floats, of: Floats) -> Fractions:
    """
    Return the scores of direct assessment, "X of Y": min(X, Y) / Y with the judge's own Y, which may be wrong.

    NaN, or a Y of 0, is a verdict that could not be read.

    >>> direct_scores(np.array([2.0, 4.0, np.nan]), np.array([3.0, 3.0, 2.0])).values().round(2).tolist()
    [0.67, 1.0, nan]
    """
    known = ~np.isnan(met) & ~np.isnan(of) & (of > 0) & (met >= 0)
    possible = np.where(known, of, 0.0)
    return Fractions(np.where(known, np.minimum(met, of), 0.0), possible)


def system_scores(scores: Fractions) -> Floats:
    """Return the mean score over the instances whose score is known, [...]; NaN where none is."""
    values = scores.values()
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1), dtype=np.float64)


# ------------------------------------------------------------------------------------------- signs of comparisons


def signs(scores: Fractions) -> Signs:
    """
    Return the sign of every comparison of two generators, [..., generators, generators, instances].

    1 where the first scored higher, 0 for a tie, -1 for a loss, `NO_SIGN` where a score is unknown. Fractions are
    compared crosswise, so no tie is lost to rounding.

    >>> found = signs(Fractions(np.array([[1.0], [2.0]]), np.array([[3.0], [6.0]])))
    >>> found[:, :, 0].tolist()
    [[0, 0], [0, 0]]
    """
    earned, possible = scores.earned, scores.possible
    left = earned[..., :, None, :] * possible[..., None, :, :]
    right = earned[..., None, :, :] * possible[..., :, None, :]
    found = np.sign(np.round(left - right, 9)).astype(np.int8)
    known = possible > 0
    found[~(known[..., :, None, :] & known[..., None, :, :])] = NO_SIGN
    return found


def signs_of_orders(first: Signs, second: Signs) -> Signs:
    """
    Return the sign of a comparison that was judged in both orders, each from the first generator's side.

    The sign of the sum: a win and a tie are a win, a win and a loss a tie. `NO_SIGN` in one order makes it unknown.

    >>> signs_of_orders(np.array([1, 1, 1, 2], np.int8), np.array([1, 0, -1, 1], np.int8)).tolist()
    [1, 1, 0, 2]
    """
    unknown = (first == NO_SIGN) | (second == NO_SIGN)
    return np.where(unknown, np.int8(NO_SIGN), np.sign(first + second)).astype(np.int8)


def pairwise_system_scores(judged: Signs) -> Floats:
    """
    Return a judge's score of each generator from its comparisons [..., generators, generators, instances].

    The mean of 1 for a win, 1/2 for a tie and 0 for a loss, over opponents and instances; NaN without comparisons.
    """
    known = (judged != NO_SIGN) & ~_diagonal(judged.shape[-2])
    won = np.where(known, (judged + 1) / 2, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(won.sum(axis=(-2, -1)) / known.sum(axis=(-2, -1)), dtype=np.float64)


# ---------------------------------------------------------------------------------------------------- over-estimation


@dataclass(frozen=True, slots=True)
class Over:
    """
    Over-estimation in counts, each [judges, generators, instances]: of `eligible` chances, `over` were over-estimated.

    For comparisons `to_win` and `to_tie` add up to `over`; for criteria there is no such split and both are None.
    """

    over: Floats
    eligible: Floats
    to_win: Floats | None = None
    to_tie: Floats | None = None

    def totals(self) -> tuple[Ints, Ints]:
        """Return over and eligible summed over instances, [judges, generators]."""
        return self.over.sum(axis=-1).astype(np.int64), self.eligible.sum(axis=-1).astype(np.int64)

    def rates(self) -> Floats:
        """Return over / eligible by judge and generator; NaN where nothing was eligible."""
        over, eligible = self.over.sum(axis=-1), self.eligible.sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(eligible > 0, over / eligible, np.nan)


def overestimated_rubrics(table: RubricTable) -> Over:
    """
    Return over-estimation by rubric: criteria that an answer fails by the truth, and those that the judge credits.

    For a criterion of negative points the roles flip: it is eligible if it is met, and over-estimated if the judge says
    that it is not. Unknown marks are neither.
    """
    credit = np.where(table.points > 0, 1, 0).astype(np.int8)
    known = (table.verdicts != MISSING) & (table.truth != MISSING)[None]
    eligible = known & (table.truth != credit)[None]
    over = eligible & (table.verdicts == credit)
    return Over(_by_instance(table, over.astype(np.float64)), _by_instance(table, eligible.astype(np.float64)))


def overestimated_instances(judged: Signs, reference: Signs) -> Over:
    """
    Return over-estimation by instance: comparisons lost by the reference, and those of them that the judge calls
    otherwise.

    Args:
        judged: signs by judge, [judges, generators, generators, instances].
        reference: signs by the truth, [generators, generators, instances].

    Opponents are all other generators, family and judge included; their counts are pooled, not averaged.
    """
    lost = (reference == -1) & ~_diagonal(reference.shape[0])
    eligible = lost[None] & (judged != NO_SIGN)
    to_win, to_tie = eligible & (judged == 1), eligible & (judged == 0)
    won, tied = to_win.sum(axis=2).astype(np.float64), to_tie.sum(axis=2).astype(np.float64)
    return Over(won + tied, eligible.sum(axis=2).astype(np.float64), won, tied)


@dataclass(frozen=True, slots=True)
class Hspp:
    """
    The harmful self-preference ratios of one judge. `None` where a rate is missing or the denominator is 0.

    `own` is the rate on its own answers, `others` the mean of the rates on generators outside its family.
    `ratio_self` = own / others. `ratio_family_with_self` and `ratio_family_without_self` hold the mean rate of the
    family, with or without the judge's own, against the same `others`. The paper's formula says without self, its table
    prints with self.
    """

    judge: str
    own: float | None
    others: float | None
    ratio_self: float | None
    ratio_family_with_self: float | None
    ratio_family_without_self: float | None
    reason: str = ""


def hspp(rates: Floats, grid: Grid, judge: str) -> Hspp:
    """
    Return the HSPP ratios of a judge from over-estimation rates [judges, generators].

    Means are of the generators' rates, not of pooled counts; a generator without a rate is left out of them.

    >>> grid = Grid(("a",), ("a", "b", "c"), {"a": "A", "b": "B", "c": "C"})
    >>> round(hspp(np.array([[0.6, 0.3, 0.5]]), grid, "a").ratio_self or 0.0, 3)
    1.5
    """
    row, own = grid.row(judge), grid.own(judge)
    kin = grid.kin()[row]
    family = [g for g in range(len(grid.generators)) if kin[g]]
    others = _plain_mean(rates[row], [g for g in range(len(grid.generators)) if not kin[g]])
    mine = _plain_mean(rates[row], [] if own is None else [own])
    reason = ""
    if others is None:
        reason = f"no generator outside the family of {judge} failed anything that it marked"
    elif not others:
        reason = f"{judge} over-estimates no answer outside its family: the ratio has no denominator"
    elif mine is None:
        reason = f"{judge} wrote no answers" if own is None else f"the answers of {judge} failed nothing"

    def ratio(above: float | None) -> float | None:
        return None if above is None or not others else above / others

    return Hspp(
        judge,
        mine,
        others,
        ratio(mine),
        ratio(_plain_mean(rates[row], family)),
        ratio(_plain_mean(rates[row], [g for g in family if g != own])),
        reason,
    )


@dataclass(frozen=True, slots=True)
class MeanRatio:
    """The mean of the ratios that exist (None if none does), how many these are, and the judges without one."""

    value: float | None
    n: int
    left_out: tuple[str, ...]


def mean_ratio(found: Sequence[Hspp], which: Literal["self", "family with self", "family without self"]) -> MeanRatio:
    """
    Return the mean of a ratio over judges.

    Judges whose ratio has no denominator are left out, and named: to leave them out moves the mean upward or downward.
    """
    name = f"ratio_{which.replace(' ', '_')}"
    values = {one.judge: getattr(one, name) for one in found}
    there = [v for v in values.values() if v is not None]
    missing = tuple(judge for judge, value in values.items() if value is None)
    return MeanRatio(sum(there) / len(there) if there else None, len(there), missing)


@dataclass(frozen=True, slots=True)
class Resampled:
    """Over-estimation, and its counts in resampled sets of instances, each [draws, judges, generators]."""

    observed: Over
    over: Floats
    eligible: Floats
    items: int


def resample(over: Over, rng: Random, draws: int = DRAWS) -> Resampled:
    """Return counts of resampled sets of instances: all criteria, judges and opponents of an instance go together."""
    judges, generators, items = over.over.shape
    weights = resampled(rng, items, draws)

    def summed(counts: Floats) -> Floats:
        return np.asarray((weights @ counts.reshape(-1, items).T).reshape(-1, judges, generators), dtype=np.float64)

    return Resampled(over, summed(over.over), summed(over.eligible), items)


def double_ratio(
    sample: Resampled,
    grid: Grid,
    judge: str,
    *,
    target: Target = "self",
    outsiders: Sequence[str] | None = None,
    level: float = 0.05,
) -> Estimate:
    """
    Return a judge's HSPP ratio over the same ratio of judges outside its family: 1 for a fair judge.

    Each rate is (over + 1/2) / (eligible + 1). The judge is compared with each outsider over the same generators, none
    of which is related to either (see `contrasts`); the logarithms are averaged over outsiders. Bounds are one-sided at
    `level`, from resampling instances, and symmetric on the log scale.

    Raises `EstimateError` where the judge wrote nothing, failed nothing, or has no outsider.
    """
    value, replicates = _contrast(sample, grid, judge, "ratio", target=target, outsiders=outsiders)
    return estimate_ratio(value, replicates, sample.items, level)


def rate_excess(
    sample: Resampled,
    grid: Grid,
    judge: str,
    *,
    target: Target = "self",
    outsiders: Sequence[str] | None = None,
    level: float = 0.05,
) -> Estimate:
    """
    Return the double-centred excess of a judge's over-estimation of its own answers: 0 for a fair judge.

    The difference that `double_ratio` is the ratio of, in [-2, 2], from the plain rates.

    Raises `EstimateError` as `double_ratio` does.
    """
    value, replicates = _contrast(sample, grid, judge, "difference", target=target, outsiders=outsiders)
    return estimate_difference(value, replicates, sample.items, level)


def _contrast(
    sample: Resampled, grid: Grid, judge: str, link: Link, *, target: Target, outsiders: Sequence[str] | None
) -> tuple[float, Floats]:
    """Return the contrast of a judge's rates as observed and in each resampled set."""
    over, eligible = sample.observed.over.sum(axis=2), sample.observed.eligible.sum(axis=2)
    usable: Bools = np.asarray(eligible > 0)
    half = 0.5 if link == "ratio" else 0.0

    def contrast(counts: Floats, chances: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.where(usable, (counts + half) / (chances + 2 * half), 0.0)
        return excess(rates, grid, judge, target=target, link=link, usable=usable, outsiders=outsiders)

    return float(contrast(over, eligible)), contrast(sample.over, sample.eligible)


# ----------------------------------------------------------------------------------------------------------- accuracy


def mean_instance_agreement(judged: Signs, reference: Signs) -> Floats:
    """
    Return MIPA, the mean instance pairwise accuracy of each judge, in [0, 1].

    The share of unordered pairs of generators and instances whose sign equals the reference's, ties included; unknown
    comparisons are left out. `judged` is [judges, generators, generators, instances]; NaN where nothing is known.
    """
    upper = np.triu(np.ones(reference.shape[:2], dtype=np.bool_), 1)[..., None]
    known = upper & (reference != NO_SIGN) & (judged != NO_SIGN)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            (known & (judged == reference)).sum(axis=(1, 2, 3)) / known.sum(axis=(1, 2, 3)), dtype=np.float64
        )


def mean_rubric_agreement(verdicts: Marks, truth: Marks) -> Floats:
    """
    Return MRA, the mean rubric accuracy of each judge, in [0, 1]: verdicts equal to the truth, pooled over generators.

    `verdicts` is [judges, generators, criteria], `truth` [generators, criteria]; NaN where nothing is known.
    """
    known = (verdicts != MISSING) & (truth != MISSING)
    with np.errstate(invalid="ignore"):
        return np.asarray((known & (verdicts == truth)).sum(axis=(1, 2)) / known.sum(axis=(1, 2)), dtype=np.float64)


# ---------------------------------------------------------------------------------------------------------- committees


def committee_marks(verdicts: Marks) -> Marks:
    """
    Return the verdicts of a committee from its members' [members, ...]: met if more than half say so.

    A tie of an even committee is not met. Members without a verdict are left out; of fewer than two there is none.

    >>> committee_marks(np.array([[1, 1, 1], [1, 0, -1], [0, 0, -1]], np.int8)).tolist()
    [1, 0, -1]
    """
    votes, known = (verdicts == 1).sum(axis=0), (verdicts != MISSING).sum(axis=0)
    found = (2 * votes > known).astype(np.int8)
    return np.where(known >= 2, found, np.int8(MISSING)).astype(np.int8)


def committee_scores(members: Fractions) -> Fractions:
    """
    Return the scores of a committee in direct assessment: the mean of its members' scores [members, ...].

    Members without a score are left out; of fewer than two there is none. Means are rounded to 12 decimals, so that
    equal ones tie.
    """
    values = members.values()
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
    return Fractions(np.where(n >= 2, np.round(mean, 12), 0.0), (n >= 2).astype(np.float64))


def committee_signs(members: Signs) -> Signs:
    """
    Return the signs of a committee in pairwise comparison: the sign of its members' sum [members, ...].

    Members without a sign are left out; of fewer than two there is none.

    >>> committee_signs(np.array([[1, 1, 1], [1, -1, 2], [0, 0, 2]], np.int8)).tolist()
    [1, 0, 2]
    """
    known = members != NO_SIGN
    total = np.where(known, members, 0).sum(axis=0)
    return np.where(known.sum(axis=0) >= 2, np.sign(total), NO_SIGN).astype(np.int8)


# ---------------------------------------------------------------------------------------------- agreement, differences


def cell_agreement(verdicts: Marks) -> Floats:
    """
    Return the share of pairs of judges that agree on each cell, [generators, criteria], from verdicts [judges, ...].

    [C(met, 2) + C(not met, 2)] / C(n, 2) over the n judges with a verdict; NaN for fewer than two.
    """
    met, unmet = (verdicts == 1).sum(axis=0), (verdicts == 0).sum(axis=0)
    n = met + unmet
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((met * (met - 1) + unmet * (unmet - 1)) / (n * (n - 1)), dtype=np.float64)


def agreement(verdicts: Marks) -> Floats:
    """
    Return the agreement of each criterion, in [0, 1]: the mean over generators of the pairs of judges that agree.

    >>> agreement(np.array([[[1, 1]], [[1, 0]]], np.int8)).tolist()
    [1.0, 0.0]
    """
    cells = cell_agreement(verdicts)
    known = ~np.isnan(cells)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, cells, 0.0).sum(axis=0) / known.sum(axis=0), dtype=np.float64)


def agreement_filtered(
    table: RubricTable, threshold: float, *, by: Literal["criterion", "cell"] = "criterion"
) -> RubricTable:
    """
    Return the table of criteria on which judges agree at least as much as `threshold`, in [0, 1].

    By criterion, the same set for every generator (the paper's words); by cell, each answer to a criterion on its own
    agreement (nearer to its curve). A cell that is left out has no truth.

    Raises `EstimateError` where nothing is left.
    """
    if by == "criterion":
        return table.kept(agreement(table.verdicts) >= threshold - 1e-12)
    kept = cell_agreement(table.verdicts) >= threshold - 1e-12
    if not kept.any():
        raise EstimateError(f"expected a cell with an agreement of {threshold:g} or more, got none")
    return replace(table, truth=np.where(kept, table.truth, np.int8(MISSING)).astype(np.int8))


def centred_deltas(scores: Floats, reference: Floats) -> Floats:
    """
    Return how much a judge's score of a generator differs from the reference's, minus the row's mean.

    `scores` is [judges, generators], `reference` [generators]. Each row adds up to 0: leniency is gone.

    >>> centred_deltas(np.array([[0.9, 0.5]]), np.array([0.6, 0.4])).round(3).tolist()
    [[0.1, -0.1]]
    """
    deltas = scores - reference
    return np.asarray(deltas - deltas.mean(axis=1, keepdims=True), dtype=np.float64)


def self_minus_outsiders(deltas: Floats, grid: Grid, judge: str) -> float:
    """
    Return a judge's own cell minus the mean of the cells outside its family, in units of the deltas (MSD-SP).

    Raises `EstimateError` where the judge wrote nothing, or every generator is of its family.
    """
    row, kin = grid.row(judge), grid.kin()[grid.row(judge)]
    own = grid.columns(judge, "self")[0]
    if kin.all():
        raise EstimateError(f"expected a generator outside the family of {judge!r}, got none")
    return float(deltas[row, own] - deltas[row][~kin].mean())


def _plain_mean(rates: Floats, columns: list[int]) -> float | None:
    known = [float(rates[g]) for g in columns if not np.isnan(rates[g])]
    return sum(known) / len(known) if known else None


def _diagonal(size: int) -> Bools:
    return np.eye(size, dtype=np.bool_)[..., None]


def _by_instance(table: RubricTable, values: Floats) -> Floats:
    """Return values [..., criteria] summed over the criteria of each instance."""
    order = np.argsort(table.instance, kind="stable")
    starts = np.searchsorted(table.instance[order], np.arange(len(table.instances)))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1), dtype=np.float64)
