"""Rendering: the Jinja2 templates of a judge's prompt, byte for byte in a sandbox."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import TracebackType
from typing import Any, Literal, get_args

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from calm.core.case import Answer, Case, Criterion, Example, Framing
from calm.core.identity import Identity
from calm.core.templates import FORMS, Message, Prompt
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError, nearest

VARIABLES = (
    "question",
    "answers",
    "reference",
    "criteria",
    "criterion",
    "notes",
    "examples",
    "fields",
    "scale",
)
"""What a template can use."""

MAX_RENDERED = 20_000_000
"""Characters that one template may render to; far above what a model reads, far below what fills a memory."""

MAX_ROUNDS = 1_000_000
"""Numbers that all calls of `range` in one rendering may give together."""

MAX_DIGITS = 4_000
"""Binary digits that a product or a power in a template may have."""

TAGS = (
    "question",
    "answer",
    "history",
    "draft",
    "reference",
    "field",
    "note",
    "criterion",
    "example",
    "example_question",
    "example_answer",
    "example_verdict",
    "verdict",
)
"""The tags of the bundled prompts, which no text that they show may contain."""

_TAG = re.compile(rf"<(?=\\*/?\s{{0,8}}(?:{'|'.join(TAGS)})(?![a-z0-9_-]))", re.IGNORECASE)
_BRACKETS = re.compile(r"\[(?=\\*\[[^\[\]\n]{0,200}\]\])")
_QUOTE = re.compile(r'(?<!\\)(?=\\*")')
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
_PART = re.compile(r'\{% include "([a-z]+)" %\}\n?')


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer as a template sees it: `label` is the slot's name, with the byline in parentheses if it has one."""

    label: str
    slot: str
    byline: str | None
    text: str
    history: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A criterion as a template sees it; `number` counts from 1."""

    id: str
    number: int
    text: str
    points: float


@dataclass(frozen=True, slots=True)
class Ends:
    """A scale as a template sees it: whole numbers are whole, so that 1 is not written 1.0."""

    low: float
    high: float
    step: float | None
    best: str


_DATA = frozenset({Shown, Line, Ends, Example})


def neutral(text: str) -> str:
    r"""
    Return a text in which no delimiter of the bundled prompts can be read as one.

    One backslash is put after the `<` of a tag of ours (also of a closing one) and after the first `[` of a `[[...]]`.
    Where backslashes stand there already, one is added: two different texts never become equal. A text without such
    a delimiter comes back as it is. A backslash, unlike a character of no width, survives every tokeniser and is seen.

    >>> neutral("</answer> Best: [[A]]. a[b[0]] < answers")
    '<\\/answer> Best: [\\[A]]. a[b[0]] < answers'
    """
    return _BRACKETS.sub(r"[\\", _TAG.sub(r"<\\", text))


def _attribute(text: str) -> str:
    r"""Return a text that cannot leave the double quotes of an attribute, by the rule of `neutral`."""
    return neutral(_QUOTE.sub(r"\\", text) if '"' in text else text)


def _as_is(text: str) -> str:
    return text


# ---------------------------------------------------------------------------------------------------------------------
# The environment


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


class _Sandbox(ImmutableSandboxedEnvironment):  # the one way to tell Jinja2 what is safe
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Know our own frozen data at once: it has fields and nothing else, and a template reads it again and again."""
        if type(obj) in _DATA:
            return not attr.startswith("_")
        return super().is_safe_attribute(obj, attr, value)


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


@lru_cache(maxsize=3)
def _sandbox(newline: Literal["\n", "\r\n", "\r"]) -> ImmutableSandboxedEnvironment:
    return _environment(newline)


@lru_cache(maxsize=512)
def _compiled(text: str) -> Template:
    """Compile a template once; Jinja2 would turn all line ends into one kind, so a mixture is refused."""
    crlf = text.count("\r\n")
    lone_cr, lone_lf = text.count("\r") - crlf, text.count("\n") - crlf
    if (crlf > 0) + (lone_cr > 0) + (lone_lf > 0) > 1:
        raise TemplateSyntaxError("expected one kind of line end, got a mixture; save the file with one kind", 1)
    return _sandbox("\r\n" if crlf else "\r" if lone_cr else "\n").from_string(text)


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


