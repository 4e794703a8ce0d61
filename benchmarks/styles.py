"""
Run `calm init` and `calm audit` with each prompt in a public style, against a server that replies in this style.

    python -m benchmarks.styles                 # all styles
    python -m benchmarks.styles g-eval ragas    # some

The server is on loopback. It answers with replies of `tests/corpus/styles` that look real and have a verdict, drawn by
the prompt that it is sent. A line says how many keys of judge.toml have to be edited by hand until it reads the style
as tests/corpus/styles/judges does, what share of the replies calm reads, and how many calls it made.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks import reader
from benchmarks.lookahead import environment
from calm.core.case import digest
from tests.servers import Turns, wire_server

SAMPLE: Final = "30"
FIELDS: Final = ("context", "rubric", "evaluation_criteria", "history", "checklist")


def calm(folder: Path, *words: str) -> str:
    """Run a command of calm in a folder; return what it printed."""
    command, env = [sys.executable, "-m", "calm", *words], environment(reader.ROOT)
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}"


def fill(path: Path) -> None:
    """Give the made cases in a file what prompts show beside question, answers and reference: a user's own have it."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    whole = [line | {"fields": {name: f"The {name} of this case." for name in FIELDS}} for line in lines]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in whole), "utf-8")


def read_as(path: Path) -> dict[str, Any]:
    """Return what in a judge.toml says how a reply is read."""
    document = tomllib.loads(path.read_text("utf-8"))
    return {"task": document["judge"]["task"], **document["verdict"], **document.get("labels", {})}


def edits(style: str, path: Path) -> int:
    """Return how many keys of a judge.toml differ from the one that reads the style."""
    written, wanted = read_as(path), read_as(reader.STYLES / "judges" / f"{style}.toml")
    return sum(written.get(key) != wanted.get(key) for key in written.keys() | wanted.keys())


def line(style: str) -> str:
    """Start and audit the judge of a style; return what came of it as the row of a table."""
    replies = [row.reply for row in reader.styled() if row.style == style and row.real and row.verdict is not None]

    def respond(messages: Turns, body: dict[str, object]) -> str:
        return replies[int(digest(style, messages[-1][1]), 16) % len(replies)]

    with TemporaryDirectory() as name, wire_server(respond) as server:
        folder = Path(name)
        prompt = str(reader.STYLES / "prompts" / f"{style}.txt")
        model = ("--model", "tiny", "--base-url", server.url, "--ci", "none")
        said = calm(folder, "init", "--prompt", prompt, *model)
        if not (folder / "judge.toml").exists():
            return f"| {style} | no judge.toml: {said.splitlines()[-1]} | - | - |"
        fill(folder / "cases.jsonl")
        by_hand = edits(style, folder / "judge.toml")
        said = calm(folder, "audit", "judge.toml", "--sample", SAMPLE, "--out", "audit")
        if not (folder / "audit" / "results.json").exists():
            return f"| {style} | {by_hand} | no audit: {said.splitlines()[-1]} | - |"
        results = json.loads((folder / "audit" / "results.json").read_text("utf-8"))
    read = next(one["value"] for one in results["findings"] if one["key"] == "consistency/readable_rate")
    return f"| {style} | {by_hand} | {read:.1%} | {results['run']['calls']['made']} |"


def main() -> None:
    """Measure and print."""
    print("| prompt style | edits by hand | replies read | calls |\n|---|---|---|---|")
    for style in sys.argv[1:] or sorted(path.stem for path in (reader.STYLES / "prompts").glob("*.txt")):
        print(line(style), flush=True)


if __name__ == "__main__":
    main()
