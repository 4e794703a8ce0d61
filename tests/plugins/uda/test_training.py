"""Training: the right slope, the same bits from the same seed, and from a training that was interrupted."""

from dataclasses import replace

import numpy as np
import pytest

from calm.errors import ConfigError, EstimateError
from calm.plugins.uda import ratings as consensus
from calm.plugins.uda.comparisons import split
from calm.plugins.uda.network import Settings, doubles, jax
from calm.plugins.uda.training import apply, gradient, load_state, new_state, save_state, train

SMALL = Settings(hidden=(12, 6), epochs=6, learning_rate=1e-2, batch=100)


def bits(params):
    """Return parameters as bytes."""
    return {name: np.asarray(array).tobytes() for name, array in params.items()}


def test_the_gradient_is_that_of_small_steps(small):
    """Along random directions, in 64 bits, the slope of the loss agrees with central differences."""
    _, data = small
    with doubles():
        params = {n: p.astype(float) for n, p in new_state(data.dims, SMALL).params.items()}
    _, slope = gradient(params, data, SMALL)

    for seed in range(3):
        with doubles():
            keys = jax.random.split(jax.random.key(seed), len(params))
            way = {n: jax.random.normal(k, p.shape, p.dtype) for k, (n, p) in zip(keys, params.items(), strict=True)}
            moved = [{n: p + step * way[n] for n, p in params.items()} for step in (1e-6, -1e-6)]
            along = sum(float((slope[n] * way[n]).sum()) for n in params)
        ahead, behind = (gradient(there, data, SMALL)[0] for there in moved)
        assert (ahead - behind) / 2e-6 == pytest.approx(along, rel=1e-3)


def test_the_size_of_a_batch_changes_no_more_than_round_off(arena):
    """Features by batches of 64 or all at once give one gradient."""
    _, data = arena
    params = new_state(data.dims, SMALL).params

    (loss, slope), (other_loss, other) = (gradient(params, data, replace(SMALL, batch=b)) for b in (64, 100_000))

    assert loss == pytest.approx(other_loss, rel=1e-5)
    assert all(np.allclose(slope[n], other[n], rtol=2e-3, atol=1e-3 * float(abs(other[n]).max())) for n in slope)


def test_the_same_seed_gives_the_same_bits(arena):
    """Two trainings of one seed are equal to the last bit; another seed is another network."""
    _, data = arena

    first, second, other = (train(data, replace(SMALL, seed=seed)) for seed in (1, 1, 2))

    assert bits(first.params) == bits(second.params)
    assert bits(first.best) == bits(second.best)
    assert bits(first.params) != bits(other.params)


@pytest.mark.parametrize("stop", [1, 4])
def test_a_training_that_goes_on_gives_the_bits_of_one_that_never_stopped(arena, tmp_path, stop):
    """State saved after an epoch, read again, gives parameters, best and losses equal to the last bit."""
    _, data = arena
    path = tmp_path / "state.safetensors"
    losses, resumed = [], []
    whole = train(data, SMALL, show=lambda p: losses.append(p.validation_loss))

    save_state(path, train(data, SMALL, stop_after=stop), SMALL, data)
    again = train(data, SMALL, state=load_state(path, SMALL, data), show=lambda p: resumed.append(p.validation_loss))

    assert bits(again.params) == bits(whole.params)
    assert bits(again.best) == bits(whole.best)
    assert (again.epoch, again.best_epoch, again.best_loss) == (whole.epoch, whole.best_epoch, whole.best_loss)
    assert resumed == losses[stop:]


def test_what_is_kept_is_the_best_on_held_out_comparisons(arena):
    """`best` belongs to the least validation loss of all epochs."""
    _, data = arena
    losses = []

    state = train(data, SMALL, show=lambda p: losses.append(p.validation_loss))

    assert state.best_loss == min(losses)
    assert state.best_epoch == losses.index(min(losses)) + 1


