"""
Two runs side by side as one self-contained HTML file: what got worse, what got better, which verdicts flipped.

`render_trend` shows a history of runs: a small chart for each claim, and what changed between runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from calm import __version__
from calm.core.claims import Outcome, decimals
from calm.core.texts import CaseTexts, Exchange
from calm.core.verdict import Scale, as_written
from calm.results import outputs
from calm.results.audit import Audit, Finding
from calm.results.compare import Comparison, Flip, Moved
from calm.results.history import History, Line
from calm.results.reports.charts import Axis, Dot, fitted, number
from calm.results.reports.heading import WORDS, Moment, anchors, claim_in_words, measured, moment
from calm.results.reports.html import environment, safety
from calm.results.reports.probes import in_words, shown_scale
from calm.results.reports.texts import QUESTION, Text, bytes_of, cut
from calm.results.reports.texts import Comparison as TextDiff
from calm.results.reports.texts import compare as compare_texts
from calm.results.sentences import highest
from calm.results.tabular import finding_as_read

MOST_FLIPS = 5_000
"""How many flips the page lists; the rest is counted."""
BUDGET = 1_000_000
"""Bytes of texts of a page; flips beyond show their verdicts."""
REPLY = 600
"""Characters shown of a reply: its beginning and its end."""
EDITS = 2
"""Texts shown of a flip in which something was edited."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A claim of both runs, with the interval of its change on the common axis, in percent."""

    moved: Moved
    anchor: str
    old: str
    new: str
    change: str
    interval: tuple[float, float, float] | None
    limits: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class ClaimChanges:
    """Claims by how they changed."""

    worse: tuple[Shift, ...]
    better: tuple[Shift, ...]
    unclear: tuple[Shift, ...]


@dataclass(frozen=True, slots=True)
class FlipTexts:
    """The texts of a flip: the question, what the edit changed, and the judge's reply in each run, if it was kept."""

    question: Text
    edits: tuple[tuple[str, TextDiff], ...]
    replies: tuple[Text | None, Text | None]

    @property
    def size(self) -> int:
        """About how many bytes they take in the page."""
        pieces = [piece.text for _, both in self.edits for piece in (*both.old, *both.new)]
        texts = [self.question, *(reply for reply in self.replies if reply)]
        return sum(map(bytes_of, [*pieces, *(text.text + text.end for text in texts)]))


@dataclass(frozen=True, slots=True)
class FlipRow:
    """A flip as the page shows it. `texts` is None where neither run kept any, or no more fit."""

    case: str
    edit: str
    old: str
    new: str
    texts: FlipTexts | None


def render(comparison: Comparison, old: Audit, new: Audit) -> str:
    """Return the page; everything that a model or user wrote is escaped."""
    pages = environment()
    bounds = [x for m in comparison.moved if m.difference for x in (m.difference.low, m.difference.high)]
    axis = fitted(bounds)
    flips = _flips(comparison.flips[:MOST_FLIPS], old, new)
    return pages.get_template("comparison.html.jinja").render(
        comparison=comparison,
        old=old,
        new=new,
        when=[_when(old), _when(new)],
        claims=_claims(comparison, axis),
        words=WORDS,
        axis=axis,
        flips=flips,
        listed=sum(len(rows) for _, rows in flips),
        told=sum(row.texts is not None for _, rows in flips for row in rows),
        more_flips=max(0, len(comparison.flips) - MOST_FLIPS),
        **safety(pages, "comparison.js", style="comparison.css"),
    )


def _when(audit: Audit) -> Moment:
    return moment(audit.run.started) or Moment("", audit.run.started or "not recorded")


def _claims(comparison: Comparison, axis: Axis) -> ClaimChanges:
    ids = dict(zip((m.key for m in comparison.moved), anchors("d", [m.key for m in comparison.moved]), strict=True))

    def shifts(several: Sequence[Moved]) -> tuple[Shift, ...]:
        return tuple(_shift(moved, ids[moved.key], axis) for moved in several)

    return ClaimChanges(shifts(comparison.worse), shifts(comparison.better), shifts(comparison.unclear))


def _shift(moved: Moved, anchor: str, axis: Axis) -> Shift:
    found = moved.difference
    limits = [decimals(f.claim.limit) if f.claim else "none" for f in (moved.old, moved.new)]
    return Shift(
        moved,
        anchor,
        measured(moved.old) or "\N{EN DASH}",
        measured(moved.new) or "\N{EN DASH}",
        f"{_signed(found.value)} [{_signed(found.low)}, {_signed(found.high)}]" if found else "",
        (axis.at(found.low), axis.at(found.value), axis.at(found.high)) if found else None,
        (limits[0], limits[1]) if limits[0] != limits[1] else None,
    )


