"""Harmful self-preference (HSPP) of all shapes of judges, measured by the truth or by a committee of judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calm.errors import EstimateError
from calm.models.wire import Json
from calm.selfpreference import committees, overestimation
from calm.selfpreference.contrasts import Grid
from calm.selfpreference.evidence import Evidence, Reading, systems
from calm.selfpreference.overestimation import Hspp, Over
from calm.selfpreference.report.rows import Part, known

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
        accuracy = float(committees.mean_rubric_agreement(table.verdicts, table.truth)[0])
        by_rubric = overestimation.hspp(overestimation.overestimated_rubrics(table).rates(), grid, judge)
    scores, true = systems(said, reference)
    try:
        apart = committees.self_minus_outsiders(committees.centred_deltas(scores[None], true), grid, judge)
    except EstimateError:
        apart = float("nan")
    return Held(
        accuracy,
        float(committees.mean_instance_agreement(said.signs[None], reference.signs)[0]),
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
    """Return the columns of a row; those of criteria only where it has them."""
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
    """Return which parts of the over-estimation are loss to win and loss to tie, pooled over the answers of a kind."""
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
