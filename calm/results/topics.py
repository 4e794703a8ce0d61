"""
Undeclared topics: whether cases that have something in common move together more than by chance.

An interval takes questions as independent of each other. Where the cases are about few topics, and a judge errs or is
moved by topic, they are not, and the interval is too narrow. A tag, or the way in which questions begin, may name the
topics. Each such column is tested by permutation: how alike are the questions of one group in their errors against the
gold label, or in all claims together? A column is named by chance in 1 % of runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, sqrt
from random import Random
from typing import Final, NamedTuple

from calm.core.agreement import share_right
from calm.core.case import Case, digest
from calm.core.measures import MEASURES
from calm.core.reasons import Kind, Reason, because, name
from calm.core.trials import Trial
from calm.core.verdict import Scale
from calm.experiment.setup import CLUSTER
from calm.results.audit import Finding
from calm.results.records import rows_of

LEVEL: Final = 0.01
"""Probability that any column is named where no group moves together."""
FEWEST: Final = 5
"""Groups below which no interval by group says anything."""
WORDS: Final = 3
"""Words at the beginning of a question that are taken for its template."""
BEGINNING: Final = "first words"
"""The column of them."""
ERRORS: Final = "accuracy"
TOGETHER: Final = "all probes together"
CLOSE: Final = 1e-9
SPARE: Final = 4
"""Permutations as telling as the data from which on a column is not named."""


class Topic(NamedTuple):
    """
    A column whose groups move together, with the number of its groups and of the questions in them.

    `most` names what they sway most: the errors, or all probes together. `effect` is the design effect there: how much
    groups raise the variance of the mean, at least 1.
    """

    column: str
    groups: int
    questions: int
    most: str
    effect: float


def topics(findings: Sequence[Finding], cases: Sequence[Case], scale: Scale, seed: int) -> list[Reason]:
    """Return a note for each column of the cases whose groups move together; `seed` draws the permutations."""
    columns = columns_of(cases)
    if not columns:
        return []
    measured, case_of = moves(findings, scale)
    told = ((name, {unit: by[case] for unit, case in case_of.items() if case in by}) for name, by in columns.items())
    labels = {column: by for column, by in told if by}
    return [
        because(Kind.TOPIC, name(t.column), t.groups, t.questions, t.most, round(sqrt(t.effect), 2))
        for t in found(measured, labels, seed)
    ]


def columns_of(cases: Sequence[Case]) -> dict[str, dict[str, str]]:
    """
    Return for each column of the cases the group of each case, by its id: its tags, and how its question begins.

    A column has `FEWEST` groups, of two cases on average, or more. Of columns with the same groups the first is taken.
    """
    every: dict[str, dict[str, str]] = defaultdict(dict)
    for case in cases:
        for tag, value in case.tags.items():
            if tag != CLUSTER:
                every[tag][case.id] = value
        every[BEGINNING][case.id] = " ".join(case.question.casefold().split()[:WORDS])
    distinct: dict[frozenset[frozenset[str]], str] = {}
    for column, by in every.items():
        groups: dict[str, set[str]] = defaultdict(set)
        for case_id, value in by.items():
            groups[value].add(case_id)
        if FEWEST <= len(groups) <= len(by) / 2:
            distinct.setdefault(frozenset(map(frozenset, groups.values())), column)
    return {column: every[column] for column in distinct.values()}


def moves(findings: Iterable[Finding], scale: Scale) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """
    Return the mean value of each question in the errors and in each claim that is a mean over rows, and a case of each.

    A question is named by its cluster, as in the rows. The higher the value, the worse.
    """
    by_claim: dict[str, dict[str, float]] = {}
    case_of: dict[str, str] = {}
    asked: dict[str, Trial] = {}
    for f in findings:
        measure = MEASURES.get(f.measure)
        if measure is None or measure.whole is not None or measure.worst_of or f.single or not f.trials:
            continue
        rows = rows_of(f)
        sign = -1 if measure.op == ">=" and not measure.flipped else 1
        by_claim[f.key] = _means(((row.cluster, measure.per_case(row, scale)) for row in rows), sign)
        case_of |= {row.cluster: row.case for row in rows}
        asked |= {
            row.case: row for row in rows if len(row.clean) > (len(asked[row.case].clean) if row.case in asked else 0)
        }
    errors = _means(((row.cluster, share_right(row.clean, row, scale)) for row in asked.values()), -1)
    return {ERRORS: errors, **by_claim}, case_of


def _means(cells: Iterable[tuple[str, float | Reason]], sign: int) -> dict[str, float]:
    units: dict[str, list[float]] = defaultdict(list)
    for unit, cell in cells:
        if not isinstance(cell, Reason):
            units[unit].append(sign * cell)
    return {unit: sum(values) / len(values) for unit, values in units.items()}


def found(
    measured: Mapping[str, Mapping[str, float]], labels: Mapping[str, Mapping[str, str]], seed: int
) -> list[Topic]:
    """
    Return the columns whose groups move together, at `LEVEL` for all of them (Bonferroni).

    `measured` holds by name the values of each question, `labels` by column its group. Under the hypothesis that a
    column says nothing of the values, each order of its labels is as likely; all values of a question stay together.
    Permutations end as soon as `SPARE` of them are as telling as the data (Besag & Clifford 1991).
    """
    topics = []
    draws = round(2 * SPARE * len(labels) / LEVEL) - 1  # of two statistics each
    for column, of in labels.items():
        columns = _scaled(measured, list(of))
        groups = list(of.values())
        sizes = Counter(groups).values()
        pairs = sum(size * (size - 1) for size in sizes)
        if not pairs:
            continue
        of_data = {what: _alike(values, groups) for what, values in columns.items()}
        as_telling = dict.fromkeys(columns, 0)
        rng, order = Random(digest("topics", seed, column)), list(groups)
        for _ in range(draws):
            rng.shuffle(order)
            for what, values in columns.items():
                as_telling[what] += _alike(values, order) >= of_data[what] - CLOSE
            if min(as_telling.values()) >= SPARE:
                break
        else:
            most = min(as_telling, key=as_telling.__getitem__)
            effect = 1 + (sum(size * size for size in sizes) / len(of) - 1) * of_data[most] / pairs
            topics.append(Topic(column, len(sizes), len(of), most, max(1.0, effect)))
    return topics


def _alike(values: Sequence[float], groups: Sequence[str]) -> float:
    """Return the sum of the products of the values of any two units of one group."""
    sums: dict[str, float] = defaultdict(float)
    for value, group in zip(values, groups, strict=True):
        sums[group] += value
    return fsum(total * total for total in sums.values()) - fsum(value * value for value in values)


def _scaled(measured: Mapping[str, Mapping[str, float]], units: Sequence[str]) -> dict[str, list[float]]:
    """
    Return the values of the units in the errors, and in all claims together.

    The values of a claim are 0 on average, with mean square 1; without values, or where none varies, they are 0.
    """

    def scaled(column: Sequence[float]) -> list[float]:
        square = fsum(value * value for value in column) / len(column)
        return [value / sqrt(square) for value in column] if square > CLOSE else [0.0] * len(column)

    made = {}
    for key, values in measured.items():
        known = [values[unit] for unit in units if unit in values]
        middle = fsum(known) / len(known) if known else 0.0
        made[key] = scaled([values[unit] - middle if unit in values else 0.0 for unit in units])
    errors = made.pop(ERRORS)
    return {ERRORS: errors, TOGETHER: scaled([fsum(row) for row in zip(*made.values(), strict=True)] or errors)}
