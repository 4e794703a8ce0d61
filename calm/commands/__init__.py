"""
The subcommands of `calm`: a person starts a run here and reads its result.

There is one module for each noun. Its `register` adds the parsers.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter, _SubParsersAction
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calm.engine.database import RecordAddress

DONE, REFUSED, CONFIGURATION = 0, 1, 4
"""Exit statuses of all commands; usage errors exit with 2, as most command lines do."""
NOTHING, INTERRUPTED = 5, 130
"""Exit statuses of a gate of which no test was selected, and of a command that a signal ended."""

JUDGES = "lexical, planted:..., a path to a judge.toml, package.module:attribute, or TOOL:package.module:name"
"""What the argument JUDGE takes."""
CASES = "a file of cases as JSON Lines (repeatable)"
"""What `--cases` takes."""
REPEATS = "clean asks and perturbed asks of each case (default 2+1)"
"""What `--repeats` takes."""
APART = tuple(word for name in ("asyncio", "deepeval", "langsmith_plugin") for word in ("-p", f"no:{name}"))
"""Options of a pytest that a command starts: plugins of other tools stay out, as they print, and some send reports."""
_WIDEST = 90
"""The description of a command has lines of at most so many columns, and never more than the terminal."""
CACHE = ".calm/cache.sqlite"
"""The file of replies, unless an option names another."""


def add_cache(parser: ArgumentParser, what: str = "where replies are kept") -> None:
    """Add the options that name a cache: a file, or a server."""
    parser.add_argument("--cache-file", metavar="FILE", help=f"{what} (default {CACHE})")
    parser.add_argument(
        "--cache-url",
        metavar="URL",
        help="the same on a PostgreSQL server: postgresql://user@host/database; its password comes from PGPASSWORD or "
        "~/.pgpass, or the whole URL from CALM_CACHE_URL",
    )


def add_votes(parser: ArgumentParser) -> None:
    """Add the option that says what the gold of several votes, or labels, is."""
    from calm.core.annotations import VOTES

    parser.add_argument(
        "--votes",
        choices=VOTES,
        metavar="RULE",
        help="what several votes on a pair, or labels of a case, make: majority (gold is what more than half say; "
        "default), plurality (what more say than anything else), or each (every one is a label by itself)",
    )


def cache_of(options: Namespace) -> Path | RecordAddress:
    """
    Return the cache that the options of a command name, or the environment.

    Raises:
        ConfigError: both options are given, or what is no URL.
    """
    from calm.engine.places import place

    return place(options.cache_file, options.cache_url, os.environ, option="--cache-url", usual=CACHE)


def cache_files(options: Namespace) -> list[Path]:
    """Return the files of this machine that the cache of a command is. Raises `ConfigError` as `cache_of` does."""
    from calm.engine.places import files

    return files(cache_of(options))


def add_command(commands: _SubParsersAction[ArgumentParser], name: str, does: str, example: str = "") -> ArgumentParser:
    """
    Add a command and return its parser.

    `does` describes it in plain sentences; the list of commands shows the first one. `example` is a command line.
    """
    first = does.partition(". ")[0].rstrip(".")
    return commands.add_parser(
        name,
        help=f"{first[0].lower()}{first[1:]}",
        description=fill(does, min(_WIDEST, get_terminal_size().columns)),
        epilog=f"example:\n  {example}" if example else None,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
