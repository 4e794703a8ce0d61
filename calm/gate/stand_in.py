"""A judge that stands for another one in a plan: it is asked in its place, and calls nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from calm.core.case import TIE, Case, digest
from calm.core.classes import SHIPPED
from calm.core.edits import Expects
from calm.core.verdict import FAMILY, Criteria, Label, Preferred, Ranking, Score, Tie, Unreadable, Verdict
from calm.judges.wrapper import JudgeWrapper
from calm.models.wire import Endpoint, Judge, Send


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
        """Return the verdict that is assumed of a pilot, and note that there is one."""
        self.piloted.append(case)
        return self.pilots.get(case.id, Unreadable("planned, not asked"))


@dataclass(frozen=True, slots=True, eq=False)
class Sound(StandIn):
    """
    A stand-in that judges as a sound judge does: by the gold label, else always alike, and no edit moves it.

    It notices harm, and errs in a share `noise` of its asks. `asked` notes each ask: the judge with the prompt that it
    was asked by, the case, and the repeat index.
    """

    expects: Expects | None = None
    sources: Mapping[str, Case] = field(default_factory=dict)
    noise: float = 0.0
    asked: list[tuple[Judge, Case, int]] = field(default_factory=list)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict."""
        self.asked.append((self.inner, case, send.ask))
        rng = Random(digest("planned", case.content(), send.ask))
        err = rng.random() < self.noise
        match FAMILY[self.task]:
            case "pairwise":
                return self._preferred(case, rng, err=err)
            case "score":
                return self._scored(case, rng, err=err)
            case "rubric":
                return self._met(case, rng)
            case "label":
                return self._classed(case, rng, err=err)
            case _:
                return self._ranked(case, rng, err=err)

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

    def _preferred(self, case: Case, rng: Random, *, err: bool) -> Verdict:
        texts = {a.text for a in case.answers}
        if (case.better == TIE and self.expects is not Expects.WORSE) or len(texts) == 1:
            return Preferred(rng.choice([a.id for a in case.answers])) if err else Tie()
        first, *others = self._best_first(case)
        return Preferred(rng.choice(others) if err else first)

    def _scored(self, case: Case, rng: Random, *, err: bool) -> Verdict:
        scale = self.scale
        value = min(max(case.scores.get(case.answers[0].id, (scale.low + scale.high) / 2), scale.low), scale.high)
        if self._harmed(case):
            value = scale.low
        return Score(rng.uniform(scale.low, scale.high) if err else value)

    def _met(self, case: Case, rng: Random) -> Verdict:
        gold, harmed = case.met.get(case.answers[0].id, {}), self._harmed(case)
        found: dict[str, bool | None] = {}
        for criterion in case.criteria:
            good = case.points[criterion.id] > 0
            truth = not good if harmed else gold.get(criterion.id, good)
            found[criterion.id] = truth != (rng.random() < self.noise)
        return Criteria(found)

    def _classed(self, case: Case, rng: Random, *, err: bool) -> Verdict:
        classes = self.scale.classes or SHIPPED
        true = case.label if case.label in classes.names else classes.names[0]
        if self._harmed(case) and classes.damaged is not None:
            true = classes.damaged
        return Label(rng.choice([name for name in classes.names if name != true]) if err else true)

    def _ranked(self, case: Case, rng: Random, *, err: bool) -> Verdict:
        order = self._best_first(case)
        return Ranking(tuple((i,) for i in (rng.sample(order, len(order)) if err else order)))


def sound(judge: Judge, expects: Expects | None, cases: Sequence[Case], noise: float) -> Sound:
    """Return a sound judge that stands for another one, in a probe whose edit expects something of the cases."""
    whose = judge.inner if isinstance(judge, StandIn) else judge
    return Sound(whose, expects=expects, sources={case.id: case for case in cases}, noise=noise)
