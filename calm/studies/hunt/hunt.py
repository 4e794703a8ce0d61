"""
A hunt: cases in hand, a search for a text that flips the judge, its simplest form, and fresh asks that confirm it.

    cases --clean asks--> quarries --search--> flips --shrunk--> Findings --fresh asks--> confirmed, or not

A search and a shrinker choose, so what they saw proves nothing. Each finding is asked about anew, as often as the case
without it, in other words behind the question than any ask before. The level is shared by all findings that there can
be, so a hunt on a judge whom no text moves reports anything with probability .05 at most.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, sqrt
from typing import Final

from calm.core.case import TIE, Case, digest
from calm.core.reasons import NONE, Kind, Reason, because, counted, reason_of
from calm.core.verdict import NoReply, Verdict, code
from calm.experiment.aim import aim, has_room
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.referee import Flip, Ruling, Terms
from calm.experiment.setup import Setup
from calm.experiment.stopping import LOST
from calm.experiment.surfaces import surface
from calm.statistics.two_streams import gap_bounds
from calm.strategies.insertions import pieces_between
from calm.strategies.minimal import Enough
from calm.strategies.tokens import Piece, fillers, tokens_of
from calm.studies.attack.attack import AIM, Aim
from calm.studies.attack.shrinking import common_in
from calm.studies.hunt.arms import Arm, Layer
from calm.studies.hunt.memory import KNOWN, Memory
from calm.studies.hunt.places import Place
from calm.studies.hunt.quarry import NoneLeft, Quarry, Said, ask_all
from calm.studies.hunt.search import Bandit, Proposer, Singles, Try
from calm.studies.hunt.shrinking import generated, shrunk, text_of
from calm.studies.threads import side_by_side

ERROR: Final = 0.05
"""The probability that a hunt reports anything on a judge whom no text moves."""
FRESH: Final = 32
"""The number of the first fresh ask of each side: no search asks as often."""
FRESH_MOST: Final = 32
"""The most fresh asks of each side."""
LEAST_FRESH: Final = 6
"""So many fresh asks of each side are kept back for a finding, at least."""
MOST_AT_ONCE: Final = 8
"""The most cases in hand at once."""
SHRUNK_AT_ONCE: Final = 3
"""Of cases that were flipped, so many are shrunk side by side; the simplest result counts."""
FEW: Final = 100
"""With fewer asks in all, a case is asked once and not twice before it is taken in hand."""
MANY: Final = 1_200
"""With so many asks left, several flips are shrunk side by side."""
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


@dataclass(frozen=True, slots=True)
class Bounds:
    """
    What a hunt may take: asks of the judge in all, findings, and cases in hand (0: as the asks allow).

    `error` is the probability that it reports anything on a judge whom no text moves.
    """

    asks: int = 600
    findings: int = 3
    at_once: int = 0
    error: float = ERROR

    @property
    def most(self) -> int:
        """How many findings there can be: with few asks one, which they may just prove."""
        return self.findings if self.asks >= FEW else 1

    @property
    def level(self) -> float:
        """The error of one finding."""
        return self.error / self.most

    @property
    def quarries(self) -> int:
        """How many cases are in hand."""
        return self.at_once or max(2, min(MOST_AT_ONCE, self.asks // 40))

    @property
    def search_level(self) -> float:
        """The error of a flip in the search: small where a shrinker takes hundreds of looks."""
        return 0.05 if self.asks < FEW else 0.005 if self.asks < MANY else 0.001


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hunt is: asks made, asks allowed, findings so far, and the simplest text that flipped so far."""

    asks: int
    of: int
    findings: int = 0
    best: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """
    The simplest text found that flips the judge.

    `pieces` are what was put into the original, `layers` the edits that it comes from. `ruling` rests on fresh asks
    alone; `low` is a bound for how much more often the answer wins with the text than without, at the shared level.
    `also` are the other cases that the same words flipped in one ask, of `tried`. `after` is the number of asks of the
    hunt when it was confirmed, `fresh_from` that of the first fresh ask.
    """

    quarry: Quarry
    pieces: tuple[Piece, ...]
    text: str
    layers: tuple[Layer, ...]
    first: str
    found_by: str
    ruling: Ruling
    low: float
    also: tuple[str, ...] = ()
    tried: int = 0
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
        """Whether fresh asks prove that the text moves the verdict, and most of them were won."""
        return self.ruling.flip is Flip.YES and 2 * self.wins[1] > len(self.ruling.blocks)


@dataclass(frozen=True)
class Hunted:
    """The result of a hunt; `excluded` counts cases that were looked at and not taken in hand, by reason."""

    findings: tuple[Finding, ...]
    quarries: tuple[Quarry, ...]
    asks: int
    noise: float
    excluded: Counter[Reason]
    incomplete: Reason = NONE

    @property
    def confirmed(self) -> tuple[Finding, ...]:
        """The findings that fresh asks confirmed, the simplest first."""
        return tuple(one for one in self.findings if one.confirmed)


