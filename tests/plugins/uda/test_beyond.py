"""Features beyond the paper's: their formulas, what they need, and that a model keeps them."""

from dataclasses import replace

import numpy as np
import pytest

from calm.errors import ConfigError
from calm.plugins.uda.comparisons import FEATURES
from calm.plugins.uda.network import Settings, instruction, jnp, perplexity, width
from calm.plugins.uda.training import Model, apply, gradient, load_model, new_state, save_model, train

BOTH = Settings(hidden=(6,), epochs=2, extra=FEATURES)


@pytest.fixture(scope="module")
def beyond(small):
    """The small arena with a question for each prompt, and log-perplexities that are known."""
    _, data = small
    questions = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 0, 0]], np.float32)
    surprise = np.stack([1 + data.first / 4, 1 + data.second / 4, 2 + data.judge / 4], axis=1)
    rows = (len(data.embeddings) + data.prompt).astype(np.int32)
    return replace(data, embeddings=np.concatenate([data.embeddings, questions]), asked=rows, surprise=surprise)


def test_the_question_is_held_against_each_answer():
    """Differences first, then cosines: by hand, (3, 4) and (4, 3) have the cosine 24 / 25."""
    asked, one, two = (jnp.asarray([row], jnp.float32) for row in ([3.0, 4.0], [4.0, 3.0], [-3.0, -4.0]))

    found = np.asarray(instruction(asked, [one, two]))

    assert found[0] == pytest.approx([1, 1, 6, 8, 0.96, -1])
    assert width(2, own=False, extra=("instruction",)) - width(2, own=False) == found.shape[1]


def test_log_perplexities_are_subtracted():
    """Of 1.5, 2 and 4 nats: -.5, -2.5 and -2; without the own answer the first alone."""
    known = jnp.asarray([[1.5, 2.0, 4.0]])

    assert np.asarray(perplexity(known, own=True)).tolist() == [[-0.5, -2.5, -2.0]]
    assert np.asarray(perplexity(known, own=False)).tolist() == [[-0.5]]


@pytest.mark.parametrize("own", [True, False])
def test_the_network_sees_them(beyond, own):
    """The first layer has room for them, and what they say changes the ratings."""
    settings = replace(BOTH, own=own)
    params = new_state(beyond.dims, settings).params
    _, after = apply(params, beyond, settings)

    asked = replace(beyond, asked=beyond.asked[::-1].copy())
    surprised = replace(beyond, surprise=beyond.surprise[::-1].copy())

    assert len(params["norm0.scale"]) == (33 + 15 + 3 if own else 11 + 10 + 1)
    assert not np.array_equal(apply(params, asked, settings)[1], after)
    assert not np.array_equal(apply(params, surprised, settings)[1], after)


def test_batches_cut_them_as_they_cut_the_rest(beyond):
    """The slope is the same for batches of 50 and for all at once."""
    params = new_state(beyond.dims, BOTH).params

    (loss, slope), (other, same) = (gradient(params, beyond, replace(BOTH, batch=size)) for size in (50, 100_000))

    assert loss == pytest.approx(other)
    assert all(np.allclose(slope[name], same[name], rtol=1e-3, atol=1e-3) for name in slope)


def test_a_model_keeps_its_features_and_refuses_comparisons_without(beyond, small, tmp_path):
    """The file names them; comparisons without questions or perplexities are refused, each with its fix."""
    state = train(beyond, BOTH)
    save_model(tmp_path / "m.safetensors", Model(state.best, BOTH, beyond.dims, "hashed:4"))
    kept = load_model(tmp_path / "m.safetensors")

    assert kept.settings == BOTH
    with pytest.raises(ConfigError) as raised:
        apply(kept.params, small[1], kept.settings)
    assert [told.partition(" for ")[0] for told in raised.value.problems] == [
        "expected the question of each prompt",
        "expected the judge's log-perplexity of each answer",
    ]
    assert "leave instruction out of --features" in raised.value.problems[0]
    assert "log_perplexity_own" in raised.value.problems[1]


def test_weights_of_a_file_are_kept_in_the_model(small, tmp_path):
    """A model file holds the weights by judge, and gives them back as they were."""
    settings = Settings(hidden=(4,), weights=(("a-model", 1.0), ("b-model", 0.5)))
    params = new_state(4, settings).params

    save_model(tmp_path / "m.safetensors", Model(params, settings, 4, "hashed:4"))

    assert load_model(tmp_path / "m.safetensors").settings == settings
