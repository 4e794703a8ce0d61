"""What a log holds: judgments, each one verdict of one judge on one question with its answer or answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from calm.core.material import Turn

Who: TypeAlias = Literal["judge", "person"]
State: TypeAlias = Literal["said", "unread", "failed"]
"""A verdict was read; a reply came and no verdict was read in it; or the call of the judge failed."""

ANY: Final = "*"
"""The metric of a person's verdict on an answer as a whole: it is gold for each judge."""
PAIR: Final = 2
"""So many answers has a judgment that says which one is better; all others have one."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """
    One verdict. `value` is the verdict as the tool wrote it: a number, a truth value or a word, and of a pair the
    place of the better answer (0 or 1); None unless `state` is "said".

    `context` holds the retrieved texts in their order. `prompt` and `reply` are as they went over the wire, empty where
    the tool keeps none. `passed` and `threshold` are what the tool made of a score. `tools` says that the application
    used tools on the way to its answer, of which neither question nor answer say a word. `row` is the record as it
    stands in the log, for what a user maps. A `person` without a name is "".
    """

    metric: str
    place: str
    question: str
    answers: tuple[str, ...]
    value: object
    state: State = "said"
    item: str = ""
    reference: str | None = None
    context: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    authors: tuple[str, ...] = ()
    who: Who = "judge"
    person: str = ""
    reason: str = ""
    prompt: tuple[Turn, ...] = ()
    reply: str = ""
    model: str = ""
    passed: bool | None = None
    threshold: float | None = None
    limits: tuple[float, float] | None = None
    tools: bool = False
    row: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Log:
    """The judgments of some files of one tool, and how much of what they hold is no judgment, by reason."""

    kind: str
    names: tuple[str, ...]
    judgments: list[Judgment] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def leave(self, why: str) -> None:
        """Count a record of which nothing is taken."""
        self.left[why] += 1
