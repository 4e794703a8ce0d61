"""Before and after: what alignment did to a matrix of ratings, as JSON and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from calm.studies.uda import consensus
from calm.studies.uda.clusters import clustered
from calm.studies.uda.elo import Floats

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
) -> dict[str, object]:
    """
    Return the report on two matrices of ratings, a row for each judge and a column for each model.

    For both, correlations are taken with the consensus of the baseline. Fractions, not percent. `weights`, one for each
    judge, sum to 1 and make the consensus; None if all count alike.
    """
    anchor = consensus.centre(before, weights)
    first, second = (_side(ratings, anchor, (judges, models), gold, weights) for ratings in (before, after))
    warned = [*consensus.warnings(before, judges, models, gold, rng), *_shrunk(before, after, weights)]
    warned += [*_turned(first, second), *_unmatched(gold, models)]
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
            key: _change(first[key], second[key])
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
) -> dict[str, object]:
    judges, models = names
    per_model = consensus.inter_judge_std(ratings)
    together = consensus.centre(ratings, weights)
    spread = consensus.consensus_spread(ratings, weights)
    own = consensus.self_deviation(ratings, judges, models)
    near = {judge: consensus.correlation(ratings[j], anchor) for j, judge in enumerate(judges)}
    loo = consensus.leave_one_out(ratings, judges)
    found: dict[str, object] = {
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
        without = {
            judge: consensus.correlation(_without(ratings, j, weights)[known], truth) for j, judge in enumerate(judges)
        }
        found |= {
            "correlation_with_gold": by_judge,
            "mean_correlation_with_gold": _mean(by_judge),
            "consensus_correlation_with_gold": consensus.correlation(together[known], truth),
            "consensus_correlation_with_gold_without": without,
        }
    return found


def _without(ratings: Floats, left_out: int, weights: Floats | None) -> Floats:
    """Return the consensus of all judges but one; a plain mean where the others have no weight."""
    rest = np.delete(ratings, left_out, axis=0)
    kept = None if weights is None else np.delete(weights, left_out)
    return consensus.centre(rest, None if kept is None or not kept.sum() else kept / kept.sum())


def _unmatched(gold: Mapping[str, float] | None, models: Sequence[str]) -> list[str]:
    """Return which names of the true ratings are no models, and whether too few are left."""
    if gold is None:
        return []
    odd = [name for name in gold if name not in models]
    told = [f"the true ratings name {', '.join(map(repr, odd))}, which match no model"] if odd else []
    left = len(gold) - len(odd)
    if left < FEWEST_GOLD:
        told.append(f"true ratings of {left} of {len(models)} models: with fewer than {FEWEST_GOLD} they are not used")
    return told


def _shrunk(before: Floats, after: Floats, weights: Floats | None) -> list[str]:
    """Return a warning if the judges lie closer only because all ratings do."""
    was, now = consensus.consensus_spread(before, weights), consensus.consensus_spread(after, weights)
    apart = float(consensus.inter_judge_std(before).mean())
    if not (was and now and apart):
        return []
    ratio = float(consensus.inter_judge_std(after).mean()) / now / (apart / was)
    closer = float(consensus.inter_judge_std(after).mean()) < apart
    if closer and ratio > 0.95:
        return [
            f"the judges lie closer only as all ratings shrank: the spread of the consensus went from {was:.0f} "
            f"to {now:.0f}, and the deviation between judges relative to it is {ratio:.2f} of what it was; no judge "
            f"was aligned"
        ]
    return []


def _turned(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """Return a warning if the ratings moved away from the consensus that they were trained toward."""
    was, now = (side["mean_correlation_with_consensus"] for side in (before, after))
    if not (isinstance(was, float) and isinstance(now, float) and now < was):
        return []
    return [
        f"the ratings after alignment follow the consensus less than those before: the mean correlation with it went "
        f"from {was:.2f} to {now:.2f}; train with more comparisons or epochs, or do not use the model"
    ]


def _change(before: object, after: object) -> float | None:
    if isinstance(before, float) and isinstance(after, float) and before:
        return after / before - 1
    return None


def _mean(values: Mapping[str, float | None]) -> float | None:
    found = [value for value in values.values() if value is not None]
    return fmean(found) if found else None


def table(made: Mapping[str, object]) -> str:
    """Return the report as lines of text: the figures before, after and their change, then the warnings."""
    first, second = made["before"], made["after"]
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    rows = [("", "before", "after", "change")]
    for name, key, digits in (
        ("inter-judge deviation", "inter_judge_std", 1),
        ("spread of the consensus", "consensus_spread", 1),
        ("deviation / spread", "relative_std", 3),
        ("self-preference, mean |deviation|", "mean_abs_self_deviation", 3),
        ("correlation with the consensus", "mean_correlation_with_consensus", 3),
        ("correlation with the other judges", "mean_correlation_with_other_judges", 3),
        ("correlation with gold, mean", "mean_correlation_with_gold", 3),
        ("correlation with gold, consensus", "consensus_correlation_with_gold", 3),
    ):
        if first.get(key) is not None:
            rows.append(
                (
                    name,
                    *_cells(
                        first[key], second.get(key), digits, relative=not key.startswith(("mean_c", "consensus_c"))
                    ),
                )
            )
    judged = first.get("self_deviation", {})
    rows += [
        (f"self-preference of {j}", *_cells(was, second["self_deviation"].get(j), 3, relative=False))
        for j, was in judged.items()
    ]
    lines = _aligned(rows)
    warned = made["warnings"]
    weighed = made.get("weights")
    told = _weighed(weighed if isinstance(weighed, Mapping) else {})
    clusters = made.get("clusters")
    told += leaning(clusters) if isinstance(clusters, Mapping) else []
    return "\n".join([*lines, *told, *(f"warning: {text}" for text in (warned if isinstance(warned, list) else []))])


def _weighed(weights: Mapping[str, float]) -> list[str]:
    """Return a line with the weight of each judge; none where all count alike."""
    if len(set(weights.values())) < 2:
        return []
    return [f"weights in the consensus: {', '.join(f'{judge} {weight:.2f}' for judge, weight in weights.items())}"]


def leaning(clusters: Mapping[str, object]) -> list[str]:
    """Return in words which judges share a lean, a line for each cluster, or that none do, or why it is unknown."""
    cut, found, needs = clusters.get("cut"), clusters.get("found"), clusters.get("needs")
    if not isinstance(cut, float):
        assert isinstance(needs, Mapping)
        return [f"shared leans: not looked for; {needs['judges']} judges and {needs['models']} models are needed"]
    assert isinstance(found, list)
    if not found:
        return [f"shared leans: none beyond chance (two judges would have to correlate by {cut:.2f})"]
    return [_cluster_line(one) for one in found]


def _cluster_line(one: Mapping[str, Any]) -> str:
    line = f"shared lean: {', '.join(one['judges'])} (correlation {one['correlation']:.2f}, p = {one['p']:.3f})"
    if one["favours"]:
        line += f" favour {', '.join(one['favours'])}"
    if one["marks_down"]:
        line += f"{' and' if one['favours'] else ''} mark down {', '.join(one['marks_down'])}"
    if one["against"]:
        line += f"; {', '.join(one['against'])} lean the other way: ratings alone do not say which of the two leans"
    return line


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as lines with aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]


def _cells(before: float, after: float | None, digits: int, *, relative: bool) -> tuple[str, str, str]:
    if after is None:
        return f"{before:.{digits}f}", "-", "-"
    change = f"{after / before - 1:+.1%}" if relative and before else f"{after - before:+.{digits}f}"
    return f"{before:.{digits}f}", f"{after:.{digits}f}", change
