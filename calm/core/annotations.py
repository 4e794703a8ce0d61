"""What people said of a case: one annotation a person, and the gold label that several make together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Final, Literal, Self, TypeAlias, get_args

from calm.core.verdict import Scale

Votes: TypeAlias = Literal["majority", "plurality", "each"]
"""
How several labels of one thing make its gold: more than half of them say so; more of them than say anything else; or
each is a gold label by itself. Where one is needed, `each` is the majority.
"""
VOTES: Final[tuple[Votes, ...]] = get_args(Votes)


@dataclass(frozen=True, slots=True)
class Annotation:
    """
    What one person said, in the parts that a gold label has; what was not said is empty.

    `better` is the id of an answer or "tie", `scores` a number by answer id, `met` the truth of criteria by answer id,
    `order` the ids of all answers from best to worst, where an inner tuple holds ties, `label` the class of the only
    answer.
    """

    better: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    met: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    order: tuple[tuple[str, ...], ...] = ()
    label: str | None = None

    def about(self, answers: Collection[str]) -> Self:
        """Return the labels of some of the answers; a choice of another one is left out, and so is its order."""
        whole = {name for group in self.order for name in group} <= set(answers)
        return type(self)(
            self.better if self.better in (*answers, "tie") else None,
            {key: value for key, value in self.scores.items() if key in answers},
            {key: truths for key, truths in self.met.items() if key in answers},
            self.order if whole else (),
            self.label,
        )

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Return the same under other ids of the answers; what is not among the names stays ("tie")."""
        return type(self)(
            None if self.better is None else names.get(self.better, self.better),
            {names[key]: value for key, value in self.scores.items()},
            {names[key]: truths for key, truths in self.met.items()},
            tuple(tuple(names[key] for key in group) for group in self.order),
            self.label,
        )

    def upright(self, scale: Scale) -> Self:
        """Return the same with scores as verdicts have them, whose high end is good."""
        return replace(self, scores={key: scale.upright(value) for key, value in self.scores.items()})

    def preferred(self, first: str, second: str) -> str | None:
        """Return which of two answers is better by the choice, else the scores or the order; or "tie"."""
        if self.better is not None:
            return self.better
        worth = self.scores or {name: -float(place) for place, group in enumerate(self.order) for name in group}
        one, other = worth.get(first), worth.get(second)
        if one is None or other is None:
            return None
        return "tie" if one == other else first if one > other else second

    def content(self) -> dict[str, object]:
        """Return all of it as JSON-able data."""
        return {
            "better": self.better,
            "scores": dict(self.scores),
            "met": {answer: dict(truths) for answer, truths in self.met.items()},
            "order": [list(group) for group in self.order],
            **({} if self.label is None else {"label": self.label}),
        }

    def __bool__(self) -> bool:
        return bool(self.better is not None or self.scores or self.met or self.order or self.label is not None)


def gold_of(annotations: Iterable[Annotation], answers: Collection[str] = (), votes: Votes = "majority") -> Annotation:
    """
    Return the gold label that people make together: the choice or class that `votes` says, the truth that most see, and
    the mean score. There may be no such choice or truth. An order has no sum.

    `answers` are the ids of the case's answers: between two, a person may also choose by scores or an order.
    """
    given = list(annotations)
    scores: dict[str, list[float]] = {}
    truths: dict[tuple[str, str], list[bool]] = {}
    for one in given:
        for answer, score in one.scores.items():
            scores.setdefault(answer, []).append(score)
        for answer, said in one.met.items():
            for criterion, true in said.items():
                truths.setdefault((answer, criterion), []).append(true)
    met: dict[str, dict[str, bool]] = {}
    for (answer, criterion), seen in truths.items():
        if 2 * sum(seen) != len(seen):
            met.setdefault(answer, {})[criterion] = 2 * sum(seen) > len(seen)
    return Annotation(
        voted(choices_of(given, answers), votes),
        {answer: fsum(values) / len(values) for answer, values in scores.items()},
        met,
        label=voted((one.label for one in given if one.label is not None), votes),
    )


def choices_of(annotations: Iterable[Annotation], answers: Collection[str]) -> list[str]:
    """Return the id of each answer that somebody called the better one, or "tie", once for each voice."""
    two = tuple(answers) if len(answers) == 2 else None
    found = (one.preferred(*two) if two else one.better for one in annotations)
    return [choice for choice in found if choice is not None]


def mean_places(orders: Iterable[tuple[tuple[str, ...], ...]]) -> dict[str, float]:
    """Return how many places from the end each answer is on average; those that tie share their places."""
    given = list(orders)
    total: dict[str, float] = {}
    for order in given:
        below = sum(map(len, order))
        for group in order:
            below -= len(group)
            for answer in group:
                total[answer] = total.get(answer, 0.0) + (below + (len(group) - 1) / 2) / len(given)
    return total


def voted(choices: Iterable[str], votes: Votes = "majority") -> str | None:
    """
    Return what more than half of some choices are, or with `plurality` what more of them are than anything else.

    None where there is no such thing.

    >>> voted(["a", "a", "b", "tie"]), voted(["a", "a", "b", "tie"], "plurality"), voted(["a", "b"], "plurality")
    (None, 'a', None)
    """
    counts = Counter(choices)
    (first, most), (_, second) = [*counts.most_common(2), (None, 0), (None, 0)][:2]
    return first if most > (second if votes == "plurality" else counts.total() - most) else None


def restricted(annotations: Mapping[str, Annotation], answers: Collection[str]) -> dict[str, Annotation]:
    """Return what each person said of some of the answers; a person who said nothing of them is left out."""
    about = {person: one.about(answers) for person, one in annotations.items()}
    return {person: one for person, one in about.items() if one}


def renamed(annotations: Mapping[str, Annotation], names: Mapping[str, str]) -> dict[str, Annotation]:
    """Return the same annotations under other ids of the answers."""
    return {person: one.renamed(names) for person, one in annotations.items()}
