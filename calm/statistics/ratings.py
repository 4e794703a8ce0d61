"""
Strengths from comparisons of pairs, and whether these agree with each other.

| function | what it gives |
|---|---|
| `count_wins` | how often each beat each other, from results in order; a tie is half a win for both |
| `bradley_terry` | strengths with standard errors, from counts: for inference |
| `elo` | ratings updated result by result: they depend on the order, so use them only where it matters |
| `transitivity` | share of triples that go in a circle, and Kendall's zeta |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, isfinite, sqrt

from calm.errors import EstimateError

Result = tuple[str, str, float]
"""First, second, and the share that the first won: 1, 0, or 0.5 for a tie."""


def count_wins(results: Iterable[Result]) -> dict[tuple[str, str], float]:
    """
    Return how often the first of each pair beat the second; a tie is half a win for both.

    Raises `EstimateError` for a share outside [0, 1] or a comparison with itself.

    >>> count_wins([("a", "b", 1), ("a", "b", 0.5)])
    {('a', 'b'): 1.5, ('b', 'a'): 0.5}
    """
    wins: dict[tuple[str, str], float] = {}
    for first, second, share in results:
        _check_result(first, second, share)
        wins[first, second] = wins.get((first, second), 0.0) + share
        wins[second, first] = wins.get((second, first), 0.0) + 1 - share
    return wins


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


def elo(
    results: Iterable[Result], *, start: float = 1200.0, k: float = 32.0, base: float = 10.0, scale: float = 400.0
) -> dict[str, float]:
    """
    Return Elo ratings after results taken one by one.

    Expected share 1 / (1 + base ** ((second - first) / scale)); each rating moves by k times what the share exceeds it
    (Elo 1978). Some papers take base e. The order of the results matters. The sum of all ratings stays the same.
    Smallest n: 1.

    Raises `EstimateError` for no results, a share outside [0, 1], a comparison with itself, or a base or scale that
    cannot be used.

    >>> elo([("a", "b", 1)])
    {'a': 1216.0, 'b': 1184.0}
    """
    if not (base > 1 and scale > 0 and isfinite(k)):
        raise EstimateError(f"expected base above 1, scale above 0 and a finite k, got {base!r}, {scale!r}, {k!r}")
    ratings: dict[str, float] = {}
    for first, second, share in results:
        _check_result(first, second, share)
        a, b = ratings.setdefault(first, start), ratings.setdefault(second, start)
        change = k * (share - 1 / (1 + base ** ((b - a) / scale)))
        ratings[first], ratings[second] = a + change, b - change
    if not ratings:
        raise EstimateError("expected at least one result, got none")
    return ratings


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
    names = sorted({name for pair in wins for name in pair})
    beats = {(a, b) for a in names for b in names if wins.get((a, b), 0) > wins.get((b, a), 0)}
    circular = triples = 0
    for a, b, c in combinations(names, 3):
        if all((x, y) in beats or (y, x) in beats for x, y in ((a, b), (b, c), (a, c))):
            triples += 1
            circular += ((a, b) in beats) == ((b, c) in beats) == ((c, a) in beats)
    if not triples:
        raise EstimateError(f"expected three contestants of which each pair has a winner, got n={len(names)}")
    n = len(names)
    most = (n**3 - n) // 24 if n % 2 else (n**3 - 4 * n) // 24
    complete = len(beats) == n * (n - 1) // 2
    return Transitivity(circular, triples, circular / triples, 1 - circular / most if complete else None)


def _check_result(first: str, second: str, share: float) -> None:
    if first == second or not 0 <= share <= 1:
        raise EstimateError(f"expected two contestants and a share in [0, 1], got {first!r}, {second!r}, {share!r}")


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
    """Return the strengths that maximise the likelihood and their covariance."""
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
