"""
The network in JAX: how it is trained, what it sees of a comparison, and the ratings that its outputs make.

`features` are the paper's. `instruction` and `perplexity` are beyond it, and chosen by the user. `rate_turns` is
`ratings.rate` as one `lax.scan` over the turns, differentiable in K and outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from random import Random
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy.special import ndtri

from calm.errors import ConfigError
from calm.plugins.uda.comparisons import FEATURES, INSTRUCTION, PERPLEXITY, Comparisons
from calm.plugins.uda.ratings import EQUAL, Choice, Elo, Ints, Lanes
from calm.statistics.power import uniforms

# ------------------------------------------------------------------------------------------------------------- settings

MAX_HIDDEN = 65_536


@dataclass(frozen=True, slots=True)
class Settings:
    """
    How a network is trained; the defaults are the paper's but for `hidden`, which is 2048, 512, 64 there.

    Attributes:
        hidden: widths of the hidden layers.
        epochs: steps, one an epoch.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        patience: epochs without a better validation loss, after which the learning rate falls.
        factor: what it falls by.
        clip: the longest gradient.
        validation: the share of each judge's comparisons of a pair that validates.
        own: whether the judge's own answer is seen; without it the network is the paper's ablation.
        extra: what is seen beyond the paper's features, of `comparisons.FEATURES`.
        weights: how much each judge counts in the consensus (`weighting`); all alike in the paper.
        seed: of the first parameters and the order of the comparisons.
        batch: comparisons whose features are held at once; it changes round-off and nothing else.
        elo: the rule of the ratings.
    """

    hidden: tuple[int, ...] = (256, 64)
    epochs: int = 80
    learning_rate: float = 1e-4
    weight_decay: float = 4e-3
    patience: int = 3
    factor: float = 0.5
    clip: float = 3.0
    validation: float = 0.3
    own: bool = True
    seed: int = 42
    batch: int = 2048
    elo: Elo = field(default_factory=Elo)
    extra: tuple[str, ...] = ()
    weights: Choice = EQUAL

    def __post_init__(self) -> None:
        good = bool(self.hidden) and all(isinstance(n, int) and 1 <= n <= MAX_HIDDEN for n in self.hidden)
        problems = [
            f"expected {name} {wanted}, got {name}={value!r}"
            for name, value, wanted, right in (
                ("hidden", self.hidden, f"as whole numbers from 1 to {MAX_HIDDEN}", good),
                ("epochs", self.epochs, "of 1 or more", self.epochs >= 1),
                ("learning_rate", self.learning_rate, "above 0", 0 < self.learning_rate < inf),
                ("weight_decay", self.weight_decay, "of 0 or more", 0 <= self.weight_decay < inf),
                ("patience", self.patience, "of 0 or more", self.patience >= 0),
                ("factor", self.factor, "between 0 and 1", 0 < self.factor < 1),
                ("clip", self.clip, "above 0", 0 < self.clip < inf),
                ("validation", self.validation, "between 0 and 1", 0 < self.validation < 1),
                ("own", self.own, "as true or false", isinstance(self.own, bool)),
                ("seed", self.seed, "from 0 to 2**32 - 1", 0 <= self.seed < 2**32),
                ("features", self.extra, f"of {', '.join(FEATURES)}", set(self.extra) <= set(FEATURES)),
                ("batch", self.batch, "of 1 or more", self.batch >= 1),
            )
            if not right
        ]
        if problems:
            raise ConfigError(problems)


try:
    import jax
    import jax.numpy as jnp
    import optax
    from jax import lax
except ImportError as error:
    from calm.core.releases import install

    raise ConfigError(f"expected JAX and optax for uda, got: {error}; install them: {install('uda')}") from error

__all__ = ["doubles", "jax", "jnp", "lax", "optax"]


def doubles() -> AbstractContextManager[object]:
    """Return a context in which JAX has 64-bit numbers: ratings drift in 32 bits, as each update rounds at 1200."""
    context: AbstractContextManager[object] = jax.enable_x64(True)
    return context


# ------------------------------------------------------------------------------------------------------------- features

TINY = 1e-8
"""Keeps a product of norms from being 0."""


def width(dims: int, *, own: bool, extra: Sequence[str] = ()) -> int:
    """
    Return the number of features for embeddings of `dims` dimensions, with or without the judge's own answer.

    The paper has no `extra` ones. The instruction adds a difference and a cosine for each answer, perplexity one
    difference for each pair of answers.

    >>> width(768, own=True), width(768, own=False)
    (4617, 1539)
    >>> width(768, own=True, extra=("instruction", "perplexity"))
    6927
    """
    answers, pairs = (3, 3) if own else (2, 1)
    more = (INSTRUCTION in extra) * answers * (dims + 1) + (PERPLEXITY in extra) * pairs
    return pairs * (2 * dims + 3) + more


def cosine(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return the cosines of rows."""
    return (a * b).sum(axis=-1) / (_norm(a) * _norm(b) + TINY)


