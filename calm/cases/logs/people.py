"""What people said of the answers that a judge judged: their labels, by name, and what of it is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import TypeAlias

from calm.cases.logs.judgments import Judgment

Seen: TypeAlias = tuple[str, tuple[str, ...]]
"""A question and its answers: what a person and a judge must both have seen."""
Labels: TypeAlias = dict[str, float | str]
"""What people said of a case, by their names."""


def seen(one: Judgment) -> Seen:
    """Return what a judgment is about."""
    return one.question, one.answers


def labels_of(
    people: Sequence[Judgment], judged: Collection[Seen], place: Callable[[Judgment], float | str | None]
) -> tuple[dict[Seen, Labels], list[str]]:
    """
    Return the labels of people by what they are about, and notes on those that are left out.

    People without a name are numbered in each case: annotator-1, annotator-2.

    Args:
        people: their judgments.
        judged: what the judge judged.
        place: the place of a judgment on the judge's scale; None: it has none.
    """
    found: dict[Seen, Labels] = {}
    lost = unjudged = again = 0
    for one in sorted(people, key=lambda one: not one.person):  # names first, so that no number takes one
        value = place(one)
        if value is None:
            lost += 1
        elif seen(one) not in judged:
            unjudged += 1
        else:
            labels = found.setdefault(seen(one), {})
            name = one.person or next(name for n in count(1) if (name := f"annotator-{n}") not in labels)
            again += name in labels
            labels[name] = value
    left = (
        (lost, "have no place on the scale of the judge"),
        (unjudged, "are left out: the judge said nothing of the same answer"),
        (again, "are left out: the same person gave another one later"),
    )
    return found, [f"{number} verdicts of people {why}" for number, why in left if number]
