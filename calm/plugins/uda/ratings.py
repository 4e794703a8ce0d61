"""
Ratings of several judges: Elo, how far the judges lie apart, their consensus, their weights, and leans that they share.

A matrix of ratings has a row for each judge and a column for each model. All functions are plain numpy: matrices in,
numbers out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from math import e, isfinite, log
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from calm.core.families import family_of
from calm.core.files import noted, read_json
from calm.core.names import bare
from calm.errors import ConfigError, EstimateError, nearest
from calm.statistics.power import uniforms

# ------------------------------------------------------------------------------------------------------------------ Elo

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Elo:
    """
    The rule of the ratings: where they start, how far one result moves them, and what a difference of them means.

    The expected share of the first is 1 / (1 + base ** ((second - first) / scale)). The paper has base e, chess 10.
    """

    start: float = 1200.0
    k: float = 32.0
    base: float = e
    scale: float = 400.0

    def __post_init__(self) -> None:
        numbers = (self.start, self.k, self.base, self.scale)
        if not all(isfinite(x) for x in numbers) or self.base <= 1 or self.scale <= 0 or self.k <= 0:
            raise ConfigError(
                f"expected finite start, k above 0, base above 1 and scale above 0, got start={self.start!r}, "
                f"k={self.k!r}, base={self.base!r}, scale={self.scale!r}; change the one that is outside"
            )

    @property
    def slope(self) -> float:
        """Return the factor from a difference of ratings to log-odds."""
        return log(self.base) / self.scale


@dataclass(frozen=True, slots=True)
class Lanes:
    """
    Comparisons of several judges side by side: a row for each turn, a column for each judge, in the judge's order.

    `source` is the number of the comparison, -1 where a judge has no more of them; `first` and `second` are the models.
    """

    source: Ints
    first: Ints
    second: Ints

    @property
    def live(self) -> NDArray[np.bool_]:
        """Return where there is a comparison."""
        return self.source >= 0

    def spread(self, values: NDArray[np.float64], fill: float = 0.0) -> Floats:
        """Return one value for each comparison, arranged as the lanes, `fill` where there is none."""
        laid: Floats = np.where(self.live, values[np.maximum(self.source, 0)], fill)
        return laid


def lanes(judge: Ints, first: Ints, second: Ints, judges: int) -> Lanes:
    """Return comparisons arranged by judge, each judge's in the order given."""
    per_judge = [np.flatnonzero(judge == j) for j in range(judges)]
    longest = max((len(places) for places in per_judge), default=0)
    source = np.full((longest, judges), -1, np.int32)
    for j, places in enumerate(per_judge):
        source[: len(places), j] = places
    at = np.maximum(source, 0)
    return Lanes(source, first[at].astype(np.int32), second[at].astype(np.int32))


def shuffled(laid: Lanes, rng: Random) -> Lanes:
    """Return each judge's comparisons in a new order, the empty turns last."""
    drawn = np.where(laid.live, uniforms(rng, laid.source.shape), 2.0)
    order = np.argsort(drawn, axis=0, kind="stable")
    source, first, second = (np.take_along_axis(x, order, axis=0) for x in (laid.source, laid.first, laid.second))
    return Lanes(source, first, second)


def rate(laid: Lanes, share: Floats, models: int, rule: Elo, k: Floats | None = None) -> Floats:
    """
    Return the last ratings, a row for each judge and a column for each model.

    `share` is what the first won, arranged as the lanes; `k` likewise, by default the rule's own for all. What one
    model gains the other loses, so the sum of a judge's ratings stays `start` times the number of models.
    """
    turns, judges = laid.source.shape
    factors = np.full((turns, judges), rule.k) if k is None else k
    factors = np.where(laid.live, factors, 0.0)
    ratings = np.full((judges, models), rule.start)
    rows = np.arange(judges)
    for turn in range(turns):
        first, second = laid.first[turn], laid.second[turn]
        ahead = ratings[rows, first] - ratings[rows, second]
        expected = 0.5 * (1 + np.tanh(0.5 * rule.slope * ahead))  # the logistic function, without overflow
        change = factors[turn] * (share[turn] - expected)
        ratings[rows, first] += change
        ratings[rows, second] -= change
    return ratings


