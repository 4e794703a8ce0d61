"""What earlier hunts found, in Hypothesis' example database: a second hunt begins with it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hypothesis.database import DirectoryBasedExampleDatabase

from calm.core.case import digest
from calm.studies.hunt.quarry import Quarry

KNOWN: Final = "earlier hunt"
"""Who proposes a text that an earlier hunt found."""


class Memory:
    """
    The texts that hunts confirmed, by case and place. They are read at the beginning and written at the end, so a hunt
    that was killed and one that repeats it go the same way.
    """

    def __init__(self, folder: Path | None) -> None:
        """Keep texts in a folder; None: nothing is known, and nothing is kept."""
        self.kept = None if folder is None else DirectoryBasedExampleDatabase(folder)

    def texts(self, quarry: Quarry) -> list[str]:
        """Return the texts that were found in a case, the shortest first."""
        if self.kept is None:
            return []
        found = [value.decode("utf-8", "replace") for value in self.kept.fetch(_key(quarry))]
        return sorted(found, key=lambda text: (len(text), text))

    def keep(self, found: Iterable[tuple[Quarry, str]]) -> None:
        """Keep texts that fresh asks confirmed, each with its case."""
        for quarry, text in found:
            if self.kept is not None:
                self.kept.save(_key(quarry), text.encode("utf-8", "replace"))


def _key(quarry: Quarry) -> bytes:
    case = quarry.aim.case
    return bytes.fromhex(digest("hunt", quarry.setup.judge.task, quarry.place.name, case.content(), case.target))
