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
from typing import Final

from calm.experiment.referee import Terms
from calm.experiment.setup import Setup
from calm.strategies.insertions import pieces_between
from calm.strategies.tokens import fillers
from calm.studies.attack.shrinking import common_in
from calm.studies.hunt.arms import Arm
from calm.studies.hunt.bounds import MANY, Bounds
from calm.studies.hunt.budget import Budget
from calm.studies.hunt.choosing import choose
from calm.studies.hunt.confirming import Known, confirmed
from calm.studies.hunt.findings import Draft, Finding, Hunted, Progress, weight
from calm.studies.hunt.memory import Memory
from calm.studies.hunt.places import Place
from calm.studies.hunt.proposers import Proposer, Try
from calm.studies.hunt.search import Search
from calm.studies.hunt.shrinking import shrunk, text_of
from calm.studies.hunt.watch import Watch
from calm.studies.threads import side_by_side

SHRUNK_AT_ONCE: Final = 3
"""Of cases that were flipped, so many are shrunk side by side; the simplest result counts."""


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
    common, memory = common_in(setup.cases), memory or Memory(None)
    bounds = bounds or Bounds()
    chosen = choose(setup, place, bounds)
    budget, findings = Budget(bounds, chosen), list[Finding]()
    watch = Watch(budget, progress, findings)
    for quarry in chosen.quarries:
        quarry.terms = Terms(level=bounds.search_level, noise=chosen.noise)
        quarry.watch = watch
    known = Known(findings, frozenset(word.strip() for word in fillers(common)))
    search = Search(setup, budget, proposer, tuple(arms), memory, known, watch)
    watch.show()
    while chosen.quarries and len(findings) < bounds.most and budget.free > 0 and not budget.stopped:
        flips = search.flips()
        if not flips:
            break
        simplest = _simplest(flips, budget, setup, common)
        findings.append(confirmed(_forms(simplest)[: bounds.forms], budget, memory))
        watch.show()
    findings.sort(key=lambda f: (not f.confirmed, *weight(f.pieces, common)))
    memory.keep((found.quarry, found.text) for found in findings if found.confirmed)
    return Hunted(
        tuple(findings), tuple(chosen.quarries), budget.asks, chosen.noise, chosen.excluded, budget.incomplete
    )


def _forms(simplest: Draft) -> list[Draft]:
    """Return a text as it was shrunk, and as it was before, as fresh asks may hold for the larger one alone."""
    first = simplest.first
    whole = Draft(first, first.layers, pieces_between(first.quarry.original, first.text), first.text)
    return [simplest] if whole.text == simplest.text else [simplest, whole]


def _simplest(tries: Sequence[Try], budget: Budget, setup: Setup, common: Counter[str]) -> Draft:
    """Return the simplest of the forms to which some flips shrink."""
    some = tries[: SHRUNK_AT_ONCE if budget.left >= MANY else 1]
    budget.allow([one.quarry for one in some], budget.free)

    def work(one: Try) -> Draft:
        layers, pieces = shrunk(one, setup.seed, common)
        return Draft(one, layers, pieces, text_of(one.quarry, pieces))

    order = {quarry: number for number, quarry in enumerate(budget.quarries)}
    return min(side_by_side(setup.engine, work, some), key=lambda d: (*weight(d.pieces, common), order[d.first.quarry]))
