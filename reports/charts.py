"""
Charts as numbers: the position of each mark of a drawing. The templates draw them, and show the same numbers as a
table.

Positions are percent of the drawing's width where it grows with the page, and units of its view box where it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, cos, floor, isfinite, pi, sin

from calm.core.measures import MEASURES
from calm.core.trials import Trial, favour, move
from calm.core.verdict import Code, Label, Scale, decode
from calm.models.wire import Json
from calm.results.audit import BASELINE, CONTROLS, Finding, TrialRecord
from calm.results.records import family_of
from calm.results.sentences import highest

STEPS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5)
"""How far apart the ticks of an axis can stand."""
MOST_STEPS = 5
"""An axis is shorter than so many of its steps."""
BINS = 10
"""Bins of a histogram on each side of no shift."""
FEWEST_SPOKES = 3
"""A radar with fewer spokes has no area."""


def number(value: float, places: int = 2) -> str:
    """
    Return a number as people write it: a real minus sign, none before a zero.

    >>> number(-0.001), number(-0.25), number(1234.5, 1)
    ('0.00', '−0.25', '1,234.5')
    """
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", "\N{MINUS SIGN}")


def finite(value: object) -> float | None:
    """Return a finite number as such; None for anything else, even one too large to be drawn."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class Axis:
    """The common axis of all intervals: the range that it shows, and its ticks."""

    low: float
    high: float

    MARGIN = 2.0

    def at(self, x: float) -> float:
        """Return the position of a value, in percent; one beyond the axis is put at its end."""
        share = (min(self.high, max(self.low, x)) - self.low) / (self.high - self.low)
        return round(self.MARGIN + share * (100 - 2 * self.MARGIN), 2)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """The positions of the ticks with their labels."""
        step = step_of(self.high - self.low)
        first, last = ceil(round(self.low / step, 6)), floor(round(self.high / step, 6))
        values = [round(i * step, 2) for i in range(first, last + 1)]
        return tuple((self.at(x), f"{x:g}".replace("-", "\N{MINUS SIGN}")) for x in values)


def step_of(span: float) -> float:
    """
    Return the distance of the ticks of an axis of this length.

    >>> step_of(0.04), step_of(0.4), step_of(1.0), step_of(1.5), step_of(9)
    (0.01, 0.1, 0.25, 0.5, 2.0)
    """
    step = next((step for step in STEPS if round(span / step, 6) < MOST_STEPS), STEPS[-1])
    while span / step >= MOST_STEPS:  # of ratios
        step *= 2
    return step


def fitted(values: Iterable[float], *, zero: bool = True) -> Axis:
    """
    Return the shortest axis that shows all values, zero among them if it is wanted, and ends on ticks.

    >>> fitted([0.02, 0.33]), fitted([]), fitted([0.9, 0.97], zero=False)
    (Axis(low=0.0, high=0.4), Axis(low=0.0, high=0.01), Axis(low=0.9, high=0.98))
    """
    known = [*([0.0] if zero else []), *values]
    low, high = min(known), max(known)
    step = step_of(high - low)
    return Axis(round(floor(low / step) * step, 2), round(max(ceil(high / step), floor(low / step) + 1) * step, 2))


@dataclass(frozen=True, slots=True)
class Plot:
    """
    An interval on the common axis, with the parts of the axis that lie beyond its limits.

    `noise` is the share of clean asks that differ among themselves, `moved` that of perturbed asks from clean ones.
    """

    low: float
    value: float
    high: float
    limits: tuple[float, ...]
    beyond: tuple[tuple[float, float], ...]
    noise: float | None
    moved: float | None


def axis_of(findings: Iterable[Finding]) -> Axis:
    """Return the axis that has room for every value, bound and limit, in steps of a quarter."""
    values = [0.0, 1.0]
    for one in (f for f in findings if is_drawn(f)):
        limit = one.claim.limit if one.claim else 0.0
        values += [x for x in (one.low, one.value, one.high, limit) if x is not None]
        if one.claim and one.claim.two_sided:
            values.append(-limit)
    low, high = max(-1.0, min(values)), min(1.0, max(values))
    return Axis(floor(low * 4) / 4, ceil(high * 4) / 4)


def is_drawn(one: Finding) -> bool:
    """Return whether a value belongs on a common axis with rates: not a ratio, nor a change between two runs."""
    return one.measure in MEASURES or highest(one) <= 1


def plot_of(one: Finding, axis: Axis) -> Plot | None:
    """Return the position of the interval of a finding and of its limits; None without an estimate, or for a ratio."""
    if one.low is None or one.value is None or one.high is None or not is_drawn(one):
        return None
    ends = axis.at(axis.low), axis.at(axis.high)
    limits: list[float] = []
    beyond: list[tuple[float, float]] = []
    if one.claim:
        right, left = axis.at(one.claim.limit), axis.at(-one.claim.limit)
        match one.claim.op:
            case ">=":
                limits, beyond = [right], [(ends[0], right - ends[0])]
            case "<=":
                limits, beyond = [right], [(right, ends[1] - right)]
            case "abs<=":
                limits, beyond = [left, right], [(ends[0], left - ends[0]), (right, ends[1] - right)]
    rounded = tuple((x, round(width, 2)) for x, width in beyond)
    noise, moved = (None if r is None else 1 - r for r in (one.consistency_rate, one.robustness_rate))
    return Plot(axis.at(one.low), axis.at(one.value), axis.at(one.high), tuple(limits), rounded, noise, moved)


