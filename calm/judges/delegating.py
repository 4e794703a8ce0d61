"""A judge around a judge: what all of them pass on, so that each says only what it does differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from calm.core.case import Case
from calm.core.templates import Prompt
from calm.core.verdict import Scale, Task, Verdict
from calm.models.wire import Endpoint, Json, Judge, Rewordable, Send


@dataclass(frozen=True, slots=True, eq=False)
class Delegating:
    """A judge that is, in all that is not said otherwise, the judge inside; with its prompt it is rewritten, too."""

    inner: Judge

    @property
    def name(self) -> str:
        """The name of the judge inside."""
        return self.inner.name

    @property
    def task(self) -> Task:
        """The task of the judge inside."""
        return self.inner.task

    @property
    def scale(self) -> Scale:
        """The scale of the judge inside."""
        return self.inner.scale

    @property
    def fingerprint(self) -> str | None:
        """What identifies the judge inside."""
        return self.inner.fingerprint

    @property
    def as_given(self) -> bool:
        """Whether the judge inside wants the answers in the case's own order."""
        return self.inner.as_given

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of the judge inside."""
        return self.inner.about

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The models of the judge inside."""
        return self.inner.endpoints

    @property
    def asks(self) -> Prompt | None:
        """The prompt of the judge inside, if it has one."""
        return self.inner.asks if isinstance(self.inner, Rewordable) else None

    @property
    def concurrency(self) -> int:
        """How many asks at a time the judge inside takes, where it is code."""
        return int(getattr(self.inner, "concurrency", 32))

    @property
    def quick(self) -> bool:
        """Whether the judge inside is code that answers at once."""
        return bool(getattr(self.inner, "quick", False))

    @property
    def send(self) -> str:
        """How the judge inside takes `send`, where it is code that does."""
        return str(getattr(self.inner, "send", ""))

    @property
    def serves(self) -> frozenset[str] | None:
        """The suites that the judge inside serves, if it says so."""
        found: frozenset[str] | None = getattr(self.inner, "serves", None)
        return found

    @property
    def at_most(self) -> bool:
        """Whether a verdict may take fewer calls than a plan finds."""
        return bool(getattr(self.inner, "at_most", False))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a run should say of the judge inside."""
        return tuple(getattr(self.inner, "notes", ()))

    def with_prompt(self, prompt: Prompt) -> Self:
        """Return the same around the judge with another prompt."""
        return replace(self, inner=self.inner.with_prompt(prompt)) if isinstance(self.inner, Rewordable) else self

    def sees(self, case: Case) -> object:
        """Return what the judge inside sees."""
        return self.inner.sees(case)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict of the judge inside."""
        return await self.inner.judge(case, send)
