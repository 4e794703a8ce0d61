"""
Train the network through the sequential ratings: loss, optimiser, epochs.

An epoch is one step over all comparisons of all judges. Their features would not fit into memory, so each epoch
computes them twice, batch by batch: once forward for K and outcome of each comparison, and again for the gradient in
the parameters, once one scan through the ratings and back has given the gradient of the loss in these two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isfinite
from random import Random
from typing import NamedTuple

import numpy as np

from calm.errors import ConfigError, EstimateError
from calm.studies.uda import scan
from calm.studies.uda.backend import doubles, jax, jnp, lax, optax
from calm.studies.uda.comparisons import Comparisons, check, split
from calm.studies.uda.elo import Elo, Floats, rate, shuffled
from calm.studies.uda.features import width
from calm.studies.uda.network import Params, Rows, adjust, begin
from calm.studies.uda.settings import Settings
from calm.studies.uda.tables import Table, batched, laid_out, rows_of
from calm.studies.uda.weighting import AGREEMENT, EQUAL, weights_of

NEAR, ALIKE, MEAN_NEAR = 0.1, 1000.0, 0.2
"""Weights of the loss: squared distance to the anchor, 1 - correlation with it, squared distance of the mean to it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """
    The state of a training after an epoch.

    `drift` is how far the sum of any judge's ratings, before or after the network, is from its start.
    """

    epoch: int
    epochs: int
    training_loss: float
    validation_loss: float
    best_loss: float
    drift: float


class State(NamedTuple):
    """All that the next epoch depends on, apart from data and settings: the content of a checkpoint."""

    epoch: int
    params: Params
    optimiser: optax.OptState
    last_loss: float
    best_epoch: int
    best_loss: float
    best: Params


def new_state(dims: int, settings: Settings) -> State:
    """Return where a training begins."""
    with doubles():
        params = begin(_rng(settings, 0), width(dims, own=settings.own, extra=settings.extra), settings.hidden)
        return State(0, params, _optimiser(settings).init(params), inf, 0, inf, params)


def train(
    data: Comparisons,
    settings: Settings,
    *,
    state: State | None = None,
    show: Callable[[Progress], None] | None = None,
    keep: Callable[[State], None] | None = None,
    stop_after: int | None = None,
) -> State:
    """
    Return the state after the last epoch; the trained parameters are its `best`, those of the best validation loss.

    Args:
        data: the comparisons; split into training and validation here.
        settings: how.
        state: where to go on from, as another call left it; by default the beginning. On one machine the result has the
            same bits as that of one uninterrupted call.
        show: called with the progress after each epoch.
        keep: called with the state after each epoch.
        stop_after: the epoch to stop after, before the last.

    Raises:
        ConfigError: comparisons that teach nothing.
        EstimateError: the loss is no longer finite.
    """
    check(data, own=settings.own, extra=settings.extra)
    fits, validates = split(data, settings.validation)
    now = new_state(data.dims, settings) if state is None else state
    recipe = _recipe(settings)
    last = settings.epochs if stop_after is None else min(stop_after, settings.epochs)
    with doubles():
        embeddings = jnp.asarray(data.embeddings)
        known, unseen = fits.lanes(), laid_out(validates, validates.lanes(), settings)
        models = len(data.models)
        anchor = _baseline(unseen, models, settings.elo)
        weights = _weights(fits, settings)
        while now.epoch < last:
            params, optimiser, loss, drift = _step(
                now.params,
                now.optimiser,
                embeddings,
                laid_out(fits, shuffled(known, _rng(settings, now.epoch + 1)), settings),
                last_loss=now.last_loss,
                models=models,
                settings=recipe,
                weights=weights,
            )
            validation, drifted = _validate(
                params, embeddings, unseen, anchor, models=models, settings=recipe, weights=weights
            )
            now = _moved(now, params, optimiser, float(validation))
            if not (isfinite(float(loss)) and isfinite(now.last_loss)):
                raise EstimateError(
                    f"expected a finite loss, got {float(loss)} and {now.last_loss} in epoch={now.epoch}; lower the "
                    f"learning rate, or scale the embeddings"
                )
            if keep is not None:
                keep(now)
            if show is not None:
                show(
                    Progress(
                        now.epoch,
                        settings.epochs,
                        float(loss),
                        now.last_loss,
                        now.best_loss,
                        max(float(drift), float(drifted)),
                    )
                )
    return now


