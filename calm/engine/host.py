"""Where a process runs: its clocks, its number, and what it can know of other processes."""

from __future__ import annotations

import os
import socket
import sys
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final
from uuid import uuid4

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_GONE: Final = ("Z", "X")
"""The states of a process that has ended."""
_NAMESPACE: Final = Path("/proc/self/ns/pid")


class Host:
    """
    The machine that this process runs on, as far as it can see it.

    `pid` is the number of this process in `place`. Numbers of two places have nothing to do with each other: a process
    of another container may run although its number is free here.
    """

    @cached_property
    def place(self) -> str:
        """What process numbers are unique in: one boot of one machine, and there one namespace of processes."""
        if sys.platform == "linux":
            with suppress(OSError):
                return f"{_BOOT.read_text('ascii').strip()} {_NAMESPACE.readlink()}"
            return uuid4().hex  # nothing is known, so no number says anything
        return f"{sys.platform} {socket.gethostname()}"

    @property
    def pid(self) -> int:
        """The number of this process."""
        return os.getpid()

    def now(self) -> float:
        """Return the seconds of a clock that never goes back; it says nothing to other machines."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the seconds since the epoch."""
        return time.time()

    def runs(self, pid: int) -> bool:
        """Return whether a process of this number runs in the same place; a dead one that nobody waits for does not."""
        if sys.platform == "win32":
            return _runs_on_windows(pid)
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        with suppress(OSError):  # only Linux has the file
            return Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()[0] not in _GONE
        return True


if sys.platform == "win32":

    def _runs_on_windows(pid: int) -> bool:
        """Return whether a process runs; `os.kill(pid, 0)` would end it."""
        import _winapi

        try:
            process = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, pid)
        except PermissionError:  # it is somebody else's
            return True
        except OSError:
            return False
        try:
            return bool(_winapi.WaitForSingleObject(process, 0) == _winapi.WAIT_TIMEOUT)
        finally:
            _winapi.CloseHandle(process)
