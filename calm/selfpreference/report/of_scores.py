"""All figures of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

import numpy as np

from calm.core.claims import Estimate
from calm.core.units import Unit
from calm.core.verdict import Scale
from calm.selfpreference import calm_errors, framing_scores, pairs
from calm.selfpreference.contrasts import DRAWS
from calm.selfpreference.families import Leak
from calm.selfpreference.framing_scores import ScoreTable
from calm.selfpreference.perplexity import Curves
from calm.selfpreference.report.evaluations import evaluation_parts
from calm.selfpreference.report.rows import (
    JudgeRow,
    SelfPreference,
    add_excess,
    add_unread,
    estimates_of,
    excess_of_scores,
    families_in,
    matrix_of,
    pull,
)
from calm.selfpreference.self_evaluation import evaluated, p_holm
from calm.selfpreference.verdicts import Unread, Wording


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
    worded: Mapping[Wording, ScoreTable] | None = None,
) -> SelfPreference:
    """
    Return all figures of a table of scores.

    Published: `own`, `received`, `given`, their t and p values and Holm's, and CALM's `self_enhancement_error`.
    Corrected: `own_pull` (on texts of equal gold scores); `self_preference_excess` (of the comparisons of an own text
    with another one); the double-centred `score_excess`, as a share of the scale, over all outsiders, and
    `excess_over_outsider` over the neutral one, if it is named. Where `unread` says it, also the shares of verdicts
    that hold no score (`unread`, `unread_own`), which are in no other figure.

    Parts: graded self-evaluation, in each of the wordings in which the scores were asked (see `evaluations`).

    A ratio of means depends on where the scale begins: where scores are shares, `scales` says of what scale for each
    judge, and CALM's error is that of the scores on it.

    Matrix: the mean score.
    """
    grid = table.grid
    rows = []
    means = framing_scores.resampled_means(table, rng, draws)  # the same for every judge, in any order
    evaluations = evaluated(table, grid.judges)
    said = [one for one in evaluations.values() if not isinstance(one, str)]
    adjusted = {name: p_holm(said, f"own_minus_{name}") for name in ("received", "given")}
    for judge in grid.judges:
        found = evaluations[judge]
        published: dict[str, float | None] = {}
        scored = partial(framing_scores.score_excess, table, judge, means, level=level, of_scale=True)
        wanted: dict[str, Callable[[], Estimate]] = {
            "own_pull": partial(pull, partial(pairs.known_by_scores, table, judge), level),
            "score_excess": scored,
        }
        if outsider is not None:
            wanted["excess_over_outsider"] = partial(scored, outsiders=[outsider])
        corrected, reasons = estimates_of(wanted)
        add_excess(partial(excess_of_scores, table, judge, level), corrected, reasons)
        if isinstance(found, str):
            reasons["own"] = found
        else:
            published["own"] = found.own.mean
            for name, spread in (("received", found.received), ("given", found.given)):
                published[name] = None if spread is None else spread.mean
            for name, test in (("received", found.own_minus_received), ("given", found.own_minus_given)):
                if test is not None:
                    published |= {f"t_{name}": test.t, f"p_{name}": test.p, f"d_z_{name}": test.d_z}
            published |= {f"p_holm_{name}": by_judge.get(judge) for name, by_judge in adjusted.items()}
            scale = (scales or {}).get(judge, Scale(0.0, 1.0))
            if found.received is not None:
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
        "score",
        len(table.items),
        tuple(rows),
        (matrix,),
        families_in(grid),
        curves or {},
        tuple(leaks),
        evaluation_parts(table, worded or {}, scales or {}),
    )
