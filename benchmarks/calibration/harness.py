"""
The default gate on a simulated judge: `calm.experiment.run`, `calm.results.audit.finding` and `calm.results.pairing`.

The probes and their claims are those that the shipped suites hand over when they are traced, as `calm plan` traces
them. A law takes the place of the judge, and `SimulatedEngine` that of the engine: it asks the law once for each other
prompt and ask, and counts that as a call. `tests/power/test_calibration_harness.py` holds it against the real engine.
"""

from __future__ import annotations

import threading
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any, Final, Literal, Protocol, TypeVar, cast

from benchmarks.calibration.chance import mix
from benchmarks.calibration.remembered import Memory
from calm.cases import bundled, equal_cases, sample
from calm.commands.plan import traced
from calm.core.case import Case
from calm.core.claims import Claim, Outcome
from calm.core.order import Recipe
from calm.core.verdict import Scale, Verdict
from calm.engine.asks import Judgment, Question
from calm.engine.engine import Engine
from calm.experiment.lookahead import Order
from calm.experiment.run import Result
from calm.experiment.setup import Setup
from calm.gate.question import FINE
from calm.gate.resolution import Attainable, Limits, attained
from calm.models.pacing import PRIORITY
from calm.perturbations.planted.judge import Planted
from calm.perturbations.planted.mind import Mind
from calm.results.audit import Finding
from calm.results.findings import finding
from calm.results.pairing import pooled

T = TypeVar("T")
R = TypeVar("R")

Task = Literal["pairwise", "score", "rubric"]
Arm = Literal["clean", "inert", "pilot", "edited", "equal"]
TASKS: Final[tuple[Task, ...]] = ("pairwise", "score", "rubric")
CASES: Final = 200
USUAL_CALLS: Final = 3000
"""About how many calls a run makes: what the time of a judge that changes while it runs is counted in."""


@dataclass(frozen=True, slots=True, eq=False)
class Prompt:
    """
    What a judge is shown, as its law knows it.

    `case` is the place of the case among those of the run. `probe` and `variant` name the edit of the edited arm.
    `expects` is what the edit expects. `word` is a number that other prompts do not have, `ids` the answers shown.

    Of two equal answers `equal` is the place among the equal pairs, and `ids` are in the order of their slots; `cued`:
    one of them has the cue of the edit; `turned`: the two texts are the other way round.
    """

    case: int
    arm: Arm
    word: int
    shown: Case
    probe: str = ""
    variant: str = ""
    expects: str = ""
    damaged: str | None = None
    hit: str | None = None
    ids: tuple[str, ...] = ()
    equal: int | None = None
    cued: bool = False
    turned: bool = False


Prompts = Callable[[Case | Recipe[Case]], Prompt]
"""Return what is known of a case as it is shown."""


class Law(Protocol):
    """A judge whose truth is known: its verdict on a prompt, by a drawn word of 64 bits and the time in the run."""

    def verdict(self, prompt: Prompt, word: int, time: float) -> Verdict:
        """Return the verdict; `time` is 0 at the first call of a run and 1 at about its last."""
        ...