def apply(params: Params, data: Comparisons, settings: Settings) -> tuple[Floats, Floats]:
    """
    Return the ratings of all judges over all comparisons in their order, before and after: a row for each judge.

    Raises:
        ConfigError: embeddings of another length than the network was trained on, or own answers lacking.
        EstimateError: parameters, or embeddings, that are too large for finite ratings.
    """
    inputs, wanted = len(params["norm0.scale"]), width(data.dims, own=settings.own, extra=settings.extra)
    if inputs != wanted:
        raise ConfigError(
            f"expected embeddings that give inputs={inputs} features, got {data.dims} dimensions, which give {wanted}; "
            f"embed with what the model was trained on"
        )
    check(data, own=settings.own, extra=settings.extra)
    with doubles():
        table, models = laid_out(data, data.lanes(), settings), len(data.models)
        k, share = _outputs(params, jnp.asarray(data.embeddings), table, _recipe(settings))
        before = _baseline(table, models, settings.elo)
        after = _adaptive(table, k, share, models, settings.elo)
        if not (np.isfinite(before).all() and np.isfinite(after).all()):
            raise EstimateError(
                "expected finite ratings, got infinity or NaN: the model's parameters or the embeddings are too large; "
                "train again, or scale the embeddings"
            )
        return np.asarray(before, np.float64), np.asarray(after, np.float64)


def judge_weights(data: Comparisons, settings: Settings) -> Floats | None:
    """
    Return the weight of each judge in the consensus, which sum to 1; None where all count alike.

    By agreement they come from the ratings before alignment, in the order of the data.

    Raises:
        ConfigError: no judge agrees with the others, or the settings lack a judge.
    """
    before = np.zeros((0, 0))
    if settings.weights == AGREEMENT:
        before = rate(data.lanes(), data.lanes().spread(data.share, 0.5), len(data.models), settings.elo)
    return weights_of(settings.weights, before, data.judges)


def loss_of(ratings: jax.Array, anchor: jax.Array, weights: jax.Array | None = None) -> jax.Array:
    """
    Return the loss of ratings, a row for each judge: each one's distance to the anchor, and that of their mean.

    With weights, which sum to 1, it is the distance of their weighted mean.
    """
    own = NEAR * ((ratings - anchor) ** 2).mean(axis=1) + ALIKE * (1 - _correlation(ratings, anchor))
    return own.sum() + MEAN_NEAR * ((_centre(ratings, weights) - anchor) ** 2).mean()


def gradient(params: Params, data: Comparisons, settings: Settings) -> tuple[float, Params]:
    """Return the loss over all comparisons in their order, and its gradient in the parameters."""
    with doubles():
        embeddings, table, models = (
            jnp.asarray(data.embeddings),
            laid_out(data, data.lanes(), settings),
            len(data.models),
        )
        weights = _weights(data, settings)
        loss, slope, _ = _gradient(params, embeddings, table, models=models, settings=settings, weights=weights)
        return float(loss), slope


# ------------------------------------------------------------------------------------------------------------ the step


def _optimiser(settings: Settings) -> optax.GradientTransformationExtraArgs:
    # optax lowers the rate when `patience` epochs are worse, the paper's scheduler when more than `patience` are
    return optax.chain(
        optax.clip_by_global_norm(settings.clip),
        optax.adamw(settings.learning_rate, weight_decay=settings.weight_decay),
        optax.contrib.reduce_on_plateau(factor=settings.factor, patience=settings.patience + 1, rtol=1e-4),
    )


def _moved(before: State, params: Params, optimiser: optax.OptState, loss: float) -> State:
    now = before._replace(epoch=before.epoch + 1, params=params, optimiser=optimiser, last_loss=loss)
    return now._replace(best_epoch=now.epoch, best_loss=loss, best=params) if loss < before.best_loss else now


@partial(jax.jit, static_argnames=("models", "settings"))
def _step(
    params: Params,
    optimiser: optax.OptState,
    embeddings: jax.Array,
    table: Table,
    *,
    last_loss: float,
    models: int,
    settings: Settings,
    weights: jax.Array | None,
) -> tuple[Params, optax.OptState, jax.Array, jax.Array]:
    loss, slope, drift = _gradient(params, embeddings, table, models=models, settings=settings, weights=weights)
    updates, optimiser = _optimiser(settings).update(slope, optimiser, params, value=last_loss)
    return optax.apply_updates(params, updates), optimiser, loss, drift


