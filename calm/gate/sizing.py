"""
How often claims pass and fail with so many cases, by seeded simulation.

| name | meaning |
|---|---|
| `odds` | how often one claim passes and fails at several numbers of cases |
| `ProbeClaims`, `all_green` | how often all claims of several probes pass together |

The simulated judge has two verdicts (`calm.statistics.power`). Bounds are the padded t of the gate, at its levels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from calm.core.claims import Claim
from calm.core.measures import MEASURES
from calm.errors import EstimateError
from calm.experiment.stopping import LEVEL
from calm.gate.scenario import Repeats, Scenario
from calm.statistics.power import (
    Bias,
    Noise,
    bounds,
    draw_counts,
    draw_thetas,
    excess_table,
    gain_table,
    moved,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Counts: TypeAlias = NDArray[np.int64]

SEED = 0
STAGE_LEVEL = 0.03
RUNS = 2000
"""Simulated runs of one claim."""
JOINT_RUNS = 1000
"""Simulated runs of several probes."""


@dataclass(frozen=True, slots=True)
class Odds:
    """How often a claim passes and fails with n cases; `green`: how often all claims of all probes pass."""

    n: int
    passes: float
    fails: float
    green: float | None = None


@dataclass(frozen=True, slots=True)
class ProbeClaims:
    """The claims of one probe and the cases that it applies to (None: all)."""

    claims: tuple[Claim, ...]
    cases: int | None = None
    edited: bool = True


def _by_clean(values: Callable[[int], float], clean: int, perturbed: int) -> Floats:
    import numpy as np

    column = np.array([values(a) for a in range(clean + 1)], dtype=np.float64)
    return np.repeat(column[:, None], perturbed + 1, axis=1)


def _agreement(clean: int, perturbed: int) -> Floats:
    """Return the share of pairs of clean asks that agree, by the number of them that favour the treated answer."""
    if clean < 2:
        raise EstimateError(f"expected two clean asks or more, got {clean}")
    pairs = clean * (clean - 1)
    return _by_clean(lambda a: (a * (a - 1) + (clean - a) * (clean - a - 1)) / pairs, clean, perturbed)


def _right(clean: int, perturbed: int) -> Floats:
    return _by_clean(lambda a: 1 - a / clean, clean, perturbed)


def _noticed(clean: int, perturbed: int) -> Floats:
    """Return the share of perturbed asks that name the original minus the share that name its damaged copy."""
    import numpy as np

    row = 1 - 2 * np.arange(perturbed + 1, dtype=np.float64) / perturbed
    return np.repeat(row[None, :], clean + 1, axis=0)


_TABLES: Mapping[str, Callable[[int, int], Floats]] = {
    "net_robustness": excess_table,
    "gain": gain_table,
    "mean_shift": gain_table,
    "net_detection": _noticed,
    "consistency_rate": _agreement,
    "repeat_distance": lambda clean, perturbed: 1 - _agreement(clean, perturbed),
    "accuracy": _right,
    "readable_rate": lambda clean, perturbed: _by_clean(lambda _: 1.0, clean, perturbed),
    "unreadable_gain": lambda clean, perturbed: _by_clean(lambda _: 0.0, clean, perturbed),
}
"""The value of a case by its clean and its perturbed asks that favour the treated answer; every reply can be read."""


def _table(asked: Scenario, clean: int, perturbed: int) -> Floats:
    """Return the values of cases for a question, where readability is what is drawn."""
    found = _right if asked.claim.measure == "readable_rate" else _TABLES[asked.claim.measure]
    return found(clean, perturbed)


def modelled(claim: Claim) -> bool:
    """Return whether a claim can be simulated here."""
    return claim.measure in _TABLES


def _decided(values: Floats, claim: Claim, level: float) -> Counts:
    """Return for each run (first axis; cases on the second) 1 for a pass, -1 for a fail, 0 otherwise."""
    import numpy as np

    measure, limit = MEASURES[claim.measure], claim.limit
    low, high = bounds(values, measure.low, measure.high, level)
    if measure.flipped:
        low, high = 1 - high, 1 - low
    match claim.op:
        case "<=":
            passes, fails = high <= limit + 1e-12, low > limit
        case ">=":
            passes, fails = low >= limit - 1e-12, high < limit
        case "abs<=":
            passes, fails = (low >= -limit) & (high <= limit), (low > limit) | (high < -limit)
    return np.asarray(passes.astype(np.int64) - fails.astype(np.int64))


def level_of(repeats: Repeats, *, edited: bool) -> float:
    """Return the level of each decision: smaller where there are two of them."""
    return STAGE_LEVEL if repeats.staged and edited else LEVEL


def odds(asked: Scenario, repeats: Repeats, sizes: Sequence[int], rng: Random, *, runs: int = RUNS) -> list[Odds]:
    """
    Return how often a claim passes and fails with so many cases, by simulation.

    One draw of runs serves all sizes: a smaller one is the beginning of a larger one, so the curve is smooth. Cases are
    independent. The Monte-Carlo error of a share is at most 1 / (2 sqrt(runs)).

    >>> from calm.gate.scenario import scenario
    >>> [o.passes for o in odds(scenario("net_robustness", 0.05, 0.0, 0.0), Repeats(), (60, 71), Random(1), runs=5)]
    [0.0, 1.0]
    """
    import numpy as np

    most = max(sizes)
    theta = draw_thetas(asked.noise, rng, (runs, most))
    after = moved(theta, asked.noise, asked.bias, rng)
    if not asked.edited:
        wrong = draw_counts(after if asked.claim.measure == "accuracy" else theta, repeats.clean, rng)
        stages = [_table(asked, repeats.clean, 0)[wrong, 0]]
    else:
        base, counts = draw_counts(theta, repeats.clean, rng), draw_counts(after, repeats.perturbed, rng)
        stages = [_table(asked, repeats.clean, repeats.perturbed)[base, counts]]
        if repeats.staged:
            counts = counts + draw_counts(after, repeats.clean - repeats.perturbed, rng)
            stages.append(_table(asked, repeats.clean, repeats.clean)[base, counts])
    level, found = level_of(repeats, edited=asked.edited), []
    for n in sizes:
        outcome = np.zeros(runs, dtype=np.int64)
        for values in stages:
            outcome = np.where(outcome == 0, _decided(values[:, :n], asked.claim, level), outcome)
        found.append(Odds(n, float((outcome > 0).mean()), float((outcome < 0).mean())))
    return found


def all_green(
    probes: Sequence[ProbeClaims],
    noise: Noise,
    repeats: Repeats,
    sizes: Sequence[int],
    rng: Random,
    *,
    bias: Bias | None = None,
    runs: int = JOINT_RUNS,
) -> list[float]:
    """
    Return how often all claims of all probes pass with so many cases, by simulation; clean asks are shared.

    Probes are independent of each other given the cases. A sound judge notices what was damaged as surely as it finds
    the better answer, and all its replies can be read. The Monte-Carlo error is at most 1 / (2 sqrt(runs)).

    >>> probe = ProbeClaims((Claim("net_robustness", ">=", 0.95), Claim("gain", "<=", 0.10)))
    >>> all_green([probe] * 3, Noise(0.0), Repeats(), (60, 80), Random(1), runs=5)
    [0.0, 1.0]
    """
    import numpy as np

    most = max(sizes)
    theta = draw_thetas(noise, rng, (runs, most))
    base = draw_counts(theta, repeats.clean, rng)
    green = np.ones((len(sizes), runs), dtype=bool)
    for probe in probes:
        width = min(most, probe.cases or most)
        level, levels = level_of(repeats, edited=probe.edited), [(repeats.clean, 0)]
        counts = [np.zeros((runs, width), dtype=np.int64)]
        if probe.edited:
            after = moved(theta[:, :width], noise, bias or Bias(), rng)
            levels, counts = [(repeats.clean, repeats.perturbed)], [draw_counts(after, repeats.perturbed, rng)]
            if repeats.staged:
                levels.append((repeats.clean, repeats.clean))
                counts.append(counts[0] + draw_counts(after, repeats.clean - repeats.perturbed, rng))
        for claim in probe.claims:
            stages = [_TABLES[claim.measure](*k)[base[:, :width], c] for k, c in zip(levels, counts, strict=True)]
            for row, size in enumerate(sizes):
                n = min(size, width)
                outcome = np.zeros(runs, dtype=np.int64)
                if n >= 2:
                    for values in stages:
                        outcome = np.where(outcome == 0, _decided(values[:, :n], claim, level), outcome)
                green[row] &= outcome > 0
    return [float(share) for share in green.mean(axis=1)]
