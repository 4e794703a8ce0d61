"""What was shown and said: kept beside the codes of a run, for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calm.core.verdict import Code


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call of an ask: the key of its prompt in `CaseTexts.prompts`, and the raw reply."""

    prompt: str
    reply: str


@dataclass(frozen=True, slots=True)
class CaseTexts:
    """
    What was shown and said for one case of a probe: by arm, for each ask its exchanges, and the answers as shown.

    `hash` is that of the trial it belongs to, `gold` the gold label in the code of a verdict, None where there is none.
    `came` and `went` begin the words that the edit put into the case, and those that it took out. Of cases beyond the
    first of a probe, only these and the beginning of the question are kept: they have no asks.
    """

    case: str
    hash: str
    question: str
    reference: str | None
    better: str | None
    prompts: Mapping[str, tuple[Mapping[str, str], ...]]
    answers: Mapping[str, Mapping[str, str]]
    clean: tuple[tuple[Exchange, ...], ...]
    perturbed: tuple[tuple[Exchange, ...], ...]
    gold: Code | None = None
    came: str = ""
    went: str = ""

    @property
    def whole(self) -> bool:
        """Whether its prompts and replies were kept."""
        return bool(self.clean or self.perturbed)
