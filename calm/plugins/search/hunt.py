"""
A hunt: cases in hand, a search for a text that flips the judge, its simplest form, and fresh asks that confirm it.

    cases --clean asks--> Subjects --search--> flips --shrunk--> Findings --fresh asks--> confirmed, or not

The search begins with the texts of earlier hunts; then it asks about proposed ones until one flips the judge. A search
and a shrinker choose, so what they saw proves nothing. Each finding is asked about anew, as often as the case without
it, in other words behind the question than any ask before. The level is shared by all findings that there can be, so a
hunt on a judge whom no text moves reports anything with probability .05 at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Final

from calm.core.case import Case
from calm.core.reasons import NONE, Reason, counted
from calm.experiment.referee import Flip, Ruling, Terms
from calm.experiment.setup import Setup
from calm.experiment.stopping import LOST
from calm.plugins.search.arms import Layer, edited
from calm.plugins.search.findings import KNOWN, Finding, Hunted, Known, Memory, weight
from calm.plugins.search.proposers import Bandit, Try
from calm.plugins.search.subjects import (
    FEW,
    FRESH,
    FRESH_LEAST,
    Bounds,
    Choice,
    NoneLeft,
    Place,
    Subject,
    ask_all,
    choose,
)
from calm.plugins.search.writer import side_by_side
from calm.statistics.sequential import gap_bounds
from calm.strategies.shrinking import (
    Enough,
    Piece,
    by_length,
    commonness,
    fewest,
    fillers,
    pieces_between,
    rendered,
    simplest,
)

KEPT_BACK: Final = 6
"""So many fresh asks of each side are kept back for a finding, at least."""
MANY: Final = 1_200
"""With so many asks left, several flips are shrunk side by side."""
SHRUNK_AT_ONCE: Final = 3
"""Of cases that were flipped, so many are shrunk side by side; the simplest result counts."""
BATCH: Final = 16
"""The most texts that are asked about at once in the search."""
IDLE: Final = 20
"""After so many turns without a text to ask about, the search has run out of them."""
NOISY: Final = 0.12
"""Above so much noise a text that lost its first ask may flip nevertheless."""
FRESH_MOST: Final = 32
"""The most fresh asks of each side."""
GIVEN_UP: Final = 0.1
"""The e-value at which fresh asks have shown that a finding does not hold."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hunt is: asks made, asks allowed, findings so far, and the simplest text that flipped so far."""

    asks: int
    of: int
    findings: int = 0
    best: tuple[str, ...] = ()


@dataclass(frozen=True)
class Budget:
    """What a hunt may ask, and what it asked about the cases in hand and to choose them."""

    bounds: Bounds
    chosen: Choice

    @property
    def subjects(self) -> list[Subject]:
        """The cases in hand."""
        return self.chosen.subjects

    @property
    def asks(self) -> int:
        """How many asks were made."""
        return self.chosen.asks + sum(subject.asks for subject in self.subjects)

    @property
    def left(self) -> int:
        """How many asks are left of the whole."""
        return self.bounds.asks - self.asks

    @property
    def free(self) -> int:
        """How many asks are left beside those that a finding needs to be confirmed; its forms share those without."""
        each = FRESH_LEAST if self.bounds.asks >= FEW else KEPT_BACK
        return max(0, self.left - (1 + self.bounds.forms) * each)

    @property
    def stopped(self) -> Reason:
        """Why nothing more can be asked, or `NONE`."""
        return self.chosen.capped or next((one.stopped for one in self.subjects if one.stopped), NONE)

    @property
    def incomplete(self) -> Reason:
        """Why the hunt is not what it was to be: it was stopped, or too many asks were not answered; or `NONE`."""
        lost = sum((subject.lost for subject in self.subjects), self.chosen.lost)
        return self.stopped or (counted(lost) if lost.total() > LOST * self.asks else NONE)

    def allow(self, subjects: Sequence[Subject], asks: int) -> None:
        """Let some subjects take so many asks together, each as many, and all others none."""
        for one in self.subjects:
            one.left = 0
        for number, one in enumerate(subjects):
            one.left = (max(0, asks) + len(subjects) - 1 - number) // len(subjects)


@dataclass
class _Watch:
    """What is shown of a hunt while it runs; `best` is the text of the fewest words that flipped so far."""

    budget: Budget
    progress: Callable[[Progress], None]
    findings: list[Finding]
    best: tuple[str, ...] = ()
    lock: Lock = field(default_factory=Lock)

    def show(self) -> None:
        with self.lock:
            found = sum(one.confirmed for one in self.findings)
            self.progress(Progress(self.budget.asks, self.budget.bounds.asks, found, self.best))

    def saw(self, subject: Subject, text: str) -> None:
        words = tuple(t for piece in pieces_between(subject.original, text) for t in piece.tokens)
        with self.lock:
            if not self.best or len(words) < len(self.best):
                self.best = words


