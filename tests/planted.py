"""Judges and servers of our own, whose behaviour is known, for tests of the core."""

import asyncio
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from random import Random

from calm.core.case import Answer, Case, Criterion, Presentation, digest
from calm.core.verdict import Criteria, Preferred, Scale, Score, Task, Tie, Unreadable
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import JudgeError
from calm.experiment.setup import Setup
from calm.experiment.stopping import Design, Stopping
from calm.gate.plan import PlanRecord, PlanSink
from calm.gate.probe import Probe
from calm.gate.question import Context, Node
from calm.models.wire import Limits, Message, Remarks, Reply, Request, Traits, Usage

SCALE, NO_HURRY, READY = Scale(), Limits(), Reply("ready", model="m-1")
PLAIN, NOTHING = Traits(), Remarks()
PRESENTED = tuple(f.name for f in fields(Presentation))
TEXT_FIELDS = ("question", "reference", "fields", "notes", "labels", "bylines", "examples", "framing", "follow_ups")


@dataclass(eq=False)
class Planted:
    """A judge whose verdict is a function of the case and the ask; it counts how often it was asked."""

    rule: Callable
    task: str = "pairwise"
    scale: Scale = SCALE
    fingerprint: str | None = "planted-1"
    traits: Traits = PLAIN
    remarks: Remarks = NOTHING
    name: str = "planted"
    looks_at: tuple = TEXT_FIELDS
    about: dict = field(default_factory=dict)
    endpoints: tuple = ()
    asked: list = field(default_factory=list)

    def sees(self, case):
        """Return what it reads, and the answers in slot order."""
        return tuple((name, getattr(case, name)) for name in self.looks_at), case.shown

    async def judge(self, case, send):
        """Return the planted verdict."""
        self.asked.append((case, send.ask))
        return self.rule(case, send.ask)


@dataclass(eq=False)
class Local:
    """An endpoint in this process: replies as `answer(body, number of the call)` says, and counts the calls begun."""

    answer: Callable = lambda body, number: Reply("good", model="m-1")
    identity: str = "local"
    model: str = "m"
    served_as: str | None = None
    live: bool = True
    greeting: bool = True
    limits: Limits = NO_HURRY
    price: object = None
    max_tokens: int = 100
    retries: int = 6
    notes: tuple = ()
    schema: object = None
    hello: object = READY
    begun: list = field(default_factory=list)

    async def call(self, body):
        """Answer after having let other calls begin."""
        self.begun.append(body)
        number = len(self.begun)
        await asyncio.sleep(0.001)
        found = self.answer(body, number)
        if isinstance(found, BaseException):
            raise found
        return found

    async def greet(self):
        """Say which model it is."""
        if isinstance(self.hello, BaseException):
            raise self.hello
        return self.hello


@dataclass(eq=False)
class Asking:
    """A pairwise judge that puts question and answers to an endpoint and takes the reply for the better answer's id."""

    server: Local
    task: Task = "pairwise"
    scale: Scale = SCALE
    fingerprint: str | None = "asking-1"
    traits: Traits = PLAIN
    remarks: Remarks = NOTHING
    name: str = "asking"
    about: dict = field(default_factory=dict)

    @property
    def endpoints(self):
        """The one server that it asks."""
        return (self.server,)

    def sees(self, case):
        """Return what it sends."""
        return case.question, case.shown, case.notes

    async def judge(self, case, send):
        """Send one request and read the reply."""
        text = "\n".join([case.question, *(a.text for a in case.shown), *case.notes])
        reply = await send(Request(self.server, (Message("user", text),), {"text": text}))
        return Preferred(reply.text) if reply.text else Unreadable("empty reply")


def usage(tokens_in, tokens_out):
    """Return the usage of a call."""
    return Usage(tokens_in, tokens_out)


def case_of(**given):
    """Return a case of flat fields: what it holds, how it is presented (`notes=...`), and the answer to treat."""
    shown = {name: given.pop(name) for name in PRESENTED if name in given}
    target = given.pop("target", None)
    case = Case(**given).present(**shown)
    return case if target is None else case.treat(target)


def pair(name, **changes):
    """Return a pairwise case with a good and a bad answer."""
    answers = (Answer("good", f"The answer to {name} is four."), Answer("bad", f"The answer to {name} is five."))
    return case_of(**{"id": name, "question": f"What is {name}?", "answers": answers, "better": "good"} | changes)


def single(name, **changes):
    """Return a case with one answer, for scores and rubrics."""
    answers = (Answer("only", f"The answer to {name} is four."),)
    return case_of(**{"id": name, "question": f"What is {name}?", "answers": answers} | changes)


RUBRIC = (Criterion("short", "At most 20 words."), Criterion("kind", "It is kind.", 2.0))


def rubric_case(name, **changes):
    """Return a case with one answer and two criteria, both met."""
    return single(name, **{"criteria": RUBRIC, "met": {"only": {"short": True, "kind": True}}} | changes)


def pairs(count, **changes):
    """Return so many pairwise cases."""
    return tuple(pair(f"c{i:03}", **changes) for i in range(count))


def singles(count, **changes):
    """Return so many cases with one answer."""
    return tuple(single(f"c{i:03}", **changes) for i in range(count))


def chance(*parts):
    """Return a source of randomness that depends on its parts alone."""
    return Random(digest(*parts))


def fair(case, ask):
    """Prefer the good answer, or the original over its damaged copy."""
    return Preferred("good") if any(a.id == "good" for a in case.answers) else Preferred(case.answers[0].id)


def tied(case, ask):
    """Always tie."""
    return Tie()


def constant_score(case, ask):
    """Always give the same score."""
    return Score(6.0)


def by_criteria(case, ask):
    """Find each criterion met whose id the answer does not deny."""
    return Criteria({c.id: f"not {c.id}" not in case.answers[0].text for c in case.criteria})


@contextmanager
def engine(path=None, mode=Mode.OFF, **options):
    """Run an engine on a cache file, and close it."""
    running = Engine(Store(path, mode), **options)
    try:
        yield running
    finally:
        running.close()


@contextmanager
def setup(judge, cases, *, design=Design(), seed=0, stopping=Stopping.SEQUENTIAL, **options):
    """Prepare a run of a judge on cases, with an engine that keeps nothing."""
    with engine(**options) as running:
        yield Setup(judge, tuple(cases), running, seed, design, stopping)


def traced(judge, cases, *asks, **options):
    """Return the entries of a plan: what tests would ask, each a function of its probe."""
    record = PlanRecord()
    with setup(judge, cases) as ready:
        for ask in asks:
            node = Node("test_consistency.py::test_x", "consistency")
            ask(Probe(Context(ready, node, sink=PlanSink(record), **options)))
    return record.entries


def no_reply(reason="the server is down"):
    """Return a rule that never gives a verdict."""

    def rule(case, ask):
        raise JudgeError(reason)

    return rule
