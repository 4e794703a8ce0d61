"""A template of Jinja2 that was written for another tool: its names are set to what they mean; its statements stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.defaults import DEFAULT_NAMESPACE

from calm.core.foreign_names import Role, meaning_of
from calm.judges.prompts.meanings import WHOLE, Placeholder, Puzzle, Unread, answers_of, expression, settled
from calm.judges.prompts.variables import VARIABLES

_OF_LISTS: Final = frozenset({"join", "first", "last", "list", "map", "batch", "select", "reject", "unique", "sort"})
"""Filters that go through a list; a text would be taken letter by letter."""
_NATIVE: Final[Mapping[str, frozenset[str]]] = {
    "answers": frozenset({"text", "label", "slot", "byline", "history", "steps"}),
    "criteria": frozenset({"id", "number", "text", "points"}),
    "examples": frozenset({"question", "answers", "verdict"}),
    "turns": frozenset({"role", "text"}),
    "context": frozenset({"id", "text"}),
}
"""Lists that calm gives a template, and what their items have."""
_FOREIGN_TOO: Final = frozenset({"turns", "context"})
"""Names that other tools use, too, for one text: a loop over them is calm's own."""

_COUNTS: Final = ("length", "count")
_ASKS: Final = (nodes.Test, nodes.Not, nodes.And, nodes.Or)
"""What asks whether there is something, and shows nothing of it."""


@dataclass(slots=True)
class Use:
    """How a name is used: where first, as a text, a list or a thing with parts, and whether it may be lacking."""

    line: int
    text: bool = False
    items: Use | None = None
    numbers: set[int] = field(default_factory=set)
    parts: dict[str, Use] = field(default_factory=dict)
    looped: bool = False
    may_lack: bool = False

    def item(self) -> Use:
        """Return how the items of it are used."""
        if self.items is None:
            self.items = Use(self.line)
        return self.items


@dataclass(frozen=True, slots=True)
class Borrowed:
    """
    The statements that set the names, what they mean, and what is not understood.

    `answers` is how many answers are shown; None: all of a case, however many it has.
    """

    head: str
    found: tuple[Placeholder, ...]
    unread: tuple[Unread, ...]
    answers: int | None


def borrowed(text: str, said: Mapping[str, str] = MappingProxyType({})) -> Borrowed:
    """Return what the foreign names of a template mean, as a user `said` or by themselves; nothing if it is broken."""
    try:
        tree = Environment(autoescape=False).parse(text)  # noqa: S701 - not rendered
    except TemplateSyntaxError as error:
        line = min(error.lineno, text.count("\n") + 1)
        if unknown := re.search(r"unknown tag '(\w+)'", error.message or ""):
            return Borrowed("", (), (Unread(line, f"{{% {unknown[1]} %}}", "tag"),), 0)
        return Borrowed("", (), (Unread(line, (error.message or "").rstrip("."), "syntax"),), 0)
    except RecursionError:
        return Borrowed("", (), (Unread(1, "too many brackets", "syntax"),), 0)
    uses = _Uses()
    uses.walk(tree, {})
    names = {name: use for name, use in uses.free.items() if not _is_ours(name, use)}
    found = tuple(settled(list(_leaves(names)), said))
    made = _Made({one.written: one for one in found})
    head = "".join(
        f"{{% set {name} = {made.value(name, name, use, meaning_of(name))} %}}" for name, use in names.items()
    )
    ours = None if "answers" in names else uses.free.get("answers")
    every = made.all_answers or (ours is not None and ours.looped)
    answers = max(answers_of(found), 0 if ours is None else max(ours.numbers, default=-1) + 1)
    return Borrowed(head, found, (*uses.unread, *made.unread), None if every else answers)


def _is_ours(name: str, use: Use) -> bool:
    """Return whether a name is one of calm's own, used as calm gives it."""
    if name not in VARIABLES:
        return False
    if name in _NATIVE:
        item = use.items
        if use.text or use.parts:
            return False
        if item is None:
            return name not in _FOREIGN_TOO
        return not item.text and item.parts.keys() <= _NATIVE[name]
    return name not in ("question", "reference") or not (use.items or use.parts)


def _leaves(uses: Mapping[str, Use], before: str = "", above: Role | None = None) -> Iterator[Placeholder]:
    """Yield each text that is used, by the path to it; the only part of a thing means what the thing does."""
    for name, use in uses.items():
        path, role = f"{before}{name}", _role(name, above)
        parts = use.parts or (use.items.parts if use.items else {})
        if parts:
            yield from _leaves(parts, f"{path}.", role if len(parts) == 1 or role in WHOLE else None)
        elif use.numbers == {0, 1} and role == "answer":
            yield Placeholder(path, "output_2", 0, 0, use.line, "second")
        else:
            yield Placeholder(path, path.partition(".")[0] if above == "rubric" else name, 0, 0, use.line, role)


def _role(name: str, above: Role | None) -> Role | None:
    """Return what a name means as a part of what means something itself."""
    return above if above in WHOLE else meaning_of(name) or above


