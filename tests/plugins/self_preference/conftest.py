"""Models on a real server that write and judge, their files, and what they wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from calm.cases import bundled
from calm.cases.lines import line
from calm.commands import cli
from tests.servers import Wire, wire_server
from tests.servers.authors import FAMILIES, MARKS, authors_respond

QUESTIONS = 80


@dataclass
class Studio:
    """A folder with questions and a file for each model of a server; `status` is that of the last answering."""

    folder: Path
    server: Wire
    status: int = 0

    @property
    def judges(self) -> list[str]:
        """The models' files."""
        return [str(self.folder / f"{model}.toml") for model in MARKS]

    def calm(self, *arguments: object) -> int:
        """Run a command of `calm` in this process, and return its status."""
        return cli.main([str(a) for a in arguments])

    def answer(self, *options: object) -> Path:
        """Let each model answer, and return the file of answers."""
        out = self.folder / "answers.jsonl"
        cache = self.folder / "cache.sqlite"
        models = f"--with={','.join(self.judges)}"
        files = (self.folder / "cases.jsonl", models, "-o", out, f"--cache-file={cache}")
        self.status = self.calm("answer", *files, *options)
        return out


def judge_file(folder: Path, model: str, server: Wire, task: str) -> Path:
    """Write the judge.toml of a model."""
    path = folder / f"{model}.toml"
    path.write_text(
        f'[judge]\nname = "{model}"\ntask = "{task}"\nfamily = "{FAMILIES[model]}"\n'
        f'[model]\nprovider = "openai"\nmodel = "{model}"\nbase_url = "{server.url}"\nmax_tokens = 512\n'
        "price_usd_per_mtok = { input = 1.0, output = 2.0 }\n",
        "utf-8",
    )
    return path


def questions(folder: Path, count: int = QUESTIONS) -> list:
    """Write some of the bundled rubric cases, whose criteria a program verifies, and return them."""
    cases = [replace(case, variants={}) for case in bundled("rubric")[:count]]
    (folder / "cases.jsonl").write_text("".join(line(case) for case in cases), "utf-8")
    return cases


@pytest.fixture
def studio(tmp_path):
    """Return what makes a studio whose models give verdicts of one task and are fond of themselves to a degree."""
    open_servers = []

    def make(task="rubric-all", count=QUESTIONS, respond=None, **fond):
        cases = questions(tmp_path, count)
        degrees = {name.replace("_", "-"): dose for name, dose in fond.items()}
        context = wire_server(respond or authors_respond(cases, fond=degrees))
        server = context.__enter__()
        open_servers.append(context)
        for model in MARKS:
            judge_file(tmp_path, model, server, task)
        return Studio(tmp_path, server)

    yield make
    for context in open_servers:
        context.__exit__(None, None, None)


def rows(path: Path) -> list[dict]:
    """Return the objects of a JSON Lines file."""
    return [json.loads(text) for text in path.read_text("utf-8").splitlines()]
