"""Put what a judge said on a scale: numbers as they are, truth values and words as 0 and 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
"""The scales that numbers are held against, in this order."""
_STEPS: Final = (1.0, 0.5, 0.1)
"""The steps that numbers are held against, in this order."""
_CLOSE: Final = 1e-6
_MOST_WORDS: Final = 8
"""So many words of a verdict a message names."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """What verdicts mean on a scale, in their order (None: nothing was said), and what is to be said of the scale."""

    scale: Scale
    values: tuple[float | None, ...]
    notes: tuple[str, ...]
    words: Mapping[str, float]

    def on(self, value: object) -> float | None:
        """Return where the verdict of a person stands on the scale; None for what has no place on it."""
        if (plain := number(value)) is not None:
            return plain if self.scale.holds(plain) else None
        share = _share(value, self.words)
        if share is None:
            return None
        held = share if _word(value) in self.words else self.scale.low + share * (self.scale.high - self.scale.low)
        return held if self.scale.holds(held) else None


def scaled(judgments: Sequence[Judgment], words: Mapping[str, float], scale: Scale | None) -> Scaled:
    """
    Return where verdicts stand, on a given scale or on the one that they show.

    Args:
        judgments: those of one judge, each of one answer.
        words: what a word means, beyond `WORDS`, as a user said: a number on the scale.
        scale: the scale, if a user said which.

    Raises:
        ConfigError: a word that nobody explained, or a number beyond the scale.
    """
    own = {word.strip().lower(): value for word, value in words.items()}
    said = [one.value for one in judgments if one.state == "said"]
    unknown = Counter(str(value) for value in said if number(value) is None and _share(value, own) is None)
    if unknown:
        names = ", ".join(sorted(unknown)[:_MOST_WORDS])
        first = next(iter(sorted(unknown)))
        raise ConfigError(
            f"expected verdicts that are numbers, truth values or words such as yes, pass or C, got {names}; say what "
            f"each means with --value, as in --value {first!r}=1"
        )
    numbers = [plain for value in said if (plain := number(value)) is not None]
    truths = [share for value in said if number(value) is None and (share := _share(value, own)) is not None]
    notes: list[str] = []
    if scale is None:
        scale = _shown(judgments, numbers, truths, notes)
    values = tuple(_placed(one, own, scale) for one in judgments)
    beyond = sorted({value for value in values if value is not None and not scale.holds(value)})
    if beyond:
        steps = "" if scale.step is None else f" in steps of {scale.step:g}"
        raise ConfigError(
            f"expected scores from {scale.low:g} to {scale.high:g}{steps}, got {beyond[0]:g}; say the scale with "
            "--scale LOW..HIGH or LOW..HIGH/STEP"
        )
    if any(isinstance(value, str) and value.strip().lower() == NO_ANSWER for value in said if value == "N"):
        notes.append("N (no answer) counts as 0, as it does for Inspect")
    return Scaled(scale, values, tuple(notes), own)


def _word(value: object) -> str:
    return value.strip().lower() if isinstance(value, str) else str(value).lower()


def _share(value: object, own: Mapping[str, float]) -> float | None:
    """Return what a word or a truth value means; None if nobody knows."""
    if not isinstance(value, str | bool):
        return None
    word = _word(value)
    if word in own:
        return own[word]
    found = WORDS.get(word)
    return found if found is not None else _numeral(word)


def _numeral(word: str) -> float | None:
    try:
        return number(float(word))
    except ValueError:
        return None


def _placed(one: Judgment, own: Mapping[str, float], scale: Scale) -> float | None:
    if one.state != "said":
        return None
    plain = number(one.value)
    return _share(one.value, own) if plain is None else plain


def _shown(judgments: Sequence[Judgment], numbers: Sequence[float], truths: Sequence[float], notes: list[str]) -> Scale:
    """Return the scale that verdicts show: that of truths, the tool's own, or the first usual one that holds them."""
    found = [*numbers, *truths]
    if not numbers:
        low, high = min([0.0, *found]), max([1.0, *found])
        half = 0.5 if any(value % 1 for value in found) else 1.0
        notes.append(f"the words of its verdicts stand on a scale from {low:g} to {high:g} in steps of {half:g}")
        return Scale(low, high, half if all(value % half == 0 for value in found) else None)
    own = {one.limits for one in judgments if one.limits}
    usual = [*own, *_USUAL] if len(own) == 1 else [*_USUAL]
    fitting = next(((low, high) for low, high in usual if all(low <= value <= high for value in found)), None)
    if fitting is None:
        raise ConfigError(
            f"expected scores on a usual scale, such as 0 to 1 or 1 to 10, got scores from {min(found):g} to "
            f"{max(found):g}; say the scale with --scale LOW..HIGH"
        )
    low, high = fitting
    step = next((step for step in _STEPS if all(_on_step(value - low, step) for value in found)), None)
    best = "low" if _low_is_good(judgments) else "high"
    if fitting not in own or step is not None:
        steps = "" if step is None else f" in steps of {step:g}"
        notes.append(f"its scores fit a scale from {low:g} to {high:g}{steps}; say --scale if it is another one")
    if best == "low":
        notes.append("a low score is the good one, as the log passes scores at or below its threshold")
    return Scale(low, high, step, "low" if best == "low" else "high")


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
