"""Many asks at a time: each goes to its queue once, by a lot, asks its judge, and whoever wants its verdict gets it."""

from __future__ import annotations

import asyncio
import json
import marshal
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, sha256
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from calm.core.case import Case, digest
from calm.core.memo import Identity
from calm.core.order import Recipe, made
from calm.core.reasons import Kind, Reason, Said, because, name, reason_of
from calm.core.verdict import NoReply, Refused, Unreadable, Verdict, code, decode, readable
from calm.engine.calls import Calls, Send
from calm.engine.money import KEY_BYTES, ONE
from calm.engine.queue import GUEST, Place, Queue, Scheduler, SetAside
from calm.engine.store import Mode, request_text
from calm.errors import JudgeError
from calm.models.pacing import FIRST, PRIORITY, Pace
from calm.models.wire import Endpoint, Foreseen, Judge, Limits, Reply, Request, foreseen

LOOKS: Final = ((12, 12), (20, 17))
"""
The run ends if of so many replies so many cannot be read.

Each reply is about a case of its own, as it is. With the chance r that a reply can be read, the run ends with a chance
of 0.0014 at r = .5, of 1e-6 at r = .7, and of 1e-12 at r = .9.
"""


class Legibility:
    """
    Counts which of the first replies of each judge can be read. A refusal can be; a call that failed is no reply.

    Code that raised, or returned what is no verdict, can be read as little.
    """

    def __init__(self) -> None:
        self._unread: dict[str, dict[str, bool]] = defaultdict(dict)
        self._failed: set[str] = set()
        self._faults: dict[str, Reason] = {}

    def fault(self, whose: str) -> Reason | None:
        """Return why a judge is asked no more, by the name of its asks; None: it is."""
        return self._faults.get(whose)

    def note(self, whose: str, judge: Judge, case: Case | Recipe[Case], verdict: Verdict) -> None:
        """Note the verdict on a case as it is; of each case the first reply counts. What is replayed costs nothing."""
        if judge.traits.recorded is not None:
            return
        seen, failed = self._unread[whose], isinstance(verdict, NoReply)
        if whose in self._faults or len(seen) >= LOOKS[-1][0] or case.id in seen:
            return
        if isinstance(verdict, NoReply):
            if not any(map(reason_of(verdict.reason).has, _BY_CODE)):
                return
            self._failed.add(whose)
        seen[case.id] = failed or (not readable(verdict) and not isinstance(verdict, Refused))
        if (len(seen), sum(seen.values())) in _ENDING:
            unread, why = sum(seen.values()), judge.remarks.unread
            if not why and isinstance(verdict, Unreadable):  # a judge around others may keep no replies
                why = (because(Kind.SAID, Said(verdict.reason)),)
            kind = Kind.JUDGE_FAILS if whose in self._failed else Kind.JUDGE_UNREAD
            self._faults[whose] = because(kind, name(judge.name), unread, len(seen), *why)


_BY_CODE: Final = (Kind.CODE_RAISED, Kind.VALUE_WRONG)
"""Why code that is a judge gave no verdict."""
_ENDING: Final = frozenset((asked, unread) for asked, least in LOOKS for unread in range(least, asked + 1))


ONCE = 1
"""The repeat index of a request that belongs to no single ask."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """
    The verdict of one ask, and the keys of the calls that it took.

    `once` are those of the calls that it shares with every ask of the run (`Request.once`). `places` has the identity
    of the endpoint of each call, by its key, where its judge has several (None: it has one).
    """

    verdict: Verdict
    calls: tuple[bytes, ...] = ()
    once: tuple[bytes, ...] = ()
    places: Mapping[bytes, str] | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What came of one request: its key in the cache, and the reply, or why there is none."""

    key: bytes
    reply: Reply | NoReply


AT_ONCE: Final = 256
"""How many questions are put into queues before the loop turns to something else."""

