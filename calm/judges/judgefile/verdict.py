"""The `[verdict]` table of judge.toml: how a reply is read, and on which scale."""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Final, cast

from calm.core.classes import Classes, checked
from calm.core.files import json_of
from calm.core.templates import FORMS
from calm.core.verdict import FAMILY, Family, Scale, Task
from calm.errors import ConfigError
from calm.judges import reading
from calm.judges.judgefile.keys import KEYS, ONE_FORMAT, PARTED, PARTED_TASKS
from calm.judges.judgefile.tables import Table, dict_of, one_of
from calm.judges.reading import SYMBOLS, Format, Kind, Part
from calm.judges.reading.formats import NOTHING
from calm.models.wire import Json

MEANINGS: Final[Mapping[Family, tuple[tuple[float, ...], tuple[str, ...]]]] = {
    "pairwise": ((), ("first", "second", "tie")),
    "score": ((), ()),
    "rubric": ((0, 1), ("met", "unmet")),
    "listwise": ((), ()),
    "label": ((), ()),
}
"""The numbers and words that a label may stand for; without numbers: any."""


def classes_of(document: Mapping[str, object], path: Path, task: Task | None, problems: list[str]) -> Classes | None:
    """Return the classes that the table `[labels]` of a file names; None if there are none, which is noted."""
    given = document.get("labels")
    table = Table(path, "labels", dict_of(given), problems, KEYS["labels"])
    if task not in ("label", None):
        if given is not None:
            problems.append(f"{path}: [labels] is for task = 'label' only, got task={task!r}; take it out")
        return None
    if given is None and task is None:
        return None
    if not isinstance(given, dict):
        example = 'classes = ["ungrounded", "grounded"]'
        problems.append(f"{path}: expected a table [labels] with the classes, as the task is 'label'; write {example}")
        return None
    table.unknown()
    more = {key: given[key] for key in KEYS["labels"] if key in given and key != "classes"}
    try:
        return checked(given.get("classes", []), **more)
    except ConfigError as error:
        for problem in error.problems:
            key, _, what = problem.partition(": ")
            table.say(key, what)
        return None


def format_of(
    verdict: Table, task: Task | None, classes: Classes | None = None
) -> tuple[Format, dict[str, Json] | None]:
    """Return how the reply is read, and the schema that it is asked for in."""
    kind = one_of(FORMS, verdict.choice("format")) or "brackets"
    schema = _schema(verdict)
    if "parts" in verdict.values or "formula" in verdict.values:
        if schema is not None and kind != "json":
            verdict.say("schema_file", f"is for format = 'json' only, got format={kind!r}; take it out")
        return _of_parts(verdict, kind, task), schema
    texts = {key: verdict.text(key) for key in ("field", "tag", "pattern")}
    for key, owner in ONE_FORMAT.items():
        if key in verdict.values and kind != owner:
            verdict.say(key, f"is for format = {owner!r} only, got format={kind!r}; take it out, or change the format")
    if kind == "regex" and "pattern" not in verdict.values:
        verdict.say("pattern", "missing; expected a regular expression with one group, such as 'Verdict: (A|B)'")
    form = Format(
        kind=kind,
        field=texts["field"] or "verdict",
        tag=texts["tag"] or "verdict",
        pattern=texts["pattern"] or "",
        values=_values(verdict, task, classes),
    )
    if kind != "regex" or texts["pattern"] is not None:
        _say_problems(verdict, reading.check(form, task or "pairwise"))
    return form, schema


def _of_parts(verdict: Table, kind: Kind, task: Task | None) -> Format:
    """Return how the named parts of a verdict are read, and what is made of them."""
    for key in ("field", "tag", "pattern"):
        if key in verdict.values:
            verdict.say(key, "each part has its own; take it out, or move it into [verdict.parts]")
    if task is not None and task not in PARTED_TASKS:
        verdict.say("parts", f"is for the tasks score and pairwise only, got task={task!r}; take it out")
    if kind not in PARTED:
        verdict.say("format", f"expected one of {', '.join(PARTED)} with [verdict.parts], got format={kind!r}")
    values = _values(verdict, "score", None)
    table = verdict.table("parts")
    parts = {} if table is None else {name: _part(table, name, kind, values) for name in table.values}
    formula = verdict.text("formula") or (reading.TWO_SCORES if task == "pairwise" else "")
    if "parts" not in verdict.values or (table is not None and not parts):
        verdict.say("parts", "missing; expected a name for each number, such as { facts = { label = 'Facts' } }")
    elif not formula and "formula" not in verdict.values:
        verdict.say("formula", f"missing; expected arithmetic on the parts, such as '{' + '.join(parts)}'")
    elif formula and parts:
        for problem in reading.formula_problems(formula, parts):
            verdict.say("formula", problem)
    found = {name: part for name, part in parts.items() if part is not None}
    for one, other in permutations((part.label for part in found.values() if part.label), 2):
        if f" {other.casefold()}".endswith(f" {one.casefold()}"):
            verdict.say("parts", f"a line {other!r} is also one {one!r}; give the parts labels that do not end alike")
            break
    return Format(kind, values=values, formula=formula, parts=found)


