"""Python code inside answers: find a block that parses, and change it so that it still computes the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from calm import Treated
from calm.core.additions import in_case

_OPENING = re.compile(r"```(?P<marked>[^\s`]+)[ \t]*$")
_PYTHON = frozenset({"python", "python3", "py"})
LARGEST = 6_000
"""Characters of a block that is looked at: parsing and tokenising a longer one would take many milliseconds."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Python: where its source stands in a text, and what it parses to."""

    start: int
    end: int
    source: str
    tree: ast.Module


def python_block(text: str) -> Block | None:
    """Return the first fenced block that is marked as Python, is closed, and parses to at least one statement."""
    for marked, start, end in fences(text):
        if marked.lower() not in _PYTHON:
            continue
        source = text[start:end]
        tree = _parsed(source) if end - start <= LARGEST else None
        if tree is not None and tree.body:
            return Block(start, end, source, tree)
    return None


def rewritten(case: Treated, change: Callable[[Block, str], str | None]) -> Treated | None:
    """Return the case with the treated answer's first Python block changed; None if there is none, or no change."""
    text = case[case.target].text
    block = python_block(text)
    source = None if block is None else change(block, text)
    if block is None or source is None or source == block.source:
        return None
    return case.edit(case.target, lambda _: text[: block.start] + source + text[block.end :])


def insert_comment(case: Treated, words: str) -> Treated | None:
    """Return the case with a comment as the first line of the treated answer's first Python block."""
    return rewritten(case, lambda block, text: f"# {in_case(text, words)}\n{block.source}")


def append_comment(case: Treated, *lines: str) -> Treated | None:
    """Return the case with comments as the last lines of the treated answer's first Python block."""

    def change(block: Block, text: str) -> str:
        return block.source + "".join(f"# {in_case(text, line)}\n" for line in lines)

    return rewritten(case, change)


def insert_docstring(case: Treated, words: str) -> Treated | None:
    """Return the case with a docstring for the first function that has none, in the first Python block."""

    def change(block: Block, text: str) -> str | None:
        lines = block.source.split("\n")
        for function in ast.walk(block.tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or ast.get_docstring(function, False):
                continue
            first = first_line(function.body[0])
            indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
            # a body that begins on the line of its `def` has no line of its own to stand before
            if first > function.lineno and _begins_at(lines[first - 1], function.body[0].col_offset):
                plain = in_case(text, words).replace("\\", "/").replace('"', "'")
                return "\n".join([*lines[: first - 1], f'{indent}"""{plain}"""', *lines[first - 1 :]])
        return None

    return rewritten(case, change)


def first_line(statement: ast.stmt) -> int:
    """Return the line, counted from 1, on which a statement begins, with its decorators."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)])
    return statement.lineno


def _begins_at(line: str, offset: int) -> bool:
    return not line.encode("utf-8", "surrogatepass")[:offset].strip()


def fences(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what each closed fence is marked with (empty: nothing), and the offsets of what stands in it."""
    offset, start, marked = 0, 0, None
    for line in text.split("\n"):
        if marked is None and line.startswith("```"):
            opened = _OPENING.match(line)
            marked = opened["marked"] if opened else ""
            start = offset + len(line) + 1
        elif marked is not None and line.rstrip() == "```":
            yield marked, start, offset
            marked = None
        offset += len(line) + 1


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
