"""The documents, and the parts of them that can be checked."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def load_generator():
    """Return docs/generate.py as a module."""
    if "docs_generate" not in sys.modules:
        spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["docs_generate"] = module
        spec.loader.exec_module(module)
    return sys.modules["docs_generate"]


@cache
def commands():
    """Return the names of the commands of `calm`, of one or two words."""
    return set(load_generator().subcommands())


@cache
def parser_for(command):
    """Return the parser that `calm` makes for a command of one or two words."""
    return load_generator().cli._parser_for(command.split())


def parse(words):
    """Parse the words of a `calm` command, without what it hands on to pytest; SystemExit says that some are wrong."""
    own = words[: words.index("--")] if "--" in words else words
    two = " ".join(own[:2])
    parser_for(two if two in commands() else own[0]).parse_args(own)


def name(page):
    """Return how a page is called in the name of a test."""
    return str(page.relative_to(ROOT))


def without_code(text):
    """Return a page without its blocks and its code in lines."""
    return re.sub(r"`[^`\n]+`", "", BLOCK.sub("", text))


def blocks(page, language):
    """Return the blocks of a page in one language."""
    return [body for found, body in BLOCK.findall(page.read_text("utf-8")) if found == language]


def section(page, heading):
    """Return what stands under a heading of a page, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    text = page.read_text("utf-8").partition(f"\n{heading}\n")[2]
    return re.split(rf"^#{{1,{level}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]


def first_cells(text):
    """Return the names in backticks that begin the rows of the first table in a text."""
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    rows = table[0].splitlines()[2:] if table else []
    return [re.match(r"\|\s*`([^`]+)`", row)[1] for row in rows]


def anchors(page):
    """Return the fragments that the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
