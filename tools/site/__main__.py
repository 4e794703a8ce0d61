"""
Build the site of the docs, strictly: a link that leads nowhere is an error.

    python -m tools.site              # writes site/; `python -m http.server -d site` shows it, search included
    python -m tools.site --out DIR
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
    out: Path = parser.parse_args(arguments).out
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        written = pages.write(folder / "docs")
        (folder / "zensical.toml").write_text(settings(written), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        status = subprocess.run(command, cwd=folder, check=False).returncode
        if status == 0:
            shutil.rmtree(out, ignore_errors=True)
            shutil.copytree(folder / "site", out)
    return int(status != 0)


def settings(written: Sequence[str]) -> str:
    """Return the settings of Zensical for these pages."""
    index = (pages.ROOT / "docs/README.md").read_text("utf-8")
    order = [pages.site_path(name) for name in pages.targets("docs/README.md", index)]
    nav = navigation.as_toml(navigation.sections(written, order))
    base = BASE.read_text("utf-8")
    where = f"paths = [{json.dumps(str(pages.ROOT))}]\n"
    return base.replace(IN_PROJECT, f"{IN_PROJECT}nav = {nav}\n", 1).replace(OF_PYTHON, f"{OF_PYTHON}{where}", 1)


if __name__ == "__main__":
    sys.exit(main())
