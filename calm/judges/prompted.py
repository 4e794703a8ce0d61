"""The usual judge: a prompt, a model behind it, and the way its reply is read."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import TypeVar

from calm import prompts, reading
from calm.case import Case, Criterion, digest
from calm.errors import JudgeError
from calm.providers import Server
from calm.verdict import Criteria, Refused, Scale, Task, Verdict
from calm.wire import Endpoint, Json, Message, Reply, Request, Send

T = TypeVar("T")

_NO_PARAMETERS = frozenset({"model", "messages", "input", "system"})


@dataclass(frozen=True, slots=True, eq=False)
class Prompted:
    """A judge that renders a prompt, sends it to a model and reads a verdict from the reply."""

    name: str
    task: Task
    scale: Scale
    prompt: prompts.Prompt
    form: reading.Format
    server: Server
    schema: Mapping[str, Json] | None = None
    as_given: bool = False
    family: str | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The one model that it asks."""
        return (self.server,)

    @property
    def parameters(self) -> dict[str, Json]:
        """What is sent with every prompt: sampling, limits, the shape of the reply."""
        return {k: v for k, v in self._body(()).items() if k not in _NO_PARAMETERS}

    @property
    def fingerprint(self) -> str:
        """Identify all that decides its verdicts."""
        parts = (self.server.identity, self.parameters, self.prompt.sha256(), repr(self.form), repr(self.scale))
        return digest(self.task, *parts)

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        negative = self.prompt.negative
        return {
            "model": self.server.model,
            "served_as": self.server.served_as,
            "provider": self.server.provider,
            "base_url": self.server.url,
            "family": self.family,
            "prompt_sha256": self.prompt.sha256(),
            "prompt": {
                "bundled": self.prompt.bundled,
                "messages": _shown(self.prompt.messages),
                "negative": None if negative is None else _shown(negative),
            },
            "parameters": self.parameters,
        }

    def sees(self, case: Case) -> object:
        """Return what is sent for a case, up to the verdict and after it."""
        return tuple(self._rendered(case, c) for c in self._parts(case)), case.follow_ups

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict on a case; a rubric is asked criterion by criterion, all at once."""
        parts = self._parts(case)
        if not parts:
            raise JudgeError(f"case {case.id}: expected criteria, as the task is 'rubric', and it has none")
        verdicts = await together(*(self._verdict(case, send, part) for part in parts))
        if self.task != "rubric":
            return verdicts[0]
        return joined({c.id: v for c, v in zip(case.criteria, verdicts, strict=True)})

    def _parts(self, case: Case) -> tuple[Criterion | None, ...]:
        return case.criteria if self.task == "rubric" else (None,)

    def _rendered(self, case: Case, criterion: Criterion | None) -> tuple[Message, ...]:
        return prompts.render(self.prompt, case, self.task, self.scale, criterion)

    async def _verdict(self, case: Case, send: Send, criterion: Criterion | None) -> Verdict:
        messages = self._rendered(case, criterion)
        reply = await self._reply(messages, send)
        for turn in case.follow_ups:
            said = reply.text or reply.refusal or ""
            if not said.strip():
                break  # no server takes an empty turn, and there is nothing to follow up
            messages = (*messages, Message("assistant", said), Message("user", turn))
            reply = await self._reply(messages, send)
        return reading.read(reply, self.form, reading.view(case, self.task, self.scale, criterion))

    async def _reply(self, messages: tuple[Message, ...], send: Send) -> Reply:
        return await send(Request(self.server, messages, self._body(messages)))

    def _body(self, messages: tuple[Message, ...]) -> dict[str, Json]:
        return self.server.body(messages, schema=self.schema, logprobs=self.form.kind == "logprobs")


def joined(verdicts: Mapping[str, Verdict]) -> Verdict:
    """
    Return the one verdict made of the verdicts on each criterion.

    A criterion whose verdict is missing has None; `Refused` only if the judge declined them all.
    """
    met: dict[str, bool | None] = {}
    probabilities: dict[str, float] = {}
    for criterion, verdict in verdicts.items():
        known = verdict if isinstance(verdict, Criteria) else Criteria({})
        met[criterion] = known.met.get(criterion)
        probabilities |= known.probabilities or {}
    refused = [v for v in verdicts.values() if isinstance(v, Refused)]
    if refused and len(refused) == len(verdicts):
        return refused[0]
    return Criteria(met, probabilities or None)


async def together(*work: Coroutine[object, object, T]) -> list[T]:
    """Do all at once and return the results in order; the first failure is raised when all have ended."""
    done = await asyncio.gather(*work, return_exceptions=True)
    results: list[T] = []
    for result in done:
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results


def _shown(messages: tuple[Message, ...]) -> list[Json]:
    return [{"role": m.role, "content": m.text} for m in messages]
