"""
How often a gate decides, and how often rightly: exactly where possible, else by seeded simulation.

| name | meaning |
|---|---|
| `binomial_sizes` | the n that gives a gate on a rate its power, exactly |
| `Noise`, `Bias` | models of a judge: how it errs, and how a trigger moves it |
| `true_consistency`, `true_movement`, `true_gain` | what the measures of such a judge tend to |
| `uniforms`, `draw_thetas`, `bounds` | the parts of a simulation: numbers, judges, and the padded t of many samples |

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


def true_movement(noise: Noise, bias: Bias) -> float:
    """
    Return the share of verdicts that the trigger moves beyond noise, E[(1 - 2 theta)(theta' - theta)], in [-1, 1].

    It is 1 minus the net robustness.

    >>> round(true_movement(Noise(0.05), Bias("decide", 0.10)), 4)  # .10 * (1 - 2 * .05) ** 2
    0.081
    """
    mean, square = _moments(noise)
    if bias.kind == "shift":
        return bias.dose * (1 - 3 * mean + 2 * square)
    decided = 1 - noise.rate
    return bias.dose * (decided - mean - 2 * decided * mean + 2 * square)


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


def bounds(
    values: Floats, low: float, high: float, level: float, *, where: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats]:
    """
    Return `padded_t` of many samples at once: lower and upper bounds along the second axis.

    The same numbers as `calm.statistics.intervals.padded_t`, which says what they mean. Items along the axis are
    independent; `where` says which of them count (None: all). A sample of fewer than two items has no bounds: they are
    infinite.

    Raises `EstimateError` for fewer than two items.

    >>> import numpy as np
    >>> [round(float(bound[0]), 4) for bound in bounds(np.zeros((1, 200)), -0.5, 1.0, 0.05)]
    [-0.0075, 0.0149]
    """
    import numpy as np
    from scipy.special import stdtrit

    if values.shape[1] < 2:
        raise EstimateError(f"expected at least 2 items, got n={values.shape[1]}")
    if where is None:
        n = np.full(len(values), float(values.shape[1]))
    else:
        n, values = where.sum(axis=1).astype(np.float64), np.where(where, values, 0.0)
    total, squares = values.sum(axis=1), np.square(values).sum(axis=1)
    enough = n >= 2
    weight, t = pad(level), stdtrit(np.where(enough, n - 1, 1.0), 1 - level)

    def bound(end: float, sign: int) -> Floats:
        mean = (total + weight * end) / (n + weight)
        variance = np.maximum(0.0, (squares + weight * end * end) / (n + weight) - mean * mean)
        found = mean + sign * t * np.sqrt(variance / np.maximum(n + weight - 1, weight))
        return np.asarray(np.where(enough, found, sign * np.inf), dtype=np.float64)

    return bound(low, -1), bound(high, 1)


def _moments(noise: Noise) -> tuple[float, float]:
    if noise.beta is not None:
        return 0.15, 0.15**2 + 0.15 * 0.85 / (noise.beta + 1)
    rest = 1 - noise.close
    return noise.close / 2 + rest * noise.rate, noise.close / 3 + rest * noise.rate**2
