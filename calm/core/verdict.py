"""The verdict of a judge. No number means a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from calm.core.classes import Classes
from calm.core.reasons import NONE, Reason, reason_of

Task: TypeAlias = Literal["pairwise", "score", "rubric", "rubric-all", "points", "listwise", "label"]
"""What a judge is asked to do: the `task` of judge.toml."""
TASKS: Final[tuple[Task, ...]] = get_args(Task)

Family: TypeAlias = Literal["pairwise", "score", "rubric", "listwise", "label"]
"""What a task measures: the kind of its verdicts."""

FAMILY: Mapping[Task, Family] = {
    "pairwise": "pairwise",
    "score": "score",
    "points": "score",
    "rubric": "rubric",
    "rubric-all": "rubric",
    "listwise": "listwise",
    "label": "label",
}
FAMILIES: tuple[Family, ...] = ("pairwise", "score", "rubric", "listwise", "label")
Rule: TypeAlias = Literal["majority", "mean", "weighted"]
"""How a panel makes one verdict of those of its members: the `rule` of judge.toml."""
RULES: Final[tuple[Rule, ...]] = get_args(Rule)
CLASS = "~"
"""How the code of a class begins: no id of an answer that is read from a file holds this sign at its beginning."""


@dataclass(frozen=True, slots=True, repr=False)
class Scale:
    """
    The values that verdicts can have: the range of a score, or the classes of a label judge.

    `best` says which end is good. Where the low end is, what is written on the scale (a judge's reply, a gold score, a
    score by a person, a recorded verdict) is turned by `upright` where it is read, and back where people see it.
    `step` is None on a continuous scale. `classes` are those of the task label alone.
    """

    low: float = 1.0
    high: float = 10.0
    step: float | None = None
    best: Literal["high", "low"] = "high"
    classes: Classes | None = None

    def __repr__(self) -> str:
        shown = f"Scale(low={self.low!r}, high={self.high!r}, step={self.step!r}, best={self.best!r}"
        return f"{shown})" if self.classes is None else f"{shown}, classes={_content(self.classes)!r})"

    def holds(self, value: float) -> bool:
        """Return whether a value lies on the scale (and on one of its steps, if it has steps)."""
        if not self.low <= value <= self.high:
            return False
        return self.step is None or abs((steps := (value - self.low) / self.step) - round(steps)) < 1e-6

    def turned(self, value: float) -> float:
        """Return the value at the same distance from the other end."""
        return self.low + self.high - value

    def upright(self, value: float) -> float:
        """Return a value that is written on the scale with the high end good; and such a value as it is written."""
        return self.turned(value) if self.best == "low" else value


def _content(classes: Classes) -> tuple[object, ...]:
    """Return all of some classes, in one order: a set has none."""
    return classes.names, classes.ordered, sorted(classes.harm), classes.damaged, classes.meanings


@dataclass(frozen=True, slots=True)
class Preferred:
    """One answer was preferred. `probabilities` over answer ids (and "tie"), where the judge gives them."""

    answer: str
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Tie:
    """The judge said that neither answer is better."""

    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """A score on the judge's scale, always with the high end good. `probabilities` over the scale's values."""

    value: float
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Criteria:
    """For each criterion id whether it is met; None where the judge's verdict on it could not be read."""

    met: Mapping[str, bool | None]
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """Answer ids from best to worst; an inner tuple holds ties."""

    order: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Label:
    """One of the classes of the judge's scale. `probabilities` over the classes, where the judge gives them."""

    value: str
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The judge replied, and its reply holds no verdict: why, in words and as a reason. Data, with its own rate."""

    reason: str
    why: Reason = field(default=NONE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """The judge declined to judge. Data, with a rate of its own."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoReply:
    """No reply came: a transport failure or a cap. Not data. A reason given as a text becomes one that quotes it."""

    reason: Reason | str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", reason_of(self.reason))


Answered: TypeAlias = Preferred | Tie | Score | Criteria | Ranking | Label
Verdict: TypeAlias = Answered | Unreadable | Refused | NoReply

Code: TypeAlias = str | float | dict[str, bool | None] | list[list[str]]
"""
A verdict in results: an answer id or "tie", a score, criteria, a ranking, a class as "~grounded", or "!unreadable" and
the like. No answer has an id that begins with "~" or "!".
"""


_LAWFUL: Final = (Preferred, Tie, Score, Criteria, Label)
"""Verdicts that may come with probabilities."""


def unreadable(why: Reason) -> Unreadable:
    """Return the verdict of a reply that holds none, for a reason."""
    return Unreadable(str(why), why)


def code(verdict: Verdict) -> Code:
    """
    Return the verdict as it stands in results.

    >>> code(Preferred("good")), code(Tie()), code(Score(7.0)), code(Label("grounded")), code(Unreadable("empty reply"))
    ('good', 'tie', 7.0, '~grounded', '!unreadable')
    """
    match verdict:
        case Preferred(answer=answer):
            return answer
        case Tie():
            return "tie"
        case Score(value=value):
            return value
        case Criteria(met=met):
            return dict(met)
        case Ranking(order=order):
            return [sorted(group) for group in order]
        case Label(value=name):
            return f"{CLASS}{name}"
        case Unreadable():
            return "!unreadable"
        case Refused():
            return "!refused"
        case NoReply():
            return "!no-reply"


def chances(verdict: Verdict) -> Mapping[str, float] | None:
    """
    Return the probability of each verdict that the judge could have given, by its code; None where it gave none.

    >>> chances(Preferred("a", {"a": 0.9, "b": 0.1}))
    {'a': 0.9, 'b': 0.1}
    """
    return verdict.probabilities if isinstance(verdict, _LAWFUL) else None


def readable(verdict: Verdict) -> bool:
    """Return whether the verdict says something; criteria that are all unread do not."""
    if isinstance(verdict, Criteria):
        return any(met is not None for met in verdict.met.values())
    return not isinstance(verdict, Unreadable | Refused | NoReply)


def as_written(said: Code, scale: Scale) -> Code:
    """
    Return the code of a verdict as people see it: a score as the judge writes it.

    >>> as_written(3.0, Scale(0, 3, best="low")), as_written("tie", Scale())
    (0.0, 'tie')
    """
    return scale.upright(said) if isinstance(said, int | float) else said


def decode(value: Code, reason: str = "") -> Verdict:
    """
    Return the verdict that `code` wrote; probabilities are not in a code.

    >>> decode("good"), decode([["a", "b"], ["c"]])
    (Preferred(answer='good', probabilities=None), Ranking(order=(('a', 'b'), ('c',))))
    """
    match value:
        case "tie":
            return Tie()
        case "!unreadable":
            return Unreadable(reason)
        case "!refused":
            return Refused(reason)
        case "!no-reply":
            return NoReply(reason)
        case str() if value.startswith(CLASS):
            return Label(value.removeprefix(CLASS))
        case str():
            return Preferred(value)
        case dict():
            return Criteria(value)
        case list():
            return Ranking(tuple(tuple(group) for group in value))
        case _:
            return Score(float(value))
