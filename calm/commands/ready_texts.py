"""Which suites show the ready-made texts of cases, and in how many cases: for `calm cases check` and `calm rewrite`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module

from calm.core.case import Case
from calm.core.edits import Edit
from calm.core.ready_made import KINDS, NEUTRAL, TextKind, text_kind
from calm.core.reasons import in_words
from calm.core.verdict import FAMILY, Family, Task
from calm.gate.ready_texts import TextsOutlook, texts_outlook

PAPERS = "papers.test_calm"
"""The suite of CALM's own protocol, which also shows the texts."""


def edits_of(suite: str) -> list[Edit]:
    """Return the edits of a module of `calm.suites`, such as `test_authority`: those that it names, and its table."""
    names = vars(import_module(f"calm.suites.{suite}"))
    values = [*names["OBSERVED"].values(), names["HISTORY"]] if suite == PAPERS else names.values()
    return [value for value in values if isinstance(value, Edit)]


def suite_of(kind: TextKind) -> str:
    """Return the name of the module that asks with the texts of a kind."""
    return f"test_{kind.suite.replace('-', '_')}"


def places_of(names: Iterable[str]) -> list[str]:
    """Return where the texts of some names are shown, a line for each suite, in the order of the table."""
    by_suite: dict[TextKind, list[str]] = {}
    for name in sorted(names, key=lambda n: list(KINDS).index(n) if n in KINDS else len(KINDS)):
        kind = text_kind(name)
        if kind is not None:
            same = next((one for one in by_suite if (one.suite, one.every) == (kind.suite, kind.every)), kind)
            by_suite.setdefault(same, []).append(name)
    lines = []
    for kind, several in by_suite.items():
        only = " (only with --calm-every-variant)" if kind.every else ""
        lines.append(f"{', '.join(several)}: shown by suites/{suite_of(kind)}.py{only}")
    if any(NEUTRAL in several for several in by_suite.values()):
        lines.append(f"{NEUTRAL}: also what the other rewrites of the same answer are measured against")
    return lines


def outlooks(cases: Sequence[Case], task: Task | None = None) -> Iterator[tuple[str, TextsOutlook]]:
    """Yield for each suite with texts for it in the cases what it will show, the suite of CALM's protocol last."""
    held = {name for case in cases for name in case.variants}
    kinds = [kind for name in [*KINDS, *sorted(held)] if name in held and (kind := text_kind(name)) is not None]
    suites = dict.fromkeys((suite_of(kind), kind.every) for kind in kinds)
    for suite, every in suites:
        found = _over_tasks(_taking(edits_of(suite), held), cases, task)
        yield f"{suite}{' (--calm-every-variant)' if every else ''}", found
    for edit in _taking(edits_of(PAPERS), held):
        named = f"/{edit.label}" if edit.name else ""
        yield f"{PAPERS}, {edit.bias}{named}", _over_tasks([edit], cases, task)


def _taking(edits: Iterable[Edit], held: set[str]) -> list[Edit]:
    return [edit for edit in edits if any(held.intersection(v.takes) for v in edit.variants or (edit,))]


def _over_tasks(edits: Sequence[Edit], cases: Sequence[Case], task: Task | None) -> TextsOutlook:
    by_family: dict[Family, list[Case]] = {}
    for case in cases:
        by_family.setdefault(FAMILY[task] if task else _family(case), []).append(case)
    whole = TextsOutlook()
    for family, some in by_family.items():
        whole += texts_outlook(edits, some, family)
    return whole


def _family(case: Case) -> Family:
    """Return what a judge of a case most likely measures."""
    if len(case.answers) == 1:
        return "rubric" if case.criteria else "label" if case.label is not None else "score"
    return "pairwise" if len(case.answers) == 2 else "listwise"


def outlook_table(found: Iterable[tuple[str, TextsOutlook]]) -> list[str]:
    """Return the lines of a table for a terminal: for each suite in how many cases it shows a text, and why not."""
    rows = [("suite", "cases with a text", "it is shown in", "why others are not")]
    for suite, one in found:
        unsure = f" to {one.shown + one.open}, as the judge's pilot has it" if one.open else ""
        whys = [f"{count} {reason}" for reason, count in sorted(in_words(one.unused).items(), key=lambda r: -r[1])]
        rows.append((suite, str(one.cases), f"{one.shown}{unsure}", "; ".join(whys)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]).rstrip() for row in rows]
