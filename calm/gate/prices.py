"""What a run takes: asks, calls, tokens, dollars and seconds, for a sample of the cases and a design."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from calm.experiment.asks import Design
from calm.experiment.stopping import Stopping
from calm.gate.plan import CLEAN, CROSS, PERTURBED, PILOT, CaseArm, ProbeRow, Survey
from calm.gate.requests import OUTPUT_TOKENS, CallSize, Source
from calm.models.pricing import tokens_in
from calm.models.server import GREETING

CHARACTERS = 4
"""Characters of a prompt that are counted as one token."""
CALL_SECONDS = 2.0
"""Seconds that a call is taken to last."""
FIRST_CALL = "first live call"


@dataclass(frozen=True, slots=True)
class Figure:
    """Asks, calls, tokens, dollars (None: not known) and seconds."""

    asks: int = 0
    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0

    def plus(self, other: Figure) -> Figure:
        """Return the sum of two figures."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Figure(
            self.asks + other.asks,
            self.calls + other.calls,
            self.input + other.input,
            self.output + other.output,
            usd,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One row of a plan: what it adds to the rows before it, without and with every top-up."""

    name: str
    cases: int | None
    least: Figure
    most: Figure
    exact: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run takes."""

    cases: int
    design: Design
    lines: tuple[PriceRow, ...]
    least: Figure
    most: Figure

    @property
    def exact(self) -> bool:
        """Whether every figure is exact."""
        return all(line.exact for line in self.lines)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What a plan has to assume: the tokens of a reply, and the seconds of a call."""

    output_tokens: int = OUTPUT_TOKENS
    call_seconds: float = CALL_SECONDS


def plan_of(found: Survey, sample: int, design: Design, assumptions: Assumptions = Assumptions()) -> Plan:
    """Return what a run on the first `sample` cases takes with a design."""
    within = set(found.cases[:sample])
    tally = _Tally(found.sources, assumptions)
    early = found.settings.stopping is not Stopping.FIXED
    lines: list[PriceRow] = []
    for place, source in enumerate(found.sources):
        if source.live:
            greeted = tally.figure([CallSize(f"greeting {place}", len(GREETING), place)], 0)
            lines.append(PriceRow(FIRST_CALL, None, greeted, greeted, True))
    for arm, asks in ((PILOT, range(1)), (CLEAN, range(1, design.clean + 1))):
        shared = [(row, u) for row in found.rows for u in row.units if u.arm == arm and u.shared and _taken(u, within)]
        if shared:
            figure = tally.asked((unit, asks) for _, unit in shared)
            sure = {
                unit.prompts[0].key for row, unit in shared if arm == PILOT or not (row.open or (early and row.ruled))
            }
            exact = all(unit.prompts[0].key in sure for _, unit in shared)
            lines.append(PriceRow(arm, len({unit.case for _, unit in shared}), figure, figure, exact))
    rows = [row for row in found.rows if applies(row, within)]
    own = [[u for u in row.units if not u.shared and _taken(u, within)] for row in rows]
    firsts = [tally.asked((u, _asks_of(u, design.clean, design.perturbed)) for u in units) for units in own]
    for row, units, first in zip(rows, own, firsts, strict=True):
        most = first
        if row.staged and design.perturbed < design.clean and found.settings.stopping is not Stopping.ANYTIME:
            most = first.plus(tally.asked((u, _asks_of(u, design.clean, design.clean)) for u in units))
        exact = most == first and not (most.asks and (row.open or (early and row.ruled)))
        lines.append(PriceRow(row.name, applies(row, within), first, most, exact))
    least, most = Figure(), Figure()
    for line in lines:
        least, most = least.plus(line.least), most.plus(line.most)
    return Plan(len(within), design, tuple(lines), least, most)


def _taken(unit: CaseArm, within: set[str]) -> bool:
    return not unit.sampled or unit.case in within


def applies(row: ProbeRow, within: set[str]) -> int:
    """Return to how many cases the probe applies."""
    arms = (PERTURBED,) if row.edited else (CLEAN, CROSS)
    return len({unit.case for unit in row.units if unit.arm in arms and _taken(unit, within)})


def _asks_of(unit: CaseArm, clean: int, perturbed: int) -> range:
    if unit.arm == CROSS:
        return range(1, 2)
    return range(1, (clean if unit.arm == CLEAN else perturbed) + 1)


class _Tally:
    """Counts each ask and each call once, however many probes need it."""

    def __init__(self, sources: Sequence[Source], assumptions: Assumptions) -> None:
        self._sources, self._assumptions = sources, assumptions
        self._asked: set[tuple[str, int]] = set()
        self._called: set[tuple[str, int]] = set()

    def asked(self, wanted: Iterable[tuple[CaseArm, range]]) -> Figure:
        """Return what these asks add to those before."""
        asks, calls = 0, []
        for unit, numbers in wanted:
            for number in numbers:
                prompt, index = unit.prompts[0], number
                if len(unit.prompts) > 1:
                    prompt, index = unit.prompts[(number - 1) % 2], (number + 1) // 2
                if (prompt.key, index) in self._asked:
                    continue
                self._asked.add((prompt.key, index))
                asks += 1
                for call in prompt.calls:
                    if (call.key, index) not in self._called:
                        self._called.add((call.key, index))
                        calls.append(call)
        return self.figure(calls, asks)

    def figure(self, calls: Sequence[CallSize], asks: int) -> Figure:
        """Return what calls take."""
        total = Figure(asks=asks)
        for place, source in enumerate(self._sources):
            mine = [call for call in calls if call.source == place]
            if mine:
                total = total.plus(self._of(source, mine))
        return total

    def _of(self, source: Source, calls: Sequence[CallSize]) -> Figure:
        n = len(calls)
        if not source.live:
            return Figure(0, n) if source.free else Figure(0, n, usd=None, seconds=self._seconds(source, n))
        read = sum(ceil(call.characters / CHARACTERS) for call in calls)
        written = n * min(self._assumptions.output_tokens, source.max_tokens)
        usd = None if source.price is None else (read * source.price.input + written * source.price.output) / 1e6
        # as the engine counts them towards the limit of tokens a minute
        paced = sum(tokens_in(call.characters) // 2 + source.max_tokens // 8 for call in calls)
        return Figure(0, n, read, written, usd, self._seconds(source, n, paced))

    def _seconds(self, source: Source, calls: int, tokens: int = 0) -> float:
        limits = source.limits
        together = ceil(calls / limits.concurrency) * self._assumptions.call_seconds
        by_requests = 60 * calls / limits.rpm if limits.rpm else 0.0
        by_tokens = 60 * tokens / limits.tpm if limits.tpm else 0.0
        return max(together, by_requests, by_tokens)
