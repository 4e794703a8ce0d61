"""A judge's prompt as data: messages whose texts are templates. How they are rendered is `calm.judges.prompts`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from calm.core.case import Framing, digest
from calm.core.verdict import Scale

Form: TypeAlias = Literal["brackets", "json", "last-line", "tag", "regex", "logprobs"]
"""How a prompt asks for its verdict: the `[verdict] format` of judge.toml."""

FORMS: tuple[Form, ...] = get_args(Form)

Notes: TypeAlias = Literal["question", "end", "refuse"]
"""Where a prompt shows a note that its templates have no place for: `[prompt] notes` of judge.toml."""

NOTES: tuple[Notes, ...] = get_args(Notes)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a prompt."""

    role: str
    text: str


Messages: TypeAlias = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """
    A judge's prompt: messages whose texts are Jinja2 templates, and its framing-inverted twins.

    `negative` asks how bad an answer is, which one is worse, whether it fails; `inverted` asks for a score on the
    scale turned over. `bundled` marks our own templates, in which everything untrusted is neutralised. `notes` says
    where a user's own prompt shows what its templates have no place for ("refuse": nowhere). `form`, `scale` and
    `values` (labels to scores) say how the prompt asks for the verdict; where they are empty, the judge's own settings
    do.
    """

    messages: Messages
    negative: Messages | None = None
    inverted: Messages | None = None
    bundled: bool = False
    notes: Notes = "question"
    form: Form | None = None
    scale: Scale | None = None
    values: Mapping[str, float] = field(default_factory=dict)

    def sha256(self) -> str:
        """Return the digest of all templates."""
        sets = [
            None if one is None else [[m.role, m.text] for m in one]
            for one in (self.messages, self.negative, self.inverted)
        ]
        return digest("prompt", self.bundled, *sets, *(() if self.bundled else (self.notes,)))

    def framed(self, framing: Framing) -> Messages:
        """Return the templates for a framing; the standard ones where the twin is missing."""
        if framing is Framing.STANDARD:
            return self.messages
        twin = {Framing.NEGATIVE: self.negative, Framing.INVERTED: self.inverted}.get(framing)
        return self.messages if twin is None else twin

    def each(self, change: Callable[[Messages], Messages]) -> Prompt:
        """Return a copy in which the messages of every framing went through `change`."""
        return replace(
            self,
            messages=change(self.messages),
            negative=None if self.negative is None else change(self.negative),
            inverted=None if self.inverted is None else change(self.inverted),
        )