@partial(jax.jit, static_argnames=("models", "settings"))
def _gradient(
    params: Params,
    embeddings: jax.Array,
    table: Table,
    *,
    models: int,
    settings: Settings,
    weights: jax.Array | None,
) -> tuple[jax.Array, Params, jax.Array]:
    anchor = _centre(_baseline(table, models, settings.elo), weights)

    def of_outputs(k: jax.Array, share: jax.Array) -> tuple[jax.Array, jax.Array]:
        ratings = scan.rate(table.turns, share, models, settings.elo, k)
        return loss_of(ratings, anchor, weights), _drift(ratings, settings.elo)

    k, share = _outputs(params, embeddings, table, settings)
    (loss, drift), (to_k, to_share) = jax.value_and_grad(of_outputs, argnums=(0, 1), has_aux=True)(k, share)
    rows = rows_of(table, settings.batch)
    slope_k, slope_share = batched((to_k, to_share), settings.batch)

    def more(total: Params, batch: tuple[Rows, jax.Array, jax.Array]) -> tuple[Params, None]:
        seen, slope_k, slope_share = batch
        (k, share), back = jax.vjp(lambda p: adjust(p, embeddings, seen, own=settings.own, k=settings.elo.k), params)
        (slope,) = back((slope_k.astype(k.dtype), slope_share.astype(share.dtype)))
        return jax.tree.map(jnp.add, total, slope), None

    slope, _ = lax.scan(more, jax.tree.map(jnp.zeros_like, params), (rows, slope_k, slope_share))
    return loss, slope, drift


@partial(jax.jit, static_argnames=("models", "settings"))
def _validate(
    params: Params,
    embeddings: jax.Array,
    table: Table,
    before: jax.Array,
    *,
    models: int,
    settings: Settings,
    weights: jax.Array | None,
) -> tuple[jax.Array, jax.Array]:
    k, share = _outputs(params, embeddings, table, settings)
    ratings = scan.rate(table.turns, share, models, settings.elo, k)
    drift = jnp.maximum(_drift(ratings, settings.elo), _drift(before, settings.elo))
    return loss_of(ratings, _centre(before, weights), weights), drift


@partial(jax.jit, static_argnames=("settings",))
def _outputs(params: Params, embeddings: jax.Array, table: Table, settings: Settings) -> tuple[jax.Array, jax.Array]:
    """Return K and outcome of all comparisons, laid out as the table; features live for one batch."""

    def one(rows: Rows) -> tuple[jax.Array, jax.Array]:
        return adjust(params, embeddings, rows, own=settings.own, k=settings.elo.k)

    shape = table.share.shape
    k, share = lax.map(one, rows_of(table, settings.batch))
    flat = shape[0] * shape[1]
    wide = table.share.dtype
    return k.reshape(-1)[:flat].reshape(shape).astype(wide), share.reshape(-1)[:flat].reshape(shape).astype(wide)


@partial(jax.jit, static_argnames=("models", "rule"))
def _baseline(table: Table, models: int, rule: Elo) -> jax.Array:
    return scan.rate(table.turns, table.share, models, rule, rule.k)


@partial(jax.jit, static_argnames=("models", "rule"))
def _adaptive(table: Table, k: jax.Array, share: jax.Array, models: int, rule: Elo) -> jax.Array:
    return scan.rate(table.turns, share, models, rule, k)


# --------------------------------------------------------------------------------------------------------- the table


def _rng(settings: Settings, epoch: int) -> Random:
    """Return the randomness of an epoch, so that it does not depend on where a training began; 0 is the beginning."""
    return Random(f"{settings.seed} {epoch}")  # a text: neighbouring numbers would be no independent seeds


def _recipe(settings: Settings) -> Settings:
    """Return the part of the settings that decides what is compiled, once for all seeds, lengths and weights."""
    return replace(settings, seed=0, epochs=1, weights=EQUAL)


def _weights(data: Comparisons, settings: Settings) -> jax.Array | None:
    weights = judge_weights(data, settings)
    return None if weights is None else jnp.asarray(weights)


def _centre(ratings: jax.Array, weights: jax.Array | None) -> jax.Array:
    return ratings.mean(axis=0) if weights is None else weights @ ratings


def _drift(ratings: jax.Array, rule: Elo) -> jax.Array:
    return jnp.abs(ratings.sum(axis=1) - rule.start * ratings.shape[1]).max()


def _correlation(ratings: jax.Array, anchor: jax.Array) -> jax.Array:
    tiny = 1e-12  # equal ratings correlate with nothing: this gives 0 and a finite gradient
    x, y = ratings - ratings.mean(axis=1, keepdims=True), anchor - anchor.mean()
    return (x * y).sum(axis=1) / jnp.sqrt((x * x).sum(axis=1) * (y * y).sum() + tiny)
