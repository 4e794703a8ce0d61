"""
Agreement with a gold label: what a judge said beside what is true, and the statistics of both over all rows.

| a verdict on | its label | its number |
|---|---|---|
| a pair | the slot of the better answer in the order shown, or a tie | - |
| a score | - | the score |
| a rubric | for each criterion whether it is met | the share of the points |
| a list | - | the order, case by case |

A pair is labelled by slots: which answer has which id is up to the file, and a judge that always takes the first slot
must agree with the gold no more than chance does. On rubrics `kappa` counts chance criterion by criterion: a judge that
knows which criterion is mostly met, and no more, has none. A verdict that cannot be read is a label of its own, which
is never right; where numbers are needed, its case is left out.

A case that was asked k times stands in k tables, one for each ask, and a statistic is the mean of those of the tables:
what one ask reaches, and not what the mean of several does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, Final, TypeAlias

from calm.core.annotations import Annotation
from calm.core.case import Case
from calm.core.reasons import Kind, Reason, because, reason_of
from calm.core.trials import Trial, Trials, distance, favour
from calm.core.verdict import Criteria, Family, Preferred, Ranking, Scale, Score, Tie, Verdict
from calm.errors import EstimateError
from calm.statistics.association import (
    Statistic,
    balanced_accuracy,
    gwet_ac,
    kappa,
    kendall_tau_b,
    spearman,
    without_order,
)

UNREAD: Final = "unread"
"""The label of a verdict that cannot be read."""
FIRST, LAST, EQUAL = "first", "last", "equal"
"""The labels of a pair."""
Label: TypeAlias = Any  # a word, a truth or a number: of one kind in one table
Items: TypeAlias = tuple[list[Label], list[Label]]
"""The labels of one row: what is true and what was said, item by item."""
Table: TypeAlias = Callable[[Sequence[Label], Sequence[Label], Sequence[str]], Statistic]
"""A statistic of what is true, what was said, and of which kind each item is, over all items."""
MOST_STEPS: Final = 200
"""Steps of a scale that are categories; on a finer one the values that occur are."""
FEW: Final = 10
"""Items of one kind below which kinds are taken together: of fewer nothing can be said by itself."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A statistic of all rows: its value, for each row this plus its influence or why it has none, and the ends."""

    value: float
    cells: tuple[float | Reason, ...]
    low: float
    high: float


# ---------------------------------------------------------------------------------------------------------- the truth


def truth_of(row: Trial, family: Family) -> Verdict | None:
    """Return the gold label of a row as the verdict of a judge that agrees with it; None where there is none."""
    match family:
        case "pairwise":
            return None if row.better is None else Tie() if row.better == "tie" else Preferred(row.better)
        case "score":
            known = [row.worth[answer] for answer in row.order if answer in row.worth]
            return Score(known[0]) if known else None
        case "rubric":
            return Criteria(dict(row.met)) if row.met else None
        case _:
            return Ranking(ranked(row.worth)) if row.order and set(row.order) <= set(row.worth) else None


def said_by(one: Annotation, case: Case, family: Family) -> Verdict | None:
    """Return what a person said of a case as the verdict of a judge that agrees; None where it is of another kind."""
    only = case.answers[0].id
    match family:
        case "pairwise":
            return None if one.better is None else Tie() if one.better == "tie" else Preferred(one.better)
        case "score":
            return Score(one.scores[only]) if only in one.scores else None
        case "rubric":
            return Criteria(dict(one.met[only])) if only in one.met else None
        case _:
            whole = len(one.scores) == len(case.answers)
            return Ranking(one.order or ranked(one.scores)) if one.order or whole else None


def ranked(worth: Mapping[str, float]) -> tuple[tuple[str, ...], ...]:
    """
    Return ids from the greatest worth to the least, those of equal worth together.

    >>> ranked({"a": 1.0, "b": 3.0, "c": 1.0})
    (('b',), ('a', 'c'))
    """
    levels = sorted(set(worth.values()), reverse=True)
    return tuple(tuple(sorted(i for i, w in worth.items() if w == level)) for level in levels)


# ---------------------------------------------------------------------------------------------------------- the items


