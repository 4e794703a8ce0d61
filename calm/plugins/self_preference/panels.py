"""
Several judges as a panel: how far they agree, the rankings of authors that follow, and who is in a circle there.

| function | what it gives |
|---|---|
| `agreements` | raw agreement, Fleiss' kappa, Krippendorff's alpha and Gwet's AC1 of their verdicts |
| `stability` | the ranking by the mean of all judges against the ranking without each of them (Kendall's tau-b) |
| `tournament` | how often each author beat each other one, by judge, from the signs of comparisons |
| `strengths` | Bradley-Terry strengths with bounds, from all judges' comparisons of answers that are not their own |
| `peer_ranks` | Peer Rank: weights of the judges that are authors, and the win rate of each author under these |
| `circular` | how many triples of authors go in a circle within one item, by judge |
| `transitive` | how many do so by all of a judge's verdicts together |

Judges that share a bias agree, so agreement is no proof of truth. Signs are int8 [judges, generators, generators,
items]: 1 won, 0 tie, -1 lost, `NO_SIGN` not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isnan, sqrt

import numpy as np

from calm.errors import EstimateError
from calm.plugins.self_preference.contrasts import (
    SAME,
    Bools,
    Floats,
    Grid,
    mean_known,
)
from calm.plugins.self_preference.rubric import NO_SIGN, Signs
from calm.statistics import agreement
from calm.statistics.intervals import student_quantile
from calm.statistics.ratings import (
    Weights,
    bradley_terry,
    circles,
    clustered_errors,
    peer_rank,
    transitivity,
    weighted_rate,
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """
    The ranking of generators without one judge.

    `tau` compares it with the ranking of all, 1 where nothing changed and None where a ranking has only ties; `best` is
    its first generator.
    """

    judge: str
    tau: float | None
    best: str


def agreements(ratings: Sequence[Sequence[Hashable | None]], *, numeric: bool = False) -> dict[str, float | None]:
    """
    Return the agreement coefficients of a table of ratings, a row for each item, a place for each judge.

    A missing rating is None. Coefficients are for categories, except that `numeric` ratings have only an alpha for
    intervals. A coefficient that does not exist (one category throughout, a missing rating) is None.

    >>> agreements([[1, 1], [0, 0], [1, 0], [1, 1]])["raw"]
    0.75
    """
    kinds: Mapping[str, Callable[[], float]] = {
        "raw": lambda: agreement.raw_agreement(ratings),
        "kappa": lambda: agreement.fleiss_kappa(ratings),
        "alpha": lambda: agreement.krippendorff_alpha(ratings),
        "ac1": lambda: agreement.gwet_ac1(ratings),
    }
    if numeric:
        kinds = {"alpha": lambda: agreement.krippendorff_alpha(ratings, scale="interval")}
    found: dict[str, float | None] = dict.fromkeys(kinds)
    for name, make in kinds.items():
        with suppress(EstimateError):
            found[name] = make()
    return found


def stability(scores: Floats, judges: Sequence[str], generators: Sequence[str]) -> tuple[LeftOut, ...]:
    """
    Return how leaving out each judge changes the ranking of generators by mean score.

    Args:
        scores: shape [judges, generators]; NaN, for no score, is left out of the mean.
        judges: their names; at least two, else nothing is returned.
        generators: their names.

    >>> found = stability(np.array([[3.0, 1.0, 2.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]), "abc", "xyz")
    >>> [(one.judge, one.best) for one in found]
    [('a', 'y'), ('b', 'x'), ('c', 'x')]
    """
    if len(judges) < 2:
        return ()
    whole = mean_known(scores, 0)
    found = []
    for place, judge in enumerate(judges):
        rest = mean_known(np.delete(scores, place, axis=0), 0)
        known = ~(np.isnan(whole) | np.isnan(rest))
        best = generators[int(np.nanargmax(rest))] if known.any() else ""
        found.append(LeftOut(judge, tau_b(whole[known].tolist(), rest[known].tolist()), best))
    return tuple(found)


def tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """
    Return Kendall's tau-b of two lists of numbers, in [-1, 1]; None for fewer than two, or where a list is all ties.

    >>> tau_b([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    a, b = (np.sign(np.subtract.outer(x, x)) for x in (np.asarray(first, float), np.asarray(second, float)))
    untied = float((a != 0).sum()) * float((b != 0).sum())
    return None if untied == 0 else float((a * b).sum()) / sqrt(untied)


BLOCK = 4_000_000
"""So many comparisons are looked at together: 32 MB."""


@dataclass(frozen=True, slots=True)
class Tournament:
    """
    How often each author beat each other one: `won` and `met` [judges, generators, generators]; a tie is half a win.

    `foreign` says which of these pairs have no answer of the judge's own.
    """

    grid: Grid
    won: Floats
    met: Floats
    foreign: Bools


def tournament(signs: Signs, grid: Grid) -> Tournament:
    """Return who beat whom, by judge; an author does not meet itself."""
    others = ~np.eye(len(grid.generators), dtype=np.bool_)
    won = ((signs == 1).sum(axis=-1) + 0.5 * (signs == 0).sum(axis=-1)) * others
    met = (signs != NO_SIGN).sum(axis=-1) * others
    own = np.array([[judge == author for author in grid.generators] for judge in grid.judges])
    foreign = ~(own[:, :, None] | own[:, None, :]) & others
    return Tournament(grid, won.astype(np.float64), met.astype(np.float64), foreign)


@dataclass(frozen=True, slots=True)
class Placed:
    """A strength on the log-odds scale, where all add up to 0, with bounds; None where items do not vary."""

    value: float
    low: float | None
    high: float | None


def strengths(found: Tournament, signs: Signs, *, level: float = 0.05) -> dict[str, Placed]:
    """
    Return the Bradley-Terry strength of each author, with two one-sided bounds at `level`.

    From comparisons of all judges without those of their own answers. All comparisons of an item are one cluster:
    bounds are Student's t with items - 1 degrees of freedom times the errors of `clustered_errors`. Nothing is drawn.
    Authors that were not compared are left out.

    Raises `EstimateError` where strengths do not exist (see `bradley_terry`).
    """
    names = found.grid.generators
    won, games = (np.where(found.foreign, table, 0.0).sum(axis=0) for table in (found.won, found.met))
    pairs = {(a, b): float(won[i, j]) for i, a in enumerate(names) for j, b in enumerate(names) if i != j}
    values = {name: one.value for name, one in bradley_terry(pairs).items()}
    at = [place for place, name in enumerate(names) if name in values]
    known = [values[names[place]] for place in at]
    kept = np.ix_(at, at)
    surprises = np.zeros((len(at), signs.shape[-1]))
    seen = np.zeros(signs.shape[-1], dtype=np.bool_)
    expected = 1 / (1 + np.exp(np.subtract.outer(known, known).T))
    for said, foreign in zip(signs, found.foreign, strict=True):
        here = said[kept]
        compared = (here != NO_SIGN) & foreign[kept][..., None]
        shares = np.where(compared, (here + 1) / 2 - expected[..., None], 0.0)
        surprises += shares.sum(axis=1)
        seen |= compared.any(axis=(0, 1))
    items = int(seen.sum())
    if items < 2:
        return {names[p]: Placed(value, None, None) for p, value in zip(at, known, strict=True)}
    errors = clustered_errors(known, games[kept], surprises[:, seen])
    half = [student_quantile(items - 1, 1 - level) * float(e) if e > SAME else None for e in errors]
    return {
        names[p]: Placed(value, None if h is None else value - h, None if h is None else value + h)
        for p, value, h in zip(at, known, half, strict=True)
    }


@dataclass(frozen=True, slots=True)
class Peers:
    """The members, which are judges and authors, with their weights; and the weighted win rate of each author."""

    members: tuple[str, ...]
    weights: Weights
    rates: dict[str, float | None]


def peer_ranks(found: Tournament, *, own: bool) -> Peers:
    """
    Return the fixed point of Peer Rank over the judges that are authors; where there is none, all weigh the same.

    `own` says whether a judge's comparisons of its own answers count, as published. An author that is no judge has a
    rate and no weight; a judge that is no author has no weight, so its verdicts do not count.

    Raises `EstimateError` for fewer than two members, or where no member compared answers that count.
    """
    grid = found.grid
    members = [name for name in grid.judges if name in grid.generators]
    if len(members) < 2:
        raise EstimateError(f"expected at least 2 judges that are authors, got {len(members)}")
    order = [*members, *(name for name in grid.generators if name not in members)]
    place = {name: number for number, name in enumerate(order)}
    wins: dict[int, dict[int, float]] = {}
    for member in members:
        row = grid.row(member)
        counted = found.met[row] > 0 if own else (found.met[row] > 0) & found.foreign[row]
        won, met = (np.where(counted, table[row], 0.0).sum(axis=1) for table in (found.won, found.met))
        wins[place[member]] = {
            place[name]: float(won[g] / met[g]) for g, name in enumerate(grid.generators) if met[g] > 0
        }
    if not any(wins.values()):
        raise EstimateError("expected judges that compared two answers of others, got none; add authors")
    weights = peer_rank(wins, len(members))
    return Peers(
        tuple(members),
        weights,
        {name: weighted_rate(wins, weights.values, place[name]) for name in grid.generators},
    )


def circular(signs: Signs) -> tuple[int, int]:
    """Return how many triples of authors go in a circle within an item, and how many are strict, for one judge."""
    size = max(1, BLOCK // max(1, signs.shape[0] ** 2))
    others = ~np.eye(signs.shape[0], dtype=np.bool_)
    in_circles = strict = 0
    for start in range(0, signs.shape[-1], size):
        beats = np.moveaxis(signs[..., start : start + size] == 1, -1, 0) & others
        some, all_of = circles(beats)
        in_circles, strict = in_circles + int(some.sum()), strict + int(all_of.sum())
    return in_circles, strict


def pairs_won(found: Tournament, judge: str) -> dict[tuple[str, str], float]:
    """Return how often each author beat each other one in the eyes of a judge; only pairs that met."""
    row, names = found.grid.row(judge), found.grid.generators
    return {(names[a], names[b]): float(found.won[row, a, b]) for a, b in np.argwhere(found.met[row] > 0)}


def ranks(values: Sequence[float | None]) -> list[int | None]:
    """
    Return places from 1, the highest value first; equal values share the better place, None has none.

    >>> ranks([0.5, None, 0.9, 0.5])
    [2, None, 1, 2]
    """
    known = [value for value in values if value is not None and not isnan(value)]
    return [
        None if value is None or isnan(value) else 1 + sum(other > value + SAME for other in known) for value in values
    ]


def transitive(found: Tournament, judge: str) -> tuple[int, int, float | None]:
    """
    Return the circular triples of authors by all of a judge's verdicts, the strict ones, and Kendall's zeta.

    The winner of a pair is who won more often. Without a strict triple there are none, and no zeta.
    """
    try:
        one = transitivity(pairs_won(found, judge))
    except EstimateError:
        return 0, 0, None
    return one.circular, one.triples, one.zeta