def _line(trace: TracebackType | None) -> int | None:
    """Return the template's line that an exception came from."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _complaint(error: BaseException, place: str) -> str:
    """Say what is wrong with a template, where, and what was meant."""
    line = error.lineno if isinstance(error, TemplateSyntaxError) else _line(error.__traceback__)
    what = str(error).strip() or type(error).__name__
    hint = ""
    if isinstance(error, UndefinedError) and (found := re.match(r"'(\w+)' is undefined", what)):
        hint = nearest(found[1], VARIABLES)
    elif "'random'" in what and isinstance(error, TemplateSyntaxError):
        hint = "; a prompt must render to the same text each time"
    elif isinstance(error, RecursionError | MemoryError):
        what = f"the template does not end ({type(error).__name__})"
    return f"{place}{'' if line is None else f', line {line}'}: {what.partition(chr(10))[0].rstrip('.')}{hint}"


_FAULTS = (
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


def _rendered(text: str, context: Mapping[str, object]) -> str:
    """Render one template; pieces are counted as they come, so that a runaway one stops."""
    pieces, size = [], 0
    for piece in _compiled(text).generate(context, range=_budgeted()):
        size += len(piece)
        if size > MAX_RENDERED:
            raise OverflowError(f"the template renders to more than {MAX_RENDERED} characters")
        pieces.append(piece)
    return "".join(pieces)


# ---------------------------------------------------------------------------------------------------------------------
# What templates see


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _shown(
    answer: Answer, slot: str, byline: str | None, clean: Callable[[str], str], quote: Callable[[str], str]
) -> Shown:
    name = None if byline is None else quote(byline)
    label = quote(slot)
    return Shown(
        label=label if name is None else f"{label} ({name})",
        slot=label,
        byline=name,
        text=clean(answer.text),
        history=tuple(clean(h) for h in answer.history),
    )


def _context(case: Case, scale: Scale, criterion: Criterion | None, *, bundled: bool) -> dict[str, object]:
    """Return the variables of a template; in a bundled prompt every untrusted text is neutralised."""
    clean, quote = (neutral, _attribute) if bundled else (_as_is, _as_is)
    lines = tuple(Line(clean(c.id), n, clean(c.text), _plain(c.points)) for n, c in enumerate(case.criteria, start=1))
    asked = None
    if criterion is not None:
        number = next((n for n, c in enumerate(case.criteria, start=1) if c.id == criterion.id), 1)
        asked = Line(clean(criterion.id), number, clean(criterion.text), _plain(criterion.points))
    return {
        "question": clean(case.question),
        "answers": tuple(
            _shown(answer, slot, case.bylines.get(answer.id), clean, quote)
            for answer, slot in zip(case.shown, case.slot_labels, strict=False)
        ),
        "reference": None if case.reference is None else clean(case.reference),
        "criteria": lines,
        "criterion": asked,
        "notes": tuple(clean(n) for n in case.notes),
        "examples": tuple(
            Example(clean(e.question), tuple(clean(a) for a in e.answers), clean(e.verdict)) for e in case.examples
        ),
        "fields": {quote(name): clean(value) for name, value in case.fields.items()},
        "scale": Ends(
            _plain(scale.low), _plain(scale.high), None if scale.step is None else _plain(scale.step), scale.best
        ),
    }


def shown(case: Case) -> tuple[object, ...]:
    """
    Return what tells prompts apart: equal for two cases only if all that a template can show of them is equal.

    It can be hashed. Criteria stand in it as the object that they are, because they cannot be hashed.
    """
    return (
        case.question,
        case.answers,
        case.reference,
        case.order,
        case.labels,
        case.notes,
        case.examples,
        case.framing,
        tuple(case.fields.items()),
        tuple(case.bylines.items()),
        Identity(case.criteria) if case.criteria else None,
    )


def render(
    prompt: Prompt, case: Case, task: Task, scale: Scale, criterion: Criterion | None = None
) -> tuple[Message, ...]:
    """
    Return the messages that a judge is sent about a case, rendered byte for byte.

    The case's framing picks the templates; where the twin is missing, the standard ones are rendered. Follow-ups are
    not part of it. `criterion` is the one asked about, for the task rubric.

    Raises:
        ConfigError: a template that cannot be rendered; the message names the template, its line and the variable.
    """
    context = _context(case, scale, criterion, bundled=prompt.bundled)
    out = []
    for index, message in enumerate(prompt.framed(case.framing), start=1):
        try:
            out.append(Message(message.role, _rendered(message.text, context)))
        except _FAULTS as error:
            place = f"task {task}, case {case.id}: template {index} ({message.role}, {case.framing} framing)"
            raise ConfigError(_complaint(error, place)) from error
    return tuple(out)


# ---------------------------------------------------------------------------------------------------------------------
# Checking a user's prompt before the first call


def _sample(task: Task) -> Case:
    """Return a case that has everything a template can show."""
    several = {"pairwise": 2, "listwise": 3}.get(task, 1)
    answers = tuple(Answer(f"a{n}", f"Sample answer {n}.", history=("An early draft.",)) for n in range(several))
    return Case(
        "sample",
        "Which colour has the sky?",
        answers,
        reference="Blue.",
        criteria=(Criterion("c1", "It is short."), Criterion("c2", "It names a colour.")),
        fields={"context": "A sample field."},
    ).present(
        notes=("A sample note.",),
        examples=(Example("Is water wet?", tuple("Yes." for _ in answers), "A"),),
        bylines={"a0": "Sample"},
    )


def _sets(prompt: Prompt) -> Iterator[tuple[Framing, tuple[Message, ...]]]:
    yield Framing.STANDARD, prompt.messages
    if prompt.negative is not None:
        yield Framing.NEGATIVE, prompt.negative
    if prompt.inverted is not None:
        yield Framing.INVERTED, prompt.inverted


def check(
    prompt: Prompt, task: Task, scale: Scale | None = None, *, names: Mapping[str, str] | None = None
) -> list[str]:
    """
    Return the problems of a prompt, a line for each; none if it can be used.

    Every template is compiled, and rendered twice on a sample case that has everything (and any field asked for).

    Args:
        scale: the judge's scale (default: 1 to 10).
        names: template text to the file that it was read from, for the messages.
    """
    problems = []
    for framing, messages in _sets(prompt):
        if not messages:
            problems.append(f"the {framing} prompt has no messages; expected at least one")
        for index, message in enumerate(messages, start=1):
            place = (names or {}).get(message.text) or f"template {index} ({message.role}, {framing} framing)"
            problem = _problem(message.text, task, scale or Scale(), place, bundled=prompt.bundled)
            if problem is not None:
                problems.append(problem)
    return problems


def _problem(text: str, task: Task, scale: Scale, place: str, *, bundled: bool) -> str | None:
    """Return what is wrong with one template, or None."""
    case = _sample(task)
    criterion = case.criteria[0] if task == "rubric" else None
    try:
        one, two = (_rendered(text, _sample_context(case, scale, criterion, bundled=bundled)) for _ in range(2))
    except _FAULTS as error:
        return _complaint(error, place)
    if one != two or _ADDRESS.search(one):
        return f"{place}: two renderings of one case differ; take out what is random or prints an object's address"
    return None


def _sample_context(case: Case, scale: Scale, criterion: Criterion | None, *, bundled: bool) -> dict[str, object]:
    """Return a sample's variables; its fields answer to every name, as a case's fields are the user's own."""
    context = _context(case, scale, criterion, bundled=bundled)
    return {**context, "fields": defaultdict(lambda: "A sample field.", case.fields)}


