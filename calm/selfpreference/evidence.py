"""
The verdicts of judges on answers, in one form for all shapes of verdicts, and what they are compared with.

| shape | a judge says | its committee |
|---|---|---|
| `rubric`, `rubric-all` | which criteria are met, one at a time or all at once | met if more than half say so |
| `points`, `score` | a score: X of Y criteria, or a place on a scale | the mean |
| `pairwise` | which of two answers is better, in both orders | the sign of the sum |

From any of them come the signs of comparisons, which the figures by instance need (arXiv 2604.06996). Marks are there
for criteria alone, so only these have figures by rubric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from calm.core.case import TIE, Case
from calm.core.items import item_of
from calm.core.verdict import Preferred, Task, Tie
from calm.errors import EstimateError
from calm.selfpreference import committees, rubric
from calm.selfpreference.contrasts import Floats, Grid
from calm.selfpreference.framing_scores import ScoreTable
from calm.selfpreference.rubric import MISSING, NO_SIGN, Fractions, Marks, RubricTable, Signs
from calm.selfpreference.verdicts import Judgment

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
            return _marked(self.table, committees.committee_marks(members.marks))
        if members.scores is not None:
            return _scored(committees.committee_scores(members.scores))
        return Reading(committees.committee_signs(members.signs))


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
    """Return what a verdict says of an answer: 1, 0 or -1; None where it could not be read."""
    if isinstance(one.verdict, Tie):
        return 0
    return (1 if one.verdict.answer == first else -1) if isinstance(one.verdict, Preferred) else None


def _true_shares(table: ScoreTable, cases: Iterable[Case]) -> Fractions | None:
    """Return the shares of the points that the answers earn by the truth of their criteria; None unless all have it."""
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
