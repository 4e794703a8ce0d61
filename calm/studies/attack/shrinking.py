"""From a text that won to a simpler one that wins too: the shrinker of hunts, with what an attack calls a win."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from calm.core.case import Case, Treated
from calm.experiment.setup import Setup
from calm.strategies.insertions import pieces_between
from calm.strategies.minimal import Enough
from calm.strategies.simplest import by_length, simplest
from calm.strategies.tokens import commonness, rendered, tokens_of
from calm.studies.attack.asks import STACK, fault_in, tried, with_text
from calm.studies.attack.attack import AttackedCase, Search
from calm.studies.threads import side_by_side

SHRINK: Final = 150
"""To shrink a text to fewer words takes at most so many asks in a case."""


class Winning:
    """
    Whether a text wins twice, as in a search. It says the same of a text each time, as a shrinker wants.

    Each text is asked about once and, if it won, once more. After so many `asks`, or where the case was lost, it raises
    `Enough`.
    """

    def __init__(self, setup: Setup, one: AttackedCase, asks: int) -> None:
        self.setup, self.one, self.end = setup, one, one.asks + asks
        self.known: dict[str, bool] = {} if one.text is None else {one.text: True}

    def __call__(self, case: Treated) -> bool:
        """Return whether a case with another text of its treated answer wins."""
        one, text = self.one, case[case.target].text
        if text not in self.known:
            if one.lost or one.asks + 2 > self.end:
                raise Enough
            before, one.found = one.found, None
            tried(self.setup, [(one, case)])
            self.known[text] = one.found is not None
            one.found = before
        return self.known[text]

    def text(self, text: str) -> bool:
        """Return whether a text wins; one that breaks the rules of a stack does not, and is not asked about."""
        after = with_text(self.one.aim.case, text)
        if text not in self.known and fault_in(STACK, self.one.aim.case, after) is not None:
            self.known[text] = False
        return self(after)


def shrinking(search: Search) -> Search:
    """Return a search that shrinks what it found to fewer and plainer words, each text with at most `SHRINK` asks."""

    def searched(setup: Setup, sought: Sequence[AttackedCase]) -> None:
        search(setup, sought)
        common = common_in(setup.cases)
        found = [one for one in sought if one.found is not None and not one.lost]
        side_by_side(setup.engine, lambda one: _shrink(setup, one, common), found)

    return searched


def common_in(cases: Iterable[Case]) -> Counter[str]:
    """Return how often each word is used in the questions and answers of some cases."""
    return commonness(t for case in cases for t in (case.question, *(answer.text for answer in case.answers)))


def _shrink(setup: Setup, one: AttackedCase, common: Counter[str]) -> None:
    wins = Winning(setup, one, SHRINK)
    original = one.aim.case[one.aim.case.target].text
    whole = pieces_between(original, one.text or "")
    pieces = by_length(original, whole, wins.text, setup.seed, common)
    pieces = pieces or simplest(original, whole, wins.text, setup.seed, common)
    text = rendered(tokens_of(original), pieces)
    if wins.known.get(text):
        one.found = with_text(one.aim.case, text)