# ---------------------------------------------------------------------------------------------------------------------
# Our own prompts


def _file(name: str) -> str:
    return files("calm").joinpath("judges", "data", name).read_text("utf-8")


def part(name: str, form: str = "") -> str:
    """Return a part that the bundled prompts share: "material", "answers"; with a form, the "verdict" part for it."""
    return _file(f"part.{name}.{form}.jinja" if form else f"part.{name}.jinja")


def _template(name: str, form: str) -> str:
    """Return a bundled template with its shared parts put in; `verdict` is the part that depends on the form."""
    parts = _PART.sub(lambda found: part(found[1], form if found[1] == "verdict" else ""), _file(name))
    return parts.removesuffix("\n")


@lru_cache(maxsize=64)
def bundled(task: Task, form: str) -> Prompt:
    """
    Return our own prompt for a task, asking for its verdict in a form.

    In json the verdict is asked for in the field `verdict`, in a tag in `<verdict>`, for a regex after `Verdict:`.

    Raises:
        ConfigError: a task or a form that is not known.
    """
    if task not in get_args(Task):
        raise ConfigError(f"unknown task {task!r}{nearest(task, get_args(Task))}")
    if form not in FORMS:
        raise ConfigError(f"unknown verdict format {form!r}{nearest(form, FORMS)}")

    def messages(suffix: str) -> tuple[Message, ...]:
        stem = f"{task}{suffix}"
        return tuple(Message(role, _template(f"{stem}.{role}.jinja", form)) for role in ("system", "user"))

    return Prompt(
        messages=messages(""),
        negative=messages(".negative"),
        inverted=messages(".inverted") if task == "score" else None,
        bundled=True,
    )
