"""
A hunt: cases in hand, a search for a text that flips the judge, its simplest form, and fresh asks that confirm it.

    cases --clean asks--> quarries --search--> flips --shrunk--> Findings --fresh asks--> confirmed, or not

A search and a shrinker choose, so what they saw proves nothing. Each finding is asked about anew, as often as the case
without it, in other words behind the question than any ask before. The level is shared by all findings that there can
be, so a hunt on a judge whom no text moves reports anything with probability .05 at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from calm.core.case import digest
from calm.core.reasons import NONE, Reason, counted
from calm.experiment.referee import Flip, Ruling, Terms
from calm.experiment.setup import Setup
from calm.experiment.stopping import LOST
from calm.statistics.two_streams import gap_bounds
from calm.strategies.insertions import pieces_between
from calm.strategies.minimal import Enough
from calm.strategies.tokens import fillers, tokens_of
from calm.studies.attack.shrinking import common_in
from calm.studies.hunt.arms import Arm
from calm.studies.hunt.choosing import Choice, choose
from calm.studies.hunt.findings import FEW, FRESH, MANY, Bounds, Draft, Finding, Hunted, Progress, weight
from calm.studies.hunt.memory import KNOWN, Memory
from calm.studies.hunt.places import Place
from calm.studies.hunt.quarry import NoneLeft, Quarry, Said, ask_all
from calm.studies.hunt.search import Bandit, Proposer, Singles, Try
from calm.studies.hunt.shrinking import generated, shrunk, text_of
from calm.studies.threads import side_by_side

FRESH_MOST: Final = 32
"""The most fresh asks of each side."""
LEAST_FRESH: Final = 6
"""So many fresh asks of each side are kept back for a finding, at least."""
SHRUNK_AT_ONCE: Final = 3
"""Of cases that were flipped, so many are shrunk side by side; the simplest result counts."""
BATCH: Final = 16
"""The most texts that are asked about at once in the search."""
IDLE: Final = 20
"""After so many turns without a text to ask about, the search has run out of them."""
NOISY: Final = 0.12
"""Above so much noise a text that lost its first ask may flip nevertheless."""
FRESH_LEAST: Final = 8
"""The fewest fresh asks of each side, where there are so many: with fewer a bound says little."""
GIVEN_UP: Final = 0.1
"""The e-value at which fresh asks have shown that a finding does not hold."""
SEARCHED: Final = 0.7
"""The share of the asks left that the search takes before Hypothesis generates."""
GENERATED: Final = 0.2
"""The share of what is left then that generating takes."""


@dataclass
class _Hunt:
    setup: Setup
    place: Place
    bounds: Bounds
    proposer: Proposer
    arms: tuple[Arm, ...]
    progress: Callable[[Progress], None]
    common: Counter[str]
    memory: Memory
    spare: frozenset[str]
    chosen: Choice
    findings: list[Finding] = field(default_factory=list)
    turn: int = 0
    idle: int = 0
    rounds: int = 0
    best: tuple[str, ...] = ()

    @property
    def quarries(self) -> list[Quarry]:
        """The cases in hand."""
        return self.chosen.quarries

    # ------------------------------------------------------------------------------------------------------- budget

    @property
    def left(self) -> int:
        """How many asks are left of the whole."""
        return self.bounds.asks - self.asks

    @property
    def asks(self) -> int:
        """How many asks were made."""
        return self.chosen.asks + sum(quarry.asks for quarry in self.quarries)

    @property
    def stopped(self) -> Reason:
        """Why nothing more can be asked, or `NONE`."""
        return self.chosen.capped or next((q.stopped for q in self.quarries if q.stopped), NONE)

    @property
    def incomplete(self) -> Reason:
        """Why the hunt is not what it was to be: it was stopped, or too many asks were not answered; or `NONE`."""
        lost = sum((quarry.lost for quarry in self.quarries), self.chosen.lost)
        return self.stopped or (counted(lost) if lost.total() > LOST * self.asks else NONE)

    def allow(self, quarries: Sequence[Quarry], asks: int) -> None:
        """Let some quarries take so many asks together, each as many, and all others none."""
        for one in self.quarries:
            one.left = 0
        for number, one in enumerate(quarries):
            one.left = (max(0, asks) + len(quarries) - 1 - number) // len(quarries)

    def show(self) -> None:
        """Say how far the hunt is."""
        found = sum(one.confirmed for one in self.findings)
        self.progress(Progress(self.asks, self.bounds.asks, found, self.best))

    # ------------------------------------------------------------------------------------------------------- stages

    def search(self) -> list[Try]:
        """Return texts that flip the judge, one for each case at most: from earlier hunts, proposed, or generated."""
        found = self._known()
        if not found:
            found = self._proposed(int(self.free * (SEARCHED if self.bounds.asks >= FEW else 1)))
        if not found and isinstance(self.proposer, Bandit):
            found = self._generated(int(self.free * GENERATED))
        return found or self._proposed(self.free)

    @property
    def free(self) -> int:
        """How many asks are left beside those that a finding needs to be confirmed."""
        return max(0, self.left - 2 * (FRESH_LEAST if self.bounds.asks >= FEW else LEAST_FRESH))

    def _known(self) -> list[Try]:
        """Return what earlier hunts found in these cases, where it still flips the judge."""
        tries = [
            Try(quarry, text, (), KNOWN)
            for quarry in self.quarries
            for text in self.memory.texts(quarry)
            if not self._masked(quarry, text)
        ]
        self.allow(self.quarries, self.free)
        return self._flipping(tries)

    def _proposed(self, asks: int) -> list[Try]:
        """Return the texts of the proposer that flip the judge; it stops with the first batch that has one."""
        end = self.left - asks
        while self.left > end and not self.stopped:
            batch: list[Try] = []
            for quarry in self._in_turn(max(1, min(BATCH, asks // 20, self.left - end))):
                one = self.proposer.propose(quarry)
                if one is not None and self._masked(quarry, one.text):
                    self.proposer.told(one, 0.0)
                elif one is not None:
                    batch.append(one)
            self.allow(self.quarries, self.free)
            before = self.asks
            found = self._flipping(batch)
            self.idle = 0 if self.asks > before else self.idle + 1
            if self.idle > IDLE:
                break
            self.show()
            if found:
                return found
        return []

    def _in_turn(self, count: int) -> list[Quarry]:
        """Return the next cases in turn."""
        found = [self.quarries[(self.turn + n) % len(self.quarries)] for n in range(count)]
        self.turn += count
        return found

    def _flipping(self, tries: Sequence[Try]) -> list[Try]:
        """Return those tries whose texts flip the judge, one for each case; all are asked once together."""
        first = ask_all([(one.quarry, one.text, 0) for one in tries])
        hopeful: dict[Quarry, list[Try]] = {}
        for one, said in zip(tries, first, strict=True):
            if said is None or not self._hopeful(one, said):
                rise = 0.0 if said is None else max(0.0, said.favour - one.quarry.aim.favour)
                self._tell(one, min(1.0, rise))
            else:
                hopeful.setdefault(one.quarry, []).append(one)

        def ruled(several: Sequence[Try]) -> list[tuple[Try, bool]]:
            return [(one, _flips(one)) for one in several]

        found: list[Try] = []
        for several in side_by_side(self.setup.engine, ruled, list(hopeful.values())):
            for one, flipped in several:
                self._tell(one, float(flipped))
            found += [one for one, flipped in several if flipped][:1]
        for one in found:
            self._note(one.quarry, one.text)
        return found

    def _hopeful(self, one: Try, said: Said) -> bool:
        """Return whether the first ask leaves room for a flip: it was won, or the judge's noise can have lost it."""
        return said.won or self.chosen.noise > NOISY

    def _tell(self, one: Try, reward: float) -> None:
        if one.proposer != KNOWN:
            self.proposer.told(one, reward)

    def _generated(self, asks: int) -> list[Try]:
        """Return what Hypothesis generates around the best arms in each case at once, where it flips the judge."""
        self.rounds += 1
        quarries = self.quarries
        self.allow(quarries, asks)
        arms = self._promising()

        def hunt(quarry: Quarry) -> Try | None:
            seed = int(digest("generate", self.setup.seed, quarry.id, self.rounds)[:8], 16)
            return generated(quarry, arms, max(1, quarry.left), seed, lambda text: not self._masked(quarry, text))

        found = [one for one in side_by_side(self.setup.engine, hunt, quarries) if one is not None]
        for one in found:
            self._note(one.quarry, one.text)
        self.show()
        return found

    def _promising(self) -> tuple[Arm, ...]:
        """Return the arms whose texts let the answer rise most, simplest first among equals."""
        singles = next((p for p in getattr(self.proposer, "parts", {}).values() if isinstance(p, Singles)), None)
        if singles is None:
            return self.arms
        return tuple(sorted(self.arms, key=lambda arm: -singles.edits.mean(arm.name)))

    def _note(self, quarry: Quarry, text: str) -> None:
        """Keep the simplest text that flipped so far, for whoever looks on."""
        words = tuple(t for piece in pieces_between(quarry.original, text) for t in piece.tokens)
        if not self.best or len(words) < len(self.best):
            self.best = words

    # ------------------------------------------------------------------------------------------------- after a search

    def shrink(self, tries: Sequence[Try]) -> list[Draft]:
        """Return the simplest forms of some flips, the simplest of all first."""
        some = tries[: SHRUNK_AT_ONCE if self.left >= MANY else 1]
        self.allow([one.quarry for one in some], self.free)

        def work(one: Try) -> Draft:
            layers, pieces = shrunk(one, self.setup.seed, self.common)
            return Draft(one, layers, pieces, text_of(one.quarry, pieces))

        found = side_by_side(self.setup.engine, work, some)
        order = {quarry: number for number, quarry in enumerate(self.quarries)}
        return sorted(found, key=lambda d: (*weight(d.pieces, self.common), order[d.first.quarry]))

    def confirm(self, draft: Draft) -> Finding:
        """Ask anew about a text and about the case without it, and return what came of it."""
        quarry = draft.first.quarry
        least = FRESH_LEAST if self.left >= 2 * FRESH_LEAST else 1
        terms = Terms(self.bounds.level, GIVEN_UP, FRESH_MOST, least=least, clean_each=1, noise=self.chosen.noise)
        self.allow([quarry], self.left)
        first = FRESH + FRESH_MOST * self.memory.times(quarry, draft.text)
        try:
            ruling = quarry.ruled(draft.text, terms, first)
        except NoneLeft:
            ruling = Ruling(Flip.UNDECIDED, ())
        low = gap_bounds(ruling.blocks, terms.noise, terms.level)[0] if ruling.blocks else -1.0
        found = Finding(
            quarry, draft.pieces, draft.text, draft.layers, draft.first.text, draft.first.proposer, ruling, low
        )
        found = replace(found, after=self.asks, fresh_from=first)
        if not found.confirmed:
            return found
        self._note(quarry, draft.text)
        return self._elsewhere(found)

    def _elsewhere(self, found: Finding) -> Finding:
        """Return a finding with the other cases in hand that the same words flip in one ask."""
        end = len(tokens_of(found.quarry.original))
        tries: list[tuple[Quarry, str]] = []
        if all(piece.place in (0, end) and not piece.removes for piece in found.pieces):
            for quarry in self.quarries:
                gap = len(tokens_of(quarry.original))
                text = text_of(quarry, [replace(p, place=gap if p.place else 0) for p in found.pieces])
                if quarry is not found.quarry and quarry.place.allows(quarry.aim.case, text):
                    tries.append((quarry, text))
        self.allow(self.quarries, max(0, self.left))
        asked = ask_all([(quarry, text, 0) for quarry, text in tries])
        told = [(quarry.id, said) for (quarry, _), said in zip(tries, asked, strict=True) if said is not None]
        return replace(found, also=tuple(one for one, said in told if said.won), tried=len(told))

    def _masked(self, quarry: Quarry, text: str) -> bool:
        """Return whether a text holds what was found already, so that it would be found again."""
        if not self.findings:
            return False
        added = _counted(text) - _counted(quarry.original)
        for one in self.findings:
            words = Counter(token.strip() for token in one.words)
            telling = Counter({word: count for word, count in words.items() if word not in self.spare})
            if not telling and not one.confirmed:  # words that say nothing, and did nothing: only they are known
                continue
            if words and added.total() >= words.total() and telling <= added:
                return True
        return False


