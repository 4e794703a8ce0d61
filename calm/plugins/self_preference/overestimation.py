"""
Over-estimation against a truth that is known (arXiv 2604.06996), and the one form of all shapes of verdicts for it.

| shape | a judge says | its committee |
|---|---|---|
| `rubric`, `rubric-all` | which criteria are met, one at a time or all at once | met if more than half say so |
| `points`, `score` | a score: X of Y criteria, or a place on a scale | the mean |
| `pairwise` | which of two answers is better, in both orders | the sign of the sum |

From any of them come the signs of comparisons, which the figures by instance need. Marks are there for criteria alone,
so only these have figures by rubric.

What a judge credits beyond the truth is over-estimation:

    by rubric     share of the failed criteria of G that J marks as met
    by instance   share of the comparisons that G lost by the truth and does not lose by J's marks, over all opponents;
                  its parts are loss to win and loss to tie

HSPP ratio = over-estimation of one's own answers / mean over-estimation of the generators outside the family. It
removes leniency, not difficulty: where a generator's failures are subtle, every judge over-estimates it. `double_ratio`
compares the ratio with that of judges outside the family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, Literal

import numpy as np

from calm.core.case import TIE, Case
from calm.core.claims import Estimate
from calm.core.order import item_of
from calm.core.verdict import Preferred, Task, Tie
from calm.errors import EstimateError
from calm.experiment.crossing import Judgment
from calm.plugins.self_preference import rubric
from calm.plugins.self_preference.contrasts import (
    DRAWS,
    Bools,
    Floats,
    Grid,
    Link,
    Target,
    binomial_error,
    estimate_difference,
    estimate_ratio,
    excess,
    resampled,
    too_few,
)
from calm.plugins.self_preference.rubric import (
    MISSING,
    NO_SIGN,
    Fractions,
    Ints,
    Marks,
    RubricTable,
    Signs,
    by_instance,
    diagonal,
)
from calm.plugins.self_preference.scores import ScoreTable

MOST_SIGNS: Final = 200_000_000
"""More comparisons than this (judges x authors x authors x questions) are not held in memory: 200 MB."""


@dataclass(frozen=True, slots=True)
class Reading:
    """
    What raters said: `signs` [..., generators, generators, instances], and what they come from.

    `marks` is [..., generators, criteria], `scores` [..., generators, instances]; the leading dimensions, if any, are
    the raters'. Each is None where the shape has none.
    """

    signs: Signs
    marks: Marks | None = None
    scores: Fractions | None = None

    def of(self, rows: int | Sequence[int]) -> Reading:
        """Return the reading of one rater, without its dimension, or of several."""
        at = rows if isinstance(rows, int) else list(rows)
        scores = None if self.scores is None else Fractions(self.scores.earned[at], self.scores.possible[at])
        return Reading(self.signs[at], None if self.marks is None else self.marks[at], scores)

    @property
    def known(self) -> bool:
        """Whether anything is known: a mark, or the sign of a comparison of two answers."""
        compared = (self.signs != NO_SIGN) & ~rubric.diagonal(self.signs.shape[-2])
        return bool(compared.any()) or (self.marks is not None and bool((self.marks != MISSING).any()))


@dataclass(frozen=True, slots=True)
class Evidence:
    """
    What the judges of a grid `said`, by judge, and the `truth`, without that dimension (None: nothing is known).

    `shapes` holds the task of each judge; `table` the criteria, where the judges mark criteria.
    """

    grid: Grid
    said: Reading
    truth: Reading | None
    table: RubricTable | None = None
    shapes: Mapping[str, Task] = field(default_factory=dict)

    def committee(self, rows: Sequence[int]) -> Reading:
        """
        Return what a committee of the judges in some rows says together; one judge alone says what it said.

        Raises `EstimateError` for no rows.
        """
        if not rows:
            raise EstimateError("expected the members of a committee, got none")
        if len(rows) == 1:
            return self.said.of(rows[0])
        members = self.said.of(rows)
        if members.marks is not None and self.table is not None:
            return _marked(self.table, rubric.committee_marks(members.marks))
        if members.scores is not None:
            return _scored(rubric.committee_scores(members.scores))
        return Reading(rubric.committee_signs(members.signs))


def of_criteria(table: RubricTable, shapes: Mapping[str, Task] | None = None) -> Evidence:
    """Return the evidence of a table of verdicts on criteria."""
    _refuse_large(table.grid, len(table.instances))
    truth = _marked(table, table.truth)
    plain: dict[str, Task] = dict.fromkeys(table.grid.judges, "rubric")
    return Evidence(table.grid, _marked(table, table.verdicts), truth if truth.known else None, table, shapes or plain)


def of_shares(table: ScoreTable, cases: Iterable[Case] = (), shapes: Mapping[str, Task] | None = None) -> Evidence:
    """
    Return the evidence of a table of scores.

    Args:
        table: the scores, and the true worth of the answers, whose order gives the true signs.
        cases: what is known of the answers. Where all of a question have criteria with a truth and no gold score, the
            true score is the share of the points that are earned, as for judges of criteria.
        shapes: the task of each judge.
    """
    _refuse_large(table.grid, len(table.items))
    said = _scored(rubric.direct_scores((table.scores - table.low) / (table.high - table.low)))
    truth = None
    if (shares := _true_shares(table, cases)) is not None:
        truth = _scored(shares)
    elif table.truth is not None:
        truth = Reading(rubric.signs(rubric.direct_scores(table.truth)))
    plain: dict[str, Task] = dict.fromkeys(table.grid.judges, "score")
    return Evidence(table.grid, said, truth if truth is not None and truth.known else None, None, shapes or plain)


def of_comparisons(judged: Sequence[Judgment], families: Mapping[str, str]) -> Evidence:
    """
    Return the evidence of verdicts on pairs, each pair in both orders.

    A verdict counts 1 for the answer that is preferred, -1 for the other, 0 for a tie; the sign of a comparison is that
    of the sum over both orders. A judge without a readable verdict in one of them has no sign. Where two authors meet
    more than once in a question, each pair is an instance of its own.

    Raises `EstimateError` where there are too many comparisons to hold.
    """
    judges = tuple(dict.fromkeys(one.judge for one in judged))
    generators = tuple(dict.fromkeys(str(a.author) for one in judged for a in one.case.answers))
    grid = Grid(judges, generators, families)
    orders: dict[tuple[str, frozenset[str]], dict[str, Case]] = {}
    sums: dict[tuple[str, str, frozenset[str]], list[int | None]] = {}
    for one in judged:
        key = item_of(one.case), frozenset(a.id for a in one.case.answers)
        orders.setdefault(key, {})[one.case.id] = one.case
        first = min(key[1])
        sums.setdefault((one.judge, *key), []).append(_side(one, first))
    instances: dict[tuple[str, int], int] = {}
    met: dict[tuple[str, frozenset[str]], int] = {}
    places: dict[tuple[str, frozenset[str]], int] = {}
    for key, cases in orders.items():
        authors = frozenset(str(a.author) for a in next(iter(cases.values())).answers)
        again = met[key[0], authors] = met.get((key[0], authors), -1) + 1
        places[key] = instances.setdefault((key[0], again), len(instances))
    _refuse_large(grid, len(instances))
    shape = len(generators), len(generators), len(instances)
    signs = np.full((len(judges), *shape), NO_SIGN, dtype=np.int8)
    truth = np.full(shape, NO_SIGN, dtype=np.int8)
    rows, columns = ({name: at for at, name in enumerate(names)} for names in (judges, generators))
    for key, cases in orders.items():
        case, place, first = next(iter(cases.values())), places[key], min(key[1])
        a = columns[str(case[first].author)]
        b = columns[str(next(x.author for x in case.answers if x.id != first))]
        if a == b:
            continue
        if case.better is not None:
            found = 0 if case.better == TIE else 1 if case.better == first else -1
            truth[a, b, place], truth[b, a, place] = found, -found
        for judge, row in rows.items():
            values = sums.get((judge, *key), [])
            if len(values) == len(cases) and None not in values:
                found = int(np.sign(sum(v for v in values if v is not None)))
                signs[row, a, b, place], signs[row, b, a, place] = found, -found
    known = Reading(truth)
    shapes: dict[str, Task] = dict.fromkeys(judges, "pairwise")
    return Evidence(grid, Reading(signs), known if known.known else None, None, shapes)


def systems(said: Reading, reference: Reading) -> tuple[Floats, Floats]:
    """
    Return the scores of the generators by raters and by the reference, in [0, 1]: [..., generators], [generators].

    The mean scores of the instances; where either has none, the mean of 1 for a win, 1/2 for a tie and 0 for a loss.
    """
    if said.scores is not None and reference.scores is not None:
        return rubric.system_scores(said.scores), rubric.system_scores(reference.scores)
    return rubric.pairwise_system_scores(said.signs), rubric.pairwise_system_scores(reference.signs)


def _marked(table: RubricTable, marks: Marks) -> Reading:
    return replace(_scored(rubric.scored(table, marks)), marks=marks)


def _scored(scores: Fractions) -> Reading:
    return Reading(rubric.signs(scores), None, scores)


def _side(one: Judgment, first: str) -> int | None:
    if isinstance(one.verdict, Tie):
        return 0
    return (1 if one.verdict.answer == first else -1) if isinstance(one.verdict, Preferred) else None


def _true_shares(table: ScoreTable, cases: Iterable[Case]) -> Fractions | None:
    columns, places = ({name: at for at, name in enumerate(names)} for names in (table.grid.generators, table.items))
    earned = np.zeros((len(columns), len(places)))
    possible = np.zeros_like(earned)
    for case in cases:
        answer = case.answers[0]
        at = columns.get(str(answer.author)), places.get(item_of(case))
        if case.scores or None in at:
            return None
        truth = case.met.get(answer.id, {})
        there = [c for c in case.criteria if c.id in truth]
        most = sum(max(c.points, 0.0) for c in there)
        earned[at] = min(max(sum(c.points for c in there if truth[c.id]), 0.0), most)
        possible[at] = most
    return Fractions(earned, possible) if possible.any() else None


def _refuse_large(grid: Grid, instances: int) -> None:
    count = len(grid.judges) * len(grid.generators) ** 2 * instances
    if count > MOST_SIGNS:
        raise EstimateError(
            f"these are {count:,} comparisons, more than the {MOST_SIGNS:,} that are held at once; draw --sample N of "
            "the questions"
        )


@dataclass(frozen=True, slots=True)
class Over:
    """
    Over-estimation in counts, each [judges, generators, instances]: of `eligible` chances, `over` were over-estimated.

    For comparisons `to_win` and `to_tie` add up to `over`; for criteria there is no such split and both are None.
    """

    over: Floats
    eligible: Floats
    to_win: Floats | None = None
    to_tie: Floats | None = None

    def totals(self) -> tuple[Ints, Ints]:
        """Return over and eligible summed over instances, [judges, generators]."""
        return self.over.sum(axis=-1).astype(np.int64), self.eligible.sum(axis=-1).astype(np.int64)

    def rates(self) -> Floats:
        """Return over / eligible by judge and generator; NaN where nothing was eligible."""
        over, eligible = self.over.sum(axis=-1), self.eligible.sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(eligible > 0, over / eligible, np.nan)


def overestimated_rubrics(table: RubricTable) -> Over:
    """
    Return over-estimation by rubric: criteria that an answer fails by the truth, and those that the judge credits.

    For a criterion of negative points the roles flip: it is eligible if it is met, and over-estimated if the judge says
    that it is not. Unknown marks are neither.
    """
    credit = np.where(table.points > 0, 1, 0).astype(np.int8)
    known = (table.verdicts != MISSING) & (table.truth != MISSING)[None]
    eligible = known & (table.truth != credit)[None]
    over = eligible & (table.verdicts == credit)
    return Over(by_instance(table, over.astype(np.float64)), by_instance(table, eligible.astype(np.float64)))


def overestimated_instances(judged: Signs, reference: Signs) -> Over:
    """
    Return over-estimation by instance: comparisons lost by the reference, and those of them that the judge calls
    otherwise.

    Args:
        judged: signs by judge, [judges, generators, generators, instances].
        reference: signs by the truth, [generators, generators, instances].

    Opponents are all other generators, family and judge included; their counts are pooled, not averaged.
    """
    lost = (reference == -1) & ~diagonal(reference.shape[0])
    eligible = lost[None] & (judged != NO_SIGN)
    to_win, to_tie = eligible & (judged == 1), eligible & (judged == 0)
    won, tied = to_win.sum(axis=2).astype(np.float64), to_tie.sum(axis=2).astype(np.float64)
    return Over(won + tied, eligible.sum(axis=2).astype(np.float64), won, tied)


@dataclass(frozen=True, slots=True)
class Hspp:
    """
    The harmful self-preference ratios of one judge. `None` where a rate is missing or the denominator is 0.

    `own` is the rate on its own answers, `others` the mean of the rates on generators outside its family.
    `ratio_self` = own / others. `ratio_family_with_self` and `ratio_family_without_self` divide the mean rate of the
    family, with or without the judge's own, by the same `others`. The paper's formula is without self, its table with.
    """

    judge: str
    own: float | None
    others: float | None
    ratio_self: float | None
    ratio_family_with_self: float | None
    ratio_family_without_self: float | None
    reason: str = ""


def hspp(rates: Floats, grid: Grid, judge: str) -> Hspp:
    """
    Return the HSPP ratios of a judge from over-estimation rates [judges, generators].

    Means are of the generators' rates, not of pooled counts; a generator without a rate is left out of them.

    >>> grid = Grid(("a",), ("a", "b", "c"), {"a": "A", "b": "B", "c": "C"})
    >>> round(hspp(np.array([[0.6, 0.3, 0.5]]), grid, "a").ratio_self or 0.0, 3)
    1.5
    """
    row, own = grid.row(judge), grid.own(judge)
    kin = grid.kin()[row]
    family = [g for g in range(len(grid.generators)) if kin[g]]
    others = _plain_mean(rates[row], [g for g in range(len(grid.generators)) if not kin[g]])
    mine = _plain_mean(rates[row], [] if own is None else [own])
    reason = ""
    if others is None:
        reason = f"no generator outside the family of {judge} failed anything that it marked"
    elif not others:
        reason = f"{judge} over-estimates no answer outside its family: the ratio has no denominator"
    elif mine is None:
        reason = f"{judge} wrote no answers" if own is None else f"the answers of {judge} failed nothing"

    def ratio(above: float | None) -> float | None:
        return None if above is None or not others else above / others

    return Hspp(
        judge,
        mine,
        others,
        ratio(mine),
        ratio(_plain_mean(rates[row], family)),
        ratio(_plain_mean(rates[row], [g for g in family if g != own])),
        reason,
    )


@dataclass(frozen=True, slots=True)
class MeanRatio:
    """The mean of the ratios that exist (None if none does), how many these are, and the judges without one."""

    value: float | None
    n: int
    left_out: tuple[str, ...]


def mean_ratio(found: Sequence[Hspp], which: Literal["self", "family with self", "family without self"]) -> MeanRatio:
    """
    Return the mean of a ratio over judges.

    Judges whose ratio has no denominator are left out and named, as leaving them out moves the mean.
    """
    name = f"ratio_{which.replace(' ', '_')}"
    values = {one.judge: getattr(one, name) for one in found}
    there = [v for v in values.values() if v is not None]
    missing = tuple(judge for judge, value in values.items() if value is None)
    return MeanRatio(sum(there) / len(there) if there else None, len(there), missing)


@dataclass(frozen=True, slots=True)
class BootstrapCounts:
    """Over-estimation, and its counts in resampled sets of instances, each [draws, judges, generators]."""

    observed: Over
    over: Floats
    eligible: Floats
    items: int


def resample(over: Over, rng: Random, draws: int = DRAWS) -> BootstrapCounts:
    """Return counts of resampled sets of instances: all criteria, judges and opponents of an instance go together."""
    judges, generators, items = over.over.shape
    weights = resampled(rng, items, draws)

    def summed(counts: Floats) -> Floats:
        return np.asarray((weights @ counts.reshape(-1, items).T).reshape(-1, judges, generators), dtype=np.float64)

    return BootstrapCounts(over, summed(over.over), summed(over.eligible), items)


def double_ratio(
    sample: BootstrapCounts, grid: Grid, judge: str, *, target: Target = "self", level: float = 0.05
) -> Estimate:
    """
    Return a judge's HSPP ratio over the same ratio of judges outside its family: 1 for a fair judge.

    Each rate is (over + 1/2) / (eligible + 1). The judge is compared with each outsider over the same generators, none
    of which is related to either (see `contrasts`); the logarithms are averaged over outsiders. Bounds are one-sided at
    `level`, from resampling instances, and symmetric on the log scale; never narrower than the binomial error of the
    judge's rate on its own answers allows, with the degrees of freedom of the instances in which these failed.

    Raises `EstimateError` where the judge wrote nothing, failed in fewer than two instances, or has no outsider.
    """
    return _compared(sample, grid, judge, "ratio", target=target, level=level)


def rate_excess(sample: BootstrapCounts, grid: Grid, judge: str, *, level: float = 0.05) -> Estimate:
    """
    Return the double-centred excess of a judge's over-estimation of its own answers: 0 for a fair judge.

    The contrast of `double_ratio` as a difference, in [-2, 2], from the plain rates.

    Raises `EstimateError` as `double_ratio` does.
    """
    return _compared(sample, grid, judge, "difference", target="self", level=level)


def _compared(sample: BootstrapCounts, grid: Grid, judge: str, link: Link, *, target: Target, level: float) -> Estimate:
    over, row, own = sample.observed, grid.row(judge), grid.columns(judge, target)
    telling = int((over.eligible[row, own].sum(axis=0) > 0).sum())
    if telling == 1 or (not telling and link == "difference"):  # of no verdicts at all `excess` says more
        raise EstimateError(
            f"expected the {'answers' if target == 'self' else 'relatives'} of {judge!r} to fail in at least 2 "
            f"questions, got {telling}: too few for an interval"
        )
    # cells with data; of a plain rate, with data in every resampled set
    eligible = over.eligible.sum(axis=2)
    usable: Bools = np.asarray(((eligible[None] if link == "ratio" else sample.eligible) > 0).all(axis=0))
    half = 0.5 if link == "ratio" else 0.0

    def contrast(counts: Floats, chances: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.where(usable, (counts + half) / (chances + 2 * half), 0.0)
        return excess(rates, grid, judge, target=target, link=link, usable=usable)

    value, replicates = float(contrast(over.over.sum(axis=2), eligible)), contrast(sample.over, sample.eligible)
    least = binomial_error(float(over.over[row, own].sum()), float(over.eligible[row, own].sum()), link)
    if link == "ratio":
        return estimate_ratio(value, replicates, sample.items, level, least=least, telling=telling)
    found = estimate_difference(value, replicates, sample.items, level, least=least, telling=telling)
    return replace(found, excluded=too_few(grid, judge, target, usable, over.eligible > 0))


def _plain_mean(rates: Floats, columns: list[int]) -> float | None:
    known = [float(rates[g]) for g in columns if not np.isnan(rates[g])]
    return sum(known) / len(known) if known else None
