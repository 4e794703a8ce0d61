"""
The pages of the site, made from those that people read in the repository.

Pages that lie outside of docs/ come in, and every link between files of the repository becomes one of the site.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.site import reference

ROOT = Path(__file__).resolve().parents[2]
HOME, OVERVIEW, DECISIONS = "index.md", "overview.md", "decisions/index.md"
MOVED: Mapping[str, str] = {
    "docs/README.md": HOME,
    "README.md": OVERVIEW,
    "docs/decisions": DECISIONS,
    "docs/measured": "measured/index.md",
    "docs/measured/README.md": "measured/index.md",
    "perturbations": "api/calm.perturbations.md",
    "suites": "reference/suites.md",
    "reports": "how-to/read-results-elsewhere.md",
}
"""Files of the repository that stand elsewhere on the site, and the page that a folder stands for."""
CASES = ("calm/cases/data/", "reference/cases/")
"""The folder of the pages about the bundled cases, in the repository and on the site."""
PART = re.compile(
    r"^ *(?P<fence>`{3,}).*?^ *(?P=fence)$"
    r"|(?P<words>\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?P<target>[^)\s:#]+)(?P<anchor>(?:#[^)\s]*)?\))"
    r"|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)
"""A block of code, a link to a file, or code within a line; what begins first counts."""


def write(folder: Path) -> list[str]:
    """Write all pages, and the files that they link, into a folder; return the pages' names there."""
    made = {site_path(_name(path)): on_site(_name(path), path.read_text("utf-8")) for path in originals()}
    made[DECISIONS] = on_site("docs/decisions", decisions())
    made |= {f"api/{package}.md": reference.page(package) for package in reference.PACKAGES}
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for name in sorted(linked_files()):
        to = folder / site_path(name)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to)
    return list(made)


def originals() -> list[Path]:
    """Return the pages of the repository that are on the site."""
    about_cases = sorted((ROOT / CASES[0]).glob("*.md"))
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *about_cases]


def words(text: str) -> int:
    r"""
    Return how many words of a page people read: those outside of tables and fenced blocks.

    >>> words("# A page\n\n| a | table |\n\n```sh\na command\n```\n\nfour words of text\n")
    7
    """
    lines = re.sub(r"^ *(`{3,}).*?^ *\1$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()
    return sum(len(line.split()) for line in lines if not line.lstrip().startswith(("|", "<!--")))


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def site_path(name: str) -> str:
    """
    Return where a file of the repository stands on the site.

    >>> site_path("README.md"), site_path("docs/how-to/run-in-ci.md"), site_path("LICENSE")
    ('overview.md', 'how-to/run-in-ci.md', 'LICENSE')
    """
    return MOVED.get(name) or name.removeprefix("docs/").replace(*CASES)


def targets(name: str, text: str) -> Iterator[str]:
    """
    Yield the files and folders of the repository that a page links.

    >>> list(targets("docs/tutorial.md", "[a](../README.md#b) `[c](d.md)` [e](how-to/f.md) [g](https://h.example)"))
    ['README.md', 'docs/how-to/f.md']
    """
    for found in PART.finditer(text):
        if found["target"]:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(name), found["target"]))


def linked_files() -> set[str]:
    """Return the files that a page links or shows and that are no pages."""
    linked = {target for page in originals() for target in targets(_name(page), page.read_text("utf-8"))}
    return {name for name in linked if (ROOT / name).is_file() and not name.endswith(".md")}


def decisions() -> str:
    """Return a page that lists the decisions."""
    found = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    lines = [f"- [{title(path.read_text('utf-8'))}](decisions/{path.name})" for path in found]
    return "\n".join(["# Decisions", "", "Why things are as they are, about half a page each.", "", *lines, ""])


def title(markdown: str) -> str:
    r"""
    Return the first heading of a page.

    >>> title("# How to write `calm`\n\ntext")
    'How to write `calm`'
    """
    found = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    return found[1] if found else ""


def on_site(name: str, text: str) -> str:
    """Return a page of the repository as it stands on the site."""
    return bare_pipes(relinked(name, text))


def relinked(name: str, text: str) -> str:
    """
    Return a page in which each link between files of the repository is one between files of the site.

    >>> relinked("README.md", "[a](docs/how-to/run-in-ci.md#b) `[c](d.md)`")
    '[a](how-to/run-in-ci.md#b) `[c](d.md)`'
    >>> relinked("docs/reference/suites.md", "[a](../../README.md)")
    '[a](../overview.md)'
    """
    before, after = posixpath.dirname(name), posixpath.dirname(site_path(name))

    def moved(part: re.Match[str]) -> str:
        if not part["target"]:
            return part[0]
        target = site_path(posixpath.normpath(posixpath.join(before, part["target"])))
        return f"{part['words']}{posixpath.relpath(target, after or os.curdir)}{part['anchor']}"

    return PART.sub(moved, text)


def bare_pipes(text: str) -> str:
    r"""
    Return a page whose tables have no escaped pipe in code: GitHub needs the escape there, and Zensical shows it.

    >>> print(bare_pipes(r"| `a\|b` | c\|d |"))
    | `a|b` | c\|d |
    """

    def row(line: re.Match[str]) -> str:
        return re.sub(r"`[^`\n]+`", lambda code: code[0].replace("\\|", "|"), line[0])

    return re.sub(r"^\|.*$", row, text, flags=re.MULTILINE)
