"""The files of `calm init`: what stands in each, and whether they can be used together."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from calm.errors import ConfigError
from calm.results.outputs import Form

STARTERS: Final = ("pairwise", "score", "rubric")
"""Tasks that have a template to start from; the others use the bundled prompt."""
_PART: Final = re.compile(r"\{# (turns|context|steps) #\}\n")
WRITTEN: Final = Form("a file of `calm init`", ("",), forcible=True)
GATE: Final = """\
# What the owners of the judge accept, each with a reason and a last day. An entry that has expired is an error.
#
# [[limit]]                       # another limit for a claim
# key = "verbosity/gain"
# limit = 0.20
# reason = "long answers are wanted here"
# expires = 2030-01-31
#
# [[waive]]                       # a claim that may fail until then
# [[not_tested]]                  # something that need not be tested
"""


def starter(task: str, *, negative: bool = False, parts: Collection[str] = ()) -> str:
    """Return the template to start from, or its twin; it shows turns, context and steps where cases have such parts."""
    text = _start(f"{task}.negative.jinja" if negative else f"{task}.jinja")
    return _PART.sub(lambda found: _start(f"part.{found[1]}.jinja") if found[1] in parts else "", text)


def _start(name: str) -> str:
    return files("calm").joinpath("judges", "data", "start", name).read_text("utf-8")


def check(written: Mapping[str, str], judge: str, *, filled: bool = True) -> str | None:
    """
    Read the judge and its cases in a folder of their own, before anything is put in place.

    Cases that are not `filled` lack what the prompt shows, which a person is to add.

    Returns the variable that holds its key; None if it needs none.

    Raises:
        ConfigError: what they say cannot be used together; the messages name the files as they will be called.
    """
    from calm.cases import read_files
    from calm.experiment.showing import refuse_unshowable
    from calm.gate.from_spec import recall
    from calm.judges.judgefile import read_judge
    from calm.models.server import APIS, Server

    with TemporaryDirectory(prefix="calm-init-") as stage:
        place = Path(stage)
        for name, text in written.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, "utf-8")
        try:
            made = read_judge(place / judge, {}, keyless=True)
            cases = read_files([str(place / "cases.jsonl")], task=made.task)
            recall(made, cases)
            if filled:
                refuse_unshowable(made, cases)
        except ConfigError as error:
            raise ConfigError([problem.replace(f"{stage}/", "") for problem in error.problems]) from error
    for server in made.endpoints:
        if isinstance(server, Server):
            return server.api_key_env or (APIS[server.provider].key_name if server.own else None)
    return None
