"""What `calm uda` says of the ratings of several judges, as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

from calm import __version__
from calm.models.wire import Json
from calm.results.reports.charts import finite, number
from calm.results.reports.extras import MOST_ROWS, Heat, Table, as_list, as_mapping, heat_of
from calm.results.reports.html import environment, safety

SIDES: Final = ("before", "after")
FIGURES: Final = (
    ("inter_judge_std", "Deviation between judges, mean over models", 1),
    ("consensus_spread", "Spread of the consensus over models", 1),
    ("relative_std", "Deviation / spread", 3),
    ("mean_abs_self_deviation", "Self-deviation, mean size", 3),
    ("mean_correlation_with_consensus", "Correlation with the consensus, mean", 3),
    ("mean_correlation_with_other_judges", "Correlation with the other judges, mean", 3),
    ("mean_correlation_with_gold", "Correlation with gold, mean", 3),
    ("consensus_correlation_with_gold", "Correlation with gold, consensus", 3),
)
"""The figures of a side in one number each, in words, and their decimal places."""
WEIGHTING: Final[Mapping[str, str]] = {
    "equal": "All judges count alike in the consensus.",
    "agreement": "A judge counts by its agreement with the others in the consensus.",
    "file": "The weights of the judges in the consensus come from a file.",
}
TRAINING: Final[Mapping[str, str]] = {
    "comparisons": "comparisons",
    "held_out": "held out, and shown here",
    "epochs": "epochs",
    "best_epoch": "best epoch",
    "validation_loss": "loss on what was held out",
    "own_answers": "sees the judges' own answers",
    "features": "sees beyond the paper's features",
    "seed": "seed",
    "embedder": "embeddings",
}
FEWEST_PLACES, SPAN = 0.05, 0.5
"""The axis of self-deviations goes this far at least, and what a half of its width is, as a share of it."""


@dataclass(frozen=True, slots=True)
class Way:
    """A judge's self-deviation before and after, in percent of the axis, and both in words."""

    judge: str
    before: float
    after: float
    words: tuple[str, str]


def render(record: Mapping[str, Json]) -> str:
    """Return the page of a record of schema `calm-uda-report/1`; everything that a user wrote is escaped."""
    pages = environment()
    judges, models = _names(record, "judges"), _names(record, "models")
    sides = [as_mapping(record.get(side)) for side in SIDES if side == "before" or side in record]
    axis, ways = _ways(sides) if sides[1:] else (0.0, [])
    clusters, trained = as_mapping(record.get("clusters")), as_mapping(record.get("training"))
    heads = SIDES if sides[1:] else ("",)
    apart = [(finite(side.get("relative_std")), head) for side, head in zip(sides, heads, strict=True)]
    said = ", ".join(f"{number(value)} {head}".rstrip() for value, head in apart if value is not None)
    figures = (
        (words, *(_places(side.get(key), places) for side in sides))
        for key, words, places in FIGURES
        if finite(sides[0].get(key)) is not None
    )
    return pages.get_template("uda_page.html.jinja").render(
        title=f"{len(judges)} judges of {len(models)} models",
        headline=f"Deviation between judges / spread of the consensus: {said}" if said else "",
        warnings=[str(one) for key in ("foremost", "warnings") for one in as_list(record.get(key))],
        unread=finite(record.get("unread")),
        figures=Table(("Figure", *(head.title() or "Value" for head in heads)), tuple(figures)),
        aligned=bool(sides[1:]),
        gold="calibration_slope" in sides[0],
        by_judge=_by_judge(sides, judges, as_mapping(record.get("weights"))),
        weighting=WEIGHTING.get(str(record.get("weighting")), ""),
        axis=number(axis),
        ways=ways,
        ratings=[h for side, head in zip(sides, heads, strict=True) if (h := _ratings(side, head, judges, models))],
        by_model=_by_model(sides, models),
        clusters=[as_mapping(one) for one in as_list(clusters.get("found"))],
        cut=finite(clusters.get("cut")),
        needs=as_mapping(clusters.get("needs")),
        correlations=_square(as_mapping(clusters.get("correlations")), judges),
        leans=_leans(clusters, models),
        training=[(words, _said(trained[key])) for key, words in TRAINING.items() if key in trained],
        left_out=_left_out(as_mapping(record.get("leave_one_judge_out"))),
        calm=__version__,
        schema=record.get("schema"),
        **safety(pages),
    )


def _names(record: Mapping[str, Json], key: str) -> list[str]:
    return [str(one) for one in as_list(record.get(key))]


def _places(value: Json, places: int) -> str:
    found = finite(value)
    return "\N{EN DASH}" if found is None else number(found, places)


