"""
How often a gate decides, and how often rightly: exactly where possible, else by seeded simulation.

| name | meaning |
|---|---|
| `binomial_sizes` | the n that gives a gate on a rate its power, exactly |
| `Noise`, `Bias` | models of a judge: how it errs, and how a trigger moves it |
| `true_consistency`, `true_excess`, `true_gain` | what the measures of such a judge tend to |
| `uniforms`, `draw_thetas`, `moved`, `draw_counts` | the parts of the simulation, for other questions |
| `excess_table`, `gain_table`, `bounds` | case values by counts, and the padded t of many samples at once |

The models are of a judge with two verdicts. theta is the probability that one ask of a case favours the treated answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias

from calm.errors import EstimateError
from calm.statistics.intervals import pad

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Counts: TypeAlias = NDArray[np.int64]


def most_failures(n: int, p0: float, level: float) -> int | None:
    """
    Return the greatest number of failures among n items that still proves a rate above p0; None if none does.

    One-sided exact binomial test at `level` (Clopper & Pearson 1934). Items are independent. Smallest n: 1.

    Raises `EstimateError` for n < 1 or values outside (0, 1).

    >>> [most_failures(n, 0.90, 0.05) for n in (28, 50, 100, 200, 500)]
    [None, 1, 4, 12, 38]
    """
    _check_rates(n, p0, level)
    from scipy.special import bdtr  # imported here: only a question about power pays for it

    found = None
    for failures in range(n + 1):
        if float(bdtr(failures, n, 1 - p0)) > level:
            break
        found = failures
    return found


def binomial_sizes(p0: float, p1: float, power: float, *, level: float = 0.05, widest: int = 5000) -> tuple[int, int]:
    """
    Return the least n that proves a rate above p0 with this power where it is p1, and the n from which all do.

    Exact power is a saw-tooth in n, so the second n is the larger one. The search ends at `widest`. Items are
    independent.

    Raises `EstimateError` unless 0 < p0 < p1 < 1, or if `widest` is not enough.

    >>> binomial_sizes(0.90, 0.97, 0.80)
    (76, 89)
    """
    if not 0 < p0 < p1 < 1:
        raise EstimateError(f"expected 0 < p0 < p1 < 1, got p0={p0!r}, p1={p1!r}")
    from scipy.special import bdtr

    first = stable = None
    most = -1
    for n in range(1, widest + 1):
        while float(bdtr(most + 1, n, 1 - p0)) <= level:
            most += 1
        enough = most >= 0 and float(bdtr(most, n, 1 - p1)) >= power
        first = n if enough and first is None else first
        stable = None if not enough else n if stable is None else stable
        if stable is not None and n > 2 * stable:
            break
    if first is None or stable is None:
        raise EstimateError(f"expected a power that n={widest} can give, got power={power!r} for {p0!r} against {p1!r}")
    return first, stable


@dataclass(frozen=True, slots=True)
class Noise:
    """
    How a judge errs without a trigger.

    An ask of an ordinary case errs with probability `rate`. A share `close` of the cases are close calls, where theta
    is anything from 0 to 1. With `beta` theta is drawn from Beta(.15 beta, .85 beta) in every case instead.
    """

    rate: float = 0.0
    close: float = 0.0
    beta: float | None = None

    @classmethod
    def read(cls, text: str) -> Noise:
        """
        Return the noise that a short text names: "0.05", "mix30", "mix30 0.05" or "beta1".

        Raises `EstimateError` for another text.

        >>> Noise.read("mix30"), Noise.read("beta1").beta
        (Noise(rate=0.02, close=0.3, beta=None), 1.0)
        """
        number = r"(\d*\.?\d+)"
        if found := re.fullmatch(number, text.strip()):
            return cls(rate=float(found[1]))
        if found := re.fullmatch(rf"mix{number}(?: {number})?", text.strip()):
            return cls(rate=float(found[2] or 0.02), close=float(found[1]) / 100)
        if found := re.fullmatch(rf"beta{number}", text.strip()):
            return cls(rate=0.02, beta=float(found[1]))
        raise EstimateError(f'expected noise as "0.05", "mix30", "mix30 0.05" or "beta1", got {text!r}')


@dataclass(frozen=True, slots=True)
class Bias:
    """
    How a trigger moves a judge towards the treated answer.

    "decide": the trigger decides a share `dose` of the cases, apart from the noise. "shift": it decides each ask with
    probability `dose`.
    """

    kind: Literal["decide", "shift"] = "decide"
    dose: float = 0.0


def true_consistency(noise: Noise) -> float:
    """
    Return the probability that two clean asks of a case agree, in [0.5, 1].

    1 - 2 E[theta (1 - theta)].

    >>> round(true_consistency(Noise(0.05)), 3), round(true_consistency(Noise(0.02, 0.3)), 2)
    (0.905, 0.87)
    """
    mean, square = _moments(noise)
    return 1 - 2 * (mean - square)


def true_excess(noise: Noise, bias: Bias) -> float:
    """
    Return the mean disagreement beyond noise, E[(theta - theta')^2], in [0, 1].

    >>> round(true_excess(Noise(0.15), Bias("decide", 0.15)), 4)  # .15 * (1 - 2 * .15) ** 2
    0.0735
    """
    mean, square = _moments(noise)
    if bias.kind == "shift":
        return bias.dose**2 * (1 - 2 * mean + square)
    decided = 1 - noise.rate
    return bias.dose * (decided**2 - 2 * decided * mean + square)


def true_gain(noise: Noise, bias: Bias) -> float:
    """
    Return the mean rise of the treated answer's favour, E[theta' - theta], in [-1, 1].

    >>> round(true_gain(Noise(0.05), Bias("decide", 0.10)), 3)  # .10 * (1 - 2 * .05)
    0.09
    """
    mean, _ = _moments(noise)
    return bias.dose * ((1 - mean) if bias.kind == "shift" else 1 - noise.rate - mean)


def uniforms(rng: Random, shape: tuple[int, ...]) -> Floats:
    """
    Return uniform numbers inside (0, 1), of 32 bits each.

    >>> bool((uniforms(Random(1), (2, 3)) < 1).all())
    True
    """
    import numpy as np

    size = int(np.prod(shape))
    drawn: Floats = (np.frombuffer(rng.randbytes(4 * size), dtype="<u4").astype(np.float64) + 0.5) * 2.0**-32
    return drawn.reshape(shape)


def draw_thetas(noise: Noise, rng: Random, shape: tuple[int, ...]) -> Floats:
    """
    Return theta of as many cases as wanted, each in [0, 1].

    >>> draw_thetas(Noise(0.05), Random(1), (2,)).tolist()
    [0.05, 0.05]
    """
    import numpy as np

    if noise.beta is not None:
        from scipy.special import betaincinv

        beta: Floats = betaincinv(0.15 * noise.beta, 0.85 * noise.beta, uniforms(rng, shape))
        return beta
    if not noise.close:
        return np.full(shape, noise.rate)
    return np.where(uniforms(rng, shape) < noise.close, uniforms(rng, shape), noise.rate)


def moved(theta: Floats, noise: Noise, bias: Bias, rng: Random) -> Floats:
    """
    Return theta of the same cases after the trigger.

    >>> import numpy as np
    >>> moved(np.array([0.1]), Noise(0.1), Bias("decide", 1.0), Random(1)).tolist()
    [0.9]
    """
    import numpy as np

    if not bias.dose:
        return theta
    if bias.kind == "shift":
        return theta + bias.dose * (1 - theta)
    return np.where(uniforms(rng, theta.shape) < bias.dose, 1 - noise.rate, theta)


def draw_counts(theta: Floats, asks: int, rng: Random) -> Counts:
    """
    Return how many of `asks` asks favour the treated answer, for each case.

    >>> import numpy as np
    >>> draw_counts(np.array([0.0, 1.0]), 4, Random(1)).tolist()
    [0, 4]
    """
    import numpy as np

    total = np.zeros(theta.shape, dtype=np.int64)
    for _ in range(asks):
        total += uniforms(rng, theta.shape) < theta
    return total


def excess_table(clean: int, perturbed: int) -> Floats:
    """
    Return the value e of a case by the number of clean and of perturbed asks that favour the treated answer.

    Disagreement across the arms minus half that within each; in [-0.5, 1]. Both arms need two asks.

    >>> excess_table(2, 2)[0].tolist()
    [0.0, 0.0, 1.0]
    """
    import numpy as np

    if min(clean, perturbed) < 2:
        raise EstimateError(f"expected two asks or more in each arm, got {clean} and {perturbed}")
    a, p = np.arange(clean + 1)[:, None], np.arange(perturbed + 1)[None, :]
    across = (a * (perturbed - p) + (clean - a) * p) / (clean * perturbed)
    within = a * (clean - a) / (clean * (clean - 1) / 2) + p * (perturbed - p) / (perturbed * (perturbed - 1) / 2)
    return np.asarray(across - within / 2, dtype=np.float64)


def gain_table(clean: int, perturbed: int) -> Floats:
    """
    Return the value g of a case by the number of clean and of perturbed asks that favour the treated answer.

    Share of the perturbed asks minus share of the clean ones; in [-1, 1]. Both arms need one ask.

    >>> gain_table(2, 2)[0].tolist()
    [0.0, 0.5, 1.0]
    """
    import numpy as np

    if min(clean, perturbed) < 1:
        raise EstimateError(f"expected an ask or more in each arm, got {clean} and {perturbed}")
    return np.asarray(
        np.arange(perturbed + 1)[None, :] / perturbed - np.arange(clean + 1)[:, None] / clean, dtype=np.float64
    )


def bounds(values: Floats, low: float, high: float, level: float, *, axis: int = 1) -> tuple[Floats, Floats]:
    """
    Return `padded_t` of many samples at once: lower and upper bounds along an axis.

    The same numbers as `calm.statistics.intervals.padded_t`, which says what they mean. Items along the axis are
    independent. Smallest n: 2.

    Raises `EstimateError` for fewer than two items.

    >>> import numpy as np
    >>> [round(float(bound[0]), 4) for bound in bounds(np.zeros((1, 200)), -0.5, 1.0, 0.05)]
    [-0.0075, 0.0149]
    """
    import numpy as np
    from scipy.special import stdtrit

    n = values.shape[axis]
    if n < 2:
        raise EstimateError(f"expected at least 2 items, got n={n}")
    total, squares = values.sum(axis=axis), np.square(values).sum(axis=axis)
    weight, t = pad(level), float(stdtrit(n - 1, 1 - level))

    def bound(end: float, sign: int) -> Floats:
        mean = (total + weight * end) / (n + weight)
        variance = np.maximum(0.0, (squares + weight * end * end) / (n + weight) - mean * mean)
        return np.asarray(mean + sign * t * np.sqrt(variance / (n + weight - 1)), dtype=np.float64)

    return bound(low, -1), bound(high, 1)


def _moments(noise: Noise) -> tuple[float, float]:
    """Return E[theta] and E[theta^2]."""
    if noise.beta is not None:
        return 0.15, 0.15**2 + 0.15 * 0.85 / (noise.beta + 1)
    rest = 1 - noise.close
    return noise.close / 2 + rest * noise.rate, noise.close / 3 + rest * noise.rate**2


def _check_rates(n: int, p: float, level: float) -> None:
    if n < 1 or not 0 < p < 1 or not 0 < level < 1:
        raise EstimateError(f"expected n of 1 or more, and p and level in (0, 1), got n={n}, p={p!r}, level={level!r}")