def _signed(value: float) -> str:
    """
    Return a difference with its sign.

    >>> _signed(0.25), _signed(-0.001), _signed(-0.5)
    ('+0.25', '0.00', '−0.50')
    """
    shown = number(value)
    return f"+{shown}" if round(value, 2) > 0 else shown


# flips


def _flips(flips: Iterable[Flip], old: Audit, new: Audit) -> list[tuple[str, list[FlipRow]]]:
    kept = [{(t.case, t.hash): t for t in audit.texts} for audit in (old, new)]
    scales = [shown_scale(audit.judge) or Scale() for audit in (old, new)]
    groups = []
    left = BUDGET
    for key, several in groupby(sorted(flips, key=lambda flip: flip.key), key=lambda flip: flip.key):
        rows = []
        for flip in several:
            texts = _texts_of(flip, *(of.get((flip.case, flip.hash)) for of in kept))
            left -= texts.size if texts else 0
            was, now = map(in_words, map(as_written, (flip.old, flip.new), scales))
            rows.append(FlipRow(flip.case, flip.edit, was, now, texts if left > 0 else None))
        groups.append((key, sorted(rows, key=lambda row: row.texts is None)))
    return groups


def _texts_of(flip: Flip, old: CaseTexts | None, new: CaseTexts | None) -> FlipTexts | None:
    one = new or old
    if one is None:
        return None
    replies = _reply(old, flip.asks[0]), _reply(new, flip.asks[1])
    return FlipTexts(cut(one.question, QUESTION), _edits(one), replies)


def _edits(texts: CaseTexts) -> tuple[tuple[str, TextDiff], ...]:
    before = texts.answers.get("clean") or texts.answers.get("control") or {}
    after = texts.answers.get("perturbed") or {}
    pairs = [(name, before[name], text) for name, text in after.items() if before.get(name, text) != text]
    if not pairs:
        asks = zip(texts.clean[:1], texts.perturbed[:1], strict=False)
        calls = [call for was, now in asks for call in zip(was, now, strict=False)]
        turns = [turn for was, now in calls for turn in _turns(texts.prompts, was, now)]
        pairs = [(role, was, now) for role, was, now in turns if was != now]
    if not pairs and (texts.came or texts.went):  # of a case beyond the first of a probe only these are kept
        pairs = [("the words of the edit", texts.went, texts.came)]
    return tuple((name, compare_texts(was, now)) for name, was, now in pairs[:EDITS])


def _turns(
    prompts: Mapping[str, tuple[Mapping[str, str], ...]], was: Exchange, now: Exchange
) -> Iterable[tuple[str, str, str]]:
    both = zip(prompts.get(was.prompt, ()), prompts.get(now.prompt, ()), strict=False)
    return ((turn.get("role", ""), turn.get("text", ""), other.get("text", "")) for turn, other in both)


def _reply(texts: CaseTexts | None, place: int) -> Text | None:
    asks = (texts.perturbed or texts.clean)[place : place + 1] if texts else ()
    return cut(asks[0][-1].reply, REPLY, end=REPLY // 2) if asks and asks[0] else None


def write(comparison: Comparison, old: Audit, new: Audit, path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render(comparison, old, new)], outputs.REPORT)


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


def render_trend(found: History) -> str:
    """Return the page; everything that a model or user wrote is escaped."""
    pages = environment()
    named = zip(found.lines, anchors("t", [line.key for line in found.lines]), strict=True)
    signs = [_signs(past.kinds) for past in found.runs]
    trends = [_trend(_as_read(line), anchor, signs) for line, anchor in named]
    now = [t for t in trends if t.now]
    return pages.get_template("trend.html.jinja").render(
        found=found,
        runs=[
            (number, past, _when_run(past.audit.run.started), _signs(past.kinds))
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


def _when_run(started: str) -> Moment:
    return moment(started) or Moment("", started)


def _signs(kinds: Sequence[str]) -> str:
    """
    Return the signs of what changed before a run.

    >>> _signs(("judge", "cases"))
    'J C'
    """
    return " ".join("V" if kind == "calm" else kind[0].upper() for kind in kinds)


def _as_read(line: Line) -> Line:
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
        limits += [(*(ends if half else (0.0, Trend.WIDTH)), up(end)) for end in (one.claim.ends if one.claim else ())]
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
    findings = [one for one in line.findings if one is not None]
    bounds = [x for span in map(_span, findings) if span for x in span]
    return [*bounds, *(end for one in findings if one.claim for end in one.claim.ends)]


def _span(one: Finding) -> tuple[float, float, float] | None:
    if one.low is None or one.value is None or one.high is None:
        return None
    low, value, high = (max(-1.0, min(highest(one), x)) for x in (one.low, one.value, one.high))
    return low, value, high


def write_trend(found: History, path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render_trend(found)], outputs.REPORT)
