"""How often a gate is red by noise, what it misses, and which mark and how many cases would do: `calm gate-risk`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import floor
from typing import Final, Literal, TypeAlias

from calm.core.claims import Claim, Estimate, decide
from calm.errors import ConfigError
from calm.plugins.gates.risk import LEVEL, Bounded, Chance, Gate
from calm.plugins.gates.verdicts import Verdicts

Why: TypeAlias = Literal["given", "likely", "sure"]
"""A mark is the user's own, the strictest with the wanted risk, or the strictest that has it by the upper bound."""
SCHEMA: Final = "calm-gate-risk/1"
CAUGHT: Final = 0.8
"""The share of drops that a gate is said to catch."""
ASKS: Final = (1, 3)
"""Asks of each case for which the cases are counted, beside those of the gate."""


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A gate as its user says it.

    `mark` is the lowest mean, or share of cases, that is green (the highest where low scores are good; None: the user
    has none). Of a gate on the share that passes `least` of the `asks` of a case must reach `pass_mark` (None: the
    verdicts pass or fail themselves).
    """

    kind: Literal["mean", "share"]
    mark: float | None
    cases: int | None = None
    asks: int = 1
    least: int = 0
    pass_mark: float | None = None
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Wishes:
    """How often a gate may be red by noise, and which drop it may miss how often (None: no drop was said)."""

    risk: float = 0.05
    drop: float | None = None
    missed: float = 1 - CAUGHT


@dataclass(frozen=True, slots=True)
class Mark:
    """
    A mark, and what is known of it.

    `red` is how often it is red though nothing changed, `missed` how often green though the mean fell by the wanted
    drop, `catches` the smallest drop that it sees in four of five runs.
    """

    why: Why
    mark: float
    red: Bounded
    missed: Bounded | None
    catches: float | None


@dataclass(frozen=True, slots=True)
class Needed:
    """About how many cases a gate needs, if each is asked so often: the same ones each time, or fresh ones."""

    asks: int
    same: int | None
    fresh: int


@dataclass(frozen=True, slots=True)
class GateRisk:
    """
    All that is said of a gate.

    `chance` is by what the gate takes the mean of, and `centre` that mean, or the share that passes, by the record.
    `other` is `red` of the given mark in the other reading.
    """

    verdicts: Verdicts
    rule: Rule
    wishes: Wishes
    chance: Chance
    centre: float
    outcome: str | None
    marks: tuple[Mark, ...]
    other: Bounded | None
    needed: tuple[Needed, ...]
    asks_to_decide: int | None

    def to_json(self) -> dict[str, object]:
        """
        Return the record.

        `roughness` is how far the normal curve may be off where the law is not exact; `grid` the number of steps on
        which scores without a step are put.
        """
        of, asked = self.verdicts, self.chance.asked
        return {
            "schema": SCHEMA,
            "level": LEVEL,
            "record": of.name,
            "cases": len(of.cases),
            "groups": of.groups,
            "asks": len(asked.of),
            "fewest": int(asked.repeats.min()),
            "most": int(asked.repeats.max()),
            "noisy": asked.noisy,
            "unread": of.unread,
            "silent": of.silent,
            "low": of.scale.low,
            "high": of.scale.high,
            "low_is_good": of.scale.best == "low",
            "rule": asdict(self.rule),
            "wishes": asdict(self.wishes),
            "gate": asdict(self.chance.gate),
            "centre": self.centre,
            "outcome": self.outcome,
            "marks": [asdict(mark) for mark in self.marks],
            "other": self.other and asdict(self.other),
            "needed": [asdict(one) for one in self.needed],
            "asks_to_decide": self.asks_to_decide,
            "roughness": self.chance.roughness,
            "grid": asked.grid,
        }


def judged(verdicts: Verdicts, rule: Rule) -> Verdicts:
    """
    Return what a gate takes the mean of: the scores, or which asks pass.

    Raises:
        ConfigError: a mark beyond the scale, or scores without a mark from which on they pass.
    """
    scale, share = verdicts.scale, rule.kind == "share"
    mark = rule.pass_mark if share else rule.mark
    if mark is not None and not scale.low <= mark <= scale.high:
        option = "--pass-mark" if share else "--mean-at-most" if scale.best == "low" else "--mean-at-least"
        raise ConfigError(
            f"{option}: expected a {'score' if share else 'mean'} on the scale of the record, {scale.low:g} to "
            f"{scale.high:g}, got {mark:g}; if the scale is another one, say --scale LOW..HIGH"
        )
    return verdicts.passing(mark) if share else verdicts


def chance_of(means: Verdicts, rule: Rule) -> Chance:
    """Return how often a gate is red, by what it takes the mean of."""
    return Chance(means.asked, Gate(rule.cases or len(means.cases), rule.asks, rule.least, rule.fresh))


def gate_risk(verdicts: Verdicts, rule: Rule, wishes: Wishes) -> GateRisk:
    """
    Return what is known of a gate by a record.

    Raises:
        ConfigError: see `judged`; or no case was asked twice, so that its noise is not known.
    """
    means = judged(verdicts, rule)
    upright, cases = means.scale.upright, len(means.cases)
    chance = chance_of(means, rule)
    known, room = means.asked.repeated, chance.centre()[0] - means.asked.low
    if not known and (not rule.fresh or rule.asks > 1):
        raise ConfigError(
            f"{verdicts.name}: expected several verdicts on each case, got one: how far the judge differs from itself "
            "is in no file, so nobody can say how often the gate goes red by noise. Ask the judge about the same cases "
            "5 times (2 at the least) and give all results, as a column or as a file for each time. One verdict is "
            "enough only for --new-cases, a gate that takes other cases each time"
        )
    if cases < 2:
        raise ConfigError(f"{verdicts.name}: expected two cases or more, got {cases}")
    if wishes.drop is not None and wishes.drop >= room:
        raise ConfigError(
            f"--drop: expected less than {room:.3g}, by which the {rule.kind} lies above the low end, got "
            f"{wishes.drop:g}"
        )

    def marked(why: Why, mark: float, shown: float) -> Mark:
        missed = None
        if wishes.drop is not None:
            red = chance.bounded(mark, wishes.drop)
            missed = Bounded(1 - red.value, 1 - red.high, 1 - red.low)
        return Mark(why, shown, chance.bounded(mark), missed, chance.smallest_caught(mark, 1 - CAUGHT))

    marks = [] if rule.mark is None else [marked("given", upright(rule.mark), rule.mark)]
    proposed: dict[Why, bool] = {"likely": False, "sure": True}
    for why, surely in proposed.items():
        mark = chance.highest(wishes.risk, surely=surely)
        if mark is not None:
            marks.append(marked(why, mark, _short(upright(mark), chance.spacing, down=means.scale.best == "high")))
    outcome = other = more = None
    if rule.mark is not None:
        red = marks[0].red
        claim = Claim("gate_risk", "<=", wishes.risk)
        outcome = decide(Estimate(red.value, red.low, red.high, cases, LEVEL), claim).value
        more = chance.asks_needed(upright(rule.mark), wishes.risk) if outcome == "UNDECIDED" else None
        other = chance_of(means, replace(rule, fresh=not rule.fresh)).bounded(upright(rule.mark)) if known else None
    centre, needed = upright(chance.centre()[0]), _needed(chance, wishes, known=known)
    return GateRisk(verdicts, rule, wishes, chance, centre, outcome, tuple(marks), other, needed, more)


def _needed(chance: Chance, wishes: Wishes, *, known: bool) -> tuple[Needed, ...]:
    asked, gate = chance.asked, chance.gate
    if wishes.drop is None or (known and not asked.noisy):  # what no noise needs is one case, and nobody believes it
        return ()
    found = []
    for asks in sorted({*ASKS, gate.asks}) if known else [gate.asks]:
        least = gate.least and (gate.least if asks == gate.asks else asks // 2 + 1)
        same, fresh = (
            Chance(asked, Gate(gate.cases, asks, least, one)).cases_needed(wishes.risk, wishes.drop, wishes.missed)
            for one in (False, True)
        )
        found.append(Needed(asks, same if known else None, fresh))
    return tuple(found)


def _short(mark: float, spacing: float, *, down: bool) -> float:
    """
    Return the shortest number that is the same mark, of means that lie so far apart.

    >>> _short(2 / 3, 1 / 60, down=True), _short(2 / 3, 1 / 60, down=False)
    (0.66, 0.67)
    """
    sign = 1 if down else -1
    for digits in range(10):
        short = float(sign * floor(sign * mark * 10**digits + 1e-6) / 10**digits)
        if sign * (mark - short) < spacing * (1 - 1e-6):
            return short
    return mark
