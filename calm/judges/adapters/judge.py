"""A judge of another tool as a judge of calm: it is asked about a case, and its calls go through calm."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from calm.core.case import Case, digest
from calm.core.reasons import Kind, Said, because, name
from calm.core.verdict import FAMILY, Refused, Scale, Task, Unreadable, Verdict, unreadable
from calm.errors import CalmError, ConfigError, JudgeError
from calm.judges.adapters.ask import Ask
from calm.judges.adapters.door import visiting
from calm.judges.adapters.dry import DryAsk, dry_ask
from calm.judges.adapters.evaluator import Evaluator
from calm.judges.adapters.models import PARAMETERS, Models
from calm.judges.adapters.running import Runner
from calm.judges.blind import blinded, visible
from calm.judges.code import in_short, verdict_of
from calm.models.wire import Endpoint, Json, Remarks, Request, Send, Traits

EXAMPLES = 2
"""How many of the replies without a verdict a judge keeps."""


@dataclass(frozen=True, slots=True, eq=False)
class AdaptedJudge:
    """
    An evaluator of another tool as a judge.

    `name` is what the user wrote: the tool, and the object. `dry` is what was found out before the run. What the tool
    makes nothing of, though its model answered, is `Unreadable`. A model that declined is `Refused`, and so is an empty
    answer that the tool does not pass on to one.
    """

    name: str
    evaluator: Evaluator
    models: Models
    dry: DryAsk
    runner: Runner
    environment: Mapping[str, str] = field(default_factory=dict)
    """The variables that calm set for the tool, as the user had not."""
    _unread: list[str] = field(default_factory=list, init=False, repr=False)
    _elsewhere: dict[str, None] = field(default_factory=dict, init=False, repr=False)

    @property
    def task(self) -> Task:
        """What it is asked to do."""
        return self.evaluator.task

    @property
    def scale(self) -> Scale:
        """The range of its scores."""
        return self.evaluator.scale

    @property
    def traits(self) -> Traits:
        """It is code that sends, if a model of it is known."""
        return Traits(concurrency=64 if self.evaluator.asynchronous else 8, sends=bool(self.dry.requests))

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The models that it asked about the sample."""
        return tuple({one.endpoint.identity: one.endpoint for one in self.dry.requests}.values())

    @property
    def fingerprint(self) -> str | None:
        """A digest of its package's release and of all that it sent about the sample; None: nothing is known of it."""
        if not self.dry.requests:
            return self.evaluator.fingerprint
        sent = [[one.endpoint.identity, dict(one.body)] for one in self.dry.requests]
        return digest(self.name, self.evaluator.release, self.evaluator.task, repr(self.scale), sent)

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of it."""
        first = self.dry.requests[0] if self.dry.requests else None
        model = None if first is None else first.endpoint.model
        passed: dict[str, Json] = dict(self.evaluator.passes)
        return {
            "model": model,
            "tool": self.evaluator.release,
            "reads": list(self.evaluator.reads),
            "passed": passed,
            "parameters": {k: v for one in self.dry.requests for k, v in one.body.items() if k in PARAMETERS},
            **self.evaluator.description,
            "environment": dict(self.environment),
        }

    @property
    def remarks(self) -> Remarks:
        """In what it differs from how its own tool runs it, what calm does not see of it, and what it returned."""
        notes = [because(Kind.TOOL_DIFFERS, name(self.name), Said(note)) for note in self.evaluator.notes]
        if hosts := self._hosts:
            notes.append(because(Kind.CALLS_ELSEWHERE, name(self.name), ", ".join(hosts)))
        values = dict.fromkeys(self._unread)
        if not values:
            return Remarks(tuple(notes))
        unread = because(Kind.TOOL_UNREAD, name(self.name), *map(Said, values))
        return Remarks(tuple(notes), unread=(unread,))

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a plan assumes of its calls."""
        said = []
        if hosts := self._hosts:
            said.append(
                f"{self.name}: its calls to {', '.join(hosts)} do not go through calm: they are neither cached, "
                "counted nor priced, and no cap stops them"
            )
        if not self.dry.requests:
            if not self._hosts:
                said.append(f"{self.name}: it asked no model that calm knows of about a sample")
        elif self.dry.error is not None:
            said.append(
                f"{self.name}: {_times(len(self.dry.requests))} an ask, as with a sample; what it asks after that "
                "depends on the replies"
            )
        else:
            said.append(f"{self.name}: {_times(len(self.dry.requests))} an ask, as with a sample")
        return tuple(said)

    def outline(self, case: Case) -> tuple[tuple[Endpoint, int, bool], ...]:
        """Return the calls of one ask: the endpoint, the characters of the prompt, whether it is made once a run."""
        more = _characters(self.evaluator, case) - _characters(self.evaluator, self.evaluator.sample())
        return tuple(
            (one.endpoint, max(0, _length(one) + (0 if one.once else more)), one.once) for one in self.dry.requests
        )

    @property
    def _hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.dry.elsewhere, *self._elsewhere)))

    def sees(self, case: Case) -> object:
        """
        Return what of a case can reach its verdict.

        Raises:
            ConfigError: the case lacks what it is passed.
        """
        self.evaluator.values(case)
        return visible(case, self.evaluator.reads)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return its verdict on a case.

        Raises:
            JudgeError: a call of it failed, or it failed by itself.
        """
        hidden = blinded(case, self.evaluator.reads)
        ask = Ask(send, self.models)
        verdict = await _verdict(self.name, self.evaluator, self.runner, hidden.case, ask)
        for host in ask.elsewhere:
            self._elsewhere.setdefault(host)
        if isinstance(verdict, Unreadable) and len(self._unread) < EXAMPLES:
            self._unread.append(verdict.reason)
        return hidden.named(verdict)


def unseen_judge(name: str, evaluator: Evaluator, where: str) -> AdaptedJudge:
    """Return an evaluator as a judge that is not asked before the run, as its calls go elsewhere, to `where`."""
    return AdaptedJudge(name, evaluator, Models(), DryAsk((), (where,), None), Runner())


def adapted_judge(
    name: str, evaluator: Evaluator, *, keyless: bool = False, environment: Mapping[str, str] | None = None
) -> AdaptedJudge:
    """
    Return an evaluator as a judge, after a dry ask; `environment` holds the variables that were set for its tool.

    Raises:
        ConfigError: it failed before it sent anything.
    """
    models, runner, case = Models(keyless=keyless), Runner(), evaluator.sample()

    async def asked(ask: Ask) -> object:
        return await _value(evaluator, runner, case, ask)

    dry = dry_ask(asked, models)
    if dry.error is not None and not dry.requests and not dry.elsewhere:
        said = in_short(dry.error) if not isinstance(dry.error, CalmError) else str(dry.error)
        raise ConfigError(f"--calm-judge {name}: it failed on a sample case, before it asked any model: {said}")
    return AdaptedJudge(name, evaluator, models, dry, runner, environment or {})


async def _value(evaluator: Evaluator, runner: Runner, case: Case, ask: Ask) -> object:
    values = evaluator.values(case)
    with visiting(ask):
        return await runner.run(partial(evaluator.call, values), asynchronous=evaluator.asynchronous)


async def _verdict(whose: str, evaluator: Evaluator, runner: Runner, case: Case, ask: Ask) -> Verdict:
    value: object = None
    failed: BaseException | None = None
    try:
        value = await _value(evaluator, runner, case, ask)
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except CalmError:
        if ask.error is None:
            raise
    except BaseException as error:  # noqa: BLE001 - whatever the tool makes of a reply
        failed = error
    if ask.error is not None:  # it is not for the tool to make a verdict of it
        raise ask.error from failed
    if failed is not None and not ask.replies:
        if any(not answer.text.strip() for answer in case.answers):  # tools check what they are passed
            return Refused(in_short(failed))
        raise JudgeError(
            f"judge {whose}: case {case.id}: it failed before it asked any model: {in_short(failed)}"
        ) from failed
    if ask.replies and ask.declined == ask.replies:
        return Refused(ask.refusal)
    if failed is not None:
        return Unreadable(in_short(failed))
    if ask.twice:  # a tool would take the last value, and not say so
        return unreadable(ask.twice)
    if ask.replies and ask.empty == ask.replies:
        return Unreadable("the model's reply is empty")
    if value is None:
        return Unreadable("it gave no score")
    try:
        return verdict_of(value, case, FAMILY[evaluator.task], evaluator.scale)
    except ValueError as error:
        return Unreadable(str(error))


def _characters(evaluator: Evaluator, case: Case) -> int:
    texts = evaluator.values(case).values()
    return sum(len(text) for text in texts if isinstance(text, str))


def _length(request: Request) -> int:
    return sum(len(message.text) for message in request.prompt)


def _times(calls: int) -> str:
    return "one call" if calls == 1 else f"{calls} calls"
