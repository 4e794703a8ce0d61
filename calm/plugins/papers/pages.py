"""CALM's figures as text, as a page and as CSV: by bias in a run, and of several judges (`calm compare --as calm`)."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import groupby
from pathlib import Path
from shutil import get_terminal_size

from calm import __version__
from calm.commands import DONE
from calm.errors import ConfigError, series
from calm.plugins.papers.protocol import (
    BIASES,
    ENHANCEMENT,
    GROUPS,
    BiasFigures,
    CalmProtocol,
    Chosen,
    Column,
    Figure,
    JudgeRow,
    JudgeTable,
    Ratio,
    Share,
    calm_protocol,
)
from calm.results import outputs
from calm.results.audit import Audit
from calm.results.parts import aligned
from calm.results.reports.extras import Table
from calm.results.reports.html import environment, safety
from calm.results.reports.tables import neutral
from calm.results.tabular import Unread
from calm.results.wording import clipped, unnamed
from calm.statistics.calm_errors import MOST_UNREAD

HEADING = "CALM's protocol: RR with its 95% interval, CR, accuracy, unread replies"
LACKING = "-"
PLACES = 3
"""The paper prints rates in three digits."""
HEAD = ("bias", "RR", "CR", "Acc", "Acc_hack", "n", "unread")
SIDES = "{} is the mean of its sides: {}"
UNREAD = "unread replies, clean + edited"
"""What is counted: replies that were unreadable or refused, before the edit and after it."""
WITHHELD = f"no figure where more than {MOST_UNREAD:.0%} of the replies that it rests on are unread"
PARTS = {"diversity": "group", "compassion-fade": "name"}
"""The biases whose edits that take turns are told apart in a terminal, and what each of these edits is about."""
TWELVE = (*BIASES, ENHANCEMENT)
NOTICED = "fallacy-oversight: a high RR means that broken steps went unnoticed; noticed, net: {}"


@dataclass(frozen=True, slots=True)
class ProtocolView:
    """The parts of the report: the table of biases, its parts, figures by name, and remarks."""

    table: Table
    variants: Table | None
    answers: Table | None
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def decimal(value: float | None, *, sign: bool = False) -> str:
    """
    Return a rate or an error in three digits, a dash for none.

    >>> decimal(0.9), decimal(-0.0001), decimal(0.25, sign=True), decimal(None)
    ('0.900', '0.000', '+0.250', '-')
    """
    if value is None:
        return LACKING
    shown = round(value, PLACES) + 0.0
    return f"{shown:+.{PLACES}f}" if sign and shown else f"{shown:.{PLACES}f}"


def rate(share: Share | None) -> str:
    """
    Return a rate with its 95% interval.

    >>> rate(Share(0.9, 0.699, 0.972, 20)), rate(None)
    ('0.900 [0.70, 0.97]', '-')
    """
    return LACKING if share is None else f"{decimal(share.value)} [{share.low:.2f}, {share.high:.2f}]"


def told(audit: Audit) -> list[str]:
    """Return the lines of a run for a terminal; none of a run that has no such figures."""
    found = calm_protocol(audit)
    return [] if found is None else lines_of(found)


def measured(audit: Audit) -> str:
    """Return how many of CALM's biases have a figure, and why others have none; nothing of any other run."""
    found = None
    with suppress(ConfigError):  # the figures themselves say what is damaged
        found = calm_protocol(audit)
    if found is None:
        return ""
    there = {one.bias for one in found.biases if one.robustness_rate} | ({ENHANCEMENT} if found.enhancement else set())
    asked = there | {one.bias for one in found.biases}
    without = _lacking(found)
    absent = sum(bias not in asked for bias in TWELVE)
    without += [f"{absent} that this run does not ask about"] if absent else []
    return f"{len(there)} of {len(TWELVE)} biases measured{', not: ' if without else ''}{'; '.join(without)}"


def unbroken(share: Share | None) -> str:
    """Return a rate for a page: no line breaks inside of its interval."""
    return rate(share).replace(", ", ",\N{NO-BREAK SPACE}")


def lines_of(found: CalmProtocol) -> list[str]:
    """Return the figures for a terminal, in columns that 80 characters hold, then a line for each figure of its own."""
    rows = [_cells(one) for one in found.biases if one.unread]
    told = [f"{name}: {value}" for name, value in _facts(found)]
    return [HEADING, *aligned([HEAD, *rows]), *_apart(found), *told, *_notes(found)]


