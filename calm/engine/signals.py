"""
SIGTERM and SIGHUP end a run as Ctrl-C does: what was asked is waited for, what was answered is kept and recorded.

The first signal raises `KeyboardInterrupt` in the main thread. Whoever sends one is in a hurry, and often sends more:
a terminal, `docker stop` and CI servers kill a few seconds later. So while the run ends, another signal interrupts
nothing, and only shortens the wait for the calls under way.

A run with several processes has a file that says that it is over. Whoever gets a signal makes it, at once, and each
process looks for it before it begins a call.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Final, TypeAlias

DRAIN_S: Final = 1.0
"""For how many seconds after a signal the calls under way are waited for: the run is to end within two."""
ENDING_S: Final = 8.0
"""For how many seconds after the first signal another one interrupts nothing."""
WATCH_S: Final = 0.1
"""A worker looks so often whether its controller is still there, and whether the run is over."""
NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""The signals, as far as the system has them."""

_Handler: TypeAlias = "Callable[[int, FrameType | None], object] | int | None"


class Signals:
    """
    The signals of this process, as a run takes them; signals belong to a process, so there is one of these.

    Nothing is changed outside of the main thread, nor where a signal is ignored (`nohup`) or somebody else handles it.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._before: dict[int, _Handler] = {}
        self._first_s: float | None = None
        self._flag: Path | None = None
        self._pressed = self._held = self._patient = False

    def catch(self, *, patient: bool = False) -> None:
        """
        Take the signals, until `release` was called as often.

        A `patient` process waits for its calls however often it is told: a worker gets a signal from the terminal, and
        one from its controller.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth += 1
        if self._depth > 1:
            return
        self._first_s, self._pressed, self._patient = None, False, patient
        for name in NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                self._before[number] = signal.signal(number, self._came)

    def release(self) -> None:
        """Give the signals back to whom they belonged."""
        if self._depth == 0 or threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth == 0:
            self.forget()

    def interrupt(self) -> None:
        """
        Interrupt the main thread as SIGTERM does, from any thread. A shell lets what it starts in the background ignore
        SIGINT alone. Nothing happens where SIGTERM has no handler, as it would end this process without a word.
        """
        if not callable(signal.getsignal(signal.SIGTERM)):
            return
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)  # it ends a wait at once
        else:
            signal.raise_signal(signal.SIGTERM)

    def forget(self) -> None:
        """Give the signals back, however often they were taken."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        self._depth, self._first_s, self._pressed = 0, None, False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Take the signals in this block."""
        self.catch()
        try:
            yield
        finally:
            self.release()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no signal interrupt this block, which is short: what was found is written down."""
        before, self._held = self._held, True
        try:
            yield
        finally:
            self._held = before

    def share(self, flag: Path | None) -> None:
        """Take the file by which the processes of a run tell each other that it is over; None: there is one process."""
        self._flag = flag

    def end_all(self) -> None:
        """Say to the other processes of the run that it is over; without any, this does nothing."""
        if self._flag is not None:
            with suppress(OSError):  # the run has ended already
                self._flag.touch()

    @property
    def came(self) -> bool:
        """Whether a signal has come to this process."""
        return self._first_s is not None

    @property
    def over(self) -> bool:
        """Whether a signal has come to any process of the run, or it is over: nothing new is asked."""
        return self._first_s is not None or (self._flag is not None and self._flag.exists())

    def patience_s(self, grace_s: float) -> float:
        """Return for how many seconds calls under way may be waited for: `grace_s`, and less after a signal."""
        if self._pressed:
            return 0.0
        if self._first_s is None:
            return grace_s
        return min(grace_s, max(0.0, self._first_s + DRAIN_S - monotonic()))

    def _came(self, number: int, frame: FrameType | None) -> None:
        now = monotonic()
        if self._first_s is not None and now - self._first_s < ENDING_S:
            self._pressed = not self._patient
            return
        self._first_s = now
        self.end_all()
        if not self._held:
            raise KeyboardInterrupt from None  # what it interrupts is not shown


SIGNALS: Final = Signals()
"""The signals of this process."""
if hasattr(os, "register_at_fork"):  # a child of a judge's own, which must end when it is terminated
    os.register_at_fork(after_in_child=SIGNALS.forget)