LOT_BYTES: Final = 8
"""A lot has so many bytes for the case and so many for the question."""

Question: TypeAlias = tuple[Judge, Case | Recipe[Case], int]
"""A judge, a case and the repeat index. A case that is held as its recipe is made to be asked about, and let go."""


class PlainQuestion(NamedTuple):
    """
    A question about a case as it is, by the run's own prompt.

    If most of the first replies to such questions cannot be read, no edit is to blame: the judge is asked no more.
    """

    judge: Judge
    case: Case | Recipe[Case]
    ask: int


R = TypeVar("R", Judgment, Response)


def _own(error: BaseException) -> BaseException:
    """
    Return an error of some work; raise it where it stops the present task.

    A `CancelledError` that the work raised by itself, as the code of an edit can, would stop those who wait for it.
    """
    if not isinstance(error, asyncio.CancelledError):
        return error
    present = asyncio.current_task()
    if present is not None and present.cancelling():
        raise error
    found = RuntimeError(f"the code of an edit, or of a judge, raised {type(error).__name__}")
    found.__cause__ = error
    return found


@dataclass(eq=False, slots=True)
class _Group(Generic[R]):
    """Results that a caller waits for together, by their places; `left` of them are not there yet."""

    results: list[R | None]
    left: int
    done: asyncio.Future[None]

    @classmethod
    def of(cls, size: int) -> _Group[R]:
        return cls([None] * size, size, asyncio.get_running_loop().create_future())

    def take(self, place: int, result: R) -> None:
        self.results[place] = result
        self.left -= 1
        if self.left == 0 and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    async def all(self) -> list[R]:
        if self.results:
            await self.done
        return [result for result in self.results if result is not None]


@dataclass(eq=False, slots=True)
class _Job:
    """
    One ask without a verdict, and who waits for it.

    `prefetches` counts those who may come to want it. `plain`: it is about the case as it is. `whose` names the judge.
    """

    key: bytes
    judge: Judge
    case: Case | Recipe[Case]
    ask: int
    waiting: list[tuple[_Group[Judgment], int]] = field(default_factory=list)
    prefetches: int = 0
    place: Place | None = None
    plain: bool = False
    whose: str = ""


@dataclass(eq=False, slots=True)
class Prefetch:
    """Questions that are asked before anybody waits for their verdicts, until they are withdrawn."""

    jobs: list[_Job] = field(default_factory=list)
    over: bool = False


@dataclass(eq=False, slots=True)
class _Handle:
    """A judge, and what it is known by in this run: a name for the keys of its asks, a queue, itself if `Foreseen`."""

    judge: Judge
    name: str
    queue: Queue
    foreseen: Foreseen | None = None


_Asked: TypeAlias = tuple[bytes, _Handle, Question]
"""A question by the key of its ask, with what its judge is known by."""


def _content_key(handle: _Handle, case: Case) -> bytes:
    """
    Return the key of the asks of a judge on a case, without the repeat index; of this process alone.

    Version 2 of the format writes no references, so equal contents are equal bytes. What it does not know, such as a
    member of an enumeration in a case that somebody's code made, is written as JSON.
    """
    content = case.content()
    try:
        written = marshal.dumps((handle.name, content), 2)
    except ValueError:
        written = digest(handle.name, content).encode()
    return sha256(written).digest()[:KEY_BYTES]


def _known_key(handle: _Handle, case: Case | Recipe[Case]) -> bytes:
    if isinstance(case, Recipe) and isinstance(case.mark, tuple) and case.mark[0] is handle:
        return cast("bytes", case.mark[1])
    whole = made(case)
    if type(whole) is not Case:
        raise TypeError(f"case {case.id}: expected a plain Case, which holds no secret of the experiment")
    key = _content_key(handle, whole)
    if isinstance(case, Recipe):
        case.mark = handle, key
    return key


