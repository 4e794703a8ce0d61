"""The API reference: a page for each package whose names are for people's own code, made from its docstrings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("calm", "calm.perturbations", "calm.strategies", "calm.testing")
EDIT = re.compile(r"\b(?:prompt_edit|perturbation)\(")
"""How an edit is made, of a function below it or beside it."""
WHOLE = "    options:\n      members: []\n      show_root_heading: false\n      show_source: false"
"""Of a package, its docstring alone."""


def page(package: str) -> str:
    """Return the page of a package: what it is, and each public name."""
    named = [f"::: {package}.{name}\n" for name in names(package)]
    return "\n".join([f"# {package}\n", f"::: {package}", f"{WHOLE}\n", *named])


def names(package: str) -> tuple[str, ...]:
    """
    Return the public names of a package, sorted: its `__all__`, or where that is computed, what it imports "as" itself.

    Of the perturbations they are the modules that hold an edit.
    """
    if package == "calm.perturbations":
        found = {path.stem: path.read_text("utf-8") for path in (ROOT / "perturbations").glob("[a-z]*.py")}
        return tuple(sorted(name for name, text in found.items() if EDIT.search(text)))
    body = ast.parse((ROOT / package.replace(".", "/") / "__init__.py").read_text("utf-8")).body
    guarded = [node for block in body if isinstance(block, ast.If) for node in block.body]
    imports = [node for node in (*body, *guarded) if isinstance(node, ast.ImportFrom)]
    again = {alias.name for node in imports for alias in node.names if alias.asname == alias.name}
    lists = [node.value for node in body if isinstance(node, ast.Assign) and _is_all(node)]
    listed = {name for value in lists if isinstance(value, ast.List) for name in ast.literal_eval(value)}
    return tuple(sorted(listed or again))


def _is_all(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
