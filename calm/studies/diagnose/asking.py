"""Asking: a few asks of every case in each wording, then more of the cases whose first replies differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from calm.core.case import Case
from calm.core.reasons import NONE, Reason, counted, reason_of
from calm.core.verdict import FAMILY, NoReply, Scale, Verdict, code
from calm.engine.asks import PlainQuestion, Question
from calm.engine.engine import Engine
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.setup import clusters_of
from calm.experiment.stopping import LOST
from calm.studies.diagnose.units import Cell, Unit, dissents, units_of
from calm.studies.diagnose.wordings import Wording

FIRST: Final = 8
"""So many asks a case has at least in the first round: eight replies of a coin are all equal 1 time in 128."""


@dataclass(frozen=True, slots=True)
class Design:
    """
    How often a case is asked in each wording: `first` times, and up to `repeats` if its first replies differ.

    A judge that repeats itself is asked `first` times alone: what it says again is no new reply.
    """

    first: int
    repeats: int

    @classmethod
    def over(cls, wordings: int, asks: int) -> Design:
        """Return the design with so many asks of a case in some wordings together, in whole repeats of two or more."""
        repeats = max(2, ceil(asks / wordings))
        return cls(min(repeats, max(2, ceil(FIRST / wordings))), repeats)


@dataclass(frozen=True, slots=True)
class Asked:
    """
    The verdicts: `first` holds the first asks of all cases, `units` all asks.

    `frozen` says that no repeat of a wording ever differed, and that some were made. `lost` counts asks without a
    reply, by reason; `asked` all asks.
    """

    first: tuple[Unit, ...]
    units: tuple[Unit, ...]
    frozen: bool
    asked: int
    lost: Mapping[Reason, int] = field(default_factory=dict)

    @property
    def incomplete(self) -> Reason:
        """Why the data are incomplete, or `NONE`."""
        capped = any(reason.unfinished for reason in self.lost)
        return counted(self.lost) if capped or sum(self.lost.values()) > LOST * self.asked else NONE


class Book:
    """All verdicts of a diagnosis, by case and wording."""

    def __init__(self, wordings: Sequence[Wording], cases: Sequence[Case]) -> None:
        judge = wordings[0].judge
        salt = "" if judge.traits.as_given else ORDER_SALT
        self._plain = {case.id: case.with_order(salt) for case in cases}
        self._wordings = wordings
        self._said: dict[tuple[str, str], list[Verdict]] = {}
        self._first: dict[tuple[str, str], int] = {}
        self._cluster = clusters_of(cases)
        self._criteria = FAMILY[judge.task] == "rubric"
        self.lost: Counter[Reason] = Counter()
        self.asked = 0

    def ask(self, engine: Engine, cases: Sequence[Case], asks: range) -> None:
        """Ask about some cases in each wording, by some repeat indices."""
        places: list[tuple[str, str]] = []
        questions: list[Question] = []
        for case in cases:
            for wording in self._wordings:
                shown = wording.shown(self._plain[case.id])
                if shown is None:
                    continue
                record = wording.judge.traits.recorded
                for ask in asks if record is None else asks[: max(0, record.held(shown) - asks.start + 1)]:
                    one = wording.judge, shown, ask
                    questions.append(PlainQuestion(*one) if wording.kind == "base" else one)
                    places.append((case.id, wording.name))
        self.asked += len(questions)
        for place, answer in zip(places, engine.ask_each(questions), strict=True):
            if isinstance(answer.verdict, NoReply):
                self.lost[reason_of(answer.verdict.reason)] += 1
            else:
                self._said.setdefault(place, []).append(answer.verdict)
        for place, said in self._said.items():
            self._first.setdefault(place, len(said))

    def units(self, cases: Sequence[Case]) -> list[Unit]:
        """Return the verdicts on some cases."""
        found: list[Unit] = []
        for case in cases:
            cells = [
                Cell(one.name, one.kind, tuple(said), self._first[case.id, one.name])
                for one in self._wordings
                if (said := self._said.get((case.id, one.name)))
            ]
            if cells and cells[0].kind == "base":
                criteria = {one.id: one.text for one in case.criteria} if self._criteria else {}
                found += units_of(case.id, self._cluster[case.id], cells, criteria)
        return found


def ask(
    engine: Engine, wordings: Sequence[Wording], cases: Sequence[Case], design: Design, *, tolerance: float
) -> Asked:
    """
    Ask a judge about cases in some wordings, in two rounds, and return the verdicts.

    The second round takes the cases of which two replies of the first round differ, by more than `tolerance` of the
    scale for scores. What is counted in the end is all asks of a case. A case can only be named after both rounds, so
    the first one makes no name likelier than it was.
    """
    judge = wordings[0].judge
    book = Book(wordings, cases)
    book.ask(engine, cases, range(1, design.first + 1))
    first = book.units(cases)
    frozen = repeats_itself(first)
    differ = _differ(first, judge.scale, tolerance)
    again = [case for case in cases if case.id in differ]
    if not frozen and again and design.repeats > design.first and not any(one.unfinished for one in book.lost):
        book.ask(engine, again, range(design.first + 1, design.repeats + 1))
    return Asked(tuple(first), tuple(book.units(cases)), frozen, book.asked, dict(book.lost))


def repeats_itself(units: Sequence[Unit]) -> bool:
    """Return whether no two asks in the same words ever differ, though some were made."""
    cells = [cell for unit in units for cell in unit.cells if len(cell.verdicts) > 1]
    return bool(cells) and all(code(one) == code(cell.verdicts[0]) for cell in cells for one in cell.verdicts)


def _differ(units: Sequence[Unit], scale: Scale, tolerance: float) -> set[str]:
    return {unit.case for unit in units if any(dissents(unit.verdicts, scale, tolerance))}
