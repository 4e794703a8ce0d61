"""
The share of mutants that the tests kill: how much the tests would notice.

    python -m tools.mutation                          # a sample of the mutants of each of TARGETS
    python -m tools.mutation claims --share 1         # every mutant of one target

Cosmic Ray's operators make the mutants. A hash of a mutant's place (definition, operator, the line's text) decides
whether it is drawn, so two versions of a module are asked about the same mutants where their lines are the same.
Mutants that change nothing but a type annotation are left out. Each mutant is written into the checkout that this
command runs in, tested in a process of its own, and taken back: run it in a checkout that nobody edits meanwhile.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

TARGETS: dict[str, tuple[float, str, tuple[str, ...]]] = {
    "claims": (0.4, "calm/core/claims.py", ("tests/core/test_claims.py", "tests/experiment")),
    "measures": (
        0.08,
        "calm/core/measures.py",
        ("tests/core/test_measures.py", "tests/core/test_trials.py", "tests/experiment"),
    ),
    "statistics": (0.006, "calm/statistics/*.py", ("tests/statistics/test_{stem}.py", "tests/statistics")),
    "reading": (0.05, "calm/judges/reading/*.py", ("tests/judges/test_reading.py",)),
    "experiment": (0.08, "calm/experiment/[apr]*.py", ("tests/experiment", "tests/gate/test_probe.py")),
}
"""
By name: the share of mutants to draw, the modules, and the tests that are to kill them, the quickest first.

`{stem}` stands for the name of the module.
"""
SLOW = 8.0
"""A test run that takes so many times as long as without a mutant is ended, and the mutant counts as killed."""


@dataclass(frozen=True)
class Mutant:
    """One change of one module: `code` is the whole module after it."""

    target: str
    module: str
    definition: str
    operator: str
    line: int
    before: str
    after: str
    code: str


def mutants(target: str, module: Path, share: float) -> Iterator[Mutant]:
    """Yield the drawn mutants of a module, at most a `share` of them in (0, 1]."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.ast.ast_query import ASTQuery
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source = module.read_text("utf-8")
    bare, lines = _bare(source), source.splitlines()
    tree = get_ast_from_path(module)
    seen: set[str] = set()
    for name in sorted(operator_names()):
        maker = get_operator(name)
        if maker.arguments():
            continue
        operator = maker()
        spots = [(node, start) for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node)]
        for occurrence, (node, (line, column)) in enumerate(spots):
            definition = ASTQuery(node).get_definition_name() or ""
            place = "|".join((definition, name, lines[line - 1].strip(), str(column - _indent(lines[line - 1]))))
            if int(sha256(place.encode()).hexdigest()[:12], 16) / 16**12 >= share:
                continue
            code = mutate_code(source, operator, occurrence)
            if code is None or code in seen or _bare(code) in (bare, None):
                continue
            seen.add(code)
            after = code.splitlines()[line - 1].strip() if line <= len(code.splitlines()) else ""
            yield Mutant(target, str(module), definition, name, line, lines[line - 1].strip(), after, code)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _bare(code: str) -> str | None:
    """Return a module without its type annotations, which decide nothing; None if it is no Python."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a mutant of the lone * before keyword arguments
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            given = node.args
            for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                if one is not None:
                    one.annotation = None
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.unparse(ast.Module([node for node in tree.body if not _only_types(node)], []))


def _only_types(node: ast.stmt) -> bool:
    """Return whether a statement is the module's docstring, an alias of types, or for a type checker alone."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr)
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def tested(tests: list[str], limit_s: float) -> tuple[bool, float]:
    """Run tests in a process of their own; return whether they passed, and how many seconds they took."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        import pytest

        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests])
        os._exit(int(status))
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0, time.monotonic() - began
        if time.monotonic() - began > limit_s:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False, limit_s
        time.sleep(0.01)


def main() -> int:
    """Draw, test and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=None, help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--share", type=float, help="share of mutants to draw (default: each target's own)")
    parser.add_argument("--json", type=Path, help="write every mutant and its fate")
    parser.add_argument(
        "--layout", type=Path, help="targets of another layout, as JSON: {name: [share, glob, [tests, ...]]}"
    )
    options = parser.parse_args()
    sys.dont_write_bytecode = True
    import numpy  # noqa: F401 - loaded once, before any process is made
    import pytest  # noqa: F401 - as numpy

    targets = (
        {
            k: (share, modules, tuple(tests))
            for k, (share, modules, tests) in json.loads(options.layout.read_text()).items()
        }
        if options.layout
        else TARGETS
    )
    fates: list[dict[str, object]] = []
    for target in options.targets or targets:
        share, pattern, stages = targets[target]
        for module in sorted(Path().glob(pattern)):
            fates += _module(target, module, stages, options.share or share)
        if options.json:
            options.json.write_text(json.dumps(fates, indent=1))
    print(f"\n{'target':<14}{'mutants':>8}{'killed':>8}{'share':>8}")
    for target in dict.fromkeys(str(f["target"]) for f in fates):
        mine = [f for f in fates if f["target"] == target]
        killed = sum(bool(f["killed"]) for f in mine)
        print(f"{target:<14}{len(mine):>8}{killed:>8}{killed / len(mine):>8.3f}")
    return 0


def _module(target: str, module: Path, stages: tuple[str, ...], share: float) -> list[dict[str, object]]:
    drawn = list(mutants(target, module, share))
    if not drawn:
        return []
    sets = [[name] for stage in stages if Path(name := stage.format(stem=module.stem)).exists()]
    limits = []
    for tests in sets:
        passed, seconds = tested(tests, 900)
        if not passed:
            raise SystemExit(f"{' '.join(tests)} fails without any mutant")
        limits.append(max(20.0, SLOW * seconds))
    original, fates = module.read_text("utf-8"), []
    for stale in module.parent.glob(f"__pycache__/{module.stem}.*.pyc"):
        stale.unlink()
    try:
        for mutant in drawn:
            module.write_text(mutant.code, "utf-8")
            killed = any(not tested(tests, limit)[0] for tests, limit in zip(sets, limits, strict=True))
            fate = asdict(mutant) | {"killed": killed}
            del fate["code"]
            fates.append(fate)
            word = "killed  " if killed else "SURVIVED"
            print(f"{word} {module}:{mutant.line} {mutant.operator.partition('/')[2]}: {mutant.after}", flush=True)
    finally:
        module.write_text(original, "utf-8")
    return fates


if __name__ == "__main__":
    sys.exit(main())
