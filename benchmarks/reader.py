"""
Measure the reader of verdicts on a corpus of replies, and write the page.

    python -m benchmarks.reader             # print the tables
    python -m benchmarks.reader --write     # put them into docs/reference/reader.md
    python -m benchmarks.reader --wrong     # print each reply that is misread or lost

A reply is misread if the reader gives a value other than its label, also where the label says that there is none. It is
lost if the label is a value and the reader gives none. Only replies that look real count as lost.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm.core.verdict import Criteria, Ranking, Scale, Task, Verdict, code, readable
from calm.judges.reading import Format, Kind, View, read
from calm.models.wire import Reply, Token

ROOT: Final = Path(__file__).resolve().parent.parent
CORPUS: Final = ROOT / "tests" / "corpus"
PAGE: Final = ROOT / "docs" / "reference" / "reader.md"
HALVES: Final = ("first", "second")
CRITERIA: Final = ("1", "2", "3", "4", "5", "6", "7", "8", "9")
PATTERN: Final = r"(?i)verdict:[ \t]*([a-z]+|[0-9]+(?:\.[0-9]+)?)"
_TOKEN: Final = re.compile(r"\s*(?:[^\W_]+(?:\.\d+)?|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Row:
    """A reply of the corpus with its label; `half` is the person who wrote it."""

    half: str
    id: str
    lang: str
    format: Kind
    task: Task
    scale: tuple[float, float] | None
    reply: str
    verdict: object
    kind: str
    real: bool

    @property
    def held_out(self) -> bool:
        """Whether the reader was not developed on it: the odd rows of the second half."""
        return self.half == "second" and int(re.sub(r"\D", "", self.id)) % 2 == 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row and what the reader made of it."""

    row: Row
    verdict: Verdict

    @property
    def misread(self) -> bool:
        """Whether the reader gives another value than the label."""
        return readable(self.verdict) and plain(self.verdict) != expected(self.row)

    @property
    def lost(self) -> bool:
        """Whether the label is a value and the reader gives none."""
        return expected(self.row) is not None and not readable(self.verdict)


def rows(*halves: str) -> list[Row]:
    """Return the rows of the corpus, in the order of the files."""
    return [
        Row(half, **{**data, "scale": tuple(data["scale"]) if data["scale"] else None})
        for half in halves or HALVES
        for path in sorted((CORPUS / half).glob("*.jsonl"))
        for data in map(json.loads, path.read_text("utf-8").splitlines())
    ]


def outcome(row: Row) -> Outcome:
    """Return what the reader makes of a row."""
    form = Format(row.format, pattern=PATTERN if row.format == "regex" else "")
    tokens = None
    if row.format == "logprobs":
        tokens = tuple(Token(t, -0.1, ((t, -0.1),)) for t in _TOKEN.findall(row.reply))
    return Outcome(row, read(Reply(row.reply, tokens=tokens), form, view(row)))


def view(row: Row) -> View:
    """Return what a row is about; the texts that were judged are not in the corpus."""
    labels = ("A", "B", "C") if row.task == "listwise" else ("A", "B") if row.task == "pairwise" else ("A",)
    low, high = row.scale or (1.0, 10.0)
    criteria = CRITERIA[: len(row.verdict)] if isinstance(row.verdict, dict) else CRITERIA[:3]
    return View(row.task, labels, labels, Scale(low, high), ("1",) if row.task == "rubric" else criteria)


def expected(row: Row) -> object:
    """Return a label in the words of `plain`."""
    if isinstance(row.verdict, dict):
        return {key: value for key, value in row.verdict.items() if value is not None} or None
    return float(row.verdict) if isinstance(row.verdict, int) and not isinstance(row.verdict, bool) else row.verdict


def plain(verdict: Verdict) -> object:
    """Return a verdict as the corpus writes it."""
    match verdict:
        case Criteria(met=met):
            return {key: value for key, value in met.items() if value is not None}
        case Ranking(order=order):
            return " > ".join(" = ".join(group) for group in order)
        case _:
            return code(verdict) if readable(verdict) else None


def share(found: Sequence[Outcome]) -> tuple[int, int, int, int]:
    """Return how many replies there are, how many are misread, how many real ones have a value, and are lost."""
    real = [one for one in found if one.row.real and expected(one.row) is not None]
    return len(found), sum(one.misread for one in found), len(real), sum(one.lost for one in real)


def table(found: Sequence[Outcome], head: str, of: Callable[[Row], str]) -> list[str]:
    """Return a table with a line for each group of replies."""
    groups: dict[str, list[Outcome]] = {}
    for one in found:
        groups.setdefault(of(one.row), []).append(one)
    lines = [f"| {head} | replies | misread | real-looking with a verdict | lost |", "|---|---|---|---|---|"]
    for name, group in groups.items():
        n, misread, real, lost = share(group)
        lines.append(
            f"| {name} | {n} | {misread} ({_percent(misread, n)}) | {real} | {lost} ({_percent(lost, real)}) |"
        )
    return lines


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.2%}".replace("%", " %") if whole else "-"


def _half(row: Row) -> str:
    if row.half == "first":
        return "first half, written with the rules"
    return "second half, odd rows: held out" if row.held_out else "second half, even rows: seen"


def tables(found: Sequence[Outcome]) -> str:
    """Return all tables of the page."""
    n, misread, real, lost = share(found)
    whole = (
        f"{n} replies: {misread} misread ({_percent(misread, n)}); of {real} that look real and have a verdict, "
        f"{lost} lost ({_percent(lost, real)})."
    )
    ordered: Mapping[str, Callable[[Row], str]] = {
        "half": _half,
        "format": lambda row: f"`{row.format}`",
        "task": lambda row: f"`{row.task}`",
        "language": lambda row: row.lang,
    }
    return "\n".join([whole, *(line for head, of in ordered.items() for line in ["", *table(found, head, of)])])


def wrong(found: Iterable[Outcome]) -> str:
    """Return the replies that are misread or lost."""
    return "\n".join(
        f"{'MISREAD' if one.misread else 'lost'} {one.row.half} {one.row.id} {one.row.kind} {one.row.format} "
        f"{one.row.task} real={one.row.real} label={one.row.verdict!r} read={plain(one.verdict)!r}\n"
        f"  {one.row.reply!r}\n  {getattr(one.verdict, 'reason', '')}"
        for one in found
        if one.misread or one.lost
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    chosen = parser.parse_args(arguments)
    found = [outcome(row) for row in rows()]
    if chosen.wrong:
        print(wrong(found))
    block = f"<!-- generated: reader -->\n{tables(found)}\n<!-- end: reader -->"
    if chosen.write:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(
            re.sub(r"<!-- generated: reader -->.*?<!-- end: reader -->", lambda _: block, page, flags=re.DOTALL),
            "utf-8",
        )
    else:
        print(tables(found))


if __name__ == "__main__":
    main()
