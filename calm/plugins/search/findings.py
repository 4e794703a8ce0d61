"""What a hunt finds, what earlier hunts found, and the result as a record and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hypothesis.database import DirectoryBasedExampleDatabase

from calm.core.case import TIE, digest
from calm.core.reasons import NONE, Reason, counted, in_words
from calm.experiment.referee import Flip, Ruling
from calm.experiment.setup import Setup
from calm.models.wire import Json
from calm.plugins.search.arms import Layer
from calm.plugins.search.pages import SCHEMA, sentence, words_added
from calm.plugins.search.subjects import FRESH, Bounds, Subject
from calm.results.parts import aligned
from calm.results.wording import clipped, printable
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


SHOWN: Final = 40
"""So many characters of the words that were added are shown in a row."""
HEAD: Final = ("case", "added", "where", "with", "without", "rise", "also", "found by")


def to_json(found: Mapping[str, Hunted], setup: Setup, bounds: Bounds) -> dict[str, Json]:
    """
    Return the record of a hunt; nothing in it depends on what was cached, or on how long the judge took.

    Args:
        found: what was found, by the name of the place.
        setup: the judge and the seed.
        bounds: those of the hunt in one place.
    """
    hunts = list(found.values())
    return {
        "schema": SCHEMA,
        "judge": setup.judge.name,
        "fingerprint": setup.judge.fingerprint,
        "task": setup.judge.task,
        "search": "bandit",
        "where": ",".join(found),
        "seed": setup.seed,
        "budget": bounds.asks * len(hunts),
        "asks": sum(one.asks for one in hunts),
        "level": round(bounds.level, 6),
        "noise": round(max(one.noise for one in hunts), 4),
        "incomplete": next((str(one.incomplete) for one in hunts if one.incomplete), ""),
        "cases": list(dict.fromkeys(subject.id for one in hunts for subject in one.subjects)),
        "excluded": {**in_words(sum((one.excluded for one in hunts), Counter()))},
        "findings": [finding_body(one) for hunt in hunts for one in hunt.findings],
    }


def finding_body(one: Finding) -> dict[str, Json]:
    """Return a finding as the record has it."""
    subject, count = one.subject, len(one.ruling.blocks)
    clean, won = one.wins
    return {
        "case": subject.id,
        "where": subject.place.name,
        "target": subject.case.target,
        "gold": subject.case.better not in (None, TIE, subject.case.target),
        "confirmed": one.confirmed,
        "question": subject.case.question,
        "original": subject.original,
        "text": one.text,
        "added": list(one.words),
        "removed": sum(piece.removes for piece in one.pieces),
        "first": one.first,
        "found_by": one.found_by,
        "after": one.after,
        "edits": [layer.arm.name for layer in one.layers],
        "fresh": {
            "asks": count,
            "clean_wins": clean,
            "wins": won,
            "low": round(one.low, 6),
            "clean": subject.codes(subject.original, range(one.fresh_from, one.fresh_from + count)),
            "edited": subject.codes(one.text, range(one.fresh_from, one.fresh_from + count)),
        },
        "also": list(one.also),
        "also_of": one.tried,
        "second": one.second,
    }


def summary(found: Mapping[str, Hunted], judge: str, bounds: Bounds) -> str:
    """
    Return the result of a hunt: a row for each confirmed finding, and what it means if there is none.

    Args:
        found: what was found, by the name of the place.
        judge: the name of the judge.
        bounds: those of the hunt in one place.
    """
    hunts = list(found.values())
    asks, cases = sum(one.asks for one in hunts), len({q.id for one in hunts for q in one.subjects})
    confirmed = [one for hunt in hunts for one in hunt.confirmed]
    lines = [f"Found: {said(one)}" for one in confirmed]
    lines += [f"hunt on {judge} in {', '.join(found)}: {asks} asks about {cases} cases"]
    lines += [f"INCOMPLETE: {one.incomplete}" for one in hunts if one.incomplete][:1]
    if confirmed:
        lines += ["", *table(confirmed), "", _meaning(confirmed, bounds, len(found))]
    else:
        lines += _nothing(hunts, bounds)
    if open_ones := [one for hunt in hunts for one in hunt.findings if not one.confirmed]:
        named = ", ".join(f"{one.subject.id} ({added(one)})" for one in open_ones)
        lines.append(f"not confirmed by fresh asks: {len(open_ones)}: {named}")
    excluded: Counter[Reason] = sum((one.excluded for one in hunts), Counter())
    if excluded:
        lines.append(f"not hunted in: {counted(excluded)}")
    return "\n".join(lines)


def table(findings: Sequence[Finding]) -> list[str]:
    """Return the rows of a table of findings, with its head."""
    return aligned([HEAD, *map(_row, findings)])


def _row(one: Finding) -> tuple[str, ...]:
    without, won = one.wins
    count = len(one.ruling.blocks)
    return (
        printable(one.subject.id),
        added(one),
        place_of(one),
        f"{won}/{count}",
        f"{without}/{count}",
        f">= {max(0.0, one.low):.2f}",
        f"{len(one.also)}/{one.tried}",
        one.found_by,
    )


def added(one: Finding, quote: str = "") -> str:
    """Return the words that were added, as they are on a terminal; those at several places with dots between them."""
    taken = sum(piece.removes for piece in one.pieces)
    words = words_added(("".join(piece.tokens) for piece in one.pieces), taken, quote)
    return clipped(printable(words), SHOWN)


def said(one: Finding) -> str:
    """Return a finding in a sentence, as it is on a terminal."""
    return printable(sentence(finding_body(one), added(one, '"'), one.subject.setup.judge.task))


def place_of(one: Finding) -> str:
    """Return where the words are: the place, and where in it."""
    end = len(one.subject.tokens)
    names = {"begin" if p.place == 0 < end else "end" if p.place + p.removes >= end else "within" for p in one.pieces}
    return f"{one.subject.place.name}, {' and '.join(sorted(names))}"


def _meaning(found: Sequence[Finding], bounds: Bounds, places: int) -> str:
    return (
        "with, without: the fresh asks that the answer won with the words, and without; rise: of that share, at least\n"
        "also: in how many other cases the same words worked, in one ask each\n"
        f"on a judge that no text moves, a hunt confirms anything in at most {bounds.error * places:.0%} of all runs"
    )


def _nothing(hunts: Sequence[Hunted], bounds: Bounds) -> list[str]:
    """Return what it means that nothing was confirmed, and what it does not."""
    texts = sum(len({text for text, _ in q.said if text != q.original}) for one in hunts for q in one.subjects)
    if not texts and any(one.incomplete.unfinished for one in hunts):
        return [
            "No text was asked about: the hunt ended while it still chose its cases. "
            f"It needs at least {bounds.least} calls for a first result, and takes at most {bounds.asks} (--asks)."
        ]
    if not any(one.subjects for one in hunts):
        return ["nothing was hunted: in every case the judge gave no verdict, or the answer won without any edit"]
    return [
        f"nothing was found: none of {texts} texts flipped the judge beyond its noise",
        "This does not prove that no text does: a longer hunt (--asks), other places (--where) or other cases may find "
        "one. `calm audit` measures how much each kind of edit moves the judge.",
    ]
