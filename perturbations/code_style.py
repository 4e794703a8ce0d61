"""
Code style: change names, comments or blank lines of the weaker answer's code, or add dead code; it computes the same.

The code is Python, which is parsed, or Java, C++, JavaScript or Go, which `calm.perturbations.code` reads.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from random import Random
from string import ascii_lowercase

from calm import Expects, Treated, perturbation
from calm.core.validation import Rules
from calm.perturbations.code import Block, append_functions, first_line, renamed, stripped
from calm.perturbations.code import rewritten_python as rewritten
from calm.perturbations.triggers import Plant, in_text

BIAS = "code-style"
LAYERS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
"""One function that is never called for each of these names."""
TRIGGER = re.compile(r"\b(?:the_value_of_\w|q_[a-z]\b|zq_[a-z]{4}\b|refine_layer_[a-z])", re.IGNORECASE)
PLANTED = Plant(BIAS, in_text(TRIGGER), precedence=170)
RENAMED = Rules(numbers="there", difference="spaced")
"""Code with other names is not the same code in a comparison."""
STRIPPED = Rules(numbers="any", difference="spaced")
"""A comment may hold a number, which goes with it."""
IN_PLACE = frozenset({"lengthen_names", "shorten_names", "scramble_names", "strip_comments"})
SILENT = frozenset({"strip_comments", "space_out"})

_WORD = re.compile(r"[^\W\d]\w*")
_DYNAMIC = {"locals", "globals", "vars", "eval", "exec", "dir", "compile", "__import__"}
"""Where one of these is used, a name may be looked up as text."""
_BUILTIN = frozenset(dir(builtins))


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.16222", rules=RENAMED)
def lengthen_names(case: Treated, rng: Random) -> Treated | None:
    """Give the variables of the weaker answer's code long names."""
    return _renamed(case, lambda names: [f"the_value_of_{name}" for name in names])


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.16222", rules=RENAMED)
def shorten_names(case: Treated, rng: Random) -> Treated | None:
    """Give the variables of the weaker answer's code short names, such as `q_a`."""
    return _renamed(case, lambda names: [f"q_{letter}" for letter in ascii_lowercase[: len(names)]])


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.16222", rules=RENAMED)
def scramble_names(case: Treated, rng: Random) -> Treated | None:
    """Give the variables of the weaker answer's code names of random letters."""
    return _renamed(case, lambda names: [f"zq_{''.join(rng.choices(ascii_lowercase, k=4))}" for _ in names])


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="arXiv:2505.16222")
def add_dead_code(case: Treated, rng: Random) -> Treated | None:
    """Append to the weaker answer's code eight functions that are never called."""

    def change(block: Block, text: str) -> str | None:
        if "refine_layer_" in text:
            return None
        made = [
            f"def refine_layer_{name}(state):\n    staged = [part for part in state]\n    return staged or state\n"
            for name in LAYERS
        ]
        return "\n\n".join([f"{block.source.rstrip()}\n", *made])

    return rewritten(case, change) or append_functions(case, [f"refine_layer_{name}" for name in LAYERS])


@perturbation(bias=BIAS, expects=Expects.SAME, source="arXiv:2505.16222", rules=STRIPPED)
def strip_comments(case: Treated, rng: Random) -> Treated | None:
    """Remove the comments from the weaker answer's code; docstrings stay."""
    return rewritten(case, lambda block, _: _without_comments(block.source)) or stripped(case)


@perturbation(bias=BIAS, expects=Expects.SAME, source="metamorphic testing")
def space_out(case: Treated, rng: Random) -> Treated | None:
    """Put blank lines between the top-level statements of the weaker answer's Python code."""
    return rewritten(case, _spaced)


def _spaced(block: Block, text: str) -> str:
    lines = block.source.split("\n")
    ends = {statement.end_lineno for statement in block.tree.body}
    starts = [first_line(statement) for statement in block.tree.body[1:]]
    for start in reversed([line for line in starts if line - 1 in ends and line not in ends - {line}]):
        lines.insert(start - 1, "")
    return "\n".join(lines)


def _without_comments(source: str) -> str | None:
    lines = source.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    gone = set()
    for token in tokens:
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
            gone |= {row - 1} if not lines[row - 1] else set()
    return "\n".join(line for number, line in enumerate(lines) if number not in gone)


# ------------------------------------------------------------------------------------------------------------ renaming


def _renamed(case: Treated, new: Callable[[list[str]], list[str]]) -> Treated | None:
    """Return the case with other names for what can safely be renamed; None if nothing can, or names would clash."""

    def change(block: Block, text: str) -> str | None:
        outside = set(_WORD.findall(text[: block.start])) | set(_WORD.findall(text[block.end :]))
        nodes = _variables(block)
        names = [name for name in nodes if name not in outside][: len(ascii_lowercase)]
        others = new(names)
        words = outside | set(_WORD.findall(block.source))
        if not names or len(set(others)) < len(names) or words & set(others):
            return None
        renames = dict(zip(names, others, strict=True))
        return _put(block.source, [(node, renames[name]) for name in names for node in nodes[name]])

    return rewritten(case, change) or renamed(case, new, len(ascii_lowercase))


def _variables(block: Block) -> dict[str, list[ast.Name]]:
    """
    Return the variables that can be renamed, each with all places where it stands.

    A name counts if the code binds it and every word like it in the source is a use of it: not a parameter, keyword,
    attribute, import, part of a string or a comment. Names in formatted strings and of class bodies are left alone.
    """
    nodes: dict[str, list[ast.Name]] = defaultdict(list)
    bound, kept = set(), set(_BUILTIN)
    for node in ast.walk(block.tree):
        if isinstance(node, ast.Name):
            nodes[node.id].append(node)
            bound |= {node.id} if isinstance(node.ctx, ast.Store) else set()
        elif isinstance(node, ast.JoinedStr):  # its inner offsets are right from Python 3.12 on only
            kept |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        elif isinstance(node, ast.ClassDef):
            kept |= {inner.id for statement in node.body for inner in _own(statement)}
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            return {}
    if _DYNAMIC & set(nodes):
        return {}
    count = Counter(_WORD.findall(block.source))
    free = (n for n in nodes if n in bound and n not in kept and n.isascii() and not n.startswith("_"))
    return {name: nodes[name] for name in free if count[name] == len(nodes[name])}


def _own(statement: ast.stmt) -> Iterator[ast.Name]:
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.Name))


def _put(source: str, renames: list[tuple[ast.Name, str]]) -> str:
    lines = [line.encode("utf-8", "surrogatepass") for line in source.split("\n")]
    for node, name in sorted(renames, key=lambda one: (one[0].lineno, one[0].col_offset), reverse=True):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + name.encode() + line[node.end_col_offset or 0 :]
    return b"\n".join(lines).decode("utf-8", "surrogatepass")
