"""Two runs side by side as one self-contained HTML file: what got worse, what got better, which cases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from calm.core.verdict import Code
from calm.results import outputs
from calm.results.audit import Audit
from calm.results.compare import RANK, Comparison, Flip, Moved
from calm.results.reports.charts import Axis, number
from calm.results.reports.heading import Moment, moment
from calm.results.reports.html import environment, safety
from calm.results.reports.rows import WORDS, anchors, measured

MOST_FLIPS = 500
"""How many flipped cases the page lists; the rest is counted."""
AXIS = Axis(-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Shift:
    """A claim of both runs, with the interval of its change on the common axis, in percent."""

    moved: Moved
    anchor: str
    old: str
    new: str
    change: str
    interval: tuple[float, float, float] | None
    limits: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class ClaimChanges:
    """Claims by how they changed."""

    worse: tuple[Shift, ...]
    better: tuple[Shift, ...]
    unclear: tuple[Shift, ...]
    same: int


def render(comparison: Comparison, old: Audit, new: Audit) -> str:
    """Return the page; everything that a model or user wrote is escaped."""
    pages = environment()
    shown = comparison.flips[:MOST_FLIPS]
    by_key = sorted(shown, key=lambda flip: flip.key)
    return pages.get_template("comparison.html.jinja").render(
        comparison=comparison,
        old=old,
        new=new,
        when=[_when(old), _when(new)],
        claims=_sorted(comparison),
        words=WORDS,
        axis=AXIS,
        flips=[(key, [_flip_row(flip) for flip in group]) for key, group in groupby(by_key, key=lambda flip: flip.key)],
        more_flips=max(0, len(comparison.flips) - MOST_FLIPS),
        **safety(pages, "comparison.js"),
    )


def _when(audit: Audit) -> Moment:
    return moment(audit.run.started) or Moment("", audit.run.started or "not recorded")


def _sorted(comparison: Comparison) -> ClaimChanges:
    """
    Return the claims by how they changed.

    A claim got worse or better if its outcome changed, or if it moved by more than chance explains among all claims.
    """
    worse: list[Shift] = []
    better: list[Shift] = []
    unclear: list[Shift] = []
    same = 0
    named = zip(comparison.moved, anchors("d", [m.key for m in comparison.moved]), strict=True)
    for moved, anchor in named:
        way = _way(moved)
        if way:
            (worse if way < 0 else better).append(_shift(moved, anchor))
        elif moved.changed:
            unclear.append(_shift(moved, anchor))
        else:
            same += 1
    return ClaimChanges(tuple(worse), tuple(better), tuple(unclear), same)


def _way(moved: Moved) -> int:
    """Return -1 for what got worse, 1 for what got better, 0 where that cannot be said."""
    old, new = RANK.index(moved.old.outcome), RANK.index(moved.new.outcome)
    if old != new:
        return -1 if new < old else 1
    found = moved.difference
    if found is None or not found.sure or not found.worse:
        return 0
    return -1 if found.worse > 0 else 1


def _shift(moved: Moved, anchor: str) -> Shift:
    found = moved.difference
    limits = [f"{f.claim.limit:g}" if f.claim else "none" for f in (moved.old, moved.new)]
    return Shift(
        moved,
        anchor,
        measured(moved.old) or "\N{EN DASH}",
        measured(moved.new) or "\N{EN DASH}",
        f"{_signed(found.value)} [{_signed(found.low)}, {_signed(found.high)}]" if found else "",
        (AXIS.at(found.low), AXIS.at(found.value), AXIS.at(found.high)) if found else None,
        (limits[0], limits[1]) if limits[0] != limits[1] else None,
    )


def _signed(value: float) -> str:
    """
    Return a difference with its sign.

    >>> _signed(0.25), _signed(-0.001), _signed(-0.5)
    ('+0.25', '0.00', '−0.50')
    """
    shown = number(value)
    return f"+{shown}" if round(value, 2) > 0 else shown


def _flip_row(flip: Flip) -> tuple[str, str, str]:
    return flip.case, _code(flip.old), _code(flip.new)


def _code(value: Code) -> str:
    if isinstance(value, str):
        return value.removeprefix("!")
    return f"{value:g}" if isinstance(value, int | float) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def write(comparison: Comparison, old: Audit, new: Audit, path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render(comparison, old, new)], outputs.REPORT)
