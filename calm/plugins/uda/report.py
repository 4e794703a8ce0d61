"""Before and after: what alignment did to a matrix of ratings, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from calm.plugins.uda import ratings as consensus
from calm.plugins.uda.page import FIGURES
from calm.plugins.uda.ratings import Floats, clustered
from calm.results.parts import aligned

SCHEMA = "calm-uda-report/1"
FEWEST_GOLD = 3
"""With true ratings of fewer models there is no correlation with them."""


def report(
    before: Floats,
    after: Floats,
    judges: Sequence[str],
    models: Sequence[str],
    *,
    gold: Mapping[str, float] | None,
    rng: Random,
    weights: Floats | None = None,
) -> dict[str, Any]:
    """
    Return the report on two matrices of ratings, a row for each judge and a column for each model.

    For both, correlations are taken with the consensus of the baseline. Fractions, not percent. `weights`, one for each
    judge, sum to 1 and make the consensus; None if all count alike.
    """
    anchor = consensus.centre(before, weights)
    first, second = (_side(ratings, anchor, (judges, models), gold, weights) for ratings in (before, after))
    warned = [*consensus.warnings(before, judges, models, gold, rng), *_doubts(first, second, models, gold)]
    counted = np.full(len(judges), 1 / len(judges)) if weights is None else weights
    return {
        "schema": SCHEMA,
        "judges": list(judges),
        "models": list(models),
        "weights": dict(zip(judges, counted.tolist(), strict=True)),
        "clusters": clustered(before, judges, models, rng).to_json(),
        "before": first,
        "after": second,
        "change": {
            key: second[key] / first[key] - 1 if first[key] and second[key] is not None else None
            for key in ("inter_judge_std", "consensus_spread", "relative_std", "mean_abs_self_deviation")
        },
        "warnings": warned,
    }


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
        "squared_error_to_consensus": {
            judge: consensus.squared_error(ratings[j], anchor) for j, judge in enumerate(judges)
        },
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
        found |= {
            "correlation_with_gold": by_judge,
            "mean_correlation_with_gold": _mean(by_judge),
            "consensus_correlation_with_gold": consensus.correlation(together[known], truth),
            "consensus_correlation_with_gold_without": without,
        }
    return found


def _doubts(
    before: Mapping[str, Any], after: Mapping[str, Any], models: Sequence[str], gold: Mapping[str, float] | None
) -> list[str]:
    found = []
    sides = [[side[key] for key in ("inter_judge_std", "consensus_spread", "relative_std")] for side in (before, after)]
    (apart, was, ratio), (closer, now, after_ratio) = sides
    if all((apart, was, now)) and closer < apart and (left := after_ratio / ratio) > 0.95:
        found.append(
            f"the judges lie closer only as all ratings shrank: the spread of the consensus went from {was:.0f} "
            f"to {now:.0f}, and the deviation between judges relative to it is {left:.2f} of what it was; no judge "
            f"was aligned"
        )
    near, later = (side["mean_correlation_with_consensus"] for side in (before, after))
    if isinstance(near, float) and isinstance(later, float) and later < near:
        found.append(
            f"the ratings after alignment follow the consensus less than those before: the mean correlation with it "
            f"went from {near:.2f} to {later:.2f}; train with more comparisons or epochs, or do not use the model"
        )
    odd = [name for name in gold or () if name not in models]
    if odd:
        found.append(f"the true ratings name {', '.join(map(repr, odd))}, which match no model")
    if gold is not None and (known := len(gold) - len(odd)) < FEWEST_GOLD:
        found.append(
            f"true ratings of {known} of {len(models)} models: with fewer than {FEWEST_GOLD} they are not used"
        )
    return found


def _mean(values: Mapping[str, float | None]) -> float | None:
    found = [value for value in values.values() if value is not None]
    return fmean(found) if found else None


def table(made: Mapping[str, Any]) -> str:
    """Return the report as lines of text: the figures before, after and their change, then the warnings."""
    first, second = made["before"], made["after"]
    rows = [("", "before", "after", "change")]
    for key, name, digits in FIGURES:
        if first.get(key) is not None:
            share = not key.startswith(("mean_c", "consensus_c"))
            rows.append((name, *_cells(first[key], second.get(key), digits, relative=share)))
    for judge, was in first["self_deviation"].items():
        found = second["self_deviation"].get(judge)
        rows.append((f"self-preference of {judge}", *_cells(was, found, 3, relative=False)))
    weights = made["weights"]
    told = [f"{judge} {weight:.2f}" for judge, weight in weights.items() if len(set(weights.values())) > 1]
    weighed = [f"weights in the consensus: {', '.join(told)}"] if told else []
    warned = (f"warning: {text}" for text in made["warnings"])
    return "\n".join([*aligned(rows, right=True), *weighed, *leaning(made["clusters"]), *warned])


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
