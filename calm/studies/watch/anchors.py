"""A case as an anchor: what tells whether it is the same one as before, and what its verdicts are measured by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from calm.core.case import TIE, Case, digest
from calm.core.classes import Classes
from calm.core.trials import Trial, favour
from calm.core.verdict import Criteria, Label, Scale, Score, Tie, Verdict, readable

_UNSEEN: Final = ("id", "better", "met", "scores", "tags", "variants")
"""What of a case may change without the judge being asked another question."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """
    A case that is asked in every run: `shown` is a hash of what the judge is shown of it.

    `toward` is the answer whose favour is measured: the better one by gold, else the first. `points` are the weights of
    the criteria.
    """

    id: str
    shown: str
    toward: str
    points: Mapping[str, float] = field(default_factory=dict, compare=False, hash=False)

    @property
    def key(self) -> tuple[str, str]:
        """What it is known by in all runs."""
        return self.id, self.shown

    @property
    def row(self) -> Trial:
        """It as a row of trials, for `distance` and `favour`."""
        return Trial(self.id, points=self.points)


def anchors_of(cases: Sequence[Case]) -> tuple[Anchor, ...]:
    """Return the anchors that cases make, in their order."""
    return tuple(Anchor(case.id, _shown(case), _toward(case), dict(case.points)) for case in cases)


def agreement(verdict: Verdict, case: Case, scale: Scale) -> float | None:
    """
    Return how far a verdict agrees with the gold of a case, in [0, 1]; None where the case has none.

    Pairs: 1 for the better answer, a half for a tie where there is one. Scores: 1 minus the distance from the gold over
    the range. Rubrics: the share of criteria with the right word. Rankings: 1 where the best answer comes first, 0
    where it comes last. A verdict that says nothing agrees with none.
    """
    answer = case.answers[0].id
    if len(case.answers) > 1:
        if case.better is None and not case.scores:
            return None
        if not readable(verdict):
            return 0.0
        if case.better == TIE:
            return float(isinstance(verdict, Tie))
        return favour(verdict, _toward(case), Trial(case.id), scale)
    if scale.classes is not None:
        return None if case.label is None else _as_gold(verdict, case.label, scale.classes)
    truth = case.met.get(answer)
    if truth and not isinstance(verdict, Score):
        met = verdict.met if isinstance(verdict, Criteria) else {}
        return sum(met.get(one) == true for one, true in truth.items()) / len(truth)
    share = favour(Criteria(truth), answer, Trial(case.id, points=case.points), scale) if truth else None
    worth = case.scores.get(answer) if share is None else scale.low + share * (scale.high - scale.low)
    if worth is None:
        return None
    if not isinstance(verdict, Score):
        return 0.0
    return 1 - abs(verdict.value - min(max(worth, scale.low), scale.high)) / (scale.high - scale.low)


def _as_gold(verdict: Verdict, gold: str, classes: Classes) -> float:
    return 1 - classes.apart(verdict.value, gold) if isinstance(verdict, Label) else 0.0


def _shown(case: Case) -> str:
    return digest({name: value for name, value in case.content().items() if name not in _UNSEEN})[:16]


def _toward(case: Case) -> str:
    if case.better is not None and case.better != TIE:
        return case.better
    return max(case.answers, key=lambda answer: case.scores.get(answer.id, 0.0)).id
