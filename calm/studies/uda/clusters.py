"""
Judges that share a lean: what the consensus does not explain of their ratings goes together beyond chance.

A lean is what is left of a judge's ratings when the consensus, with the judge's own scale, is taken out. The consensus
here is the median of the judges, each brought to mean 0 and deviation 1 first: a mean would move with the judges that
lean, and so make the others lean the opposite way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Final

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from calm.statistics.power import uniforms
from calm.studies.uda.consensus import ALIKE, SHUFFLES
from calm.studies.uda.elo import Floats

LEVEL = 0.05
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
    Return the clusters of judges that share a lean.

    Average linkage on 1 - r, r the correlation of two judges' leans, cut where the mean correlation falls below `cut`.
    Chance: the leans of each judge are shuffled over the models and put back onto the consensus, the leans are computed
    again, and the highest correlation of any pair is noted, `SHUFFLES` times. The first merge of a tree is its closest
    pair, so judges without a shared lean make a cluster in at most `LEVEL` of the data sets.

    Args:
        ratings: before alignment, a row for each judge and a column for each model.
        judges: the names of the judges.
        models: the names of the models.
        rng: of the shuffles.
    """
    if ratings.shape[0] < FEWEST_JUDGES or ratings.shape[1] < FEWEST_MODELS:
        return Clusters()
    lean = leans(ratings)
    near = _correlations(lean)
    by_chance = _by_chance(ratings, lean, rng)
    chance = float(np.sort(by_chance)[-max(1, int(LEVEL * (SHUFFLES + 1)))])
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


def _by_chance(ratings: Floats, lean: Floats, rng: Random) -> Floats:
    """Return the highest correlation of any two judges' leans in each of `SHUFFLES` data sets without a shared lean."""
    judges, models = lean.shape
    order = np.argsort(uniforms(rng, (SHUFFLES, judges, models)), axis=-1)
    shuffled = np.take_along_axis(np.broadcast_to(lean, order.shape), order, axis=-1)
    near = _correlations(leans(_standard(ratings) - lean + shuffled))
    pairs = np.triu_indices(judges, 1)
    return np.asarray(near[:, pairs[0], pairs[1]].max(axis=-1), np.float64)


def _correlations(rows: Floats) -> Floats:
    """Return the correlations of rows with each other, 0 where one of them does not vary."""
    scaled = _standard(rows)
    return np.asarray(scaled @ np.swapaxes(scaled, -1, -2) / rows.shape[-1], np.float64)


def _standard(rows: Floats) -> Floats:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    deviation = centred.std(axis=-1, keepdims=True)
    tiny = 1e-9  # round-off of a row that does not vary
    return np.asarray(np.where(deviation > tiny, centred / np.where(deviation > tiny, deviation, 1.0), 0.0), np.float64)
