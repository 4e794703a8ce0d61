"""`calm uda train` and `calm uda apply`, run as a person would."""

import argparse
import json
import subprocess
import sys
from dataclasses import replace

import pytest

from calm.commands.cli import main
from calm.core.releases import install
from calm.errors import ConfigError
from calm.plugins.uda import command
from calm.plugins.uda.training import load_model, save_model
from tests.plugins.uda.test_checkpoint import saved

__all__ = ["saved"]


def run(*words):
    """Run a command with its own parser, and return its exit status."""
    parser = argparse.ArgumentParser()
    command.register(parser.add_subparsers())
    options = parser.parse_args(["uda", *map(str, words)])
    return options.run(options)


@pytest.fixture(scope="module")
def trained(files, tmp_path_factory):
    """What the command was given, the model that it trained, its report, and the checkpoint that it left."""
    comparisons, answers = files
    folder = tmp_path_factory.mktemp("trained")
    model, report, state = (folder / name for name in ("model.safetensors", "report.json", "state.safetensors"))
    gold = comparisons.with_name("gold.json")
    given = (comparisons, "--answers", answers, "--gold", gold, "--hidden", "12,6", "--keep-collapsed", "--epochs", 3)
    run("train", *given, "-o", model, "--report", report, "--checkpoint", state, "--every", 2)
    return given, model, json.loads(report.read_text()), state


def test_training_writes_a_model_and_a_report(trained, tmp_path, capsys):
    """The report has before and after, the correlation with gold, and what was trained; the same seed the same file."""
    given, model, report, _ = trained

    run("train", *given, "-o", tmp_path / "again.safetensors")

    told = capsys.readouterr()
    assert (tmp_path / "again.safetensors").read_bytes() == model.read_bytes()
    assert load_model(model).settings.hidden == (12, 6)
    assert report["schema"] == "calm-uda-report/1"
    assert set(report["before"]["ratings"]) == set(report["judges"])
    assert len(report["after"]["correlation_with_gold"]) == 4
    assert report["training"]["comparisons"] == 192
    assert "Deviation between judges" in told.out
    assert "epoch 3 of 3" in told.err


def test_training_again_goes_on_from_the_checkpoint(trained, tmp_path, capsys):
    """A checkpoint that is there is gone on from, with more epochs if asked for."""
    given, _, _, left = trained
    state = tmp_path / "state.safetensors"
    state.write_bytes(left.read_bytes())

    status = run("train", *given[:-1], 5, "-o", tmp_path / "m2.safetensors", "--checkpoint", state)

    assert status == 0
    assert "epoch 3" in capsys.readouterr().err.splitlines()[-2]


def test_a_model_is_applied_to_other_comparisons(trained, files, tmp_path, capsys):
    """A trained model rates what it is given and reports before and after."""
    comparisons, answers = files

    kept = ("--report", tmp_path / "after.json", "--keep-collapsed")
    status = run("apply", trained[1], comparisons, "--answers", answers, *kept)

    after = json.loads((tmp_path / "after.json").read_text())
    assert status == 0
    assert "192 comparisons of 4 judges and 4 models" in capsys.readouterr().out
    assert "correlation_with_gold" not in after["after"]
    assert any("looks like truth" in warning for warning in after["warnings"])
    [seen] = after["foremost"]  # it was trained with these
    assert "192 of these 192" in seen


