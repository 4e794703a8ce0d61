"""People who labelled the same cases: how far they agree, and whether the judge may take the place of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from statistics import median
from typing import Final

from calm.core.agreement import CLOSE, LEAST_ALPHA, alignments, alpha_of, truth_of, units_of
from calm.core.annotations import mean_places, voted
from calm.core.measures import Measure
from calm.core.reasons import Reason
from calm.core.trials import Trial, Trials
from calm.core.verdict import Criteria, Family, Label, Preferred, Ranking, Scale, Score, Tie, Verdict, code, readable
from calm.errors import EstimateError
from calm.statistics.agreement import Replacing, alternative_annotator, raw_agreement


@dataclass(frozen=True, slots=True)
class People:
    """
    The people of some cases, how many cases have two labels or more, and how far these agree.

    `alpha` is Krippendorff's, nominal on pairs and criteria, interval on scores (of lists: the mean tau-b); `raw` the
    share of equal pairs of labels. Either is None where it does not exist.
    """

    names: tuple[str, ...]
    cases: int
    alpha: float | None
    raw: float | None


def people_of(trials: Trials) -> People | None:
    """Return who labelled these cases and how far they agree; None where no case has two labels."""
    rows = [row for row in trials.rows if len(row.people) > 1]
    if not rows:
        return None
    names = sorted({person for row in rows for person in row.people})
    try:
        raw = raw_agreement([unit for row in rows for unit in units_of(row, names, trials.family)])
    except EstimateError:
        raw = None
    return People(tuple(names), len(rows), alpha_of(trials), raw)


def replacing(trials: Trials, epsilon: float) -> Replacing | None:
    """
    Return the alternative-annotator test on the first ask of each case; None where too few people labelled too few.

    Cases whose first verdict cannot be read are left out, and of several about one question all but the first: the
    test takes its items as independent. None, too, where people agree no better than chance.
    """
    alpha = alpha_of(trials)
    if alpha is None or alpha < LEAST_ALPHA:
        return None
    found: dict[str, list[float]] = {}
    seen: set[str] = set()
    for row in trials.rows:
        question = row.cluster or row.case
        if question in seen or not row.clean or not readable(row.clean[0]):
            continue
        seen.add(question)
        for person, d in differences(row, trials.scale).items():
            found.setdefault(person, []).append(d)
    try:
        return alternative_annotator(found, epsilon=epsilon)
    except EstimateError:
        return None


def differences(row: Trial, scale: Scale) -> dict[str, float]:
    """Return by person 1 if this one agrees with the others better than the judge at first, -1 if worse, else 0."""
    sides = alignments(row, row.clean[0], scale)
    return {who: float(own > judge + CLOSE) - float(judge > own + CLOSE) for who, (own, judge) in sides.items()}


CONSTANT: Final = "constant"
PERSON: Final = "person"
FEWEST: Final = 10
"""Cases on which a person is compared with the others, at least."""


def references(measure: Measure, trials: Trials) -> dict[str, float]:
    """
    Return what a measure of agreement is, on the same cases, for somebody else than the judge.

    `constant`: for the best of a few predictors that say the same of every case: the same slot, score, order, class, or
    truth of each criterion.
    `person`: for one person against the label that the others make together, the mean over people with `FEWEST` cases.
    Either is left out where it does not exist.
    """
    gold = [row for row in trials.rows if truth_of(row, trials.family) is not None]
    found = {CONSTANT: _best(measure, replace(trials, rows=tuple(gold))), PERSON: _person(measure, trials)}
    return {name: value for name, value in found.items() if value is not None}


def _value(measure: Measure, trials: Trials) -> float | None:
    values = [cell for cell in measure.cells(trials) if not isinstance(cell, Reason)]
    return fsum(values) / len(values) if values else None


def _best(measure: Measure, trials: Trials) -> float | None:
    said = [
        value
        for predict in _constants(trials)
        if (value := _value(measure, _saying(trials, [(predict(row),) for row in trials.rows]))) is not None
    ]
    if not said:
        return None
    return max(said) if measure.op == ">=" else min(said, key=abs)


def _saying(trials: Trials, verdicts: Sequence[tuple[Verdict, ...]]) -> Trials:
    rows = (replace(row, clean=one) for row, one in zip(trials.rows, verdicts, strict=True))
    return replace(trials, rows=tuple(rows))


def _constants(trials: Trials) -> Iterator[Callable[[Trial], Verdict]]:
    match trials.family:
        case "pairwise":
            yield lambda row: Preferred(row.order[0])
            yield lambda row: Preferred(row.order[-1])
            yield lambda _: Tie()
        case "score":
            gold = [one.value for row in trials.rows if isinstance(one := truth_of(row, "score"), Score)]
            if gold:
                for score in (fsum(gold) / len(gold), median(gold), Counter(gold).most_common(1)[0][0]):
                    yield partial(_same, Score(score))
        case "rubric":
            yield lambda row: Criteria(dict.fromkeys(row.points, True))
            yield lambda row: Criteria(dict.fromkeys(row.points, False))
            mostly = _majority([row.met for row in trials.rows])
            yield lambda row: Criteria({criterion: mostly.get(criterion, False) for criterion in row.points})
        case "label":
            for name in () if trials.scale.classes is None else trials.scale.classes.names:
                yield partial(_same, Label(name))
        case _:
            yield lambda row: Ranking(tuple((answer,) for answer in row.order))
            yield lambda row: Ranking(tuple((answer,) for answer in row.order[::-1]))


def _same(verdict: Verdict, _: Trial) -> Verdict:
    return verdict


def _person(measure: Measure, trials: Trials) -> float | None:
    people = sorted({person for row in trials.rows for person in row.people})
    found = []
    for person in people:
        rows = [one for row in trials.rows if (one := _left_out(row, person, trials.family)) is not None]
        if len(rows) >= FEWEST and (value := _value(measure, replace(trials, rows=tuple(rows)))) is not None:
            found.append(value)
    return fsum(found) / len(found) if found else None


def _left_out(row: Trial, person: str, family: Family) -> Trial | None:
    """Return a row with a person in the place of the judge, and the label of the others as gold; None without one."""
    own = row.people.get(person)
    others = [said for other, said in row.people.items() if other != person]
    if own is None or not others:
        return None
    alone = replace(row, clean=(own,), people={other: said for other, said in row.people.items() if other != person})
    match family:
        case "pairwise":
            choices = [
                "tie" if isinstance(one, Tie) else one.answer for one in others if isinstance(one, Tie | Preferred)
            ]
            choice = voted(choices)
            return None if choice is None else replace(alone, better=choice)
        case "score":
            scores = [one.value for one in others if isinstance(one, Score)]
            return replace(alone, worth={row.order[0]: fsum(scores) / len(scores)}) if scores else None
        case "rubric":
            said = own.met if isinstance(own, Criteria) else {}
            known = _majority([one.met for one in others if isinstance(one, Criteria)])
            met = {criterion: true for criterion, true in known.items() if said.get(criterion) is not None}
            return replace(alone, met=met) if met else None
        case "label":
            name = voted(one.value for one in others if isinstance(one, Label))
            return None if name is None else replace(alone, better=str(code(Label(name))))
        case _:
            orders = [one.order for one in others if isinstance(one, Ranking)]
            return replace(alone, worth=mean_places(orders)) if orders else None


def _majority(given: Sequence[Mapping[str, bool | None]]) -> dict[str, bool]:
    votes: dict[str, list[bool]] = {}
    for met in given:
        for criterion, true in met.items():
            if true is not None:
                votes.setdefault(criterion, []).append(true)
    return {one: 2 * sum(said) > len(said) for one, said in votes.items() if 2 * sum(said) != len(said)}
