"""What was shown and said: kept beside the codes of a run, for people to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from calm.core.verdict import Code

GAP = " \N{HORIZONTAL ELLIPSIS} "
"""What stands between words that came, or went, at different places."""
Deed: TypeAlias = Literal["changed", "added", "gone", "order", "ids"]
"""What became of a part of a case; `order` and `ids` are about all parts of a kind."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call of an ask: the key of its prompt in `CaseTexts.prompts`, and the raw reply."""

    prompt: str
    reply: str


@dataclass(frozen=True, slots=True)
class Change:
    """
    What an edit did at one place of a case, as data; `calm.results.changes` has the words.

    `part` is the kind of place: "turn", "passage", "step", of a step its "thought", "tool", "arguments" or "result",
    "copy" for the damaged copy of an answer, else a part of a case, such as "question" or "answer". `names` are the
    ids of passages and answers, or the numbers of turns and steps, from 1. `of` is the role of a turn or the tool of a
    step, `answer` whose run a step belongs to, where there are several. A passage that was added stands behind
    `behind`; empty: at the beginning. `came` and `went` begin the words that came and went; of an order, or of ids,
    they are all names.
    """

    part: str
    deed: Deed = "changed"
    names: tuple[str, ...] = ()
    of: str = ""
    answer: str = ""
    behind: str = ""
    came: str = ""
    went: str = ""


@dataclass(frozen=True, slots=True)
class CaseTexts:
    """
    What was shown and said for one case of a probe: by arm, for each ask its exchanges, and the answers as shown.

    `hash` is that of the trial it belongs to, `gold` the gold label in the code of a verdict, None where there is none.
    `came` and `went` begin the words that the edit put into the case, and those that it took out. Of cases beyond the
    first of a probe, only these and the beginning of the question are kept: they have no asks. `changes` say where an
    edit did what, if it touched a turn, a passage or a step; `unlisted` counts those that are left out.
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
    changes: tuple[Change, ...] = ()
    unlisted: int = 0

    @property
    def whole(self) -> bool:
        """Whether its prompts and replies were kept."""
        return bool(self.clean or self.perturbed)
