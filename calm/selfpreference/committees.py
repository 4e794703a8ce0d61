"""
Judges of criteria together, and against the truth: accuracy, committees, the agreement filter, differences of scores.

A committee's verdict is that of the majority (arXiv 2604.06996); the filter keeps the criteria on which judges agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from calm.errors import EstimateError
from calm.selfpreference.contrasts import Floats, Grid
from calm.selfpreference.rubric import MISSING, NO_SIGN, Fractions, Marks, RubricTable, Signs


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
    cells = cell_agreement(verdicts)
    known = ~np.isnan(cells)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, cells, 0.0).sum(axis=0) / known.sum(axis=0), dtype=np.float64)


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
