"""People who labelled the same cases: how far they agree, and whether the judge may take the place of one of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from calm.core.agreement import alignment, labels_of
from calm.core.trials import Trial, Trials
from calm.core.verdict import Criteria, Family, Scale, Score, readable
from calm.errors import EstimateError
from calm.statistics.agreement import krippendorff_alpha, raw_agreement
from calm.statistics.alternative_annotator import Replacing, alternative_annotator


@dataclass(frozen=True, slots=True)
class People:
    """
    The people of some cases, how many cases have two labels or more, and how far these agree.

    `alpha` is Krippendorff's, nominal on pairs and criteria, interval on scores; `raw` the share of equal pairs of
    labels. Either is None where it does not exist: on lists, or where all labels are the same.
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
    units = [unit for row in rows for unit in _units(row, names, trials.family)]
    scale = "interval" if trials.family == "score" else "nominal"
    try:
        alpha, raw = krippendorff_alpha(units, scale=scale), raw_agreement(units)  # type: ignore[arg-type]  # one of two
    except EstimateError:
        alpha, raw = None, None
    return People(tuple(names), len(rows), alpha, raw)


def _units(row: Trial, names: Sequence[str], family: Family) -> list[list[Hashable | None]]:
    """Return what each person said of a row, a list for each thing that was labelled; nothing of a list."""
    if family == "listwise":
        return []
    if family == "score":
        said = [row.people.get(name) for name in names]
        return [[one.value if isinstance(one, Score) else None for one in said]]
    if family == "pairwise":
        return [[None if (one := row.people.get(n)) is None else labels_of(one, one, row)[0][0] for n in names]]
    met = {n: one.met for n in names if isinstance(one := row.people.get(n), Criteria)}
    return [[met.get(n, {}).get(criterion) for n in names] for criterion in row.points]


def replacing(trials: Trials, epsilon: float) -> Replacing | None:
    """
    Return the alternative-annotator test on the first ask of each case; None where too few people labelled too few.

    Cases whose first verdict cannot be read are left out.
    """
    found: dict[str, list[float]] = {}
    for row in trials.rows:
        if len(row.people) > 1 and row.clean and readable(row.clean[0]):
            for person, d in differences(row, trials.scale).items():
                found.setdefault(person, []).append(d)
    try:
        return alternative_annotator(found, epsilon=epsilon)
    except EstimateError:
        return None


def differences(row: Trial, scale: Scale) -> dict[str, float]:
    """Return by person 1 if this one agrees with the others better than the judge at first, -1 if worse, else 0."""
    found = {}
    for person, own in row.people.items():
        others = [said for other, said in row.people.items() if other != person]
        ahead = alignment(own, others, row, scale) - alignment(row.clean[0], others, row, scale)
        found[person] = 0.0 if abs(ahead) < 1e-9 else 1.0 if ahead > 0 else -1.0
    return found
