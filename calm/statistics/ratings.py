"""Strengths from comparisons of pairs, whether these agree with each other, and reviewers that are contestants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite, sqrt
from typing import TYPE_CHECKING, TypeAlias

from calm.errors import EstimateError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Strength:
    """A strength on the log-odds scale, where all strengths add up to 0, with its standard error."""

    value: float
    standard_error: float


def bradley_terry(wins: Mapping[tuple[str, str], float]) -> dict[str, Strength]:
    """
    Return the strengths under which the odds that a beats b are exp(strength_a - strength_b).

    `wins[a, b]` is how often a beat b, ties as half a win for both. Maximum likelihood by Newton's method (Bradley &
    Terry 1952; Hunter 2004); standard errors from the information matrix, under the constraint that the strengths add
    up to 0. Comparisons are independent: with several of one item, resample items instead. Sorted, the strongest first.
    Smallest n: one win of every contestant, such that all are linked.

    Raises `EstimateError` for no or negative counts, for contestants that are not linked by comparisons (their groups
    are named), and where a group never lost to the rest, as its strength would be infinite.

    >>> strengths = bradley_terry({("a", "b"): 3, ("b", "a"): 1})
    >>> round(strengths["a"].value, 4), round(strengths["a"].standard_error, 4)  # ln(3) / 2, sqrt(4 / 3) / 2
    (0.5493, 0.5774)
    """
    if any(not isfinite(count) or count < 0 or a == b for (a, b), count in wins.items()):
        raise EstimateError(
            "expected counts of 0 or more between two contestants, got another or a comparison with itself"
        )
    won = {pair: count for pair, count in wins.items() if count > 0}
    names = sorted({name for pair in won for name in pair})
    if not names:
        raise EstimateError("expected at least one win, got none")
    _check_linked(names, won)
    strengths, covariance = _newton(names, won)
    found = {
        name: Strength(value, sqrt(max(0.0, covariance[place][place])))
        for place, (name, value) in enumerate(zip(names, strengths, strict=True))
    }
    return dict(sorted(found.items(), key=lambda item: -item[1].value))


def clustered_errors(strengths: Sequence[float], games: Floats, surprises: Floats) -> Floats:
    """
    Return the standard errors of strengths, shape [contestants], where the comparisons of an item go together.

    Args:
        strengths: those that `bradley_terry` found, by contestant.
        games: how often each pair met, symmetric, shape [contestants, contestants].
        surprises: by contestant and item, what it won less what its strength lets expect, shape [contestants, items].

    The sandwich of the inverse information around the sum over items of the outer products of their surprises, with the
    factor items / (items - 1) (Liang & Zeger 1986). Items are independent. Smallest n: 2 items.

    Raises `EstimateError` for fewer than two items.

    >>> import numpy as np
    >>> games, won = np.array([[0.0, 4.0], [4.0, 0.0]]), np.array([0.5, -0.5, 0.5, -0.5])
    >>> [round(float(error), 4) for error in clustered_errors([0.0, 0.0], games, np.stack([won, -won]))]  # sqrt(1 / 3)
    [0.5774, 0.5774]
    """
    import numpy as np

    items = surprises.shape[1]
    if items < 2:
        raise EstimateError(f"expected at least 2 items to vary, got {items}")
    values = np.asarray(strengths, dtype=np.float64)
    expected = 1 / (1 + np.exp(values[None, :] - values[:, None]))
    weight = games * expected * (1 - expected)
    bread = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight, hermitian=True)
    covariance = bread @ (surprises @ surprises.T) @ bread * items / (items - 1)
    return np.asarray(np.sqrt(np.maximum(0.0, np.diag(covariance))), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Transitivity:
    """
    Circular triples among strict ones, their share, and Kendall's zeta.

    zeta is 1 without a circle and 0 with as many as possible; None where a pair has no winner.
    """

    circular: int
    triples: int
    share: float
    zeta: float | None


def transitivity(wins: Mapping[tuple[str, str], float]) -> Transitivity:
    """
    Return how many triples of contestants go in a circle: a beats b, b beats c, c beats a.

    The winner of a pair is who won more often; a triple is strict if all three pairs have one. Share in [0, 1], .25
    where every pair is a coin flip. zeta = 1 - circular / the most there can be, (n^3 - n) / 24 for odd n and
    (n^3 - 4n) / 24 for even n (Kendall & Babington Smith 1940). Pairs are independent. Smallest n: 3 contestants.

    Raises `EstimateError` where there is no strict triple.

    >>> transitivity({("a", "b"): 2, ("b", "c"): 1, ("c", "a"): 3}).share
    1.0
    """
    import numpy as np

    names = sorted({name for pair in wins for name in pair})
    beats = np.array([[wins.get((a, b), 0) > wins.get((b, a), 0) for b in names] for a in names], dtype=np.bool_)
    n = len(names)
    [circular], [triples] = circles(beats.reshape(1, n, n))
    if not triples:
        raise EstimateError(f"expected three contestants of which each pair has a winner, got n={n}")
    most = (n**3 - n) // 24 if n % 2 else (n**3 - 4 * n) // 24
    complete = int(beats.sum()) == n * (n - 1) // 2
    found = int(circular), int(triples)
    return Transitivity(*found, found[0] / found[1], 1 - found[0] / most if complete else None)


def circles(beats: Bools) -> tuple[Ints, Ints]:
    """
    Return how many triples of contestants go in a circle, and how many are strict, of each item: shape [items].

    `beats` [items, contestants, contestants] says who beat whom; never both ways, never oneself. A triple is strict if
    all three pairs have a winner. Counted as closed walks of three steps: three of each circle, six of each triple.

    >>> import numpy as np
    >>> [found.tolist() for found in circles(np.array([[[0, 1, 0], [0, 0, 1], [1, 0, 0]]], dtype=bool))]
    [[1], [1]]
    """
    import numpy as np

    forth = beats.astype(np.float64)
    decided = forth + forth.swapaxes(1, 2)
    walks = [np.einsum("iab,iba->i", one @ one, one) for one in (forth, decided)]
    circular, triples = (np.rint(found / steps).astype(np.int64) for found, steps in zip(walks, (3, 6), strict=True))
    return circular, triples


def _check_linked(names: Sequence[str], won: Mapping[tuple[str, str], float]) -> None:
    forth = {name: {b for a, b in won if a == name} for name in names}
    back = {name: {a for a, b in won if b == name} for name in names}
    groups = _groups(names, {name: forth[name] | back[name] for name in names})
    if len(groups) > 1:
        shown = "; ".join(", ".join(group) for group in groups)
        raise EstimateError(
            f"expected contestants linked by comparisons, got {len(groups)} groups without any: {shown}"
        )
    below = _reached(names[0], forth)
    if len(below) < len(names):
        shown = ", ".join(sorted(below))
        raise EstimateError(f"expected a win of {shown} against any of the others, got none: strengths are infinite")
    above = _reached(names[0], back)
    if len(above) < len(names):
        shown = ", ".join(sorted(above))
        raise EstimateError(f"expected a loss of {shown} against any of the others, got none: strengths are infinite")


def _groups(names: Sequence[str], links: Mapping[str, set[str]]) -> list[list[str]]:
    left, groups = set(names), []
    while left:
        group = _reached(min(left), links)
        groups.append(sorted(group))
        left -= group
    return groups


def _reached(start: str, links: Mapping[str, set[str]]) -> set[str]:
    reached, new = {start}, {start}
    while new:
        new = {name for at in new for name in links[at]} - reached
        reached |= new
    return reached


def _newton(names: Sequence[str], won: Mapping[tuple[str, str], float]) -> tuple[list[float], list[list[float]]]:
    from scipy.linalg import pinvh  # imported here: only this rating pays for it

    place = {name: i for i, name in enumerate(names)}
    pairs = sorted({(min(a, b), max(a, b)) for a, b in won})
    strengths = [0.0] * len(names)
    for _ in range(200):
        slope = [0.0] * len(names)
        information = [[0.0] * len(names) for _ in names]
        for a, b in pairs:
            i, j = place[a], place[b]
            games = won.get((a, b), 0.0) + won.get((b, a), 0.0)
            expected = 1 / (1 + exp(strengths[j] - strengths[i]))
            surprise, weight = won.get((a, b), 0.0) - games * expected, games * expected * (1 - expected)
            slope[i], slope[j] = slope[i] + surprise, slope[j] - surprise
            information[i][i], information[j][j] = information[i][i] + weight, information[j][j] + weight
            information[i][j], information[j][i] = information[i][j] - weight, information[j][i] - weight
        covariance = [[float(cell) for cell in row] for row in pinvh(information)]
        steps = [sum(cell * s for cell, s in zip(row, slope, strict=True)) for row in covariance]
        longest = max(abs(step) for step in steps)
        if longest < 1e-10:
            return strengths, covariance
        strengths = [s + step * min(1.0, 1 / longest) for s, step in zip(strengths, steps, strict=True)]
    raise EstimateError(
        f"expected strengths that settle, got steps of {longest:.2g} after 200: a result is too one-sided"
    )


CAP = 100
CLOSE = 1e-9

Wins = Mapping[int, Mapping[int, float]]
"""By reviewer, by contestant: the contestant's win rate as that reviewer sees it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of members, which sum to one; after how many rounds, and whether they had converged."""

    values: tuple[float, ...]
    rounds: int
    converged: bool


