"""
Which templates are plain: what they do is bounded by their own length and by what they show, so they need no watch.

A plain template puts in values, asks conditions, and loops over the lists that it is given; it calls nothing, sets
nothing, and uses only filters that cannot make a text much longer. All others are rendered where they can be stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jinja2 import nodes

MOST_NODES: Final = 5_000
"""So many parts the syntax of a plain template has at most."""
MOST_PARTS: Final = 40
"""So many parts one expression of a plain template has at most."""
MOST_ROUNDS: Final = 100_000
"""So often the body of the innermost loop of a plain template may run."""
MOST_BETWEEN: Final = 100
"""Characters that `join` may put between two texts."""

_LISTS: Final = frozenset({"answers", "criteria", "notes", "examples", "fields"})
_LISTS_WITHIN: Final = frozenset({"history", "answers"})
_PAIRS: Final = frozenset({"items", "keys", "values"})
_FILTERS: Final = frozenset(
    {
        *("capitalize", "count", "d", "default", "e", "escape", "first", "float", "int", "join", "last", "length"),
        *("lower", "string", "title", "trim", "upper"),
    }
)
_STATEMENTS: Final = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For)
_EXPRESSIONS: Final = (
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.CondExpr, nodes.Tuple),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Test, nodes.Filter, nodes.Keyword),
    *(nodes.Add, nodes.Sub, nodes.Neg, nodes.Pos, nodes.Concat),
)


def loops_of(tree: nodes.Template) -> int | None:
    """Return how deep the loops of a plain template are nested; None for a template that is not plain."""
    try:
        return _Walk().deepest(tree, 0)
    except (_NotPlain, RecursionError):
        return None


def rounds(loops: int, context: Mapping[str, object]) -> int:
    """Return how often the innermost of nested loops may run with these values, at the most."""
    if loops < 2:
        return 0
    longest = 1
    for name in _LISTS:
        listed = context.get(name)
        if isinstance(listed, tuple | dict):
            longest = max(longest, len(listed))
        for one in listed if isinstance(listed, tuple) else ():
            longest = max(longest, *(len(getattr(one, within, ())) for within in _LISTS_WITHIN))
    return int(longest**loops)


class _NotPlain(Exception):
    """A part of a template that can do more than a plain one may."""


class _Walk:
    """One walk over the syntax of a template, which counts its parts."""

    def __init__(self) -> None:
        self.seen = 0

    def deepest(self, node: nodes.Node, within: int) -> int:
        """Return how deep the loops in a node are nested; `within` is how deep the node is."""
        if isinstance(node, nodes.Expr) and not isinstance(node, nodes.TemplateData):
            before = self.seen
            self._expression(node)
            if self.seen - before > MOST_PARTS:
                raise _NotPlain
            return within
        self._count(node, _STATEMENTS)
        if not isinstance(node, nodes.For):
            return max((self.deepest(child, within) for child in node.iter_child_nodes()), default=within)
        hidden = {name.name for name in node.target.find_all(nodes.Name)} | {getattr(node.target, "name", "")}
        if node.recursive or not _is_list(node.iter) or not hidden.isdisjoint(_LISTS):
            raise _NotPlain
        if not isinstance(node.iter, nodes.Call):
            self._expression(node.iter)
        inner = [node.target, *node.body, *node.else_, *([] if node.test is None else [node.test])]
        return max(within + 1, *(self.deepest(child, within + 1) for child in inner))

    def _expression(self, node: nodes.Node) -> None:
        self._count(node, _EXPRESSIONS)
        if isinstance(node, nodes.Filter) and not _is_cheap(node):
            raise _NotPlain
        for child in node.iter_child_nodes():
            self._expression(child)

    def _count(self, node: nodes.Node, known: tuple[type[nodes.Node], ...]) -> None:
        self.seen += 1
        if self.seen > MOST_NODES or type(node) not in known:
            raise _NotPlain


def _is_list(node: nodes.Node | None) -> bool:
    """Return whether an expression is one of the lists that a template is given, or a part of one; never a text."""
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Slice) and _is_list(node.node)
    if isinstance(node, nodes.Call):
        return not list(node.iter_child_nodes(exclude=("node",))) and _is_pairs(node.node)
    if isinstance(node, nodes.Getattr):
        return node.attr in _LISTS_WITHIN and isinstance(node.node, nodes.Name) and node.node.name not in _LISTS
    return isinstance(node, nodes.Name) and node.name in _LISTS


def _is_pairs(node: nodes.Node) -> bool:
    """Return whether an expression is `fields.items` or the like."""
    if not isinstance(node, nodes.Getattr) or not isinstance(node.node, nodes.Name):
        return False
    return node.attr in _PAIRS and node.node.name == "fields"


def _is_cheap(node: nodes.Filter) -> bool:
    """Return whether a filter cannot make a text much longer than what it is given."""
    if node.name not in _FILTERS or node.dyn_args is not None or node.dyn_kwargs is not None:
        return False
    if node.name != "join":
        return True
    given = [*node.args, *(keyword.value for keyword in node.kwargs)]
    short = all(isinstance(one, nodes.Const) and len(str(one.value)) <= MOST_BETWEEN for one in given)
    return short and _is_list(node.node)
