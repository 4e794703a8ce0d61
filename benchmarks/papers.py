"""
The page on the publications: which command gives each method, and what they print beside what we compute.

    python -m benchmarks.papers                                    # print the tables (seconds)
    python -m benchmarks.papers --write docs/measured/papers.md   # write them between their marks
    python -m benchmarks.papers --check docs/measured/papers.md   # exit 1 if the page says otherwise

`tests/papers/` asserts every row.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.methods import METHODS
from benchmarks.own_data import FIGURES
from benchmarks.pages import block, measured, put
from benchmarks.paper_lines import PAPERS, Line

GROUPS: Mapping[str, Callable[[Line], bool]] = {
    "From raw verdicts": lambda one: one.raw and one.ours != "-",
    "From other printed numbers: no reproduction": lambda one: not one.raw,
    "Not recomputed": lambda one: one.raw and one.ours == "-",
}
"""Which figures stand together, by heading."""
BY = {call: method.command for _, methods in METHODS for method in methods for call in method.calls}
"""The command that gives a function to a user."""


def methods() -> str:
    """Return the table of methods as Markdown: the figures of their sources, ours, and those on data of one's own."""
    lines = [line for _, of in PAPERS for line in of()]
    head = (
        *("publication", "method", "command", "figures of the source", "of these equal", "why not all"),
        *("own data: equal to a second program", "a known value"),
    )
    rows = []
    for paper, group in METHODS:
        for one in group:
            mine = [line for line in lines if line.method == one.name]
            printed, equal = reproduced(mine)
            why = "; ".join(dict.fromkeys(line.remark for line in mine if line.cells[0] != line.cells[1]))
            own = sum(figure.method == one.name for figure in FIGURES)
            cells = [paper, one.name, one.command, str(printed or "none"), str(equal) if printed else "-", why or "-"]
            rows.append([*cells, f"{own} of {own}" if own else "-", f"`tests/{one.test}`"])
    return "\n".join(["## Methods", "", *(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))])


def reproduced(lines: Iterable[Line]) -> tuple[int, int]:
    """Return how many figures of the source some lines stand for, and how many of them ours equal."""
    printed, equal = zip(*[(0, 0), *(one.cells for one in lines)], strict=True)
    return sum(printed), sum(equal)


def counts() -> str:
    """Return how many figures come from raw verdicts, and how many of them are equal, as Markdown."""
    rows = []
    for title, lines in PAPERS:
        printed, equal = reproduced(one for one in lines() if one.raw and one.ours != "-")
        rows.append(f"| {title} | {printed or '-'} | {equal if printed else '-'} |")
    head = ["| publication | figures of the source that raw verdicts give | equal |", "|---|---|---|"]
    return "\n".join(["## What is reproduced", "", *head, *rows])


def figures() -> str:
    """Return the figures of all publications as Markdown."""
    parts = []
    for title, lines in PAPERS:
        found = list(lines())
        parts.append(f"## {title}")
        for heading, fits in GROUPS.items():
            chosen = [one for one in found if fits(one)]
            if chosen:
                head = "| figure | printed | ours | for your judges | remark |"
                parts.append("\n".join([f"### {heading}", "", head, "|---|---|---|---|---|", *map(_row, chosen)]))
    return "\n\n".join(parts)


def _row(one: Line) -> str:
    command = BY[one.by] if one.by else "-"
    return f"| {one.what} | {one.printed} | {one.ours} | {command} | {one.remark} |"


def tables() -> str:
    """Return all tables as Markdown."""
    return "\n\n".join([methods(), counts(), figures()])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, write them between their marks in a page, or check that they are there."""
    parser = argparse.ArgumentParser(description="Methods, published figures and ours.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page that holds the marks")
    parser.add_argument("--check", type=Path, metavar="PAGE", help="the page to compare with")
    options = parser.parse_args(arguments)
    text = tables()
    if options.check:
        return int(block(options.check, "papers") != text)
    if options.write:
        put(options.write, "papers", text, measured())
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