def _by_judge(sides: Sequence[Mapping[str, Json]], judges: Sequence[str], weights: Mapping[str, Json]) -> Table:
    columns = (
        ("Distance to the consensus, points", "squared_error_to_consensus", 1),
        ("Self-deviation", "self_deviation", 3),
        ("r with the consensus", "correlation_with_consensus", 3),
        ("r with the other judges", "correlation_with_other_judges", 3),
        ("r with gold", "correlation_with_gold", 3),
        ("Slope of gold on the ratings", "calibration_slope", 4),
        ("Distance to gold, points", "squared_error_to_gold", 1),
    )
    found = _sides(("Judge", "Weight"), judges, columns, sides)
    rows = ((row[0], _places(weights.get(row[0]), 2), *row[1:]) for row in found.rows)
    return replace(found, rows=tuple(rows))


def _by_model(sides: Sequence[Mapping[str, Json]], models: Sequence[str]) -> Table:
    columns = (("Consensus", "consensus", 1), ("Deviation between judges", "inter_judge_std_by_model", 1))
    return _sides(("Model",), models, columns, sides)


def _sides(
    heads: Sequence[str],
    names: Sequence[str],
    columns: Sequence[tuple[str, str, int]],
    sides: Sequence[Mapping[str, Json]],
) -> Table:
    shown = [one for one in columns if any(as_mapping(side.get(one[1])) for side in sides)]

    def at(name: str, key: str, places: int, side: Mapping[str, Json]) -> str:
        value = finite(as_mapping(side.get(key)).get(name))
        return _places(sqrt(max(0.0, value)) if value is not None and key.startswith("squared") else value, places)

    rows = ((name, *(at(name, *one[1:], side) for one in shown for side in sides)) for name in names[:MOST_ROWS])
    ends = [f", {side}" for side in SIDES] if sides[1:] else [""]
    titles = (*heads, *(f"{one[0]}{end}" for one in shown for end in ends))
    return Table(titles, tuple(rows), max(0, len(names) - MOST_ROWS))


def _ways(sides: Sequence[Mapping[str, Json]]) -> tuple[float, list[Way]]:
    was, now = (as_mapping(side.get("self_deviation")) for side in sides)
    pairs = [(judge, finite(was[judge]), finite(now.get(judge))) for judge in was]
    known = [(judge, a, b) for judge, a, b in pairs if a is not None and b is not None]
    end = max([FEWEST_PLACES, *(abs(x) for _, a, b in known for x in (a, b))])

    def at(value: float) -> float:
        return round(50 + 96 * SPAN * value / end, 2)

    return end, [Way(judge, at(a), at(b), (number(a, 3), number(b, 3))) for judge, a, b in known[:MOST_ROWS]]


def _ratings(side: Mapping[str, Json], head: str, judges: Sequence[str], models: Sequence[str]) -> Heat | None:
    ratings = as_mapping(side.get("ratings"))
    values = [[as_mapping(ratings.get(judge)).get(model) for model in models] for judge in judges]
    return _heat(f"rating {head}".rstrip(), judges, models, values, places=0)


def _square(table: Mapping[str, Json], judges: Sequence[str]) -> Heat | None:
    values = [[as_mapping(table.get(a)).get(b) if a != b else None for b in judges] for a in judges if table]
    return _heat("correlation of the leans", judges, judges, values)


def _leans(clusters: Mapping[str, Json], models: Sequence[str]) -> Heat | None:
    found = [as_mapping(one) for one in as_list(clusters.get("found"))]
    names = [", ".join(str(judge) for judge in as_list(one.get("judges"))) for one in found]
    values = [[as_mapping(one.get("lean")).get(model) for model in models] for one in found]
    return _heat("points above the consensus", names, models, values, places=0)


def _heat(
    unit: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[Json]], *, places: int = 2
) -> Heat | None:
    table = [list(row) for row in values]
    marks: list[Json] = [["" for _ in columns] for _ in rows] if rows is columns else []
    return heat_of({"unit": unit, "values": [*table], "marks": marks}, [*rows], [*columns], {}, places=places)


def _said(value: Json) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "nothing"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value, 1) if isinstance(value, float) else str(value)


def _left_out(body: Mapping[str, Json]) -> Table | None:
    if not body:
        return None
    columns = (("r with the others", "correlation_with_others", 3), ("r with gold", "correlation_with_gold", 3))
    turned: list[dict[str, Json]] = [
        {
            key: {judge: as_mapping(as_mapping(one).get(side)).get(key) for judge, one in body.items()}
            for _, key, _ in columns
        }
        for side in SIDES
    ]
    return _sides(("Judge",), list(body), columns, turned)
