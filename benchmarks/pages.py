"""Pages that benchmarks write a part of, and the line that says how its figures were measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MEASURED: Final = re.compile(
    r"^Measured (?P<date>\d{4}-\d\d-\d\d) at commit (?P<commit>\w+) \((?P<state>[^)]+)\) on (?P<machine>.+?), by: "
    r"`(?P<command>[^`]+)`(?P<more>.*)$",
    re.MULTILINE,
)
"""The line that `measured` returns."""
_TEXTS: Final = (".", ":!*.md", ":!docs", ":!calm/gate/resolution.csv")
"""What is code: all but the pages, and the table that a benchmark writes into the package."""


def put(page: Path, opening: str, text: str, closing: str) -> None:
    """Put a text in the place of what stands between two marks of a page."""
    before, found, rest = page.read_text("utf-8").partition(opening)
    if not found:
        raise SystemExit(f"{page.name}: expected the mark {opening}, found none")
    page.write_text(f"{before}{opening}{text}{closing}{rest.partition(closing)[2]}", "utf-8")


def measured(command: str, more: str = "") -> str:
    """
    Return the line that stands above figures: the date, the commit, the machine and the command.

    `command` is the module below `benchmarks`, with its options; `more` is what else the figures rest on.
    """
    commit = _git("rev-parse", "--short=8", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", *_TEXTS)
    state = "clean" if commit != "unknown" and changed == "" else "with changed files"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {platform.system()}"
    said = f"Measured {datetime.now(UTC):%Y-%m-%d} at commit {commit} ({state}) on {machine}"
    return f"{said}, by: `python -m benchmarks.{command}`{f'; {more}' if more else ''}."


def note(rows: Path, command: str) -> None:
    """Note beside a file of rows where and when this run adds to them."""
    line = measured(command)
    if line not in noted(rows):
        with _beside(rows).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def noted(rows: Path) -> str:
    """Return what the runs noted that measured the rows of a file."""
    return (
        _beside(rows).read_text("utf-8").strip()
        if _beside(rows).exists()
        else "Measured at a commit that is not known."
    )


def _beside(rows: Path) -> Path:
    return rows.with_name(f"{rows.name}.measured")


def figures(text: str) -> str:
    """Return a page without what changes from run to run: where and when it was measured."""
    return MEASURED.sub("", text)


def _git(*arguments: str) -> str | None:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None
