"""The page about real judges: its tables, from the rows that were measured."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from typing import Any, Final

from benchmarks.real_judges.figures import Row, gold, markdown, position, scores
from benchmarks.real_judges.tables import CLAIMS

WANTED: Final = 0.94
"""The least coverage of a bound at .95."""
MOST: Final = 0.05
"""The largest share of samples in which a true claim may fail, or a broken one pass."""
CHANCE: Final = 3
"""
How many Monte-Carlo errors a share may lie beyond `MOST` where the limit is the truth itself.

There an exact interval errs with just that probability, so of many rows some lie above it.
"""
FROM: Final = 60
"""The smallest n of which these hold."""
NEAR: Final = 0.02
"""Differences below which two prompts are called the same."""
BINS: Final = ((0.0, NEAR), (NEAR, 0.05), (0.05, 0.10), (0.10, 0.20), (0.20, 2.0))
"""Sizes of a difference between two prompts."""
_WORDS: Final = frozenset({"kind", "judge", "other", "measure", "design"})
_COUNTS: Final = frozenset({"n", "samples"})
"""Columns of the CSV that hold words, and whole numbers."""
DESIGNS: Final = {
    "single": "one case a question",
    "whole": "whole questions",
    "fixed": "one case a question, one look at the end",
    "in turn": "one case after the other",
}


def tables(rows: Sequence[Row], samples: int) -> dict[str, str]:
    """Return the tables of the page by the names of their blocks, made from the rows with so many samples."""
    kept = [row for row in rows if row["kind"] == "figures" or row["samples"] == samples]
    return {name: table(kept) for name, table in TABLES.items()}


def as_csv(rows: Sequence[Row], samples: int) -> str:
    """Return all rows of samples as CSV: what the tables of the page are made from."""
    text = io.StringIO()
    names = ("kind", "judge", "other", "measure", "design", "n", "samples", "truth", "limit", "low", "high")
    shares = [
        f"{claim}_{outcome}" for claim in ("suite", "holds", "broken") for outcome in ("PASS", "FAIL", "UNDECIDED")
    ]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "questions", *shares, "right", "wrong"])
    for row in sorted((r for r in rows if r.get("samples") == samples), key=_order):
        outcomes = row.get("outcomes", {})
        found = []
        for share in shares:
            claim, _, word = share.partition("_")
            found.append(outcomes[claim].get(word, 0.0) if claim in outcomes else "")
        named = [row.get(name, "") for name in (*names, "questions")]
        cells = [*named, *found, row.get("right", ""), row.get("wrong", "")]
        writer.writerow([round(cell, 6) if isinstance(cell, float) else cell for cell in cells])
    return text.getvalue()


def from_csv(text: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV that `as_csv` wrote: the figures of whole tables are not among them."""
    found = []
    for line in csv.DictReader(io.StringIO(text)):
        row: dict[str, Any] = {}
        outcomes: dict[str, dict[str, float]] = defaultdict(dict)
        for name, cell in line.items():
            claim, _, outcome = name.partition("_")
            if cell and outcome.isupper():
                outcomes[claim][outcome] = float(cell)
            elif cell:
                row[name] = cell if name in _WORDS else int(cell) if name in _COUNTS else float(cell)
        found.append(row | ({"outcomes": dict(outcomes)} if outcomes else {}))
    return found


def _order(row: Row) -> tuple[str, ...]:
    return tuple(f"{row.get(name, '')!s:>04}" for name in ("kind", "judge", "other", "measure", "design", "n"))


# -------------------------------------------------------------------------------------------------------- the samples


def holds(row: Row) -> bool:
    """Return whether the claim of the suite is true of the whole table."""
    claim, truth = CLAIMS[row["measure"]], float(row["truth"])
    return {
        ">=": truth >= claim.limit,
        "<=": truth <= claim.limit,
        "abs<=": abs(truth) <= claim.limit,
    }[claim.op]