def labels_of(truth: Verdict, said: Verdict, row: Trial) -> Items:
    """Return the labels of one ask: of a pair one, of a rubric one for each criterion whose truth is known."""
    if isinstance(truth, Criteria):
        met = said.met if isinstance(said, Criteria) else {}
        told = [met.get(criterion) for criterion in truth.met]
        return list(truth.met.values()), [UNREAD if one is None else one for one in told]
    return [_slot(truth, row)], [_slot(said, row)]


def _slot(verdict: Verdict, row: Trial) -> str:
    if isinstance(verdict, Tie):
        return EQUAL
    if not isinstance(verdict, Preferred):
        return UNREAD
    return FIRST if row.order and verdict.answer == row.order[0] else LAST


def number(verdict: Verdict, row: Trial, scale: Scale) -> float | None:
    """Return the place of a verdict on a scale or a rubric, in [0, 1] (a gold may lie outside), or None."""
    return favour(verdict, None, row, scale) if isinstance(verdict, Score | Criteria) else None


# ----------------------------------------------------------------------------------------------------------- all rows


def by_labels(statistic: Table) -> Callable[[Trials], Whole | Reason]:
    """Return a measure of all rows that is a statistic of labels."""
    return lambda trials: _whole(trials, statistic, _labelled)


def by_numbers(statistic: Table) -> Callable[[Trials], Whole | Reason]:
    """Return a measure of all rows that is a statistic of numbers; of lists, the mean over cases."""
    return lambda trials: _whole(trials, statistic, _numbered)


def _labelled(trials: Trials, row: Trial, truth: Verdict, said: Verdict) -> Items | Reason:
    return labels_of(truth, said, row)


def _numbered(trials: Trials, row: Trial, truth: Verdict, said: Verdict) -> Items | Reason:
    true, told = number(truth, row, trials.scale), number(said, row, trials.scale)
    if true is None:
        return because(Kind.NO_GOLD)
    return because(Kind.UNREAD_ASK) if told is None else ([true], [told])


def _whole(
    trials: Trials,
    statistic: Table,
    items_of: Callable[[Trials, Trial, Verdict, Verdict], Items | Reason],
) -> Whole | Reason:
    """Return a statistic of all rows: the mean of those of its tables, one for each ask that all rows have."""
    asks = min((len(row.clean) for row in trials.rows), default=0)
    found: list[list[Items] | Reason] = []
    for row in trials.rows:
        truth = truth_of(row, trials.family)
        if truth is None:
            found.append(because(Kind.NO_GOLD))
            continue
        each = [items_of(trials, row, truth, said) for said in row.clean[:asks]]
        why = next((one for one in each if isinstance(one, Reason)), None)
        found.append([one for one in each if not isinstance(one, Reason)] if why is None else why)
    rows = [one for one in found if not isinstance(one, Reason)]
    if not rows or not asks:
        return next((one for one in found if isinstance(one, Reason)), because(Kind.NO_GOLD))
    sizes = [len(one[0][0]) for one in rows]
    average = sum(sizes) / len(rows)
    true = [label for one in rows for label in one[0][0]]
    if len(set(true)) < 2:
        return because(Kind.ONE_GOLD, str(true[0]))
    kept = [row for row, one in zip(trials.rows, found, strict=True) if not isinstance(one, Reason)]
    kinds = _kinds([kind for row in kept for kind in row.met or ("",)])
    try:
        tables = [statistic(true, [label for one in rows for label in one[ask][1]], kinds) for ask in range(asks)]
    except EstimateError as error:
        return reason_of(error)
    value = fsum(table.value for table in tables) / asks
    cells, start = [], 0
    for size in sizes:
        moved = fsum(fsum(table.items[start : start + size]) - size * table.value for table in tables)
        cells.append(value + moved / asks / average)
        start += size
    each_row = iter(cells)
    return Whole(
        value,
        tuple(one if isinstance(one, Reason) else next(each_row) for one in found),
        min(*cells, *(table.low for table in tables)),
        max(*cells, *(table.high for table in tables)),
    )


def _kinds(names: Sequence[str]) -> list[str]:
    """Return the kind of each item: its criterion, where enough items are of the same, or what all others have."""
    count = Counter(names)
    return [name if count[name] >= FEW else "" for name in names]


# ------------------------------------------------------------------------------------------------------ the statistics


def _categories(true: Sequence[Label], said: Sequence[Label]) -> list[Label]:
    """Return the labels that occur, and those of a pair without a tie, or of a criterion, where they do not."""
    least: tuple[Label, ...] = (FIRST, LAST) if isinstance(true[0], str) else (False, True)
    return sorted({*true, *said, *least}, key=str)


