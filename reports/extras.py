"""
What an audit may carry beside its findings: self-preference and mitigations, read with tolerance for what is missing.

Two keys of `extras` are read here, and `hunt` in `reports.hunt`; all others are kept in the record and not shown. Every
part is optional, and one of the wrong kind is left out: a report must open whatever an analysis wrote.

`self_preference` is what `calm self-preference` writes (schema `calm-self-preference/1`), or shorter:

    {"judges": [NAME], "generators": [NAME], "families": {NAME: FAMILY}, "unit": TEXT,
     "matrix": [[NUMBER or null]],                     by judge, then by generator
     "rows": [{COLUMN: NUMBER, TEXT or null}],         the table of figures
     "perplexity": [{"judge": NAME, "series": {NAME: [[x, y]]}}],
     "parts": [{"name": TEXT, "rows": [{COLUMN: NUMBER, ESTIMATE, TEXT or null}], "reason": TEXT,
                "x": COLUMN, "lines": [COLUMN]}],      tables beside it, those with `x` as a chart, too
     "panel": {"agreement": {COEFFICIENT: NUMBER or null},
               "leave_one_out": [{"judge": NAME, "tau": NUMBER or null, "best": NAME}]}}

`mitigations`:

    {"said": TEXT,                                     the conclusion
     "differences": [{"set": NAME, "measure": NAME, "value": .., "low": .., "high": .., "n": .., "p_adjusted": ..}],
     "not_applicable": [{"set": NAME, "reason": TEXT}],
     "rows": [{"set": NAME, "outcome": OUTCOME, "robustness": .., "accuracy": .., "noise": ..,
               "excess": .., "calls_per_verdict": .., "usd": ..}],   and any other columns
     "attack_grid": {"rows": [ATTACK], "columns": [SET], "matrix": [[RATE or null]], "unit": TEXT}}

A record of a command that has no page of its own is read by its shape, so that nothing of it is lost: what a newer
version adds is shown, too. What is too deep for a table is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.models.wire import Json
from calm.results.parts import cell, head_of, words_of
from calm.results.reports.charts import Lines, dots_of, ends_of, finite, interval_in_words, lines_of, number, place_in
from calm.results.reports.texts import Comparison, compare
from calm.results.sentences import capital

AGREEMENT: Mapping[str, str] = {
    "raw": "Pairs of judges that say the same",
    "kappa": "Fleiss' kappa",
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
}
"""Coefficients of agreement: the first is a share, the others are 0 by chance and 1 where all agree."""
SHADES = 10
"""Steps of colour in a heat map."""
MOST_ROWS, MOST_CELLS = 200, 2_500
"""Rows and cells shown of one such table; the rest is counted."""
LIKELY = ("win rate by difference in log-perplexity", ("difference", "win rate"))
"""What the curves of perplexity show, and their axes."""
NAMES: Mapping[str, str] = {
    "set": "Mitigations",
    "usd": "Cost, US$",
    "calls_per_verdict": "Calls a verdict",
    "robustness": "Robustness",
    "accuracy": "Accuracy",
    "noise": "Noise",
    "unread_clean": "Unread clean",
    "unread_inert": "Unread inert",
    "unread_edited": "Unread edited",
    "outcome": "Outcome",
    "excess": "Worst excess over a limit",
    "change": "Change against no mitigation [low, high]",
    "n": "Cases",
    "p": "p, adjusted for all of these",
    "tau": "Ranking kept (Kendall's tau-b)",
    "best": "First in the ranking",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a heat map: its number, its shade from 0 to 10, and whether it is a judge's own or its family's."""

    text: str
    shade: int
    mark: str