@dataclass(frozen=True, slots=True)
class Spoke:
    """
    A bias on the radar: the lowest robustness rate of its probes, and the consistency rate beside it.

    `turned` is the angle of its label in degrees: many labels follow their spokes, so that none overlap.
    """

    bias: str
    robustness: float
    consistency: float | None
    end: tuple[float, float]
    label: tuple[float, float]
    anchor: str
    turned: float


@dataclass(frozen=True, slots=True)
class Radar:
    """Robustness rates on spokes: the corners of the judge's shape and of its noise floor, drawn in `frame`."""

    spokes: tuple[Spoke, ...]
    shape: str
    floor: str
    rings: tuple[tuple[float, str], ...]
    frame: Frame


@dataclass(frozen=True, slots=True)
class Frame:
    """Width, height and radius of a radar, whose centre is in the middle."""

    width: float
    height: float
    radius: float

    @property
    def centre(self) -> tuple[float, float]:
        """The middle."""
        return self.width / 2, self.height / 2

    def corner(self, turn: float, share: float) -> tuple[float, float]:
        """Return a point on a spoke; the first spoke points up."""
        length = max(0.0, share) * self.radius
        x, y = self.centre
        return round(x + length * sin(2 * pi * turn), 1), round(y - length * cos(2 * pi * turn), 1)


WIDE, ROUND, MANY = Frame(640.0, 430.0, 165.0), Frame(560.0, 560.0, 140.0), 14
"""The frame of a radar, that of one with many spokes, and the number from which labels side by side overlap."""


def radar_of(findings: Iterable[Finding]) -> Radar | None:
    """Return the radar of all biases that have a robustness rate; None if there are fewer than three."""
    lowest: dict[str, Finding] = {}
    for one in findings:
        if one.robustness_rate is None or one.bias in (*CONTROLS, BASELINE) or one.expects in ("WORSE", None):
            continue
        before = lowest.get(one.bias)
        if before is None or (before.robustness_rate or 0.0) > one.robustness_rate:
            lowest[one.bias] = one
    if len(lowest) < FEWEST_SPOKES:
        return None
    frame = ROUND if len(lowest) >= MANY else WIDE
    spokes = tuple(_spoke(lowest[bias], i / len(lowest), frame) for i, bias in enumerate(sorted(lowest)))
    corners = [frame.corner(i / len(spokes), s.robustness) for i, s in enumerate(spokes)]
    noise = [1.0 if s.consistency is None else s.consistency for s in spokes]
    floors = [frame.corner(i / len(spokes), rate) for i, rate in enumerate(noise)]
    rings = tuple((round(frame.radius * share, 1), f"{share:g}") for share in (0.25, 0.5, 0.75, 1.0))
    return Radar(spokes, _points(corners), _points(floors), rings, frame)


def _spoke(one: Finding, turn: float, frame: Frame) -> Spoke:
    x, _ = label = frame.corner(turn, 1.07)
    side = x - frame.centre[0]
    if frame is ROUND:
        right = turn <= 0.5
        anchor, turned = ("start", 360 * turn - 90) if right else ("end", 360 * turn - 270)
    else:
        anchor, turned = "middle" if abs(side) < 20 else "start" if side > 0 else "end", 0.0
    end = frame.corner(turn, 1.0)
    return Spoke(one.bias, one.robustness_rate or 0.0, one.consistency_rate, end, label, anchor, round(turned, 1))


def _points(corners: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in corners)


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a histogram: how many cases shifted by `low` to `high`."""

    low: float
    high: float
    count: int
    x: float
    y: float
    height: float

    @property
    def way(self) -> str:
        """The direction of the shift, in a word."""
        return "away" if self.high <= 0 else "toward" if self.low >= 0 else "kept"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Cases by how far the favour of the treated answer moved."""

    bars: tuple[Bar, ...]
    cases: int
    mean: float

    WIDTH, HEIGHT, STEP = 420.0, 120.0, 20.0


def histogram_of(trials: Iterable[TrialRecord], task: str, scale: Scale | None) -> Histogram | None:
    """Return the histogram of the shifts of all cases that have one; None if there are none."""
    shifts = _shifts(trials, task, scale)
    if not shifts:
        return None
    counts = Counter(round(x * BINS) for x in shifts)
    most = max(counts.values())
    bars = []
    for place, count in sorted(counts.items()):
        height = max(1.5, round(Histogram.HEIGHT * count / most, 1))
        x = Histogram.STEP * (place + BINS)
        bars.append(
            Bar((place - 0.5) / BINS, (place + 0.5) / BINS, count, x, round(Histogram.HEIGHT - height, 1), height)
        )
    return Histogram(tuple(bars), len(shifts), sum(shifts) / len(shifts))


