"""
A simulated arena whose truth is known: models with a latent quality, judges that are models and like their own style.

Each answer has an embedding: what all texts share, the prompt's topic, the model's style, and noise. Quality is not in
it, but where a style goes with it. Judge j prefers answer a to b with log-odds

    sharpness * (quality of a - quality of b) + liking_j * (cos(style a, style j) - cos(style b, style j)) + noise_j

and calls it a tie where they are small. `liking_j` differs from judge to judge. With `bloc`, the first so many judges
like one and the same style instead, and are wrong in the same way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
from scipy.special import ndtri

from calm.plugins.uda.comparisons import Comparisons
from calm.plugins.uda.ratings import Floats, Ints
from calm.statistics.power import uniforms


@dataclass(frozen=True, slots=True)
class World:
    """Models, their qualities and styles, and how much each judge likes what resembles its own style."""

    quality: Floats
    styles: Floats
    common: Floats
    taste: Floats
    liking: Floats
    sharpness: float = 1.0
    topic: float = 0.5
    noise: float = 0.5
    ties: float = 0.15

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the models, which are those of the judges, too: no two of a family."""
        return tuple(f"{chr(97 + m)}-model" for m in range(len(self.quality)))

    @property
    def truth(self) -> dict[str, float]:
        """Return the true qualities by model."""
        return dict(zip(self.names, self.quality.tolist(), strict=True))


LIKING = (2.0, 6.0)
"""Gives the baseline about the mean correlation with the truth that the paper reports, 0.65."""


def world(
    rng: Random, *, models: int = 10, dims: int = 64, liking: tuple[float, float] = LIKING, bloc: int = 0
) -> World:
    """Return a world; the first `bloc` judges have the taste of model 0, the others their own."""
    styles = _normal(rng, (models, dims))
    quality = _normal(rng, (models,))
    taste = styles.copy()
    taste[:bloc] = styles[0]
    likes = liking[0] + (liking[1] - liking[0]) * uniforms(rng, (models,))
    if bloc:
        likes[:bloc] = liking[1]
        quality[0] = -1.0  # the style that they like is a poor model's
    return World((quality - quality.mean()) / quality.std(), styles, 1.5 * _normal(rng, (dims,)), taste, likes)


def play(
    place: World, rng: Random, *, prompts: int, pairs: int | None = None, beyond: Random | None = None
) -> Comparisons:
    """
    Return what all judges say about answers to new prompts: all ordered pairs of models, or so many drawn.

    With `beyond`, the questions are there, too: what all texts share, and their topic. So is each judge's
    log-perplexity of each answer, in nats: 2, less half the cosine of the judge's style and what the answer has beyond
    the question, and noise with a deviation of .1 from `beyond`.
    """
    models, dims = place.styles.shape
    answers, questions = _embeddings(place, rng, prompts)
    every = np.array([(a, b) for a in range(models) for b in range(models) if a != b], np.int32)
    if pairs is None:
        prompt, judge, pair = (x.ravel() for x in np.indices((prompts, models, len(every))))
    else:
        prompt, judge = (np.repeat(x.ravel(), pairs) for x in np.indices((prompts, models)))
        pair = np.minimum((uniforms(rng, prompt.shape) * len(every)).astype(int), len(every) - 1)
    first, second = every[pair].T
    lean = place.sharpness * (place.quality[first] - place.quality[second])
    lean = lean + place.liking[judge] * (_likeness(place)[judge, first] - _likeness(place)[judge, second])
    drawn = uniforms(rng, lean.shape)
    ahead = lean + np.log(drawn / (1 - drawn))
    share = np.where(np.abs(ahead) < place.ties, 0.5, (ahead > 0).astype(float))
    made = Comparisons(
        place.names,
        place.names,
        _ints(prompt),
        _ints(judge),
        _ints(first),
        _ints(second),
        share,
        _ints(prompt * models + first),
        _ints(prompt * models + second),
        _ints(prompt * models + judge),
        answers.reshape(prompts * models, dims).astype(np.float32),
    )
    if beyond is None:
        return made
    surprise = _surprise(place, answers - questions, beyond)
    return replace(
        made,
        embeddings=np.concatenate([made.embeddings, questions[:, 0].astype(np.float32)]),
        asked=_ints(prompts * models + prompt),
        surprise=np.stack([surprise[prompt, judge, model] for model in (first, second, judge)], axis=1),
    )


def written(data: Comparisons, folder: Path) -> tuple[Path, Path]:
    """Write comparisons and answers, as `calm uda` reads them, and return both files."""
    comparisons, answers = folder / "comparisons.jsonl", folder / "answers.jsonl"
    said = {1.0: "a", 0.0: "b", 0.5: "tie"}
    models = len(data.models)
    with comparisons.open("w", encoding="utf-8") as file:
        columns = (data.prompt, data.judge, data.first, data.second, data.share)
        for p, j, a, b, share in zip(*(column.tolist() for column in columns), strict=True):
            pair = {"model_a": data.models[a], "model_b": data.models[b], "outcome": said[share]}
            file.write(json.dumps({"prompt": f"p{p}", "judge": data.judges[j], **pair}) + "\n")
    with answers.open("w", encoding="utf-8") as file:
        for row, vector in enumerate(data.embeddings.tolist()):
            one = {"prompt": f"p{row // models}", "model": data.models[row % models], "embedding": vector}
            file.write(json.dumps(one) + "\n")
    return comparisons, answers


def _surprise(place: World, said: Floats, rng: Random) -> Floats:
    """Return the log-perplexity of each answer to each judge, by prompt, judge and model."""
    taste = place.taste / np.linalg.norm(place.taste, axis=1, keepdims=True)
    alike = np.einsum("pmd,jd->pjm", said / np.linalg.norm(said, axis=2, keepdims=True), taste)
    return np.asarray(2 - 0.5 * alike + 0.1 * _normal(rng, alike.shape), np.float64)


def _embeddings(place: World, rng: Random, prompts: int) -> tuple[Floats, Floats]:
    """Return the embeddings of the answers, by prompt and model, and of the questions, by prompt."""
    models, dims = place.styles.shape
    topics = place.topic * _normal(rng, (prompts, 1, dims))
    answers = place.common + topics + 0.5 * place.styles + place.noise * _normal(rng, (prompts, models, dims))
    return answers, place.common + topics


def _likeness(place: World) -> Floats:
    """Return the cosines of tastes, by judge, and styles, by model."""
    one = place.taste / np.linalg.norm(place.taste, axis=1, keepdims=True)
    two = place.styles / np.linalg.norm(place.styles, axis=1, keepdims=True)
    return np.asarray(one @ two.T, np.float64)


def _normal(rng: Random, shape: tuple[int, ...]) -> Floats:
    return np.asarray(ndtri(uniforms(rng, shape)), np.float64)


def _ints(values: Ints) -> Ints:
    return np.asarray(values, np.int32)
