"""Charts of lines over one pair of axes: points with their intervals, placed in the drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calm.models.wire import Json
from calm.results.reports.charts import finite, number


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a line, with the interval of its y if it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None

    @property
    def heights(self) -> list[float]:
        """Return its y, and the ends of its interval."""
        return [y for y in (self.y, self.low, self.high) if y is not None]

    @property
    def told(self) -> str:
        """Return its y in words, with the interval."""
        return number(self.y) + interval_in_words(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Polyline:
    """A line of points and intervals (x, top, bottom), in units of the drawing, with the numbers that they show."""

    name: str
    points: str
    dots: tuple[tuple[float, float], ...]
    spans: tuple[tuple[float, float, float], ...]
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Several lines over one pair of axes: `what` they show, and what the two axes are."""

    title: str
    what: str
    axes: tuple[str, str]
    lines: tuple[Polyline, ...]
    x: tuple[str, str]
    y: tuple[str, str]

    WIDTH, HEIGHT = 420.0, 180.0


def interval_in_words(low: float | None, high: float | None) -> str:
    """Return the ends of an interval, to write after its value; nothing where it has none."""
    return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"


def dots_of(points: Json) -> list[Dot]:
    """Return the points [x, y] or [x, y, low, high] of a line, from left to right."""
    found = []
    for point in points if isinstance(points, list) else []:
        if not isinstance(point, list):
            continue
        x, y, low, high = (finite(v) for v in [*point, None, None, None, None][:4])
        if x is not None and y is not None:
            whole = low is not None and high is not None
            found.append(Dot(x, y, low, high) if whole else Dot(x, y))
    return sorted(found, key=lambda dot: (dot.x, dot.y))


def lines_of(title: str, series: Mapping[str, Sequence[Dot]], what: str, axes: tuple[str, str]) -> Lines | None:
    """Return a chart with a line for each series; None without a point."""
    every = [point for points in series.values() for point in points]
    if not every:
        return None
    ends = ends_of([dot.x for dot in every]), ends_of([y for dot in every for y in dot.heights])
    lines = []

    def place(x: float, y: float) -> tuple[float, float]:
        return place_in(x, y, ends, Lines.WIDTH, Lines.HEIGHT)

    for name, points in series.items():
        dots = tuple(place(dot.x, dot.y) for dot in points)
        spans = tuple(
            (*place(dot.x, dot.high), place(dot.x, dot.low)[1])
            for dot in points
            if dot.low is not None and dot.high is not None
        )
        values = tuple((number(dot.x), dot.told) for dot in points)
        if dots:
            lines.append(Polyline(name, " ".join(f"{x:g},{y:g}" for x, y in dots), dots, spans, values))
    (left, right), (low, high) = ends
    return Lines(title, what, axes, tuple(lines), (number(left), number(right)), (number(low), number(high)))


def ends_of(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that holds all values; it has a length also where they are equal."""
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def place_in(
    x: float, y: float, ends: tuple[tuple[float, float], tuple[float, float]], width: float, height: float
) -> tuple[float, float]:
    """Return where a point stands in a drawing of this size, its y downwards, given the ends of both axes."""
    (left, right), (low, high) = ends
    across, up = (x - left) / (right - left), (y - low) / (high - low)
    return round(15 + across * (width - 30), 1), round(height - 15 - up * (height - 30), 1)
