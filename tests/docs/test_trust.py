"""The recipes for CI do what the page on trust says, and the limits that it states are those of the code."""

import re
from pathlib import Path

from calm.cases.reading import MAX_LINE_BYTES
from calm.commands import init_ci
from calm.core import files
from calm.judges.prompts import sandbox
from calm.judges.reading.formats import MOST_PATTERN, REGEX_LIMIT_S
from calm.models import faults, transport
from tests.docs.pages import blocks

ROOT = Path(__file__).parents[2]
TRUST = ROOT / "docs" / "explanation" / "threats-and-trust.md"


def recipes():
    """Return each workflow that the docs show, and the one that `calm init` writes."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    shown = [body for page in pages for body in blocks(page, "yaml") if "calm" in body and "jobs:" in body]
    written = [init_ci.workflow("github", Path(), key).files for key in ("KEY", None)]
    return [
        *shown,
        *(text for files in written for text in files.values() if isinstance(text, str) and "jobs:" in text),
    ]


def test_no_recipe_gives_a_fork_what_it_can_use():
    """No fork gets a secret or a token that writes code, and no cache comes from its tree."""
    found = recipes()
    action = (ROOT / "action.yml").read_text("utf-8")

    assert len(found) > 1
    for recipe in (*found, action):
        assert "pull_request_target" not in recipe
        if recipe is not action:  # which has the permissions of its caller
            assert re.search(
                r"^permissions: \{\}\njobs:\n  gate:\n.*?\n    permissions:\n      contents: read\n    \S",
                recipe,
                re.M | re.S,
            )
            assert "calm report" not in recipe  # of a file of the tree
        if "uses: OWNER/calm@" in recipe:
            continue  # the action keeps the cache
        caches = re.findall(r"uses: actions/cache.*?path: (\S+ ?\S* ?\S*)/calm\.sqlite", recipe, re.DOTALL)
        assert caches == ["${{ runner.temp }}"]
        assert re.search(r"--calm-cache-file=\S?\$RUNNER_TEMP/calm\.sqlite", recipe)


def test_the_limits_on_the_page_are_those_of_the_code():
    """A limit that moves in the code moves on the page."""
    page = TRUST.read_text("utf-8")
    for said in [
        f"| {files.megabytes(files.MOST_BYTES)}, {files.MOST_VALUES // 10**6} million values |",
        f"| {MAX_LINE_BYTES // 10**6} MB |",
        f"| {files.MOST_COLUMNS:,} columns |",
        f"in a process of its own with {4 * files.MOST_BYTES // 10**9} GB of memory |",
        f"| {files.megabytes(files.MOST_SETTINGS)} |",
        f"| {files.MOST_DIGITS} digits in TOML",
        f"| {files.MOST_NESTED} deep |",
        f"| {sandbox.MAX_SOURCE:,} characters, rendered to {sandbox.MAX_RENDERED // 10**6} million, in "
        f"{sandbox.MAX_SECONDS} s of processor time and {sandbox.MAX_MEMORY // 10**9} GB of memory |",
        f"| {MOST_PATTERN:,} characters, counts that compile in 2 s, {REGEX_LIMIT_S} s of processor time on a reply |",
        f"| {transport.MOST_BYTES // 10**6} MB and a million values; {transport.MOST_PACKED_BYTES // 1000} kB",
    ]:
        assert said in page, said
    assert faults.MOST_VALUES == 10**6
