"""All figures of verdicts on criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

from calm.core.claims import Estimate
from calm.core.units import Unit
from calm.selfpreference import committees, credit, overestimation, pairs, rubric
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
    known,
    matrix_of,
    pull,
)
from calm.selfpreference.rubric import RubricTable
from calm.selfpreference.verdicts import Unread


def of_rubrics(
    table: RubricTable,
    rng: Random,
    *,
    level: float = 0.05,
    draws: int = DRAWS,
    curves: Mapping[str, Curves] | None = None,
    leaks: Sequence[Leak] = (),
    unread: Mapping[str, Unread] | None = None,
) -> SelfPreference:
    """
    Return all figures of a table of verdicts on criteria.

    Published: `mra`, `mipa`, and HSPP ratios by rubric and instance for self, family with self and family without.
    Corrected: `own_pull` (on criteria that both answers pass, or that both fail), `self_preference_ratio` (the double
    ratio by rubric), the same by instance as `self_preference_ratio_instance`, `family_preference_ratio`,
    `overestimation_excess` (double-centred, by rubric), and `self_preference_excess` (where any truth is known that of
    credit, as `credit.credit_excess` does; else that of the plain scores, and why it says little). Where `unread` says
    it, also the shares of criteria that could not be read (`unread`, `unread_own`), which are in no other figure.

    Matrices: over-estimation rate by rubric, and centred score differences.
    """
    grid = table.grid
    judged, true = rubric.scored(table, table.verdicts), rubric.scored(table, table.truth)
    signs, true_signs = rubric.signs(judged), rubric.signs(true)
    by_rubric = overestimation.overestimated_rubrics(table)
    by_instance = overestimation.overestimated_instances(signs, true_signs)
    accuracy = committees.mean_rubric_agreement(table.verdicts, table.truth)
    agreement = committees.mean_instance_agreement(signs, true_signs)
    state = rng.getstate()

    def again() -> Random:
        """Return the same randomness again: all figures use the same resampled sets."""
        rng.setstate(state)
        return rng

    samples = tuple(overestimation.resample(over, again(), draws) for over in (by_rubric, by_instance))
    points = ScoreTable(grid, table.instances, judged.values(), 0.0, 1.0)
    given = credit.credit(table) if (table.truth != rubric.MISSING).any() else None
    rows = []
    for place, judge in enumerate(grid.judges):
        one = overestimation.hspp(by_rubric.rates(), grid, judge)
        two = overestimation.hspp(by_instance.rates(), grid, judge)
        published = {"mra": known(accuracy[place]), "mipa": known(agreement[place])}
        for name, found in (("rubric", one), ("instance", two)):
            published[f"hspp_self_{name}"] = found.ratio_self
            published[f"hspp_family_with_self_{name}"] = found.ratio_family_with_self
            published[f"hspp_family_without_self_{name}"] = found.ratio_family_without_self
        ratio = partial(overestimation.double_ratio, grid=grid, judge=judge, level=level)
        wanted: dict[str, Callable[[], Estimate]] = {
            "own_pull": partial(pull, partial(pairs.known_by_criteria, table, judge), level),
            "self_preference_ratio": partial(ratio, samples[0]),
            "self_preference_ratio_instance": partial(ratio, samples[1]),
            "family_preference_ratio": partial(ratio, samples[0], target="family"),
            "overestimation_excess": partial(overestimation.rate_excess, samples[0], grid, judge, level=level),
        }
        corrected, reasons = estimates_of(wanted)
        add_excess(
            partial(excess_of_scores, points, judge, level)
            if given is None
            else partial(credit.credit_excess, given, grid, judge, level=level),
            corrected,
            reasons,
        )
        if one.reason:
            reasons |= dict.fromkeys((n for n, v in published.items() if v is None and "hspp" in n), one.reason)
        add_unread(unread, judge, published, reasons)
        rows.append(JudgeRow(judge, grid.families[judge], published, corrected, reasons))
    deltas = committees.centred_deltas(rubric.system_scores(judged), rubric.system_scores(true))
    matrices = (
        matrix_of(Unit.RUBRIC_RATE, grid, by_rubric.rates()),
        matrix_of(Unit.CENTRED_ERROR, grid, deltas),
    )
    return SelfPreference(
        "rubric", len(table.instances), tuple(rows), matrices, families_in(grid), curves or {}, tuple(leaks)
    )