@dataclass(frozen=True, slots=True)
class Heat:
    """A heat map as a table."""

    unit: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    low: str
    high: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Figures by row, the names of the columns first."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A table with a title, what to know of it, and its chart if it has one."""

    title: str
    notes: tuple[str, ...]
    table: Table | None
    chart: Lines | None


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """What is shown of self-preference."""

    heats: tuple[Heat, ...]
    curves: tuple[Lines, ...]
    notes: tuple[str, ...]
    agreement: tuple[tuple[str, str], ...] = ()
    """How far the judges agree: the name of each coefficient and its value in words."""
    without: Table | None = None
    """The ranking of the authors without each judge."""
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A set of mitigations between robustness and cost; `best`: none is both cheaper and more robust."""

    number: int
    name: str
    x: float
    y: float
    best: bool


@dataclass(frozen=True, slots=True)
class Frontier:
    """Robustness by cost, and the line along the sets that none is better than in both."""

    cost: str
    points: tuple[Point, ...]
    line: str
    x: tuple[str, str]
    y: tuple[str, str]

    WIDTH, HEIGHT = 420.0, 220.0


@dataclass(frozen=True, slots=True)
class Mitigations:
    """What is shown of mitigations."""

    table: Table
    frontier: Frontier | None
    attacks: Heat | None
    said: str = ""
    differences: Table | None = None
    not_applicable: tuple[tuple[str, str], ...] = ()


def self_preference_of(extras: Mapping[str, Json]) -> SelfPreference | None:
    """Return what the extras say of self-preference; None where there is nothing to show."""
    body = as_mapping(extras.get("self_preference"))
    families = {name: str(family) for name, family in as_mapping(body.get("families")).items()}
    matrices = objects(body.get("matrices"))
    if "matrix" in body:
        matrices.append({**body, "values": body["matrix"]})
    heats = [h for m in matrices if (h := heat_of(m, m.get("judges"), m.get("generators"), families)) is not None]
    curves = [c for c in (*_short_curves(body), *_bin_curves(body)) if c is not None]
    notes = [str(as_mapping(leak).get("text", "")) for leak in as_list(body.get("leaks"))]
    lost = as_mapping(body.get("lost"))
    if lost:
        told = ("n", "of", "why")
        notes.insert(0, "{} of {} verdicts were lost: {}".format(*(_in_words(lost.get(name)) for name in told)))
    panel = as_mapping(body.get("panel"))
    without = objects(panel.get("leave_one_out"))
    found = SelfPreference(
        tuple(heats),
        tuple(curves),
        tuple(n for n in notes if n),
        _agreement(as_mapping(panel.get("agreement"))),
        _table(without),
        (
            *(Part(title, (), table, None) for title, rows in _figures(body).items() if (table := _table(rows))),
            *(part for one in objects(body.get("parts")) if (part := _part(one)) is not None),
        ),
    )
    return found if heats or curves or found.agreement or found.parts else None


def _part(body: Mapping[str, Json]) -> Part | None:
    name, reason = body.get("name"), body.get("reason")
    rows = objects(body.get("rows"))
    if not isinstance(name, str) or not (rows or reason):
        return None
    words = words_of(name)
    told = [{head_of(column): _as_told(value) for column, value in row.items()} for row in rows]
    notes = tuple(text for text in (reason, words.note if rows else "") if isinstance(text, str) and text)
    return Part(words.title, notes, _table(told), _chart(words.title, body, rows))


def _as_told(value: Json) -> Json:
    if isinstance(value, str) or value is None:
        return value
    return cell(value).replace("-", "\N{MINUS SIGN}")


def _chart(title: str, body: Mapping[str, Json], rows: Sequence[Mapping[str, Json]]) -> Lines | None:
    x = body.get("x")
    if not isinstance(x, str) or not x:
        return None
    series = {
        head_of(name): dots_of([[row.get(x), *_figure_of(row.get(name))] for row in rows])
        for name in as_list(body.get("lines"))
        if isinstance(name, str)
    }
    return lines_of(title, series, "", (head_of(x), "value"))


def _figure_of(value: Json) -> list[Json]:
    return [value.get(name) for name in ("value", "low", "high")] if isinstance(value, dict) else [value]


def _agreement(found: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    shown = tuple((words, _in_words(found[name])) for name, words in AGREEMENT.items() if name in found)
    return shown if any(finite(found[name]) is not None for name in AGREEMENT if name in found) else ()


def mitigations_of(extras: Mapping[str, Json]) -> Mitigations | None:
    """Return what the extras say of mitigations; None where there is nothing to show."""
    body = as_mapping(extras.get("mitigations"))
    rows = objects(body.get("rows"))
    grid = as_mapping(body.get("attack_grid"))
    attacks = heat_of({**grid, "values": grid.get("matrix")}, grid.get("rows"), grid.get("columns"), {})
    table = _table(rows)
    if table is None and attacks is None:
        return None
    changed = [row for row in map(_difference, map(as_mapping, as_list(body.get("differences")))) if row]
    refused = [
        (_in_words(row.get("set")), _in_words(row.get("reason")))
        for row in map(as_mapping, as_list(body.get("not_applicable")))
    ]
    said = body.get("said")
    return Mitigations(
        table or Table((), ()),
        _frontier(rows),
        attacks,
        said if isinstance(said, str) else "",
        _table(changed),
        tuple(refused[:MOST_ROWS]),
    )


def _difference(one: Mapping[str, Json]) -> dict[str, Json]:
    change = _estimate(dict(one))
    if change is None:
        return {}
    return {
        "set": one.get("set"),
        "measure": one.get("measure"),
        "change": change,
        "n": one.get("n"),
        "p": one.get("p_adjusted"),
    }


def _figures(body: Mapping[str, Json]) -> dict[str, list[dict[str, Json]]]:
    """Return the tables of all figures of the judges by title, and what is missing or left out of them, and why."""
    tables: dict[str, list[dict[str, Json]]] = {"figures": objects(body.get("rows"))}
    whys: dict[tuple[str, str], list[str]] = {}
    for judge in objects(body.get("judges")):
        about = {"judge": judge.get("judge"), "family": judge.get("family")}
        for part, title in (("corrected", "all corrected figures"), ("published", "all published figures")):
            figures = {name: _estimate(value) for name, value in as_mapping(judge.get(part)).items()}
            tables.setdefault(title, []).extend([{**about, **figures}] if figures else [])
        said = [(name, str(why)) for name, why in as_mapping(judge.get("reasons")).items()]
        for name, value in as_mapping(judge.get("corrected")).items():
            said += [(name, f"{why} ({n})") for why, n in as_mapping(as_mapping(value).get("excluded")).items()]
        for key in said:
            whys.setdefault(key, []).append(str(judge.get("judge")))
    tables["what is missing, or left out, and why"] = [
        {"figure": capital(head_of(name)), "judges": ", ".join(judges), "reason": why}
        for (name, why), judges in whys.items()
    ]
    return tables


def _estimate(value: Json) -> Json:
    body = as_mapping(value)
    middle, low, high = (finite(body.get(name)) for name in ("value", "low", "high"))
    if middle is None:
        return value if not body else None
    return number(middle) + interval_in_words(low, high)


def _table(rows: Sequence[Mapping[str, Json]]) -> Table | None:
    if not rows:
        return None
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = tuple(tuple(_in_words(row.get(name)) for name in columns) for row in rows[:MOST_ROWS])
    heads = tuple(NAMES.get(name) or capital(name.replace("_", " ")) for name in columns)
    return Table(heads, cells, max(0, len(rows) - MOST_ROWS))


def _in_words(value: Json) -> str:
    found = finite(value)
    if found is not None:
        return f"{value:,}" if isinstance(value, int) else number(found, 4 if 0 < abs(found) < 0.01 else 2)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    return value if isinstance(value, str) else "\N{EN DASH}"


def heat_of(
    body: Mapping[str, Json], rows: Json, columns: Json, families: Mapping[str, str], *, places: int = 2
) -> Heat | None:
    """Return a heat map of numbers with so many places; colours run from its lowest to its highest value."""
    names, heads = ([str(n) for n in as_list(part)] for part in (rows, columns))
    values = [[finite(v) for v in as_list(row)] for row in as_list(body.get("values"))]
    known = [v for row in values for v in row if v is not None]
    if not (names and heads and known):
        return None
    marks = [[str(m) for m in as_list(row)] for row in as_list(body.get("marks"))]
    low, high = min(known), max(known)
    shown = max(1, MOST_CELLS // len(heads))
    cells = []
    for i, name in enumerate(names[:shown]):
        row = []
        for j, head in enumerate(heads[:MOST_CELLS]):
            value = values[i][j] if i < len(values) and j < len(values[i]) else None
            given = marks[i][j] if i < len(marks) and j < len(marks[i]) else None
            mark = given if given is not None else _mark(name, head, families)
            row.append(_cell(value, (low, high), mark, places))
        cells.append((name, tuple(row)))
    unit = body.get("unit")
    named = unit if isinstance(unit, str) and unit else "value"
    left_out = max(0, len(names) - shown)
    ends = number(low, places), number(high, places)
    return Heat(named, tuple(heads[:MOST_CELLS]), tuple(cells), ends[0], ends[1], left_out)


def _mark(judge: str, generator: str, families: Mapping[str, str]) -> str:
    if judge == generator:
        return "self"
    family = families.get(judge)
    return "family" if family and family == families.get(generator) else ""


def _cell(value: float | None, ends: tuple[float, float], mark: str, places: int) -> Cell:
    if value is None:
        return Cell("\N{EN DASH}", 0, mark if mark in ("self", "family") else "")
    low, high = ends
    share = (value - low) / (high - low) if high > low else 0.5
    return Cell(number(value, places), round(share * SHADES), mark if mark in ("self", "family") else "")


def _short_curves(body: Mapping[str, Json]) -> list[Lines | None]:
    found = []
    for one in map(as_mapping, as_list(body.get("perplexity"))):
        series = {name: dots_of(points) for name, points in as_mapping(one.get("series")).items()}
        found.append(lines_of(str(one.get("judge") or "judge"), series, *LIKELY))
    return found


def _bin_curves(body: Mapping[str, Json]) -> list[Lines | None]:
    words = {"judge": "the judge", "human": "people", "own": "its own answers", "others": "the others' answers"}
    found = []
    for judge, curves in as_mapping(body.get("curves")).items():
        series = {}
        for name, bins in as_mapping(curves).items():
            keys = ("difference", "rate", "rate_low", "rate_high")
            series[words.get(name, name)] = dots_of([[b.get(k) for k in keys] for b in map(as_mapping, as_list(bins))])
        found.append(lines_of(judge, series, *LIKELY))
    return found


def _frontier(rows: Sequence[Mapping[str, Json]]) -> Frontier | None:
    for cost in ("usd", "calls_per_verdict"):
        known = [
            (i, str(row.get("set") or "none"), x, y)
            for i, row in enumerate(rows, 1)
            if (x := finite(row.get(cost))) is not None and (y := finite(row.get("robustness"))) is not None
        ]
        priced = cost != "usd" or (len(known) == len(rows) and any(x for _, _, x, _ in known))
        if len(known) > 1 and priced:
            break
    else:
        return None
    ends = ends_of([x for _, _, x, _ in known]), ends_of([y for _, _, _, y in known])
    points = []
    for i, name, x, y in known:
        best = not any(a <= x and b >= y and (a, b) != (x, y) for _, _, a, b in known)
        across, up = place_in(x, y, ends, Frontier.WIDTH, Frontier.HEIGHT)
        points.append(Point(i, name, across, up, best))
    line = " ".join(f"{p.x:g},{p.y:g}" for p in sorted(points, key=lambda p: (p.x, -p.y)) if p.best)
    (left, right), (low, high) = ends
    word = "cost in US$" if cost == "usd" else "calls a verdict"
    return Frontier(word, tuple(points), line, (number(left), number(right)), (number(low), number(high)))


def as_mapping(value: Json) -> dict[str, Json]:
    """Return an object of a record; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return a list of a record; an empty one for anything else."""
    return value if isinstance(value, list) else []


def objects(value: Json) -> list[dict[str, Json]]:
    """Return the objects of a list of a record that hold something."""
    return [one for one in map(as_mapping, as_list(value)) if one]


DEEPEST: Final = 3
"""Sections within sections; what lies deeper is written as JSON."""
FEW: Final = 3
"""Values of an object that are shown in one cell."""
LONGEST: Final = 200
"""Characters of a cell; the rest of a text is cut off, and marked."""
MOST_PAIRS: Final = 100
"""Texts shown beside their originals; the rest is counted."""
BESIDE: Final = ("original", "text")
"""Columns that are shown as two texts side by side, not in the table."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a record: its title, its single values, its table, and texts beside their originals by name."""

    title: str
    facts: tuple[tuple[str, str], ...]
    table: Table | None = None
    beside: tuple[tuple[str, Comparison], ...] = ()
    left_out: int = 0


