"""
How far judges lie apart, what they think of themselves, and where their consensus may be biased.

A matrix of ratings has a row for each judge and a column for each model. All functions are plain numpy: matrices in,
numbers out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from calm.core.model_names import bare
from calm.errors import EstimateError
from calm.selfpreference.families import family_of
from calm.studies.uda.elo import Floats

ALIKE = 0.4
"""Judges whose leanings correlate with those of a bloc by this much on average belong to it."""
SHARED = 0.3
"""The share of the judges' error in the consensus above which they err alike; 1/judges if they err apart."""
LEVEL = 0.01
SHUFFLES = 999


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
    scaled = [_standard(row) for row in ratings]
    errors = np.stack([row - truth * float(row @ truth) / len(truth) for row in scaled])
    total = float((errors**2).mean())
    share = _kept(errors) / total if total > 0 else 0.0
    as_much = sum(_kept(np.stack([_shuffled(row, rng) for row in errors])) / total >= share for _ in range(SHUFFLES))
    off = errors.mean(axis=0)
    order = np.argsort(-np.abs(off))
    return SharedError(
        share,
        (as_much + 1) / (SHUFFLES + 1),
        tuple(models[m] for m in order if off[m] > 0.5),
        tuple(models[m] for m in order if off[m] < -0.5),
    )


def _kept(errors: Floats) -> float:
    return float((errors.mean(axis=0) ** 2).mean())


def _shuffled(row: Floats, rng: Random) -> Floats:
    values = row.tolist()
    rng.shuffle(values)
    return np.array(values)


def _standard(row: Floats) -> Floats:
    centred = row - row.mean()
    deviation = float(centred.std())
    return np.asarray(centred / deviation if deviation > 0 else centred, np.float64)


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
    name, letters = bare(judge), ""
    if (known := family_of(judge)) is not None:
        return known
    for character in name:
        if not character.isalpha():
            break
        letters += character
    return letters or name


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
                f"{_names(error.above)}, too low for {_names(error.below)}; alignment pulls toward this"
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


def _names(models: Sequence[str]) -> str:
    return ", ".join(models) or "none"
