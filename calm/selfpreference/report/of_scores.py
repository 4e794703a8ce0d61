"""All figures of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.core.units import Unit
from calm.core.verdict import Scale
from calm.errors import EstimateError
from calm.selfpreference import (
    calm_errors,
    framing_scores,
)
from calm.selfpreference.contrasts import DRAWS
from calm.selfpreference.families import Leak
from calm.selfpreference.framing_scores import ScoreTable
from calm.selfpreference.perplexity import Curves
from calm.selfpreference.report.rows import (
    JudgeRow,
    SelfPreference,
    add_excess,
    add_unread,
    estimates_of,
    excess_of_scores,
    families_in,
    matrix_of,
)
from calm.selfpreference.verdicts import Unread
from calm.statistics.multiplicity import holm


def of_scores(
    table: ScoreTable,
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
    outsider: str | None = None,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
    unread: Mapping[str, Unread] | None = None,
    scales: Mapping[str, Scale] | None = None,
) -> SelfPreference:
    """
    Return all figures of a table of scores.

    Published: `own`, `received`, `given`, their t and p values and Holm's, and CALM's `self_enhancement_error`.
    Corrected: `self_preference_excess` (of the comparisons of an own text with another one); the double-centred
    `score_excess`, as a share of the scale, over all outsiders, and `excess_over_outsider` over the neutral one, if it
    is named. Where `unread` says it, also the shares of verdicts that hold no score (`unread`, `unread_own`), which are
    in no other figure.

    A ratio of means depends on where the scale begins: where scores are shares, `scales` says of what scale for each
    judge, and CALM's error is that of the scores on it.

    Matrix: the mean score.
    """
    grid = table.grid
    rows = []
    means = framing_scores.resampled_means(table, rng, draws)  # the same for every judge, in any order
    evaluations = {judge: _evaluated(table, judge) for judge in grid.judges}
    adjusted = _adjusted([e for e in evaluations.values() if not isinstance(e, str)])
    for judge in grid.judges:
        found = evaluations[judge]
        published: dict[str, float | None] = {}
        scored = partial(framing_scores.score_excess, table, judge, means, level=level, of_scale=True)
        wanted: dict[str, Callable[[], Estimate]] = {"score_excess": scored}
        if outsider is not None:
            wanted["excess_over_outsider"] = partial(scored, outsiders=[outsider])
        corrected, reasons = estimates_of(wanted)
        add_excess(partial(excess_of_scores, table, judge, level), corrected, reasons)
        if isinstance(found, str):
            reasons["own"] = found
        else:
            published = {"own": found.own.mean, "received": found.received.mean, "given": found.given.mean}
            for name, test in (("received", found.own_minus_received), ("given", found.own_minus_given)):
                published |= {f"t_{name}": test.t, f"p_{name}": test.p, f"d_z_{name}": test.d_z}
            published |= adjusted.get(judge, {})
            scale = (scales or {}).get(judge, Scale(0.0, 1.0))
            own, others = (
                scale.low + mean * (scale.high - scale.low) for mean in (found.own.mean, found.received.mean)
            )
            if others > 0:
                published["self_enhancement_error"] = calm_errors.self_enhancement_error(own, others)
        add_unread(unread, judge, published, reasons)
        rows.append(JudgeRow(judge, grid.families[judge], published, corrected, reasons))
    known = ~np.isnan(table.scores)
    with np.errstate(invalid="ignore"):
        means = np.where(known, table.scores, 0.0).sum(axis=2) / known.sum(axis=2)
    matrix = matrix_of(Unit.MEAN_SCORE, grid, means)
    return SelfPreference(
        "score", len(table.items), tuple(rows), (matrix,), families_in(grid), curves or {}, tuple(leaks)
    )


def _evaluated(table: ScoreTable, judge: str) -> framing_scores.SelfEvaluation | str:
    try:
        return framing_scores.self_evaluation(table, judge)
    except EstimateError as error:
        return str(error)


def _adjusted(found: Sequence[framing_scores.SelfEvaluation]) -> dict[str, dict[str, float | None]]:
    """Return p values by Holm's procedure over all judges with an evaluation."""
    if not found:
        return {}
    received = holm([one.own_minus_received.p for one in found])
    given = holm([one.own_minus_given.p for one in found])
    return {
        one.judge: {"p_holm_received": a, "p_holm_given": b} for one, a, b in zip(found, received, given, strict=True)
    }
