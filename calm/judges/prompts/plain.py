"""
Which templates are plain: what they do is bounded by their own length and by what they show, so they need no watch.

A plain template puts in values, asks conditions, and loops over the lists that it is given; it calls nothing, sets
nothing, and uses only filters that cannot make a text much longer. All others are rendered where they can be stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from jinja2 import nodes

from calm.judges.prompts.variables import DATA, FILTERS

MOST_NODES: Final = 5_000
"""So many parts the syntax of a plain template has at most."""
MOST_PARTS: Final = 40
"""So many parts one expression of a plain template has at most."""
MOST_WORK: Final = 20_000_000
"""So many characters the operations of a plain template may read and write, in all rounds of its loops: 0.1 s."""
ROUND: Final = 100
"""What a round of a loop costs, in characters."""
PART: Final = 20
"""What a part of an expression costs, in characters, however short what it is applied to."""
MOST_BETWEEN: Final = 100
"""Characters that `join` may put between two texts."""

_LISTS: Final = frozenset({"answers", "criteria", "notes", "examples", "fields", "turns", "context"})
_LISTS_WITHIN: Final = frozenset({"history", "answers", "steps"})
_PAIRS: Final = frozenset({"items", "keys", "values"})
_FILTERS: Final = frozenset(
    {
        *("capitalize", "count", "d", "default", "e", "escape", "first", "float", "int", "join", "last", "length"),
        *("lower", "string", "title", "trim", "upper"),
        *FILTERS,
    }
)
_FILTERS_AT_ONCE: Final = frozenset({"count", "d", "default", "first", "last", "length"})
"""Filters that do not go through a text."""
_TESTS_AT_ONCE: Final = frozenset(
    {
        *("boolean", "defined", "divisibleby", "even", "false", "float", "integer", "mapping", "none", "number"),
        *("odd", "sequence", "string", "true", "undefined"),
    }
)
"""Tests that do not go through a text."""
_PARTS: Final[Mapping[type, tuple[str, ...]]] = {kind: tuple(f.name for f in fields(kind)) for kind in DATA}
_STATEMENTS: Final = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For)
_EXPRESSIONS: Final = (
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.CondExpr, nodes.Tuple),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Test, nodes.Filter, nodes.Keyword),
    *(nodes.Add, nodes.Sub, nodes.Neg, nodes.Pos, nodes.Concat),
)


@dataclass(frozen=True, slots=True)
class Work:
    """
    What rendering a plain template can take, counted by the power of a list's length: place 2 is for two loops.

    `rounds` are rounds and parts of loops, in characters; `texts` is how often all texts of a case may be gone through.
    `written` is the length of the texts in the template itself.
    """

    rounds: tuple[int, ...]
    texts: tuple[int, ...]
    written: int

    def with_values(self, context: Mapping[str, object]) -> int:
        """Return the work with these values, in characters, at the most."""
        longest = _longest(context) if len(self.rounds) > 1 else 1
        length = self.written + _length(context) if any(self.texts) else 0
        return sum(
            (rounds + texts * length) * longest**power
            for power, (rounds, texts) in enumerate(zip(self.rounds, self.texts, strict=True))
        )


def work_of(tree: nodes.Template) -> Work | None:
    """Return what rendering a plain template can take; None for a template that is not plain."""
    walk = _Walk()
    try:
        walk.statement(tree, ())
    except (_NotPlain, RecursionError):
        return None
    powers = range(max((*walk.rounds, *walk.texts), default=0) + 1)
    return Work(tuple(walk.rounds[p] for p in powers), tuple(walk.texts[p] for p in powers), walk.written)


def _longest(context: Mapping[str, object]) -> int:
    """Return the length of the longest list that a template can loop over."""
    longest = 1
    for name in _LISTS:
        listed = context.get(name)
        if isinstance(listed, tuple | dict):
            longest = max(longest, len(listed))
        for one in listed if isinstance(listed, tuple) else ():
            longest = max(longest, *(len(getattr(one, within, ())) for within in _LISTS_WITHIN))
    return longest


def _length(value: object) -> int:
    """Return how many characters all texts in a value have together."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_length, value)) + sum(map(_length, value.values()))
    if isinstance(value, tuple):
        return sum(map(_length, value))
    return sum([_length(getattr(value, name)) for name in _PARTS.get(type(value), ())])


