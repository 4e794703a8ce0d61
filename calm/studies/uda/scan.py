"""The ratings of `elo.rate` in JAX: one `lax.scan` over the turns, differentiable in K and outcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calm.studies.uda.backend import jax, jnp, lax
from calm.studies.uda.elo import Elo, Lanes


class Turns(NamedTuple):
    """Lanes as arrays of JAX: who meets whom, by turn and judge; `live` is 0 where there is no match."""

    first: jax.Array
    second: jax.Array
    live: jax.Array


def turns(laid: Lanes) -> Turns:
    """Return lanes as arrays of JAX."""
    return Turns(jnp.asarray(laid.first), jnp.asarray(laid.second), jnp.asarray(laid.live.astype(np.float64)))


def rate(met: Turns, share: jax.Array, models: int, rule: Elo, k: jax.Array | float) -> jax.Array:
    """
    Return the last ratings, a row for each judge and a column for each model; call it within `backend.doubles()`.

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
