"""
Graded self-evaluation as tables: each judge in each wording, what the framings change, and the mean over dimensions.

| part | a row for each |
|---|---|
| `self_evaluation` | judge, dimension and framing: N, and mean and standard deviation of S, R and G |
| `self_evaluation_tests` | the same and S - R, S - G, R - G: mean difference, t, df, p, Holm's p, interval |
| `framing_differences` | judge, dimension and figure: standard framing less the other one, over the same items |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from calm.core.case import Framing
from calm.core.verdict import Scale
from calm.errors import EstimateError
from calm.models.wire import Json
from calm.selfpreference.framing_scores import ScoreTable, averaged
from calm.selfpreference.report.rows import Part
from calm.selfpreference.self_evaluation import Comparison, SelfEvaluation, compared, evaluated, item_means, p_holm
from calm.selfpreference.verdicts import AS_EVER, Wording

MEAN: Final = "mean"
"""What stands for a dimension where scores are the mean over all of them."""


def evaluation_parts(
    table: ScoreTable, worded: Mapping[Wording, ScoreTable], scales: Mapping[str, Scale] | None = None
) -> tuple[Part, ...]:
    """
    Return the parts of a table of scores, and of those of each wording in which they were asked.

    Without `worded` the table is that of the usual wording. Several dimensions also have their mean, by framing.
    Scores that are shares of a scale are in its points, where `scales` says that all judges were asked on the same one.
    """
    ends = {(scale.low, scale.high) for scale in (scales or {}).values()}
    tables = with_means(worded or {AS_EVER: table})
    if len(ends) == 1:
        tables = {wording: _in_points(one, *ends) for wording, one in tables.items()}
    found = {wording: evaluated(one, one.grid.judges) for wording, one in tables.items()}
    means: list[dict[str, Json]] = []
    tests: list[dict[str, Json]] = []
    for wording, by_judge in found.items():
        said = [one for one in by_judge.values() if isinstance(one, SelfEvaluation)]
        means += [_means(one, wording) for one in said]
        tests += _tests(said, wording)
    missing = {why: None for by_judge in found.values() for why in by_judge.values() if isinstance(why, str)}
    parts = [Part("self_evaluation", tuple(means), "; ".join(missing)), Part("self_evaluation_tests", tuple(tests))]
    changed = [row for standard, other in framed(tables) for row in _changed(tables, standard, other)]
    return (*parts, Part("framing_differences", tuple(changed))) if changed else tuple(parts)


def with_means(tables: Mapping[Wording, ScoreTable]) -> dict[Wording, ScoreTable]:
    """Return tables by wording with the mean over the dimensions of each framing, where there are several."""
    found = dict(tables)
    for framing in dict.fromkeys(wording.framing for wording in tables):
        some = [table for wording, table in tables.items() if wording.framing is framing]
        if len(some) > 1:
            found[Wording(MEAN, framing)] = averaged(some)
    return found


def _in_points(table: ScoreTable, ends: tuple[float, float]) -> ScoreTable:
    low, high = ends
    return replace(table, scores=low + (high - low) * table.scores, low=low, high=high)


def framed(tables: Mapping[Wording, ScoreTable]) -> list[tuple[Wording, Wording]]:
    """Return each wording in the standard framing with the same in another one."""
    return [
        (one, other)
        for one in tables
        for other in tables
        if one.framing is Framing.STANDARD and other.framing is not one.framing and one.dimension == other.dimension
    ]


def _named(judge: str, wording: Wording) -> dict[str, Json]:
    dimension: dict[str, Json] = {"dimension": wording.dimension} if wording.dimension else {}
    return {"judge": judge, **dimension, "framing": wording.framing.value}


def _means(one: SelfEvaluation, wording: Wording) -> dict[str, Json]:
    row = _named(one.judge, wording) | {"n": one.n}
    for name, spread in (("own", one.own), ("received", one.received), ("given", one.given)):
        row |= {name: None if spread is None else spread.mean, f"{name}_sd": None if spread is None else spread.sd}
    return row


def _tests(said: Sequence[SelfEvaluation], wording: Wording) -> list[dict[str, Json]]:
    """Return the tests of all judges in one wording; Holm's p is over the judges, for each difference by itself."""
    found: dict[tuple[str, str], dict[str, Json]] = {}
    for name in ("own_minus_received", "own_minus_given", "received_minus_given"):
        adjusted = p_holm(said, name)
        for one in said:
            if (test := getattr(one, name)) is not None:
                row = _named(one.judge, wording) | {"figure": name.replace("_", " ")} | _test(test)
                found[one.judge, name] = row | {"p_holm": adjusted.get(one.judge)}
    return [row for judge in dict.fromkeys(one.judge for one in said) for (of, _), row in found.items() if of == judge]


def _test(test: Comparison) -> dict[str, Json]:
    return {
        "difference": {"value": test.mean, "low": test.low, "high": test.high},
        "sd": test.sd,
        "t": test.t,
        "df": test.df,
        "p": test.p,
    }


def _changed(tables: Mapping[Wording, ScoreTable], standard: Wording, other: Wording) -> list[dict[str, Json]]:
    """Return what the standard framing adds to S, R, G and their differences, over the items scored in both."""
    first, second = (tables[wording] for wording in (standard, other))
    rows: list[dict[str, Json]] = []
    for judge in first.grid.judges:
        try:
            whole = [item_means(table, judge) for table in (first, second)]
        except EstimateError:  # its reason stands beside the means
            continue
        places = [table.items for table in (first, second)]
        shared = [item for item in places[0] if item in set(places[1])]
        at = [[{item: i for i, item in enumerate(items)}[item] for item in shared] for items in places]
        values = [
            {
                "own": m.own[i],
                "received": m.received[i],
                "given": m.given[i],
                "own minus received": (m.own - m.received)[i],
                "own minus given": (m.own - m.given)[i],
            }
            for m, i in zip(whole, at, strict=True)
        ]
        span = first.high - first.low
        for name in values[0]:
            wide = 2 * span if " minus " in name else span
            test = compared(values[0][name] - values[1][name], wide)
            if test is not None:
                dimension: dict[str, Json] = {"dimension": standard.dimension} if standard.dimension else {}
                named: dict[str, Json] = {"judge": judge, **dimension, "figure": name}
                framings: dict[str, Json] = {"framings": f"{standard.framing.value} - {other.framing.value}"}
                rows.append({**named, **framings, "n": test.df + 1, **_test(test)})
    return rows
