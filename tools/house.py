"""
Count what a person has to hold of calm: lines, modules, rooms, commands, fields and names.

    python -m tools.house [FOLDER] [--markdown] [--items] [--way]

FOLDER is a checkout (default: this one), of this or of an earlier version: classes are found by name wherever they
stand. `--items` also collects the tests, `--way` follows one probe and one ask through the code (`tools/way.py`); both
take some seconds more. It is a report and no limit.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, TypeGuard

ROOT: Final = Path(__file__).resolve().parent.parent
WAY: Final = str(Path(__file__).with_name("way.py"))

PLACES: Final = {
    "calm": "calm",
    "perturbations": "calm.perturbations",
    "suites": "calm.suites",
    "reports": "calm.results.reports",
}
"""The folders of the product, and what Python calls them."""
WATCHED: Final = ("Session", "Collector", "Finding", "Trial", "TrialRecord", "Pair")
MANY: Final = 20
"""A class with more fields than this is named."""
UNUSUAL: Final = ("fellows", "quarry", "heap", "clerk", "desk", "roll", "told", "laid", "material", "spread", "alike")
LOOKED_UP: Final = (*UNUSUAL, "tongue", "twins", "rulers")
"""Words that say nothing to a newcomer as the name of a module or of a class."""
SILENT: Final = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


@dataclass(frozen=True)
class Module:
    """A module of the product: its file, and its name as Python has it."""

    path: Path
    name: str

    @cached_property
    def text(self) -> str:
        """Its text."""
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """Its tree."""
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        """The part of calm that it belongs to: the first name below calm."""
        return self.name.partition(".")[2].partition(".")[0]

    @property
    def lines(self) -> int:
        """All of its lines."""
        return len(self.text.splitlines())

    @property
    def code(self) -> int:
        """Its lines without those that hold nothing but comments, docstrings and space."""
        said = {
            line
            for node in ast.walk(self.tree)
            if _is_words(node)
            for line in range(node.lineno, (node.end_lineno or 0) + 1)
        }
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        held = (range(one.start[0], one.end[0] + 1) for one in tokens if one.type not in SILENT and one.string)
        return len({line for lines in held for line in lines} - said)


def _is_words(node: ast.AST) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def modules(folder: Path) -> list[Module]:
    """Return the modules of the product in a checkout."""
    found = []
    for place, known in PLACES.items():
        for path in sorted((folder / place).rglob("*.py")):
            below = path.relative_to(folder / place).with_suffix("").parts
            found.append(Module(path, ".".join((known, *below)).removesuffix(".__init__")))
    return found


def private_once(product: Sequence[Module]) -> tuple[int, int]:
    """Return how many functions are private and named once in their module but for that, and how many there are."""
    once = every = 0
    for module in product:
        named: Counter[str] = Counter()
        own: list[str] = []
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                every += 1
                own += [node.name] * (node.name.startswith("_") and not node.name.startswith("__"))
            elif isinstance(node, ast.Name | ast.Attribute):
                named[node.id if isinstance(node, ast.Name) else node.attr] += 1
        once += sum(named[name] == 1 for name in own)
    return once, every


def imported(module: Module, known: Mapping[str, Module]) -> Iterator[str]:
    """Yield the modules of calm that a module imports, also inside a function; not those for type checkers alone."""
    checked = (node for node in ast.walk(module.tree) if isinstance(node, ast.If))
    waived = {id(one) for node in checked if "TYPE_CHECKING" in ast.unparse(node.test) for one in ast.walk(node)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import) and id(node) not in waived:
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and id(node) not in waived:
            for one in node.names:
                yield whole if (whole := f"{node.module}.{one.name}") in known else node.module


def arrows(product: Sequence[Module]) -> set[tuple[str, str]]:
    """Return each pair of rooms of which the first imports the second."""
    known = {one.name: one for one in product}
    found = {(m.room, known[name].room) for m in product if m.room for name in imported(m, known) if name in known}
    return {(one, other) for one, other in found if one != other and other}


def floors(pairs: set[tuple[str, str]]) -> int:
    """Return how many rooms the longest chain of arrows has; rooms in a circle count once."""
    below: dict[str, set[str]] = defaultdict(set)
    for one, other in pairs:
        below[one].add(other)

    def height(room: str, above: frozenset[str]) -> int:
        return 1 + max((height(one, above | {room}) for one in below[room] - above - {room}), default=0)

    return max((height(room, frozenset()) for room in list(below)), default=0)


def fields(node: ast.ClassDef) -> int:
    """Return how many fields a class has: those that it declares, and those that its methods set on `self`."""
    declared = {
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and "ClassVar" not in ast.unparse(one)
    }
    stored = {
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and ast.unparse(one.value) == "self"
    }
    return len(declared | stored)


def lazy(module: Module) -> int:
    """Return how many imports stand inside functions."""
    inside = {
        id(one)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for one in ast.walk(node)
        if isinstance(one, ast.Import | ast.ImportFrom)
    }
    return len(inside)


def ran(folder: Path, *words: str) -> str:
    """Return what a program prints that runs with the calm of a checkout."""
    env = {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout


def counted(folder: Path, *, items: bool = False, way: bool = False) -> dict[str, str]:
    """Return the rows of the table: what was counted, and the figures."""
    product = modules(folder)
    plugins = [one for one in product if one.room == "plugins"]
    core = [one for one in product if one.room != "plugins"]
    once, every = private_once(product)
    pairs = arrows(product)
    classes = [node for one in product for node in ast.walk(one.tree) if isinstance(node, ast.ClassDef)]
    sizes = sorted(((fields(node), node.name) for node in classes), reverse=True)
    watched = [f"{name} {max((n for n, whose in sizes if whose == name), default=0)}" for name in WATCHED]
    same = [name for name, count in Counter(node.name for node in classes).items() if count > 1]
    commands = json.loads(ran(folder, WAY, "commands"))
    tests = [path.read_text("utf-8") for path in (folder / "tests").rglob("*.py")]
    names = {part for one in product for part in one.name.split(".")} | {node.name.lower() for node in classes}
    options = [n for _, n, is_core in commands if is_core]
    of_pytest = {*re.findall(r"--calm-[a-z-]+", ran(folder, "-m", "pytest", "--help"))}
    rows = {
        "product lines, and without docstrings and comments": _lines(product),
        "the core with suites, perturbations and reports": _lines(core),
        "plug-ins": _lines(plugins),
        "modules, of the core": f"{len(product)}, {len(core)}",
        "functions, private and called once": f"{every:,}, {once:,} ({once / max(1, every):.1%})",
        "rooms, arrows, floors of calm/": f"{len({m.room for m in product if m.room})}, {len(pairs)}, {floors(pairs)}",
        "commands, of the core": f"{len(commands)}, {len(options)}",
        "options of commands, of the core": f"{sum(n for _, n, _ in commands)}, {sum(options)}",
        "options of pytest": str(len(of_pytest)),
        "fields": ", ".join(watched),
        f"classes with more than {MANY} fields": ", ".join(f"{name} {n}" for n, name in sizes if n > MANY) or "none",
        "classes, names that two or more have": f"{len(classes):,}, {len(same)}",
        "imports inside functions": str(sum(map(lazy, product))),
        "tests: lines, functions": f"{sum(len(t.splitlines()) for t in tests):,}, "
        f"{sum(len(re.findall(r'(?m)^ *(?:async )?def test_', t)) for t in tests):,}",
        "names that a newcomer must look up": ", ".join(word for word in LOOKED_UP if word in names) or "none",
    }
    if items:
        said = ran(folder, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests")
        rows["tests that pytest collects, of all"] = ", ".join(re.findall(r"(\d+)/?(\d*) tests? collected", said)[0])
    if way:
        rows |= json.loads(ran(folder, WAY, "probe"))
    return rows


def _lines(some: Sequence[Module]) -> str:
    return f"{sum(one.lines for one in some):,}, {sum(one.code for one in some):,}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="a checkout (default: this one)")
    parser.add_argument("--markdown", action="store_true", help="as a table of Markdown")
    parser.add_argument("--items", action="store_true", help="also collect the tests")
    parser.add_argument("--way", action="store_true", help="also follow a probe and an ask through the code")
    options = parser.parse_args(arguments)
    rows = counted(options.folder.resolve(), items=options.items, way=options.way)
    if options.markdown:
        print("| what | count |\n|---|---|")
    for what, found in rows.items():
        print(f"| {what} | {found} |" if options.markdown else f"{what}: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
