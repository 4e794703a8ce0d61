"""The mind of a planted judge: what it says is a function of what it sees, the gold label and the repeat index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from calm.core.case import Framing, digest
from calm.core.verdict import FAMILY, Scale, Task
from calm.errors import JudgeError
from calm.perturbations.planted.gold import Gold
from calm.perturbations.planted.replies import SAY, Ask
from calm.perturbations.triggers import Effect, Seen, additions, plain, plants


@dataclass(frozen=True, slots=True)
class Mind:
    """
    The planted judgement: a pure function of what is seen, the gold label and the repeat index.

    `doses` are pairs of a bias and its share of questions, `noise` the probability of an error in an ask.
    """

    task: Task = "pairwise"
    seed: int = 0
    noise: float = 0.0
    doses: tuple[tuple[str, float], ...] = ()
    scale: Scale = field(default_factory=Scale)

    def holds(self, bias: str, question: str) -> bool:
        """Return whether a bias decides this question, whatever the ask and the answers."""
        dose = dict(self.doses).get(bias, 0.0)
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
        rng = Random(self._key(seen, ask))
        return SAY[self.task](Ask(seen, gold, self._decided(seen), turned, self.noise, rng))

    def _decided(self, seen: Seen) -> int | None:
        """Return the place of the answer that a bias decides for, None where gold decides."""
        for carriers in self._stirred(Effect.FAVOUR, seen):
            if len(carriers) == 1:
                return carriers[0]
        return len(seen.answers) - 1 if any(self._stirred(Effect.LAST_WINS, seen)) else None

    def _stirred(self, effect: Effect, seen: Seen) -> Iterator[list[int]]:
        """Yield the places of the answers that carry the trigger of each bias with an effect, as they decide."""
        for plant in plants():
            if plant.effect is effect and self.holds(plant.bias, seen.question):
                yield plant.carriers(seen)

    def _key(self, seen: Seen, ask: int) -> str:
        texts = [[s.label, plain(s.text), s.byline, *map(plain, s.history)] for s in seen.answers]
        shown = [plain(seen.question), texts, [plain(n) for n in seen.notes], [plain(c) for c in seen.criteria]]
        after = [[plain(turn) for turn in seen.follow_ups]] if seen.follow_ups else []
        return digest("noise", self.seed, shown, *after, str(seen.framing), ask)


def _inverts(task: Task, framing: Framing) -> bool:
    """Return whether the question is put the other way round; a scale that is turned over concerns a score alone."""
    return framing is Framing.NEGATIVE or (framing is Framing.INVERTED and task == "score")


def _asked(question: str) -> str:
    """Return a question without what an edit added behind it: with it, it is the same question still."""
    return additions().split(question, maxsplit=1)[0]


def _share(hexadecimal: str) -> float:
    return int(hexadecimal[:13], 16) / 16**13
