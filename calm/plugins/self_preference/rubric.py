"""
Verdicts on criteria: their table with the truth, the scores that they add up to, who wins by these, and committees.

Every generator answers every instance (a prompt with some criteria), every judge marks every answer, and for each
criterion it may be known whether the answer meets it. What a judge credits beyond that is `overestimation`.

Verdicts are int8: 1 met, 0 not met, `MISSING` (-1) unknown. Signs of comparisons are 1, 0, -1, or `NO_SIGN` (2).

A committee's verdict is that of the majority (arXiv 2604.06996); the filter keeps the criteria on which judges agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.core.order import item_of
from calm.core.verdict import Criteria
from calm.errors import EstimateError
from calm.experiment.crossing import Judgment, author_of
from calm.plugins.self_preference.contrasts import (
    Bools,
    Floats,
    Grid,
    filled,
    mean_known,
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
    meeting it counts against an answer; `criteria` its name. Generators share the criteria. `lengths` (characters of
    its text) and `axes` (what it is about, "" for nothing) are [criteria], or empty where nothing is known of them.
    """

    grid: Grid
    instances: tuple[str, ...]
    criteria: tuple[str, ...]
    instance: Ints
    verdicts: Marks
    truth: Marks
    points: Floats
    lengths: tuple[int, ...] = ()
    axes: tuple[str, ...] = ()

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
        for name, known in (("lengths", self.lengths), ("axes", self.axes)):
            if len(known) not in (0, r):
                raise EstimateError(f"expected {name} of {r} criteria, got {len(known)}")

    def kept(self, chosen: Bools) -> RubricTable:
        """Return the table of some criteria, for all generators; instances that lose all of theirs are dropped."""
        if not chosen.any():
            raise EstimateError("expected at least one criterion to keep, got none")
        left, place = np.unique(self.instance[chosen], return_inverse=True)
        return replace(
            self,
            instances=tuple(self.instances[i] for i in left),
            criteria=tuple(compress(self.criteria, chosen.tolist())),
            instance=place.astype(np.int64),
            verdicts=self.verdicts[:, :, chosen],
            truth=self.truth[:, chosen],
            points=self.points[chosen],
            lengths=tuple(compress(self.lengths, chosen.tolist())),
            axes=tuple(compress(self.axes, chosen.tolist())),
        )

    def slices(self, labels: Sequence[str]) -> dict[str, RubricTable]:
        """Return a table for each label; `labels` has one for each criterion (its length, topic, sign of points)."""
        if len(labels) != len(self.criteria):
            raise EstimateError(f"expected a label for each of {len(self.criteria)} criteria, got {len(labels)}")
        of = np.asarray(labels)
        return {str(label): self.kept(of == label) for label in dict.fromkeys(labels)}


@dataclass(frozen=True, slots=True)
class Row:
    """
    One verdict of a judge on one criterion of one answer; `met` and `truth` may be unknown.

    `length` is that of the criterion's text in characters, `axis` what it is about.
    """

    judge: str
    generator: str
    instance: str
    criterion: str
    met: bool | None
    truth: bool | None
    points: float = 1.0
    length: int = 0
    axis: str = ""


def rubric_table(rows: Iterable[Row], families: Mapping[str, str]) -> RubricTable:
    """
    Return the table of single verdicts, in their order of appearance; a verdict that is absent is unknown.

    Raises `EstimateError` for no rows, two verdicts of a judge on one criterion, or two truths or weights of it.
    """
    judges: dict[str, int] = {}
    generators: dict[str, int] = {}
    instances: dict[str, int] = {}
    criteria: dict[tuple[str, str], int] = {}
    verdicts: dict[tuple[int, ...], int] = {}
    truth: dict[tuple[int, ...], int] = {}
    points: dict[int, float] = {}
    about: dict[int, tuple[int, str]] = {}
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
        about.setdefault(criterion, (row.length, row.axis))
    if not verdicts:
        raise EstimateError("expected at least one verdict, got none")
    size = len(judges), len(generators), len(criteria)
    return RubricTable(
        Grid(tuple(judges), tuple(generators), families),
        tuple(instances),
        tuple(f"{instance}/{criterion}" for instance, criterion in criteria),
        np.array([instances[instance] for instance, _ in criteria], dtype=np.int64),
        filled(verdicts, size, MISSING).astype(np.int8),
        filled(truth, size[1:], MISSING).astype(np.int8),
        np.array([points[i] for i in range(len(criteria))], dtype=np.float64),
        tuple(about[i][0] for i in range(len(criteria))),
        tuple(about[i][1] for i in range(len(criteria))),
    )