def features(one: jax.Array, two: jax.Array, own: jax.Array | None) -> jax.Array:
    """
    Return one row for each comparison: blocks of difference, cosine, divergence, norm and product, in this order.

    Each block has the pairs (1, 2), (1, own), (2, own); without `own` the first of them alone. The divergences are
    those of the softmax of the embeddings: KL(2 | 1), KL(1 | own), KL(2 | own).
    """
    pairs = [(one, two)] if own is None else [(one, two), (one, own), (two, own)]
    turned = [(two, one), *pairs[1:]]
    blocks = [jnp.abs(a - b) for a, b in pairs]
    blocks += [cosine(a, b)[:, None] for a, b in pairs]
    blocks += [_divergence(a, b)[:, None] for a, b in turned]
    blocks += [jnp.abs(_norm(a) - _norm(b))[:, None] for a, b in pairs]
    blocks += [a * b / (_norm(a) * _norm(b) + TINY)[:, None] for a, b in pairs]
    return jnp.concatenate(blocks, axis=1)


def instruction(asked: jax.Array, answers: Sequence[jax.Array]) -> jax.Array:
    """Return one row for each comparison: the difference of each answer to the question, then each of the cosines."""
    apart = [jnp.abs(answer - asked) for answer in answers]
    return jnp.concatenate([*apart, *(cosine(answer, asked)[:, None] for answer in answers)], axis=1)


def perplexity(surprise: jax.Array, *, own: bool) -> jax.Array:
    """
    Return one row for each comparison: differences of log-perplexity, in nats a token.

    `surprise` has the judge's log-perplexity of answer 1, answer 2 and its own; the pairs are (1, 2), (1, own) and
    (2, own), without the own answer the first alone.
    """
    one, two, its = surprise.T
    return jnp.stack([one - two, one - its, two - its] if own else [one - two], axis=1)


def _norm(a: jax.Array) -> jax.Array:
    return jnp.sqrt((a * a).sum(axis=-1))


def _divergence(a: jax.Array, b: jax.Array) -> jax.Array:
    log_a, log_b = jax.nn.log_softmax(a, axis=-1), jax.nn.log_softmax(b, axis=-1)
    return (jnp.exp(log_a) * (log_a - log_b)).sum(axis=-1)


# ---------------------------------------------------------------------------------------------------------- the network

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


# ------------------------------------------------------------------------------------------------------- ratings in JAX


class Turns(NamedTuple):
    """Lanes as arrays of JAX: who meets whom, by turn and judge; `live` is 0 where there is no match."""

    first: jax.Array
    second: jax.Array
    live: jax.Array


def turns_of(laid: Lanes) -> Turns:
    """Return lanes as arrays of JAX."""
    return Turns(jnp.asarray(laid.first), jnp.asarray(laid.second), jnp.asarray(laid.live.astype(np.float64)))


def rate_turns(met: Turns, share: jax.Array, models: int, rule: Elo, k: jax.Array | float) -> jax.Array:
    """
    Return the last ratings, a row for each judge and a column for each model; call it within `doubles()`.

    A pair is a row of +1 and -1, not an index: gathering and scattering are slower, above all backward.
    """
    names = jnp.arange(models)

    def turn(ratings: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        first, second, factor, won = now
        sign = (first[:, None] == names).astype(ratings.dtype) - (second[:, None] == names)
        ahead = (ratings * sign).sum(axis=1)
        change = factor * (won - jax.nn.sigmoid(rule.slope * ahead))
        return ratings + sign * change[:, None], None

    begin = jnp.full((met.first.shape[1], models), rule.start, met.live.dtype)
    last, _ = lax.scan(turn, begin, (met.first, met.second, met.live * k, share))
    return last


# --------------------------------------------------------------------------------------------------- comparisons in JAX


class Table(NamedTuple):
    """Comparisons by turn and judge."""

    turns: Turns
    rows: Rows


def laid_out(data: Comparisons, laid: Lanes, settings: Settings) -> Table:
    """Return comparisons arranged by turn and judge, with what the settings let the network see."""

    def spread(rows: Ints) -> jax.Array:
        return jnp.asarray(np.where(laid.live, rows[np.maximum(laid.source, 0)], 0).astype(np.int32))

    own = np.maximum(data.own, 0)  # a row that nothing reads: `check` ensures own answers where they are needed
    asked = spread(data.asked) if INSTRUCTION in settings.extra and data.asked is not None else None
    surprise = None
    if PERPLEXITY in settings.extra and data.surprise is not None:
        columns = np.nan_to_num(data.surprise).T  # without own answers the last column is not read
        surprise = jnp.stack([jnp.asarray(laid.spread(column)) for column in columns], axis=-1)
    share = jnp.asarray(laid.spread(data.share, 0.5))
    return Table(turns_of(laid), Rows(spread(data.one), spread(data.two), spread(own), share, asked, surprise))


T = TypeVar("T")


def batched(laid: T, batch: int) -> T:
    """Return columns by turn and judge cut into batches of equal length; zeros, which carry no gradient, fill up."""

    def cut(column: jax.Array) -> jax.Array:
        size, more = column.shape[0] * column.shape[1], column.shape[2:]
        most = min(batch, size)
        flat = jnp.pad(column.reshape(size, *more), [(0, -size % most), *((0, 0) for _ in more)])
        return flat.reshape(-1, most, *more)

    found: T = jax.tree.map(cut, laid)
    return found
