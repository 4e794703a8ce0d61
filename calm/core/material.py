"""What a judge sees beside the question and the answers: turns of a conversation, passages, steps of an agent's run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from calm.core.pretty import print_set_fields

USER: Final = "user"
ASSISTANT: Final = "assistant"
CARRIES: Final = "carries"
"""The tag of a case that names the passage which carries the answer, by its id."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation: who spoke (`role`, such as "user" or "assistant"), and the text."""

    role: str
    text: str

    _repr_pretty_ = print_set_fields

    def content(self) -> dict[str, object]:
        """Return it as JSON-able data."""
        return {"role": self.role, "text": self.text}


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved text, by the id that answers cite it with."""

    id: str
    text: str

    _repr_pretty_ = print_set_fields

    def content(self) -> dict[str, object]:
        """Return it as JSON-able data."""
        return {"id": self.id, "text": self.text}


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """
    One step of an agent's run: what it thought, and the tool that it called, if any, with what came of the call.

    `arguments` are those of the call as JSON, `result` what the tool returned; empty without a call. A step that calls
    nothing has a thought.
    """

    thought: str = ""
    tool: str = ""
    arguments: str = ""
    result: str = ""

    _repr_pretty_ = print_set_fields

    def content(self) -> dict[str, object]:
        """Return it as JSON-able data, without what is empty."""
        whole = {"thought": self.thought, "tool": self.tool, "arguments": self.arguments, "result": self.result}
        return {name: text for name, text in whole.items() if text}


def texts_of_steps(steps: Iterable[Step]) -> list[str]:
    """Return all texts of steps, in their order, without what is empty."""
    return [text for step in steps for text in (step.thought, step.tool, step.arguments, step.result) if text]
