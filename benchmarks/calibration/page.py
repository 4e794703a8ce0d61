"""The page."""

from benchmarks.calibration.kept import Kept


def page(kept: Kept) -> str:
    """Return the page."""
    return ""
