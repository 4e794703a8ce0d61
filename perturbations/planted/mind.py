"""The mind of a planted judge: what it says is a function of what it sees, the gold label and the repeat index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from calm.core.case import TIE, Framing, digest
from calm.core.checks import words
from calm.core.order import RUN_ASKS
from calm.core.verdict import FAMILY, Scale, Task
from calm.errors import JudgeError
from calm.perturbations.planted.gold import Gold
from calm.perturbations.planted.replies import SAY, Ask
from calm.perturbations.triggers import Effect, Seen, additions, plain, plants

LENGTH = "length"
"""The name under which a dose is kept for a judge that goes by length; it is no bias with a trigger of its own."""
TIES = (TIE, "first", "coin")
"""What a judge says of two equally good answers: that they tie, that the first is better, or what a coin says."""
HALF = 100
"""An only answer of so many words gets half of all that there is from a judge that goes by length."""


@dataclass(frozen=True, slots=True)
class Mind:
    """
    The planted judgement: a pure function of what is seen, the gold label and the repeat index.

    `doses` are pairs of a bias and its share of questions, `noise` the probability of an error in an ask. It is drawn
    anew for each ask and for each other text that is seen, as that of a model is; a `frozen` mind gives the same reply
    in each ask, as a server at temperature 0 does. `drift` is the share of questions that it decides otherwise from the
    run `since` of `calm watch` on, where no bias decides: for the last answer, or for the highest score. Where `equal`,
    its biases decide between two equally good answers alone: it goes by right and wrong first. `ties` is what it does
    with such a pair where no bias decides, one of `TIES`.
    """

    task: Task = "pairwise"
    seed: int = 0
    noise: float = 0.0
    doses: tuple[tuple[str, float], ...] = ()
    scale: Scale = field(default_factory=Scale)
    frozen: bool = False
    drift: float = 0.0
    since: int = 1
    equal: bool = False
    ties: str = TIE

    def holds(self, bias: str, question: str) -> bool:
        """Return whether a bias decides this question, whatever the ask and the answers."""
        dose = next((dose for name, dose in self.doses if name == bias), 0.0)
        return dose > 0 and _share(digest("held", self.seed, bias, plain(_asked(question)))) < dose

    def reply(self, seen: Seen, gold: Gold, ask: int) -> str:
        """
        Return the reply to one ask, as text in the bundled `brackets` format.

        Raises:
            JudgeError: `seen` belongs to a task of another kind.
        """
        if seen.family != FAMILY[self.task]:
            raise JudgeError(f"planted: expected a question for task={self.task}, got family={seen.family!r}")
        turned = _inverts(self.task, seen.framing) and not any(self._stirred(Effect.MISREAD, seen))
        rng = Random(digest("noise", self.seed, seen.content(), 0 if self.frozen else ask))
        winner = None if self.equal and gold != TIE else self._decided(seen, ask // RUN_ASKS)
        if gold == TIE and winner is None and self.ties != TIE:
            drawn = Random(digest("coin", self.seed, seen.content(), 0 if self.frozen else ask)).randrange(2)
            turned, winner = False, 0 if self.ties == "first" else drawn
        weight = self._weighed(seen) if winner is None else None
        if isinstance(gold, float) and any(self._stirred(Effect.COMPRESS, seen)):
            gold = _squeezed(gold, seen.scale)
        return SAY[self.task](Ask(seen, gold, winner, turned, self.noise, rng, weight))

    def _decided(self, seen: Seen, run: int) -> int | None:
        """Return the place of the answer that a bias decides for, None where gold decides."""
        for effect in (Effect.FAVOUR, Effect.OVERLOOK):
            for carriers in self._stirred(effect, seen):
                if len(carriers) == 1:
                    return carriers[0]
        if any(self._stirred(Effect.LAST_WINS, seen)) or any(self._stirred(Effect.TAKE_FOR_MET, seen)):
            return len(seen.answers) - 1
        if run >= self.since and _share(digest("drift", self.seed, plain(_asked(seen.question)))) < self.drift:
            return len(seen.answers) - 1
        return _longest(seen) if self.holds(LENGTH, seen.question) else None

    def _weighed(self, seen: Seen) -> float | None:
        """Return the share of all that there is that length alone gives an only answer, None where gold decides."""
        if len(seen.answers) > 1 or not self.holds(LENGTH, seen.question):
            return None
        count = words(seen.answers[0].text)
        return count / (count + HALF)

    def _stirred(self, effect: Effect, seen: Seen) -> Iterator[list[int]]:
        """Yield the places of the answers that carry the trigger of each bias with an effect, as they decide."""
        dosed = {bias for bias, _ in self.doses}
        for plant in plants():
            if plant.bias in dosed and plant.effect is effect and self.holds(plant.bias, seen.question):
                yield plant.carriers(seen)


def _squeezed(score: float, scale: Scale) -> float:
    """Return a score, whose high end is good, squeezed into the top quarter of its scale: on a step, if it has any."""
    value = scale.high - (scale.high - score) / 4
    return value if scale.step is None else scale.low + round((value - scale.low) / scale.step) * scale.step


def _inverts(task: Task, framing: Framing) -> bool:
    """Return whether the question is put the other way round; a scale that is turned over concerns a score alone."""
    return framing is Framing.NEGATIVE or (framing is Framing.INVERTED and task == "score")


def _asked(question: str) -> str:
    """Return a question without what an edit added behind it: with it, it is the same question still."""
    return additions().split(question, maxsplit=1)[0]


def _longest(seen: Seen) -> int | None:
    """Return the place of the answer that alone has the most words of several, None if there is none."""
    counts = [words(slot.text) for slot in seen.answers]
    most = [place for place, count in enumerate(counts) if count == max(counts)]
    return most[0] if len(counts) > 1 and len(most) == 1 else None


def _share(hexadecimal: str) -> float:
    return int(hexadecimal[:13], 16) / 16**13
