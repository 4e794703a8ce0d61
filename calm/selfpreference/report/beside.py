"""The tables beside the rows that come from HSPP: all shapes of judges, committees, the agreement filter and slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calm.errors import ConfigError, nearest
from calm.selfpreference.evidence import Evidence
from calm.selfpreference.report.harmful import harmful
from calm.selfpreference.report.rows import Part
from calm.selfpreference.report.selections import SLICES, THRESHOLDS, filtered, sliced
from calm.selfpreference.report.together import together

ALL = "all"
"""The committee of all judges."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    Which tables a user asks for.

    `committees` hold the models of the members, or `ALL` alone; `with_self` keeps a judge in the committee that it is
    compared with, as published. `agreements` are thresholds in [0, 1], `slices` the ways of `SLICES`.
    """

    committees: tuple[tuple[str, ...], ...] = ()
    with_self: bool = False
    agreements: tuple[float, ...] = ()
    slices: tuple[str, ...] = ()


def asked_of(
    committees: Sequence[str] = (), agreement: str | None = None, slices: str | None = None, *, with_self: bool = False
) -> Asked:
    """
    Return what texts of the command line ask for: names, numbers and ways of slicing, separated by commas.

    Raises:
        ConfigError: a number outside [0, 1], or an unknown way of slicing.
    """
    thresholds = []
    for text in _split(agreement or ""):
        try:
            threshold = float(text)
        except ValueError:
            threshold = -1.0
        if not 0 <= threshold <= 1:
            raise ConfigError(f"--agreement: expected numbers from 0 to 1, such as 0.5,0.8, got {text!r}")
        thresholds.append(threshold)
    ways = _split(slices or "")
    for option, given, found in (("--agreement", agreement, thresholds), ("--slices", slices, ways)):
        if given is not None and not found:
            raise ConfigError(f"{option}: expected a value after it, got {given!r}; give one or leave the option out")
    if strange := [way for way in ways if way not in SLICES]:
        known = ", ".join(SLICES)
        raise ConfigError(f"--slices: expected some of {known}, got {strange[0]!r}{nearest(strange[0], SLICES)}")
    if with_self and not committees:
        raise ConfigError("--self-in-committee: expected --committee beside it, got none; add it or leave this out")
    return Asked(tuple(map(_split, committees)), with_self, tuple(thresholds), ways)


def check(asked: Asked, family: str, judges: Sequence[str]) -> None:
    """
    Refuse what these judges cannot give.

    Raises:
        ConfigError: an unknown or lonely member of a committee, or criteria wanted of judges of something else.
    """
    for option, given in (("--agreement", asked.agreements), ("--slices", asked.slices)):
        if given and family != "rubric":
            raise ConfigError(f"{option}: expected judges of criteria, got judges of {family} verdicts")
    least = 2 if asked.with_self else 3
    for members in _named(asked, judges).values():
        if strange := [name for name in members if name not in judges]:
            raise ConfigError(
                f"--committee: expected models of the judges, got {strange[0]!r}{nearest(strange[0], judges)}"
            )
        if len(set(members)) < least or len(set(members)) < len(members):
            raise ConfigError(
                f"--committee: expected at least {least} different judges, or {ALL}, got {', '.join(members) or 'none'}"
            )


def beside(evidence: Evidence, asked: Asked, seed: int) -> tuple[Part, ...]:
    """Return the tables: HSPP always, the agreement filter of criteria with three judges or more, the rest if asked."""
    judges = evidence.grid.judges
    given = _named(asked, judges)
    parts = [*harmful(evidence, given, with_self=asked.with_self), *together(evidence, given, seed)]
    table = evidence.table
    if table is not None and (asked.agreements or len(judges) > 2):
        parts.append(filtered(table, asked.agreements or THRESHOLDS))
    if table is not None and asked.slices:
        parts.append(sliced(table, asked.slices))
    return tuple(part for part in parts if part.rows or part.reason)


def _named(asked: Asked, judges: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the members of each committee by its name; several are numbered."""
    members = [tuple(judges) if one == (ALL,) else one for one in asked.committees]
    if len(members) == 1:
        return {"committee": members[0]}
    return {f"committee {number}": one for number, one in enumerate(members, start=1)}


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))
