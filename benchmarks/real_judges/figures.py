"""What the whole tables say: one row a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    return "\n".join([_line(head), f"|{'---|' * len(head)}", *map(_line, lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _figures(rows: Sequence[Row], name: str) -> list[tuple[str, Mapping[str, Sequence[float]]]]:
    found = {row["judge"]: row["figures"] for row in rows if row["kind"] == "figures"}
    return [(judge.partition("/")[2], found[judge]) for judge in sorted(found) if judge.startswith(f"{name}/")]


def _between(figure: Sequence[float], *, less: bool = False) -> str:
    """Return a value with its bounds; 1 minus them where `less`."""
    value, low, high = (1 - figure[0], 1 - figure[2], 1 - figure[1]) if less else figure[:3]
    return f"{value + 0.0:.3f} [{max(-1.0, low) + 0.0:.2f}, {min(1.0, high) + 0.0:.2f}]"


def position(rows: Sequence[Row]) -> str:
    """Return the six judges of pairs in both orders."""
    lines = [
        [
            f"`{judge}`",
            f"{1 - of['robustness_rate'][0]:.3f}",
            f"{of['net_robustness'][0] - of['robustness_rate'][0]:.3f}",
            _between(of["net_robustness"], less=True),
            _between(of["slot_pull"]),
            f"{of['readable_rate'][0]:.3f}",
            str(of["net_robustness"][3]),
        ]
        for judge, of in _figures(rows, "position")
    ]
    head = [
        "judge",
        "flips by order, raw",
        "repeats differ",
        "flips beyond repeats",
        "pull of the first slot",
        "read",
        "n",
    ]
    return markdown(head, lines)


def scores(rows: Sequence[Row]) -> str:
    """Return the runs of the judges of scores."""
    lines = [
        [
            f"`{judge}`",
            _between(of["repeat_distance"]),
            f"{9 * of['repeat_distance'][0]:.2f}",
            f"{of['repeat_distance'][3]:,}",
        ]
        for judge, of in _figures(rows, "scores")
    ]
    return markdown(["judge", "`repeat_distance`", "points between two asks", "answers"], lines)


def gold(rows: Sequence[Row]) -> str:
    """Return the judges of pairs with gold."""
    lines = [
        [
            f"`{name}/{judge}`",
            _between(of["accuracy"]),
            f"{1 - of['robustness_rate'][0]:.3f}" if "robustness_rate" in of else "one order",
            _between(of["gain"]) if "gain" in of else "one order",
            f"{of['readable_rate'][0]:.3f}",
        ]
        for name in ("llmbar", "pandalm")
        for judge, of in _figures(rows, name)
    ]
    return markdown(["judge", "`accuracy`", "flips by order, raw", "gain of the first slot", "read"], lines)