def test_a_model_knows_which_comparisons_it_was_trained_with(trained, files, tmp_path):
    """Half of the comparisons with the other result are others; a model without digests says nothing."""
    comparisons, answers = files
    rows = [json.loads(line) for line in comparisons.read_text().splitlines()]
    other = {"a": "b", "b": "a", "tie": "a"}
    half = [row | {"outcome": other[row["outcome"]]} for row in rows[: len(rows) // 2]]
    (tmp_path / "other.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in half + rows[len(rows) // 2 :]))
    model = load_model(trained[1])
    save_model(tmp_path / "old.safetensors", replace(model, trained_on=frozenset()))

    def foremost(path):
        given = (tmp_path / "other.jsonl", "--answers", answers, "--report", tmp_path / "r.json", "--keep-collapsed")
        run("apply", path, *given)
        return json.loads((tmp_path / "r.json").read_text())["foremost"]

    assert "96 of these 192" in foremost(trained[1])[0]
    assert foremost(tmp_path / "old.safetensors") == []


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
            "--keep-collapsed",
        ),
        *("-o", tmp_path / "m.safetensors", "--report", tmp_path / "r.json"),
    )

    found = json.loads((tmp_path / "r.json").read_text())["leave_one_judge_out"]
    assert len(found) == 4
    assert all({"before", "after"} == set(sides) for sides in found.values())


JUDGES = """
def judge_of(model):
    def judge(case):
        return max(case.answers, key=lambda answer: (model in answer.text, len(answer.text))).id
    judge.name, judge.quick, judge.fingerprint = model, True, model
    return judge

alpha, beta, gamma = map(judge_of, ("alpha-1", "beta-1", "gamma-1"))
"""


def test_from_judges_to_a_page_in_three_commands(tmp_path, monkeypatch, capsys):
    """Judges that like their own answers are asked, UDA trains on the record, and its report becomes the same page."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "liking.py").write_text(JUDGES)
    models = ("alpha-1", "beta-1", "gamma-1")
    rows = [
        {
            "id": f"q{q}",
            "question": f"What is {q}?",
            "answers": [
                {"id": f"a{i}", "text": f"{m}{' so' * (q % (i + 2))}", "author": m} for i, m in enumerate(models)
            ],
        }
        for q in range(4)
    ]
    (tmp_path / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    judges = [f"liking:{name}" for name in ("alpha", "beta", "gamma")]
    families = [part for m in models for part in ("--family", f"{m}={m}")]

    main(["self-preference", *judges, "--cases", "answers.jsonl", "-o", "own.json", *families])
    given = [
        "own.json",
        "--answers",
        "answers.jsonl",
        "--hidden",
        "4",
        "--epochs",
        "2",
        "--weights",
        "weights.json",
        "--keep-collapsed",
    ]
    (tmp_path / "weights.json").write_text('{"alpha-1": 1, "beta-1": 1, "gamma-1": 2}')
    reports = ["--report", "uda.json", "--report", "uda.html", "--features", "instruction"]
    assert main(["uda", "train", *given, *reports, "-o", "m.safetensors"]) == 0
    assert main(["report", "uda.json", "-o", "again.html"]) == 0

    body = json.loads((tmp_path / "uda.json").read_text())
    assert body["judges"] == list(models)
    assert body["training"]["comparisons"] == 3 * 4 * 6
    assert body["training"]["features"] == ["instruction"]
    assert (body["weighting"], body["weights"]["gamma-1"]) == ("file", 0.5)
    assert min(body["before"]["self_deviation"].values()) > 0
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "uda.html").read_bytes()
    assert "weights in the consensus: alpha-1 0.25, beta-1 0.25, gamma-1 0.50" in capsys.readouterr().out
    assert main(["uda", "apply", "m.safetensors", *given[:3], "--keep-collapsed"]) == 0
    assert main(["uda", "train", *given, "--features", "instructions"]) == 4
    assert main(["uda", "train", *given, "--report", "uda.txt"]) == 4
    assert main(["uda", "train", *given, "--features", "perplexity"]) == 4
    told = capsys.readouterr().err
    assert "--features: expected instruction or perplexity, or both with a comma, got 'instructions'" in told
    assert "--report: expected a name that ends in .html or .json, got 'uda.txt'" in told
    assert "run `calm self-preference --perplexity`" in told


def test_another_embedder_than_the_models_is_refused(saved, files):
    """Vectors of another maker are refused before anything is read."""
    with pytest.raises(ConfigError, match="expected the embedder of the model, 'hashed:4', got --embed='hashed:8'"):
        run("apply", saved[1], files[0], "--embed", "hashed:8")


def test_without_jax_the_error_names_what_to_install():
    """Where JAX is not installed the message names the extra; calm and its command line import all the same."""
    script = (
        "import sys; sys.modules['jax'] = None\n"
        "import calm.commands.cli, calm.plugins.uda.command, calm.plugins.uda.ratings\n"
        "import calm.plugins.uda.ratings, calm.plugins.uda.comparisons\n"
        "from calm.errors import ConfigError\n"
        "try:\n    import calm.plugins.uda.training\nexcept ConfigError as error:\n    print(error)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert install("uda") in done.stdout


def test_importing_calm_imports_no_jax():
    """Neither `import calm` nor its command line loads JAX."""
    script = "import sys, calm.commands.cli, calm.plugins.uda.command"
    script += "\nprint([m for m in ('jax', 'optax') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_what_cannot_be_written_is_told_before_the_training(files, tmp_path, capsys):
    """A folder, and the file of the comparisons, which would be gone; minutes of training would be, too."""
    comparisons, answers = files
    before = comparisons.read_bytes()
    kept, page = tmp_path / "kept", tmp_path / "page.html"
    kept.mkdir()
    page.mkdir()
    given = ("--answers", answers, "-o", comparisons, "--report", page, "--checkpoint", kept)

    with pytest.raises(ConfigError) as raised:
        run("train", comparisons, *given)

    assert raised.value.problems == (
        f"--out: expected a file other than the inputs of the run, got '{comparisons}'; choose another name",
        f"--checkpoint: expected a file to write, got a folder: '{kept}'",
        f"--report: expected a file to write, got a folder: '{page}'",
    )
    assert comparisons.read_bytes() == before
    assert capsys.readouterr().err == ""
