"""
Searches of a hunt in which a model writes.

| search | what it proposes |
|---|---|
| `best-of` | a rewrite of the answer, each by itself |
| `hill-climb` | a rewrite of the best draft so far; the writer gets the judge's verdict on that |
| `tree` | a tree of attacks with pruning: several rewrites of each of the best drafts, of which the best are kept |

The writer sees what it sees in an attack (`calm.studies.attack.writers`), and its texts keep the same rules. Its calls
count against the caps of a run as all calls do, and not against the asks of a hunt, which are asks of the judge;
`Writings` counts them. A text that may not be used costs no ask.

Each text has a repeat index of its own, and all is written in an order that the hunt's seed decides. So a hunt that is
repeated finds its texts in the cache.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from math import fsum
from typing import Final

from calm.core.reasons import Reason, in_words, reason_of
from calm.core.verdict import NoReply
from calm.experiment.referee import Flip
from calm.experiment.setup import Setup
from calm.models.wire import Json, Request
from calm.studies.attack import writers as attacking
from calm.studies.hunt.proposers import WRITING, Proposer, Try
from calm.studies.hunt.quarry import Quarry, Said
from calm.studies.writing.writer import Writer

BRANCHES: Final = 4
"""Rewrites of one draft in a tree (Mehrotra et al. 2023, arXiv:2312.02119: b = 4). `best-of` writes as many ahead."""
WIDTH: Final = 10
"""Drafts of a tree that are kept in a round (there: w = 10)."""
DEPTH: Final = 10
"""Rounds of a tree, after which it begins anew (there: d = 10)."""
UNUSABLE: Final = 12
"""After so many texts in a row that may not be used, a writer proposes nothing more in a case."""
APART: Final = 1_000_000
"""The repeat indices of one search are so far from those of the next."""


@dataclass
class Writings:
    """What a writer was asked for: texts that it wrote, those of them that were not used, and calls that failed."""

    written: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failed: Counter[Reason] = field(default_factory=Counter)

    def __str__(self) -> str:
        said = [f"{self.written} text{'s' * (self.written != 1)}"]
        for title, counts in (("refused", self.refused), ("failed", in_words(self.failed))):
            some = ", ".join(f"{why} {count}" for why, count in sorted(counts.items()))
            said += [f"{title}: {some}"] if some else []
        return "; ".join(said)

    def to_json(self) -> dict[str, Json]:
        """Return the record."""
        return {
            "written": self.written,
            "refused": dict(sorted(self.refused.items())),
            "failed": {**in_words(self.failed)},
        }


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that the judge saw, the mean favour of its asks, and what the judge said of it, in words."""

    text: str = ""
    favour: float = 0.0
    verdict: str = ""

    @property
    def told(self) -> Mapping[str, str]:
        """What a writer is shown of it."""
        return {"draft": self.text, "verdict": self.verdict}


UNWRITTEN: Final = Draft()
"""No draft: the writer begins with the answer itself."""


@dataclass(eq=False)
class _Desk:
    """
    What was written in one case, and what the judge said of it.

    `waits` counts texts proposed without a verdict yet, `poor` unusable ones in a row. `best` is the draft of a hill
    climb; `grown` are the drafts of the present round of a tree, `depth` its number.
    """

    quarry: Quarry
    ready: deque[str] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    number: int = 0
    poor: int = 0
    waits: int = 0
    closed: bool = False
    best: Draft = UNWRITTEN
    grown: list[Draft] = field(default_factory=list)
    depth: int = 0