@dataclass(frozen=True)
class Draft:
    """The simplest form of a flip, before fresh asks."""

    first: Try
    layers: tuple[Layer, ...]
    pieces: tuple[Piece, ...]
    text: str


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
    terms: Terms = field(default_factory=Terms)
    quarries: list[Quarry] = field(default_factory=list)
    excluded: Counter[Reason] = field(default_factory=Counter)
    lost: Counter[Reason] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    spent: int = 0
    turn: int = 0
    idle: int = 0
    rounds: int = 0
    best: tuple[str, ...] = ()
    capped: Reason = NONE

    # ------------------------------------------------------------------------------------------------------- budget

    @property
    def left(self) -> int:
        """How many asks are left of the whole."""
        return self.bounds.asks - self.asks

    @property
    def asks(self) -> int:
        """How many asks were made."""
        return self.spent + sum(quarry.asks for quarry in self.quarries)

    @property
    def stopped(self) -> Reason:
        """Why nothing more can be asked, or `NONE`."""
        return self.capped or next((q.stopped for q in self.quarries if q.stopped), NONE)

    @property
    def incomplete(self) -> Reason:
        """Why the hunt is not what it was to be: it was stopped, or too many asks were not answered; or `NONE`."""
        lost = sum((quarry.lost for quarry in self.quarries), self.lost)
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

    def choose(self) -> float:
        """Take cases in hand on which the answer does not win by itself; return a guess of the judge's noise."""
        each = 1 if self.bounds.asks < FEW else 2
        apart, asked = 0.5, 1
        waiting = deque(self.setup.cases)
        while waiting and not self.stopped and (wanted := self.bounds.quarries - len(self.quarries)) > 0:
            batch = [waiting.popleft() for _ in range(min(wanted, len(waiting), self.left // (2 * each)))]
            if not batch:
                break
            shown = [self._shown(case) for case in batch]
            questions = [surface(case, number) for case in shown for number in range(each)]
            self.spent += len(questions)
            verdicts = [one.verdict for one in self.setup.engine.ask(self.setup.judge, questions)]
            for number, case in enumerate(shown):
                some = verdicts[number * each : (number + 1) * each]
                found = self._quarry(case, some)
                if isinstance(found, Quarry):
                    self.quarries.append(found)
                else:
                    self.excluded[found] += 1
                asked += 1
                apart += len({str(code(v)) for v in some}) > 1
            self.show()
        share = min(0.45, apart / asked)
        return min(0.3, max(0.03, (1 - sqrt(1 - 2 * share)) / 2))

    def _shown(self, case: Case) -> Case:
        return case.with_order("" if self.setup.judge.traits.as_given else ORDER_SALT)

    def _quarry(self, case: Case, verdicts: Sequence[Verdict]) -> Quarry | Reason:
        """Return a case with what the judge said of it as it is, or the reason why it is not taken in hand."""
        setup = self.setup
        for verdict in verdicts:
            if isinstance(verdict, NoReply):
                reason = reason_of(verdict.reason)
                self.lost[reason] += 1
                if reason.has(Kind.CAPPED):
                    self.capped = reason
                return reason
        if case.better == TIE and len(case.answers) == 2:
            return because(Kind.NOT_WEAKER)
        aimed = aim(case, AIM.expects, verdicts[0])
        if isinstance(aimed, Reason):
            return aimed
        if self.place.read(aimed) is None:
            return because(Kind.NO_SUCH_PLACE, self.place.name)
        quarry = Quarry(setup, Aim(case, aimed, verdicts[0], 0.0), self.place)
        said = [quarry.heard(verdict) for verdict in verdicts]
        mean = fsum(one.favour for one in said) / len(said)
        quarry.aim = replace(quarry.aim, favour=mean)
        quarry.said |= {(quarry.original, n): quarry.heard(verdict) for n, verdict in enumerate(verdicts)}
        room = all(has_room(aimed, AIM.expects, verdict, setup.family, setup.judge.scale) for verdict in verdicts)
        return quarry if room else because(Kind.WON_ALREADY)

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
        return said.won or self.terms.noise > NOISY

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
        terms = Terms(self.bounds.level, GIVEN_UP, FRESH_MOST, least=least, clean_each=1, noise=self.terms.noise)

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


def weight(pieces: Sequence[Piece], common: Counter[str]) -> tuple[int, int, int]:
    """Return how much a person has to read in some pieces: how many, how many tokens, how rare these are."""
    tokens = [token.strip().lower() for piece in pieces for token in piece.tokens]
    cuts = sum(piece.removes for piece in pieces)
    return len(tokens) + cuts, len(pieces), sum(-common[token] for token in tokens)


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
    one = _Hunt(setup, place, bounds or Bounds(), proposer, tuple(arms), progress, common, known, spare)
    noise = one.choose()
    one.terms = Terms(level=one.bounds.search_level, noise=noise)
    for quarry in one.quarries:
        quarry.terms = one.terms
    while one.quarries and len(one.findings) < one.bounds.most and one.free > 0 and not one.stopped:
        flips = one.search()
        if not flips:
            break
        one.findings.append(one.confirm(one.shrink(flips)[0]))
        one.show()
    ordered = sorted(one.findings, key=lambda f: (not f.confirmed, *weight(f.pieces, one.common)))
    one.memory.keep((found.quarry, found.text) for found in ordered if found.confirmed)
    return Hunted(tuple(ordered), tuple(one.quarries), one.asks, noise, one.excluded, one.incomplete)