def view_of(audit: Audit) -> ProtocolView | None:
    """Return the figures for the report; None of a run that has no such figures, or whose record is damaged."""
    found = None
    with suppress(ConfigError):  # it costs this part, not the report
        found = calm_protocol(audit)
    if found is None:
        return None
    rated = (f"{name} [95%]" for name in ("RR", "CR", "Acc", "Acc_hack"))
    heads = ("Bias", *rated, "Questions", "Unread clean", "Unread edited")
    rows = tuple(
        (
            one.bias,
            *map(unbroken, (one.robustness_rate, one.consistency_rate, one.accuracy, one.accuracy_hacked)),
            str(one.robustness_rate.n) if one.robustness_rate else LACKING,
            *(str(one.unread.get(arm, LACKING)) for arm in ("clean", "perturbed")),
        )
        for one in found.biases
        if one.unread
    )
    apart = tuple(
        (one.bias, name, unbroken(share), _n(share))
        for one in found.biases
        for name, share in (*(one.sides.items()), *(one.variants.items()))
    )
    curve = tuple(
        (number, *map(unbroken, (chosen.robustness_rate, chosen.consistency_rate)), _n(chosen.robustness_rate))
        for number, chosen in _curve(found)
    )
    return ProtocolView(
        Table(heads, rows),
        Table(("Bias", "Edit", "RR [95%]", "Questions"), apart) if apart else None,
        Table(("Answers", "RR [95%]", "CR [95%]", "Questions"), curve) if curve else None,
        tuple(_facts(found)),
        (*_notes(found), *(f"not measured: {names}" for names in _lacking(found))),
    )


def _cells(one: BiasFigures) -> tuple[str, ...]:
    shares = (one.consistency_rate, one.accuracy, one.accuracy_hacked)
    gone = [str(one.unread[arm].count) if arm in one.unread else LACKING for arm in ("clean", "perturbed")]
    plain = (decimal(share.value if share else None) for share in shares)
    return one.bias, rate(one.robustness_rate), *plain, _n(one.robustness_rate), "+".join(gone)


def _n(share: Share | None) -> str:
    return str(share.n) if share else LACKING


def _curve(found: CalmProtocol) -> list[tuple[str, Chosen]]:
    """Return the rates of position by the number of answers; none where all cases are pairs."""
    answers = found.of("position").answers
    return [] if set(answers) <= {"2"} else list(answers.items())


def _apart(found: CalmProtocol) -> list[str]:
    """Return a line for each bias whose RR is told by group, by name or by number of answers."""
    shares: dict[str, list[tuple[str, Share | None]]] = {
        f"{bias}, RR by {word}": [(name.partition(": ")[2] or name, share) for name, share in variants.items()]
        for bias, word in PARTS.items()
        if (variants := found.of(bias).variants)
    }
    if curve := _curve(found):
        shares["position, RR of the choice by number of answers"] = [(n, one.robustness_rate) for n, one in curve]
    return [
        f"{name}: {', '.join(f'{part} {decimal(one.value if one else None)} (n={_n(one)})' for part, one in parts)}"
        for name, parts in shares.items()
    ]


def _facts(found: CalmProtocol) -> list[tuple[str, str]]:
    facts = [(UNREAD, f"{_unread(found)}; {WITHHELD}")]
    if found.consistency_rate:
        facts.append(("CR of all cases", f"{rate(found.consistency_rate)}, n={found.consistency_rate.n}"))
    if found.intensity:
        kinds = [f"{kind} {decimal(value)}" for kind, value in found.intensity.items() if kind != "all"]
        whole = GROUPS["all"]
        rated = sum(found.of(bias).robustness_rate is not None for bias in whole)
        name = f"BIS (CR - mean RR{f' of {rated} of {len(whole)} biases' if rated < len(whole) else ''})"
        facts.append((name, f"{decimal(found.intensity.get('all'))} ({', '.join(kinds)})"))
    if found.reasoning:
        told = ratio(found.reasoning, ("Acc_ori", "Acc_CoT", "AIR"))
        facts.append(("chain-of-thought", told))
    if found.refinement:
        facts.append(("refinement-aware", ratio(found.refinement, ("mean score", "with the history", "Err_RA"))))
    if found.enhancement:
        facts.append(("self-enhancement", ratio(found.enhancement, ("by others", "by itself", "Err_SE"))))
    return facts


