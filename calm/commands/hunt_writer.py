"""The writer of `calm hunt --with`: when one is needed, its searches, and what is said of it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from calm.experiment.setup import Setup
    from calm.models.wire import Json
    from calm.studies.hunt import Place, Proposer, Writings
    from calm.studies.writing.writer import Writer

WRITING: Final = ("best-of", "hill-climb", "tree")
"""The searches in which a model writes; importing them here would take `calm --help` a second."""
ANSWER: Final = "answer"
"""The only place that a writer rewrites."""


def add_writer(hunt: argparse.ArgumentParser) -> None:
    """Add `--with`."""
    hunt.add_argument(
        "--with", dest="writer", metavar="WRITER.toml", help=f"who writes: {', '.join(WRITING)}; bandit, if you want"
    )


def misplaced(options: argparse.Namespace, places: Sequence[str]) -> list[str]:
    """Return what is wrong about the writer: there is none where one is needed, or it is of no use."""
    if not options.writer:
        needed = options.search in WRITING
        return [f"--search {options.search}: expected --with WRITER.toml, got none"] if needed else []
    problems = []
    if options.search not in (*WRITING, "bandit"):
        problems.append(f"--with: expected --search bandit, {', '.join(WRITING)} with it, got {options.search}")
    if ANSWER not in places or (options.search in WRITING and len(places) > 1):
        alone = f" alone for --search {options.search}" if options.search in WRITING else ""
        problems.append(f"--with: expected --where {ANSWER}{alone}, which a writer rewrites, got {options.where}")
    return problems


@dataclass(frozen=True)
class Pen:
    """The writer of a hunt, None if it has none, and what it wrote."""

    writer: Writer | None
    writings: Writings

    def searches(self, setup: Setup, place: Place) -> Sequence[Proposer]:
        """Return the searches of the writer; none for a place that it does not rewrite."""
        from calm.studies.hunt import writers_for

        return writers_for(self.writer, setup, self.writings) if self.writer and place.name == ANSWER else ()

    def __str__(self) -> str:
        return f"{self.writer.name} wrote {self.writings}\n" if self.writer else ""

    def record(self) -> dict[str, Json]:
        """Return what a record of the hunt says of it."""
        return {"writer": {"name": self.writer.name, **self.writings.to_json()}} if self.writer else {}


def pen_of(options: argparse.Namespace) -> Pen:
    """
    Return the writer that the options name.

    Raises:
        ConfigError: its file cannot be read.
    """
    from calm.studies.hunt import Writings
    from calm.studies.writing.writer import read_author

    return Pen(read_author(Path(options.writer), os.environ) if options.writer else None, Writings())
