"""
The subcommands of `calm`: a person starts a run here and reads its result.

There is one module for each noun. Its `register` adds the parsers.
"""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter, _SubParsersAction
from textwrap import fill

DONE, REFUSED, CONFIGURATION = 0, 1, 4
"""Exit statuses of all commands; usage errors exit with 2, as most command lines do."""

JUDGES = "lexical, planted:..., a path to a judge.toml, or package.module:attribute"
"""What the argument JUDGE takes."""
CASES = "a file of cases as JSON Lines (repeatable)"
"""What `--cases` takes."""
REPEATS = "clean asks and perturbed asks of each case (default 2+1)"
"""What `--repeats` takes."""
CACHE = ".calm/cache.sqlite"
"""The file of replies, unless an option names another."""


def add_command(commands: _SubParsersAction[ArgumentParser], name: str, does: str, example: str = "") -> ArgumentParser:
    """
    Add a command and return its parser.

    `does` describes it in plain sentences; the list of commands shows the first one. `example` is a command line.
    """
    first = does.partition(". ")[0].rstrip(".")
    return commands.add_parser(
        name,
        help=f"{first[0].lower()}{first[1:]}",
        description=fill(does, 90),
        epilog=f"example:\n  {example}" if example else None,
        formatter_class=RawDescriptionHelpFormatter,
    )
