"""
Train the network through the sequential ratings, and keep it on disk.

An epoch is one step over all comparisons of all judges. Their features would not fit into memory, so each epoch
computes them twice, batch by batch: once forward for K and outcome of each comparison, and again for the gradient in
the parameters, once one scan through the ratings and back has given the gradient of the loss in these two numbers.

Files are safetensors: arrays and a header of text, with nothing that runs on reading. A model file has the trained
parameters; a checkpoint has all that the next epoch depends on, and a hash of the comparisons, so that a training goes
on with the data that it began with.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import blake2b, sha256
from itertools import pairwise
from math import inf, isfinite
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calm.core.files import json_of, noted, refuse_large
from calm.errors import ConfigError, EstimateError
from calm.plugins.uda.comparisons import Comparisons, check, split
from calm.plugins.uda.network import (
    OUTPUTS,
    Params,
    Rows,
    Settings,
    Table,
    adjust,
    batched,
    begin,
    doubles,
    jax,
    jnp,
    laid_out,
    lax,
    optax,
    rate_turns,
    width,
)
from calm.plugins.uda.ratings import AGREEMENT, EQUAL, Elo, Floats, rate, shuffled, weights_of
from calm.results.outputs import UDA_CHECKPOINT, UDA_MODEL, write_whole

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
            now = State(now.epoch + 1, params, optimiser, float(validation), *now[4:])
            if now.last_loss < now.best_loss:
                now = now._replace(best_epoch=now.epoch, best_loss=now.last_loss, best=params)
            if not (isfinite(float(loss)) and isfinite(now.last_loss)):
                raise EstimateError(
                    f"expected a finite loss, got {float(loss)} and {now.last_loss} in epoch={now.epoch}; lower the "
                    f"learning rate, or scale the embeddings"
                )
            if keep is not None:
                keep(now)
            if show is not None:
                furthest = max(float(drift), float(drifted))
                show(Progress(now.epoch, settings.epochs, float(loss), now.last_loss, now.best_loss, furthest))
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
        after = _rated(table.turns, share, models, settings.elo, k)
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
    params: Params, embeddings: jax.Array, table: Table, *, models: int, settings: Settings, weights: jax.Array | None
) -> tuple[jax.Array, Params, jax.Array]:
    anchor = _centre(_baseline(table, models, settings.elo), weights)

    def of_outputs(k: jax.Array, share: jax.Array) -> tuple[jax.Array, jax.Array]:
        ratings = rate_turns(table.turns, share, models, settings.elo, k)
        return loss_of(ratings, anchor, weights), _drift(ratings, settings.elo)

    k, share = _outputs(params, embeddings, table, settings)
    (loss, drift), (to_k, to_share) = jax.value_and_grad(of_outputs, argnums=(0, 1), has_aux=True)(k, share)
    rows = batched(table.rows, settings.batch)
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
    ratings = rate_turns(table.turns, share, models, settings.elo, k)
    drift = jnp.maximum(_drift(ratings, settings.elo), _drift(before, settings.elo))
    return loss_of(ratings, _centre(before, weights), weights), drift


@partial(jax.jit, static_argnames=("settings",))
def _outputs(params: Params, embeddings: jax.Array, table: Table, settings: Settings) -> tuple[jax.Array, jax.Array]:

    def one(rows: Rows) -> tuple[jax.Array, jax.Array]:
        return adjust(params, embeddings, rows, own=settings.own, k=settings.elo.k)

    shape = table.rows.share.shape
    k, share = lax.map(one, batched(table.rows, settings.batch))
    flat = shape[0] * shape[1]
    wide = table.rows.share.dtype
    return k.reshape(-1)[:flat].reshape(shape).astype(wide), share.reshape(-1)[:flat].reshape(shape).astype(wide)


_rated = partial(jax.jit, static_argnames=("models", "rule"))(rate_turns)


@partial(jax.jit, static_argnames=("models", "rule"))
def _baseline(table: Table, models: int, rule: Elo) -> jax.Array:
    return rate_turns(table.turns, table.rows.share, models, rule, rule.k)


# --------------------------------------------------------------------------------------------------------- the table


def _rng(settings: Settings, epoch: int) -> Random:
    return Random(f"{settings.seed} {epoch}")  # a text: neighbouring numbers would be no independent seeds


def _recipe(settings: Settings) -> Settings:
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


# --------------------------------------------------------------------------------------- models and checkpoints on disk

MODEL, CHECKPOINT = "calm-uda-model/1", "calm-uda-checkpoint/1"
COUNTS = ("epoch", "best_epoch")
LOSSES = ("last_loss", "best_loss")
DIGEST = 6
"""The bytes of the digest of a comparison."""


@dataclass(frozen=True, slots=True)
class Model:
    """
    A trained network, its settings, and the maker and length of the embeddings that it was trained on.

    `trained_on` are the digests of its comparisons; a file of an earlier version has none.
    """

    params: Params
    settings: Settings
    dims: int
    embedder: str
    trained_on: frozenset[bytes] = frozenset()


def save_model(path: Path, model: Model) -> None:
    """
    Write a model file, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    known = b64encode(b"".join(sorted(model.trained_on))).decode()
    header = {
        "dims": model.dims,
        "embedder": model.embedder,
        "settings": asdict(model.settings),
        "trained_on": known,
    }
    _write(path, MODEL, {name: np.asarray(array) for name, array in model.params.items()}, header)