class SimulatedEngine:
    """
    Asks a law: once for each prompt and ask, whoever wants it.

    A `frozen` one says the same in each ask of a prompt, as a server at temperature 0 does.
    """

    store: None = None

    def __init__(self, prompts: Prompts, law: Law, seed: int, *, frozen: bool = False) -> None:
        self._prompts, self._law, self._frozen = prompts, law, frozen
        self._seed = mix(mix(seed))
        self._known: dict[tuple[int, int], Verdict] = {}
        self.by_arm: Counter[str] = Counter()

    @property
    def calls(self) -> int:
        """How many different asks there were."""
        return len(self._known)

    def ask(self, judge: object, questions: Sequence[tuple[Case, int]]) -> list[Judgment]:
        """Return the verdicts of one judge."""
        return self.ask_each([(cast(Any, judge), case, ask) for case, ask in questions])

    def ask_each(self, questions: Sequence[Question]) -> list[Judgment]:
        """Return the verdicts, in the order of the questions."""
        asks = [(self._prompts(case), ask) for _, case, ask in questions]
        return [Judgment(verdict) for verdict in self.answer(asks)]

    def answer(self, asks: Sequence[tuple[Prompt, int]]) -> list[Verdict]:
        """Return the verdict on each ask of a prompt."""
        known = self._known
        return [known.get((prompt.word, ask)) or self._new(prompt, ask) for prompt, ask in asks]

    def prefetch(self, questions: Sequence[Question]) -> None:
        """Ask nothing ahead: time is not simulated."""

    def withdraw(self, prefetch: None) -> None:
        """Take nothing back."""

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return what some work returns for each item, one after the other: time is not simulated."""
        return [work(item) for item in items]

    def verdict(self, prompt: Prompt, ask: int, time: float = 0.0) -> Verdict:
        """Return what the law says to one ask."""
        word = mix(prompt.word ^ mix(self._seed + (0 if self._frozen else ask)))
        return self._law.verdict(prompt, word, time)

    def _new(self, prompt: Prompt, ask: int) -> Verdict:
        self.by_arm[prompt.arm] += 1
        time = min(1.0, len(self._known) / USUAL_CALLS)
        found = self._known[prompt.word, ask] = self.verdict(prompt, ask, time)
        return found


class InterleavedEngine(SimulatedEngine):
    """
    The same for judges that change while they run: probes run at the same time, and calls have an order.

    When every probe waits, those of the lowest round get what they asked for, drawn in one shuffle of all their asks.
    """

    def __init__(self, prompts: Prompts, law: Law, seed: int, *, frozen: bool = False) -> None:
        super().__init__(prompts, law, seed, frozen=frozen)
        self._changed = threading.Condition()
        self._waiting: dict[int, tuple[int, Sequence[tuple[Prompt, int]]]] = {}
        self._served: set[int] = set()
        self._running = 0
        self._random = Random(seed)

    def together(self, jobs: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run probes at the same time, and return their results."""
        results: list[Result | None] = [None] * len(jobs)
        errors: list[BaseException] = []

        def work(place: int, job: Callable[[], Result]) -> None:
            try:
                results[place] = job()
            except BaseException as error:  # noqa: BLE001 - raised again below, in the thread that waits
                errors.append(error)
            finally:
                with self._changed:
                    self._running -= 1
                    self._changed.notify_all()

        self._running = len(jobs)
        threads = [
            threading.Thread(target=copy_context().run, args=(work, place, job)) for place, job in enumerate(jobs)
        ]
        for thread in threads:
            thread.start()
        self._serve()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return [result for result in results if result is not None]

    def answer(self, asks: Sequence[tuple[Prompt, int]]) -> list[Verdict]:
        """Wait for the turn of this round, then return the verdicts."""
        me = threading.get_ident()
        with self._changed:
            self._waiting[me] = PRIORITY.get(), asks
            self._changed.notify_all()
            self._changed.wait_for(lambda: me in self._served)
            self._served.discard(me)
        return super().answer(asks)

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: len(self._waiting) >= self._running)
                if not self._running:
                    return
                first = min(number for number, _ in self._waiting.values())
                turn = [me for me, (number, _) in self._waiting.items() if number == first]
                wanted = {(prompt.word, ask): (prompt, ask) for me in turn for prompt, ask in self._waiting[me][1]}
                drawn = sorted(wanted)
                self._random.shuffle(drawn)
                super().answer([wanted[key] for key in drawn])
                for me in turn:
                    del self._waiting[me]
                    self._served.add(me)
                self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Run:
    """The findings of one run of the gate, those about the run among them, and its calls, also by arm."""

    findings: tuple[Finding, ...]
    calls: int
    by_arm: Mapping[str, int]

    @property
    def green(self) -> bool:
        """Whether the run would end with exit code 0."""
        return all(f.outcome in FINE for f in self.findings)

    @property
    def failed(self) -> tuple[str, ...]:
        """The keys of the claims that FAIL."""
        return tuple(f.key for f in self.findings if f.outcome is Outcome.FAIL)

    @property
    def red(self) -> tuple[str, ...]:
        """The keys of the claims that are not settled well, with their outcome."""
        return tuple(f"{f.key} {f.outcome}" for f in self.findings if f.outcome not in FINE)

    def outcome_of(self, key: str) -> Outcome:
        """Return the outcome of a finding by its key."""
        return next(f.outcome for f in self.findings if f.key == key)


