"""
What the network sees of a comparison: how the two answers and the judge's own relate to each other.

`features` are the paper's. `instruction` and `perplexity` are beyond it, and chosen by the user.
"""

from __future__ import annotations

from collections.abc import Sequence

from calm.studies.uda.backend import jax, jnp
from calm.studies.uda.comparisons import INSTRUCTION, PERPLEXITY

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
    """Return KL(softmax a | softmax b) by row."""
    log_a, log_b = jax.nn.log_softmax(a, axis=-1), jax.nn.log_softmax(b, axis=-1)
    return (jnp.exp(log_a) * (log_a - log_b)).sum(axis=-1)
