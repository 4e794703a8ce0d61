"""Perplexity as tables: how likely a judge's model finds its own answers and others', and who wins by that."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum, sqrt
from statistics import stdev

from calm.models.wire import Json
from calm.selfpreference.perplexity import Bin, Curves, LogPerplexities
from calm.selfpreference.report.rows import Part
from calm.statistics.beta import student_quantile


def perplexity_parts(likely: LogPerplexities, curves: Mapping[str, Curves], *, level: float = 0.05) -> tuple[Part, ...]:
    """
    Return a table of the log-perplexities of own answers against others', and one of win rates; those with rows.

    Args:
        likely: log-perplexities in nats a token, by judge, item and author.
        curves: win rates by difference in log-perplexity, by judge.
        level: of each bound of the difference.
    """
    found = [row for judge, by_item in likely.items() if (row := _against(judge, by_item, level))]
    bins = [row for judge, one in curves.items() for row in _bins(judge, one)]
    parts = Part("perplexity", tuple(found)), Part("perplexity_curves", tuple(bins))
    return tuple(part for part in parts if part.rows)


def _against(judge: str, by_item: Mapping[str, Mapping[str, float]], level: float) -> dict[str, Json]:
    """Return the mean of the own answers, of the others', and of the differences by item, with Student's t bounds."""
    own: list[float] = []
    others: list[float] = []
    for values in by_item.values():
        theirs = [value for author, value in values.items() if author != judge]
        if judge in values and theirs:
            own.append(values[judge])
            others.append(fsum(theirs) / len(theirs))
    if not own:
        return {}
    n, differences = len(own), [a - b for a, b in zip(own, others, strict=True)]
    middle = fsum(differences) / n
    spread = stdev(differences) if n > 1 else 0.0
    half = student_quantile(n - 1, 1 - level) * spread / sqrt(n) if spread else None
    return {
        "judge": judge,
        "items": n,
        "own": fsum(own) / n,
        "others": fsum(others) / n,
        "own_less_others": {
            "value": middle,
            "low": None if half is None else middle - half,
            "high": None if half is None else middle + half,
        },
    }


def _bins(judge: str, curves: Curves) -> list[dict[str, Json]]:
    lines = {"judge_wins": curves.judge, "people_wins": curves.human}
    split = {"own_wins": curves.own, "others_wins": curves.others}
    rows = []
    for place, one in enumerate(curves.judge):
        rates = {name: _rate(bins[place]) for name, bins in (lines | split).items()}
        edges: dict[str, Json] = {"judge": judge, "difference_from": one.low, "difference_to": one.high, "n": one.n}
        rows.append({**edges, "n_people": curves.human[place].n, **rates})
    return rows


def _rate(one: Bin) -> Json:
    return None if one.rate is None else {"value": one.rate, "low": one.rate_low, "high": one.rate_high}
