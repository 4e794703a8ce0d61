"""What pytest shows of a claim that does not hold: the line that claims it and what was found, not a screen each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_FOUND = 4
"""Lines that pytest shows of what an assertion found."""
_WHERE = "+  "
"""How pytest begins a line that says where a value came from; of a probe that is the test's own line again."""


def shorten(report: Any) -> None:
    """Cut the traceback of a failed claim to its function, the line that claims, and what was found."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", None) or ()
    for one in entries:
        if getattr(one, "style", "") in ("long", "short"):
            one.lines = shortened(one.lines)
            one.reprfuncargs = None


def shortened(lines: Sequence[str]) -> list[str]:
    """
    Return the lines of one entry of a traceback, cut.

    >>> shortened(["    def test_it(probe):", "        # why", ">       assert probe(it).proves(gain <= 0)", "E  FAIL"])
    ['    def test_it(probe):', '>       assert probe(it).proves(gain <= 0)', 'E  FAIL']
    """
    source = [line for line in lines if not line.startswith("E")]
    found = [line for line in lines if line.startswith("E") and not line[1:].lstrip().startswith(_WHERE)]
    at = next((place for place, line in enumerate(source) if line.startswith(">")), 0)
    return [*source[: min(at, 1)], *source[at:], *found[:MOST_FOUND]]