def errors(row: Row) -> Iterator[tuple[str, float, float]]:
    """Yield the kind and share of wrong decisions on each claim of a row, and the largest share that there may be."""
    of, samples = row["outcomes"], row["samples"]
    true = holds(row)
    yield "false FAIL" if true else "false PASS", of["suite"].get("FAIL" if true else "PASS", 0.0), MOST
    if "holds" in of:
        most = MOST + CHANCE * sqrt(MOST * (1 - MOST) / samples)
        yield "false FAIL", of["holds"].get("FAIL", 0.0), most
        yield "false PASS", of["broken"].get("PASS", 0.0), most


def worst(rows: Sequence[Row], kind: str) -> tuple[float | None, float]:
    """Return the largest share of one kind of wrong decisions in some rows, and what it may be; None where none is."""
    found = [(share, most) for row in rows for name, share, most in errors(row) if name == kind]
    return max(found, key=lambda one: one[0] - one[1], default=(None, MOST))


def _wrong(rows: Sequence[Row], kind: str, samples: int, *, due: bool) -> str:
    share, most = worst(rows, kind)
    return _share(share, samples, most=most if due else None)


def _share(share: float | None, samples: int, *, least: float | None = None, most: float | None = None) -> str:
    """Return a share with its Monte-Carlo error, in bold where it misses what must hold."""
    if share is None:
        return "–"
    spread = sqrt(max(share * (1 - share), 1 / samples * (1 - 1 / samples)) / samples)
    shown = f"{share:.3f} ± {spread:.3f}"
    wrong = (least is not None and share < least) or (most is not None and share > most)
    return f"**{shown}**" if wrong else shown


