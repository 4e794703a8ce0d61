"""A quarry: a case in hand, what the judge said of each text that was tried in it, and how many asks are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, Protocol

from calm.core.case import Case
from calm.core.languages import language_of_case
from calm.core.reasons import NONE, Reason, reason_of
from calm.core.trials import Trials
from calm.core.verdict import NoReply, Verdict, as_written, code
from calm.experiment.inert import Form, stock_of
from calm.experiment.referee import Ask, Flip, Ruling, Terms, rule
from calm.experiment.setup import Setup
from calm.experiment.surfaces import surface
from calm.models.wire import Json
from calm.strategies.minimal import Enough
from calm.strategies.tokens import tokens_of
from calm.studies.attack.attack import Aim, favour_of, has_won
from calm.studies.hunt.places import Place

FRESH: Final = 32
"""The number of the first fresh ask of each side: no search asks as often."""


class NoneLeft(Exception):
    """A quarry has no asks left, or the hunt is stopped."""


class Looks(Protocol):
    """An observer of the rulings on texts."""

    def show(self) -> None:
        """Hear that asks were answered."""

    def saw(self, quarry: Quarry, text: str) -> None:
        """Hear of a text that flips the judge."""


@dataclass(frozen=True, slots=True)
class Said:
    """The outcome of one ask: whether the attacked answer won, its favour in [0, 1], and the verdict."""

    won: bool
    favour: float
    verdict: Verdict


@dataclass(eq=False)
class Quarry:
    """
    A case in hand. One thread at a time works on it.

    `asks` counts the asks about it, `left` those that it may still take; an ask that was made before is free. `stopped`
    says why nothing more can be asked, `lost` how many asks were not answered, by reason; `watch` looks on.
    """

    setup: Setup
    aim: Aim
    place: Place
    terms: Terms = field(default_factory=Terms)
    left: int = 0
    asks: int = 0
    lost: Counter[Reason] = field(default_factory=Counter)
    stopped: Reason = NONE
    said: dict[tuple[str, int], Said] = field(default_factory=dict)
    rulings: dict[str, Flip] = field(default_factory=dict)
    watch: Looks | None = None

    @cached_property
    def original(self) -> str:
        """The text as it was; "" for a place that is empty."""
        return self.place.read(self.aim.case) or ""

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the text as it was."""
        return tokens_of(self.original)

    @property
    def id(self) -> str:
        """The id of the case."""
        return self.aim.source.id

    def flips(self, text: str) -> bool:
        """
        Return whether a text flips the judge, by the referee; False where it may not be asked about.

        Raises:
            Enough: no ask is left.
        """
        if text not in self.rulings:
            if not self.place.allows(self.aim.case, text):
                self.rulings[text] = Flip.NO
            else:
                try:
                    self.rulings[text] = self.ruled(text, self.terms).flip
                except NoneLeft:
                    raise Enough from None
                if self.rulings[text] is Flip.YES and self.watch:
                    self.watch.saw(self, text)
        return self.rulings[text] is Flip.YES

    def ruled(self, text: str, terms: Terms, first: int = 0) -> Ruling:
        """
        Return the referee's ruling on a text, by asks from a block on.

        An ask without a reply speaks against a flip, whichever text it was about: what a server loses proves nothing.

        Raises:
            NoneLeft: it takes more asks than there are, or the hunt is stopped.
        """

        def asked(wanted: Sequence[Ask]) -> list[bool]:
            found = ask_all([(self, text if one.edited else self.original, one.number) for one in wanted])
            if self.watch:
                self.watch.show()
            if self.stopped or any(one is None for one in found):
                raise NoneLeft
            return [one is not None and _won(one, ask) for one, ask in zip(found, wanted, strict=True)]

        return rule(asked, terms, first)

    def favour(self, text: str) -> float:
        """Return the favour of the answer in the first ask about a text, else its favour without any."""
        found = self.said.get((text, 0))
        return self.aim.favour if found is None else found.favour

    def shown(self, text: str, number: int) -> tuple[Case, int]:
        """
        Return what an ask of a number shows of the case with a text in its place, and its repeat index.

        A fresh ask has inert words in each answer, too, other ones than the asks beside it: a judge that errs by the
        answers alone would say the same in all of them.
        """
        case = self.aim.case if text == self.original else self.place.write(self.aim.case, text)
        if number >= FRESH:
            stock = stock_of(language_of_case(self.aim.case))
            before, behind = (*stock.brief_openers, *stock.openers), (*stock.brief_closers, *stock.closers)
            opening, closing = (words[(number - FRESH) % len(words)] for words in (before, behind))
            for answer in case.shown:
                # apart from the text, as a find may be the sign with which a line begins
                here = answer.id == case.target
                shown = f"{opening}\n\n{answer.text}" if here else Form(closing=closing).around(answer.text)
                case = case.edit(answer.id, partial(_instead, shown or answer.text))
        return surface(case.untreated(), number)

    def codes(self, text: str, numbers: Iterable[int]) -> list[Json]:
        """Return the verdicts of some asks about a text, scores as the judge writes them."""
        asked = (code(self.said[text, n].verdict) for n in numbers if (text, n) in self.said)
        found = (as_written(said, self.setup.judge.scale) for said in asked)
        return [said if isinstance(said, str | float | int) else str(said) for said in found]

    def heard(self, verdict: Verdict) -> Said:
        """Return what a verdict says of the attacked answer; an ask without a reply is no win."""
        blank = Trials((), self.setup.family, self.setup.judge.scale)
        if isinstance(verdict, NoReply):
            reason = reason_of(verdict.reason)
            self.lost[reason] += 1
            if reason.unfinished:
                self.stopped = reason
            return Said(False, 0.0, verdict)
        x = favour_of(self.aim, verdict, blank)
        return Said(has_won(x, self.aim, blank), x, verdict)


def _instead(text: str, _before: str) -> str:
    return text


def _won(said: Said, ask: Ask) -> bool:
    """Return whether an ask counts as won: one without a reply does where the text is as it was, and else does not."""
    return not ask.edited if isinstance(said.verdict, NoReply) else said.won


def ask_all(wanted: Sequence[tuple[Quarry, str, int]]) -> list[Said | None]:
    """
    Return what the judge says of texts, all asked at once; None where a quarry has no ask left, or is stopped.

    Args:
        wanted: a quarry, a text in its place, and the number of the ask (`calm.experiment.surfaces`).
    """
    if not wanted:
        return []
    asked: list[tuple[Quarry, str, int]] = []
    for quarry, text, number in dict.fromkeys(wanted):
        if (text, number) in quarry.said or quarry.stopped or quarry.left < 1:
            continue
        quarry.left -= 1
        quarry.asks += 1
        asked.append((quarry, text, number))
    if asked:
        setup = asked[0][0].setup
        questions = []
        for quarry, text, number in asked:
            questions.append(quarry.shown(text, number))
        try:
            found = setup.engine.ask(setup.judge, questions)
        except CancelledError:  # the run ends: nobody waits for this
            raise NoneLeft from None
        for (quarry, text, number), one in zip(asked, found, strict=True):
            quarry.said[text, number] = quarry.heard(one.verdict)
    return [quarry.said.get((text, number)) for quarry, text, number in wanted]
