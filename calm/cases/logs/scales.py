"""Put what a judge said on a scale: numbers as they are, truth values and words as 0 and 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.cases.logs.judgments import Judgment
from calm.cases.logs.values import number
from calm.core.verdict import Scale
from calm.errors import ConfigError

WORDS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("c", "yes", "y", "true", "pass", "passed", "correct", "met", "grounded", "relevant"), 1.0),
    "p": 0.5,
    "partial": 0.5,
    "partially correct": 0.5,
    **dict.fromkeys(("i", "no", "n", "false", "fail", "failed", "incorrect", "unmet", "ungrounded", "irrelevant"), 0.0),
}
"""What words of a verdict mean between 0 and 1, in lower case: those of Inspect, and the plain ones."""
NO_ANSWER: Final = "n"
"""Of Inspect's letters the one for no answer, which its own metrics count as 0."""
_USUAL: Final = ((0.0, 1.0), (1.0, 5.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))
"""The scales that are tried on numbers, in this order."""
_STEPS: Final = (1.0, 0.5, 0.1)
"""The steps that are tried on numbers, in this order."""
_CLOSE: Final = 1e-6
_MOST_WORDS: Final = 8
"""So many words of a verdict a message names."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """The values of verdicts on a scale, in their order (None: no verdict), and notes about the scale."""

    scale: Scale
    values: tuple[float | None, ...]
    notes: tuple[str, ...]
    words: Mapping[str, float]

    def on(self, value: object) -> float | None:
        """Return the place of a person's verdict on the scale; None for one that has no place on it."""
        held = _placed(value, self.words, self.scale)
        return held if held is not None and self.scale.holds(held) else None


def scaled(judgments: Sequence[Judgment], words: Mapping[str, float], scale: Scale | None) -> Scaled:
    """
    Return the values of verdicts, on a given scale or on the one that they show.

    Args:
        judgments: those of one judge, each of one answer.
        words: what a word means, beyond `WORDS`, as a user said: a number on the scale.
        scale: the scale, if a user said which.

    Raises:
        ConfigError: a word without a known value, or a number beyond the scale.
    """
    own = {word.strip().lower(): value for word, value in words.items()}
    said = [one.value for one in judgments if one.state == "said"]
    unknown = Counter(str(value) for value in said if _placed(value, own, Scale(0.0, 1.0)) is None)
    if unknown:
        names = ", ".join(sorted(unknown)[:_MOST_WORDS])
        first = next(iter(sorted(unknown)))
        raise ConfigError(
            f"expected verdicts that are numbers, truth values or words such as yes, pass or C, got {names}; say what "
            f"each means with --value, as in --value {first!r}=1"
        )
    notes: list[str] = []
    if scale is None:
        scale = _shown(judgments, said, own, notes)
    if _low_is_good(judgments):
        scale = replace(scale, best="low")
        notes.append("a low score is the good one, as the log passes scores at or below its threshold")
    values = tuple(_placed(one.value, own, scale) if one.state == "said" else None for one in judgments)
    beyond = sorted({value for value in values if value is not None and not scale.holds(value)})
    if beyond:
        steps = "" if scale.step is None else f" in steps of {scale.step:g}"
        raise ConfigError(
            f"expected scores from {scale.low:g} to {scale.high:g}{steps}, got {beyond[0]:g}; say the scale with "
            "--scale LOW..HIGH or LOW..HIGH/STEP"
        )
    if any(isinstance(value, str) and value.strip().lower() == NO_ANSWER for value in said if value == "N"):
        notes.append("N (no answer) counts as I (incorrect), as it does for Inspect")
    return Scaled(scale, values, tuple(notes), own)


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else str(value).lower()


def _placed(value: object, own: Mapping[str, float], scale: Scale) -> float | None:
    """
    Return the value of a verdict on a scale; None for an unknown word.

    A number, and a word that the user explained, are on the scale as they are. A known word is a share of the way from
    its low end to its high one.
    """
    plain = _number_in(value, own)
    share = WORDS.get(_word(value)) if plain is None and isinstance(value, str | bool) else None
    return plain if share is None else stretched(share, scale)