def summary(rows: Sequence[Row]) -> str:
    """Return the worst row of each set, measure, design and n."""
    found: dict[tuple[str, str, str, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row["kind"] == "resampled":
            found[row["judge"].partition("/")[0], row["measure"], row["design"], row["n"]].append(row)
    lines = []
    for (name, measure, design, n), several in sorted(found.items(), key=lambda one: (one[0][:2], _place(one[0]))):
        samples, due = several[0]["samples"], n >= FROM
        least = WANTED if due else None
        true = [row for row in several if holds(row)]
        false = [row for row in several if not holds(row)]
        lines.append(
            [
                name,
                f"`{measure}`",
                DESIGNS[design],
                str(n),
                str(len(several)),
                _share(min(row["low"] for row in several), samples, least=least),
                _share(min(row["high"] for row in several), samples, least=least),
                _wrong(several, "false FAIL", samples, due=due),
                _wrong(several, "false PASS", samples, due=due),
                _mean(true, "PASS"),
                _mean(false, "FAIL"),
                _mean(several, "UNDECIDED"),
            ]
        )
    head = ["set", "measure", "a sample", "n", "judges", "lower bound covers", "upper bound covers", "true, but FAIL"]
    return markdown([*head, "broken, but PASS", "true: PASS", "broken: FAIL", "UNDECIDED"], lines)


def _place(key: tuple[str, str, str, int]) -> tuple[int, int]:
    return list(DESIGNS).index(key[2]), key[3]


def _mean(rows: Sequence[Row], outcome: str) -> str:
    """Return the mean share of an outcome of the suite's claim."""
    if not rows:
        return "–"
    return f"{sum(row['outcomes']['suite'].get(outcome, 0.0) for row in rows) / len(rows):.2f}"


def missed(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of n >= 60 in which a bound covers too seldom, or a decision is wrong too often."""
    due = [row for row in rows if row["kind"] == "resampled" and row["n"] >= FROM]
    return [
        row
        for row in due
        if min(row["low"], row["high"]) < WANTED or any(share > most for _, share, most in errors(row))
    ]


def misses(rows: Sequence[Row]) -> str:
    """Return those rows as a table, and how many there are of how many."""
    found = missed(rows)
    due = sum(row["kind"] == "resampled" and row["n"] >= FROM for row in rows)
    said = f"{len(found)} of {due:,} rows with n >= {FROM} miss what must hold."
    lines = [
        [
            f"`{row['judge']}`",
            f"`{row['measure']}`",
            DESIGNS[row["design"]],
            str(row["n"]),
            f"{row['questions']:.0f}",
            f"{row['truth']:.3f}",
            _share(row["low"], row["samples"], least=WANTED),
            _share(row["high"], row["samples"], least=WANTED),
            _wrong([row], "false FAIL", row["samples"], due=True),
            _wrong([row], "false PASS", row["samples"], due=True),
        ]
        for row in found
    ]
    head = ["judge", "measure", "a sample", "n", "questions", "truth", "lower covers", "upper covers"]
    return f"{said}\n\n{markdown([*head, 'true, but FAIL', 'broken, but PASS'], lines)}" if lines else said


def of_each(rows: Sequence[Row]) -> str:
    """Return what the gate says of each judge of 200 cases, beside the truth."""
    lines = []
    for row in sorted((r for r in rows if r["kind"] == "resampled" and r["n"] == 200), key=_order):
        if row["design"] in ("whole", "in turn"):
            continue
        of, samples = row["outcomes"]["suite"], row["samples"]
        true = holds(row)
        lines.append(
            [
                f"`{row['judge']}`",
                f"`{CLAIMS[row['measure']]}`",
                f"{row['truth'] + 0.0:.3f}",
                "holds" if true else "broken",
                _share(of.get("PASS", 0.0), samples, most=None if true else MOST),
                _share(of.get("FAIL", 0.0), samples, most=MOST if true else None),
                _share(of.get("UNDECIDED", 0.0), samples),
                _share(row["low"], samples, least=WANTED),
                _share(row["high"], samples, least=WANTED),
            ]
        )
    head = ["judge", "claim", "truth", "it", "PASS", "FAIL", "UNDECIDED", "lower covers", "upper covers"]
    return markdown(head, lines)


# -------------------------------------------------------------------------------------------------- prompts compared


def sizes(rows: Sequence[Row]) -> str:
    """Return how often a difference of some size was found, by n."""
    lines = []
    several = [row for row in rows if row["kind"] == "compared"]
    for measure in sorted({row["measure"] for row in several}):
        for n in sorted({row["n"] for row in several}):
            for low, high in BINS:
                found = [r for r in several if (r["measure"], r["n"]) == (measure, n) and low <= abs(r["truth"]) < high]
                if not found:
                    continue
                samples = found[0]["samples"]
                lines.append(
                    [
                        f"`{measure}`",
                        str(n),
                        f"{low:.2f} to {high:.2f}" if high < 1 else f"{low:.2f} and more",
                        str(len(found)),
                        f"{sum(r['right'] for r in found) / len(found):.2f}",
                        f"{sum(1 - r['right'] - r['wrong'] for r in found) / len(found):.2f}",
                        _share(max(r["wrong"] for r in found), samples, most=MOST),
                        _share(min(r["low"] for r in found), samples, least=WANTED if n >= FROM else None),
                        _share(min(r["high"] for r in found), samples, least=WANTED if n >= FROM else None),
                    ]
                )
    head = ["measure", "n", "true difference", "pairs", "found", "missed", "wrong way, worst", "lower covers, worst"]
    return markdown([*head, "upper covers, worst"], lines)


def prompts(rows: Sequence[Row]) -> str:
    """Return each pair of prompts at n = 200."""
    lines = [
        [
            f"`{row['judge']}`",
            f"`{row['other'].rpartition('/')[2]}`",
            f"`{row['measure']}`",
            f"{row['truth'] + 0.0:+.3f}",
            f"{row['right']:.2f}",
            f"{row['wrong']:.3f}",
        ]
        for row in sorted((r for r in rows if r["kind"] == "compared" and r["n"] == 200), key=_order)
    ]
    return markdown(["from", "to", "measure", "true difference", "found", "wrong way"], lines)


TABLES: Final[Mapping[str, Callable[[Sequence[Row]], str]]] = {
    "real-judges-position": position,
    "real-judges-scores": scores,
    "real-judges-gold": gold,
    "real-judges-gate": summary,
    "real-judges-misses": misses,
    "real-judges-each": of_each,
    "real-judges-sizes": sizes,
    "real-judges-prompts": prompts,
}