def test_training_brings_judges_nearer_and_nearer_to_the_truth(arena):
    """On held-out comparisons deviation relative to the spread falls, and the mean correlation with the truth rises."""
    place, data = arena
    settings = Settings(hidden=(32, 16), epochs=60, learning_rate=1e-3)

    state = train(data, settings)
    before, after = apply(state.best, split(data, settings.validation)[1], settings)

    relative = [consensus.inter_judge_std(m).mean() / consensus.consensus_spread(m) for m in (before, after)]
    truth = [np.mean([consensus.correlation(row, place.quality) for row in m]) for m in (before, after)]
    assert relative[1] < 0.8 * relative[0]
    assert truth[1] > truth[0]


def test_the_ablation_reads_nothing_of_the_own_answers(arena):
    """Without own answers, other own answers change no bit."""
    _, data = arena
    settings = replace(SMALL, own=False, epochs=2)

    first = train(data, settings)
    second = train(replace(data, own=np.full_like(data.own, -1)), settings)

    assert bits(first.params) == bits(second.params)


def test_comparisons_are_split_by_judge_and_pair(arena):
    """The first share of each judge's comparisons of an ordered pair validates, the rest trains, and none does both."""
    _, data = arena

    fits, validates = split(data, 0.3)

    def count(part):
        keys = zip(part.judge.tolist(), part.first.tolist(), part.second.tolist(), strict=True)
        found = {}
        for key in keys:
            found[key] = found.get(key, 0) + 1
        return found

    everywhere, held_out = count(data), count(validates)
    assert len(fits) + len(validates) == len(data)
    assert all(held_out.get(key, 0) == int(0.3 * n) for key, n in everywhere.items())


def test_settings_out_of_range_are_refused(subtests):
    """Each is one line that names the setting, what is wanted and what came."""
    for wrong, told in [
        ({"hidden": ()}, "hidden"),
        ({"hidden": (0,)}, "hidden"),
        ({"epochs": 0}, "epochs"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"validation": 1.0}, "validation"),
        ({"seed": -1}, "seed"),
        ({"batch": 0}, "batch"),
        ({"factor": 1.0}, "factor"),
    ]:
        with subtests.test(wrong=wrong, told=told):
            with pytest.raises(ConfigError, match=rf"^expected {told} .+, got {told}="):
                Settings(**wrong)


def test_too_few_judges_or_models_are_refused(arena):
    """One judge has no consensus; two models always correlate perfectly."""
    _, data = arena
    lone = replace(data.take(data.judge == 0), judges=data.judges[:1])
    pair = replace(data.take((data.first < 2) & (data.second < 2)), models=data.models[:2])

    with pytest.raises(ConfigError, match="expected two judges or more, got 1"):
        train(lone, SMALL)
    with pytest.raises(ConfigError, match="expected three models or more, got 2"):
        train(pair, SMALL)


def test_lacking_own_answers_are_named_with_the_way_out(arena):
    """A judge without an answer of its own is named, and so is the option that needs none."""
    _, data = arena
    lacking = replace(data, own=np.where(data.judge == 2, -1, data.own).astype(np.int32))

    with pytest.raises(ConfigError, match=r"got none for some of 'c-model'; .*--without-own"):
        train(lacking, SMALL)


def test_too_few_comparisons_to_hold_any_out_are_refused(arena):
    """With one comparison of each pair nothing validates, and the message says so."""
    _, data = arena
    few = data.take(data.prompt < 1)

    with pytest.raises(ConfigError, match="expected validation comparisons of each judge, got none of"):
        train(few, SMALL)


def test_embeddings_of_another_length_are_refused(arena):
    """A network does not take vectors that it was not trained on."""
    _, data = arena

    with pytest.raises(ConfigError, match="embed with what the model was trained on"):
        apply(new_state(data.dims + 1, SMALL).params, data, SMALL)


def test_parameters_that_overflow_are_refused(small):
    """Finite by themselves, and not what comes of them: no rating is NaN."""
    _, data = small
    settings = Settings(hidden=(12, 6))
    params = {name: p * 0 + np.float32(3e38) for name, p in new_state(data.dims, settings).params.items()}

    with pytest.raises(EstimateError, match="expected finite ratings, got infinity or NaN"):
        apply(params, data, settings)
