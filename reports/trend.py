"""A history of runs as one self-contained HTML file: a small chart for each claim, and what changed between runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calm import __version__
from calm.core.claims import Outcome
from calm.results import outputs
from calm.results.audit import Finding
from calm.results.history import History, Line
from calm.results.reports.charts import Dot, fitted
from calm.results.reports.heading import Moment, moment
from calm.results.reports.html import environment, safety
from calm.results.reports.rows import WORDS, anchors, claim_in_words, measured
from calm.results.sentences import highest
from calm.results.tabular import finding_as_read

MOST_LABELS = 12
"""Labels below an axis."""

LETTER = 9.0
"""How wide a letter of a mark is, in units of the drawing, with what must be free beside it."""


@dataclass(frozen=True, slots=True)
class Trend:
    """
    A claim over all runs as a chart: its dots with their intervals, and its limits, in units of the drawing.

    `line` joins the dots, and has a part for each stretch of runs that measured it. `limits` are the limits of each run
    as short lines: left, right, height. `marks` are the places where something changed, each with its signs, if there
    is room for them. `numbers` are those of the chart: the number of a run, what it measured, its limit, its outcome.
    """

    key: str
    anchor: str
    last: Finding
    now: bool
    claim: str
    measured: str
    dots: tuple[Dot, ...]
    line: tuple[str, ...]
    limits: tuple[tuple[float, float, float], ...]
    ticks: tuple[tuple[float, str], ...]
    labels: tuple[tuple[float, str], ...]
    marks: tuple[tuple[float, str], ...]
    numbers: tuple[tuple[int, Finding, str, str], ...]

    WIDTH, HEIGHT, SIDE = 420.0, 120.0, 14.0


def render(found: History) -> str:
    """Return the page; everything that a model or user wrote is escaped."""
    pages = environment()
    named = zip(found.lines, anchors("t", [line.key for line in found.lines]), strict=True)
    signs = [_signs(past.kinds) for past in found.runs]
    trends = [_trend(_as_read(line), anchor, signs) for line, anchor in named]
    now = [t for t in trends if t.now]
    return pages.get_template("trend.html.jinja").render(
        found=found,
        runs=[
            (number, past, _when(past.audit.run.started), _signs(past.kinds))
            for number, past in enumerate(found.runs, 1)
        ],
        open=[t for t in now if t.last.outcome is not Outcome.PASS],
        proven=[t for t in now if t.last.outcome is Outcome.PASS],
        gone=[t for t in trends if not t.now],
        words=WORDS,
        passed=Outcome.PASS,
        failed=Outcome.FAIL,
        calm=__version__,
        **safety(pages, "comparison.js", style="trend.css"),
    )


def _when(started: str) -> Moment:
    return moment(started) or Moment("", started)


def _signs(kinds: Sequence[str]) -> str:
    """
    Return the signs of what changed before a run.

    >>> _signs(("judge", "cases"))
    'J C'
    """
    return " ".join("V" if kind == "calm" else kind[0].upper() for kind in kinds)


def _as_read(line: Line) -> Line:
    """Return a line without figures that rest on no readable reply."""
    return replace(line, findings=tuple(None if one is None else finding_as_read(one) for one in line.findings))


def _trend(line: Line, anchor: str, signs: Sequence[str]) -> Trend:
    axis = fitted(_shown(line), zero=False)
    count = len(line.findings)
    width = Trend.WIDTH - 2 * Trend.SIDE

    def right(place: float) -> float:
        return round(Trend.WIDTH / 2 if count == 1 else Trend.SIDE + width * place / (count - 1), 1)

    def up(value: float) -> float:
        return round(Trend.HEIGHT * (1 - axis.at(value) / 100), 1)

    dots, numbers, limits = [], [], []
    stretches: list[list[str]] = [[]]
    half = 0.5 if count > 1 else 0.0
    for place, one in enumerate(line.findings):
        span = _span(one) if one is not None else None
        if one is None or span is None:
            stretches.append([])
            continue
        low, value, high = span
        dots.append(Dot(right(place), up(value), up(low), up(high), str(place + 1), one))
        numbers.append((place + 1, one, measured(one), claim_in_words(one)))
        stretches[-1].append(f"{right(place):g},{up(value):g}")
        ends = max(0.0, right(place - half)), min(Trend.WIDTH, right(place + half))
        limits += [(*(ends if half else (0.0, Trend.WIDTH)), up(end)) for end in _limits(one)]
    ticks = tuple((round(Trend.HEIGHT * (1 - at / 100), 1), label) for at, label in axis.ticks)
    step = -(-count // MOST_LABELS)
    return Trend(
        key=line.key,
        anchor=anchor,
        last=line.last,
        now=line.now is not None,
        claim=claim_in_words(line.last),
        measured=measured(line.last) or "nothing",
        dots=tuple(dots),
        line=tuple(" ".join(points) for points in stretches if len(points) > 1),
        limits=tuple(limits),
        ticks=ticks,
        labels=tuple((right(place), str(place + 1)) for place in range(0, count, step)),
        marks=_marks([(right(place - 0.5), sign) for place, sign in enumerate(signs) if sign]),
        numbers=tuple(numbers),
    )


def _marks(several: Sequence[tuple[float, str]]) -> tuple[tuple[float, str], ...]:
    """
    Return the marks with their signs, without a sign that would stand on the one before it.

    >>> _marks([(30.0, "J"), (36.0, "P"), (60.0, "C")])
    ((30.0, 'J'), (36.0, ''), (60.0, 'C'))
    """
    found, free = [], 0.0
    for place, sign in several:
        half = LETTER * len(sign) / 2
        fits = place - half >= free
        found.append((place, sign if fits else ""))
        free = place + half if fits else free
    return tuple(found)


def _shown(line: Line) -> list[float]:
    """Return the values that an axis must have room for: bounds and limits."""
    findings = [one for one in line.findings if one is not None]
    bounds = [x for span in map(_span, findings) if span for x in span]
    return [*bounds, *(end for one in findings for end in _limits(one))]


def _span(one: Finding) -> tuple[float, float, float] | None:
    """Return the lower bound, the value and the upper bound, each clipped to what is possible."""
    if one.low is None or one.value is None or one.high is None:
        return None
    low, value, high = (max(-1.0, min(highest(one), x)) for x in (one.low, one.value, one.high))
    return low, value, high


def _limits(one: Finding) -> list[float]:
    if one.claim is None:
        return []
    return [one.claim.limit, -one.claim.limit] if one.claim.op == "abs<=" else [one.claim.limit]


def write(found: History, path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render(found)], outputs.REPORT)
