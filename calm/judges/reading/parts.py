"""Verdicts of several parts: numbers with names in one reply, and the arithmetic that makes one verdict of them."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Preferred, Score, Tie, Unreadable, Verdict
from calm.errors import nearest
from calm.judges.reading.formats import Format
from calm.judges.reading.marks import short
from calm.judges.reading.meanings import meant
from calm.judges.reading.views import View
from calm.judges.reading.words import one_of

LONGEST_FORMULA: Final = 500
"""Characters of a formula."""
DECIMALS: Final = 9
"""A result is rounded to so many, so that no sum misses the end of its scale by a hair."""
TWO_SCORES: Final = "first - second"
"""The formula of two scores in one reply: above 0 the first answer wins, below 0 the second."""
FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = {"min": min, "max": max, "round": round}
_SIGNS: Final[Mapping[type, Callable[..., float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_NOUN: Final = r"(?:[ \t]+(?:scores?|ratings?|grades?|verdict))?(?:[ \t]*\([^()\n]{0,60}\))?"


def by_parts(form: Format, view: View, said: Mapping[str, Verdict | Reason | None]) -> Verdict | Reason | None:
    """Return the verdict that the parts of a reply make; why they make none, or None if no part is there."""
    if all(one is None for one in said.values()):
        return None
    numbers: dict[str, float] = {}
    for name, one in said.items():
        if isinstance(one, Score):
            numbers[name] = one.value
        elif isinstance(one, Reason):
            return because(Kind.VERDICT_PART, Said(short(name)), one)
        else:
            return Unreadable(f"part {name!r}: {'it is not in the reply' if one is None else _why(one)}")
    values = ", ".join(f"{name} = {number:g}" for name, number in numbers.items())
    try:
        result = round(_worth(_parsed(form.formula), numbers), DECIMALS)
    except (ArithmeticError, ValueError, RecursionError):
        result = math.nan
    if not math.isfinite(result):
        return Unreadable(f"the formula has no value with {values}")
    if view.task == "pairwise":
        return Preferred(view.ids[0 if result > 0 else 1]) if result else Tie()
    verdict = meant(result, Format(), view)
    return Unreadable(f"{verdict.reason}, by the formula with {values}") if isinstance(verdict, Unreadable) else verdict


def _why(verdict: Verdict) -> str:
    return verdict.reason if isinstance(verdict, Unreadable) else short(verdict)


def labelled(label: str, kind: str) -> str:
    """Return the expression that finds a verdict in brackets, or at the end of a line, after a label."""
    words = r"[ \t]+".join(map(re.escape, label.split())) + _NOUN
    if kind == "brackets":  # "Facts and tone: [[9]] and [[4]]" is no verdict on the tone
        alone = r"(?<![\w/&-])(?<!\w[ \t]{0,3}(?:,|\band)[ \t]{0,3})"
        signs = rf"[ \t*_`\"'’:：=|–—-]{{0,12}}(?:(?:{one_of('copulas')})[ \t*_]{{0,6}})?"
        return rf"(?i){alone}{words}{signs}\[\[([^\[\]\n]{{0,200}}+)\]\]"
    opened = rf"(?im)^[ \t>*#_•|\d.)(`-]{{0,12}}{words}[ \t*_`]{{0,6}}[:：=|][ \t*_`|]{{0,6}}"
    return rf"{opened}([^\n|]{{1,40}}?)[ \t*_`]{{0,6}}(?:$|[|(]|[.;,](?=\s+\D|\s*$)|\s[–—-]\s(?!\d))"


def formula_problems(formula: str, names: Mapping[str, object]) -> list[str]:
    """Return what is wrong with a formula of these parts, a line for each problem."""
    try:
        tree = _parsed(formula)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [f"expected arithmetic on the parts, such as '{_example(names)}', got {formula[:80]!r}"]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - FUNCTIONS.keys()
    problems = [f"no part is called {name!r}{nearest(name, sorted(names))}" for name in sorted(used - names.keys())]
    unused = sorted(names.keys() - used)
    return problems + [f"the part {name!r} is not in the formula; use it, or take it out" for name in unused]


def _example(names: Mapping[str, object]) -> str:
    return " + ".join(names) or "a + b"


@lru_cache(maxsize=64)
def _parsed(formula: str) -> ast.expr:
    """
    Return the tree of a formula.

    Raises:
        ValueError: anything but numbers, names, + - * / and the functions; a `SyntaxError` and the like for no formula.
    """
    if len(formula) > LONGEST_FORMULA:
        raise ValueError("too long")
    tree = ast.parse(formula.strip(), mode="eval").body
    _worth(tree, None)
    return tree


def _worth(node: ast.expr, numbers: Mapping[str, float] | None) -> float:
    """Return what a tree is worth; without numbers, only look whether it is arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.Name(id=name) if name not in FUNCTIONS:
            return 1.0 if numbers is None else numbers[name]
        case ast.UnaryOp(op=sign, operand=inner) if type(sign) in _SIGNS:
            values = [inner]
            work = _SIGNS[type(sign)]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            values, work = [left, right], _SIGNS[type(sign)]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and (
            len(args) == 1 if name == "round" else len(args) > 1
        ):
            values, work = args, FUNCTIONS[name]
        case _:
            raise ValueError("no arithmetic")
    done = [_worth(one, numbers) for one in values]
    return 1.0 if numbers is None else float(work(*done))
