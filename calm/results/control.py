"""
The control of a finding: what inert words did to the same cases, in the place of the edit and of about its length.

An edit is measured beyond its inert words. Where these move the verdict themselves, the measured effect does not show
that, so it is shown beside the finding: a judge that sees only length shows it here, and fails in one suite alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from calm.core.claims import Estimate
from calm.core.copies import changed
from calm.core.measures import MEASURES, gain, rewording_rate
from calm.core.reasons import NONE, Kind, Reason, because
from calm.core.trials import Trials
from calm.core.verdict import Family
from calm.errors import EstimateError
from calm.experiment.inert import REPEATS, TESTS_LENGTH
from calm.experiment.stopping import LEVEL

MUCH: Final[Mapping[Family, float]] = {
    "pairwise": 0.10,
    "listwise": 0.10,
    "score": 0.05,
    "rubric": 0.05,
    "label": 0.10,
}
"""Movement by inert words from which a finding says so: shares of verdicts, or of the scale."""
IN_ANSWER: Final = "answer"
"""The channel of an edit in an answer, beside which inert words make the answer as long as the edit does."""


@dataclass(frozen=True, slots=True)
class Control:
    """
    What inert words did: `moved` is the share of verdicts that they move beyond those that a repeat moves.

    `gain` is the favour that they add to the treated answer, None where there is none; `floor` names where they were,
    and how many; `n` counts the rows.
    """

    floor: str
    moved: float
    gain: float | None
    n: int


def control_of(trials: Trials | None, bias: str) -> tuple[Control | None, Reason]:
    """
    Return what inert words did to the rows of a probe, None without such asks; and why that matters, or `NONE`.

    A bias whose edits are inert words themselves has no such reason: there it is the finding.
    """
    found = () if trials is None else trials.rows
    rows = tuple(row for row in found if row.inert and row.room and len(row.clean) > 1 and row.floor != REPEATS)
    if trials is None or not rows:
        return None, NONE
    asked = replace(trials, rows=tuple(changed(row, perturbed=row.inert, inert=()) for row in rows))
    moved, gained = (_estimate(measure.name, asked) for measure in (rewording_rate, gain))
    if moved is None:
        return None, NONE
    floor = ", ".join(sorted({row.floor for row in rows}))
    control = Control(floor, _rounded(moved.value), None if gained is None else _rounded(gained.value), len(rows))
    if bias in TESTS_LENGTH:
        return control, NONE
    longer = any(IN_ANSWER in row.channel.split(", ") for row in rows)
    much = MUCH[trials.family]
    if _one_sided(gained, much):
        kind = Kind.SAME_LENGTH if longer else Kind.SAME_GAIN
        return control, because(kind, round(gained.value, 2) if gained else 0)
    turns = replace(trials, rows=tuple(changed(row, inert=()) for row in rows))
    if _beyond(moved.value, moved.low, much) and not _one_sided(_estimate(gain.name, turns), much):
        return control, because(Kind.SAME_PLACE, round(moved.value, 2))
    return control, NONE


def _estimate(name: str, trials: Trials) -> Estimate | None:
    try:
        return MEASURES[name].estimate(trials, LEVEL)
    except EstimateError:
        return None


def _one_sided(gained: Estimate | None, much: float) -> bool:
    return gained is not None and (
        _beyond(gained.value, gained.low, much) or _beyond(-gained.value, -gained.high, much)
    )


def _beyond(value: float, low: float, much: float) -> bool:
    return value > much and low > much / 2


def _rounded(value: float) -> float:
    return round(value, 6) + 0.0  # + 0.0 turns -0.0 into 0.0
