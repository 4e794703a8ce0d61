"""Two runs side by side as one self-contained HTML file: what got worse, what got better, which cases."""

from __future__ import annotations

from pathlib import Path

from calm.audit import Audit, write_whole
from calm.compare import Comparison
from calm.reports.html import environment
from calm.wording import value

MOST_FLIPS = 500
"""How many flipped cases the page lists; the rest is counted."""


def render(comparison: Comparison, old: Audit, new: Audit) -> str:
    """Return the page; everything that a model or user wrote is escaped."""
    template = environment().get_template("comparison.html.jinja")
    return template.render(
        comparison=comparison,
        old=old,
        new=new,
        shown=[m for m in comparison.moved if m.changed],
        flips=comparison.flips[:MOST_FLIPS],
        more_flips=max(0, len(comparison.flips) - MOST_FLIPS),
        measured=value,
    )


def write(comparison: Comparison, old: Audit, new: Audit, path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    write_whole(path, [render(comparison, old, new)])