class _NotPlain(Exception):
    """A part of a template that can do more than a plain one may."""


class _Walk:
    """One walk over the syntax of a template, which counts its parts and what they cost."""

    def __init__(self) -> None:
        self.seen = self.written = 0
        self.rounds: Counter[int] = Counter()
        self.texts: Counter[int] = Counter()

    def statement(self, node: nodes.Node, loops: tuple[str, ...]) -> None:
        """Note what a statement costs; `loops` are the variables of the loops around it, one text for each loop."""
        if isinstance(node, nodes.Expr) and not isinstance(node, nodes.TemplateData):
            self._whole(node, loops)
            return
        self._count(node, _STATEMENTS)
        self.rounds[len(loops)] += PART if loops else 0
        if isinstance(node, nodes.For):
            self._loop(node, loops)
            return
        for child in node.iter_child_nodes():
            self.statement(child, loops)

    def _loop(self, node: nodes.For, loops: tuple[str, ...]) -> None:
        targets = [node.target] if isinstance(node.target, nodes.Name) else node.target.find_all(nodes.Name)
        names = {target.name for target in targets}
        if node.recursive or not _is_list(node.iter) or not names.isdisjoint(_LISTS):
            raise _NotPlain
        if not isinstance(node.iter, nodes.Call):
            self._whole(node.iter, loops)
        within = (*loops, " ".join(names))
        self.rounds[len(within)] += ROUND
        for child in (node.target, *node.body, *([] if node.test is None else [node.test])):
            self.statement(child, within)
        for child in node.else_:
            self.statement(child, loops)

    def _whole(self, node: nodes.Node, loops: tuple[str, ...]) -> None:
        """
        Note what a whole expression costs: each of its operations may make what the next one is applied to longer.

        What is done in a loop to its own variables goes through all texts of the list once, and not once in each round.
        """
        before = self.seen
        self._expression(node)
        parts = self.seen - before
        if parts > MOST_PARTS:
            raise _NotPlain
        self.rounds[len(loops)] += PART * parts if loops else 0
        names = {name.name for name in (node, *node.find_all(nodes.Name)) if isinstance(name, nodes.Name)}
        own = {"loop", *" ".join(loops).split()}
        power = len(loops) - bool(loops and names and names <= own)
        self.texts[power] += sum(map(_costs, (node, *node.find_all(nodes.Expr)))) ** 2

    def _expression(self, node: nodes.Node) -> None:
        self._count(node, _EXPRESSIONS)
        if isinstance(node, nodes.Filter) and not _is_cheap(node):
            raise _NotPlain
        if isinstance(node, nodes.Const) and isinstance(node.value, str):
            self.written += len(node.value)
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


def _costs(node: nodes.Node) -> int:
    """Return how often an operation may go through a text; 0 if what it takes does not depend on any."""
    if isinstance(node, nodes.Concat):
        return len(node.nodes)
    if isinstance(node, nodes.Filter):
        return int(node.name not in _FILTERS_AT_ONCE)
    if isinstance(node, nodes.Compare):
        sides = (node.expr, *(one.expr for one in node.ops))
        within = any(one.op in ("in", "notin") for one in node.ops)
        return int(within or sum(isinstance(side, nodes.Const) for side in sides) < len(sides) - 1)
    if isinstance(node, nodes.Test):
        return int(node.name not in _TESTS_AT_ONCE)
    return int(isinstance(node, nodes.Add | nodes.Slice))


def _is_cheap(node: nodes.Filter) -> bool:
    """Return whether a filter cannot make a text much longer than what it is given."""
    if node.name not in _FILTERS or node.dyn_args is not None or node.dyn_kwargs is not None:
        return False
    if node.name != "join":
        return True
    given = [*node.args, *(keyword.value for keyword in node.kwargs)]
    short = all(isinstance(one, nodes.Const) and len(str(one.value)) <= MOST_BETWEEN for one in given)
    return short and _is_list(node.node)