class _Written:
    """A writer's texts: those of all cases that have none left are written together."""

    name = ""

    def __init__(self, writer: Writer, setup: Setup, writings: Writings) -> None:
        self.writer, self.setup, self.writings = writer, setup, writings
        self.desks: dict[Quarry, _Desk] = {}

    def propose(self, quarry: Quarry) -> Try | None:
        """Return the next text for a quarry; None where the writer has none, or waits for what the judge says."""
        desk = self.desks.setdefault(quarry, _Desk(quarry))
        while self._wants(desk):
            self._write([one for one in self.desks.values() if self._wants(one)])
        if not desk.ready:
            return None
        desk.waits += 1
        return Try(quarry, desk.ready.popleft(), (), self.name)

    def told(self, one: Try, reward: float) -> None:
        """Learn what came of a text: a draft to go on from, unless it flipped the judge or was not asked about."""
        desk = self.desks[one.quarry]
        desk.waits -= 1
        said = _said(one.quarry, one.text)
        flipped = one.quarry.rulings.get(one.text) is Flip.YES
        self.learn(desk, None if flipped or not said else self._draft(one, said))

    def waits(self, desk: _Desk) -> bool:
        """Return whether nothing can be written before the judge has seen what was."""
        return False

    def drafts(self, desk: _Desk) -> Sequence[Draft]:
        """Return the drafts that are rewritten next, one for each rewrite."""
        raise NotImplementedError

    def learn(self, desk: _Desk, draft: Draft | None) -> None:
        """Take note of a draft that did not flip the judge; None: a text that is done with."""

    def _wants(self, desk: _Desk) -> bool:
        return not desk.ready and not desk.closed and not self.waits(desk)

    def _write(self, desks: Sequence[_Desk]) -> None:
        """Let the next texts of some cases be written, all at once."""
        wanted = [(desk, draft) for desk in desks for draft in self.drafts(desk)]
        requests: list[tuple[Request, int]] = []
        first = WRITING.index(self.name) * APART
        for desk, draft in wanted:
            case = desk.quarry.aim.case
            requests.append((attacking.request_for(self.writer, case, draft.told), first + desk.number))
            desk.number += 1
        for (desk, _), response in zip(wanted, self.setup.engine.generate(requests), strict=True):
            if isinstance(response.reply, NoReply):
                self._failed(desk, reason_of(response.reply.reason))
                continue
            self.writings.written += 1
            found = attacking.usable(response.reply, desk.quarry.aim.case)
            if isinstance(found, str):
                self._refused(desk, found)
            elif (text := found[found.target].text) in desk.seen:
                self._refused(desk, "written before")
            elif not desk.quarry.place.allows(desk.quarry.aim.case, text):
                self._refused(desk, "too little kept")
            else:
                desk.poor = 0
                desk.seen.add(text)
                desk.ready.append(text)

    def _refused(self, desk: _Desk, why: str) -> None:
        self.writings.refused[why] += 1
        desk.poor += 1
        desk.closed = desk.closed or desk.poor >= UNUSABLE

    def _failed(self, desk: _Desk, reason: Reason) -> None:
        """Write nothing more in a case: the engine has tried again already. A cap ends the hunt."""
        desk.closed = True
        if reason.unfinished:
            desk.quarry.stopped = reason
        else:
            self.writings.failed[reason] += 1

    def _draft(self, one: Try, said: Sequence[Said]) -> Draft:
        """Return a text with the mean favour of its asks, and the verdict of the one that liked it least."""
        least = min(said, key=lambda ask: ask.favour)
        words = attacking.in_words(least.verdict, one.quarry.aim.case, self.setup)
        return Draft(one.text, fsum(ask.favour for ask in said) / len(said), words)


class BestOf(_Written):
    """Each proposal is a rewrite of the answer by itself."""

    name = "best-of"

    def drafts(self, desk: _Desk) -> Sequence[Draft]:
        """Return none, several times: the writer sees no draft."""
        return [UNWRITTEN] * BRANCHES


class HillClimb(_Written):
    """Each proposal is a rewrite of the best draft so far."""

    name = "hill-climb"

    def drafts(self, desk: _Desk) -> Sequence[Draft]:
        """Return the best draft."""
        return [desk.best]

    def learn(self, desk: _Desk, draft: Draft | None) -> None:
        """Go on from a draft that does no worse; after one that is done with, begin with the answer itself."""
        if draft is None:
            desk.best = UNWRITTEN
        elif draft.favour >= desk.best.favour:
            desk.best = draft


class Tree(_Written):
    """A tree of attacks with pruning (Mehrotra et al. 2023, arXiv:2312.02119), its drafts valued by the judge."""

    name = "tree"

    def waits(self, desk: _Desk) -> bool:
        """Return whether the judge has not seen all of the last round."""
        return desk.waits > 0

    def drafts(self, desk: _Desk) -> Sequence[Draft]:
        """Return each of the best drafts of the last round as often as it branches."""
        best = sorted(desk.grown, key=lambda draft: -draft.favour)[:WIDTH]
        desk.grown, desk.depth = [], desk.depth + 1
        if not best or desk.depth > DEPTH:
            desk.depth, best = 1, [UNWRITTEN]
        return [leaf for leaf in best for _ in range(BRANCHES)]

    def learn(self, desk: _Desk, draft: Draft | None) -> None:
        """Keep a draft of the round."""
        if draft is not None:
            desk.grown.append(draft)


def writers_for(writer: Writer, setup: Setup, writings: Writings) -> tuple[Proposer, ...]:
    """
    Return the searches in which a model writes, by the names in `WRITING`, for hunts in answers.

    Args:
        writer: who writes; its server is greeted.
        setup: its engine makes the calls.
        writings: what was written is counted there.

    Raises:
        ConfigError: the server does not answer, or a cap in dollars for a model without a price.
    """
    setup.engine.greet(writer.server)
    return tuple(kind(writer, setup, writings) for kind in (BestOf, HillClimb, Tree))


def _said(quarry: Quarry, text: str) -> list[Said]:
    """Return what the judge said of a text, in each ask from the first on."""
    return [quarry.said[text, n] for n in takewhile(lambda n: (text, n) in quarry.said, count())]