def _part(parts: Table, name: str, kind: Kind, values: Mapping[str, float | str]) -> Part | None:
    """Return a part; None if it is none, which is noted."""
    table = parts.table(name)
    if table is None:
        return None
    table.keys = KEYS["verdict.parts.NAME"]
    own = PARTED.get(kind, "label")
    for key in ("field", "tag", "pattern", "label"):
        if key in table.values and key != own:
            table.say(key, f"a part has {own!r} with format = {kind!r}; write that, or change the format")
    text = table.text(own, required=kind == "regex") or name
    if not name.isidentifier() or keyword.iskeyword(name) or name in reading.FUNCTIONS:
        table.say(name, "expected a name of letters, digits and _, other than a word such as min, if or class")
    pattern = text if kind == "regex" else reading.labelled(text, kind) if own == "label" else ""
    form = Format("regex" if own == "label" else kind, field=text, tag=text, pattern=pattern, values=values)
    if own in table.values or kind != "regex":
        _say_problems(table, reading.check(form, "score"))
    scale = _range(table, Scale(0, 1) if "[]" in form.field else Scale(-math.inf, math.inf))
    table.unknown()
    return Part(form, scale, text if own == "label" else "")


def _say_problems(verdict: Table, problems: Iterable[str]) -> None:
    for problem in problems:
        key, _, what = problem.removeprefix("verdict.").partition(": ")
        verdict.say(key, what)


def _schema(verdict: Table) -> dict[str, Json] | None:
    found = verdict.file("schema_file")
    if found is None:
        return None
    path, text = found
    try:
        schema = json_of(text, parse_constant=_no_constant)
    except ValueError as error:
        verdict.say("schema_file", f"expected JSON in {path}: {error}")
        return None
    if not isinstance(schema, dict):
        verdict.say("schema_file", f"expected a JSON object in {path}, got {type(schema).__name__}")
        return None
    return schema


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _values(verdict: Table, task: Task | None, classes: Classes | None) -> dict[str, float | str]:
    table = verdict.table("values")
    if table is None:
        return {}
    numbers, words = MEANINGS[FAMILY[task]] if task else ((), SYMBOLS)
    if classes is not None:
        words = classes.names
    words = (*words, NOTHING)
    found: dict[str, float | str] = {}
    for label, value in table.values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if number and (not numbers or value in numbers) and task not in ("pairwise", "label"):
            found[label] = float(cast("float", value))
        elif isinstance(value, str) and value in words:
            found[label] = value
        else:
            any_number = ["a number"] if not numbers and task not in ("pairwise", "label", None) else []
            known = [*any_number, *(f"{n:g}" for n in numbers), *(repr(word) for word in words)]
            note = f", as the task is {task!r}" if task and "parts" not in verdict.values else ""
            table.expected(label, f"{' or '.join(known)}{note}")
    return found


def scale_of(verdict: Table, task: Task | None, classes: Classes | None = None) -> Scale:
    """Return the scale of a score, or one of classes; points have a scale of their own, and other tasks none."""
    table = verdict.table("scale")
    share = task == "score" and "[]" in str(verdict.get("field"))
    own = Scale(0.0, 1.0) if task == "points" or share else Scale(classes=classes)
    if table is None:
        return own
    if task not in {"score", None}:
        verdict.say("scale", f"is for task = 'score' only, got task={task!r}; take it out")
    scale = _range(table, own)
    best = table.choice("best") or "high"
    table.unknown()
    return replace(scale, best="low" if best == "low" else "high")


def _range(table: Table, own: Scale) -> Scale:
    """Return the scale of a table with `low`, `high` and `step`; where one is missing, that of its own scale."""
    low, high, step = table.number("low"), table.number("high"), table.number("step")
    scale = Scale(own.low if low is None else low, own.high if high is None else high, step)
    if step is not None and math.isinf(scale.high - scale.low):
        table.say("step", "expected low and high beside it")
        return replace(scale, step=None)
    if scale.low >= scale.high:
        table.say("low", f"expected less than high, got low={scale.low:g}, high={scale.high:g}")
    elif not scale.holds(scale.high):
        table.say(
            "step",
            f"expected steps that lead from low to high, got step={step:g}, low={scale.low:g}, high={scale.high:g}",
        )
    return scale