class _Made:
    """What a name is set to."""

    def __init__(self, found: Mapping[str, Placeholder]) -> None:
        self.found = found
        self.unread: list[Unread] = []
        self.all_answers = False

    def value(self, path: str, name: str, use: Use, above: Role | None) -> str:
        """Return an expression of calm that can be used as a foreign name is."""
        known = self.found.get(path)
        name, role = (name, _role(name, above)) if known is None else (known.name, known.role)
        shown = expression(name, role) if known is None else known.expression
        if (use.text and (use.items or use.parts)) or (use.items and use.parts):
            self._odd(path, use, "parts")
        if {"role", "content"} <= use.parts.keys():
            self._odd(path, use, "item")
        if use.parts:
            if len(use.parts) > 1 and role in WHOLE:
                self._odd(path, use, "parts")
            above = role if len(use.parts) == 1 else None
            parts = [f"{key!r}: {self.value(f'{path}.{key}', key, part, above)}" for key, part in use.parts.items()]
            return "{" + ", ".join(parts) + "}"
        if use.items is None:
            return self._text(shown, use)
        several = role in ("answer", "first", "second") or name == "answers"
        if use.numbers - ({0, 1} if several else {0}):
            self._odd(path, use, "index")
        if several:
            self.all_answers |= use.looped
            if not use.items.parts:
                return 'answers | map(attribute="text") | list'
            if use.items.parts.keys() != {"text"}:
                self._odd(path, use, "item")
            return "answers"
        return f"[{self.value(path, name, use.items, role) if use.items.parts else self._text(shown, use)}]"

    @staticmethod
    def _text(shown: str, use: Use) -> str:
        return f'{shown} | default("")' if use.may_lack and shown.startswith("fields.") else shown

    def _odd(self, path: str, use: Use, why: Puzzle) -> None:
        self.unread.append(Unread(use.line, path, why))


class _Uses:
    """A walk over a template that notes how its names are used; names that a statement of its own sets are left out."""

    def __init__(self) -> None:
        self.free: dict[str, Use] = {}
        self.unread: list[Unread] = []

    def walk(self, node: nodes.Node, bound: Mapping[str, Use | None]) -> None:
        """Note what a node and those in it use; `bound` are the names that are set around it."""
        if isinstance(node, nodes.For):
            self._loop(node, bound)
            return
        if isinstance(node, nodes.Call):
            self._call(node, bound)
            return
        if isinstance(node, nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends):
            self.unread.append(Unread(node.lineno, type(node).__name__.lower(), "partial"))
        own: dict[str, Use | None] = dict(bound)
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Assign | nodes.AssignBlock | nodes.Macro | nodes.With):
                names = [one.name for one in child.find_all(nodes.Name) if one.ctx in ("store", "param")]
                names += [child.name] if isinstance(child, nodes.Macro) else []
                self.walk(child, {**own, **dict.fromkeys(names)})
                own |= dict.fromkeys(names)
                continue
            self._child(node, child, own)

    def _child(self, node: nodes.Node, child: nodes.Node, bound: Mapping[str, Use | None]) -> None:
        use = self.use(child, bound)
        if use is None:
            self.walk(child, bound)
        elif isinstance(node, _ASKS) or (isinstance(node, nodes.If | nodes.CondExpr) and child is node.test):
            use.may_lack = True
        elif isinstance(node, nodes.Filter) and child is node.node and node.name in _OF_LISTS:
            use.item().text = use.looped = True
        elif isinstance(node, nodes.Filter) and child is node.node and node.name in _COUNTS:
            return  # of a list or of a text: its other uses tell
        else:
            use.text = True

    def use(self, node: nodes.Node, bound: Mapping[str, Use | None]) -> Use | None:
        """Return how what a node names is used; None for a node that is no name, or a name that is set in here."""
        if isinstance(node, nodes.Name) and node.ctx == "load":
            if node.name in bound:
                return bound[node.name]
            return self.free.setdefault(node.name, Use(node.lineno))
        if isinstance(node, nodes.Getattr):
            above = self.use(node.node, bound)
            return None if above is None else above.parts.setdefault(node.attr, Use(node.lineno))
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const | nodes.Neg):
            above = self.use(node.node, bound)
            key = node.arg.value if isinstance(node.arg, nodes.Const) else -1
            if above is None or isinstance(key, str):
                return None if above is None else above.parts.setdefault(str(key), Use(node.lineno))
            above.numbers.add(int(key))
            return above.item()
        return None

    def _call(self, node: nodes.Call, bound: Mapping[str, Use | None]) -> None:
        """Note a call: a method of a text is one of calm's texts, too; any other is not understood."""
        called = node.node
        above = self.use(called.node, bound) if isinstance(called, nodes.Getattr) else None
        if above is not None and isinstance(called, nodes.Getattr):
            above.text = True
            if not hasattr(str, called.attr):
                self.unread.append(Unread(node.lineno, f"{called.attr}()", "helper"))
        elif isinstance(called, nodes.Name) and called.name not in (*bound, *DEFAULT_NAMESPACE):
            self.unread.append(Unread(node.lineno, f"{called.name}()", "helper"))
        else:
            self.walk(called, bound)
        for child in node.iter_child_nodes(exclude=("node",)):
            self._child(node, child, bound)

    def _loop(self, node: nodes.For, bound: Mapping[str, Use | None]) -> None:
        names = [node.target.name] if isinstance(node.target, nodes.Name) else []
        inside: dict[str, Use | None] = {**bound, "loop": None}
        inside |= dict.fromkeys(one.name for one in node.target.find_all(nodes.Name))
        use = self.use(node.iter, bound)
        if use is None:
            self.walk(node.iter, bound)
        else:
            use.looped = True
            inside |= dict.fromkeys(names, use.item())
        body = nodes.Output([])
        for part in (*node.body, *([] if node.test is None else [node.test])):
            self._child(body, part, inside)
        for part in node.else_:
            self._child(body, part, bound)