# -------------------------------------------------------------------------------------------------------- the consensus

ALIKE = 0.4
"""Judges whose leanings correlate with those of a bloc by this much on average belong to it."""
SHARED = 0.3
"""The share of the judges' error in the consensus above which they err alike; 1/judges if they err apart."""
LEVEL = 0.01
SHUFFLES = 999
TOGETHER = 2**21
"""So many numbers of a table over shuffles are held at once, 16 MB: it grows with the square of the judges."""


def inter_judge_std(ratings: Floats) -> Floats:
    """Return the sample standard deviation (ddof 1) over the judges, for each model; smallest n: 2 judges."""
    if ratings.shape[0] < 2:
        raise EstimateError(f"expected two judges or more, got {ratings.shape[0]}")
    return np.asarray(ratings.std(axis=0, ddof=1), np.float64)


def centre(ratings: Floats, weights: Floats | None = None) -> Floats:
    """Return the consensus: the mean rating of each model over the judges; weights, if any, sum to 1."""
    return np.asarray(ratings.mean(axis=0) if weights is None else weights @ ratings, np.float64)


def consensus_spread(ratings: Floats, weights: Floats | None = None) -> float:
    """
    Return the sample standard deviation over the models of the consensus.

    Shrinking every rating toward the start lowers the inter-judge deviation by the same factor and aligns no judge:
    compare the ratio of the two.
    """
    return float(centre(ratings, weights).std(ddof=1))


def correlation(a: Floats, b: Floats) -> float | None:
    """Return Pearson's correlation of two rows, None where one of them does not vary."""
    x, y = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm > 0 else None


def squared_error(a: Floats, b: Floats) -> float:
    """Return the mean squared difference of two rows."""
    return float(((a - b) ** 2).mean())


def calibration(ratings: Floats, gold: Floats) -> tuple[float, float] | None:
    """
    Return the slope and the intercept of the least-squares line of gold on ratings, None where ratings do not vary.

    The slope says what a point of the ratings is worth in gold: 1 if a judge is calibrated, below 1 if it exaggerates.
    """
    centred = ratings - ratings.mean()
    size = float(centred @ centred)
    if not size > 0:
        return None
    slope = float(centred @ (gold - gold.mean())) / size
    return slope, float(gold.mean() - slope * ratings.mean())


def self_deviation(ratings: Floats, judges: Sequence[str], models: Sequence[str]) -> dict[str, float]:
    """
    Return how far each judge that is a model rates itself above the mean of the other judges, as a fraction.

    M[i, i] / mean of M[j, i] over the other judges - 1. Judges that are no models are left out.
    """
    found = {}
    for i, judge in enumerate(judges):
        if judge in models and len(judges) > 1:
            column = ratings[:, list(models).index(judge)]
            others = float(np.delete(column, i).mean())
            if others:
                found[judge] = float(column[i]) / others - 1
    return found


def leave_one_out(ratings: Floats, judges: Sequence[str]) -> dict[str, float | None]:
    """Return the correlation of each judge's ratings with the mean of the other judges'."""
    return {
        judge: correlation(ratings[i], np.delete(ratings, i, axis=0).mean(axis=0)) for i, judge in enumerate(judges)
    }


def aligned(biases: Floats, strength: float) -> Floats:
    """
    Return biases pulled toward their mean: (1 - strength) b + strength * mean(b), strength in [0, 1].

    The sum of absolute biases cannot grow (the theorem of the paper); it falls only where biases have both signs, so a
    bias that all judges share stays whole.
    """
    return np.asarray((1 - strength) * biases + strength * biases.mean(), np.float64)


# ------------------------------------------------------------------------------------------- is the consensus biased?


