"""Split: how far two asks are apart by noise, by the wording of the prompt, and by that of the criteria."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final, Literal, TypeAlias

from calm.core.claims import Estimate
from calm.core.verdict import Scale, readable
from calm.experiment.stopping import LEVEL
from calm.statistics.dissent import between
from calm.statistics.intervals import clustered_t
from calm.studies.diagnose.units import Unit, block, noise

Worded: TypeAlias = Literal["prompt", "criterion"]
Source: TypeAlias = Literal["noise"] | Worded
WORDED: Final[tuple[Worded, ...]] = ("prompt", "criterion")
SOURCES: Final[tuple[Source, ...]] = ("noise", *WORDED)


@dataclass(frozen=True, slots=True)
class Part:
    """
    What one source adds to the distance of two asks, as a mean over units; None: fewer than two clusters show it.

    `noise` is the distance of two asks in the same words, in [0, 1]. `prompt` and `criterion` are what another wording
    adds to it, in [-1, 1]: 0 where a wording changes nothing, and by chance below it.
    """

    source: Source
    estimate: Estimate | None


def split(units: Sequence[Unit], scale: Scale) -> tuple[Part, ...]:
    """Return the three parts over some units, each with one-sided bounds of 5 % over their clusters."""
    return tuple(Part(source, _mean(units, value_of(source, scale), source)) for source in SOURCES)


def value_of(source: Source, scale: Scale) -> Callable[[Unit], float | None]:
    """Return the function that gives the part of a source in one unit, or None where the unit does not show it."""

    def excess(unit: Unit) -> float | None:
        told = {cell.kind for cell in unit.cells if any(map(readable, cell.verdicts))}
        found = block(unit, ("base", source), scale) if source != "noise" and {"base", source} <= told else None
        return None if found is None else between(found)

    return (lambda unit: noise(unit, scale)) if source == "noise" else excess


def _mean(units: Sequence[Unit], value: Callable[[Unit], float | None], source: Source) -> Estimate | None:
    found: dict[str, list[float]] = {}
    for unit in units:
        one = value(unit)
        if one is not None:
            found.setdefault(unit.cluster, []).append(one)
    if len(found) < 2:
        return None
    sums, sizes = [fsum(values) for values in found.values()], [len(values) for values in found.values()]
    bounds = clustered_t(sums, sizes, 0.0 if source == "noise" else -1.0, 1.0, LEVEL)
    return Estimate(fsum(sums) / sum(sizes), *bounds, len(found), LEVEL, {})