def sections_of(
    body: Mapping[str, Json], hidden: Sequence[str] = (), lists: Mapping[str, Sequence[str]] | None = None
) -> tuple[Section, ...]:
    """
    Return a record as sections, the first with its single values; `hidden` keys are left out.

    `lists` names the values of lists within an object, by its key: {"edits": ("stacks", "held")}.
    """
    named = {key: _named(value, (lists or {}).get(key)) for key, value in body.items() if key not in hidden}
    return tuple(_sections("", named, 0))


def _named(value: Json, names: Sequence[str] | None) -> Json:
    if names is None or not isinstance(value, dict):
        return value
    return {key: dict(zip(names, as_list(one), strict=False)) for key, one in value.items()}


def _sections(title: str, body: Mapping[str, Json], depth: int) -> Iterator[Section]:
    single = {
        key: value
        for key, value in body.items()
        if _flat(value) or (isinstance(value, dict) and 0 < len(value) <= FEW and all(map(_flat, value.values())))
    }
    if single:
        facts = tuple((_head(key), _any_cell(value)) for key, value in single.items() if value not in ("", [], {}))
        yield Section(title, facts)
    for key, value in body.items():
        if key in single or not value:
            continue
        name = f"{title}: {head_of(key)}" if title else _head(key)
        rows = _rows(value)
        if rows is not None:
            yield _any_table(name, rows)
        elif isinstance(value, dict) and depth < DEEPEST:
            yield from _sections(name, value, depth + 1)
        else:
            yield Section(name, (("JSON", _short(json.dumps(value, ensure_ascii=False))),))