def _unread(found: CalmProtocol) -> str:
    none = Unread(0, 0)
    counts = {one.bias: [one.unread.get(arm, none) for arm in ("clean", "perturbed")] for one in found.biases}
    total = [Unread(sum(a.count for a in arm), sum(a.of for a in arm)) for arm in zip(*counts.values(), strict=True)]
    return f"{total[0]} + {total[1]}"


def ratio(found: Ratio, names: tuple[str, str, str]) -> str:
    """
    Return two means and what they come to; `names` are theirs and that of the figure.

    >>> ratio(Ratio(8.0, 6.0, -0.25, 1 / 3, 20), ("mean score", "with the history", "Err_RA"))
    'mean score 8.000, with the history 6.000: Err_RA -0.250 (preprint 0.333), n=20'
    """
    before, after, name = names
    old = "" if found.absolute is None else f" (preprint {decimal(found.absolute)})"
    n = "" if found.n is None else f", n={found.n}"
    means = f"{before} {decimal(found.before)}, {after} {decimal(found.after)}"
    return f"{means}: {name} {decimal(found.value, sign=True)}{old}{n}"


def _notes(found: CalmProtocol) -> list[str]:
    notes = [SIDES.format(f"{one.bias}: RR", _sides(one)) for one in found.biases if one.sides]
    return notes + [NOTICED.format(decimal(one.detection)) for one in found.biases if one.detection is not None]


def _lacking(found: CalmProtocol) -> list[str]:
    """Return the biases without an RR, those together that share a reason, which says so."""
    missing: dict[str, list[str]] = {}
    for one in found.biases:
        if one.reason and not one.robustness_rate:
            missing.setdefault(str(unnamed(one.reason)), []).append(one.bias)
    shared = {1: "", 2: "both: "}
    return [f"{series(names)} ({shared.get(len(names), 'all: ')}{why})" for why, names in missing.items()]


def _sides(one: BiasFigures) -> str:
    shown: Sequence[str] = [f"{name} {decimal(share.value)}" for name, share in one.sides.items()]
    return ", ".join(shown)


NAME = 24
"""Characters of a judge's name in a terminal."""
GAP = 2
ARROW = " -> "
CSV_PLACES = 6
"""A CSV file holds figures as precisely as a record."""


def render_text(table: JudgeTable, width: int) -> str:
    """Return the table for a terminal: a part for each group of figures, as many columns beside each other as fit."""
    names = [clipped(row.name, NAME) for row in table.rows]
    parts = [f"CALM's figures of {len(names)} judges; rates with 95% intervals"]
    for group, heads in _grouped(table.columns):
        parts += ["", group]
        columns = [(head, [_short(row, columns) for row in table.rows]) for head, columns in heads]
        for block in _blocks(columns, width - max(map(len, ("judge", *names)))):
            rows = [("judge", *(head for head, _ in block))]
            rows += [(name, *(cells[place] for _, cells in block)) for place, name in enumerate(names)]
            parts += aligned(rows)
    parts += ["", *(f"{row.name}: {row.figures.task}, {row.cases} cases, {row.source}" for row in table.rows)]
    return "\n".join([*parts, *table.notes])


def render(table: JudgeTable) -> str:
    """Return the page; everything that a user wrote is escaped."""
    pages = environment()
    return pages.get_template("calm_judges.html.jinja").render(
        names=[row.name for row in table.rows],
        groups=[(group, _page_table(table.rows, heads)) for group, heads in _grouped(table.columns)],
        runs=Table(
            ("Judge", "Verdicts", "Cases", "Results"),
            tuple((row.name, row.figures.task, str(row.cases), row.source) for row in table.rows),
        ),
        notes=table.notes,
        calm=__version__,
        **safety(pages),
    )


def render_csv(table: JudgeTable) -> str:
    """
    Return the table as CSV: a row for each judge, a column for each figure.

    A rate has three columns more: the ends of its 95% interval (`low`, `high`) and its number of questions (`n`).
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rated = {c.name for c in table.columns if any(isinstance(c.of(row.figures), Share) for row in table.rows)}
    heads = [name for c in table.columns for name in _heads(c.name, rated=c.name in rated)]
    writer.writerow([*outputs.JUDGES_BEGIN.rstrip(",").split(","), *heads])
    for row in table.rows:
        about = [neutral(row.name), neutral(row.source), row.figures.task, row.cases]
        cells = [cell for c in table.columns for cell in _csv_cells(c.of(row.figures), rated=c.name in rated)]
        writer.writerow([*about, *cells])
    return out.getvalue()


def write(table: JudgeTable, path: Path) -> None:
    """
    Write the table as a page, or as CSV where the name ends so; the file appears whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    made = render_csv(table) if form_of(path) is outputs.JUDGES else render(table)
    outputs.write_whole(path, [made], form_of(path))


