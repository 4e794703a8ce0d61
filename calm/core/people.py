"""People who labelled the same cases: how far they agree, and whether the judge may take the place of one of them."""

from __future__ import annotations

from dataclasses import dataclass

from calm.core.agreement import CLOSE, LEAST_ALPHA, alignments, alpha_of, units_of
from calm.core.trials import Trial, Trials
from calm.core.verdict import Scale, readable
from calm.errors import EstimateError
from calm.statistics.agreement import raw_agreement
from calm.statistics.alternative_annotator import Replacing, alternative_annotator


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
