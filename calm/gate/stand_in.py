"""A judge that stands for another one in a plan: it is asked in its place, and calls nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, TypeVar, cast

from calm.core.case import TIE, Case, digest
from calm.core.classes import SHIPPED
from calm.core.edits import Expects
from calm.core.memo import Memo, once
from calm.core.recipes import made
from calm.core.verdict import FAMILY, Criteria, Label, Preferred, Ranking, Score, Tie, Unreadable, Verdict
from calm.engine.asks import Judgment, Prefetch, Question
from calm.engine.engine import Engine
from calm.judges.wrapper import JudgeWrapper
from calm.models.wire import Endpoint, Judge, Send

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class StandIn(JudgeWrapper):
    """A judge that stands for another one: it sees what that one sees, has no model, and is never asked."""

    pilots: Mapping[str, Verdict] = field(default_factory=dict)
    piloted: list[Case] = field(default_factory=list)

    @property
    def fingerprint(self) -> str | None:
        """None: it says nothing that could be kept."""
        return None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """None: nothing is called."""
        return ()

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict."""
        return self.verdict(case, send.ask)

    def verdict(self, case: Case, ask: int) -> Verdict:
        """Return the verdict that is assumed of a pilot, and note that there is one."""
        self.piloted.append(case)
        return self.pilots.get(case.id, Unreadable("planned, not asked"))

    def judgment(self, case: Case, ask: int) -> Judgment:
        """Return the verdict as an engine returns it."""
        return Judgment(self.verdict(case, ask))


class Asked(NamedTuple):
    """An ask: the judge with the prompt that it was asked by, the case, the repeat index, and what was answered."""

    judge: Judge
    case: Case
    ask: int
    judgment: Judgment


@dataclass(frozen=True, slots=True, eq=False)
class Sound(StandIn):
    """
    A stand-in that judges as a sound judge does: by the gold label, else always alike, and no edit moves it.

    It notices harm, and errs in a share `noise` of its asks. `asked` notes each of these once, `steady` what it says of
    a case where it does not err. `memo` keeps what was drawn for an ask.
    """

    expects: Expects | None = None
    sources: Mapping[str, Case] = field(default_factory=dict)
    noise: float = 0.0
    memo: Memo | None = None
    asked: dict[tuple[int, int, int], Asked] = field(default_factory=dict)
    steady: dict[int, Judgment] = field(default_factory=dict)

    def verdict(self, case: Case, ask: int) -> Verdict:
        """Return the verdict."""
        return self.judgment(case, ask).verdict

    def judgment(self, case: Case, ask: int) -> Judgment:
        """Return the verdict as an engine returns it."""
        key = id(self.inner), id(case), ask
        known = self.asked.get(key)
        if known is None:
            known = self.asked[key] = Asked(self.inner, case, ask, self._judged(case, ask))
        return known.judgment

    def _judged(self, case: Case, ask: int) -> Judgment:
        if self.noise and (FAMILY[self.task] == "rubric" or self._drawn(case, ask) < self.noise):
            rng = _randomness(case, ask)
            rng.random()  # that which decided whether it errs
            return Judgment(self._said(case, rng))
        known = self.steady.get(id(case))
        if known is None:
            known = self.steady[id(case)] = Judgment(self._said(case, None))
        return known

    def _drawn(self, case: Case, ask: int) -> float:
        """Return the number in [0, 1) that decides whether it errs in an ask."""
        return once(self.memo, lambda: _randomness(case, ask).random(), (case,), "planned", ask)

    def _said(self, case: Case, rng: Random | None) -> Verdict:
        """Return a verdict that is right, or one that errs by what is drawn."""
        match FAMILY[self.task]:
            case "pairwise":
                return self._preferred(case, rng)
            case "score":
                return self._scored(case, rng)
            case "rubric":
                return self._met(case, rng)
            case "label":
                return self._classed(case, rng)
            case _:
                return self._ranked(case, rng)

    def _harmed(self, case: Case) -> bool:
        """Return whether the one answer of a case is not the one that was to be judged, but a harmed copy."""
        source = self.sources.get(case.id)
        return self.expects is Expects.WORSE and source is not None and case.answers != source.answers

    def _best_first(self, case: Case) -> list[str]:
        """Return the answers, those that are better by gold first; what an edit added or harmed comes last."""
        source = self.sources.get(case.id, case)
        own = {a.id for a in source.answers}
        worth = {i: case.scores.get(i, 0.0) + (i == case.better) for i in own}
        return sorted((a.id for a in case.answers), key=lambda i: (i not in own, -worth.get(i, 0.0), i))

    def _preferred(self, case: Case, rng: Random | None) -> Verdict:
        texts = {a.text for a in case.answers}
        if (case.better == TIE and self.expects is not Expects.WORSE) or len(texts) == 1:
            return Tie() if rng is None else Preferred(rng.choice([a.id for a in case.answers]))
        first, *others = self._best_first(case)
        return Preferred(first if rng is None else rng.choice(others))

    def _scored(self, case: Case, rng: Random | None) -> Verdict:
        scale = self.scale
        if rng is not None:
            return Score(rng.uniform(scale.low, scale.high))
        value = min(max(case.scores.get(case.answers[0].id, (scale.low + scale.high) / 2), scale.low), scale.high)
        return Score(scale.low if self._harmed(case) else value)

    def _met(self, case: Case, rng: Random | None) -> Verdict:
        gold, harmed = case.met.get(case.answers[0].id, {}), self._harmed(case)
        found: dict[str, bool | None] = {}
        for criterion in case.criteria:
            good = case.points[criterion.id] > 0
            truth = not good if harmed else gold.get(criterion.id, good)
            found[criterion.id] = truth != (rng is not None and rng.random() < self.noise)
        return Criteria(found)

    def _classed(self, case: Case, rng: Random | None) -> Verdict:
        classes = self.scale.classes or SHIPPED
        true = case.label if case.label in classes.names else classes.names[0]
        if self._harmed(case) and classes.damaged is not None:
            true = classes.damaged
        return Label(true if rng is None else rng.choice([name for name in classes.names if name != true]))

    def _ranked(self, case: Case, rng: Random | None) -> Verdict:
        order = self._best_first(case)
        return Ranking(tuple((i,) for i in (order if rng is None else rng.sample(order, len(order)))))


def _randomness(case: Case, ask: int) -> Random:
    return Random(digest("planned", case.content(), ask))


def sound(judge: Judge, expects: Expects | None, cases: Sequence[Case], noise: float, memo: Memo | None) -> Sound:
    """Return a sound judge that stands for another one, in a probe whose edit expects something of the cases."""
    whose = judge.inner if isinstance(judge, StandIn) else judge
    return Sound(whose, expects=expects, sources={case.id: case for case in cases}, noise=noise, memo=memo)


class Stage:
    """
    The part of an engine that an experiment needs, where only stand-ins judge: each answers at once.

    Nothing is scheduled, sent or kept.
    """

    def ask_each(self, questions: Sequence[Question]) -> list[Judgment]:
        """Return the verdict on each question, in their order."""
        return [cast("StandIn", judge).judgment(made(case), ask) for judge, case, ask in questions]

    def prefetch(self, questions: Sequence[Question]) -> Prefetch:
        """Do nothing: what is wanted later is asked then."""
        return Prefetch()

    def withdraw(self, prefetch: Prefetch) -> None:
        """Do nothing."""

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return what some work returns for each item, in their order."""
        return [work(item) for item in items]


def stage() -> Engine:
    """Return a stage in the place of an engine."""
    return cast("Engine", Stage())
