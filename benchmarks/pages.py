"""Pages that benchmarks write a part of, and the line that says how its figures were measured."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MEASURED: Final = re.compile(
    r"^Measured (?P<date>\d{4}-\d\d-\d\d) at commit (?P<commit>\w+) \((?P<state>[^)]+)\) on (?P<machine>.+), by: "
    r"`(?P<command>[^`]+)`(?P<more>.*)\.$",
    re.MULTILINE,
)
"""The line that `measured` returns."""
UNNOTED: Final = re.compile(
    r"^Measured on or before (?P<date>\d{4}-\d\d-\d\d), at a commit that was not noted\.$", re.MULTILINE
)
"""The line of figures that were measured before such lines were written."""
UNKNOWN: Final = "unknown"
_CODE: Final = (".", ":!*.md", ":!docs", ":!calm/gate/resolution.csv")
"""All but the pages, and the table that a benchmark writes into the package."""


def measured(more: str = "") -> str:
    """Return the line for figures of this process: date, commit, machine, command; `more` is what else they rest on."""
    commit = _git("rev-parse", "--short=8", "HEAD") or UNKNOWN
    changed = commit == UNKNOWN or _git("status", "--porcelain", "--untracked-files=no", "--", *_CODE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {platform.system()}"
    said = f"Measured {datetime.now(UTC):%Y-%m-%d} at commit {commit} ({'with changed files' if changed else 'clean'})"
    return f"{said} on {machine}, by: `{_command()}`{f'; {more}' if more else ''}."


def put(page: Path, name: str, text: str, measured: str) -> None:
    """Put a text, and the line that says how it was measured, between the marks of that name in a page."""
    old = page.read_text("utf-8")
    new, found = _marks(name).subn(lambda marks: f"{marks[1]}{text.strip()}\n\n{measured}\n{marks[3]}", old)
    if not found:
        raise SystemExit(f"{page.name}: expected the marks of the block {name}, found none")
    page.write_text(new, "utf-8")


def between(page: Path, name: str) -> str:
    """Return what stands between the marks of that name in a page."""
    found = _marks(name).search(page.read_text("utf-8"))
    if found is None:
        raise SystemExit(f"{page.name}: expected the marks of the block {name}, found none")
    return found[2]


def block(page: Path, name: str) -> str:
    """Return what stands between the marks of that name in a page, but for how it was measured."""
    return figures(between(page, name))


def figures(text: str) -> str:
    """Return a text without the lines that say where and when it was measured."""
    return UNNOTED.sub("", MEASURED.sub("", text)).strip()


def note(rows: Path) -> None:
    """Note beside a file of rows where and when this process adds to them."""
    line = measured()
    if line not in noted(rows):
        with _beside(rows).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def carry(page: Path, rows: Path) -> None:
    """Note beside a file of rows what a page says of those that are taken from it."""
    lines = [found[0] for form in (UNNOTED, MEASURED) for found in form.finditer(page.read_text("utf-8"))]
    new = [line for line in dict.fromkeys(lines) if line not in noted(rows)]
    with _beside(rows).open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in new)


def noted(rows: Path) -> str:
    """Return what the processes noted that measured the rows of a file: a paragraph each."""
    return "\n\n".join(_beside(rows).read_text("utf-8").splitlines()) if _beside(rows).exists() else ""


def _beside(rows: Path) -> Path:
    return rows.with_name(f"{rows.name}.measured")


def _marks(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- (?:generated|measured): {name} -->\n)(.*?)(<!-- end: {name} -->)", re.DOTALL)


def _command() -> str:
    """Return how this process was started, without where it writes to and where its files lie."""
    spec = sys.modules["__main__"].__spec__
    module = spec.name.removesuffix(".__main__") if spec else Path(sys.argv[0]).stem
    words, given = [], iter(sys.argv[1:])
    for word in given:
        if word in ("--write", "--port"):
            next(given, None)
        else:
            words.append(Path(word).name if Path(word).is_absolute() else word)
    return shlex.join(["python", "-m", module, *words])


def _git(*arguments: str) -> str | None:
    try:
        found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git: a page may still be made
        return None
    return found.stdout.strip() if found.returncode == 0 else None
