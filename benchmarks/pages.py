"""Pages that benchmarks write a part of."""

from __future__ import annotations

from pathlib import Path


def put(page: Path, opening: str, text: str, closing: str) -> None:
    """Put a text in the place of what stands between two marks of a page."""
    before, _, rest = page.read_text("utf-8").partition(opening)
    page.write_text(f"{before}{opening}{text}{closing}{rest.partition(closing)[2]}", "utf-8")
