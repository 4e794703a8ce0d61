"""
A process beside this one, for work that may never end or may fill the memory: it can be stopped, and nothing is lost.

It has none of the variables of the environment that could hold a key. It ends with the process that started it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Final, Literal, TypeAlias

Stop: TypeAlias = Literal["time", "memory", "size", "crash"]
"""Why an answer did not come: a limit that was reached, or the process broke off."""

APART: Final[int] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
"""The `creationflags` of a process that Ctrl-C does not reach; beside `start_new_session`, which Windows ignores."""
_PASSED: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV"),
    *("SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "PATHEXT"),
)
"""The variables of the environment that the process gets, if they are set; the last ones are those of Windows."""
_PATIENCE: Final = 30 if hasattr(signal, "SIGXCPU") else 5
"""
So many times its processor time an answer may take by the clock: a machine can be busy with other things. Less where
the system does not limit processor time, so that the clock is the only limit.
"""
_SLICE_S: Final = 0.2
"""The wait for an answer is in slices of so many seconds: an untimed one cannot be interrupted everywhere."""
_ROOM: Final = 4000
"""Bytes that each system takes for a process that does not read."""
_LENGTH: Final = 8
"""Bytes of the number before each message, which says how long it is."""


class Stopped(Exception):
    """The work was stopped; `why` says which limit it reached."""

    def __init__(self, why: Stop) -> None:
        self.why: Stop = why
        super().__init__(why)


class Helper:
    """
    A process that answers questions by one function, started at the first question and again after a stop.

    Args:
        work: the function, as "module:name"; it takes one value and returns one, both of which pickle can carry.
        seconds: of processor time, for one answer.
        memory: bytes, beyond what the process needs to start; held on Linux alone.
        most: bytes that an answer may have.
    """

    def __init__(self, work: str, *, seconds: int, memory: int, most: int) -> None:
        self.work, self.seconds, self.memory, self.most = work, seconds, memory, most
        self._process: subprocess.Popen[bytes] | None = None
        self._came: SimpleQueue[bytes | Stop | None] = SimpleQueue()
        self._lock = threading.Lock()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def ask(self, question: object) -> object:
        """
        Return the answer to a question; one question at a time, whichever thread asks.

        Raises:
            Stopped: the work reached a limit, or broke off.
        """
        said = pickle.dumps(question, pickle.HIGHEST_PROTOCOL)
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                self._end()
                process = self._process = self._started()
            try:
                return self._answer(process, said)
            except BaseException:  # also when the user interrupts: half an answer must not become the next one
                self._end()
                raise

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _started(self) -> subprocess.Popen[bytes]:
        kept = {name: os.environ[name] for name in _PASSED if name in os.environ}
        kept["PYTHONPATH"] = os.pathsep.join(part or str(Path.cwd()) for part in sys.path)
        kept["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # one that asks for what it needs, and no more
        code = f"from {__name__} import serve; serve({self.work!r}, {self.seconds}, {self.memory})"
        process = subprocess.Popen(  # noqa: S603  # our own code
            [sys.executable, "-P", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept,
            start_new_session=True,  # Ctrl-C is for the run, which ends this process as it ends
            creationflags=APART,
        )
        assert process.stdout is not None
        self._came = SimpleQueue()
        threading.Thread(target=self._receive, args=(process.stdout, self._came), daemon=True).start()
        return process

    def _receive(self, pipe: IO[bytes], came: SimpleQueue[bytes | Stop | None]) -> None:
        with pipe:
            while len(length := pipe.read(_LENGTH)) == _LENGTH:
                size = int.from_bytes(length)
                if size > self.most:
                    came.put("size")
                    return
                body = pipe.read(size)
                if len(body) < size:
                    break
                came.put(body)
        came.put(None)

    def _answer(self, process: subprocess.Popen[bytes], said: bytes) -> object:
        assert process.stdin is not None
        patience = _PATIENCE * (self.seconds + 1)
        late = threading.Timer(patience, process.kill)  # a process that reads no more would hold us in the writing
        try:
            if len(said) > _ROOM:
                late.start()
            process.stdin.write(len(said).to_bytes(_LENGTH) + said)
            process.stdin.flush()
        except OSError:  # it ended before it had read all
            raise Stopped(_why(process)) from None
        finally:
            late.cancel()
        body = self._next(time.monotonic() + patience)
        if body is None:
            raise Stopped(_why(process))
        if isinstance(body, str):
            raise Stopped(body)
        told, value = pickle.loads(body)  # noqa: S301  # our own process
        if told != "answer":
            raise Stopped(told)
        return value

    def _next(self, deadline: float) -> bytes | Stop | None:
        while (left := deadline - time.monotonic()) > 0:
            try:
                return self._came.get(timeout=min(left, _SLICE_S))
            except Empty:
                continue
        return "time"

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        if process.stdin is not None:
            with suppress(OSError):  # what was left to write has nobody to read it
                process.stdin.close()

    def _forget(self) -> None:
        self._process, self._lock = None, threading.Lock()


def serve(work: str, seconds: int, memory: int) -> None:
    """Answer the questions on the standard input until it ends: what the process of a `Helper` does."""
    module, _, name = work.partition(":")
    function = getattr(import_module(module), name)
    said, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    _hold_memory(memory)
    while length := said.read(_LENGTH):
        question = pickle.loads(said.read(int.from_bytes(length)))  # noqa: S301  # from the process that started this
        _hold_time(seconds)
        try:
            told = pickle.dumps(("answer", function(question)), pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            told = pickle.dumps(("memory", None))
        out.write(len(told).to_bytes(_LENGTH))
        out.write(told)
        out.flush()


def _why(process: subprocess.Popen[bytes]) -> Stop:
    return "time" if process.wait() == -getattr(signal, "SIGXCPU", 0) != 0 else "crash"


def _hold_memory(most: int) -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  # no file of a user
            used = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (used + most, resource.RLIM_INFINITY))


def _hold_time(seconds: int) -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 1 + seconds, resource.RLIM_INFINITY))