def _round(ask: int) -> int:
    """Return the round of a question: that of the context; but ask 0 is a pilot, which other questions wait for."""
    return PRIORITY.get() if ask else FIRST - 1


class Asks:
    """
    Asks judges, and models for texts, through queues. Equal questions share one verdict in a run, unless it is a
    `NoReply`. A judge that cannot be read is asked no more: whoever waits for it gets a `JudgeError`.

    Each question has a lot, drawn from the seed and the question itself: among all that wait, the order is the same
    whoever asked first. The questions about one case are a block: they go together, in an order of their own. So what
    drifts while a run lasts meets all arms alike, and a server that keeps the beginnings of prompts meets those that
    share one in a row. Requests go as they came.
    """

    def __init__(self, calls: Calls, scheduler: Scheduler, seed: int) -> None:
        self._calls, self._scheduler, self._money, self._ledger = calls, scheduler, calls.money, calls.money.ledger
        self._seed = blake2b(str(seed).encode()).digest()
        self._judgments: dict[bytes, Judgment | _Job] = {}
        self._legibility = Legibility()
        self._handles: dict[int, _Handle] = {}
        self._paces: dict[Identity, Pace] = {}
        self._named: Counter[str] = Counter()

    async def ask(self, questions: Sequence[Question]) -> list[Judgment]:
        """Return the verdict on each question, in their order."""
        group = _Group[Judgment].of(len(questions))
        await self._enqueue(questions, group)
        guest = GUEST.get()
        if guest is not None and any(_round(ask) >= FIRST for *_, ask in questions):
            guest.arrived()
        return await group.all()

    async def prefetch(self, questions: Sequence[Question], prefetch: Prefetch) -> None:
        """Put questions into their queues that nobody waits for yet."""
        await self._enqueue(questions, prefetch)

    def withdraw(self, prefetch: Prefetch) -> None:
        """Take questions back: what has not begun, and nobody else wants, is not asked."""
        prefetch.over = True
        for job in prefetch.jobs:
            job.prefetches -= 1
        prefetch.jobs.clear()

    async def generate(self, requests: Sequence[tuple[Request, int]]) -> list[Response]:
        """Return the response to each request, in their order."""
        group = _Group[Response].of(len(requests))
        for place, (request, ask) in enumerate(requests):
            if place % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            work = partial(self._generate, request, ask, group, place)
            self._scheduler.put(self._queue((request.endpoint,)), work, PRIORITY.get())
        return await group.all()

    def clear(self) -> None:
        """Forget what has no verdict."""
        self._judgments = {key: one for key, one in self._judgments.items() if isinstance(one, Judgment)}

    async def _enqueue(self, questions: Sequence[Question], to: _Group[Judgment] | Prefetch) -> None:
        shown: dict[tuple[int, int], bytes] = {}
        recalls = isinstance(to, _Group)
        for begin in range(0, len(questions), AT_ONCE):
            if begin:
                await asyncio.sleep(0)
            some: list[_Asked] = []
            for question in questions[begin : begin + AT_ONCE]:
                judge, case, ask = question
                handle = self._handles.get(id(judge)) or self._handle(judge)
                about = id(handle), id(case)  # the questions hold their cases
                content = shown.get(about)
                if content is None:
                    content = shown[about] = _known_key(handle, case)
                some.append((content + ask.to_bytes(4), handle, question))
            if recalls:
                recalls = await self._recall(some)
            for place, (key, handle, question) in enumerate(some, begin):
                found = self._judgments.get(key)
                if found is None:
                    judge, case, ask = question
                    job = found = self._judgments[key] = _Job(key, judge, case, ask, whose=handle.name)
                    lot = int.from_bytes(self._drawn(case.id.encode("utf-8", "surrogatepass")) + self._drawn(key))
                    job.place = self._scheduler.put(handle.queue, partial(self._ask, job), _round(ask), lot)
                elif isinstance(found, _Job) and found.place is not None:
                    found.place = self._scheduler.hasten(found.place, _round(question[2]))
                if isinstance(found, _Job):
                    found.plain |= isinstance(question, PlainQuestion)
                if isinstance(to, _Group):
                    if isinstance(found, Judgment):
                        to.take(place, found)
                    else:
                        found.waiting.append((to, place))
                elif to.over:
                    return
                elif isinstance(found, _Job):
                    found.prefetches += 1
                    to.jobs.append(found)

    async def _recall(self, asked: Sequence[_Asked]) -> bool:
        """
        Note the verdicts on questions whose replies are kept, read in bulk: a task for each would take far longer.

        Return whether it is worth while to go on: a run that finds none of so many has most likely none.
        """
        wanted: dict[bytes, tuple[bytes, ...]] = {}
        for key, handle, (_, case, ask) in asked:
            if handle.foreseen is not None and key not in self._judgments and key not in wanted:
                requests = handle.foreseen.requests(made(case)) or ()
                wanted[key] = tuple([self._calls.prepared(request).key(ask) for request in requests])
        kept = await self._calls.kept({one for keys in wanted.values() for one in keys})
        for key, handle, question in asked:
            case, keys = question[1], wanted.get(key, ())
            if handle.foreseen is None or key in self._judgments or not keys or not all(one in kept for one in keys):
                continue
            verdict = handle.foreseen.read(made(case), [kept[one] for one in keys])
            if verdict is None:
                continue
            if isinstance(question, PlainQuestion):
                self._legibility.note(handle.name, question[0], case, verdict)
            if not self._legibility.fault(handle.name):  # else it is put into its queue, and refused there
                for one in keys:
                    self._ledger.found(one)
                self._ledger.answers += 1
                self._judgments[key] = Judgment(verdict, keys)
        return bool(kept) or not wanted

    async def _ask(self, job: _Job) -> None:
        """Do a job, unless nobody wants it any more; one that was set aside is done to its end."""
        judge, place = job.judge, job.place
        aside = None if place is None else place.aside
        if not job.waiting and job.prefetches <= 0 and aside is None:
            self._judgments.pop(job.key, None)
            return
        try:
            if aside is None:
                self._refuse_unread(job)
            case, endpoints = made(job.case), judge.endpoints
            send = Send(self._calls, job.ask, patient=judge.traits.patient, several=len(endpoints) > 1)
            try:
                if endpoints:
                    verdict = await judge.judge(case, send)
                    judgment = Judgment(verdict, tuple(send.keys), tuple(send.once), send.places)
                else:
                    judgment = Judgment(await self._by_code(judge, case, send), tuple(send.keys))
                self._ledger.answers += not isinstance(judgment.verdict, NoReply)
            except SetAside:
                if place is not None and place.aside is not None:
                    place.aside.knows((*send.keys, *send.once))
                raise
            except JudgeError as error:
                judgment = Judgment(self._unanswered(error), tuple(send.keys), tuple(send.once), send.places)
            if job.plain:
                self._legibility.note(job.whose, judge, job.case, judgment.verdict)
                self._refuse_unread(job)
        except SetAside:
            raise
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            failed = _own(error)
            self._judgments.pop(job.key, None)
            for group, _ in job.waiting:
                group.fail(failed)
            return
        if isinstance(judgment.verdict, NoReply):
            self._judgments.pop(job.key, None)
        else:
            self._judgments[job.key] = judgment
        for group, at in job.waiting:
            group.take(at, judgment)

    def _unanswered(self, error: JudgeError) -> NoReply:
        """Count what has no reply: it failed, or was not made any more; return that as what came of it."""
        self._ledger.calls["unmade" if reason_of(error).unmade else "failed"] += 1
        return NoReply(reason_of(error))

    def _refuse_unread(self, job: _Job) -> None:
        why = self._legibility.fault(job.whose)
        if why is not None:
            raise JudgeError(why, fatal=True)

    async def _by_code(self, judge: Judge, case: Case, send: Send) -> Verdict:
        """Ask a judge without an endpoint: an ask without `send` is a call, and is kept if its judge is known."""
        store, key = self._calls.store, None
        if judge.fingerprint is not None:
            series = (store.series,) if store.series else ()
            seen = repr(judge.sees(case))  # a kept verdict names answers by id, and a judge may not see these
            key = bytes.fromhex(digest("verdict", judge.fingerprint, seen, case.slots, send.ask, *series))
            if (kept := await self._calls.leased(key)) is not None:
                found = json.loads(kept.text)
                return decode(found["code"], found["reason"])
        try:
            if store.mode is Mode.REPLAY:
                raise JudgeError(because(Kind.VERDICT_NOT_CACHED, name(judge.name)))
            verdict = await self._run(judge, case, send)
            if key is not None and not isinstance(verdict, NoReply):
                reason = verdict.reason if isinstance(verdict, Unreadable | Refused) else ""
                said = json.dumps({"code": code(verdict), "reason": reason})
                await self._calls.record(key, request_text((), "{}"), Reply(said))
                return verdict
        except BaseException:
            if key is not None:
                self._calls.release(key)
            raise
        if key is not None:
            self._calls.release(key)
        return verdict

    async def _run(self, judge: Judge, case: Case, send: Send) -> Verdict:
        money, sends = self._money, judge.traits.sends  # calls that it sends are counted and capped there, not here
        pace = self._paces.get(Identity(judge))
        if pace is None:
            pace = self._paces[Identity(judge)] = Pace(Limits(concurrency=judge.traits.concurrency))
        async with pace.turn(0):
            if not sends:
                if not money.begin_now(ONE):
                    await money.wait(ONE)
                if judge.traits.recorded is not None:  # nobody is asked
                    self._ledger.calls.update(made=-1, recorded=1)
            else:
                money.check()
                money.under_way += 1  # it may work between its calls, or make none: a stop waits for it
            try:
                return await judge.judge(case, send)
            finally:
                # it did not send although it said so, or sent although it did not say so
                self._ledger.calls["made"] += sends - send.used
                if not sends:
                    money.end(ONE, ONE)
                else:
                    money.under_way -= 1

    async def _generate(self, request: Request, ask: int, group: _Group[Response], place: int) -> None:
        try:
            keys = list[bytes]()
            try:
                reply: Reply | NoReply = await self._calls.send(request, ask, keys, patient=True)
                self._ledger.answers += 1
            except JudgeError as error:
                reply = self._unanswered(error)
            group.take(place, Response(self._calls.prepared(request).key(ask), reply))
        except SetAside:
            raise
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            group.fail(_own(error))

    def _drawn(self, what: bytes) -> bytes:
        return blake2b(what, digest_size=LOT_BYTES, key=self._seed).digest()

    def _handle(self, judge: Judge) -> _Handle:
        """Return what a judge is known by; one without a fingerprint is known by itself alone."""
        handle = self._handles.get(id(judge))
        if handle is None:
            self._named[judge.name] += 1
            name = judge.fingerprint or f"object {judge.name} {self._named[judge.name]}"
            if judge.endpoints:
                queue = self._queue(judge.endpoints, holds=self._calls.servers.batches and not judge.traits.patient)
            else:
                queue = self._scheduler.queue(Identity(judge), lambda: judge.traits.concurrency)
            handle = self._handles[id(judge)] = _Handle(judge, name, queue, foreseen(judge))
        return handle

    def _queue(self, endpoints: Sequence[Endpoint], *, holds: bool = False) -> Queue:
        """Return the queue of what goes to some servers; what `holds` its places has one of its own."""
        servers = tuple(map(self._calls.servers.of, endpoints))
        width = partial(self._calls.servers.width, holds=holds)
        return self._scheduler.queue((servers, holds), lambda: sum(map(width, servers)))