def _flips(one: Try) -> bool:
    try:
        return one.quarry.flips(one.text)
    except Enough:
        return False


def _counted(text: str) -> Counter[str]:
    return Counter(token.strip() for token in tokens_of(text))


def hunt(
    setup: Setup,
    place: Place,
    proposer: Proposer,
    arms: Sequence[Arm] = (),
    bounds: Bounds | None = None,
    *,
    memory: Memory | None = None,
    progress: Callable[[Progress], None] = lambda _progress: None,
) -> Hunted:
    """
    Search for texts that flip the judge, shrink them, and confirm them by fresh asks.

    Args:
        setup: judge, cases, engine and seed. The same seed gives the same result, however long the judge takes.
        place: the part of a case that is edited.
        proposer: who proposes texts. With a `Bandit`, Hypothesis generates more where it finds nothing.
        arms: the edits that Hypothesis draws from.
        bounds: how many asks it may take, and how many findings are wanted.
        memory: what earlier hunts found, to begin with; None: nothing.
        progress: is called after each batch.
    """
    common, known = common_in(setup.cases), memory or Memory(None)
    spare = frozenset(word.strip() for word in fillers(common))
    bounds = bounds or Bounds()
    chosen = choose(setup, place, bounds)
    for quarry in chosen.quarries:
        quarry.terms = Terms(level=bounds.search_level, noise=chosen.noise)
    one = _Hunt(setup, place, bounds, proposer, tuple(arms), progress, common, known, spare, chosen)
    one.show()
    while one.quarries and len(one.findings) < bounds.most and one.free > 0 and not one.stopped:
        flips = one.search()
        if not flips:
            break
        one.findings.append(one.confirm(one.shrink(flips)[0]))
        one.show()
    ordered = sorted(one.findings, key=lambda f: (not f.confirmed, *weight(f.pieces, one.common)))
    one.memory.keep((found.quarry, found.text) for found in ordered if found.confirmed)
    return Hunted(tuple(ordered), tuple(one.quarries), one.asks, chosen.noise, chosen.excluded, one.incomplete)
