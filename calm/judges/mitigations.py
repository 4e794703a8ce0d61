"""Ways to make a judge steadier, as judges around a judge: what they cost is counted and audited like the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from calm.case import Case, digest
from calm.errors import ConfigError, nearest
from calm.judges.prompted import together
from calm.verdict import Preferred, Refused, Scale, Task, Tie, Unreadable, Verdict
from calm.wire import Endpoint, Json, Judge, Send


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """A pairwise judge that is asked in both orders, and whose word counts only where the two agree."""

    inner: Judge

    @property
    def name(self) -> str:
        """The name of the judge inside."""
        return self.inner.name

    @property
    def task(self) -> Task:
        """The task of the judge inside."""
        return self.inner.task

    @property
    def scale(self) -> Scale:
        """The scale of the judge inside."""
        return self.inner.scale

    @property
    def fingerprint(self) -> str | None:
        """Identify the judge inside and the mitigation; None if the one inside is unknown."""
        inner = self.inner.fingerprint
        return None if inner is None else digest("swap", inner)

    @property
    def as_given(self) -> bool:
        """Whether the judge inside wants the case's own order, which is then the first of the two."""
        return self.inner.as_given

    @property
    def about(self) -> Mapping[str, Json]:
        """What is said of the judge inside, with the mitigation."""
        inner = dict(self.inner.about)
        before = inner.get("mitigations")
        return {**inner, "mitigations": [*(before if isinstance(before, list) else []), "swap"]}

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The models of the judge inside."""
        return self.inner.endpoints

    def sees(self, case: Case) -> object:
        """Return what the judge inside sees, in both orders."""
        return self.inner.sees(case), self.inner.sees(_turned(case))

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the preference that both orders share, a tie where they differ."""
        first, second = await together(self.inner.judge(case, send), self.inner.judge(_turned(case), send))
        for verdict in (first, second):
            if not isinstance(verdict, Preferred | Tie):
                return verdict if isinstance(verdict, Unreadable | Refused) else Unreadable("no preference")
        return _agreed(first, second)


def swap(judge: Judge) -> Judge:
    """Return a judge that asks a pairwise judge in both orders; an order that decides gives a tie."""
    if judge.task != "pairwise":
        raise ConfigError(f"mitigations: 'swap' expects a judge with task = 'pairwise', got task={judge.task!r}")
    return Swapped(judge)


MITIGATIONS: Mapping[str, Callable[[Judge], Judge]] = {"swap": swap}


def mitigated(judge: Judge, names: tuple[str, ...]) -> Judge:
    """Return a judge with the mitigations of these names around it, the first innermost."""
    for name in names:
        if name not in MITIGATIONS:
            raise ConfigError(f"mitigations: unknown name {name!r}{nearest(name, MITIGATIONS)}")
        judge = MITIGATIONS[name](judge)
    return judge


def _turned(case: Case) -> Case:
    return case.arranged(tuple(answer.id for answer in reversed(case.shown)))


def _agreed(first: Verdict, second: Verdict) -> Verdict:
    probabilities = _mean(getattr(first, "probabilities", None), getattr(second, "probabilities", None))
    if isinstance(first, Preferred) and isinstance(second, Preferred) and first.answer == second.answer:
        return Preferred(first.answer, probabilities)
    return Tie(probabilities)


def _mean(first: Mapping[str, float] | None, second: Mapping[str, float] | None) -> Mapping[str, float] | None:
    if first is None or second is None:
        return None
    return {name: (first.get(name, 0.0) + second.get(name, 0.0)) / 2 for name in sorted({*first, *second})}
