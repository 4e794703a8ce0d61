"""The Jinja2 sandbox: a template renders byte for byte, and stops before it fills the memory."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, Literal

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from calm.errors import nearest
from calm.judges.prompts.variables import DATA, VARIABLES

MAX_RENDERED: Final = 20_000_000
"""Characters that one template may render to; far above what a model reads, far below what fills a memory."""

MAX_ROUNDS: Final = 1_000_000
"""Numbers that all calls of `range` in one rendering may give together."""

MAX_DIGITS: Final = 4_000
"""Binary digits that a product or a power in a template may have."""
MOST_FIELDS: Final = 8
"""So many fields of a case are named where it lacks one."""
_FIELD: Final = re.compile(r"'dict object' has no attribute '(.{1,100})'\Z", re.DOTALL)
"""What Jinja2 says where a case lacks a field; nothing else that a template is given is a dict."""
FAULTS: Final = (
    TemplateError,
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
    MemoryError,
    NotImplementedError,
)
"""What a template can raise: what Jinja2 raises, and what Python does for the operations that a template may use."""


def rendered(text: str, context: Mapping[str, object]) -> str:
    """Render one template; pieces are counted as they come, so that a runaway one stops."""
    pieces, size = [], 0
    for piece in _compiled(text).generate(context, range=_budgeted()):
        size += len(piece)
        if size > MAX_RENDERED:
            raise OverflowError(f"the template renders to more than {MAX_RENDERED} characters")
        pieces.append(piece)
    return "".join(pieces)


def complaint(error: BaseException, place: str, fields: Iterable[str] = ()) -> str:
    """Say what is wrong with a template, where, and what was meant; `fields` are those of the case."""
    line = error.lineno if isinstance(error, TemplateSyntaxError) else _line(error.__traceback__)
    what = str(error).strip() or type(error).__name__
    hint = ""
    if isinstance(error, UndefinedError) and (found := re.match(r"'(\w+)' is undefined", what)):
        hint = nearest(found[1], VARIABLES)
    elif isinstance(error, UndefinedError) and (found := _FIELD.match(what)):
        what, hint = _lacking(found[1], sorted(fields))
    elif "'random'" in what and isinstance(error, TemplateSyntaxError):
        hint = "; a prompt must render to the same text each time"
    elif isinstance(error, RecursionError | MemoryError):
        what = f"the template does not end ({type(error).__name__})"
    return f"{place}{'' if line is None else f', line {line}'}: {what.partition(chr(10))[0].rstrip('.')}{hint}"


def _lacking(name: str, fields: Sequence[str]) -> tuple[str, str]:
    """Say that a case has no field of a name, and what can be done."""
    plain = name.isidentifier()
    shown = f"fields.{name}" if plain else f"fields[{name!r}]"
    had = f" (it has {', '.join(fields[:MOST_FIELDS])}{', ...' if len(fields) > MOST_FIELDS else ''})" if fields else ""
    fix = f"add {name!r} to the fields of the case, or write {{% if {shown} is defined %}} around what shows it"
    return f"expected {shown}, got none{had}", f"; {fix}"


def _line(trace: TracebackType | None) -> int | None:
    """Return the template's line that an exception came from."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _budgeted() -> Callable[..., range]:
    """Return a `range` for one rendering, whose calls share one allowance."""
    left = MAX_ROUNDS

    def limited(*bounds: int) -> range:
        nonlocal left
        numbers = range(*bounds)
        left -= len(numbers)
        if left < 0:
            raise OverflowError(f"the template loops over more than {MAX_ROUNDS} numbers")
        return numbers

    return limited


@lru_cache(maxsize=512)
def _compiled(text: str) -> Template:
    """Compile a template once; Jinja2 would turn all line ends into one kind, so a mixture is refused."""
    crlf = text.count("\r\n")
    lone_cr, lone_lf = text.count("\r") - crlf, text.count("\n") - crlf
    if (crlf > 0) + (lone_cr > 0) + (lone_lf > 0) > 1:
        raise TemplateSyntaxError("expected one kind of line end, got a mixture; save the file with one kind", 1)
    return _sandbox("\r\n" if crlf else "\r" if lone_cr else "\n").from_string(text)


@lru_cache(maxsize=3)
def _sandbox(newline: Literal["\n", "\r\n", "\r"]) -> ImmutableSandboxedEnvironment:
    return _environment(newline)


def _environment(newline: Literal["\n", "\r\n", "\r"]) -> ImmutableSandboxedEnvironment:
    """Return a sandbox that gives templates nothing random, and keeps one kind of line end."""
    made = _Sandbox(
        undefined=StrictUndefined,
        autoescape=False,  # a prompt is plain text; escaping would change what the judge reads
        keep_trailing_newline=True,
        newline_sequence=newline,
    )
    made.intercepted_binops = frozenset({"*", "**"})
    made.binop_table.update({"*": _times, "**": _power})
    del made.filters["random"], made.globals["lipsum"]
    return made


class _Sandbox(ImmutableSandboxedEnvironment):  # the one way to tell Jinja2 what is safe
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Know our own frozen data at once: it has fields and nothing else, and a template reads it again and again."""
        if type(obj) in DATA:
            return not attr.startswith("_")
        return super().is_safe_attribute(obj, attr, value)


def _spans(value: object) -> int:
    """Return a size: characters, items, or binary digits."""
    if isinstance(value, int):
        return value.bit_length()
    return len(value) if isinstance(value, str | bytes | list | tuple) else 0


def _times(left: Any, right: Any) -> Any:
    """Multiply, unless the product would fill the memory."""
    if isinstance(left, int) and isinstance(right, int):
        if _spans(left) + _spans(right) > MAX_DIGITS:
            raise OverflowError("a product in the template is too large")
    else:
        for items, count in ((left, right), (right, left)):
            if isinstance(count, int) and count * _spans(items) > MAX_RENDERED:
                raise OverflowError(f"the template repeats a text to more than {MAX_RENDERED} characters")
    return operator.mul(left, right)


def _power(left: Any, right: Any) -> Any:
    """Raise to a power, unless the result would fill the memory."""
    if isinstance(left, int) and isinstance(right, int) and _spans(left) * abs(right) > MAX_DIGITS:
        raise OverflowError("a power in the template is too large")
    return operator.pow(left, right)
