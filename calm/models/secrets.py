"""Values that are never shown: keys, and headers that come from variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from calm.models import vault
from calm.models.logs import veil_logs
from calm.models.wire import Reply, Token

HIDDEN: Final = "***"

_LOOKS_SECRET = re.compile(r"(?i)\b(?:sk|pk|rk)-[\w*.-]{6,}|bearer\s+\S+")


def on_guard() -> None:
    """Know the credentials of the environment, and keep all that are known out of the logs of this process."""
    vault.learn(os.environ)
    veil_logs()


@dataclass(frozen=True, slots=True, repr=False)
class Secrets:
    """The values behind names of variables: never shown, stored or compared."""

    key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        vault.keep(self.values)  # so that no output of this process shows one
        if self.values:
            on_guard()

    def __repr__(self) -> str:
        return "Secrets(...)"

    @property
    def values(self) -> tuple[str, ...]:
        """All values, the longest first, for scrubbing."""
        found = [*self.headers.values(), *self.query.values(), *([self.key] if self.key else [])]
        return tuple(sorted((v for v in found if v), key=len, reverse=True))

    def scrub(self, text: str) -> str:
        """Return the text without any known credential, and without what looks like one."""
        return _LOOKS_SECRET.sub(vault.HIDDEN, vault.without_userinfo(vault.hidden(text)))

    def hide(self, text: str) -> str:
        """Return a text of the model's own with `***` for each of the values: nothing else in it is changed."""
        return vault.hidden(text, HIDDEN)

    def hide_all(self, data: object) -> object:
        """Do the same to all texts in what a JSON reply holds."""
        if not vault.knows_any():
            return data
        if isinstance(data, str):
            return self.hide(data)
        if isinstance(data, list):
            return [self.hide_all(item) for item in data]
        if isinstance(data, dict):
            return {name: self.hide_all(item) for name, item in data.items()}
        return data

    def hide_in(self, reply: Reply) -> Reply:
        """Return a reply without the values, which a server may repeat, also across parts and tokens."""
        if not vault.knows_any():
            return reply
        refusal = None if reply.refusal is None else self.hide(reply.refusal)
        tokens = None if reply.tokens is None else _hidden(reply.tokens)
        calls = tuple((self.hide(name), self.hide(arguments)) for name, arguments in reply.calls)
        shown = replace(reply, text=self.hide(reply.text), model=self.hide(reply.model))
        return replace(shown, refusal=refusal, tokens=tokens, calls=calls)


def _hidden(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return tokens, each one that holds a piece of a value replaced."""
    whole = "".join(t.text for t in tokens)
    found = [match.span() for form in vault.found_in(whole) for match in re.finditer(re.escape(form), whole)]
    kept: list[Token] = []
    at = 0
    for token in tokens:
        start, at = at, at + len(token.text)
        inside = any(start < end and at > begin for begin, end in found)
        kept.append(Token(HIDDEN, token.logprob) if inside else token)
    return tuple(kept)
