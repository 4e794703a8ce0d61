"""
Measure the reader of verdicts on a corpus of replies, and write the page.

    python -m benchmarks.reader             # print the tables
    python -m benchmarks.reader --write     # put them into docs/reference/reader.md
    python -m benchmarks.reader --wrong     # print each reply that is misread or lost, and is not held out
    python -m benchmarks.reader --wrong --held-out    # print the held-out ones, too

A reply is misread if the reader gives a value other than its label, also where the label says that there is none. It is
lost if the label is a value and the reader gives none. Only replies that look real count as lost.

The replies in `styles/` follow public judge prompts; each is read as the judge.toml of its style says.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, cast

from benchmarks.pages import measured, put
from calm.core.verdict import CLASS, Criteria, Ranking, Scale, Task, Verdict, code, readable
from calm.judges.judgefile import read_judge
from calm.judges.prompted import PromptedJudge
from calm.judges.reading import Format, Kind, View, read
from calm.models.wire import Reply, Token

ROOT: Final = Path(__file__).resolve().parent.parent
CORPUS: Final = ROOT / "tests" / "corpus"
STYLES: Final = CORPUS / "styles"
PAGE: Final = ROOT / "docs" / "reference" / "reader.md"
HALVES: Final = ("first", "second")
CRITERIA: Final = ("1", "2", "3", "4", "5", "6", "7", "8", "9")
PATTERN: Final = r"(?i)verdict:[ \t]*([a-z]+|[0-9]+(?:\.[0-9]+)?)"
NEAR: Final = 0.005
"""By so much a label of a share, such as 0.67, may differ from the share."""
_TOKEN: Final = re.compile(r"\s*(?:[^\W_]+(?:\.\d+)?|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Row:
    """A reply of the corpus with its label; `half` is the person who wrote it, `style` the prompt that it answers."""

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
    style: str = ""

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
        return readable(self.verdict) and not _same(plain(self.verdict), expected(self.row))

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


def styled(*hands: str) -> list[Row]:
    """Return the rows that follow a public judge prompt, in the order of the files; "hard" are made to be hard."""
    return [
        Row(half, format=judge(data["style"]).form.kind, task=judge(data["style"]).task, scale=None, **data)
        for half in hands or HALVES
        for path in sorted((STYLES / half).glob("*.jsonl"))
        for data in map(json.loads, path.read_text("utf-8").splitlines())
    ]


@cache
def judge(style: str) -> PromptedJudge:
    """Return the judge that has a public prompt, as its file describes it."""
    return cast("PromptedJudge", read_judge(STYLES / "judges" / f"{style}.toml", {}, keyless=True))


def outcome(row: Row) -> Outcome:
    """Return what the reader makes of a row."""
    form = judge(row.style).form if row.style else Format(row.format, pattern=PATTERN if row.format == "regex" else "")
    tokens = None
    if row.format == "logprobs":
        tokens = tuple(Token(t, -0.1, ((t, -0.1),)) for t in _TOKEN.findall(row.reply))
    return Outcome(row, read(Reply(row.reply, tokens=tokens), form, view(row)))


def view(row: Row) -> View:
    """Return what a row is about; the texts that were judged are not in the corpus."""
    labels = ("A", "B", "C") if row.task == "listwise" else ("A", "B") if row.task == "pairwise" else ("A",)
    if row.style:
        return View(row.task, labels, labels, judge(row.style).scale)
    low, high = row.scale or (1.0, 10.0)
    criteria = CRITERIA[: len(row.verdict)] if isinstance(row.verdict, dict) else CRITERIA[:3]
    return View(row.task, labels, labels, Scale(low, high), ("1",) if row.task == "rubric" else criteria)


def expected(row: Row) -> object:
    """Return a label in the words of `plain`."""
    if isinstance(row.verdict, dict):
        return {key: value for key, value in row.verdict.items() if value is not None} or None
    if row.task == "label" and row.verdict is not None:
        classes = judge(row.style).scale.classes
        return f"{CLASS}{classes and classes.named(str(row.verdict))}"
    if not isinstance(row.verdict, int | float) or isinstance(row.verdict, bool):
        return row.verdict
    low_is_good = row.style and judge(row.style).scale.best == "low"
    return judge(row.style).scale.turned(row.verdict) if low_is_good else float(row.verdict)


def plain(verdict: Verdict) -> object:
    """Return a verdict as the corpus writes it."""
    match verdict:
        case Criteria(met=met):
            return {key: value for key, value in met.items() if value is not None}
        case Ranking(order=order):
            return " > ".join(" = ".join(group) for group in order)
        case _:
            return code(verdict) if readable(verdict) else None


def _same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < NEAR
    return one == other


def share(found: Sequence[Outcome]) -> tuple[int, int, int, int]:
    """Return how many replies there are, how many are misread, how many real ones have a value, and are lost."""
    real = [one for one in found if one.row.real and expected(one.row) is not None]
    return len(found), sum(one.misread for one in found), len(real), sum(one.lost for one in real)


def table(found: Sequence[Outcome], head: str, of: Callable[[Row], str]) -> list[str]:
    """Return a table with a line for each group of replies."""
    groups: dict[str, list[Outcome]] = {}
    for one in found:
        groups.setdefault(of(one.row), []).append(one)
    lines = [f"| {head} | replies | misread | real-looking with a verdict | read | lost |", "|---|---|---|---|---|---|"]
    for name, group in groups.items():
        n, misread, real, lost = share(group)
        lines.append(
            f"| {name} | {n} | {misread} ({_percent(misread, n)}) | {real} "
            f"| {real - lost} ({_percent(real - lost, real)}) | {lost} ({_percent(lost, real)}) |"
        )
    return lines


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.2%}".replace("%", " %") if whole else "-"


def _half(row: Row) -> str:
    if row.half == "first":
        return "first half, written with the rules"
    return "second half, odd rows: held out" if row.held_out else "second half, even rows: seen"


HEADS: Final[Mapping[str, Callable[[Row], str]]] = {
    "half": _half,
    "format": lambda row: f"`{row.format}`",
    "task": lambda row: f"`{row.task}`",
    "language": lambda row: row.lang,
}
STYLE_HEADS: Final[Mapping[str, Callable[[Row], str]]] = {
    "half": _half,
    "kind of reply": lambda row: row.kind,
    "prompt style": lambda row: row.style,
}


def tables(found: Sequence[Outcome], heads: Mapping[str, Callable[[Row], str]] = HEADS) -> str:
    """Return the figures of some replies as a whole, then a table for each of the heads."""
    n, misread, real, lost = share(found)
    whole = (
        f"{n} replies: {misread} misread ({_percent(misread, n)}); of {real} that look real and have a verdict, "
        f"{lost} lost ({_percent(lost, real)})."
    )
    return "\n".join([whole, *(line for head, of in heads.items() for line in ["", *table(found, head, of)])])


def blocks() -> dict[str, str]:
    """Return each generated block of the page, by its name."""
    found = [outcome(row) for row in styled()]
    unseen = table([one for one in found if one.row.held_out], "prompt style, held-out rows", lambda row: row.style)
    hard = table([outcome(row) for row in styled("hard")], "replies made to be hard", lambda row: row.kind)
    return {
        "reader": tables([outcome(row) for row in rows()]),
        "reader-styles": "\n".join([tables(found, STYLE_HEADS), "", *unseen, "", *hard]),
    }


def wrong(found: Iterable[Outcome], *, held_out: bool = False) -> str:
    """Return the replies that are misread or lost; of the held-out ones only if they are asked for."""
    return "\n".join(
        f"{'MISREAD' if one.misread else 'lost'} {one.row.half} {one.row.id} {one.row.kind} {one.row.format} "
        f"{one.row.task} real={one.row.real} label={one.row.verdict!r} read={plain(one.verdict)!r}\n"
        f"  {one.row.reply!r}\n  {getattr(one.verdict, 'reason', '')}"
        for one in found
        if (one.misread or one.lost) and (held_out or not one.row.held_out)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into a page")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--held-out", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.wrong:
        print(wrong(map(outcome, [*rows(), *styled(), *styled("hard")]), held_out=chosen.held_out))
    for name, text in blocks().items():
        if chosen.write:
            put(chosen.write, name, text, measured())
        else:
            print(text)


if __name__ == "__main__":
    main()
