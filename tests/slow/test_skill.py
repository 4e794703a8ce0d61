"""
Each command of the skill for coding agents runs word for word, in its order, on a prompt and a table of one's own.

The model is a server on loopback. The judge that it plays is sound but for the words of edits on equal answers.
"""

import csv
import os
import re
import shlex
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from rapidfuzz import fuzz

from calm.cases import bundled
from tests.servers import wire_server

ROOT = Path(__file__).parents[2]
SKILL = files("calm").joinpath("plugins", "agents", "data", "SKILL.md").read_text("utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", SKILL, re.DOTALL)
COMMANDS = [line.strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
TURNED = {"A": "B", "B": "A", "C": "C"}
DECIDE = ("audit", "accept", "plan")
"""They end with 1 where something is not proven, or a budget does not suffice."""
PROMPT = """Which answer helps the customer more?

Question: {question}

<answer name="A">
{response_a}
</answer>
<answer name="B">
{response_b}
</answer>

Say which answer is better. End with [[A]] if A is better, with [[B]] if B is better, and with [[C]] if neither is.
"""
SHOWN = re.compile(r'<answer name="[AB]">\n(.*?)\n</answer>', re.DOTALL)


def test_each_command_of_the_skill_runs_word_for_word(tmp_path, subtests):
    """In the order of the steps; each leaves what the next one names."""
    cases = bundled("pairwise")[:60]
    (tmp_path / "prompt.txt").write_text(PROMPT)
    with (tmp_path / "cases.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["question", "answer_a", "answer_b", "winner"])
        for number, case in enumerate(cases):
            shown = case.answers[:: -1 if number % 2 else 1]
            table.writerow([case.question, *(one.text for one in shown), "ab"[shown[1].id == case.better]])
    known = {case.question: case for case in cases}
    env = {name: value for name, value in os.environ.items() if not name.endswith("_KEY")}
    env["PYTHONPATH"] = str(ROOT)

    def respond(messages, body):
        prompt = messages[-1][1]
        case = next((case for question, case in known.items() if question in prompt), None)
        shown = SHOWN.findall(prompt)
        if case is None or len(shown) != 2:
            return "[[C]]"
        (good,) = [one.text for one in case.answers if one.id == case.better]
        first, second = (fuzz.ratio(text, good) for text in shown)
        better = "C" if first == second else "BA"[first > second]
        return f"[[{TURNED[better] if 'worse' in prompt else better}]]"

    with wire_server(respond) as wire:
        for command in COMMANDS:
            name = shlex.split(command)[1]
            words = [sys.executable, "-m", *shlex.split(command)]
            done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
            with subtests.test(command):
                assert done.returncode in ((0, 1) if name in DECIDE else (0,)), done.stdout + done.stderr
                assert "Traceback" not in done.stderr
            if name == "init":
                judge = tmp_path / "judge.toml"
                judge.write_text(judge.read_text().replace("[model]\n", f'[model]\nbase_url = "{wire.url}"\n'))
                env["OPENAI_API_KEY"] = "sk-test-0123456789abcdefghijkl"

    assert len(COMMANDS) == 9
    assert {"summary.md", "report.html", "results.json"} <= {path.name for path in (tmp_path / "calm-audit").iterdir()}
    assert (tmp_path / "comment.md").is_file()