def _flat(value: Json) -> bool:
    if isinstance(value, dict):
        return "value" in value and all(not isinstance(v, dict | list) for v in value.values())
    if isinstance(value, list):
        return all(not isinstance(one, dict | list) for one in value)
    return True


def _rows(value: Json) -> list[dict[str, Json]] | None:
    if isinstance(value, list):
        return [as_mapping(one) for one in value] if all(isinstance(one, dict) for one in value) else None
    inner = as_mapping(value)
    if not inner or any(_flat(one) and not isinstance(one, dict | list) for one in inner.values()):
        return None
    if all(isinstance(one, dict) and all(map(_flat, one.values())) for one in inner.values()):
        return [
            {"name": name, **(as_mapping(one) if not _flat(one) else {"value": one})} for name, one in inner.items()
        ]
    return None


def _any_table(title: str, rows: Sequence[Mapping[str, Json]]) -> Section:
    texts = [row for row in rows if all(isinstance(row.get(name), str) for name in BESIDE)]
    columns = [c for c in dict.fromkeys(name for row in rows for name in row) if not (texts and c in BESIDE)]
    cells = tuple(tuple(_any_cell(row.get(c)) for c in columns) for row in rows[:MOST_ROWS])
    table = Table(tuple(map(_head, columns)), cells, max(0, len(rows) - MOST_ROWS))
    beside = tuple(
        (cell(next(iter(row.values()))), compare(str(row["original"]), str(row["text"]))) for row in texts[:MOST_PAIRS]
    )
    return Section(title, (), table, beside, max(0, len(texts) - MOST_PAIRS))


def _any_cell(value: Json) -> str:
    if _flat(value):
        return _short(cell(value))
    if isinstance(value, dict):
        return _short("; ".join(f"{head_of(name)} {_any_cell(one)}" for name, one in value.items()))
    return _short("; ".join(map(_any_cell, as_list(value))))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _head(column: str) -> str:
    return capital(head_of(column))