@dataclass(frozen=True, slots=True)
class SharedError:
    """
    The share of the judges' squared error against gold that their consensus keeps, and how often chance gives as much.

    `above` and `below` are the models that the consensus rates too high and too low by over half a standard deviation.
    """

    share: float
    p: float
    above: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Return whether the judges err alike beyond chance."""
        return self.share >= SHARED and self.p <= LEVEL


def shared_error(ratings: Floats, gold: Floats, models: Sequence[str], rng: Random) -> SharedError:
    """
    Return how much of the judges' error against gold they share.

    Ratings and gold are brought to mean 0 and deviation 1 first, as Elo's scale is free, and a judge's error is what
    gold does not explain of its ratings (the residual of a regression): mere noise shrinks all judges toward the middle
    alike, and that is no bias. Judges that err apart leave 1/judges of the mean squared error in the consensus, judges
    that err alike all of it. p is that of a permutation test: each judge's errors shuffled over the models. Smallest n:
    2 judges, 4 models.
    """
    if ratings.shape[0] < 2 or ratings.shape[1] < 4:
        raise EstimateError(
            f"expected two judges and four models or more, got {ratings.shape[0]} and {ratings.shape[1]}"
        )
    truth = _standard(gold)
    errors = np.stack([row - truth * float(row @ truth) / len(truth) for row in _standard(ratings)])
    total = float((errors**2).mean())

    def kept(rows: Floats) -> float:
        return float((rows.mean(axis=0) ** 2).mean()) / total if total > 0 else 0.0

    def by_chance() -> float:
        rows: list[list[float]] = errors.tolist()
        for row in rows:
            rng.shuffle(row)
        return kept(np.array(rows))

    share = kept(errors)
    as_much = sum(by_chance() >= share for _ in range(SHUFFLES)) if total > 0 else SHUFFLES
    off = errors.mean(axis=0)
    order = np.argsort(-np.abs(off))
    return SharedError(
        share,
        (as_much + 1) / (SHUFFLES + 1),
        tuple(models[m] for m in order if off[m] > 0.5),
        tuple(models[m] for m in order if off[m] < -0.5),
    )


def bloc(ratings: Floats, judges: Sequence[str]) -> tuple[str, ...]:
    """
    Return the judges of the largest bloc: those whose leanings (ratings minus the mean of all judges) go together.

    Built greedily from each judge in turn: the judge next in correlation, on average over the members, joins as long as
    that is at least `ALIKE`. Of judges that lean independently the leanings correlate -1/(judges - 1). Smallest n: 5
    judges, 6 models, below which chance makes blocs; then there is none. A majority of eight or nine of ten can escape
    it, as the mean of all judges then lies where the bloc does.
    """
    if ratings.shape[0] < 5 or ratings.shape[1] < 6:
        return ()
    leaning = ratings - ratings.mean(axis=0)
    near = np.array([[correlation(a, b) or 0.0 for b in leaning] for a in leaning])
    best: list[int] = []
    for start in range(len(judges)):
        members = [start]
        while rest := [j for j in range(len(judges)) if j not in members]:
            nearest = max(rest, key=lambda j: float(near[j, members].mean()))
            if near[nearest, members].mean() < ALIKE:
                break
            members.append(nearest)
        best = max(best, members, key=len)
    return tuple(judges[j] for j in sorted(best))


def family(judge: str) -> str:
    """
    Return the family of a known line of models, else the letters of a name before the first digit or separator.

    >>> family("openai/gpt-4o"), family("qwen2.5-max")
    ('gpt', 'qwen')
    """
    name = bare(judge)
    return family_of(judge) or "".join(takewhile(str.isalpha, name)) or name


def warnings(
    ratings: Floats, judges: Sequence[str], models: Sequence[str], gold: Mapping[str, float] | None, rng: Random
) -> list[str]:
    """
    Return in words why the consensus of these ratings (the baseline's, before alignment) may itself be biased.

    With gold it is measured. Without gold it cannot be: what most judges share looks like truth. The warnings then name
    a bloc of judges that lean alike, or a family with most of the judges, and say that nothing more is known.
    """
    found = []
    known = [m for m, name in enumerate(models) if gold and name in gold]
    if gold and len(known) >= 4:
        truth = np.array([gold[models[m]] for m in known])
        error = shared_error(ratings[:, known], truth, [models[m] for m in known], rng)
        if error.found:
            found.append(
                f"the judges err alike: their consensus keeps {error.share:.0%} of their error against gold "
                f"(p = {error.p:.3f}; {1 / len(judges):.0%} if they erred apart), too high for "
                f"{', '.join(error.above) or 'none'}, too low for {', '.join(error.below) or 'none'}; "
                f"alignment pulls toward this"
            )
    else:
        found.append(
            "without gold ratings of four models or more a bias that most judges share looks like truth: "
            "alignment would spread it"
        )
    alike = bloc(ratings, judges)
    if 2 * len(alike) > len(judges):
        found.append(
            f"{len(alike)} of {len(judges)} judges lean alike ({', '.join(alike)}): they outvote the others, and "
            f"alignment pulls the others toward what they share, right or wrong"
        )
    families: dict[str, list[str]] = {}
    for judge in judges:
        families.setdefault(family(judge), []).append(judge)
    name, members = max(families.items(), key=lambda item: len(item[1]))
    if len(members) > 1 and 2 * len(members) > len(judges):
        found.append(
            f"{len(members)} of {len(judges)} judges are of one family by name ({name}: {', '.join(members)}): add "
            f"judges of other families"
        )
    return found


# ---------------------------------------------------------------------------------------------------- weights of judges

EQUAL: Final = "equal"
AGREEMENT: Final = "agreement"
MOST: Final = sys.float_info.max
"""The largest weight: a whole number above it has no place in 64 bits."""
Choice: TypeAlias = "str | tuple[tuple[str, float], ...]"
"""`equal`, `agreement`, or the weight of each judge by name."""


def weights_of(choice: Choice, ratings: Floats, judges: Sequence[str]) -> Floats | None:
    """
    Return the weight of each judge, which sum to 1; None where all count alike.

    By agreement the weight of judge j is max(0, r_j) over the sum of these, r_j the correlation of its ratings with the
    mean of the others' ratings: the item-rest correlation of test theory (Henrysson 1963, Psychometrika 28, 211-218), a
    judge as the item. One step, not a fixed point: repeating it would let the judges that agree most outvote the rest.

    Raises:
        ConfigError: no judge agrees with the others, or the table lacks a judge.
    """
    if choice == EQUAL:
        return None
    if choice == AGREEMENT:
        positive = np.array([max(r or 0.0, 0.0) for r in leave_one_out(ratings, judges).values()], np.float64)
        if not positive.sum() > 0:
            raise ConfigError(
                "expected a judge whose ratings correlate with those of the others, got none: no judge can be "
                "weighed by agreement; use --weights equal, or give a file"
            )
        return np.asarray(positive / positive.sum(), np.float64)
    table = dict(choice) if isinstance(choice, tuple) else {}
    if lacking := [judge for judge in judges if judge not in table]:
        raise ConfigError(
            f"--weights: expected a weight of each judge, got none of {lacking[0]!r}{nearest(lacking[0], table)}; add "
            f"it, or use equal or agreement"
        )
    chosen = np.array([table[judge] for judge in judges], np.float64)
    if not chosen.max() > 0:
        raise ConfigError(f"--weights: expected a weight above 0 of one of {', '.join(judges)}, got none; raise one")
    shares = chosen / chosen.max()  # first, as the sum of huge weights is infinite
    return np.asarray(shares / shares.sum(), np.float64)


def choice_of(said: str) -> Choice:
    """
    Return what `--weights` says: `equal`, `agreement`, or the weights in a JSON file, by judge.

    Raises:
        ConfigError: no such file, or not an object of numbers of 0 or more with one above it.
    """
    if said in (EQUAL, AGREEMENT):
        return said
    path = Path(said)
    what = 'equal, agreement, or a JSON object of a weight for each judge, such as {"judge-1": 2}'
    body = read_json(noted(path), what)
    values = body.values() if isinstance(body, dict) else ()
    numbers = all(isinstance(w, int | float) and not isinstance(w, bool) and 0 <= w <= MOST for w in values)
    if not isinstance(body, dict) or not numbers or not any(values):
        raise ConfigError(f"{path}: expected {what}, with weights of 0 or more and one above 0")
    return tuple(sorted((str(judge), float(weight)) for judge, weight in body.items()))


def refuse_strangers(said: str | None, judges: Sequence[str]) -> None:
    """
    Return if a file of weights names judges only; `said` is what `--weights` says, None if it was not given.

    Raises:
        ConfigError: a name that is no judge of the comparisons.
    """
    choice = choice_of(said) if said else EQUAL
    if isinstance(choice, tuple) and (odd := [name for name, _ in choice if name not in judges]):
        others = f" and {len(odd) - 1} more" if odd[1:] else ""
        raise ConfigError(
            f"--weights: {said} names {odd[0]!r}{others}, who is no judge{nearest(odd[0], judges)}; expected "
            f"{', '.join(judges)}"
        )


def name_of(choice: Choice) -> str:
    """Return how judges are weighed, in a word: `equal`, `agreement` or `file`."""
    return choice if isinstance(choice, str) else "file"


# --------------------------------------------------------------------------------------------------------- shared leans

CHANCE = 0.05
"""The share of data sets without a shared lean in which chance makes a cluster, at most."""
FEWEST_JUDGES, FEWEST_MODELS = 3, 5
"""Two judges have no median apart from themselves, and leans on four models correlate highly by chance."""
MARKED: Final = 0.5
"""A model is marked up or down if the cluster's mean lean on it is beyond this share of a judge's deviation."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """
    Judges that lean alike.

    `correlation` is the mean over their pairs; `p` how often chance gives a pair as alike as that, at best. `lean` is
    the mean lean by model, in points of the rating; `favours` and `marks_down` name the models on which it is large.
    """

    judges: tuple[str, ...]
    correlation: float
    p: float
    lean: Mapping[str, float]
    favours: tuple[str, ...]
    marks_down: tuple[str, ...]
    against: tuple[str, ...] = ()
    """The judges of a cluster with the opposite lean: ratings alone cannot say which of the two leans."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """
    What `clustered` found: the clusters, the correlations of all leans, and the cut.

    `cut` is the least mean correlation at which judges or clusters are joined: `ALIKE`, or what chance reaches in one
    of twenty data sets (`chance`) if that is more. There are no figures where there are too few judges or models.
    """

    found: tuple[Cluster, ...] = ()
    correlations: Mapping[str, Mapping[str, float]] | None = None
    cut: float | None = None
    chance: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return it as JSON-able data."""
        return {
            "needs": {"judges": FEWEST_JUDGES, "models": FEWEST_MODELS},
            "cut": self.cut,
            "chance": self.chance,
            "correlations": self.correlations,
            "found": [asdict(one) for one in self.found],
        }


def leans(ratings: Floats) -> Floats:
    """
    Return what the median judge does not explain of each judge's ratings, in deviations of that judge.

    Args:
        ratings: one or more matrices, judges by models, in the last two axes.

    Returns:
        Residuals of a regression of each standardised row on the median of the standardised rows, in the same shape.
    """
    rows = _standard(ratings)
    middle = np.median(rows, axis=-2, keepdims=True)
    middle = middle - middle.mean(axis=-1, keepdims=True)
    size = (middle * middle).sum(axis=-1, keepdims=True)
    slope = (rows * middle).sum(axis=-1, keepdims=True) / np.where(size > 0, size, 1.0)
    return np.asarray(rows - slope * middle, np.float64)


def clustered(ratings: Floats, judges: Sequence[str], models: Sequence[str], rng: Random) -> Clusters:
    """
    Return the clusters of judges that share a lean; `ratings` are those before alignment.

    Average linkage on 1 - r, r the correlation of two judges' leans, cut where the mean correlation falls below `cut`.
    Chance: the leans of each judge are shuffled over the models and put back onto the consensus, the leans are computed
    again, and the highest correlation of any pair is noted, `SHUFFLES` times. The first merge of a tree is its closest
    pair, so judges without a shared lean make a cluster in at most `CHANCE` of the data sets.
    """
    if ratings.shape[0] < FEWEST_JUDGES or ratings.shape[1] < FEWEST_MODELS:
        return Clusters()
    lean = leans(ratings)
    near = _correlations(lean)
    explained, below = _standard(ratings) - lean, np.tril_indices(len(lean))
    at_once = max(1, TOGETHER // (len(lean) * max(lean.shape)))
    parts = []
    for begun in range(0, SHUFFLES, at_once):
        shuffles = np.argsort(uniforms(rng, (min(at_once, SHUFFLES - begun), *lean.shape)), axis=-1)
        shuffled = np.take_along_axis(np.broadcast_to(lean, shuffles.shape), shuffles, axis=-1)
        alike = _correlations(leans(explained + shuffled))
        alike[:, *below] = -np.inf  # each pair once, and none of a judge with itself
        parts.append(alike.max(axis=(-2, -1)))
    by_chance = np.concatenate(parts)
    chance = float(np.sort(by_chance)[-max(1, int(CHANCE * (SHUFFLES + 1)))])
    cut = max(ALIKE, chance)
    distance = np.clip(1 - near, 0.0, 2.0)
    np.fill_diagonal(distance, 0.0)
    # a merge at the cut itself is as good as chance: the threshold is just below
    flat = fcluster(linkage(squareform(distance, checks=False), "average"), 1 - cut - 1e-9, criterion="distance")
    members = [[j for j in range(len(judges)) if flat[j] == label] for label in dict.fromkeys(flat.tolist())]
    points = lean * ratings.std(axis=1, keepdims=True)
    groups = [of for of in members if len(of) > 1]
    apart = _correlations(np.stack([lean[of].mean(axis=0) for of in groups])) if groups else np.zeros((0, 0))
    found = []
    for one, of in zip(apart, groups, strict=True):
        against = groups[int(one.argmin())] if one.min() <= -ALIKE else []
        within = float(np.mean([near[a, b] for a in of for b in of if a < b]))
        mean = lean[of].mean(axis=0)
        order = np.argsort(-np.abs(mean), kind="stable")
        found.append(
            Cluster(
                tuple(judges[j] for j in of),
                within,
                float((by_chance >= within).sum() + 1) / (len(by_chance) + 1),
                dict(zip(models, points[of].mean(axis=0).tolist(), strict=True)),
                tuple(models[m] for m in order if mean[m] > MARKED),
                tuple(models[m] for m in order if mean[m] < -MARKED),
                tuple(judges[j] for j in against),
            )
        )
    table = {a: {b: float(near[i, j]) for j, b in enumerate(judges)} for i, a in enumerate(judges)}
    return Clusters(tuple(sorted(found, key=lambda one: -len(one.judges))), table, cut, chance)


def _correlations(rows: Floats) -> Floats:
    scaled = _standard(rows)
    return np.asarray(scaled @ np.swapaxes(scaled, -1, -2) / rows.shape[-1], np.float64)


def _standard(rows: Floats) -> Floats:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    deviation = centred.std(axis=-1, keepdims=True)
    tiny = 1e-9  # round-off of a row that does not vary
    return np.asarray(np.where(deviation > tiny, centred / np.where(deviation > tiny, deviation, 1.0), 0.0), np.float64)