@dataclass(frozen=True)
class _Draft:
    """The simplest form of a flip, before fresh asks."""

    first: Try
    layers: tuple[Layer, ...]
    pieces: tuple[Piece, ...]
    text: str


def hunt(
    setup: Setup,
    place: Place,
    bandit: Bandit,
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
        bandit: who proposes texts.
        bounds: how many asks it may take, and how many findings are wanted.
        memory: what earlier hunts found, to begin with; None: nothing.
        progress: is called after each batch of a search and after each ask of a ruling; never twice at once.
    """
    common, memory, bounds = common_in(setup.cases), memory or Memory(None), bounds or Bounds()
    budget, findings = Budget(bounds, choose(setup, place, bounds)), list[Finding]()
    watch = _Watch(budget, progress, findings)
    for subject in budget.subjects:
        subject.terms = Terms(level=bounds.search_level, noise=budget.chosen.noise)
        subject.asked, subject.flipped = watch.show, watch.saw
    known = Known(findings, frozenset(word.strip() for word in fillers(common)))
    search = _Search(setup, budget, bandit, memory, known, watch)
    watch.show()
    while budget.subjects and len(findings) < bounds.most and budget.free > 0 and not budget.stopped:
        flips = search.known_flips() or search.proposed_flips()
        if not flips:
            break
        findings.append(_confirmed(_simplest(flips, budget, setup, common), budget, memory))
        watch.show()
    findings.sort(key=lambda one: (not one.confirmed, *weight(one.pieces, common)))
    memory.keep(findings)
    chosen = budget.chosen
    return Hunted(
        tuple(findings), tuple(chosen.subjects), budget.asks, chosen.noise, chosen.excluded, budget.incomplete
    )


def common_in(cases: Iterable[Case]) -> Counter[str]:
    """Return how often each word is used in the questions and answers of some cases."""
    return commonness(t for case in cases for t in (case.question, *(answer.text for answer in case.answers)))


# ----------------------------------------------------------------------------------------------------------- searching


@dataclass
class _Search:
    """A search: what it draws on, and how far it is. `turn` counts cases."""

    setup: Setup
    budget: Budget
    bandit: Bandit
    memory: Memory
    known: Known
    watch: _Watch
    turn: int = 0

    def known_flips(self) -> list[Try]:
        """Return what earlier hunts found in these cases, where it still flips the judge."""
        tries = [
            Try(subject, text, (), KNOWN)
            for subject in self.budget.subjects
            for text in self.memory.texts(subject)
            if not self.known.holds(subject, text)
        ]
        self.budget.allow(self.budget.subjects, self.budget.free)
        return self._flipping(tries)

    def proposed_flips(self) -> list[Try]:
        """Return proposed texts that flip the judge, one for each case at most, of the first batch that has any."""
        subjects, asks, idle = self.budget.subjects, self.budget.free, 0
        end = self.budget.left - asks
        while self.budget.left > end and not self.budget.stopped and idle <= IDLE:
            batch: list[Try] = []
            for _ in range(max(1, min(BATCH, asks // 20, self.budget.left - end))):
                one = self.bandit.propose(subjects[self.turn % len(subjects)])
                self.turn += 1
                if one is not None and not self.known.holds(one.subject, one.text):
                    batch.append(one)
            self.budget.allow(subjects, self.budget.free)
            before = self.budget.asks
            found = self._flipping(batch)
            idle = 0 if self.budget.asks > before else idle + 1
            self.watch.show()
            if found:
                return found
        return []

    def _flipping(self, tries: Sequence[Try]) -> list[Try]:
        return flipping(self.setup, self.bandit, tries, hopeless=self.budget.chosen.noise <= NOISY)


def flipping(setup: Setup, bandit: Bandit, tries: Sequence[Try], *, hopeless: bool = True) -> list[Try]:
    """
    Return those tries whose texts flip the judge, one for each case; all are asked once together.

    Args:
        setup: its engine asks.
        bandit: learns what came of each text.
        tries: the texts.
        hopeless: whether a text that lost its first ask is asked about no more.
    """
    hopeful: dict[Subject, list[Try]] = {}
    for one, said in zip(tries, ask_all([(one.subject, one.text, 0) for one in tries]), strict=True):
        if said is not None and (said.won or not hopeless):
            hopeful.setdefault(one.subject, []).append(one)
        elif said is not None:
            bandit.learn(one, min(1.0, max(0.0, said.favour - one.subject.favour)))

    def ruled(several: Sequence[Try]) -> list[tuple[Try, bool]]:
        return [(one, _flips(one.subject, one.text)) for one in several]

    found: list[Try] = []
    for several in side_by_side(setup.engine, ruled, list(hopeful.values())):
        for one, flipped in several:
            bandit.learn(one, float(flipped))
        found += [one for one, flipped in several if flipped][:1]
    return found


def _flips(subject: Subject, text: str) -> bool:
    try:
        return subject.flips(text)
    except Enough:
        return False


# ----------------------------------------------------------------------------------------------------------- shrinking


def shrunk(one: Try, seed: int, common: Counter[str]) -> tuple[tuple[Layer, ...], tuple[Piece, ...]]:
    """
    Return the fewest edits, and of the words that they added the simplest, with which a text still flips the judge.

    Args:
        one: a text that flips the judge in its subject.
        seed: of the edits, and of the shrinker.
        common: how often each word is used in the run's cases.
    """
    subject = one.subject
    whole = pieces_between(subject.original, one.text)
    if filled := by_length(subject.original, whole, subject.flips, seed, common):
        return one.layers, filled
    one = fewer_edits(one, seed)
    pieces = pieces_between(subject.original, one.text)
    return one.layers, simplest(subject.original, pieces, subject.flips, seed, common)


def fewer_edits(one: Try, seed: int) -> Try:
    """Return a text of the fewest edits that still flips the judge, as far as a shrinker finds with the asks left."""
    subject = one.subject
    stacked = partial(edited, case=subject.case, place=subject.place, seed=seed)
    if len(one.layers) < 2:
        return one
    layers = fewest(one.layers, lambda some: (made := stacked(some)) is not None and subject.flips(made), seed)
    return replace(one, layers=layers, text=stacked(layers) or one.text)


def _simplest(tries: Sequence[Try], budget: Budget, setup: Setup, common: Counter[str]) -> list[_Draft]:
    """Return the simplest of the forms to which some flips shrink, and its whole text, which alone may hold anew."""
    some = tries[: SHRUNK_AT_ONCE if budget.left >= MANY else 1]
    budget.allow([one.subject for one in some], budget.free)

    def work(one: Try) -> _Draft:
        layers, pieces = shrunk(one, setup.seed, common)
        return _Draft(one, layers, pieces, rendered(one.subject.tokens, pieces))

    order = {subject: number for number, subject in enumerate(budget.subjects)}
    best = min(
        side_by_side(setup.engine, work, some), key=lambda d: (*weight(d.pieces, common), order[d.first.subject])
    )
    first = best.first
    whole = _Draft(first, first.layers, pieces_between(first.subject.original, first.text), first.text)
    return [best] if whole.text == best.text else [best, whole]


# ---------------------------------------------------------------------------------------------------------- confirming


def _confirmed(drafts: Sequence[_Draft], budget: Budget, memory: Memory) -> Finding:
    """Ask anew about the forms of a text, the simplest first; return the first form that holds, else the first."""
    found: list[Finding] = []
    for draft in drafts[: budget.bounds.forms]:
        one, chosen = draft.first.subject, budget.chosen
        first = FRESH + FRESH_MOST * memory.times(one, draft.text)
        ruling = _ruled_anew(one, draft.text, budget, first)
        low = gap_bounds(ruling.blocks, chosen.noise, budget.bounds.level)[0] if ruling.blocks else -1.0
        came = draft.first.text, draft.first.proposer
        made = Finding(one, draft.pieces, draft.text, draft.layers, *came, ruling, low, fresh_from=first)
        found.append(replace(made, after=budget.asks))
        if made.confirmed:
            return _elsewhere(found[-1], budget)
    return replace(found[0], after=budget.asks)


def _ruled_anew(subject: Subject, text: str, budget: Budget, first: int = FRESH) -> Ruling:
    """Return the ruling on a text by fresh asks from a number on; UNDECIDED where too few asks are left."""
    least = FRESH_LEAST if budget.left >= 2 * FRESH_LEAST else 1
    terms = Terms(budget.bounds.level, GIVEN_UP, FRESH_MOST, least=least, clean_each=1, noise=budget.chosen.noise)
    budget.allow([subject], budget.left)
    try:
        return subject.ruled(text, terms, first)
    except NoneLeft:
        return Ruling(Flip.UNDECIDED, ())


def _elsewhere(found: Finding, budget: Budget) -> Finding:
    """Return a finding with the other cases that the same words flip in one ask; the first of them is asked anew."""
    end = len(found.subject.tokens)
    tries: list[tuple[Subject, str]] = []
    if all(piece.place in (0, end) and not piece.removes for piece in found.pieces):
        for subject in budget.subjects:
            gap = len(subject.tokens)
            text = rendered(subject.tokens, [replace(p, place=gap if p.place else 0) for p in found.pieces])
            if subject is not found.subject and subject.place.allows(subject.case, text):
                tries.append((subject, text))
    budget.allow(budget.subjects, max(0, budget.left))
    asked = ask_all([(subject, text, 0) for subject, text in tries])
    answered = [(one, said.won) for one, said in zip(tries, asked, strict=True) if said is not None]
    won = [one for one, flipped in answered if flipped]
    second = "".join(subject.id for subject, text in won[:1] if _ruled_anew(subject, text, budget).flip is Flip.YES)
    return replace(found, also=tuple(subject.id for subject, _ in won), tried=len(answered), second=second)
