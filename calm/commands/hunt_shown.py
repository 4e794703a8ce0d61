"""What `calm hunt` shows: how far it is, and the texts that it found with what was put into them marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calm.commands.terminal import progress_line
from calm.results.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from calm.studies.hunt import Finding, Progress

AROUND = 60
"""Characters of a text that are shown on each side of what was put into it."""
PARTS = 20
"""The bar of progress has so many parts; where no terminal shows it, a line is printed for each quarter of it."""


def show(findings: Sequence[Finding]) -> None:
    """Print the original and the smallest text of each finding as one, with what was added and taken away marked."""
    from calm.results.reports.texts import coloured, differences

    for one in findings:
        answer = f" {one.quarry.aim.case.target}" if one.quarry.place.name in ("answer", "byline") else ""
        print(printable(f"\n-- case {one.quarry.id}, {one.quarry.place.name}{answer}", "\n"))
        for text in differences(one.quarry.original, one.text, colour=coloured(), context=AROUND).splitlines():
            print(f"   {text}")


def progress(done: int, of: int) -> Callable[[Progress], None]:
    """Return what shows how far a hunt is, of which some were run before."""
    told: list[tuple[int, int]] = [(0, 0)]

    def line(one: Progress) -> None:
        filled = min(PARTS, (done * one.of + one.asks) * PARTS // max(1, of * one.of))
        quarter = (filled * 4 // PARTS, one.findings)
        progress_line(_said(one, done, of, filled), worth=quarter != told[0])
        told[0] = quarter

    return line


def _said(one: Progress, done: int, of: int, filled: int) -> str:
    """Return the line of progress."""
    best = "nothing yet" if not one.best else f"{len(one.best)} word{'s' * (len(one.best) > 1)}"
    place = f" (place {done + 1} of {of})" if of > 1 else ""
    found = f"{one.findings} finding{'s' * (one.findings != 1)}"
    return f"hunt: [{'#' * filled}{'.' * (PARTS - filled)}] {one.asks} of {one.of} asks{place}; {found}; best: {best}"
