"""Plots of the results of a run, by matplotlib: the interval of each claim, and the flips of each bias."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from calm.core.claims import Outcome
from calm.errors import ConfigError
from calm.results.audit import RUN, Audit, Finding
from calm.results.compare import RANK
from calm.results.reports.charts import is_drawn
from calm.results.reports.heading import WORDS
from calm.results.sentences import highest
from calm.results.tabular import FLIPS, as_read, whole
from calm.results.wording import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final = {
    Outcome.FAIL: "#a8201a",
    Outcome.INCOMPLETE: "#66379b",
    Outcome.UNDECIDED: "#b26b00",
    Outcome.NOT_TESTED: "#525a63",
    Outcome.OBSERVED: "#1f5796",
    Outcome.PASS: "#17663a",
}
"""The colour of each outcome, as on the pages."""
WAYS: Final = {"away": "#1f5796", "other": "#66379b", "toward": "#b4560f"}
"""The colour of each way that a verdict can flip."""
ROW, EDGE, WIDTH = 0.32, 1.3, 8.0
"""Inches that a row takes, that the ends of a plot take, and the width of a new figure."""
NAME = 60
"""Characters of a name beside an axis."""


class Plots:
    """
    The plots of one run. Each draws into `ax`, or into a figure of its own, and returns the axes.

    Raises:
        ConfigError: matplotlib is not installed.
    """

    def __init__(self, audit: Audit) -> None:
        self._audit = as_read(audit)

    def intervals(self, *, bias: str | None = None, ax: Axes | None = None) -> Axes:
        """
        Draw the interval of each claim, a row each, the worst at the top; a tick marks its limit.

        Values are fractions, clipped to what is possible; ratios are left out. The colour is that of the outcome.

        Args:
            bias: the bias, or the control, to draw alone.
            ax: where to draw; else a new figure is made.

        Raises:
            ConfigError: there is no claim with an interval to draw, or matplotlib is not installed.
        """
        shown = [f for f in self._audit.findings if bias in (None, f.bias) and _has_interval(f)]
        if not shown:
            names = ", ".join(sorted({f.bias for f in self._audit.findings if _has_interval(f)})) or "none"
            raise ConfigError(f"plot.intervals: expected a bias that was measured ({names}), got bias={bias!r}")
        shown.sort(key=lambda f: (RANK.index(f.outcome), f.bias != RUN, f.key), reverse=True)
        axes = _axes(ax, len(shown))
        for place, one in enumerate(shown):
            low, value, high = (_clipped(x, highest(one)) for x in (one.low, one.value, one.high))
            colour = COLOURS[one.outcome]
            axes.plot([low, high], [place, place], color=colour, linewidth=2, solid_capstyle="butt")
            axes.plot([value], [place], color=colour, marker="o", markersize=5)
            for limit in one.claim.ends if one.claim else ():
                axes.plot([limit, limit], [place - 0.35, place + 0.35], color="black", linewidth=1, linestyle=":")
        for outcome in dict.fromkeys(one.outcome for one in reversed(shown)):
            axes.plot([], [], color=COLOURS[outcome], marker="o", markersize=5, label=WORDS[outcome])
        axes.set_yticks(range(len(shown)), [_name(one.key) for one in shown])
        axes.set_xlabel("measured, with one-sided bounds; dotted: the limit")
        axes.legend(loc="best", frameon=False)
        return axes

    def flips(self, *, ax: Axes | None = None) -> Axes:
        """
        Draw how many verdicts flipped, a bar for each bias: toward the treated answer, away from it, or otherwise.

        A case may flip under several edits, and counts for each of them.

        Args:
            ax: where to draw; else a new figure is made.

        Raises:
            ConfigError: matplotlib is not installed.
        """
        counts: dict[str, Counter[str]] = {}
        for row in FLIPS.rows(self._audit):
            counts.setdefault(str(row["bias"]), Counter())[str(row["way"])] += 1
        biases = sorted(counts, key=lambda bias: (counts[bias].total(), bias))
        axes = _axes(ax, len(biases))
        left = [0] * len(biases)
        for way, colour in WAYS.items():
            widths = [counts[bias][way] for bias in biases]
            axes.barh(range(len(biases)), widths, left=left, color=colour, label=way)
            left = [start + width for start, width in zip(left, widths, strict=True)]
        axes.set_yticks(range(len(biases)), [_name(bias) for bias in biases])
        axes.set_xlabel("verdicts that flipped")
        axes.legend(loc="best", frameon=False)
        return axes


def _axes(ax: Axes | None, rows: int) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        from calm.core.releases import absent, install

        fault = absent("matplotlib", error)
        raise ConfigError(f"{fault}, which draws the plots; install it: {install('plots')}") from error
    if ax is not None:
        return ax
    _, made = pyplot.subplots(figsize=(WIDTH, EDGE + ROW * max(1, rows)), layout="constrained")
    return made


def _has_interval(one: Finding) -> bool:
    return one.claim is not None and None not in (one.low, one.value, one.high) and is_drawn(one)


def _clipped(value: float | None, most: float) -> float:
    assert value is not None, "only claims with an interval are drawn"
    return max(-1.0, min(most, value))


def _name(text: str) -> str:
    shown = printable(str(whole(text))).replace("$", r"\$")
    return shown if len(shown) <= NAME else f"{shown[: NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