def peer_rank(wins: Wins, members: int, *, cap: int = CAP) -> Weights:
    """
    Return the weights that follow from win rates: a fixed point, or equal weights if there is none in `cap` rounds.

    The members are reviewers and the first contestants, 0 to `members` - 1. There is no smallest n.

    >>> rates = {0: 1.0, 1: 0.5, 2: 0.0}
    >>> [round(w, 3) for w in peer_rank({0: rates, 1: rates, 2: rates}, 3).values]
    [0.667, 0.333, 0.0]
    """
    equal = (1.0 / members,) * members
    weights = equal
    for turn in range(1, cap + 1):
        rates = [weighted_rate(wins, weights, j) or 0.0 for j in range(members)]
        total = fsum(rates)
        if not total > 0:
            return Weights(equal, turn, converged=False)
        after = tuple(rate / total for rate in rates)
        if max(abs(a - b) for a, b in zip(weights, after, strict=True)) < CLOSE:
            return Weights(after, turn, converged=True)
        weights = after
    return Weights(equal, cap, converged=False)


def weighted_rate(wins: Wins, weights: Sequence[float], contestant: int) -> float | None:
    """
    Return a contestant's win rate, in which each reviewer counts with its weight; None where no weight reviewed it.

    >>> weighted_rate({0: {2: 1.0}, 1: {2: 0.5}}, (0.75, 0.25), 2)
    0.875
    """
    known = [(weights[i], rates[contestant]) for i, rates in wins.items() if contestant in rates]
    total = fsum(w for w, _ in known)
    return fsum(w * rate for w, rate in known) / total if total > 0 else None