def rubric_table_of(judged: Iterable[Judgment], families: Mapping[str, str]) -> RubricTable:
    """
    Return the table of verdicts on criteria; a criterion that could not be read, or that has no truth, is unknown.

    Raises `EstimateError` for an answer without an author, or a judge that judged an answer twice.
    """

    def rows() -> Iterator[Row]:
        for one in judged:
            author, item = author_of(one.case), item_of(one.case)
            met = one.verdict.met if isinstance(one.verdict, Criteria) else {}
            truth = one.case.met.get(one.case.answers[0].id, {})
            for criterion in one.case.criteria:
                name = criterion.id
                about = criterion.points, len(criterion.text), axis_of(name)
                yield Row(one.judge, author, item, name, met.get(name), truth.get(name), *about)

    return rubric_table(rows(), families)


def axis_of(criterion: str) -> str:
    """
    Return what a criterion is about: the part of its name before a colon, "" where it has none.

    >>> axis_of("length_constraints:number_words"), axis_of("c1")
    ('length_constraints', '')
    """
    return criterion.partition(":")[0] if ":" in criterion else ""


def labels_by_size(sizes: Sequence[float], bins: int = 4) -> list[str]:
    """
    Return for each criterion its part of the range of sizes; the parts hold about equal numbers.

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

    With points of 1 it is the share of criteria met. Criteria of negative points that are met are subtracted, and the
    sum is clipped to what is possible (HealthBench's rule). Criteria without a mark are left out of both.
    """
    earned = by_instance(table, (marks == 1) * table.points)
    possible = by_instance(table, (marks != MISSING) * np.maximum(table.points, 0.0))
    return Fractions(np.clip(np.round(earned, 9), 0.0, possible), np.round(possible, 9))


def direct_scores(shares: Floats) -> Fractions:
    """
    Return the scores of direct assessment from shares in [0, 1], [..., instances]; NaN is a verdict without a share.

    A reply "X of Y" is read as min(X, Y) / Y with the judge's own Y, so equal fractions are equal numbers.

    >>> direct_scores(np.array([2 / 3, 4 / 6, np.nan])).values().round(2).tolist()
    [0.67, 0.67, nan]
    """
    known = ~np.isnan(shares)
    return Fractions(np.where(known, shares, 0.0), known.astype(np.float64))


def system_scores(scores: Fractions) -> Floats:
    """Return the mean score over the instances whose score is known, [...]; NaN where none is."""
    return mean_known(scores.values(), -1)


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


def pairwise_system_scores(judged: Signs) -> Floats:
    """
    Return a judge's score of each generator from its comparisons [..., generators, generators, instances].

    The mean of 1 for a win, 1/2 for a tie and 0 for a loss, over opponents and instances; NaN without comparisons.
    """
    known = (judged != NO_SIGN) & ~diagonal(judged.shape[-2])
    won = np.where(known, (judged + 1) / 2, 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(won.sum(axis=(-2, -1)) / known.sum(axis=(-2, -1)), dtype=np.float64)


def diagonal(size: int) -> Bools:
    """Return where a generator is compared with itself, shape [generators, generators, 1]."""
    return np.eye(size, dtype=np.bool_)[..., None]


def by_instance(table: RubricTable, values: Floats) -> Floats:
    """Return values [..., criteria] summed over the criteria of each instance."""
    order = np.argsort(table.instance, kind="stable")
    starts = np.searchsorted(table.instance[order], np.arange(len(table.instances)))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1), dtype=np.float64)


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

    A tie of an even committee is not met. Members without a verdict are left out; fewer than two give none.

    >>> committee_marks(np.array([[1, 1, 1], [1, 0, -1], [0, 0, -1]], np.int8)).tolist()
    [1, 0, -1]
    """
    votes, known = (verdicts == 1).sum(axis=0), (verdicts != MISSING).sum(axis=0)
    found = (2 * votes > known).astype(np.int8)
    return np.where(known >= 2, found, np.int8(MISSING)).astype(np.int8)


def committee_scores(members: Fractions) -> Fractions:
    """
    Return the scores of a committee in direct assessment: the mean of its members' scores [members, ...].

    Members without a score are left out; fewer than two give none. Means are rounded to 12 decimals, so that
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
    Return the signs of a committee of judges of pairs, from its members' [members, ...]: the sign of their sum.

    Members without a sign are left out; fewer than two give none.

    >>> committee_signs(np.array([[1, 1, 1], [1, -1, 2], [-1, 0, 2]], np.int8)).tolist()
    [1, 0, 2]
    """
    known = members != NO_SIGN
    total = np.sign(np.where(known, members, 0).sum(axis=0))
    return np.where(known.sum(axis=0) >= 2, total, NO_SIGN).astype(np.int8)


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
    return mean_known(cell_agreement(verdicts), 0)


def agreement_filtered(
    table: RubricTable, threshold: float, *, by: Literal["criterion", "cell"] = "criterion"
) -> RubricTable:
    """
    Return the table of criteria on which judges agree at least as much as `threshold`, in [0, 1].

    By criterion, the set is the same for every generator (the paper's words). By cell, each answer to a criterion
    counts on its own agreement (nearer to the paper's curve). A cell that is left out has no truth.

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