def form_of(path: Path) -> outputs.Form:
    """Return the form of a table that is written to this place."""
    return outputs.JUDGES if path.suffix.lower() == ".csv" else outputs.REPORT


def _grouped(columns: Sequence[Column]) -> list[tuple[str, list[tuple[str, list[Column]]]]]:
    groups = groupby(columns, key=lambda column: column.group)
    return [
        (group, [(head, list(same)) for head, same in groupby(some, key=lambda column: column.head)])
        for group, some in groups
    ]


def _blocks(columns: Sequence[tuple[str, Sequence[str]]], width: int) -> list[list[tuple[str, Sequence[str]]]]:
    blocks: list[list[tuple[str, Sequence[str]]]] = []
    left = 0
    for head, cells in columns:
        wide = GAP + max(map(len, (head, *cells)))
        if not blocks or wide > left:
            blocks.append([])
            left = width
        blocks[-1].append((head, cells))
        left -= wide
    return blocks


def _short(row: JudgeRow, columns: Sequence[Column]) -> str:
    first = columns[0].of(row.figures)
    if len(columns) == 1:
        return rate(first) if isinstance(first, Share) else _plain(first, columns[0])
    cells = [_plain(column.of(row.figures), column) for column in columns]
    return LACKING if set(cells) == {LACKING} else ARROW.join(cells)


def _page_table(rows: Sequence[JudgeRow], heads: Sequence[tuple[str, Sequence[Column]]]) -> Table:
    cells = tuple((row.name, *(_long(row, columns) for _, columns in heads)) for row in rows)
    return Table(("Judge", *(head for head, _ in heads)), cells)


def _long(row: JudgeRow, columns: Sequence[Column]) -> str:
    shown = []
    for column in columns:
        found = column.of(row.figures)
        shown.append(f"{unbroken(found)}, n={found.n}" if isinstance(found, Share) else _plain(found, column))
    return LACKING if set(shown) == {LACKING} else " \N{RIGHTWARDS ARROW} ".join(shown)


def _plain(found: Figure, column: Column) -> str:
    value = found.value if isinstance(found, Share) else found
    if isinstance(value, int):
        return str(value)
    return LACKING if value is None else decimal(value, sign=column.signed)


def _heads(name: str, *, rated: bool) -> list[str]:
    return [name, f"{name} low", f"{name} high", f"{name} n"] if rated else [name]


def _csv_cells(found: Figure, *, rated: bool) -> list[str | float | int]:
    if isinstance(found, Share):
        return [*(round(value, CSV_PLACES) for value in (found.value, found.low, found.high)), found.n]
    if found is None:
        return [""] * (4 if rated else 1)
    return [found if isinstance(found, int) else round(found, CSV_PLACES) + 0.0]


TABLES = (".html", ".htm", ".csv")


def compare(options: argparse.Namespace) -> int:
    """Show CALM's figures of several judges."""
    from calm.core.files import inputs
    from calm.plugins.papers.protocol import judge_table
    from calm.results.outputs import Output, refuse
    from calm.results.wording import printable

    target = Path(options.out) if options.out else None
    if options.lines is not None:
        raise ConfigError("--lines: a table of judges has no parts to cut, got it with --as calm; leave it out")
    if options.texts == "none":
        raise ConfigError("--texts: a table of judges has no texts, got it with --as calm; leave it out")
    if target is not None and target.suffix.lower() not in TABLES:
        raise ConfigError(f"-o: expected a FILE that ends in {', '.join(TABLES)}, got {options.out!r}")
    table = judge_table([Path(name) for name in options.files])
    if target is not None:
        refuse([Output("-o", target, form_of(target))], inputs=inputs())
    print("\n".join(map(printable, render_text(table, get_terminal_size().columns).splitlines())))
    if target is not None:
        write(table, target)
        print(f"wrote {printable(options.out)}")
    return DONE
