"""What calm ships is reached by what it ships: no public function or class waits for a test alone to call it."""

import ast
import re
from pathlib import Path

import pytest

import calm
import calm.strategies
import calm.testing

ROOT = Path(calm.__file__).parent
FOR_USERS = {*calm.__all__, *calm.strategies.__all__, *vars(calm.testing), "code_cases", "shaped_cases"}
"""What users call in suites, properties and tests of their own."""
FOR_PROOFS = {
    "provable",  # benchmarks/resolution.py writes `resolution.csv` with it, which ships
    "operating_characteristics",  # the exact errors of the plans that ship, for their proof
    "gradient",  # the slope of one step of training, which benchmarks/uda.py holds against another computation
    "render_csv",  # what `write_csv` writes, in one text
}
"""What a table that ships, or the proof of a rule in use, needs."""


def named(tree):
    """Return the names that a module uses: names, attributes, and functions that a text names ("module:name")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"(?::| import )(\w+)(?:$|;)", node.value)


def public(tree):
    """Return the public functions and classes of a module that no decorator registers."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in tree.body:
        if isinstance(node, kinds) and not node.name.startswith(("_", "pytest_", "test_")):
            registered = re.search("perturbation|mitigation|_filter", " ".join(map(ast.unparse, node.decorator_list)))
            if not registered:
                yield node.name


@pytest.mark.slow
def test_no_public_name_is_reached_by_tests_alone():
    """Each is used by another line of calm, exported for users, or named here with the reason."""
    trees = {path: ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}
    trees |= {path: ast.parse(path.read_text("utf-8")) for path in (ROOT.parent / "reports").glob("*.py")}
    edits = [path for folder in ("perturbations", "suites") for path in (ROOT.parent / folder).rglob("*.py")]
    others = [ast.parse(path.read_text("utf-8")) for path in edits]
    used = {name for tree in [*trees.values(), *others] for name in named(tree)}

    alone = {
        f"{path.name}: {name}"
        for path, tree in trees.items()
        for name in public(tree)
        if name not in used and name not in FOR_USERS and name not in FOR_PROOFS
    }

    assert not alone
