"""How a judge writes its verdict: the `[verdict]` table of judge.toml."""

from __future__ import annotations

import dataclasses
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal, TypeAlias, get_args

from calm.core.verdict import Scale, Task
from calm.errors import nearest
from calm.judges.reading.json_fields import PATHS, steps
from calm.judges.reading.patterns import pattern_problems

Kind: TypeAlias = Literal["brackets", "json", "last-line", "tag", "regex", "logprobs"]

NOTHING: Final = "none"
"""What a label stands for that is no verdict, such as "unsure": the reply is unreadable."""
SYMBOLS: Final = ("first", "second", "tie", "met", "unmet", NOTHING)
"""What a label can stand for, beside a number."""
LISTED: Final = ("score", "rubric-all", "listwise")
"""Tasks whose verdict can be a list."""


@dataclass(frozen=True, slots=True, repr=False)
class Format:
    """
    How a judge writes its verdict: the `[verdict]` table of judge.toml.

    `field` is a path in JSON such as `result.score`, `scores[0].value`, `statements[].verdict` (of every entry of a
    list) or `scores[name=tone].value` (of the one entry that says so), `tag` the name of a tag, `pattern` a regular
    expression with one group. `values` maps labels to numbers or to `first`, `second`, `tie`, `met`, `unmet`, to a
    class, or to `none` for what is no verdict; the case of a label counts only where another one differs by case alone.
    With `parts`, a verdict is what `formula` makes of them.
    """

    kind: Kind = "brackets"
    field: str = "verdict"
    tag: str = "verdict"
    pattern: str = ""
    values: Mapping[str, float | str] = dataclasses.field(default_factory=dict)
    formula: str = ""
    parts: Mapping[str, Part] = dataclasses.field(default_factory=dict)

    def key(self, text: str) -> str | None:
        """Return the label in `values` that a text names: the same one, or the only one that differs by case alone."""
        if not self.values:
            return None
        name = normal(text)
        alike = [label for label in self.values if normal(label).casefold() == name.casefold()]
        same = [label for label in alike if normal(label) == name] or alike
        return same[0] if len(same) == 1 else None

    def __repr__(self) -> str:
        own = ("kind", "field", "tag", "pattern", "values", *(("formula", "parts") if self.parts else ()))
        return f"Format({', '.join(f'{name}={getattr(self, name)!r}' for name in own)})"


@dataclass(frozen=True, slots=True)
class Part:
    """A number with a name in a reply: how it is written, the scale that it lies on, and the words before it if any."""

    form: Format
    scale: Scale
    label: str = ""


def normal(label: str) -> str:
    """Return a label as it is compared: without white space around it, and with one form for each sign."""
    return unicodedata.normalize("NFKC", label).strip()


def check(form: Format, task: Task) -> list[str]:
    """Return the problems of a format, a line for each; none if it can be used for the task."""
    problems = []
    if form.kind not in get_args(Kind):
        problems.append(f"verdict.format: unknown {form.kind!r}{nearest(str(form.kind), get_args(Kind))}")
    if form.kind == "regex":
        problems += pattern_problems(form.pattern)
    if form.kind == "json" and steps(form.field) is None:
        problems.append(f"verdict.field: expected {PATHS}, got {form.field!r}")
    if form.kind == "json" and task not in LISTED and () in (steps(form.field) or ()):
        problems.append(f"verdict.field: [] is for the tasks {', '.join(LISTED)}, got {form.field!r} and task={task!r}")
    if form.kind == "tag" and not re.fullmatch(r"[A-Za-z_][\w.-]*", form.tag):
        problems.append(f"verdict.tag: expected the name of a tag such as 'verdict', got {form.tag!r}")
    if form.kind == "logprobs" and task in ("rubric-all", "points", "listwise"):
        problems.append(
            f"verdict.format: logprobs reads a verdict of one token, which the task {task} does not have; "
            f"use json or brackets"
        )
    for one, other in combinations(form.values, 2):
        if normal(one) == normal(other):
            problems.append(f"verdict.values: {one!r} and {other!r} cannot be told apart in a reply; keep one of them")
    for label, value in form.values.items():
        if task == "label" and isinstance(value, str):
            continue  # a class: those of the judge are known to its file alone
        if isinstance(value, str) and value not in SYMBOLS:
            problems.append(f"verdict.values: {label!r} expects a number or one of {', '.join(SYMBOLS)}, got {value!r}")
        elif not isinstance(value, str) and not math.isfinite(value):
            problems.append(f"verdict.values: {label!r} expects a finite number, got {value!r}")
    return problems