def stretched(share: float, scale: Scale) -> float:
    """Return what lies a share of the way (0 to 1) from the low end of a scale to its high one."""
    return scale.low + share * (scale.high - scale.low)


def _number_in(value: object, own: Mapping[str, float]) -> float | None:
    """Return the number that a verdict is, spells, or means as the user explained it; None for any other."""
    if not isinstance(value, str | bool):
        return number(value)
    word = _word(value)
    if word in own:
        return own[word]
    try:
        return None if word in WORDS else number(float(word))
    except ValueError:
        return None


def _shown(judgments: Sequence[Judgment], said: Sequence[object], own: Mapping[str, float], notes: list[str]) -> Scale:
    """Return the scale that verdicts show: that of words, the tool's own, or the first usual one that holds numbers."""
    worded = [one for one in said if isinstance(one, str | bool) and (_word(one) in own or _word(one) in WORDS)]
    found = [plain for one in said if (plain := _number_in(one, own)) is not None]
    if len(worded) == len(said):
        wide = Scale(min([0.0, *found]), max([1.0, *found]))
        found = [held for one in said if (held := _placed(one, own, wide)) is not None]
        half = 0.5 if any((value - wide.low) % 1 for value in found) else 1.0
        step = half if all((value - wide.low) % half == 0 for value in (*found, wide.high)) else None
        steps = "" if step is None else f" in steps of {step:g}"
        notes.append(f"the words of its verdicts are read on a scale from {wide.low:g} to {wide.high:g}{steps}")
        return Scale(wide.low, wide.high, step)
    limits = {one.limits for one in judgments if one.limits}
    usual = [*limits, *_USUAL] if len(limits) == 1 else [*_USUAL]
    fitting = next(((low, high) for low, high in usual if all(low <= value <= high for value in found)), None)
    if fitting is None:
        raise ConfigError(
            f"expected scores on a usual scale, such as 0 to 1 or 1 to 10, got scores from {min(found):g} to "
            f"{max(found):g}; say the scale with --scale LOW..HIGH"
        )
    low, high = fitting
    stood = [held for one in said if (held := _placed(one, own, Scale(low, high))) is not None]
    step = next((step for step in _STEPS if all(_on_step(value - low, step) for value in stood)), None)
    if fitting not in limits or step is not None:
        steps = "" if step is None else f" in steps of {step:g}"
        notes.append(f"its scores fit a scale from {low:g} to {high:g}{steps}; say --scale if it is another one")
    return Scale(low, high, step)


def usual_scale(scores: Sequence[float]) -> Scale:
    """
    Return the first usual scale that holds some scores, in the steps that they show.

    >>> found = usual_scale([0, 1, 0.5])
    >>> found.low, found.high, found.step
    (0.0, 1.0, 0.5)

    Raises:
        ConfigError: none holds them.
    """
    fitting = next((one for one in _USUAL if all(one[0] <= score <= one[1] for score in scores)), None)
    if fitting is None:
        raise ConfigError(
            f"expected scores on a usual scale, such as 0 to 1 or 1 to 10, got scores from {min(scores):g} to "
            f"{max(scores):g}; rescale them, or give a prompt with their scale (--prompt FILE)"
        )
    step = next((step for step in _STEPS if all(_on_step(score - fitting[0], step) for score in scores)), None)
    return Scale(*fitting, step)


def _on_step(distance: float, step: float) -> bool:
    return abs(distance / step - round(distance / step)) < _CLOSE


def _low_is_good(judgments: Sequence[Judgment]) -> bool:
    """Return whether the tool passed scores at or below a threshold, and never the other way round."""
    held = [
        (score, one.threshold, one.passed)
        for one in judgments
        if one.passed is not None and one.threshold is not None and (score := number(one.value)) is not None
    ]
    low = all((score <= limit) == passed for score, limit, passed in held)
    high = all((score >= limit) == passed for score, limit, passed in held)
    return bool(held) and low and not high
