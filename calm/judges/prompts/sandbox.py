"""
The Jinja2 sandbox: a template renders byte for byte, and is stopped before it fills the memory or takes for ever.

Jinja2 limits what a template can reach, not what it can take: one filter can take more time and memory than Python lets
us count. So a user's template is rendered in a helper process that holds both. A plain one is rendered here, at a
tenth of the time: it puts in values, asks conditions, and loops over the lists that it is given; it calls nothing, sets
nothing, and uses only filters that cannot make a text much longer. One of our own is rendered here, too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, UndefinedError, nodes
from jinja2.compiler import CodeGenerator
from jinja2.sandbox import ImmutableSandboxedEnvironment

from calm.core.helper import Helper, Stop, Stopped
from calm.errors import nearest
from calm.judges.prompts.variables import DATA, FILTERS, VARIABLES

MOST_NODES: Final = 5_000
"""So many parts the syntax of a plain template has at most."""
MOST_PARTS: Final = 40
"""So many parts one expression of a plain template has at most."""
MOST_WORK: Final = 20_000_000
"""So many characters a plain template may go through, in all rounds of its loops: 0.1 s. Above it is not plain."""
ROUND: Final = 100
"""What a part of a template costs in a round of a loop, in characters, however short what it is applied to."""
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
_AT_ONCE: Final = frozenset(
    {
        *("count", "d", "default", "first", "last", "length"),
        *("boolean", "defined", "divisibleby", "even", "false", "float", "integer", "mapping", "none", "number"),
        *("odd", "sequence", "string", "true", "undefined"),
    }
)
"""Filters and tests that do not go through a text."""
_FIELDS: Final = {kind: frozenset(field.name for field in fields(kind)) for kind in DATA}
_STATEMENTS: Final = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For)
_EXPRESSIONS: Final = (
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.CondExpr, nodes.Tuple),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Test, nodes.Filter, nodes.Keyword),
    *(nodes.Add, nodes.Sub, nodes.Neg, nodes.Pos, nodes.Concat),
)


class Work(NamedTuple):
    """
    What rendering a plain template can take: its parts, and the operations that may go through a text.

    `outside` are those of loops. `depth` is that of its loops, `written` the length of the texts in expressions.
    """

    parts: int
    texts: int
    outside: int
    depth: int
    written: int

    def with_values(self, context: Mapping[str, object]) -> int:
        """Return how many characters it goes through at most, in all rounds of its deepest loops."""
        length = self.written + _length(context) if self.texts or self.outside else 0
        rounds = _longest(context) ** self.depth if self.depth else 1
        return self.outside * length + (ROUND * self.parts + self.texts * length) * rounds


def work_of(tree: nodes.Template) -> Work | None:
    """Return what rendering a plain template can take; None for a template that is not plain."""
    seen = texts = outside = deepest = written = 0

    def count(node: nodes.Node, known: tuple[type[nodes.Node], ...]) -> None:
        nonlocal seen
        seen += 1
        if seen > MOST_NODES or type(node) not in known:
            raise _NotPlain

    def expression(node: nodes.Node) -> int:
        nonlocal written
        count(node, _EXPRESSIONS)
        if isinstance(node, nodes.Filter) and not _is_cheap(node):
            raise _NotPlain
        if isinstance(node, nodes.Const) and isinstance(node.value, str):
            written += len(node.value)
        return _goes_through(node) + sum(map(expression, node.iter_child_nodes()))

    def statement(node: nodes.Node, depth: int) -> None:
        nonlocal texts, outside, deepest
        if isinstance(node, nodes.Expr) and not isinstance(node, nodes.TemplateData):
            before = seen
            cost = expression(node) ** 2  # each operation may make what the next one is applied to longer
            outside, texts = (outside, texts + cost) if depth else (outside + cost, texts)
            if seen - before > MOST_PARTS:
                raise _NotPlain
            return
        count(node, _STATEMENTS)
        known: tuple[str, ...] = ()
        if isinstance(node, nodes.For):
            targets = [node.target] if isinstance(node.target, nodes.Name) else node.target.find_all(nodes.Name)
            if node.recursive or not _is_list(node.iter) or not _LISTS.isdisjoint(one.name for one in targets):
                raise _NotPlain
            known = ("iter",) if isinstance(node.iter, nodes.Call) else ()
            depth += 1
            deepest = max(deepest, depth)
        for child in node.iter_child_nodes(exclude=known):
            statement(child, depth)

    try:
        statement(tree, 0)
    except (_NotPlain, RecursionError):
        return None
    return Work(seen, texts, outside, deepest, written)


def _longest(context: Mapping[str, object]) -> int:
    longest = 1
    for name in _LISTS:
        listed = context.get(name)
        if isinstance(listed, tuple | dict):
            longest = max(longest, len(listed))
        for one in listed if isinstance(listed, tuple) else ():
            longest = max(longest, *(len(getattr(one, within, ())) for within in _LISTS_WITHIN))
    return longest


def _length(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_length, value)) + sum(map(_length, value.values()))
    if isinstance(value, tuple):
        return sum(map(_length, value))
    return sum([_length(getattr(value, name)) for name in _FIELDS.get(type(value), ())])


class _NotPlain(Exception):
    """A part of a template that can do more than a plain one may."""


def _is_list(node: nodes.Node | None) -> bool:
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Slice) and _is_list(node.node)
    if isinstance(node, nodes.Call):  # `fields.items()` and the like
        pairs = node.node
        if list(node.iter_child_nodes(exclude=("node",))) or not isinstance(pairs, nodes.Getattr):
            return False
        return isinstance(pairs.node, nodes.Name) and pairs.node.name == "fields" and pairs.attr in _PAIRS
    if isinstance(node, nodes.Getattr):
        return node.attr in _LISTS_WITHIN and isinstance(node.node, nodes.Name) and node.node.name not in _LISTS
    return isinstance(node, nodes.Name) and node.name in _LISTS


def _goes_through(node: nodes.Node) -> int:
    if isinstance(node, nodes.Concat):
        return len(node.nodes)
    if isinstance(node, nodes.Compare):
        constants = sum(isinstance(side, nodes.Const) for side in (node.expr, *(one.expr for one in node.ops)))
        return int(constants < len(node.ops) or any(one.op in ("in", "notin") for one in node.ops))
    if isinstance(node, nodes.Filter | nodes.Test):
        return int(node.name not in _AT_ONCE)
    return int(isinstance(node, nodes.Add | nodes.Slice))


def _is_cheap(node: nodes.Filter) -> bool:
    if node.name not in _FILTERS or node.dyn_args is not None or node.dyn_kwargs is not None:
        return False
    given = [*node.args, *(keyword.value for keyword in node.kwargs)]
    short = all(isinstance(one, nodes.Const) and len(str(one.value)) <= MOST_BETWEEN for one in given)
    return node.name != "join" or (short and _is_list(node.node))


MAX_RENDERED: Final = 20_000_000
"""Characters that one template may render to; far above what a model reads, far below what fills a memory."""

MOST_FIELDS: Final = 8
"""So many fields of a case are named where it lacks one."""
_FIELD: Final = re.compile(
    r"'(?:dict|calm\.judges\.prompts\.variables\.Fields) object' has no attribute '(.{1,100})'\Z", re.DOTALL
)
"""What Jinja2 says where a case lacks a field; nothing else that a template is given is a dict."""
MAX_SOURCE: Final = 500_000
"""Characters that a template itself may have."""
MAX_SECONDS: Final = 2
"""Seconds of processor time that one rendering may take; a real one takes a thousandth of one."""
MAX_MEMORY: Final = 1_000_000_000
"""Bytes that one rendering may take, where the system can hold a process to them (Linux)."""

_FAULTS: Final = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
    MemoryError,
    NotImplementedError,
    SyntaxError,
)
"""What a template can raise: what Jinja2 raises, and what Python does for the operations that a template may use."""
_TOO_NESTED: Final = "expected a template that can be compiled, got one that is nested too deeply ({}); make it flatter"
_ENDLESS: Final = "the template does not end ({}); take out the macro or loop that calls itself"
_FIX: Final = "take out the loop, macro, filter or product that grows so"
_WITHIN: Final = "expected a template that renders within {}, got one that needs more and was stopped; " + _FIX
_STOPS: Final[Mapping[Stop, str]] = {
    "time": _WITHIN.format(f"{MAX_SECONDS} s of processor time"),
    "memory": _WITHIN.format(f"{MAX_MEMORY // 10**6} MB of memory"),
    "size": f"expected at most {MAX_RENDERED} characters, got more; {_FIX}",
    "crash": f"expected a template that can be rendered, got one that crashed its process; {_FIX}",
}


class TemplateFault(Exception):
    """A template that cannot be rendered: its line, if that is known, and what is wrong with it."""

    def __init__(self, line: int | None, what: str) -> None:
        self.line, self.what = line, what
        super().__init__(what)

    def at(self, place: str) -> str:
        """Return what is wrong, and where."""
        return f"{place}{'' if self.line is None else f', line {self.line}'}: {self.what}"


def rendered(text: str, context: Mapping[str, object], *, ours: bool = False) -> str:
    """
    Render one template; `ours` says that it ships with calm, and needs no watch.

    Raises:
        TemplateFault: it cannot be rendered, or was stopped.
    """
    try:
        if ours:
            template = _compiled(text)
            return template.render(context) if "{" in text else text
        work = _work(text)
        if work is not None and work.with_values(context) <= MOST_WORK:
            return _written(_compiled(text), context)
    except _FAULTS as error:
        raise _fault(error, context) from error
    try:
        found = _HELPER.ask((text, context))
    except Stopped as stopped:
        raise TemplateFault(None, _STOPS[stopped.why]) from None
    if isinstance(found, str):
        return found
    assert isinstance(found, tuple)
    raise TemplateFault(*found)


def watched(asked: tuple[str, Mapping[str, object]]) -> str | tuple[int | None, str]:
    """Render any template in the helper process; return its text, or the line and what is wrong."""
    text, context = asked
    try:
        return _written(_compiled(text), context)
    except MemoryError:
        raise
    except _FAULTS as error:
        fault = _fault(error, context)
        return fault.line, fault.what


_HELPER: Final = Helper(
    f"{__name__}:watched", seconds=MAX_SECONDS, memory=MAX_MEMORY, most=4 * MAX_RENDERED + MAX_SOURCE
)


def _written(template: Template, context: Mapping[str, object]) -> str:
    pieces, size = [], 0
    for piece in template.generate(context):
        size += len(piece)
        if size > MAX_RENDERED:
            raise OverflowError(f"the template renders to more than {MAX_RENDERED} characters; {_FIX}")
        pieces.append(piece)
    return "".join(pieces)


def _fault(error: BaseException, context: Mapping[str, object]) -> TemplateFault:
    line = error.lineno if isinstance(error, TemplateSyntaxError) else _line(error.__traceback__)
    what = str(error).strip() or type(error).__name__
    hint = ""
    if isinstance(error, UndefinedError) and (found := re.match(r"'(\w+)' is undefined", what)):
        hint = nearest(found[1], VARIABLES)
    elif isinstance(error, UndefinedError) and (found := _FIELD.match(what)):
        fields = context.get("fields")
        what, hint = _lacking(found[1], sorted(fields) if isinstance(fields, Mapping) else ())
    elif "'random'" in what and isinstance(error, TemplateSyntaxError):
        hint = "; a prompt must render to the same text each time"
    elif isinstance(error, ValueError) and what.startswith("Exceeds the limit"):
        what = f"expected numbers of at most {sys.get_int_max_str_digits()} digits, got a longer one; shorten it"
    elif isinstance(error, OverflowError) and "infinity" in what:
        what = "expected a finite number, got one that is too large for a float; write a smaller one"
    elif isinstance(error, SyntaxError):
        what = _TOO_NESTED.format(error.msg)
    elif isinstance(error, RecursionError | MemoryError):
        what = _ENDLESS.format(type(error).__name__)
    return TemplateFault(line, f"{what.partition(chr(10))[0].rstrip('.')}{hint}")


def _lacking(name: str, fields: Sequence[str]) -> tuple[str, str]:
    plain = name.isidentifier()
    shown = f"fields.{name}" if plain else f"fields[{name!r}]"
    had = f" (it has {', '.join(fields[:MOST_FIELDS])}{', ...' if len(fields) > MOST_FIELDS else ''})" if fields else ""
    fix = f"add {name!r} to the fields of the case, or write {{% if {shown} is defined %}} around what shows it"
    return f"expected {shown}, got none{had}", f"; {fix}"


def _line(trace: TracebackType | None) -> int | None:
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def parsed(text: str) -> nodes.Template | None:
    """Return the syntax of a template; None for one that has none."""
    try:
        return _environment_for(text).parse(text)
    except (TemplateError, RecursionError, ValueError):  # ValueError: a number of too many digits
        return None


@lru_cache(maxsize=512)
def _work(text: str) -> Work | None:
    try:
        return work_of(_environment_for(text).parse(text))
    except RecursionError as error:
        raise SyntaxError(str(error)) from error


@lru_cache(maxsize=512)
def _compiled(text: str) -> Template:
    try:
        return _environment_for(text).from_string(text)
    except RecursionError as error:
        raise SyntaxError(str(error)) from error


def _environment_for(text: str) -> ImmutableSandboxedEnvironment:
    if len(text) > MAX_SOURCE:
        raise TemplateSyntaxError(f"expected at most {MAX_SOURCE} characters, got {len(text)}; shorten it", 1)
    crlf = text.count("\r\n")
    lone_cr, lone_lf = text.count("\r") - crlf, text.count("\n") - crlf
    if (crlf > 0) + (lone_cr > 0) + (lone_lf > 0) > 1:
        raise TemplateSyntaxError("expected one kind of line end, got a mixture; save the file with one kind", 1)
    return _sandbox("\r\n" if crlf else "\r" if lone_cr else "\n")


@lru_cache(maxsize=3)
def _sandbox(newline: Literal["\n", "\r\n", "\r"]) -> ImmutableSandboxedEnvironment:
    made = _Sandbox(
        undefined=StrictUndefined,
        autoescape=False,  # a prompt is plain text; escaping would change what the judge reads
        keep_trailing_newline=True,
        newline_sequence=newline,
    )
    made.code_generator_class = _Code
    made.filters.update(FILTERS)
    del made.filters["random"], made.globals["lipsum"]
    return made


class _Code(CodeGenerator):
    """What writes Python for a template. It writes a constant as `repr` does, and so an infinite float as `inf`."""

    def visit_Template(self, node: Any, frame: Any = None) -> None:
        """Give the Python of a template the two names that `repr` uses for floats."""
        super().visit_Template(node, frame)
        self.writeline("inf, nan = float('inf'), float('nan')")


class _Sandbox(ImmutableSandboxedEnvironment):  # the one way to tell Jinja2 what is safe
    def getattr(self, obj: Any, attribute: str) -> Any:
        """Know our own frozen data at once: it has fields and nothing else, and a template reads it again and again."""
        if type(obj) in DATA and attribute in _FIELDS[type(obj)]:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)
