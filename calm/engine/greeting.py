"""The greeting, the first live call to each endpoint: does its server answer, and which model serves it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from calm.core.reasons import Kind, because, name, reason_of
from calm.engine.attempts import Call
from calm.engine.ledger import Ledger
from calm.engine.servers import GREETING_TOKENS
from calm.engine.store import Mode, Store
from calm.errors import ConfigError, JudgeError
from calm.models.conformance import schema_fault
from calm.models.wire import Endpoint, Reply

RETRIES: Final = 3
"""A greeting is tried again at most so many times: a user waits for it."""


class Greeting:
    """Greets endpoints: `served` gets the model that serves each of them, and `reply` makes a call."""

    def __init__(self, store: Store, served: dict[str, str], ledger: Ledger, reply: Callable[[Call], Reply]) -> None:
        self._store, self._served, self._ledger, self._reply = store, served, ledger, reply

    def greet(self, endpoint: Endpoint) -> None:
        """
        Note which model serves an endpoint, for this run and in the store; in `replay`, look it up in the store.

        Raises:
            ConfigError: no answer, another model than the user named, or nothing to replay.
        """
        if not endpoint.live or endpoint.identity in self._served:
            return
        if not endpoint.greeting:
            self._ledger.note(because(Kind.NOT_GREETED, name(endpoint.model)))
            return
        before = self._store.served(endpoint.identity)
        if self._store.mode is Mode.REPLAY:
            if before is None:
                raise ConfigError(
                    f"--calm-cache=replay: the cache {self._store.place} holds no run of the model {endpoint.model!r}"
                )
            self._served[endpoint.identity] = before
            return
        self._served[endpoint.identity] = now = self._served_by(endpoint)
        if before is not None and before != now:
            self._ledger.note(because(Kind.SERVED_NOW, name(endpoint.model), name(now), name(before)))
        self._store.serves(endpoint.identity, now)

    def _served_by(self, endpoint: Endpoint) -> str:
        """Make a greeting, and return the model that serves the endpoint."""
        try:
            found = self._reply(Call(endpoint, endpoint.greet, 0, GREETING_TOKENS, min(endpoint.retries, RETRIES)))
        except JudgeError as error:
            raise ConfigError(f"{error}{_hint(endpoint, error)}") from error
        if endpoint.served_as and found.model and found.model != endpoint.served_as:
            raise ConfigError(
                f"the model {endpoint.model!r} is served by {found.model!r}, but judge.toml says "
                f"served_as = {endpoint.served_as!r}; correct it, or find out who changed the model"
            )
        if endpoint.schema is not None and schema_fault(found, endpoint.schema):
            self._ledger.note(because(Kind.SCHEMA_BROKEN, name(endpoint.model)))
        return found.model or endpoint.model


def _hint(endpoint: Endpoint, error: JudgeError) -> str:
    """Return what else may be wrong where a greeting was not answered, as the caller cannot see that it was one."""
    if reason_of(error).has(Kind.CAPPED):
        return "; the first live call did not fit: allow more"
    if error.fatal or error.silent or error.again or error.unknown:  # it answers nothing else either
        return ""
    return (
        "; this was the greeting, the first call of a run; if the server answers the judge's own prompts alone, set "
        "greeting = false in the [model] table of judge.toml"
    )
