"""
The tables that come from harmful self-preference (HSPP) of all shapes of judges, measured by the truth or a committee.

They are HSPP itself, committees in the place of one judge, the agreement filter of criteria, and slices of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from random import Random
from typing import Final

import numpy as np

from calm.core.case import digest
from calm.errors import ConfigError, EstimateError, nearest
from calm.models.wire import Json
from calm.plugins.self_preference import overestimation, rubric
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.overestimation import (
    Evidence,
    Hspp,
    Over,
    Reading,
    mean_ratio,
    of_criteria,
    systems,
)
from calm.plugins.self_preference.parts import Part, known
from calm.plugins.self_preference.rubric import RubricTable

TRUTH = "truth"
OTHERS = "the other judges"


@dataclass(frozen=True, slots=True)
class Held:
    """
    The figures of one judge, compared with a reference. None and NaN where there is none.

    `mra` and `mipa` are in [0, 1]; `rubric` and `instance` its HSPP ratios, the former of criteria alone; `shares` how
    its over-estimation of itself, its family without itself and all others divides into loss to win and loss to tie, in
    [0, 1]; `self_minus_others` its centred difference of scores on itself minus the mean outside its family.
    """

    mra: float
    mipa: float
    rubric: Hspp | None
    instance: Hspp
    shares: Mapping[str, float | None]
    self_minus_others: float | None


def held(evidence: Evidence, judge: str, said: Reading, reference: Reading) -> Held:
    """
    Return the figures of a judge, with its own family and answers, for what it `said` or a committee in its place.

    Neither reading has a dimension of raters.
    """
    grid = Grid((judge,), evidence.grid.generators, evidence.grid.families)
    over = overestimation.overestimated_instances(said.signs[None], reference.signs)
    by_rubric, accuracy = None, float("nan")
    if evidence.table is not None and said.marks is not None and reference.marks is not None:
        table = replace(evidence.table, grid=grid, verdicts=said.marks[None], truth=reference.marks)
        accuracy = float(rubric.mean_rubric_agreement(table.verdicts, table.truth)[0])
        by_rubric = overestimation.hspp(overestimation.overestimated_rubrics(table).rates(), grid, judge)
    scores, true = systems(said, reference)
    try:
        apart = rubric.self_minus_outsiders(rubric.centred_deltas(scores[None], true), grid, judge)
    except EstimateError:
        apart = float("nan")
    return Held(
        accuracy,
        float(rubric.mean_instance_agreement(said.signs[None], reference.signs)[0]),
        by_rubric,
        overestimation.hspp(over.rates(), grid, judge),
        _shares(over, grid, judge),
        known(apart),
    )


def reference_of(evidence: Evidence, judge: str, members: Sequence[str], *, with_self: bool = False) -> Reading | None:
    """
    Return what the other members of a committee say together, or all of them `with_self`.

    None where fewer than two are left, or where they know nothing together.
    """
    rows = [evidence.grid.row(m) for m in members if with_self or m != judge]
    if len(rows) < 2:
        return None
    found = evidence.committee(rows)
    return found if found.known else None


def harmful(evidence: Evidence, given: Mapping[str, Sequence[str]], *, with_self: bool = False) -> tuple[Part, ...]:
    """
    Return the tables `hspp` and `loss_shares`: a row for each judge and reference.

    References are the truth, and the committees that are `given` by name; without truth and committee, all judges are
    one committee. A judge is in no reference of its own, unless `with_self`.
    """
    grid = evidence.grid
    named: dict[str, Sequence[str]] = dict(given)
    reason = ""
    if evidence.truth is None:
        reason = (
            "no answer has a known truth: each judge is compared with a committee, so a fault that all of them share "
            "does not show; add `met`, a `check`, `better` or `scores`"
        )
        if not named:
            named = {OTHERS: grid.judges}
    ratios: list[dict[str, Json]] = []
    shares: list[dict[str, Json]] = []
    missing: list[str] = []
    for name in (*([] if evidence.truth is None else [TRUTH]), *named):
        for row, judge in enumerate(grid.judges):
            reference = evidence.truth
            if name in named:
                reference = reference_of(evidence, judge, named[name], with_self=with_self)
            if reference is None:
                missing.append(f"{judge}: fewer than two other judges to compare it with")
                continue
            found = held(evidence, judge, evidence.said.of(row), reference)
            about: dict[str, Json] = {"judge": judge, "shape": evidence.shapes.get(judge), "reference": name}
            ratios.append(about | _ratios(found))
            shares.append(about | dict(found.shares))
            missing += [one.reason for one in (found.rubric, found.instance) if one is not None and one.reason]
    told = "; ".join(filter(None, (reason, *dict.fromkeys(missing))))
    return Part("hspp", tuple(ratios), told), Part("loss_shares", tuple(shares))


def _ratios(found: Held) -> dict[str, Json]:
    columns: dict[str, Json] = {}
    if found.rubric is not None:
        columns["mra"] = known(found.mra)
    columns["mipa"] = known(found.mipa)
    for letter, one in (("rubric", found.rubric), ("instance", found.instance)):
        if one is not None:
            columns[f"hspp_{letter}_self"] = one.ratio_self
            columns[f"hspp_{letter}_family_with_self"] = one.ratio_family_with_self
            columns[f"hspp_{letter}_family_without_self"] = one.ratio_family_without_self
    columns["self_minus_outsiders"] = found.self_minus_others
    return columns


def _shares(over: Over, grid: Grid, judge: str) -> dict[str, float | None]:
    assert over.to_win is not None
    own, kin = grid.own(judge), grid.kin()[0]
    mine = np.zeros(len(grid.generators), dtype=np.bool_)
    if own is not None:
        mine[own] = True
    found: dict[str, float | None] = {}
    won, all_over = over.to_win.sum(axis=2)[0], over.over.sum(axis=2)[0]
    for whose, columns in (("self", mine), ("family", kin & ~mine), ("others", ~kin)):
        total = float(all_over[columns].sum())
        to_win = float(won[columns].sum()) / total if total else None
        found |= {f"l2w_{whose}": to_win, f"l2t_{whose}": None if to_win is None else 1 - to_win}
    return found


MOST: Final = 20
"""More committees of one size are sampled down to this many."""
FIGURES: Final = ("mra", "mipa", "hspp_rubric_self", "hspp_instance_self")
NO_TRUTH: Final = "the figures of a committee need answers with a known truth"


def together(evidence: Evidence, given: Mapping[str, Sequence[str]], seed: int) -> tuple[Part, ...]:
    """
    Return the tables `committee`, a row for each member of a committee, and `committee_size`, a row for each size.

    In the first, the ratios of a committee are by its verdicts, with the own answers and the family of the member. In
    the second, each figure is the mean over the members of a committee and over the committees of the size: all, or at
    most `MOST` that are drawn with `seed` from the members of all that are `given`. Without committees there are none.
    """
    if not given:
        return ()
    if evidence.truth is None:
        return (Part("committee", (), NO_TRUTH),)
    rows: list[dict[str, Json]] = []
    for name, members in given.items():
        by_all = _of_each(evidence, members, members)
        for member in members:
            alone = _of_each(evidence, [member], [member])[member]
            row: dict[str, Json] = {"committee": name, "judge": member}
            for figure in FIGURES:
                row |= {figure: alone[figure], f"{figure}_committee": by_all[member][figure]}
            rows.append({column: value for column, value in row.items() if evidence.table or "mra" not in column})
    pool = tuple(dict.fromkeys(member for members in given.values() for member in members))
    sizes = tuple(_of_size(evidence, pool, size, seed) for size in range(1, len(pool) + 1))
    lines = tuple(name for name in FIGURES if any(row[name] is not None for row in sizes))
    shown = tuple({c: v for c, v in row.items() if c not in FIGURES or c in lines} for row in sizes)
    return Part("committee", tuple(rows)), Part("committee_size", shown, "", "size", lines)


def _of_size(evidence: Evidence, pool: Sequence[str], size: int, seed: int) -> dict[str, Json]:
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    count, rng = comb(len(pool), size), Random(digest("committees", seed, size))
    drawn = dict.fromkeys(combinations(pool, size)) if count <= MOST else {}
    while len(drawn) < min(MOST, count):
        drawn[tuple(pool[place] for place in sorted(rng.sample(range(len(pool)), size)))] = None
    for members in drawn:
        for figures in _of_each(evidence, members, members).values():
            for name, value in figures.items():
                if value is not None:
                    found[name].append(value)
    means: dict[str, Json] = {name: sum(v) / len(v) if v else None for name, v in found.items()}
    return {"size": size, "committees": len(drawn), "of": count, **means}


def _of_each(
    evidence: Evidence, committee: Sequence[str], members: Sequence[str]
) -> dict[str, dict[str, float | None]]:
    assert evidence.truth is not None
    said = evidence.committee([evidence.grid.row(member) for member in committee])
    found = {}
    for member in members:
        one = held(evidence, member, said, evidence.truth)
        by_rubric = None if one.rubric is None else one.rubric.ratio_self
        values = known(one.mra), known(one.mipa), by_rubric, one.instance.ratio_self
        found[member] = dict(zip(FIGURES, values, strict=True))
    return found


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
            kept = rubric.agreement_filtered(table, threshold)
        except EstimateError:
            row |= {"criteria": 0, "questions": 0}
        else:
            by_rubric, by_instance = _ratios_of(kept)
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
            cells = rubric.agreement_filtered(table, threshold, by="cell")
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
    by_rubric, by_instance = _ratios_of(table)
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


def _ratios_of(table: RubricTable) -> tuple[list[Hspp], list[Hspp]]:
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


SLICES: Final[Mapping[str, Callable[[RubricTable], list[str]]]] = {
    "sign": lambda table: ["positive" if points > 0 else "negative" for points in table.points.tolist()],
    "length": lambda table: rubric.labels_by_size(table.lengths) if any(table.lengths) else [""] * len(table.criteria),
    "axis": lambda table: list(table.axes) or [""] * len(table.criteria),
}
"""The ways of slicing criteria: a label for each of them."""

ALL = "all"
"""The committee of all judges."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    Which tables a user asks for.

    `committees` hold the models of the members, or `ALL` alone; `with_self` keeps a judge in the committee that it is
    compared with, as published. `agreements` are thresholds in [0, 1], `slices` the ways of `SLICES`.
    """

    committees: tuple[tuple[str, ...], ...] = ()
    with_self: bool = False
    agreements: tuple[float, ...] = ()
    slices: tuple[str, ...] = ()


def asked_of(
    committees: Sequence[str] = (), agreement: str | None = None, slices: str | None = None, *, with_self: bool = False
) -> Asked:
    """
    Return what texts of the command line ask for: names, numbers and ways of slicing, separated by commas.

    Raises:
        ConfigError: a number outside [0, 1], or an unknown way of slicing.
    """
    thresholds = []
    for text in _split(agreement or ""):
        try:
            threshold = float(text)
        except ValueError:
            threshold = -1.0
        if not 0 <= threshold <= 1:
            raise ConfigError(f"--agreement: expected numbers from 0 to 1, such as 0.5,0.8, got {text!r}")
        thresholds.append(threshold)
    ways = _split(slices or "")
    for option, given, found in (("--agreement", agreement, thresholds), ("--slices", slices, ways)):
        if given is not None and not found:
            raise ConfigError(f"{option}: expected a value after it, got {given!r}; give one or leave the option out")
    if strange := [way for way in ways if way not in SLICES]:
        known = ", ".join(SLICES)
        raise ConfigError(f"--slices: expected some of {known}, got {strange[0]!r}{nearest(strange[0], SLICES)}")
    if with_self and not committees:
        raise ConfigError("--self-in-committee: expected --committee beside it, got none; add it or leave this out")
    return Asked(tuple(map(_split, committees)), with_self, tuple(thresholds), ways)


def check(asked: Asked, family: str, judges: Sequence[str]) -> None:
    """
    Refuse what these judges cannot give.

    Raises:
        ConfigError: an unknown or lonely member of a committee, or criteria wanted of judges of something else.
    """
    for option, given in (("--agreement", asked.agreements), ("--slices", asked.slices)):
        if given and family != "rubric":
            raise ConfigError(f"{option}: expected judges of criteria, got judges of {family} verdicts")
    least = 2 if asked.with_self else 3
    for members in _named(asked, judges).values():
        if strange := [name for name in members if name not in judges]:
            raise ConfigError(
                f"--committee: expected models of the judges, got {strange[0]!r}{nearest(strange[0], judges)}"
            )
        if len(set(members)) < least or len(set(members)) < len(members):
            raise ConfigError(
                f"--committee: expected at least {least} different judges, or {ALL}, got {', '.join(members) or 'none'}"
            )


def beside(evidence: Evidence, asked: Asked, seed: int) -> tuple[Part, ...]:
    """Return the tables: HSPP always, the agreement filter of criteria with three judges or more, the rest if asked."""
    judges = evidence.grid.judges
    given = _named(asked, judges)
    parts = [*harmful(evidence, given, with_self=asked.with_self), *together(evidence, given, seed)]
    table = evidence.table
    if table is not None and (asked.agreements or len(judges) > 2):
        parts.append(filtered(table, asked.agreements or THRESHOLDS))
    if table is not None and asked.slices:
        parts.append(sliced(table, asked.slices))
    return tuple(part for part in parts if part.rows or part.reason)


def _named(asked: Asked, judges: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    members = [tuple(judges) if one == (ALL,) else one for one in asked.committees]
    if len(members) == 1:
        return {"committee": members[0]}
    return {f"committee {number}": one for number, one in enumerate(members, start=1)}


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))
