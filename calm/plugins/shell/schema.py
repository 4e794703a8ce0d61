"""`calm schema`: the JSON Schema of a file that people write, for their editor."""

from __future__ import annotations

import argparse
from importlib.resources import files
from typing import Final

from calm.commands import DONE, add_command

KINDS: Final = ("judge", "gate", "case")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `calm schema`."""
    one = add_command(
        commands,
        "schema",
        "Print the JSON Schema of a file, for an editor. Of judge.toml, of gate.toml, or of a case, which is one line "
        "of a case file. An editor with a TOML extension then completes keys and underlines faults, if the first line "
        "of judge.toml is: #:schema judge.schema.json",
        "calm schema judge",
    )
    one.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    one.set_defaults(run=_schema)


def _schema(options: argparse.Namespace) -> int:
    print(files("calm").joinpath("plugins", "shell", "data", f"{options.kind}.schema.json").read_text("utf-8"), end="")
    return DONE
