"""Event loops with one virtual clock. Each is a process; in which order they run is drawn from a seed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from heapq import heappop
from random import Random

MOST_STEPS = 50_000
MEANWHILE_S = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 3.0, 40.0
"""For how long others go on in the middle of what one does, in seconds, each as likely."""
MEANWHILE_STEPS = 40
"""How many things they do then at most."""


class Stuck(AssertionError):
    """Nothing can happen any more, or too much happens."""


class Loop(asyncio.BaseEventLoop):
    """The loop of one process: its callbacks run in the order in which they came, one at each `step`."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._now = clock
        self.stands_until = 0.0
        self.dead = False
        self.crashes: list[dict[str, object]] = []
        self.set_exception_handler(lambda _loop, context: self.crashes.append(context))

    def time(self) -> float:
        """Return the virtual seconds since the world began."""
        return self._now()

    @property
    def runnable(self) -> bool:
        """Whether something can be done now."""
        if self.dead or self.stands_until > self._now():
            return False
        while self._scheduled and (self._scheduled[0].cancelled() or self._scheduled[0].when() <= self._now()):
            timer = heappop(self._scheduled)
            timer._scheduled = False
            self._ready.append(timer)
        return bool(self._ready)

    @property
    def wakes(self) -> float:
        """When something can be done that cannot be done now."""
        if self.dead:
            return float("inf")
        first = self._scheduled[0].when() if self._scheduled else float("inf")
        return max(self.stands_until, self._now() if self._ready else first)

    def step(self) -> None:
        """Do one thing."""
        handle = self._ready.popleft()
        if not handle.cancelled():
            asyncio._set_running_loop(self)
            try:
                handle._run()
            finally:
                asyncio._set_running_loop(None)

    def _timer_handle_cancelled(self, _handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is kept until its time comes."""


class Loops:
    """All loops and their clock. `stepped` is called with a loop after each thing that it did."""

    def __init__(self, seed: int, stepped: Callable[[Loop], None]) -> None:
        self._random, self._stepped = Random(seed), stepped
        self._loops: list[Loop] = []
        self.time = 0.0
        self.steps = 0
        self._within = False

    def begin(self, work: Callable[[], Coroutine[object, object, None]]) -> tuple[Loop, asyncio.Task[None]]:
        """Start a process that does some work."""
        loop = Loop(lambda: self.time)
        self._loops.append(loop)
        return loop, loop.create_task(work())

    def run(self, until: Callable[[], bool]) -> None:
        """
        Let all processes do what they do.

        Raises:
            Stuck: they do nothing more, or do not end.
        """
        while not until():
            if not self._step(self._loops):
                self._leap()

    def meanwhile(self, mine: Loop) -> None:
        """Let others do things in the middle of what a loop does."""
        if self._within:
            return
        self._within = True
        running = asyncio._get_running_loop()
        try:
            others = [loop for loop in self._loops if loop is not mine]
            until = self.time + self._random.choice(MEANWHILE_S)
            for _ in range(self._random.randrange(MEANWHILE_STEPS)):
                if not self._step(others):
                    then = min((loop.wakes for loop in others), default=float("inf"))
                    if then > until:
                        break
                    self.time = max(self.time, then)
        finally:
            self._within = False
            asyncio._set_running_loop(running)

    def _step(self, loops: Sequence[Loop]) -> bool:
        free = [loop for loop in loops if loop.runnable]
        if not free:
            return False
        loop = free[self._random.randrange(len(free))] if len(free) > 1 else free[0]
        loop.step()
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Stuck(f"{MOST_STEPS} steps and no end, after {self.time:.0f} virtual seconds")
        self._stepped(loop)
        return True

    def _leap(self) -> None:
        """Let time go on to the next thing that can happen."""
        then = min((loop.wakes for loop in self._loops), default=float("inf"))
        if then == float("inf"):
            raise Stuck("everybody waits, and for nothing")
        self.time = max(self.time, then)

    def close(self) -> None:
        """Forget all loops."""
        for loop in self._loops:
            ended: set[asyncio.Task[object]] = set()
            while tasks := asyncio.all_tasks(loop) - ended:  # the end of one may begin another
                for task in tasks:
                    task._log_destroy_pending = False
                    with suppress(Exception):
                        task.get_coro().close()
                ended |= tasks
            loop.close()