def load_model(path: Path) -> Model:
    """
    Return the model of a file.

    Raises:
        ConfigError: no such file, not a model file, or arrays that do not fit what its header says.
    """
    arrays, header = _read(noted(path), MODEL)
    settings, dims = _settings(path, header.get("settings")), header.get("dims")
    if not isinstance(dims, int) or not 1 <= dims <= 1_000_000:
        raise ConfigError(f"{path}: expected dims as a whole number from 1, got dims={dims!r}; train the model again")
    wanted = _shapes(dims, settings)
    _check(path, arrays, wanted)
    if odd := sorted(name for name, array in arrays.items() if np.isinf(array).any()):
        raise ConfigError(f"{path}: expected finite numbers, got infinity in {', '.join(odd[:5])}; train again")
    params = {name: jnp.asarray(arrays[name]) for name in wanted}
    try:
        known = b64decode(header.get("trained_on", ""), validate=True)
        if len(known) % DIGEST:
            raise ValueError(f"{len(known)} bytes, which is no number of digests")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{path}: expected trained_on as base64, got: {error}; train the model again") from error
    digests = frozenset(known[at : at + DIGEST] for at in range(0, len(known), DIGEST))
    return Model(params, settings, dims, str(header.get("embedder")), digests)


def save_state(path: Path, state: State, settings: Settings, data: Comparisons) -> None:
    """
    Write a checkpoint, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    header = {
        "settings": asdict(settings),
        "data": fingerprint(data),
        "counts": {name: getattr(state, name) for name in COUNTS},
        "losses": {name: float(getattr(state, name)).hex() for name in LOSSES},  # the very bits
    }
    _write(path, CHECKPOINT, {name: np.asarray(leaf) for name, leaf in _leaves(state).items()}, header)


def load_state(path: Path, settings: Settings, data: Comparisons) -> State:
    """
    Return the state of a checkpoint, to go on with the same settings and comparisons; more epochs are allowed.

    Raises:
        ConfigError: no such file, not a checkpoint, or one of other settings or comparisons.
    """
    arrays, header = _read(path, CHECKPOINT)
    kept = _settings(path, header.get("settings"))
    if replace(kept, epochs=settings.epochs) != settings:
        differing = [n for n, v in asdict(settings).items() if n != "epochs" and v != asdict(kept)[n]]
        raise ConfigError(
            f"{path}: expected the settings that the training began with, got others for {', '.join(differing)}; "
            f"continue with the same, or start again under another name"
        )
    if header.get("data") != fingerprint(data):
        raise ConfigError(f"{path}: expected the comparisons that the training began with, got others; start again")
    with doubles():
        empty = new_state(data.dims, settings)
        leaves = _leaves(empty)
        _check(path, arrays, {name: leaf.shape for name, leaf in leaves.items()})
        filled = [jnp.asarray(arrays[name], leaf.dtype) for name, leaf in leaves.items()]
        trees = jax.tree.unflatten(jax.tree.structure(_trees(empty)), filled)
    try:
        counts = {name: int(str(header["counts"][name])) for name in COUNTS}
        losses = {name: float.fromhex(str(header["losses"][name])) for name in LOSSES}
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: expected a checkpoint's counts and losses, got: {error}; start again") from error
    params, optimiser, best = trees
    return State(
        counts["epoch"], params, optimiser, losses["last_loss"], counts["best_epoch"], losses["best_loss"], best
    )


def digests(data: Comparisons) -> list[bytes]:
    """Return a digest of each comparison: who compared which answers of whom, and with what result."""
    rows = zip(*(column.tolist() for column in (data.judge, data.first, data.second, data.share)), strict=True)
    names = (repr((data.judges[j], data.models[a], data.models[b], share)).encode() for j, a, b, share in rows)
    answers = zip(data.one.tolist(), data.two.tolist(), strict=True)
    texts = (data.contents[one] + data.contents[two] for one, two in answers)
    return [blake2b(text + name, digest_size=DIGEST).digest() for text, name in zip(texts, names, strict=True)]


def fingerprint(data: Comparisons) -> str:
    """Return a hash of all that a training reads of the comparisons."""
    hashed = sha256(json.dumps([data.judges, data.models]).encode())
    columns = (data.judge, data.first, data.second, data.share, data.one, data.two, data.own, data.embeddings)
    beyond = [column for column in (data.asked, data.surprise) if column is not None]
    for column in (*columns, *beyond):
        hashed.update(f"{column.dtype}{column.shape}".encode())
        hashed.update(np.ascontiguousarray(column).tobytes())
    return hashed.hexdigest()


# ------------------------------------------------------------------------------------------------------------- the file


def _trees(state: State) -> tuple[object, object, object]:
    return state.params, state.optimiser, state.best


def _leaves(state: State) -> dict[str, jax.Array]:
    found, _ = jax.tree_util.tree_flatten_with_path(_trees(state))
    return {jax.tree_util.keystr(where): leaf for where, leaf in found}


def _write(path: Path, kind: str, arrays: Mapping[str, NDArray[np.generic]], header: Mapping[str, object]) -> None:
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    # ascontiguousarray turns a number into a row: keep its shape
    shaped = {name: array.reshape(arrays[name].shape) for name, array in plain.items()}
    # one entry: the library writes several in its own order, and the same training should give the same file
    form = UDA_MODEL if kind == MODEL else UDA_CHECKPOINT
    write_whole(path, [save(shaped, {"calm": json.dumps({"format": kind, **header})})], form)


def _read(path: Path, kind: str) -> tuple[dict[str, NDArray[np.generic]], Mapping[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as whole:
            refuse_large(whole, path)
        with safe_open(path, framework="np") as file:
            header: object = json_of((file.metadata() or {}).get("calm", "{}"))
            if not isinstance(header, dict) or header.get("format") != kind:
                found = header.get("format") if isinstance(header, dict) else type(header).__name__
                raise ConfigError(f"{path}: expected a file of format={kind!r}, got format={found!r}")
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - a handle, no mapping
    except (OSError, SafetensorError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path}: expected a safetensors file that `calm uda train` wrote, got: {error}") from error
    return arrays, header


def _settings(path: Path, found: object) -> Settings:
    try:
        if not isinstance(found, dict):
            raise TypeError(f"{type(found).__name__} in the place of settings")
        weights = found.get("weights", EQUAL)
        plain = {
            "hidden": tuple(found["hidden"]),
            "elo": Elo(**found["elo"]),
            "extra": tuple(found.get("extra", ())),
            "weights": weights if isinstance(weights, str) else tuple((str(j), float(w)) for j, w in weights),
        }
        return Settings(**{**found, **plain})
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: expected the settings of a training, got: {error}; train again") from error


def _shapes(dims: int, settings: Settings) -> dict[str, tuple[int, ...]]:
    sizes = [width(dims, own=settings.own, extra=settings.extra), *settings.hidden, OUTPUTS]
    found: dict[str, tuple[int, ...]] = {}
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        found |= {f"norm{layer}.scale": (fan_in,), f"norm{layer}.bias": (fan_in,)}
        found |= {f"linear{layer + 1}.weight": (fan_in, fan_out), f"linear{layer + 1}.bias": (fan_out,)}
    return found


def _check(path: Path, arrays: Mapping[str, NDArray[np.generic]], wanted: Mapping[str, tuple[int, ...]]) -> None:
    if {name: array.shape for name, array in arrays.items()} != dict(wanted):
        odd = sorted(n for n in {*arrays, *wanted} if n not in arrays or arrays[n].shape != wanted.get(n))
        raise ConfigError(
            f"{path}: expected arrays that fit the settings, got others for {', '.join(odd[:5])}; train again"
        )
    odd = sorted(n for n, a in arrays.items() if not np.issubdtype(a.dtype, np.number) or np.isnan(a).any())
    if odd:
        raise ConfigError(f"{path}: expected numbers, got none or NaN in {', '.join(odd[:5])}; train again")
