"""What the network sees of a comparison: how the two answers and the judge's own relate to each other."""

from __future__ import annotations

from calm.studies.uda.backend import jax, jnp

TINY = 1e-8
"""Keeps a product of norms from being 0."""


def width(dims: int, *, own: bool) -> int:
    """
    Return the number of features for embeddings of `dims` dimensions, with or without the judge's own answer.

    >>> width(768, own=True), width(768, own=False)
    (4617, 1539)
    """
    return 6 * dims + 9 if own else 2 * dims + 3


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


def _norm(a: jax.Array) -> jax.Array:
    return jnp.sqrt((a * a).sum(axis=-1))


def _divergence(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return KL(softmax a | softmax b) by row."""
    log_a, log_b = jax.nn.log_softmax(a, axis=-1), jax.nn.log_softmax(b, axis=-1)
    return (jnp.exp(log_a) * (log_a - log_b)).sum(axis=-1)
