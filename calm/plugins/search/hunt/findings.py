"""What a hunt finds, what is known of it already, and what earlier hunts found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hypothesis.database import DirectoryBasedExampleDatabase

from calm.core.case import digest
from calm.core.reasons import NONE, Reason
from calm.experiment.referee import Flip, Ruling
from calm.plugins.search.hunt.arms import Layer
from calm.plugins.search.hunt.subjects import FRESH, Subject
from calm.strategies.shrinking import Piece, tokens_of

KNOWN: Final = "earlier hunt"
"""Who proposes a text that an earlier hunt found."""


@dataclass(frozen=True)
class Finding:
    """
    The simplest text found that flips the judge.

    `pieces` are what was put into the original, `layers` the edits that it comes from. `ruling` rests on fresh asks
    alone; `low` is a bound for how much more often the answer wins with the text than without, at the shared level.
    `also` are the other cases that the same words flipped in one ask, of `tried`; `second` is the first of them in
    which fresh asks confirm it, too, "" if it was confirmed in its own case alone. `after` is the number of asks of the
    hunt when it was confirmed, `fresh_from` that of the first fresh ask.
    """

    subject: Subject
    pieces: tuple[Piece, ...]
    text: str
    layers: tuple[Layer, ...]
    first: str
    found_by: str
    ruling: Ruling
    low: float
    also: tuple[str, ...] = ()
    tried: int = 0
    second: str = ""
    after: int = 0
    fresh_from: int = FRESH

    @property
    def words(self) -> tuple[str, ...]:
        """The tokens that were added."""
        return tuple(token for piece in self.pieces for token in piece.tokens)

    @property
    def wins(self) -> tuple[int, int]:
        """How many fresh asks the answer won without the text, and with it."""
        blocks = self.ruling.blocks
        return sum(b.first for b in blocks), sum(b.second for b in blocks)

    @property
    def confirmed(self) -> bool:
        """Whether fresh asks prove that the answer wins more often with the text than without."""
        return self.ruling.flip is Flip.YES


@dataclass(frozen=True)
class Hunted:
    """The result of a hunt; `excluded` counts cases that were looked at and not taken in hand, by reason."""

    findings: tuple[Finding, ...]
    subjects: tuple[Subject, ...]
    asks: int
    noise: float
    excluded: Counter[Reason]
    incomplete: Reason = NONE

    @property
    def confirmed(self) -> tuple[Finding, ...]:
        """The findings that fresh asks confirmed, the simplest first."""
        return tuple(one for one in self.findings if one.confirmed)


def weight(pieces: Sequence[Piece], common: Counter[str]) -> tuple[int, int, int]:
    """Return how much a person has to read in some pieces: how many, how many tokens, how rare these are."""
    tokens = [token.strip().lower() for piece in pieces for token in piece.tokens]
    cuts = sum(piece.removes for piece in pieces)
    return len(tokens) + cuts, len(pieces), sum(-common[token] for token in tokens)


@dataclass(frozen=True)
class Known:
    """
    What a hunt found so far, so that it is not found again: what was not confirmed, in its own case alone.

    `spare` are words that say nothing: a text is not the same for them alone, if they did nothing.
    """

    findings: Sequence[Finding]
    spare: frozenset[str]

    def holds(self, subject: Subject, text: str) -> bool:
        """Return whether a text holds what was found already, so that it would be found again."""
        if not self.findings:
            return False
        added = _counted(tokens_of(text)) - _counted(subject.tokens)
        for one in self.findings:
            if not one.confirmed and one.subject is not subject:
                continue
            words = _counted(one.words)
            telling = Counter({word: count for word, count in words.items() if word not in self.spare})
            if not telling and not one.confirmed:  # words that say nothing, and did nothing: only they are known
                continue
            if words and added.total() >= words.total() and telling <= added:
                return True
        return False


def _counted(tokens: Iterable[str]) -> Counter[str]:
    return Counter(token.strip() for token in tokens)


class Memory:
    """
    The texts that hunts confirmed, by case and place, in Hypothesis' example database.

    They are read at the beginning and written at the end, so a hunt that was killed and one that repeats it go the same
    way.
    """

    def __init__(self, folder: Path | None, *, fresh: bool = False) -> None:
        """Keep texts in a folder; None: nothing is known, and nothing is kept. `fresh`: nothing is known."""
        self.kept = None if folder is None else DirectoryBasedExampleDatabase(folder)
        self.fresh = fresh
        self._read: dict[bytes, dict[str, int]] = {}

    def texts(self, subject: Subject) -> list[str]:
        """Return the texts that were found in a case, the shortest first; the same ones as long as this hunt lasts."""
        return sorted(self._times(subject), key=lambda text: (len(text), text))

    def times(self, subject: Subject, text: str) -> int:
        """Return how many earlier hunts confirmed a text: the asks that they took are no fresh ones any more."""
        return self._times(subject).get(text, 0)

    def keep(self, found: Iterable[Finding]) -> None:
        """Keep the texts that fresh asks confirmed."""
        for one in found:
            if self.kept is not None and one.confirmed:
                key, times = _key(one.subject), self.times(one.subject, one.text)
                self.kept.save(key, _value(one.text, times + 1))
                if times:
                    self.kept.delete(key, _value(one.text, times))

    def _times(self, subject: Subject) -> dict[str, int]:
        key = _key(subject)
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


def _key(subject: Subject) -> bytes:
    case = subject.case
    return bytes.fromhex(digest("hunt", subject.setup.judge.task, subject.place.name, case.content(), case.target))
