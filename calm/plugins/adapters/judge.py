"""
A judge of another tool as a judge of calm: it is asked about a sample before the run, and its calls go through calm.

In the dry ask nothing leaves this process: its requests get replies as small as the judge's own schema lets them be.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Any, Final, cast
from urllib.parse import urlsplit

from calm.core.case import Case, digest
from calm.core.reasons import Kind, Said, because, name
from calm.core.verdict import FAMILY, Refused, Scale, Task, Unreadable, Verdict, unreadable
from calm.errors import CalmError, ConfigError, JudgeError
from calm.judges.blind import blinded, visible
from calm.judges.code import awaited, imported, in_short, in_thread, settled, verdict_of
from calm.models.apis import items, table
from calm.models.wire import Endpoint, Json, Judge, Remarks, Reply, Request, Send, Traits
from calm.plugins.adapters.door import DRY, PARAMETERS, VISITOR, Ask, Models, visiting
from calm.plugins.adapters.evaluator import Evaluator, package

STAND_IN_KEY: Final = "no-key-for-a-replay"
KEYS: Final = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
"""What clients of models want to be given before they are made."""


class Runner:
    """
    Runs the code of one judge, in the context in which it was made: some tools keep a client there.

    An asynchronous one runs in a loop of its own: where it calls a model without `await`, that loop waits, and the
    engine's goes on. Any other one gets a thread for each ask.
    """

    def __init__(self) -> None:
        self._made_in = copy_context()

    async def run(self, call: Callable[[], Any], *, asynchronous: bool) -> object:
        """Return what a call returns, or raise what it raises."""
        context = self._made_in.copy()
        for one in (VISITOR, DRY):
            context.run(cast("ContextVar[Any]", one).set, one.get())
        if not asynchronous:
            return await asyncio.get_running_loop().create_task(in_thread(call), context=context)
        running = context.run(asyncio.run_coroutine_threadsafe, awaited(call), self._loop)
        return await settled(asyncio.wrap_future(running))

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="calm-adapter", daemon=True).start()
        return loop


MOST_CALLS: Final = 60
"""A judge that asks more than this about one case is stopped: its replies make no sense, so it may go on for ever."""
DEEPEST: Final = 12
WORD: Final = "dry"


@dataclass(frozen=True, slots=True)
class DryAsk:
    """
    What came of a dry ask.

    `requests` are those to models, in their order. `elsewhere` names the hosts that it tried to reach otherwise.
    `error` is what ended it early: then more requests may follow.
    """

    requests: tuple[Request, ...]
    elsewhere: tuple[str, ...]
    error: BaseException | None


def _dry_ask(asked: Callable[[Ask], Awaitable[object]], models: Models) -> DryAsk:
    found: list[DryAsk] = []

    async def once() -> None:
        DRY.set(True)
        send = _DrySend()
        ask = _DryVisitor(send, models)
        error: BaseException | None = None
        try:
            await asked(ask)
        except BaseException as caught:  # noqa: BLE001 - it is reported if the judge sent nothing before
            error = caught
        found.append(DryAsk(tuple(send.requests), tuple(ask.elsewhere), ask.error or error))

    _watched()
    reached: list[str] = []
    _GUARD.update(others={thread.ident for thread in threading.enumerate()}, reached=reached)
    try:
        thread = threading.Thread(target=lambda: asyncio.run(once()), name="calm-dry", daemon=True)
        thread.start()
        thread.join()
    finally:
        _GUARD.clear()
    dry = found[0]
    requests = dry.requests if dry.error is None else _first_tries(dry.requests)
    return DryAsk(requests, tuple(dict.fromkeys((*dry.elsewhere, *reached))), dry.error)


def _first_tries(requests: tuple[Request, ...]) -> tuple[Request, ...]:
    kept: list[Request] = []
    for one in requests:
        again = any(one.prompt[: len(before.prompt)] == before.prompt for before in kept)
        if not again:
            kept.append(one)
    return tuple(kept)


class _DryVisitor(Ask):
    """An ask of which nothing goes on its way."""

    def passes(self, url: str) -> bool:
        """Return that no request goes on its way, and note its host."""
        self.elsewhere.setdefault(urlsplit(url).netloc)
        return False


class _DrySend:
    """A `send` that notes each request and calls no server."""

    ask = 1

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        if len(self.requests) > MOST_CALLS:
            raise JudgeError(f"it asked more than {MOST_CALLS} times about one case")
        return _smallest_reply(request.body)


def _smallest_reply(body: Mapping[str, Json]) -> Reply:
    for tool in map(table, items(body.get("tools"))):
        function = table(tool.get("function")) or tool
        name, schema = function.get("name"), function.get("parameters", function.get("input_schema"))
        if isinstance(name, str) and isinstance(schema, dict):
            return Reply("", calls=((name, json.dumps(_smallest(schema, schema))),))
    given = table(body.get("response_format")) or table(table(body.get("text")).get("format"))
    given = given or table(table(body.get("output_config")).get("format"))
    inner = table(given.get("json_schema")) or given
    schema = inner.get("schema")
    return Reply(json.dumps(_smallest(schema, schema)) if isinstance(schema, dict) else WORD)


def _smallest(schema: object, root: Mapping[str, Any], depth: int = 0) -> Json:
    if not isinstance(schema, dict) or depth > DEEPEST:
        return WORD
    if isinstance(ref := schema.get("$ref"), str):
        target: Any = root
        for step in ref.removeprefix("#/").split("/"):
            target = table(target).get(step)
        return _smallest(target, root, depth + 1)
    for several in ("anyOf", "oneOf", "allOf"):
        if items(schema.get(several)):
            return _smallest(items(schema[several])[0], root, depth + 1)
    if "const" in schema:
        return schema["const"]  # type: ignore[no-any-return]  # it is JSON
    if items(schema.get("enum")):
        return items(schema["enum"])[0]  # type: ignore[return-value]  # it is JSON
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            properties = table(schema.get("properties"))
            return {name: _smallest(inner, root, depth + 1) for name, inner in properties.items()}
        case "array":
            return [_smallest(schema.get("items"), root, depth + 1)]
        case "number" | "integer":
            return schema.get("minimum", 0)  # type: ignore[no-any-return]  # it is JSON
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return WORD


_GUARD: Final[dict[str, Any]] = {}
"""While a dry ask runs: the threads that were there before it, and where connections were to go."""


def _refuse(event: str, given: tuple[Any, ...]) -> None:
    if not _GUARD or event != "socket.connect":
        return
    mine = DRY.get() or threading.get_ident() not in _GUARD["others"]
    if mine and given[0].family in (socket.AF_INET, socket.AF_INET6):
        _GUARD["reached"].append(f"{given[1][0]}:{given[1][1]}")
        raise ConnectionRefusedError("calm makes no connection before the run")


@cache
def _watched() -> None:
    sys.addaudithook(_refuse)


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
            (one.endpoint, max(0, sum(len(message.text) for message in one.prompt) + more), False)
            for one in self.dry.requests
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

    dry = _dry_ask(asked, models)
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


def _times(calls: int) -> str:
    return "one call" if calls == 1 else f"{calls} calls"


def adapted(spec: str, *, keyless: bool = False) -> Judge:
    """
    Return the judge of another tool that a specification names.

    A `keyless` one is for a replay: where its clients ask for a key, they get one that no server takes.

    Raises:
        ConfigError: the tool is not installed, there is no such object, or it is of a kind that cannot be a judge.
    """
    kind, _, rest = spec.partition(":")
    if kind == "promptfoo":
        from calm.plugins.adapters.promptfoo import evaluator_of_file

        return unseen_judge(spec, evaluator_of_file(rest, spec), "the models of promptfoo's graders")
    from calm.plugins.adapters.tools import TOOLS

    tool = TOOLS[kind]
    module, _, attribute = rest.partition(":")
    if not module or not attribute:
        meant = f"; did you mean {kind}:{':'.join(rest.rsplit('.', 1))}?" if "." in rest else ""
        expected = f"expected {kind}:package.module:name, got {rest!r} after {kind}:{meant}"
        raise ConfigError(f"--calm-judge {spec}: {expected}")
    environment = {name: value for name, value in tool.environment.items() if name not in os.environ}
    os.environ.update(environment)
    if keyless:
        for name in KEYS:
            os.environ.setdefault(name, STAND_IN_KEY)
    package(tool.package, kind, spec)
    evaluator = tool.evaluator_of(imported(spec, module, attribute, wanted=lambda one: one is not None), spec)
    return adapted_judge(spec, evaluator, keyless=keyless, environment=environment)