def _values(true: Sequence[Label], said: Sequence[Label]) -> list[Label]:
    return sorted({*true, *said})


def _kappa(true: Sequence[Label], said: Sequence[Label], kinds: Sequence[str]) -> Statistic:
    return kappa(true, said, _categories(true, said), strata=kinds)


def _weighted(true: Sequence[Label], said: Sequence[Label], _: Sequence[str]) -> Statistic:
    return kappa(true, said, _values(true, said), weights="quadratic")


def _balanced(true: Sequence[Label], said: Sequence[Label], _: Sequence[str]) -> Statistic:
    return balanced_accuracy(true, said)


def _gwet(true: Sequence[Label], said: Sequence[Label], _: Sequence[str]) -> Statistic:
    could = (FIRST, LAST, EQUAL) if isinstance(true[0], str) else (False, True)
    return gwet_ac(true, [None if label == UNREAD else label for label in said], could)


def _gwet_on(scale: Scale) -> Table:
    """Return AC2 of places on a scale, with all its steps as categories, or the values that occur where it has none."""
    step = _step(scale)
    steps = 0 if step is None else round((scale.high - scale.low) / step)
    grid = [place / steps for place in range(steps + 1)] if 0 < steps <= MOST_STEPS else []

    def found(true: Sequence[Label], said: Sequence[Label], _: Sequence[str]) -> Statistic:
        values = _on(grid, (*true, *said)) if grid else None
        if values is None:
            return gwet_ac(true, said, _values(true, said), weights="quadratic")
        return gwet_ac(values[: len(true)], values[len(true) :], grid, weights="quadratic")

    return found


def _on(grid: Sequence[float], values: Sequence[float]) -> list[float] | None:
    """Return values as the points of a grid from 0 to 1 that they are; None where one is none of these."""
    steps = len(grid) - 1
    places = [round(value * steps) for value in values]
    near = all(0 <= p <= steps and abs(grid[p] - v) < 1e-9 for p, v in zip(places, values, strict=True))
    return [grid[place] for place in places] if near else None


def _in_order(statistic: Callable[[Sequence[float], Sequence[float]], Statistic]) -> Table:
    """Return a rank correlation, which is 0 where the judge says the same of every case."""

    def found(true: Sequence[Label], said: Sequence[Label], _: Sequence[str]) -> Statistic:
        return without_order(len(said)) if len(set(said)) < 2 else statistic(true, said)

    return found


kappa_of = by_labels(_kappa)
balanced_accuracy_of = by_labels(_balanced)
weighted_kappa_of = by_numbers(_weighted)
correlation_of = by_numbers(_in_order(spearman))
_tau_of = by_numbers(_in_order(kendall_tau_b))
_labels_ac = by_labels(_gwet)


def gwet_ac_of(trials: Trials) -> Whole | Reason:
    """Return AC1 of labels, or AC2 of scores."""
    return by_numbers(_gwet_on(trials.scale))(trials) if trials.family == "score" else _labels_ac(trials)


def rank_agreement_of(trials: Trials) -> Whole | Reason:
    """Return Kendall's tau-b: over all cases, or of lists the mean of those of each list."""
    if trials.family != "listwise":
        return _tau_of(trials)
    cells = [_of_list(row) for row in trials.rows]
    values = [cell for cell in cells if not isinstance(cell, Reason)]
    if not values:
        return next((cell for cell in cells if isinstance(cell, Reason)), because(Kind.NO_GOLD))
    return Whole(fsum(values) / len(values), tuple(cells), -1.0, 1.0)


def _of_list(row: Trial) -> float | Reason:
    truth = truth_of(row, "listwise")
    if not isinstance(truth, Ranking):
        return because(Kind.NO_GOLD)
    if len(truth.order) < 2:
        return because(Kind.ONE_GOLD, "tie")
    found = [_tau(truth, said) for said in row.clean]
    return fsum(found) / len(found)


def _tau(truth: Ranking, said: Verdict) -> float:
    """Return tau-b of two orders of the same answers; 0 where nothing is put above anything, or cannot be read."""
    if not isinstance(said, Ranking) or len(said.order) < 2:
        return 0.0
    one, other = (
        {name: -float(place) for place, group in enumerate(order) for name in group}
        for order in (truth.order, said.order)
    )
    shared = sorted(set(one) & set(other))
    return kendall_tau_b([one[name] for name in shared], [other[name] for name in shared]).value


