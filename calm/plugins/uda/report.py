"""What a matrix of ratings says of its judges, and what alignment did to it, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any, Final

import numpy as np

from calm.plugins.uda import ratings as consensus
from calm.plugins.uda.page import FIGURES, SIDES
from calm.plugins.uda.ratings import Floats, clustered
from calm.results.parts import aligned

SCHEMA = "calm-uda-report/1"
FEWEST_GOLD = 3
"""With true ratings of fewer models there is no correlation with them."""
MOST_LOST: Final = 0.02
"""So much correlation with the consensus before alignment may be lost on average; sound trainings gain."""
LEAST_ALIKE: Final = 0.5
"""The consensus after alignment correlates with the one before by so much at least; by .9 after sound trainings."""
LEAST_LEFT: Final = 0.02
"""So much of the spread of the consensus is left at least; a third or more after sound trainings."""
COLLAPSES: Final[Mapping[str, str]] = {
    "mean_correlation_with_consensus": "the mean correlation of the judges with their consensus fell from {was:.3f} to "
    "{now:.3f} (allowed: {limit:.3f} or more)",
    "consensus_correlation_with_baseline": "the consensus after alignment is another one: it correlates with the one "
    "before by {now:.3f} (allowed: {limit:.2f} or more)",
    "consensus_spread": "the ratings are nearly all alike: the spread of the consensus went from {was:.1f} to "
    "{now:.1f} points (allowed: {limit:.1f} or more)",
}
"""What each broken limit means, in words."""


def _three(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"  # gold may have another scale


def _root(value: float | None) -> str:
    return "-" if value is None else f"{value**0.5:.0f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1%}"


COLUMNS: Final[tuple[tuple[str, str, Callable[[float | None], str]], ...]] = (
    ("r gold", "correlation_with_gold", _three),
    ("r consensus", "correlation_with_consensus", _three),
    ("off", "squared_error_to_consensus", _root),
    ("own rating", "self_deviation", _percent),
    ("gold slope", "calibration_slope", _short),
)
"""The figures of a judge: their words on a terminal, their keys, and how they are written."""


def report(
    before: Floats,
    after: Floats | None,
    judges: Sequence[str],
    models: Sequence[str],
    *,
    gold: Mapping[str, float] | None,
    rng: Random,
    weights: Floats | None = None,
) -> dict[str, Any]:
    """
    Return the report on two matrices of ratings, a row for each judge and a column for each model; None: on one alone.

    For both, correlations are taken with the consensus of the baseline. Fractions, not percent. `weights`, one for each
    judge, sum to 1 and make the consensus; None if all count alike.
    """
    anchor = consensus.centre(before, weights)
    counted = np.full(len(judges), 1 / len(judges)) if weights is None else weights
    first = _side(before, anchor, (judges, models), gold, weights)
    made: dict[str, Any] = {
        "schema": SCHEMA,
        "judges": list(judges),
        "models": list(models),
        "weights": dict(zip(judges, counted.tolist(), strict=True)),
        "clusters": clustered(before, judges, models, rng).to_json(),
        "before": first,
        "foremost": [],
    }
    warned = consensus.warnings(before, judges, models, gold, rng)
    if after is not None:
        second = _side(after, anchor, (judges, models), gold, weights)
        made["after"] = second
        made["change"] = {
            key: second[key] / first[key] - 1 if first[key] and second[key] is not None else None
            for key in ("inter_judge_std", "consensus_spread", "relative_std", "mean_abs_self_deviation")
        }
        made["collapse"] = collapse(first, second)
        made["foremost"] = _further_from_gold(first, second)
        warned = [*_doubts(first, second, collapsed(made["collapse"])), *warned]
    made["warnings"] = [*warned, *_gold_doubts(models, gold)]
    return made


def _side(
    ratings: Floats,
    anchor: Floats,
    names: tuple[Sequence[str], Sequence[str]],
    gold: Mapping[str, float] | None,
    weights: Floats | None,
) -> dict[str, Any]:
    judges, models = names
    per_model = consensus.inter_judge_std(ratings)
    together = consensus.centre(ratings, weights)
    spread = consensus.consensus_spread(ratings, weights)
    own = consensus.self_deviation(ratings, judges, models)
    near = {judge: consensus.correlation(ratings[j], anchor) for j, judge in enumerate(judges)}
    loo = consensus.leave_one_out(ratings, judges)
    off = {judge: consensus.squared_error(ratings[j], anchor) for j, judge in enumerate(judges)}
    found: dict[str, Any] = {
        "ratings": {j: dict(zip(models, row.tolist(), strict=True)) for j, row in zip(judges, ratings, strict=True)},
        "consensus": dict(zip(models, together.tolist(), strict=True)),
        "inter_judge_std_by_model": dict(zip(models, per_model.tolist(), strict=True)),
        "inter_judge_std": float(per_model.mean()),
        "consensus_spread": spread,
        "relative_std": float(per_model.mean()) / spread if spread else None,
        "self_deviation": own,
        "mean_abs_self_deviation": fmean(map(abs, own.values())) if own else None,
        "correlation_with_consensus": near,
        "mean_correlation_with_consensus": _mean(near),
        "squared_error_to_consensus": off,
        "mean_squared_error_to_consensus": fmean(off.values()),
        "consensus_correlation_with_baseline": consensus.correlation(together, anchor),
        "correlation_with_other_judges": loo,
        "mean_correlation_with_other_judges": _mean(loo),
    }
    known = [m for m, name in enumerate(models) if gold and name in gold]
    if gold and len(known) >= FEWEST_GOLD:
        truth = np.array([gold[models[m]] for m in known])
        by_judge = {judge: consensus.correlation(ratings[j, known], truth) for j, judge in enumerate(judges)}
        without = {}
        for j, judge in enumerate(judges):  # a plain mean where the others have no weight
            kept = None if weights is None else np.delete(weights, j)
            share = None if kept is None or not kept.sum() else kept / kept.sum()
            others = consensus.centre(np.delete(ratings, j, axis=0), share)
            without[judge] = consensus.correlation(others[known], truth)
        lines = {judge: consensus.calibration(ratings[j, known], truth) for j, judge in enumerate(judges)}
        line = consensus.calibration(together[known], truth)
        found |= {
            "calibration_slope": {judge: one and one[0] for judge, one in lines.items()},
            "calibration_intercept": {judge: one and one[1] for judge, one in lines.items()},
            "consensus_calibration_slope": line and line[0],
            "squared_error_to_gold": {
                judge: consensus.squared_error(ratings[j, known], truth) for j, judge in enumerate(judges)
            },
            "correlation_with_gold": by_judge,
            "mean_correlation_with_gold": _mean(by_judge),
            "consensus_correlation_with_gold": consensus.correlation(together[known], truth),
            "consensus_correlation_with_gold_without": without,
        }
    return found


def collapse(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """
    Return why ratings after alignment must not be used: of each broken limit the figure, both values and the limit.

    Trainings in simulated arenas, sound and cut short, gave the limits.
    """
    near, spread = "mean_correlation_with_consensus", "consensus_spread"
    if not before[spread]:
        return []  # ratings that were all alike cannot collapse
    limits = {
        near: (before[near] or 0.0) - MOST_LOST,
        "consensus_correlation_with_baseline": LEAST_ALIKE,
        spread: LEAST_LEFT * before[spread],
    }
    return [
        {"figure": figure, "before": before[figure], "after": after[figure], "limit": limit}
        for figure, limit in limits.items()
        if not (after[figure] or 0.0) >= limit
    ]


def collapsed(found: Sequence[Mapping[str, Any]]) -> str:
    """Return what `collapse` found in words, "" for nothing."""
    told = []
    for one in found:
        was, now, limit = (0.0 if one[key] is None else one[key] for key in ("before", "after", "limit"))
        told.append(COLLAPSES[one["figure"]].format(was=was, now=now, limit=limit))
    return "; ".join(told)


def _doubts(before: Mapping[str, Any], after: Mapping[str, Any], collapse: str) -> list[str]:
    found = [f"the alignment collapsed: {collapse}; do not use the ratings after it"] if collapse else []
    sides = [[side[key] for key in ("inter_judge_std", "consensus_spread", "relative_std")] for side in (before, after)]
    (apart, was, ratio), (closer, now, after_ratio) = sides
    if all((apart, was, now)) and closer < apart and (left := after_ratio / ratio) > 0.95:
        found.append(
            f"the judges lie closer only as all ratings shrank: the spread of the consensus went from {was:.0f} "
            f"to {now:.0f}, and the deviation between judges relative to it is {left:.2f} of what it was; no judge "
            f"was aligned"
        )
    near, later = (side["mean_correlation_with_consensus"] for side in (before, after))
    if isinstance(near, float) and isinstance(later, float) and later < near and not collapse:
        found.append(
            f"the ratings after alignment follow the consensus less than those before: the mean correlation with it "
            f"went from {near:.2f} to {later:.2f}; train with more comparisons or epochs, or do not use the model"
        )
    return found


WITH_GOLD: Final[Mapping[str, str]] = {
    "consensus_correlation_with_gold": "the correlation of the consensus with gold",
    "mean_correlation_with_gold": "the judges' mean correlation with gold",
}

FALL: Final = 0.01
"""A fall of a correlation that is told."""


def _further_from_gold(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    sides = [(words, before.get(key), after.get(key)) for key, words in WITH_GOLD.items()]
    fell = [f"{words} fell from {was:.3f} to {now:.3f}" for words, was, now in sides if _less(was, now)]
    if not fell or any(_less(now, was) for _, was, now in sides):
        return fell
    return [f"the alignment took the ratings away from gold: {', '.join(fell)}; use those before it"]


def _less(was: float | None, now: float | None) -> bool:
    return was is not None and now is not None and round(was - now, 3) >= FALL


def _gold_doubts(models: Sequence[str], gold: Mapping[str, float] | None) -> list[str]:
    if gold is None:
        return []
    found = []
    odd = [name for name in gold if name not in models]
    if odd:
        found.append(f"the true ratings name {', '.join(map(repr, odd))}, which match no model")
    known = len(gold) - len(odd)
    if known < FEWEST_GOLD:
        found.append(
            f"true ratings of {known} of {len(models)} models: with fewer than {FEWEST_GOLD} they are not used"
        )
    elif lacking := [name for name in models if name not in gold]:
        found.append(f"no true ratings of {', '.join(map(repr, lacking))}: all figures with gold leave them out")
    return found


def _mean(values: Mapping[str, float | None]) -> float | None:
    found = [value for value in values.values() if value is not None]
    return fmean(found) if found else None


def table(made: Mapping[str, Any]) -> str:
    """Return the report as lines of text: what counts most, the figures and their change, each judge, the warnings."""
    sides = [made[name] for name in SIDES if name in made]
    rows = [("", *SIDES, "change")] if sides[1:] else []
    for key, name, digits in FIGURES:
        values = [side.get(key) for side in sides]
        if values[0] is not None:
            share = not key.startswith(("mean_c", "consensus_c"))
            cells = _cells(values[0], values[-1], digits, relative=share) if sides[1:] else (f"{values[0]:.{digits}f}",)
            rows.append((name, *cells))
    shown = [one for one in COLUMNS if sides[0].get(one[1])]
    judges = [("judge", *(head for head, *_ in shown))]
    judges += (
        (judge, *(" ".join(form(side[key].get(judge)) for side in sides) for _, key, form in shown))
        for judge in made["judges"]
    )
    weights = made["weights"]
    told = [f"{judge} {weight:.2f}" for judge, weight in weights.items() if len(set(weights.values())) > 1]
    weighed = [f"weights in the consensus: {', '.join(told)}"] if told else []
    warned = (f"warning: {text}" for text in made["warnings"])
    by_judge = f"each judge{', before and after' if sides[1:] else ''} (off: points from the consensus):"
    tables = [*aligned(rows, right=True), "", by_judge, *aligned(judges, right=True)]
    foremost = [f"warning: {text}" for text in made["foremost"]]
    return "\n".join(
        [*foremost, *([""] if foremost else []), *tables, "", *weighed, *leaning(made["clusters"]), *warned]
    )


def leaning(clusters: Mapping[str, Any]) -> list[str]:
    """Return in words which judges share a lean, a line for each cluster, or that none do, or why it is unknown."""
    cut, found, needs = (clusters[key] for key in ("cut", "found", "needs"))
    if not isinstance(cut, float):
        return [f"shared leans: not looked for; {needs['judges']} judges and {needs['models']} models are needed"]
    if not found:
        return [f"shared leans: none beyond chance (two judges would have to correlate by {cut:.2f})"]
    lines = []
    for one in found:
        line = f"shared lean: {', '.join(one['judges'])} (correlation {one['correlation']:.2f}, p = {one['p']:.3f})"
        moves = [("favour", one["favours"]), ("mark down", one["marks_down"])]
        line += " and".join(f" {verb} {', '.join(models)}" for verb, models in moves if models)
        if one["against"]:
            other = ", ".join(one["against"])
            line += f"; {other} lean the other way: ratings alone do not say which of the two leans"
        lines.append(line)
    return lines


def _cells(before: float, after: float | None, digits: int, *, relative: bool) -> tuple[str, str, str]:
    if after is None:
        return f"{before:.{digits}f}", "-", "-"
    change = f"{after / before - 1:+.1%}" if relative and before else f"{after - before:+.{digits}f}"
    return f"{before:.{digits}f}", f"{after:.{digits}f}", change