def _shifts(trials: Iterable[TrialRecord], task: str, scale: Scale | None) -> list[float]:
    family = family_of(task)
    if family is None or scale is None:
        return []
    known: dict[tuple[object, ...], float | None] = {}  # nearly all cases have one of a few patterns of verdicts
    found = []
    for one in trials:
        before = one.inert or one.control or one.clean
        key = (before, one.perturbed, one.target) if _plain(before) and _plain(one.perturbed) else None
        if key is not None and key in known:
            shift = known[key]
        else:
            shift = _shift(before, one, scale, pairwise=family == "pairwise")
            if key is not None:
                known[key] = shift
        if shift is not None and isfinite(shift):
            found.append(max(-1.0, min(1.0, shift)))
    return found


def _plain(codes: Sequence[Code]) -> bool:
    return all(isinstance(c, str | float | int) for c in codes)


def _shift(before: Sequence[Code], one: TrialRecord, scale: Scale, *, pairwise: bool) -> float | None:
    if pairwise and one.target is None:
        return None
    row = Trial(one.case, target=one.target, points=one.points)
    if scale.classes is not None:
        return _moved_class(before, one.perturbed, scale)
    arms = []
    for codes in (before, one.perturbed):
        try:
            favours = [favour(decode(c), one.target, row, scale) for c in codes]
        except (KeyError, TypeError, ValueError, ZeroDivisionError):  # a damaged record has no chart
            return None
        read = [0.5 if x is None else x for x in favours] if pairwise else [x for x in favours if x is not None]
        if not read:
            return None
        arms.append(sum(read) / len(read))
    return arms[1] - arms[0]


def _moved_class(before: Sequence[Code], after: Sequence[Code], scale: Scale) -> float | None:
    said = [[one for one in map(decode, codes) if isinstance(one, Label)] for codes in (before, after)]
    moves = [move(u, v, scale) for u in said[0] for v in said[1]]
    directed = scale.classes is not None and scale.classes.directed
    return sum(moves) / len(moves) if moves and directed else None


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a curve, with the ends of its interval."""

    x: float
    y: float
    low: float
    high: float
    label: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Curve:
    """Findings that differ only in the dose, by dose."""

    title: str
    measure: str
    dots: tuple[Dot, ...]
    line: str
    limits: tuple[float, ...]
    ticks: tuple[tuple[float, str], ...]
    zero: float

    WIDTH, HEIGHT = 420.0, 150.0


def curves_of(findings: Iterable[Finding]) -> dict[tuple[str, str], tuple[Curve, ...]]:
    """Return a curve for each measure of a perturbation that was tried in several doses, by bias and perturbation."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for one in findings:
        if one.dose is not None and one.perturbation and one.value is not None and one.low is not None:
            groups.setdefault((one.bias, without_dose(one.perturbation), one.measure), []).append(one)
    curves: dict[tuple[str, str], tuple[Curve, ...]] = {}
    for (bias, name, measure), found in sorted(groups.items()):
        if len({one.dose for one in found}) > 1:
            curves[bias, name] = (*curves.get((bias, name), ()), _curve(name, measure, found))
    return curves


def without_dose(perturbation: str) -> str:
    """
    Return the name of a perturbation without its dose.

    >>> without_dose("pad@4"), without_dose("pad")
    ('pad', 'pad')
    """
    return perturbation.rpartition("@")[0] or perturbation


def _curve(name: str, measure: str, found: list[Finding]) -> Curve:
    ordered = sorted(found, key=lambda one: (one.dose or 0.0, one.key))
    axis = axis_of(ordered)
    doses = [one.dose or 0.0 for one in ordered]
    left, width = doses[0], (doses[-1] - doses[0]) or 1.0

    def up(value: float | None) -> float:
        return round(Curve.HEIGHT * (1 - axis.at(value or 0.0) / 100), 1)

    dots = tuple(
        Dot(round(20 + 380 * (dose - left) / width, 1), up(one.value), up(one.low), up(one.high), f"{dose:g}", one)
        for dose, one in zip(doses, ordered, strict=True)
    )
    claims = [one.claim for one in ordered if one.claim]
    ends = {end for claim in claims for end in claim.ends}
    ticks = tuple((round(Curve.HEIGHT * (1 - at / 100), 1), label) for at, label in axis.ticks)
    line = _points((dot.x, dot.y) for dot in dots)
    return Curve(name, measure, dots, line, tuple(up(end) for end in sorted(ends)), ticks, up(0.0))


@dataclass(frozen=True, slots=True)
class LineDot:
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


def dots_of(points: Json) -> list[LineDot]:
    """Return the points [x, y] or [x, y, low, high] of a line, from left to right."""
    found = []
    for point in points if isinstance(points, list) else []:
        if not isinstance(point, list):
            continue
        x, y, low, high = (finite(v) for v in [*point, None, None, None, None][:4])
        if x is not None and y is not None:
            whole = low is not None and high is not None
            found.append(LineDot(x, y, low, high) if whole else LineDot(x, y))
    return sorted(found, key=lambda dot: (dot.x, dot.y))


def lines_of(title: str, series: Mapping[str, Sequence[LineDot]], what: str, axes: tuple[str, str]) -> Lines | None:
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