# -------------------------------------------------------------------------------------------------------- row by row


def error(row: Trial, scale: Scale) -> float | Reason:
    """Return the mean of verdict minus gold, as a share of the scale or of the points: above 0 is too kind."""
    return _error(row, scale, signed=True)


def absolute_error(row: Trial, scale: Scale) -> float | Reason:
    """Return the mean distance of verdict and gold, as a share of the scale or of the points."""
    return _error(row, scale, signed=False)


def _error(row: Trial, scale: Scale, *, signed: bool) -> float | Reason:
    truth = truth_of(row, "rubric" if row.points and row.met else "score")
    true = None if truth is None else number(truth, row, scale)
    if true is None:
        return because(Kind.NO_GOLD)
    if not -1e-9 <= true <= 1 + 1e-9:
        return because(Kind.GOLD_OFF_SCALE)
    told = [number(said, row, scale) for said in row.clean]
    apart = [one - true for one in told if one is not None]
    if len(apart) < len(told):
        return because(Kind.UNREAD_ASK)
    return fsum(apart if signed else map(abs, apart)) / len(apart)


def share_right(verdicts: Sequence[Verdict], row: Trial, scale: Scale) -> float | Reason:
    """
    Return the share of verdicts that agree with the gold label; on a rubric, of verdicts on a criterion.

    A score agrees within half a step of the scale (of 1, where it has no step and spans 2 or more), a list if the best
    answer is alone at its head.
    """
    if row.met:
        read = [v.met if isinstance(v, Criteria) else {} for v in verdicts]
        return _mean([float(met.get(c) == true) for met in read for c, true in row.met.items()])
    if len(row.order) == 1:
        return _near(verdicts, row, scale)
    if row.better is None:
        return because(Kind.NO_GOLD)
    return _mean([float(_chosen(v) == row.better) for v in verdicts])


def _chosen(verdict: Verdict) -> str | None:
    """Return the answer that a verdict puts above all others; "tie" for several, None for none."""
    if isinstance(verdict, Ranking):
        return verdict.order[0][0] if len(verdict.order[0]) == 1 else "tie"
    return verdict.answer if isinstance(verdict, Preferred) else "tie" if isinstance(verdict, Tie) else None


def _step(scale: Scale) -> float | None:
    """Return the step of a scale: its own, or 1 where it spans 2 or more; None where there is none."""
    return scale.step if scale.step is not None else 1.0 if scale.high - scale.low >= 2 else None


def _near(verdicts: Sequence[Verdict], row: Trial, scale: Scale) -> float | Reason:
    gold = row.worth.get(row.order[0])
    if gold is None:
        return because(Kind.NO_GOLD)
    step = _step(scale)
    if step is None:
        return because(Kind.NO_STEP)
    return _mean([float(isinstance(v, Score) and abs(v.value - gold) <= step / 2 + 1e-9) for v in verdicts])


# ---------------------------------------------------------------------------------------------------------- people


def advantage(row: Trial, scale: Scale) -> float | Reason:
    """
    Return how much more often the judge agrees with the others at least as well as a person than the person does.

    For each person: 1 if the judge agrees with the other people better, -1 if this person does, else 0; the mean over
    people and asks. It is rho of the judge minus rho of people in the alternative-annotator test (Calderon, Reichart &
    Dror 2025), case by case.
    """
    if len(row.people) < 2:
        return because(Kind.FEW_PEOPLE)
    found = []
    for person, own in row.people.items():
        others = [said for other, said in row.people.items() if other != person]
        by_person = alignment(own, others, row, scale)
        for said in row.clean:
            ahead = alignment(said, others, row, scale) - by_person
            found.append(0.0 if abs(ahead) < 1e-9 else 1.0 if ahead > 0 else -1.0)
    return _mean(found)


def alignment(one: Verdict, others: Sequence[Verdict], row: Trial, scale: Scale) -> float:
    """
    Return how far a verdict agrees with several, at most 1: scores by their root mean square, else by mean distance.

    A verdict that cannot be read agrees with nobody.
    """
    apart = [distance(one, other, row, scale) for other in others]
    if isinstance(one, Score):
        return 1 - sqrt(_mean([x * x for x in apart]))
    return 1 - _mean(apart)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
