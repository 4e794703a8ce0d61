"""
Run `calm init` and `calm audit` on each prompt in the style of a public one, against a server that replies in its style.

    python -m benchmarks.styles                 # all styles
    python -m benchmarks.styles g-eval ragas    # some

The server is on loopback. It answers with replies of `tests/corpus/styles` that look real and have a verdict, drawn by
the prompt that it is sent. A line says how many keys of judge.toml have to be edited by hand for the file that reads
the style, what share of the replies calm reads, and how many calls it made.
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

CASES: Final = 30
FIELDS: Final = ("context", "rubric", "criteria", "RUBRIC", "EVALUATION_CRITERIA", "history", "checklist")
"""Texts that prompts show beside question, answers and reference: a user's own cases have them."""


def calm(folder: Path, *words: str) -> int:
    """Run a command of calm in a folder; return its exit status."""
    command = [sys.executable, "-m", "calm", *words]
    return subprocess.run(
        command, cwd=folder, env=environment(reader.ROOT), capture_output=True, check=False
    ).returncode


def cases_of(style: str, folder: Path) -> str:
    """Write made cases of the style's task with all that prompts show; return the name of the file."""
    calm(folder, "cases", "generate", "--task", reader.judge(style).task, "--count", str(CASES), "-o", "made.jsonl")
    lines = map(json.loads, (folder / "made.jsonl").read_text("utf-8").splitlines())
    whole = [
        {**line, "label": None, "fields": {name: f"The {name} of this case." for name in FIELDS}} for line in lines
    ]
    (folder / "own.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in whole), "utf-8")
    return "own.jsonl"


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
        calm(folder, "init", "--prompt", prompt, "--cases", cases_of(style, folder), *model)
        if not (folder / "judge.toml").exists():
            return f"| {style} | no judge.toml | - | - |"
        by_hand = edits(style, folder / "judge.toml")
        calm(folder, "audit", "judge.toml", "--out", "audit")
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
