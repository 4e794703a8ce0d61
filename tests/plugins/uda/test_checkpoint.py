"""Models and checkpoints: what is saved is what is loaded, and anything else is one clear message."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from calm.errors import ConfigError
from calm.plugins.uda.network import Settings
from calm.plugins.uda.training import (
    CHECKPOINT,
    MODEL,
    Model,
    load_model,
    load_state,
    new_state,
    save_model,
    save_state,
)

SMALL = Settings(hidden=(5,), epochs=3)


@pytest.fixture
def saved(tmp_path):
    """A model, and the file that it was saved to."""
    model = Model(new_state(4, SMALL).params, SMALL, 4, "hashed:4")
    save_model(tmp_path / "model.safetensors", model)
    return model, tmp_path / "model.safetensors"


def test_a_model_is_loaded_as_it_was_saved(saved):
    """Parameters to the bit, settings, dimensions and embedder."""
    model, path = saved

    found = load_model(path)

    assert (found.settings, found.dims, found.embedder) == (SMALL, 4, "hashed:4")
    assert {n: np.asarray(a).tobytes() for n, a in found.params.items()} == {
        n: np.asarray(a).tobytes() for n, a in model.params.items()
    }


def test_nothing_but_the_file_is_left(saved):
    """The temporary file that it is written through is gone."""
    _, path = saved

    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    """A folder in the place of the file is one clear error, and nothing is left beside it."""
    (tmp_path / "taken" / "inside").mkdir(parents=True)

    with pytest.raises(ConfigError, match="expected a file to write, got a folder"):
        save_model(tmp_path / "taken", Model(new_state(4, SMALL).params, SMALL, 4, "hashed:4"))

    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def header(**changed):
    """Return the header of a model file with some of it changed."""
    settings = {
        **{n: getattr(SMALL, n) for n in SMALL.__dataclass_fields__ if n != "elo"},
        "elo": {"start": 1200.0, "k": 32.0, "base": 2.7, "scale": 400.0},
    }
    return {"dims": 4, "embedder": "hashed:4", "settings": settings, **changed}


def test_a_header_that_lies_is_refused(saved, subtests):
    """A file whose header does not fit is one message with the file's name."""
    for kind, about, told in [
        (CHECKPOINT, header(), "expected a file of format='calm-uda-model/1', got format='calm-uda-checkpoint/1'"),
        (MODEL, header(dims="many"), "expected dims as a whole number from 1"),
        (MODEL, header(dims=7), "expected arrays that fit the settings"),
        (MODEL, header(settings=None), "expected the settings of a training"),
        (MODEL, header(settings={"hidden": [5], "elo": {"k": -1}}), "expected the settings of a training"),
        (MODEL, header(settings={"hidden": [5], "elo": {}, "odd": 1}), "expected the settings of a training"),
        (MODEL, header(settings={"hidden": [2, 2], "elo": {}}), "expected arrays that fit the settings"),
        (MODEL, header(settings={**header()["settings"], "own": "yes"}), "expected own as true or false"),
        (MODEL, [], "expected a file of format='calm-uda-model/1', got format='list'"),
    ]:
        with subtests.test(kind=kind, about=about, told=told):
            _, path = saved
            whole = {"format": kind, **about} if isinstance(about, dict) else about
            save_file(load_file(path), path, {"calm": json.dumps(whole)})

            with pytest.raises(ConfigError, match=told) as raised:
                load_model(path)

            assert str(raised.value).startswith(f"{path}: ")


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, b"\x10" + b"\0" * 7 + b"not json at all!"])
def test_a_file_that_is_none_is_refused(tmp_path, content):
    """Rubbish is one message, not a traceback."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match="expected a safetensors file that `calm uda train` wrote"):
        load_model(path)


def test_a_file_cut_short_is_refused(saved):
    """Half a model is one message."""
    _, path = saved
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(ConfigError, match="expected a safetensors file"):
        load_model(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """The message has the name of the file."""
    with pytest.raises(ConfigError, match="nowhere"):
        load_model(tmp_path / "nowhere.safetensors")


def test_parameters_that_are_no_numbers_are_refused(saved, subtests):
    """NaN or infinity in a model is named by its array."""
    for value, told in [("nan", "none or NaN"), ("inf", "infinity")]:
        with subtests.test(value=value, told=told):
            model, path = saved
            params = {**model.params, "linear1.bias": model.params["linear1.bias"] * np.float32(value)}
            save_model(path, replace(model, params=params))

            with pytest.raises(ConfigError, match=rf"{told} in linear1\.bias"):
                load_model(path)


def test_the_same_model_is_the_same_file(saved, tmp_path):
    """To the byte: the library writes several entries of a header in an order that changes."""
    model, path = saved

    for name in "abcd":
        save_model(tmp_path / name, model)

    assert {(tmp_path / name).read_bytes() for name in "abcd"} == {path.read_bytes()}


def test_a_checkpoint_goes_on_with_its_own_settings_and_comparisons_only(arena, tmp_path):
    """Another seed and another file of comparisons are refused by name; more epochs are welcome."""
    _, data = arena
    path = tmp_path / "state.safetensors"
    save_state(path, new_state(data.dims, SMALL)._replace(epoch=1), SMALL, data)

    assert load_state(path, replace(SMALL, epochs=9), data).epoch == 1
    with pytest.raises(ConfigError, match="got others for seed"):
        load_state(path, replace(SMALL, seed=7), data)
    with pytest.raises(ConfigError, match="expected the comparisons that the training began with"):
        load_state(path, SMALL, data.take(data.prompt > 0))
