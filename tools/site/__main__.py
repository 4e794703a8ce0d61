"""
Build the site of the docs, strictly: a link that leads nowhere is an error.

    python -m tools.site              # writes site/; `python -m http.server -d site` shows it, search included
    python -m tools.site --out DIR
    python -m tools.site --words      # builds nothing: how many words people read in docs/, by page and in all
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.site import navigation, pages

BASE = Path(__file__).with_name("site.toml")
IN_PROJECT = "[project]\n"
OF_PYTHON = "[project.plugins.mkdocstrings.handlers.python]\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site; return 0, or 1 where Zensical has a warning."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description="build the site of the docs")
    parser.add_argument("--out", type=Path, default=pages.ROOT / "site", help="folder to write (default: site/)")
    parser.add_argument("--words", action="store_true", help="count the words outside of tables and blocks, by page")
    chosen = parser.parse_args(arguments)
    if chosen.words:
        found = {path: pages.words(path.read_text("utf-8")) for path in (pages.ROOT / "docs").rglob("*.md")}
        for path, count in sorted(found.items(), key=lambda pair: pair[1]):
            print(f"{count:6} {path.relative_to(pages.ROOT)}")
        print(f"{sum(found.values()):6} in all")
        return 0
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sections = navigated(pages.write(folder / "docs"))
        shutil.copytree(pages.ROOT / "calm", folder / "source/calm")
        shutil.copytree(pages.ROOT / "perturbations", folder / "source/calm/perturbations")  # as a release holds them
        (folder / "zensical.toml").write_text(settings(sections, folder / "source"), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        status = subprocess.run(command, cwd=folder, check=False).returncode
        if status == 0:
            reorder(folder / "site" / "search.json", sections)
            shutil.rmtree(chosen.out, ignore_errors=True)
            shutil.copytree(folder / "site", chosen.out)
    return int(status != 0)


def navigated(written: Sequence[str]) -> list[navigation.Section]:
    """Return the navigation of these pages, in the order in which the start page links them."""
    index = (pages.ROOT / "docs/README.md").read_text("utf-8")
    return navigation.sections(written, [pages.site_path(name) for name in pages.targets("docs/README.md", index)])


def settings(sections: Sequence[navigation.Section], source: Path = pages.ROOT) -> str:
    """Return the settings of Zensical for these pages, with the API of the package `calm` in the folder `source`."""
    nav = navigation.as_toml(sections)
    base = BASE.read_text("utf-8")
    where = f"paths = [{json.dumps(str(source))}]\n"
    return base.replace(IN_PROJECT, f"{IN_PROJECT}nav = {nav}\n", 1).replace(OF_PYTHON, f"{OF_PYTHON}{where}", 1)


def reorder(index: Path, sections: Sequence[navigation.Section]) -> None:
    """Put what the search knows into the order of the navigation: of equally good finds it shows the first."""
    place = {name.removesuffix(".md"): i for i, name in enumerate(navigation.flat(sections))}
    known = json.loads(index.read_text("utf-8"))
    known["items"].sort(key=lambda item: place.get(item["location"].partition(".html")[0], len(place)))
    index.write_text(json.dumps(known, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