@cache
def default_orders(task: Task) -> tuple[tuple[str, Order], ...]:
    """Return what the shipped suites ask by default of a judge, with the name of each probe."""
    options = Namespace(sample=None, fit=False, cases=[], repeats=None, pytest=[])
    entries = traced(Planted(Mind(task=task)), options).record.entries
    orders = [entry.order for entry in entries if entry.wanted is None and not entry.order.idle]
    named: dict[str, Order] = {}
    for order in orders:
        name = name_of(order)
        while name in named:  # as two probes of the clean cases have
            name += "'"
        named[name] = order
    return tuple(named.items())


def name_of(order: Order) -> str:
    """Return the name of a probe: its bias, and its edit where that has a name."""
    return f"{order.bias}/{order.edit.label}" if order.edit and order.edit.name else order.bias


def usual_cases(task: Task, n: int = CASES) -> tuple[Case, ...]:
    """Return the cases of a default run."""
    return tuple(sample(bundled(task), n, 0))


@dataclass(slots=True, eq=False)
class Gate:
    """The default gate about some cases, for any number of judges and seeds."""

    task: Task
    cases: tuple[Case, ...]
    scale: Scale = field(default_factory=Scale)
    limits: Limits = "suites"
    equals: tuple[Case, ...] = ()
    """The cases of which equal pairs are made: those that a run takes for these cases, unless others are given."""
    memory: Memory = field(init=False)
    orders: dict[str, Order] = field(init=False)
    """The probes by name."""
    limiter: Attainable | None = None
    """What chooses the limits of the claims about the whole run."""

    def __post_init__(self) -> None:
        judge = Planted(Mind(task=self.task, scale=self.scale))
        self.equals = self.equals or equal_cases(self.task, self.cases) or self.cases
        self.memory = Memory(self.cases, judge, self.equals)
        self.orders = dict(default_orders(self.task))
        if self.limits == "attainable":
            setup = self.setup()
            self.orders = {name: attained(replace(order, setup=setup)) for name, order in self.orders.items()}
            self.limiter = Attainable(setup.family)

    def run(self, law: Law, seed: int, *, frozen: bool = False, interleaved: bool = False) -> Run:
        """Run all probes on a judge, then decide what is claimed of the run."""
        kind = InterleavedEngine if interleaved else SimulatedEngine
        engine = kind(self.memory.prompt, law, seed, frozen=frozen)
        with self.memory.remembering():
            jobs = [self._job(name, order, engine) for name, order in self.orders.items()]
            results = engine.together(jobs) if isinstance(engine, InterleavedEngine) else [job() for job in jobs]
            findings: list[Finding] = []
            for (_, order), result in zip(self.orders.items(), results, strict=True):
                findings += self._findings(order, result)
            together = pooled(findings, self.scale, self.task, {}, self.limiter)
        found = (*findings, *together)
        if twice := [key for key, count in Counter(f.key for f in found).items() if count > 1]:
            raise AssertionError(f"two findings have the key {twice[0]}: one would hide the other")
        return Run(found, engine.calls, engine.by_arm)

    def probe(
        self, name: str, law: Law, seed: int, claims: Sequence[Claim] | None = None, *, frozen: bool = False
    ) -> Run:
        """Run one probe alone, with its own claims or others."""
        order = self.orders[name]
        if claims is not None:
            order = replace(order, claims=tuple(claims), limiter=None)
        engine = SimulatedEngine(self.memory.prompt, law, seed, frozen=frozen)
        with self.memory.remembering():
            findings = self._findings(order, self._job(name, order, engine)())
        return Run(tuple(findings), engine.calls, engine.by_arm)

    def _job(self, name: str, order: Order, engine: SimulatedEngine) -> Callable[[], Result]:
        setup = self._setup(cast(Engine, engine))
        self.memory.prepare(name, setup, order.edit, order.against)
        return replace(order, setup=setup).run

    def setup(self) -> Setup:
        """Return what the probes share, without an engine: nothing can be asked."""
        return self._setup(cast(Engine, None))

    def _setup(self, engine: Engine) -> Setup:
        return Setup(self.memory.judge, self.cases, engine, equals=self.equals)

    def _findings(self, order: Order, result: Result) -> list[Finding]:
        found = []
        for ruling in result.rulings:
            one = finding(
                bias=order.bias,
                node=order.bias,
                task=self.task,
                edit=order.edit,
                against=order.against,
                decision=ruling.decision,
                trials=ruling.trials,
            )
            self.memory.keep(one, ruling.trials)
            found.append(one)
        return found
