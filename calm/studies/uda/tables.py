"""Comparisons as arrays of JAX: arranged by turn and judge for the ratings, and cut into batches for the network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calm.studies.uda import scan
from calm.studies.uda.backend import jax, jnp
from calm.studies.uda.comparisons import INSTRUCTION, PERPLEXITY, Comparisons
from calm.studies.uda.elo import Ints, Lanes
from calm.studies.uda.network import Rows
from calm.studies.uda.scan import Turns
from calm.studies.uda.settings import Settings


class Table(NamedTuple):
    """Comparisons by turn and judge; see `Rows`."""

    turns: Turns
    share: jax.Array
    one: jax.Array
    two: jax.Array
    own: jax.Array
    asked: jax.Array | None
    surprise: jax.Array | None


def laid_out(data: Comparisons, laid: Lanes, settings: Settings) -> Table:
    """Return comparisons arranged by turn and judge, with what the settings let the network see."""

    def spread(rows: Ints) -> jax.Array:
        return jnp.asarray(np.where(laid.live, rows[np.maximum(laid.source, 0)], 0).astype(np.int32))

    def seen(name: str) -> bool:
        return name in settings.extra

    own = np.maximum(data.own, 0)  # a row that nothing reads: `check` ensures own answers where they are needed
    asked = spread(data.asked) if seen(INSTRUCTION) and data.asked is not None else None
    surprise = None
    if seen(PERPLEXITY) and data.surprise is not None:
        columns = np.nan_to_num(data.surprise).T  # without own answers the last column is not read
        surprise = jnp.stack([jnp.asarray(laid.spread(column)) for column in columns], axis=-1)
    turns, share = scan.turns(laid), jnp.asarray(laid.spread(data.share, 0.5))
    return Table(turns, share, spread(data.one), spread(data.two), spread(own), asked, surprise)


def rows_of(laid: Table, batch: int) -> Rows:
    """Return the comparisons of a table in batches."""
    one, two, own, share = batched((laid.one, laid.two, laid.own, laid.share), batch)
    asked = None if laid.asked is None else batched((laid.asked,), batch)[0]
    surprise = None
    if laid.surprise is not None:
        columns = tuple(laid.surprise[..., column] for column in range(laid.surprise.shape[-1]))
        surprise = jnp.stack(batched(columns, batch), axis=-1)
    return Rows(one, two, own, share, asked, surprise)


def batched(columns: tuple[jax.Array, ...], batch: int) -> tuple[jax.Array, ...]:
    """Return columns cut into batches of equal length; the last is filled with zeros, which carry no gradient."""
    size = columns[0].size
    most = min(batch, size)
    missing = -size % most
    return tuple(jnp.pad(column.reshape(-1), (0, missing)).reshape(-1, most) for column in columns)
