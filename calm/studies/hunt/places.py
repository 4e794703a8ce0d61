"""Where a hunt may write: the part of a case that somebody controls, and what of it must stay."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from calm.core.case import Case, Treated
from calm.core.validation import problems
from calm.experiment.showing import MARK
from calm.models.wire import Judge
from calm.studies.attack.asks import STACKED, fault_in
from calm.studies.attack.attack import AIM

ANSWER: Final = "answer"
_TURNS: Final = re.compile(r"\b(?:yes|no|not|never|none|neither|nor|cannot|true|false)\b|n['’]t\b", re.IGNORECASE)
"""Words of English that turn a statement round, or answer a question by themselves: an edited answer keeps them all."""


@dataclass(frozen=True, slots=True)
class Place:
    """
    A part of a case with one text, which a hunt may edit.

    `read` returns the text, "" where there is none yet; None where the case has no such part to edit. `write` returns
    the case with another text there.
    """

    name: str
    read: Callable[[Treated], str | None]
    write: Callable[[Treated, str], Treated]

    def allows(self, original: Treated, text: str) -> bool:
        """Return whether a text may be asked about: it says something, and what is true of the case stays true."""
        before = self.read(original) or ""
        if not text.strip() or text == before:
            return False
        after = self.write(original, text)
        if self.name == ANSWER:
            if _polarity(before) != _polarity(text):
                return False
            return fault_in(replace(AIM, rules=STACKED), original, after) is None
        return not before or not problems(before, text, STACKED)

    def shown_to(self, judge: Judge, case: Case) -> bool | None:
        """Return whether a judge is shown the text there; None where the case has no such part to edit."""
        one = case.with_order().treat(case.answers[0].id)
        before = self.read(one)
        if before is None:
            return None
        return judge.sees(one.untreated()) != judge.sees(self.write(one, f"{before} {MARK}".strip()).untreated())


def _polarity(text: str) -> Counter[str]:
    return Counter(map(str.lower, _TURNS.findall(text)))


def _criterion(case: Treated) -> str | None:
    return case.criteria[-1].text if case.criteria else None


def _with_criterion(case: Treated, text: str) -> Treated:
    return replace(case, criteria=(*case.criteria[:-1], replace(case.criteria[-1], text=text)))


def _bylined(case: Treated, text: str) -> Treated:
    return case.present(bylines={**case.bylines, str(case.target): text})


PLACES: Final[Mapping[str, Place]] = {
    place.name: place
    for place in (
        Place(ANSWER, lambda case: case[case.target].text, lambda case, text: case.edit(case.target, lambda _: text)),
        Place("question", lambda case: case.question, lambda case, text: replace(case, question=text)),
        Place("reference", lambda case: case.reference, lambda case, text: replace(case, reference=text)),
        Place("criteria", _criterion, _with_criterion),
        Place("notes", lambda _case: "", lambda case, text: case.present(notes=(*case.notes, text))),
        Place("byline", lambda case: case.bylines.get(str(case.target), ""), _bylined),
    )
}
"""What may be edited, by name: the weaker answer, or what somebody else than its author controls."""
