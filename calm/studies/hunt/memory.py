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

    def __init__(self, folder: Path | None, *, fresh: bool = False) -> None:
        """Keep texts in a folder; None: nothing is known, and nothing is kept. `fresh`: nothing is known."""
        self.kept = None if folder is None else DirectoryBasedExampleDatabase(folder)
        self.fresh = fresh
        self._read: dict[bytes, dict[str, int]] = {}

    def texts(self, quarry: Quarry) -> list[str]:
        """Return the texts that were found in a case, the shortest first; the same ones as long as this hunt lasts."""
        return sorted(self._times(quarry), key=lambda text: (len(text), text))

    def times(self, quarry: Quarry, text: str) -> int:
        """Return how many earlier hunts confirmed a text: the asks that they took are no fresh ones any more."""
        return self._times(quarry).get(text, 0)

    def keep(self, found: Iterable[tuple[Quarry, str]]) -> None:
        """Keep texts that fresh asks confirmed, each with its case."""
        for quarry, text in found:
            if self.kept is not None:
                key, times = _key(quarry), self.times(quarry, text)
                self.kept.save(key, _value(text, times + 1))
                if times:
                    self.kept.delete(key, _value(text, times))

    def _times(self, quarry: Quarry) -> dict[str, int]:
        key = _key(quarry)
        if self.kept is None or self.fresh:
            return {}
        if key not in self._read:
            found: dict[str, int] = {}
            for value in self.kept.fetch(key):
                times, _, text = value.decode("utf-8", "surrogatepass").partition(" ")
                if times.isdecimal():
                    found[text] = max(int(times), found.get(text, 0))
            self._read[key] = found
        return self._read[key]


def _value(text: str, times: int) -> bytes:
    return f"{times} {text}".encode("utf-8", "surrogatepass")


def _key(quarry: Quarry) -> bytes:
    case = quarry.aim.case
    return bytes.fromhex(digest("hunt", quarry.setup.judge.task, quarry.place.name, case.content(), case.target))
