"""The network: from the features of a comparison to a factor on its K and a bonus for either answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtri

from calm.statistics.power import uniforms
from calm.studies.uda.backend import jax, jnp
from calm.studies.uda.features import cosine, features, instruction, perplexity

Params: TypeAlias = dict[str, jax.Array]

TOP = 30.0
"""Each output lies between 0 and this."""
LEAK, BIAS, ROUND_OFF = 0.1, 0.1, 1e-5
OUTPUTS = 3
"""The factor on K, the bonus of the first, the bonus of the second."""


class Rows(NamedTuple):
    """
    Comparisons as rows of the embeddings, of both answers and the judge's own, and the share that the first won.

    `asked` are the rows of the questions, `surprise` three columns of log-perplexities; None where the network does not
    see them.
    """

    first: jax.Array
    second: jax.Array
    own: jax.Array
    share: jax.Array
    asked: jax.Array | None = None
    surprise: jax.Array | None = None


def begin(rng: Random, inputs: int, hidden: Sequence[int]) -> Params:
    """Return new parameters: Kaiming-normal weights by fan-in, biases of 0.1, layer norms that change nothing yet."""
    sizes = [inputs, *hidden, OUTPUTS]
    params = {"norm0.scale": jnp.ones(inputs, jnp.float32), "norm0.bias": jnp.zeros(inputs, jnp.float32)}
    gain = (2 / (1 + LEAK**2)) ** 0.5
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
        drawn = ndtri(uniforms(rng, (fan_in, fan_out))) * gain / fan_in**0.5
        params[f"linear{layer}.weight"] = jnp.asarray(drawn.astype(np.float32))
        params[f"linear{layer}.bias"] = jnp.full(fan_out, BIAS, jnp.float32)
        if layer < len(sizes) - 1:
            params[f"norm{layer}.scale"] = jnp.ones(fan_out, jnp.float32)
            params[f"norm{layer}.bias"] = jnp.zeros(fan_out, jnp.float32)
    return params


def forward(params: Params, seen: jax.Array) -> jax.Array:
    """Return the three outputs of each row of features, each between 0 and `TOP`."""
    layers = sum(name.endswith(".weight") for name in params)
    x = _normed(params, 0, seen)
    for layer in range(1, layers):
        x = _normed(params, layer, x @ params[f"linear{layer}.weight"] + params[f"linear{layer}.bias"])
        x = jax.nn.leaky_relu(x, LEAK)
    return TOP * jax.nn.sigmoid(x @ params[f"linear{layers}.weight"] + params[f"linear{layers}.bias"])


def adjust(params: Params, embeddings: jax.Array, rows: Rows, *, own: bool, k: float) -> tuple[jax.Array, jax.Array]:
    """
    Return the network's K and outcome of each comparison.

    K = k (1 - cos(1, 2)) kappa. The bonus of the answer that resembles the judge's own is scaled down: with w the
    softmax of the cosines to the own answer, u1 = s1 + (1 - w) c1, u2 = s2 + w c2, and the outcome is u1 / (u1 + u2).
    Without the own answer w is a half; the paper does not say which value it takes.
    """
    one, two = embeddings[rows.first], embeddings[rows.second]
    judge = embeddings[rows.own] if own else None
    seen = [features(one, two, judge)]
    if rows.asked is not None:
        seen.append(instruction(embeddings[rows.asked], [one, two] if judge is None else [one, two, judge]))
    if rows.surprise is not None:
        seen.append(perplexity(rows.surprise.astype(one.dtype), own=own))
    inputs = seen[0] if len(seen) == 1 else jnp.concatenate(seen, axis=1)
    kappa, bonus_one, bonus_two = forward(params, inputs).T
    w = jnp.float32(0.5) if judge is None else jax.nn.sigmoid(cosine(one, judge) - cosine(two, judge))
    factor = k * jnp.maximum(1 - cosine(one, two), 0) * kappa
    share = rows.share.astype(one.dtype)
    up_one, up_two = share + (1 - w) * bonus_one, (1 - share) + w * bonus_two
    return factor, up_one / (up_one + up_two)


def _normed(params: Params, layer: int, x: jax.Array) -> jax.Array:
    mean = x.mean(axis=-1, keepdims=True)
    spread = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    scaled = (x - mean) / jnp.sqrt(spread + ROUND_OFF)
    return scaled * params[f"norm{layer}.scale"] + params[f"norm{layer}.bias"]
