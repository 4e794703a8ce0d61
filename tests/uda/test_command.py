"""`calm uda train` and `calm uda apply`, run as a person would."""

import argparse
import json
import subprocess
import sys

import pytest

from calm.commands import uda
from calm.errors import ConfigError
from calm.uda.checkpoint import load_model


def run(*words):
    """Run a command with its own parser, and return its exit status."""
    parser = argparse.ArgumentParser()
    uda.register(parser.add_subparsers())
    options = parser.parse_args(["uda", *map(str, words)])
    return options.run(options)


@pytest.fixture
def trained(files, tmp_path):
    """The files of the arena, and a model trained on them with a report."""
    comparisons, answers = files
    model, report = tmp_path / "model.safetensors", tmp_path / "report.json"
    given = (comparisons, "--answers", answers, "--gold", tmp_path / "gold.json", "--hidden", "12,6", "--epochs", 3)
    run("train", *given, "-o", model, "--report", report, "--checkpoint", tmp_path / "state.safetensors", "--every", 2)
    return given, model, json.loads(report.read_text())


def test_training_writes_a_model_and_a_report(trained, capsys):
    """The report has before and after, the correlation with gold, and what was trained."""
    given, model, report = trained

    run("train", *given, "-o", model)

    told = capsys.readouterr()
    assert load_model(model).settings.hidden == (12, 6)
    assert report["schema"] == "calm-uda-report/1"
    assert set(report["before"]["ratings"]) == set(report["judges"])
    assert len(report["after"]["correlation_with_gold"]) == 6
    assert report["training"]["comparisons"] == 1440
    assert "inter-judge deviation" in told.out
    assert "epoch 3 of 3" in told.err


def test_training_again_goes_on_from_the_checkpoint(trained, tmp_path, capsys):
    """A checkpoint that is there is gone on from, with more epochs if asked for."""
    given, _, _ = trained

    status = run(
        "train", *given[:-1], 5, "-o", tmp_path / "m2.safetensors", "--checkpoint", tmp_path / "state.safetensors"
    )

    assert status == 0
    assert "epoch 3" in capsys.readouterr().err.splitlines()[-2]


def test_a_model_is_applied_to_other_comparisons(trained, files, tmp_path, capsys):
    """A trained model rates what it is given and reports before and after."""
    comparisons, answers = files

    status = run("apply", trained[1], comparisons, "--answers", answers, "--report", tmp_path / "after.json")

    after = json.loads((tmp_path / "after.json").read_text())
    assert status == 0
    assert "1,440 comparisons of 6 judges and 6 models" in capsys.readouterr().out
    assert "correlation_with_gold" not in after["after"]
    assert any("cannot be told from truth" in warning for warning in after["warnings"])


def test_leaving_out_a_judge_reports_each_judge(files, tmp_path):
    """With --leave-one-out each judge has the figures of a network that never saw it."""
    comparisons, answers = files

    run(
        *(
            "train",
            comparisons,
            "--answers",
            answers,
            "--hidden",
            "4",
            "--epochs",
            1,
            "--without-own",
            "--leave-one-out",
        ),
        *("-o", tmp_path / "m.safetensors", "--report", tmp_path / "r.json"),
    )

    found = json.loads((tmp_path / "r.json").read_text())["leave_one_judge_out"]
    assert len(found) == 6
    assert all({"before", "after"} == set(sides) for sides in found.values())


def test_another_embedder_than_the_models_is_refused(trained, files):
    """Vectors of another maker are refused before anything is read."""
    with pytest.raises(ConfigError, match="expected the embedder of the model, 'hashed:64', got --embed='hashed:8'"):
        run("apply", trained[1], files[0], "--embed", "hashed:8")


def test_without_jax_the_error_names_what_to_install():
    """Where JAX is not installed the message names the extra; calm and its command line import all the same."""
    script = (
        "import sys; sys.modules['jax'] = None\n"
        "import calm.cli, calm.commands.uda, calm.uda.elo, calm.uda.consensus, calm.uda.comparisons\n"
        "from calm.errors import ConfigError\n"
        "try:\n    import calm.uda.training\nexcept ConfigError as error:\n    print(error)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert 'pip install "calm-judge[uda]"' in done.stdout


def test_importing_calm_imports_no_jax():
    """Neither `import calm` nor its command line loads JAX."""
    script = "import sys, calm, calm.cli, calm.commands.uda; print([m for m in ('jax', 'optax') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
