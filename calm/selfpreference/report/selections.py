"""Figures of some of the criteria: those on which the judges agree, and those of one kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from calm.errors import EstimateError
from calm.models.wire import Json
from calm.selfpreference import committees, overestimation, rubric
from calm.selfpreference.evidence import of_criteria
from calm.selfpreference.overestimation import Hspp, mean_ratio
from calm.selfpreference.report.harmful import held, reference_of
from calm.selfpreference.report.rows import Part
from calm.selfpreference.rubric import RubricTable

THRESHOLDS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Agreements that are shown unless others are named."""


def filtered(table: RubricTable, thresholds: Sequence[float]) -> Part:
    """
    Return the table `agreement_filter`: a row for each agreement that criteria must have to be kept, in [0, 1].

    Ratios are means over the judges that have one; `judges` counts these. `hspp_by_cell` filters each answer to a
    criterion on its own agreement.
    """
    rows: list[Mapping[str, Json]] = []
    for threshold in thresholds:
        row: dict[str, Json] = {"agreement": threshold}
        try:
            kept = committees.agreement_filtered(table, threshold)
        except EstimateError:
            row |= {"criteria": 0, "questions": 0}
        else:
            by_rubric, by_instance = _ratios(kept)
            mean = mean_ratio(by_rubric, "self")
            row |= {
                "criteria": len(kept.criteria),
                "questions": len(kept.instances),
                "judges": mean.n,
                "hspp_rubric_self": mean.value,
                "hspp_instance_self": mean_ratio(by_instance, "self").value,
                "hspp_rubric_family_without_self": mean_ratio(by_rubric, "family without self").value,
                "hspp_instance_family_without_self": mean_ratio(by_instance, "family without self").value,
            }
        try:
            cells = committees.agreement_filtered(table, threshold, by="cell")
        except EstimateError:
            row["hspp_by_cell"] = None
        else:
            rates = overestimation.overestimated_rubrics(cells).rates()
            found = [overestimation.hspp(rates, cells.grid, judge) for judge in cells.grid.judges]
            row["hspp_by_cell"] = mean_ratio(found, "self").value
        rows.append(row)
    lines = ("hspp_rubric_self", "hspp_instance_self", "hspp_by_cell")
    return Part("agreement_filter", tuple(rows), "", "agreement", lines)


def sliced(table: RubricTable, by: Sequence[str]) -> Part:
    """
    Return the table `slices`: for each way of slicing a row for the mean and one for each judge, by label.

    `by` holds `sign` (of the points), `length` (of a criterion's text, in quarters) and `axis` (the part of its name
    before a colon). Where all criteria have one label, the reason says so.
    """
    rows: list[Mapping[str, Json]] = []
    reasons = []
    for way in by:
        labels = SLICES[way](table)
        if len(set(labels)) < 2:
            reasons.append(f"{way}: all criteria are alike ({labels[0] or 'none is known'})")
            continue
        for label, part in table.slices(labels).items():
            rows += _rows_of(part, {"by": way, "slice": label or "none", "criteria": len(part.criteria)})
    return Part("slices", tuple(rows), "; ".join(reasons))


def _rows_of(table: RubricTable, about: dict[str, Json]) -> list[dict[str, Json]]:
    by_rubric, by_instance = _ratios(table)
    means: dict[str, Json] = {
        "judge": "mean",
        "hspp_rubric_self": mean_ratio(by_rubric, "self").value,
        "hspp_instance_self": mean_ratio(by_instance, "self").value,
    }
    rows = [about | means]
    for one, two in zip(by_rubric, by_instance, strict=True):
        figures: dict[str, Json] = {"hspp_rubric_self": one.ratio_self, "hspp_instance_self": two.ratio_self}
        rows.append(about | {"judge": one.judge} | figures)
    return rows


def _ratios(table: RubricTable) -> tuple[list[Hspp], list[Hspp]]:
    """Return the ratios of the judges by rubric and by instance; without truth against all other judges."""
    evidence = of_criteria(table)
    if evidence.truth is None:
        found = []
        for row, judge in enumerate(table.grid.judges):
            if (others := reference_of(evidence, judge, table.grid.judges)) is not None:
                found.append(held(evidence, judge, evidence.said.of(row), others))
        return [one.rubric for one in found if one.rubric is not None], [one.instance for one in found]
    by_rubric = overestimation.overestimated_rubrics(table).rates()
    by_instance = overestimation.overestimated_instances(evidence.said.signs, evidence.truth.signs).rates()
    first, second = (
        [overestimation.hspp(rates, table.grid, judge) for judge in table.grid.judges]
        for rates in (by_rubric, by_instance)
    )
    return first, second


def _signs(table: RubricTable) -> list[str]:
    return ["positive" if points > 0 else "negative" for points in table.points.tolist()]


def _lengths(table: RubricTable) -> list[str]:
    return rubric.labels_by_size(table.lengths) if any(table.lengths) else [""] * len(table.criteria)


def _axes(table: RubricTable) -> list[str]:
    return list(table.axes) or [""] * len(table.criteria)


SLICES: Final[Mapping[str, Callable[[RubricTable], list[str]]]] = {"sign": _signs, "length": _lengths, "axis": _axes}
"""The ways of slicing criteria: a label for each of them."""
