"""The replies of a planted judge: a verdict as text, in the form that the bundled prompts ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import cast

from calm.core.case import TIE, digest
from calm.core.classes import SHIPPED
from calm.core.verdict import Scale, Task
from calm.perturbations.planted.gold import Gold
from calm.perturbations.triggers import Seen


@dataclass(frozen=True, slots=True)
class Ask:
    """
    One ask to answer: `winner` is the place that a bias decides for, `turned` whether to say the opposite.

    `weight` is the share of all that there is that an only answer gets for its length, where length decides.
    """

    seen: Seen
    gold: Gold
    winner: int | None
    turned: bool
    noise: float
    rng: Random
    weight: float | None = None

    def errs(self) -> bool:
        """Draw whether the judge errs."""
        return self.rng.random() < self.noise


def _say_slot(ask: Ask) -> str:
    labels = [s.label for s in ask.seen.answers]
    said = cast(str, ask.gold) if ask.winner is None else labels[ask.winner]
    if ask.turned and said != TIE:
        said = next(label for label in labels if label != said)
    if ask.errs():
        said = ask.rng.choice([label for label in labels if label != said])
    if said == TIE:
        said = TIE if "C" in labels else "C"
    return f"I compared the answers point by point. [[{said}]]"


def _say_score(ask: Ask) -> str:
    scale = ask.seen.scale
    value = min(max(cast(float, ask.gold), scale.low), scale.high) if ask.winner is None else scale.high
    if ask.weight is not None:
        value = _at(scale, ask.weight)
    if ask.turned != (scale.best == "low"):
        value = scale.turned(value)
    if ask.errs():
        value = ask.rng.choice([step for step in _steps(scale) if abs(step - value) > 1e-9])
    return f"I weighed what the answer does well and what it lacks. [[{_number(value)}]]"


def _say_order(ask: Ask) -> str:
    order = list(cast("tuple[str, ...]", ask.gold))
    if ask.winner is not None:
        best = ask.seen.answers[ask.winner].label
        order = [best, *(label for label in order if label != best)]
    if ask.turned:
        order.reverse()
    if ask.errs():
        order = _shuffled(order, ask.rng)
    return f"I compared each answer with the others. [[{' > '.join(order)}]]"


def _say_class(ask: Ask) -> str:
    classes = ask.seen.scale.classes or SHIPPED
    said = cast(str, ask.gold) if ask.winner is None else classes.best()
    if ask.weight is not None:
        said = classes.names[min(int(ask.weight * len(classes.names)), len(classes.names) - 1)]
    if ask.errs():
        said = ask.rng.choice([name for name in classes.names if name != said])
    return f"I held the answer against what is asked for. [[{said}]]"


def _say_points(ask: Ask) -> str:
    weights = ask.seen.weights
    total = sum(abs(w) for w in weights)
    points = sum(abs(w) for met, w in zip(_truths(ask), weights, strict=True) if met == (w > 0))
    return f"I added up the points. [[{_number(total - points if ask.turned else points)}/{_number(total)}]]"


def _say_criterion(ask: Ask) -> str:
    return f"I held the answer against the criterion. {_words(ask)[0]}"


def _say_criteria(ask: Ask) -> str:
    return "\n".join(["I went through the criteria.", *(f"{i}: {word}" for i, word in enumerate(_words(ask), 1))])


SAY: Mapping[Task, Callable[[Ask], str]] = {
    "pairwise": _say_slot,
    "score": _say_score,
    "points": _say_points,
    "rubric": _say_criterion,
    "rubric-all": _say_criteria,
    "listwise": _say_order,
    "label": _say_class,
}


def _words(ask: Ask) -> list[str]:
    return ["[[YES]]" if truth != ask.turned else "[[NO]]" for truth in _truths(ask)]


def _truths(ask: Ask) -> list[bool]:
    """Return for each criterion what the judge takes for true; a bias takes what serves the answer."""
    gold = cast("tuple[bool, ...]", ask.gold)
    latent = gold if ask.winner is None else tuple(w > 0 for w in ask.seen.weights)
    if ask.weight is not None:
        bars = (Random(digest("bar", text)).random() for text in ask.seen.criteria)
        latent = tuple((bar < ask.weight) == (w > 0) for bar, w in zip(bars, ask.seen.weights, strict=True))
    return [truth != ask.errs() for truth in latent]


def _at(scale: Scale, share: float) -> float:
    """Return the value that lies so far up a scale: on a step if it has steps, else on a hundredth."""
    step = scale.step or 0.01
    return scale.low + round(share * (scale.high - scale.low) / step) * step


def _steps(scale: Scale) -> list[float]:
    """Return the values that a score in error is drawn from: whole steps, or the two ends of a narrow scale."""
    span = scale.high - scale.low
    step = scale.step or min(1.0, span)
    return [scale.low + i * step for i in range(int(span / step + 1e-9) + 1)]


def _shuffled(order: list[str], rng: Random) -> list[str]:
    """Return a uniform draw from the other orders."""
    while (drawn := rng.sample(order, len(order))) == order:
        pass
    return drawn


def _number(value: float) -> str:
    return f"{value:.10g}"
