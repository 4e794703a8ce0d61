"""A study of mitigations as data and in words, and the judge.toml with the set to take, for any folder."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from calm.core.files import quoted
from calm.core.measures import Unit
from calm.errors import ConfigError
from calm.models.pricing import Cost, dollars
from calm.models.wire import Json
from calm.plugins.mitigate.study import (
    MEASURED,
    Figures,
    Study,
    cheapest,
    losses,
    nearest,
    outcome_of,
    remarks,
    same_claim,
    worst_claim,
)
from calm.results.parts import aligned
from calm.results.reports.pages import Page
from calm.results.sentences import figure_of, sentence
from calm.results.steps import excess
from calm.results.study_provenance import plain, plain_fields
from calm.results.tabular import ARMS

SCHEMA = "calm-mitigations/1"
QUIET = frozenset({"excess", "noise", "ties", "unread", "unread edited", "US$"})
"""Heads of columns that are left out where they hold nothing."""
LEGEND = {
    "red": "claims that are not proven",
    "excess": "how far the worst claim is beyond its limit, as a share of the room there",
    "calls": "calls for a verdict",
}
"""What heads of columns mean that do not say it themselves."""
LEFT_OUT = "left out"
"""The result of a set that does not fit the judge, or that its server cannot serve."""
UNREAD = ("unread", "unread edited")
"""Heads of the counts of replies without a verdict: clean ones, and those of the edits."""


def body(study: Study) -> dict[str, Json]:
    """Return the study as JSON-able data: what `mitigations.json` and the extras of an audit hold."""
    best, near = cheapest(study), nearest(study)
    nearer: Json = None
    if near is not None:
        row, worst = _row(study, near), worst_claim(near)
        nearer = {key: row[key] for key in ("set", "outcome", "excess")}
        nearer["claim"] = None if worst is None else worst.key
        nearer["value"] = None if worst is None else plain(worst.value)
        nearer["limit"] = None if worst is None or worst.claim is None else worst.claim.limit
        nearer["red"] = [*_red(near)]
    found: dict[str, Json] = {
        "schema": SCHEMA,
        "judge": study.judge,
        "rows": [_row(study, one) for one in study.figures],
        "differences": [
            {"set": d.label, **plain_fields(d, "label"), "p": d.p, "p_adjusted": d.p_adjusted}
            for d in study.differences
        ],
        "not_applicable": [{"set": one.label, "reason": one.reason} for one in study.left_out],
        "cheapest": None if best is None else best.tried.label,
        "mitigations": None if best is None else list(best.tried.names),
        "nearest": nearer,
        "bill": study.bill,
        "said": conclusion(study),
    }
    if study.grid:
        found["attack_grid"] = _grid_body(study)
    return found


def _row(study: Study, one: Figures) -> dict[str, Json]:
    found: dict[str, Json] = {"set": one.tried.label, "outcome": outcome_of(one).value}
    for measure in MEASURED:
        found[measure] = plain(one.mean(measure))
    found |= {f"unread_{ARMS[arm]}": silent.count for arm, silent in one.unread.items()}
    found["calls_per_verdict"] = round(one.calls_per_verdict, 3)
    found["usd"] = plain(one.usd)
    found["red"] = sum(f.red for f in one.audit.findings)
    worst = worst_claim(one)
    found["excess"] = None if worst is None else plain(excess(worst))
    found["remarks"] = "; ".join(_remarks(study, one))
    return found


def _remarks(study: Study, one: Figures) -> tuple[str, ...]:
    said = remarks(study, one)
    before, after, worst = outcome_of(study.bare), outcome_of(one), worst_claim(study.bare)
    if before is not after:
        ours = None if worst is None else same_claim(one, worst)
        shown = f", {worst.bias} {figure_of(worst)} -> {figure_of(ours)}" if worst is not None and ours else ""
        said = (f"the gate goes from {before.value} to {after.value}{shown}", *said)
    elif not said and one is not study.bare:
        said = ("no clear change",)
    return (*said, *one.told)


def _red(one: Figures) -> list[str]:
    return sorted({found.bias for found in one.audit.findings if found.red})


def _grid_body(study: Study) -> dict[str, Json]:
    rows = list(dict.fromkeys(cell.attack for cell in study.grid))
    columns = list(dict.fromkeys(cell.label for cell in study.grid))
    by_place = {(cell.attack, cell.label): cell for cell in study.grid}
    matrix = [[plain(by_place[row, column].value) for column in columns] for row in rows]
    cells: list[Json] = [
        {**{k: v for k, v in asdict(c).items() if k not in ("label", "p")}, "set": c.label, "wins": c.wins}
        for c in study.grid
    ]
    task = study.bare.audit.judge.task
    unit = (Unit.ATTACK_SUCCESS if task == "pairwise" else Unit.ATTACK_GAIN).value
    return {"rows": list(rows), "columns": list(columns), "matrix": [*matrix], "unit": unit, "cells": cells}


def conclusion(study: Study) -> str:
    """Return the conclusion: the cheapest set that passes the gate, or what stays red with the best one."""
    best = cheapest(study)
    if best is not None and not best.tried.names:
        return f"{study.judge} passes the gate as it is: it needs no mitigation."
    if best is not None:
        cost_ = f", {best.cost} for this gate" if best.usd else ""
        lost = losses(study, best)
        but = f" But it {'; it '.join(lost)}." if lost else ""
        return (
            f"The cheapest set that passes the gate is {best.tried.label}: {best.calls_per_verdict:.2f} calls a "
            f"verdict (without it: {study.bare.calls_per_verdict:.2f}){cost_}.{but}"
        )
    return _without_a_pass(study)


def _without_a_pass(study: Study) -> str:
    worst, near = worst_claim(study.bare), nearest(study)
    if worst is None or worst.claim is None or not excess(worst):
        open_ = "; ".join(study.bare.audit.loose_ends) or ", ".join(_red(study.bare))
        return f"No set passes the gate. The judge alone is beyond no limit, but the data are too few: {open_}."
    tried = {one.tried.label: same_claim(one, worst) for one in study.figures[1:]}
    known = {label: found for label, found in tried.items() if found is not None and found.value is not None}
    if near is not None:
        lost = "".join(f" But it {words}." for words in losses(study, near))
        stays = ", ".join(_red(near)) or "; ".join(near.audit.loose_ends)
        than = f"{sentence(worst)}; with {near.tried.label}: {figure_of(known[near.tried.label])}."
        return f"No set passes the gate, but {near.tried.label} helps. Without it: {than}{lost} Still open: {stays}."
    best = min(known, key=lambda label: excess(known[label]) or 0.0, default=None)
    than = "" if best is None else f"; with {best}: {figure_of(known[best])}"
    return f"No remedy helps. Without: {sentence(worst)}{than}. Leave the judge as it is, or change its prompt."


def render(study: Study) -> str:
    """Return the study as text for a terminal: a table, the grid, what is left out, and the conclusion."""
    head = ("set", "gate", "red", "excess", "robustness", "accuracy", "noise", "ties", *UNREAD, "calls", "US$")
    columns = zip(head, *(_cells(one) for one in study.figures), strict=True)
    empty = ("-", "0 of ", "0.000", "unknown")
    told = (c for c in columns if c[0] not in QUIET or any(not cell.startswith(empty) for cell in c[1:]))
    rows = [*zip(*told, strict=True)]
    rows += [(one.label, LEFT_OUT, *["-"] * (len(rows[0]) - 2)) for one in study.left_out]
    count, there = study.bare.audit.cases["n"], study.bare.audit.cases["of"]
    of = f"{count} cases" if count == there else f"{count} of {there} cases (--sample)"
    text = [f"{study.judge} ({study.bare.audit.judge.task}): {of}.", "", *aligned(rows)]
    text.append("")
    text += [f"{name}: {words}" for name, words in LEGEND.items() if name in rows[0]]
    text.append("")
    said = ((one.tried.label, _remarks(study, one)) for one in study.figures)
    text += [f"{label}: {'; '.join(words)}" for label, words in said if words]
    text += [f"{one.label}: {LEFT_OUT}: {one.reason}" for one in study.left_out]
    if study.grid:
        text += ["", *_grid_lines(study)]
    text += [f"not part of this: what {node} asks where it {why}" for node, why in study.floors]
    unpriced = next((str(one.cost) for one in study.figures if one.cost is not None and one.cost.unpriced), "")
    bill = [f"All sets together took {study.bill}."] if study.bill else []
    return "\n".join([*text, "", conclusion(study), *bill, *([f"cost: {unpriced}"] if unpriced else [])])


def _cells(one: Figures) -> tuple[str, ...]:
    def shown(value: float | None, form: str = ".3f") -> str:
        return "-" if value is None else format(value, form)

    means = (shown(one.mean(measure)) for measure in MEASURED if measure != "unread")
    silent = (str(one.unread.get(arm, "-")) for arm in ("clean", "perturbed"))
    red = str(sum(f.red for f in one.audit.findings))
    worst = worst_claim(one)
    beyond = shown(None if worst is None else excess(worst), ".2f")
    figures = (beyond, *means, *silent, f"{one.calls_per_verdict:.2f}", _usd(one.cost))
    return one.tried.label, outcome_of(one).value, red, *figures


def _usd(cost: Cost | None) -> str:
    if cost is None:
        return "-"
    known = dollars(cost.usd)
    return known if not cost.unpriced else f">= {known}" if cost.usd else "unknown"


def _grid_lines(study: Study) -> list[str]:
    columns = list(dict.fromkeys(cell.label for cell in study.grid))
    by_row: dict[str, list[str]] = {}
    for cell in study.grid:
        shown = (
            "-"
            if cell.value is None or cell.low is None or cell.high is None
            else (f"{cell.value:.2f} [{cell.low:.2f}, {cell.high:.2f}]{'*' if cell.wins else ''}")
        )
        by_row.setdefault(cell.attack, []).append(shown)
    head = "Attacks (rows) against sets: success net of a clean re-ask, with bounds of 95 % each; * wins by more than "
    note = "chance, over all cells (Benjamini-Hochberg, 5 %)."
    return [f"{head}{note}", *aligned([("", *columns), *((name, *cells) for name, cells in by_row.items())])]


_TABLE = re.compile(r"^[ \t]*\[([^\[\]\n]+)\][ \t]*(?:#.*)?$", re.MULTILINE)
_LIST = re.compile(r"^[ \t]*mitigations[ \t]*=[ \t]*\[[^\]]*\][ \t]*(?:#.*)?\n?", re.MULTILINE)
_FILE = re.compile(r"^([ \t]*\w+_file[ \t]*=[ \t]*)([\"'])([^\"'\n]+)\2", re.MULTILINE)

_CASES = re.compile(r"^[ \t]*cases[ \t]*=[ \t]*(?:\[[^\]]*\]|[\"'][^\"'\n]*[\"'])", re.MULTILINE)
_QUOTED = re.compile(r"([\"'])([^\"'\n]+)\1")

FILES = (".toml", ".json", ".jsonl")
"""How the files end that a mitigation names."""


def with_mitigations(text: str, names: Sequence[str], source: Path, folder: Path) -> str:
    """
    Return a judge.toml with other mitigations, for another folder: its paths are relative to that folder.

    Raises:
        ConfigError: it has no table [judge] to hold the line.
    """
    moved = _FILE.sub(lambda m: f"{m[1]}{m[2]}{_from(folder, source.parent / m[3])}{m[2]}", text)

    def moved_path(path: re.Match[str]) -> str:
        return f"{path[1]}{_from(folder, source.parent / path[2])}{path[1]}"

    moved = _CASES.sub(lambda m: _QUOTED.sub(moved_path, m[0]), moved)
    found = next((m for m in _TABLE.finditer(moved) if m[1].strip() == "judge"), None)
    if found is None:
        raise ConfigError(f"{source}: expected a line [judge], under which the mitigations could be written")
    after = next((m.start() for m in _TABLE.finditer(moved) if m.start() > found.start()), len(moved))
    table = _LIST.sub("", moved[found.end() : after])
    shown = ", ".join(quoted(_moved(name, source.parent, folder)) for name in names)
    return f"{moved[: found.end()]}\nmitigations = [{shown}]{table}{moved[after:]}"


def _from(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _moved(name: str, old: Path, new: Path) -> str:
    kind, colon, argument = name.partition(":")
    parts = [_from(new, old / part) if part.endswith(FILES) else part for part in argument.split("+")]
    return f"{kind}{colon}{'+'.join(parts)}"


def _said(body: Mapping[str, Json]) -> str:
    said = body.get("said")
    return said if isinstance(said, str) else ""


page = Page("calm \N{MIDDLE DOT} a judge with mitigations", _said)
