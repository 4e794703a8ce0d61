"""An alignment that collapsed: how it is known, and that nothing is written of it."""

import json
from random import Random

import numpy as np
import pytest

from benchmarks.uda_arena import play, world
from calm.commands.cli import main
from calm.plugins.uda.comparisons import split
from calm.plugins.uda.network import Settings
from calm.plugins.uda.report import LEAST_LEFT, MOST_LOST, collapsed, report, table
from calm.plugins.uda.training import Model, apply, new_state, save_model, train

JUDGES = tuple(f"j{j}" for j in range(6))
MODELS = tuple(f"m{m}" for m in range(8))
NEAR, ALIKE, SPREAD = (
    "mean_correlation_with_consensus",
    "consensus_correlation_with_baseline",
    "consensus_spread",
)


def ratings(seed=1, noise=60.0):
    """Return ratings of judges that agree but for noise."""
    rng = Random(seed)
    truth = np.array([rng.gauss(1200, 100) for _ in MODELS])
    return truth + np.array([[rng.gauss(0, noise) for _ in MODELS] for _ in JUDGES])


def broken(before, after):
    """Return the figures that say that an alignment collapsed, after seeing that each is beyond its limit."""
    made = report(before, after, JUDGES, MODELS, gold=None, rng=Random(0))
    for one in made["collapse"]:
        assert one["after"] is None or one["after"] < one["limit"]
        assert one["before"] == made["before"][one["figure"]]
    assert bool(made["collapse"]) == made["warnings"][0].startswith("the alignment collapsed")
    json.dumps(made, allow_nan=False)
    return [one["figure"] for one in made["collapse"]]


def test_alignment_that_pulls_or_shrinks_is_no_collapse():
    """Judges pulled toward their mean, ratings that shrink to 3 %, and ratings that stay."""
    before = ratings()

    assert broken(np.full(before.shape, 1200.0), before) == []
    for after in (before, 1200 + 0.03 * (before - 1200), 0.2 * before + 0.8 * before.mean(axis=0)):
        assert broken(before, after) == []


def test_each_way_to_collapse_is_named():
    """Noise in the place of ratings, a consensus upside down, all alike, and no ratings at all."""
    before = ratings()
    centre = before.mean(axis=0)

    assert broken(before, ratings(seed=2, noise=300.0)) == [NEAR, ALIKE]
    assert broken(before, np.tile(2400 - centre, (len(JUDGES), 1))) == [NEAR, ALIKE]
    assert broken(before, 1200 + 0.9 * LEAST_LEFT * (before - 1200)) == [SPREAD]
    assert broken(before, np.full(before.shape, 1200.0)) == [NEAR, ALIKE, SPREAD]
    assert collapsed([]) == ""


def test_a_little_correlation_may_be_lost():
    """Judges that agree have nothing to gain: what they lose is allowed up to `MOST_LOST`."""
    before = ratings(noise=5.0)
    rng = Random(4)
    noise = np.array([[rng.gauss(0, 1) for _ in MODELS] for _ in JUDGES])
    found = {}
    for size in (10.0, 60.0):
        made = report(before, before + size * noise, JUDGES, MODELS, gold=None, rng=Random(0))
        lost = made["before"][NEAR] - made["after"][NEAR]
        found[lost > MOST_LOST] = made["collapse"]

    assert (found[False], len(found[True])) == ([], 1)


@pytest.fixture
def untrained(tmp_path):
    """The file of a model that saw nothing."""
    settings = Settings(hidden=(5,), seed=2)
    save_model(tmp_path / "model.safetensors", Model(new_state(4, settings).params, settings, 4, "hashed:4"))
    return tmp_path / "model.safetensors"


def test_a_collapsed_model_is_not_applied(untrained, files, tmp_path, capsys):
    """The status is 1, one paragraph has the figures and what to do, and no report is there unless it was asked for."""
    page, record = tmp_path / "r.html", tmp_path / "r.json"
    given = ["uda", "apply", untrained, files[0], "--answers", files[1], "--report", page, "--report", record]

    assert main([str(word) for word in given]) == 1
    said = capsys.readouterr()
    assert not page.exists()
    assert not record.exists()
    assert said.err.count("\n") == 1
    assert "collapsed" in said.err
    assert "Correlation with the consensus" in said.out

    assert main([*map(str, given), "--keep-collapsed"]) == 0
    made = json.loads(record.read_text())
    assert made["collapse"][0]["figure"] == NEAR
    assert f"{made['collapse'][0]['after']:.3f}" in said.err
    assert "the alignment collapsed" in page.read_text()


@pytest.mark.slow
def test_a_training_that_collapsed_writes_nothing(files, tmp_path, capsys):
    """Three epochs are too few: an older model stays as it is, and the checkpoint is there to go on from."""
    model, record, state = (tmp_path / name for name in ("m.safetensors", "r.json", "state.safetensors"))
    given = [files[0], "--answers", files[1], "--hidden", "12,6", "--epochs", 3, "-o", model]

    assert main(["uda", "train", *map(str, given), "--report", str(record), "--checkpoint", str(state)]) == 1

    assert (model.exists(), record.exists(), state.exists()) == (False, False, True)
    assert f"nothing was written to {model}, {record}" in capsys.readouterr().err
    assert main(["uda", "train", *map(str, given), "--report", str(record), "--keep-collapsed"]) == 0
    assert json.loads(record.read_text())["collapse"]
    before = model.read_bytes()
    assert main(["uda", "train", *map(str, given), "--seed", "7"]) == 1
    assert model.read_bytes() == before


@pytest.mark.slow
def test_sound_trainings_are_not_refused_and_short_ones_are(subtests):
    """Two of the arenas of `benchmarks/uda.py`, which has the figures of more."""
    for seed in (1, 2):
        rng = Random(seed)
        place = world(rng)
        data = play(place, rng, prompts=50, pairs=20)
        for epochs in (80, 3):
            with subtests.test(seed=seed, epochs=epochs):
                settings = Settings(epochs=epochs)
                rated = apply(train(data, settings).best, split(data, settings.validation)[1], settings)
                made = report(*rated, data.judges, data.models, gold=None, rng=Random(0))
                assert bool(made["collapse"]) == (epochs == 3)


def test_a_correction_away_from_gold_is_said_first():
    """Judges that are right are pulled to one that is not: the first line says what fell; nothing is said of a gain."""
    truth = np.array([1000.0 + 50 * m for m in range(len(MODELS))])
    gold = dict(zip(MODELS, truth.tolist(), strict=True))
    near, far = ratings(seed=5, noise=5.0), ratings(seed=5, noise=5.0)
    near[:], far[:] = truth, truth[::-1] * 0.3 + truth * 0.7
    far += np.array([[0, 90, 0, 0, -90, 0, 0, 0]])

    lost = report(near, far, JUDGES, MODELS, gold=gold, rng=Random(0))
    won = report(far, near, JUDGES, MODELS, gold=gold, rng=Random(0))

    key = "consensus_correlation_with_gold"
    assert lost["after"][key] < lost["before"][key]
    assert (len(lost["foremost"]), won["foremost"]) == (1, [])
    assert lost["foremost"][0] in table(lost).splitlines()[0]
