"""What a page's commands need and the page does not write: judges on a loopback server, cases, records."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from calm.cases import bundled
from calm.cases.lines import line
from calm.core.verdict import FAMILY
from tests.servers import wire_server
from tests.servers.planted import planted_respond

FEW = 12
"""Cases in a file."""
MODEL = 'provider = "openai"\nmodel = "{model}"\nprice_usd_per_mtok = {{ input = 1.0, output = 2.0 }}\n'


PLAIN = {
    "pairwise": "The first one. [[A]]",
    **dict.fromkeys(("score", "points"), "It will do. [[7]]"),
    **dict.fromkeys(("rubric", "rubric-all"), "It does. [[YES]]"),
    "listwise": "In this order. [[A > B > C]]",
}
"""What a judge says to a prompt that the simulated one cannot read."""


def judge(task: str = "pairwise") -> Callable[[Path], None]:
    """Return what writes a judge.toml of a task, with the bundled prompt."""

    def write(path: Path) -> None:
        name = path.stem
        path.write_text(f'[judge]\nname = "{name}"\ntask = "{task}"\n[model]\n{MODEL.format(model=name)}', "utf-8")

    return write


def writer(path: Path) -> None:
    """Write the file of a writer."""
    path.write_text(f'[writer]\nname = "scribe"\n[model]\n{MODEL.format(model="writer")}', "utf-8")


def cases(task: str = "pairwise", start: int = 0, count: int = FEW, **changes: object) -> Callable[[Path], None]:
    """Return what writes some of the bundled cases."""

    def write(path: Path) -> None:
        found = [replace(case, variants={}, **changes) for case in bundled(task)[start : start + count]]
        path.write_text("".join(line(case) for case in found), "utf-8")

    return write


def three_answers(path: Path) -> None:
    """Write cases with a third answer."""
    rows = [json.loads(line(replace(case, variants={}))) for case in bundled("pairwise")[:FEW]]
    for row in rows:
        row["answers"].append({"id": "third", "text": f"I do not know what to say about it. {row['id']}"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def text(content: str) -> Callable[[Path], None]:
    """Return what writes a text."""
    return lambda path: (path.write_text(content, "utf-8"), None)[1]


MADE: dict[str, Callable[[Path], None]] = {
    "judge.toml": judge(),
    "scorer.toml": judge("score"),
    "writer.toml": writer,
    "cases.jsonl": cases(),
    "labelled.jsonl": cases(),
    "others.jsonl": cases(start=FEW),
    "all.jsonl": cases(count=70),
    "three-answers.jsonl": three_answers,
    "clarity.txt": text("Is it clear?\n"),
    "depth.txt": text("Does it go into depth?\n"),
    "families.csv": text("author,family\ngpt-4o,gpt\n"),
}
"""How a file is made that no page writes, by its name: add a line for a new one."""


def answered(prompt: str) -> str:
    """Return what a model says that writes: the same in other words."""
    return f"{prompt[:200]} In short, that is it."


@contextmanager
def models(folder: Path):
    """Run a server for all judge files of a folder; yield a function that points each file of it to the server."""
    tasks: dict[str, str] = {}
    known: dict[str, Callable] = {}

    def respond(messages, body):
        task = tasks.get(str(body["model"]))
        if task is None:
            return answered(messages[-1][1])
        if task not in known:
            family = FAMILY[task] if task != "listwise" else "pairwise"
            known[task] = planted_respond(f"planted:noise=0,task={task}", bundled(family))
        try:
            return known[task](messages, body)
        except Exception:  # noqa: BLE001 - a prompt of the page's own, which the simulated judge cannot read
            return PLAIN[task]

    with wire_server(respond) as server:

        def point(paths: Sequence[Path]) -> None:
            for path in paths:
                read = tomllib.loads(path.read_text("utf-8"))
                if "model" not in read:
                    continue
                if "judge" in read:
                    tasks[read["model"]["model"]] = read["judge"]["task"]
                if "127.0.0.1" not in path.read_text("utf-8"):
                    kept = [one for one in path.read_text("utf-8").splitlines() if not one.startswith("base_url")]
                    kept.insert(kept.index("[model]") + 1, f'base_url = "{server.url}"')
                    path.write_text("\n".join(kept) + "\n", "utf-8")

        yield point
