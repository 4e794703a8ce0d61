"""
The page on starting from a prompt, a log or a metric: its commands are run as they stand there.

Those of a metric of deepeval are run in `tests/slow/adapters`, where deepeval is installed.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from calm.cases import read_files
from calm.commands.cli import main
from tests.docs.pages import DOCS, blocks
from tests.plugins.logs.desk import ITEMS
from tests.servers import wire_server

PAGE = DOCS / "how-to" / "start-from-what-you-have.md"
LOGS = Path(__file__).parents[1] / "plugins" / "logs"
PROMPT, TABLE, RESULTS, LIVE = blocks(PAGE, "sh")[:4]
SMALL = ["--", "-k", "position or consistency or verbosity", "--calm-cache=off"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder, which is the working one, with no key in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def biased(messages, body):
    """Reply as a judge that takes the longer answer, or turns the question round if it is asked for the worse one."""
    prompt = messages[-1][1]
    if "[Submission]" in prompt or "<Output>" in prompt:
        return json.dumps({"reason": "It is long.", "score": int(len(prompt) % 2)})
    first, second = re.findall(r'<answer name="\w">\n(.*?)\n</answer>', prompt, re.DOTALL)
    better = "A" if len(first) > len(second) else "B"
    worse = "B" if better == "A" else "A"
    return f"I compared them. [[{worse if 'is worse' in prompt else better}]]"


def run(lines, more=()):
    """Run the commands of a block, one after the other; `more` is added to the audit. Return their statuses."""
    statuses = []
    for line in lines.splitlines():
        program, *words = shlex.split(line)
        assert program == "calm"
        statuses.append(main([*words, *(more if words[0] == "audit" else [])]))
    return statuses


def written(folder):
    """Write the files that the page shows into a folder, as a person would."""
    for name, body in re.findall(
        r"`([\w.]+)` [^`\n]+:\n\n```\w+\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.M
    ):
        (folder / name).write_text(body, "utf-8")


def test_a_prompt_reaches_a_report_in_two_commands(folder, capsys):
    """A judge that counts letters is red for it, and the twin was made and read the other way round."""
    written(folder)
    with wire_server(biased) as server:
        commands = PROMPT.replace("--model gpt-4.1-mini", f"--model m --base-url {server.url}")

        statuses = run(commands, SMALL)

    results = json.loads((folder / "calm-audit" / "results.json").read_text("utf-8"))
    assert statuses == [0, 1], capsys.readouterr()
    assert (folder / "calm-audit" / "report.html").stat().st_size > 0
    assert "is worse" in (folder / "judge.negative.jinja").read_text("utf-8")
    assert {one["bias"] for one in results["findings"]} >= {"verbosity", "position"}


def test_a_table_of_verdicts_reaches_a_report_without_a_key(folder, capsys):
    """The verdicts are replayed, and held against what people say."""
    written(folder)

    statuses = run(TABLE, ["--", "-k", "consistency or agreement", "--calm-cache=off"])

    results = json.loads((folder / "calm-audit" / "results.json").read_text("utf-8"))
    assert statuses[0] == 0, capsys.readouterr()
    assert (results["judge"]["name"], results["cases"]["n"]) == ("results", 3)


@pytest.mark.parametrize("name", ["promptfoo.json", "deepeval.json"])
def test_results_reach_a_report_in_two_commands_without_a_key(folder, name, capsys):
    """The judge of the log contradicts itself in two of eight cases."""
    shutil.copy(LOGS / name, folder / "results.json")

    statuses = run(RESULTS, ["--", "-k", "consistency or agreement", "--calm-cache=off"])

    results = json.loads((folder / "calm-audit" / "results.json").read_text("utf-8"))
    decided = {one["measure"]: one["n"] for one in results["findings"] if one["outcome"] != "NOT_TESTED"}
    assert statuses == [0, 1], capsys.readouterr()
    assert decided["repeat_distance"] == decided["readable_rate"] == 8


def test_a_log_with_prompts_becomes_a_judge_that_can_be_asked(folder, capsys):
    """Its template shows the prompts of the log, its files are all there, and no call is made without a key."""
    shutil.copy(LOGS / "promptfoo.json", folder / "results.json")

    status = main(shlex.split(LIVE.splitlines()[0])[1:])

    said = capsys.readouterr().out
    assert status == 0
    assert said.endswith("next: calm try live/judge.toml\n")
    assert "{{ fields.rubric }}" in (folder / "live" / "judge.jinja").read_text("utf-8")
    assert {path.name for path in (folder / "live").iterdir()} >= {"recorded.toml", "verdicts.jsonl", "judge.toml"}


def outcomes(folder, spec):
    """Return what an audit of a judge decided, by key."""
    more = ["--", "-k", "consistency or agreement", "--calm-cache=off"]
    assert main(["audit", spec, "--cases", "cases.jsonl", *more]) in (0, 1)
    found = json.loads((folder / "calm-audit" / "results.json").read_text("utf-8"))["findings"]
    shutil.rmtree(folder / "calm-audit")
    return {one["key"]: [one[name] for name in ("outcome", "value", "low", "high", "n")] for one in found}


def test_the_outcomes_are_those_of_the_same_verdicts_written_by_hand(folder):
    """A table that names each case by its answer, typed from what the judge says, decides what the log decides."""
    main(["cases", "import", str(LOGS / "mlflow.jsonl"), "-o", "cases.jsonl"])
    names = {case.answers[0].text: case.id for case in read_files(["cases.jsonl"])}
    rows = [f"{names[i.answer]},{n},{said:g}" for i in ITEMS for n, said in enumerate(i.said, 1)]
    (folder / "hand.csv").write_text("\n".join(["case,repeat,verdict", *rows]), "utf-8")
    (folder / "hand.toml").write_text(
        '[judge]\nname = "correctness"\ntask = "score"\n[recorded]\nfile = "hand.csv"\n'
        "[verdict.scale]\nlow = 0\nhigh = 1\nstep = 1\n",
        "utf-8",
    )

    imported, typed = outcomes(folder, "cases.recorded.toml"), outcomes(folder, "hand.toml")

    assert imported == typed
    assert any(key.startswith("agreement/weighted_kappa") and one[4] == 8 for key, one in imported.items())
