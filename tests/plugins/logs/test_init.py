"""`calm init` on a log of another tool: a judge that is asked and one that replays; on runs of an agent: cases."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calm import ConfigError
from calm.cases import read_files
from calm.commands import DONE, cli
from calm.gate.from_spec import judge_from
from tests.commands.test_init import RUN, folder, run, there

__all__ = ["folder"]
LOGS = Path(__file__).parent


def test_a_log_gives_a_judge_that_is_asked_and_one_that_replays(folder, capsys):
    """Both read the same cases; the model and how a reply is read come from the log."""
    assert run("--log", LOGS / "mlflow.jsonl") == DONE

    live, replay = judge_from("judge.toml", {"OPENAI_API_KEY": "k"}), judge_from("recorded.toml")
    assert live.endpoints[0].model == "planted-judge"
    assert replay.traits.recorded is not None
    assert "reads 16 of 16 replies of the log" in capsys.readouterr().out
    assert json.loads((folder / "verdicts.jsonl").read_text("utf-8").splitlines()[0])["prompt"][0]["role"] == "user"


def test_a_log_that_is_not_there_is_named(folder):
    """And nothing is written."""
    with pytest.raises(ConfigError, match="missing: there is no such file"):
        run("--log", "missing")

    assert there(folder) == set()


def test_runs_of_an_agent_are_cases_and_the_prompt_shows_them(folder, capsys):
    """They need no import before; their truth values are ends of the prompt's scale, and the prompt shows all parts."""
    (folder / "agent.jsonl").write_text(json.dumps({"messages": RUN, "success": True}) + "\n", "utf-8")

    assert run("--cases", "agent.jsonl", "--task", "score") == DONE

    [case] = read_files(["cases.jsonl"])
    assert [step.tool for step in case.answers[0].steps] == ["cancel_order"]
    assert list(case.scores.values()) == [5]
    template = (folder / "judge.jinja").read_text("utf-8")
    assert "answer.steps" in template
    assert "in turns" in template


def test_runs_of_an_agent_are_no_log_of_verdicts(folder, capsys):
    """They are what is to be judged, so the option for cases is named."""
    (folder / "agent.jsonl").write_text(json.dumps({"messages": RUN, "score": 8}) + "\n", "utf-8")

    with pytest.raises(ConfigError, match=r"holds runs of an agent.*--cases agent.jsonl"):
        run("--log", "agent.jsonl")

    assert there(folder) == {"agent.jsonl"}


@pytest.mark.parametrize(("name", "why"), [("deepeval.json", "holds no prompt"), ("otel.jsonl", "shows 4 of 16")])
def test_a_log_whose_prompt_is_not_found_gives_no_judge_that_is_asked(folder, name, why, capsys):
    """It says why, and what to do; the recorded one is there and answers."""
    shutil.copy(LOGS / name, folder)

    assert run("--log", name, "--dir", "made") == DONE

    assert there(folder / "made") == {"cases.jsonl", "verdicts.jsonl", "recorded.toml", "gate.toml"}
    said = capsys.readouterr().out
    assert why in said
    assert said.endswith("next: calm audit made/recorded.toml\n")


IMPORT = ["cases", "import", "-o", "cases.jsonl"]


@pytest.mark.parametrize(
    ("command", "after"), [(IMPORT, 0), (IMPORT, 1), (IMPORT, 2), (["init", "--ci", "none", "--log"], 1)]
)
def test_a_judge_never_stands_beside_files_of_another_log(folder, command, after):
    """A command that is killed before it puts a file in place leaves no judge; the next one writes the whole set."""
    shutil.copy(LOGS / "deepeval.json", folder / "old.json")
    shutil.copy(LOGS / "mlflow.jsonl", folder / "new.jsonl")
    assert cli.main([*command, "old.json"]) == DONE
    old = {path.name: path.read_bytes() for path in folder.glob("*recorded.toml")}
    killer = (
        "import os, sys; from calm.commands import cli; put = []; "
        f"hook = lambda event, _: event == 'os.rename' and (len(put) == {after} and os._exit(9) or put.append(1)); "
        "sys.addaudithook(hook); cli.main(sys.argv[1:])"
    )

    killed = subprocess.run([sys.executable, "-B", "-c", killer, *command, "new.jsonl", "--force"], check=False)

    [judge] = old
    assert killed.returncode == 9
    assert not (folder / judge).exists()
    assert cli.main([*command, "new.jsonl", "--force"]) == DONE
    made = judge_from(judge)
    made.traits.recorded.recall(read_files(["cases.jsonl"]))
    assert (folder / judge).read_bytes() != old[judge]
