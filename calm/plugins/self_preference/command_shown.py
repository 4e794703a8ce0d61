"""What `calm self-preference` says in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calm.core.reasons import Kind
from calm.models.wire import Json
from calm.plugins.self_preference.report import JudgeRow, SelfPreference
from calm.results.parts import aligned, lines_of

SHOWN = {
    "self_preference_ratio": "ratio",
    "own_pull": "pull on equals",
    "self_preference_excess": "excess",
    "score_excess": "excess of the scale",
    "hspp_self_rubric": "HSPP",
    "mra": "MRA",
    "own": "own",
    "received": "received",
    "given": "given",
    "excess_over_outsider": "over outsider",
    "gap": "gap",
    "gap_excess": "gap over outsiders'",
    "unread": "unread",
}
"""The figures that the terminal shows, corrected ones first; the file holds all."""


MOST_NAMED = 5
"""So many authors whose answers are left out have a line each; the file holds the counts of all."""


def summary(figures: SelfPreference, body: Mapping[str, Json], width: int | None = None) -> str:
    """
    Return a table for a terminal: a row for each judge, then what is missing and why, the agreement, and the parts.

    A part that is wider than `width` is told in pieces.
    """
    there = {name for row in figures.rows for name in (*row.corrected, *row.published)}
    names = [name for name in SHOWN if name in there]
    head = ("judge", "family", *(SHOWN[name] for name in names))
    rows = [head, *((row.judge, row.family, *(_figure(row, name) for name in names)) for row in figures.rows)]
    lines = aligned(rows)
    lines += [*_reasons(figures.rows), *_not_compared(figures.rows), *left_out(body.get("left_out"))]
    lines += [*lost(body), *(str(leak) for leak in figures.leaks)]
    asked = body.get("questions")
    drawn = f" of {asked['of']}" if isinstance(asked, dict) and asked["of"] != asked["n"] else ""
    noun = "question" if figures.items == 1 and not drawn else "questions"
    title = f"{figures.items}{drawn} {noun}{' (--sample)' if drawn else ''}, {figures.kind} verdicts"
    parts = [
        line
        for part in figures.parts
        for line in ("", *lines_of(part.name, part.rows, part.reason, width, few=part.few))
    ]
    return "\n".join([title, *lines, *_agreed(body), *parts])


def _reasons(rows: Sequence[JudgeRow]) -> list[str]:
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        for name, reason in row.reasons.items():
            if name in SHOWN:
                missing = name not in row.corrected and row.published.get(name) is None
                words = f"not estimated: {reason}" if missing else reason
                found.setdefault(words, {}).setdefault(row.judge, []).append(SHOWN[name])
    lines = []
    for words, names in found.items():
        figures = ", ".join(dict.fromkeys(name for of in names.values() for name in of))
        lines.append(f"{', '.join(names)}: {figures}: {words}")
    return lines


def _not_compared(rows: Sequence[JudgeRow]) -> list[str]:
    found: dict[str, list[str]] = {}
    for row in rows:
        for name, estimate in row.corrected.items():
            for reason, count in estimate.excluded.items():
                if name in SHOWN and reason.kind in (Kind.FEW_VERDICTS_BY, Kind.FEW_VERDICTS_ON):
                    of = found.setdefault(f"{SHOWN[name]}: {reason} ({count} questions)", [])
                    of.append(row.judge)
    return [f"{', '.join(judges)}: {words}" for words, judges in found.items()]


def left_out(counts: Json | Mapping[str, int]) -> list[str]:
    """Return whose answers are in no figure."""
    if not isinstance(counts, Mapping):
        return []
    of = "left out, as its family is stated as unknown, so that nobody can be compared with it"
    if len(counts) > MOST_NAMED:
        first = ", ".join(list(counts)[:MOST_NAMED])
        named = f"{first} and {len(counts) - MOST_NAMED} more authors"
        return [f"{named}: cases with their answers left out, as their families are stated as unknown"]
    return [f"{author}: {count} case{'s' * (count != 1)} with its answers {of}" for author, count in counts.items()]


def lost(body: Mapping[str, Json]) -> list[str]:
    """Return how many verdicts are in no figure as no reply came, and why."""
    found = body.get("lost")
    if not isinstance(found, dict):
        return []
    return [f"from a part of the data: {found.get('n')} of {found.get('of')} verdicts were lost: {found.get('why')}"]


def _figure(row: JudgeRow, name: str) -> str:
    if name in row.corrected:
        found = row.corrected[name]
        return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    value = row.published.get(name)
    return "-" if value is None else f"{value:.2f}"


def _agreed(body: Mapping[str, Json]) -> list[str]:
    panel = body.get("panel")
    if not isinstance(panel, dict) or not panel["agreement"]:
        return []
    agreement, left = panel["agreement"], panel["leave_one_out"]
    assert isinstance(agreement, dict)
    assert isinstance(left, list)
    values = [f"{name} {value:.2f}" for name, value in agreement.items() if isinstance(value, float)]
    lines = [f"agreement of the judges: {', '.join(values)}"] if values else []
    for one in left:
        assert isinstance(one, dict)
        tau = one["tau"]
        if isinstance(tau, float) and tau < 1:
            without = f"without {one['judge']} the ranking of the authors differs"
            lines.append(f"{without}: tau {tau:.2f}, best {one['best']}")
    return lines
