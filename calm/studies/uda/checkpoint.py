"""
Models and checkpoints on disk, as safetensors: arrays and a header of text, with nothing that runs on reading.

A model file has the trained parameters; a checkpoint has all that the next epoch depends on, and a hash of the
comparisons, so that a training goes on with the data that it began with.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calm.core.files import json_of, refuse_large
from calm.core.inputs import noted
from calm.errors import ConfigError
from calm.results.outputs import UDA_CHECKPOINT, UDA_MODEL, write_whole
from calm.studies.uda.backend import doubles, jax, jnp
from calm.studies.uda.comparisons import Comparisons
from calm.studies.uda.elo import Elo
from calm.studies.uda.features import width
from calm.studies.uda.network import OUTPUTS, Params
from calm.studies.uda.settings import Settings
from calm.studies.uda.training import State, new_state
from calm.studies.uda.weighting import EQUAL

MODEL, CHECKPOINT = "calm-uda-model/1", "calm-uda-checkpoint/1"
COUNTS = ("epoch", "best_epoch")
LOSSES = ("last_loss", "best_loss")


@dataclass(frozen=True, slots=True)
class Model:
    """A trained network, its settings, and the maker and length of the embeddings that it was trained on."""

    params: Params
    settings: Settings
    dims: int
    embedder: str


def save_model(path: Path, model: Model) -> None:
    """
    Write a model file, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    header = {"dims": model.dims, "embedder": model.embedder, "settings": asdict(model.settings)}
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
    return Model(params, settings, dims, str(header.get("embedder")))


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
        counts = {name: int(str(_table(header, "counts")[name])) for name in COUNTS}
        losses = {name: float.fromhex(str(_table(header, "losses")[name])) for name in LOSSES}
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: expected a checkpoint's counts and losses, got: {error}; start again") from error
    params, optimiser, best = trees
    return State(
        counts["epoch"], params, optimiser, losses["last_loss"], counts["best_epoch"], losses["best_loss"], best
    )


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


def _read(path: Path, kind: str) -> tuple[dict[str, NDArray[np.generic]], Mapping[str, object]]:
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


def _table(header: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = header.get(name)
    return found if isinstance(found, dict) else {}


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
    inputs = width(dims, own=settings.own, extra=settings.extra)
    found: dict[str, tuple[int, ...]] = {"norm0.scale": (inputs,), "norm0.bias": (inputs,)}
    sizes = [inputs, *settings.hidden, OUTPUTS]
    for layer, (fan_in, fan_out) in enumerate(pairwise(sizes), start=1):
        found |= {f"linear{layer}.weight": (fan_in, fan_out), f"linear{layer}.bias": (fan_out,)}
        if layer < len(sizes) - 1:
            found |= {f"norm{layer}.scale": (fan_out,), f"norm{layer}.bias": (fan_out,)}
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
