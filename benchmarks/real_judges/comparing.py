"""Prompts of one judge side by side, as `calm compare` puts two runs: real differences, found or missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import fsum
from random import Random

from benchmarks.real_judges.tables import CLAIMS, OF_SET, Table
from calm.core.measures import MEASURES
from calm.core.reasons import Reason
from calm.results.compare import Difference, difference
from calm.results.pairing import Both, Paired

BASELINE = {"llmbar": "Vanilla", "scores": "base"}
"""The prompt of each judge that its others are compared with."""


@dataclass(slots=True)
class Found:
    """In how many samples a difference was sure and real, sure and of the wrong sign; and covered by each bound."""

    right: int = 0
    wrong: int = 0
    low: int = 0
    high: int = 0


def others(judge: str, judges: list[str]) -> Iterator[str]:
    """Yield the judges that a baseline is compared with: the same model with another prompt."""
    name, model, prompt = [*judge.split("/"), ""][:3]
    if BASELINE.get(name) == prompt:
        yield from (one for one in judges if one.startswith(f"{name}/{model}/") and one != judge)


def paired(old: Table, new: Table) -> Paired:
    """Return the cases that have a value in both tables, side by side."""
    after = {row.case: cell for row, cell in zip(new.rows, new.cells, strict=True)}
    rows = []
    for row, was in zip(old.rows, old.cells, strict=True):
        now = after.get(row.case)
        if now is not None and not isinstance(was, Reason) and not isinstance(now, Reason):
            rows.append(Both(row.case, row.cluster or row.case, was, now))
    return Paired(MEASURES[old.measure], tuple(rows))


def truth(both: Paired) -> float:
    """Return by how much the measure differs over all cases of both tables."""
    sign = -1 if both.measure.flipped else 1
    return sign * fsum(row.new - row.old for row in both.rows) / len(both.rows)


def compared(old: Table, new: Table, n: int, samples: int) -> Found:
    """Return what `calm compare` says of samples of n cases that both judges were asked about."""
    both, found = paired(old, new), Found()
    real = truth(both)
    rng = Random(f"{old.judge} {new.judge} {old.measure} {n}")
    shown = 1 + sum(measure.name in CLAIMS for part in OF_SET[old.judge.partition("/")[0]] for measure in part)
    two_sided = CLAIMS[old.measure].op == "abs<="
    known: dict[tuple[object, ...], Difference] = {}
    for _ in range(samples):
        drawn = rng.choices(both.rows, k=n)
        key = tuple(sorted(Counter((row.old, row.new) for row in drawn).items()))
        if key not in known:  # samples of the same values have the same difference
            rows = tuple(Both(f"case {at}", f"case {at}", row.old, row.new) for at, row in enumerate(drawn))
            said = difference([replace(both, rows=rows)], both.measure, shown, two_sided=two_sided)
            assert said is not None, "there are two cases"
            known[key] = said
        said = known[key]
        found.right += said.sure and said.value * real > 0
        found.wrong += said.sure and said.value * real <= 0
        found.low += said.low <= real + 1e-9
        found.high += said.high >= real - 1e-9
    return found
