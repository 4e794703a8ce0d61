"""How a judge writes its verdict: the `[verdict]` table of judge.toml."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from calm.core.verdict import Task
from calm.errors import nearest
from calm.judges.reading.json_fields import steps
from calm.judges.reading.patterns import pattern_problems

Kind: TypeAlias = Literal["brackets", "json", "last-line", "tag", "regex", "logprobs"]

NOTHING: Final = "none"
"""What a label stands for that is no verdict, such as "unsure": the reply is unreadable."""
SYMBOLS: Final = ("first", "second", "tie", "met", "unmet", NOTHING)
"""What a label can stand for, beside a number."""


@dataclass(frozen=True, slots=True)
class Format:
    """
    How a judge writes its verdict: the `[verdict]` table of judge.toml.

    `field` is a path in JSON such as `result.score` or `scores[0].value`, `tag` the name of a tag, `pattern` a regular
    expression with one group. `values` maps labels, whatever their case, to numbers or to `first`, `second`, `tie`,
    `met`, `unmet`, or to a class; or to `none`, where it is no verdict.
    """

    kind: Kind = "brackets"
    field: str = "verdict"
    tag: str = "verdict"
    pattern: str = ""
    values: Mapping[str, float | str] = dataclasses.field(default_factory=dict)


def check(form: Format, task: Task) -> list[str]:
    """Return the problems of a format, a line for each; none if it can be used for the task."""
    problems = []
    if form.kind not in get_args(Kind):
        problems.append(f"verdict.format: unknown {form.kind!r}{nearest(str(form.kind), get_args(Kind))}")
    if form.kind == "regex":
        problems += pattern_problems(form.pattern)
    if form.kind == "json" and steps(form.field) is None:
        problems.append(f"verdict.field: expected a path such as 'result.score' or 'scores[0]', got {form.field!r}")
    if form.kind == "tag" and not re.fullmatch(r"[A-Za-z_][\w.-]*", form.tag):
        problems.append(f"verdict.tag: expected the name of a tag such as 'verdict', got {form.tag!r}")
    if form.kind == "logprobs" and task in ("rubric-all", "points", "listwise"):
        problems.append(
            f"verdict.format: logprobs reads a verdict of one token, which the task {task} does not have; "
            f"use json or brackets"
        )
    for label, value in form.values.items():
        if task == "label" and isinstance(value, str):
            continue  # a class: those of the judge are known to its file alone
        if isinstance(value, str) and value not in SYMBOLS:
            problems.append(f"verdict.values: {label!r} expects a number or one of {', '.join(SYMBOLS)}, got {value!r}")
        elif not isinstance(value, str) and not math.isfinite(value):
            problems.append(f"verdict.values: {label!r} expects a finite number, got {value!r}")
    return problems
