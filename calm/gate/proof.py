"""What a question of a test returns: a `Proof` of its claims, or the `Estimates` of what was only observed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

from calm.core.claims import Estimate, Outcome
from calm.core.measures import MEASURES, Measure
from calm.results.audit import Finding
from calm.results.sentences import sentence
from calm.results.wording import claim, clipped, printable

MAX_REPR = 240
"""Longest representation that pytest shows whole in a failed assertion."""
FINE = frozenset({Outcome.PASS, Outcome.NOT_TESTED, Outcome.OBSERVED})
"""The outcomes that never make a proof false."""
_WORST_FIRST = (
    Outcome.FAIL,
    Outcome.INCOMPLETE,
    Outcome.UNDECIDED,
    Outcome.NOT_TESTED,
    Outcome.OBSERVED,
    Outcome.PASS,
)


class CalmUndecidedWarning(UserWarning):
    """A claim is undecided, and `--calm-undecided warn` lets it pass."""


class Proof:
    """What a claim's test asserts: true unless a claim failed, is undecided or is incomplete."""

    def __init__(
        self, findings: Sequence[Finding], *, passes: frozenset[Outcome], question: str, nothing: str = ""
    ) -> None:
        self.findings, self.question, self.nothing = tuple(findings), question, nothing
        self._passes = passes
        self.looked_at = False

    @property
    def holds(self) -> bool:
        """Whether every claim holds, without counting as having been looked at."""
        return not self._bad

    @property
    def _bad(self) -> list[Finding]:
        return [f for f in self.findings if f.outcome not in self._passes and f.accepted is None]

    def __bool__(self) -> bool:
        self.looked_at = True
        undecided = [f for f in self.findings if f.outcome is Outcome.UNDECIDED and f.accepted is None]
        if undecided and Outcome.UNDECIDED in self._passes and self.holds:
            warnings.warn(_said(undecided[0]), CalmUndecidedWarning, stacklevel=2)
        return self.holds

    def __repr__(self) -> str:
        if not self.findings:
            return f"NOT_TESTED: {self.nothing}"
        ordered = sorted(self._bad or self.findings, key=lambda f: _WORST_FIRST.index(f.outcome))
        text, *others = map(_said, ordered)
        for other in others:
            if len(text) + len(other) + 3 > MAX_REPR:
                break
            text = f"{text} | {other}"
        return clipped(text, MAX_REPR)


class Estimates(Mapping[Measure, Estimate]):
    """What `.observe` measured: an estimate for each measure that has one."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        self._estimates = {
            f.measure: Estimate(f.value, f.low, f.high, f.n, f.level, f.excluded)
            for f in findings
            if f.value is not None and f.low is not None and f.high is not None and f.level is not None
        }

    def __getitem__(self, measure: Measure) -> Estimate:
        return self._estimates[measure.name]

    def __iter__(self) -> Iterator[Measure]:
        return iter([MEASURES[name] for name in self._estimates])

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        return " | ".join(map(_said, self.findings))[:MAX_REPR]


def _said(one: Finding) -> str:
    return printable(f"{one.outcome.value} {claim(one)}: {sentence(one)}")
