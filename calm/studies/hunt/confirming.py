"""Fresh asks about a text that flips the judge: they took no part in the search, so they alone prove anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.experiment.referee import Flip, Ruling, Terms
from calm.statistics.two_streams import gap_bounds
from calm.strategies.tokens import tokens_of
from calm.studies.hunt.bounds import FRESH_LEAST
from calm.studies.hunt.budget import Budget
from calm.studies.hunt.findings import Draft, Finding
from calm.studies.hunt.memory import Memory
from calm.studies.hunt.quarry import FRESH, NoneLeft, Quarry, ask_all
from calm.studies.hunt.shrinking import text_of

FRESH_MOST: Final = 32
"""The most fresh asks of each side."""
GIVEN_UP: Final = 0.1
"""The e-value at which fresh asks have shown that a finding does not hold."""


def confirmed(drafts: Sequence[Draft], budget: Budget, memory: Memory) -> Finding:
    """
    Ask anew about the forms of a text and about the case without it; return the first form that holds, else the first.

    Args:
        drafts: the forms, the simplest first, at most `Bounds.forms`.
        budget: all that is left of it may be taken.
        memory: tells how often a text was confirmed before, so that the asks are new ones.
    """
    found: list[Finding] = []
    for draft in drafts:
        found.append(_asked_anew(draft, budget, memory))
        if found[-1].confirmed:
            return _elsewhere(found[-1], budget)
    return replace(found[0], after=budget.asks)


def _asked_anew(draft: Draft, budget: Budget, memory: Memory) -> Finding:
    quarry = draft.first.quarry
    first = FRESH + FRESH_MOST * memory.times(quarry, draft.text)
    ruling = _ruled_anew(quarry, draft.text, budget, first)
    low = gap_bounds(ruling.blocks, budget.chosen.noise, budget.bounds.level)[0] if ruling.blocks else -1.0
    found = Finding(quarry, draft.pieces, draft.text, draft.layers, draft.first.text, draft.first.proposer, ruling, low)
    return replace(found, after=budget.asks, fresh_from=first)


def _ruled_anew(quarry: Quarry, text: str, budget: Budget, first: int = FRESH) -> Ruling:
    """Return the ruling on a text by fresh asks from a number on; UNDECIDED where too few asks are left."""
    least = FRESH_LEAST if budget.left >= 2 * FRESH_LEAST else 1
    terms = Terms(budget.bounds.level, GIVEN_UP, FRESH_MOST, least=least, clean_each=1, noise=budget.chosen.noise)
    budget.allow([quarry], budget.left)
    try:
        return quarry.ruled(text, terms, first)
    except NoneLeft:
        return Ruling(Flip.UNDECIDED, ())


def _elsewhere(found: Finding, budget: Budget) -> Finding:
    """Return a finding with the other cases that the same words flip in one ask; the first of them is asked anew."""
    end = len(found.quarry.tokens)
    tries: list[tuple[Quarry, str]] = []
    if all(piece.place in (0, end) and not piece.removes for piece in found.pieces):
        for quarry in budget.quarries:
            gap = len(quarry.tokens)
            text = text_of(quarry, [replace(p, place=gap if p.place else 0) for p in found.pieces])
            if quarry is not found.quarry and quarry.place.allows(quarry.aim.case, text):
                tries.append((quarry, text))
    budget.allow(budget.quarries, max(0, budget.left))
    asked = ask_all([(quarry, text, 0) for quarry, text in tries])
    answered = [(one, said.won) for one, said in zip(tries, asked, strict=True) if said is not None]
    won = [one for one, flipped in answered if flipped]
    second = "".join(quarry.id for quarry, text in won[:1] if _ruled_anew(quarry, text, budget).flip is Flip.YES)
    return replace(found, also=tuple(quarry.id for quarry, _ in won), tried=len(answered), second=second)


@dataclass(frozen=True)
class Known:
    """
    What a hunt found so far, so that it is not found again: what was not confirmed, in its own case alone.

    `spare` are words that say nothing: a text is not the same for them alone, if they did nothing.
    """

    findings: Sequence[Finding]
    spare: frozenset[str]

    def holds(self, quarry: Quarry, text: str) -> bool:
        """Return whether a text holds what was found already, so that it would be found again."""
        if not self.findings:
            return False
        added = _counted(tokens_of(text)) - _counted(quarry.tokens)
        for one in self.findings:
            if not one.confirmed and one.quarry is not quarry:
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
