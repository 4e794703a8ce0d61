"""
The workers of pytest-xdist: each runs its share of what the tests ask, and ends with its controller.

Workers of one machine share a folder, in which each says what it runs and leaves its results. A test that a worker got,
and whose question another one runs, waits for the result there. The controller strikes out a worker that died: nobody
waits for it.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

from calm.experiment.lookahead import stretches

if TYPE_CHECKING:
    from calm.engine.engine import Engine
    from calm.experiment.lookahead import Order, Timing

OVER, FIRST, SHARED = "over", "first", "shared"
"""Files that say that the run is over, and which claim was disproved first; the folder of what workers share."""
LOOK_S = 0.02
"""Seconds between two looks for a result of another worker."""
LAST_S = 1.0
"""For how many seconds the tests of a worker may go on after its calls have ended."""


def sharing(config: Any, specs: Sequence[Any]) -> list[str]:
    """Return the names of workers that can share their work, given what xdist starts them by; else none."""
    here = all(spec.popen for spec in specs) and config.option.dist != "each"
    return [spec.id for spec in specs] if here else []


def strike_out(folder: Path, worker: str) -> None:
    """Let nobody wait for a worker that has ended; `folder` is what the workers share."""
    (folder / f"{worker}.worker").unlink(missing_ok=True)


class Workers:
    """
    The workers of a run, as one of them sees them: `me` is its name, `names` are those of the workers of the beginning.

    Of the orders that all of them traced, each worker has a stretch. A worker that takes the place of a dead one has
    what belongs to nobody who is alive.
    """

    def __init__(self, folder: Path, me: str, names: Sequence[str]) -> None:
        self._folder, self._me, self._names = folder, me, list(names)
        self._owners: list[str] = []
        self._write(f"{me}.worker", b"")

    def share(self, orders: Sequence[Order]) -> list[bool]:
        """Return for each order whether it is run here, and tell the others."""
        self._owners = [self._names[number] for number in stretches([one.work for one in orders], len(self._names))]
        gone = {name for name in self._names if self._run_by(name) is None}
        new = self._me not in self._names
        mine = [owner in gone if new else owner == self._me for owner in self._owners]
        run = (_file(place, order) for place, order in enumerate(orders) if mine[place])
        self._write(f"{self._me}.runs", "\n".join(["these:", *run]).encode())
        return mine

    def leave(self, place: int, order: Order, timing: Timing | None) -> None:
        """Leave a result that was found here; what cannot be sent is found anew by whoever wants it."""
        with suppress(OSError):  # the run is over
            try:
                self._write(_file(place, order), pickle.dumps(timing))
            except Exception:  # noqa: BLE001 - ids and texts of users may be of any type
                self._write(_file(place, order), b"")

    def result(self, place: int, order: Order) -> Timing | None:
        """Wait for the result of an order that another worker runs; None: there will be none."""
        owner, name = self._owners[place], _file(place, order)
        while owner != self._me:
            run = self._run_by(owner)  # before the look: a worker leaves its results before it ends
            try:
                with suppress(FileNotFoundError):
                    found: Timing | None = pickle.loads((self._folder / name).read_bytes())  # noqa: S301 - our own
                    (self._folder / name).unlink(missing_ok=True)
                    return found
            except Exception:  # noqa: BLE001 - what cannot be read here is found here
                return None
            if run is None or (run and name not in run):
                return None
            sleep(LOOK_S)
        return None

    def wait(self) -> None:
        """Wait, when the tests of this worker are over, for those of the others: they may want what is found here."""
        self._write(f"{self._me}.over", b"")
        while any(not one.with_suffix(".over").exists() for one in self._folder.glob("*.worker")):
            sleep(LOOK_S)

    def end(self) -> None:
        """Make nobody wait for what is not found here yet."""
        strike_out(self._folder, self._me)

    def _run_by(self, worker: str) -> list[str] | None:
        """Return the files of the orders that a worker runs; empty: it has not begun; None: it has ended."""
        if not (self._folder / f"{worker}.worker").exists():
            return None
        with suppress(FileNotFoundError):
            return (self._folder / f"{worker}.runs").read_text("ascii").split()
        return []

    def _write(self, name: str, content: bytes) -> None:
        whole = self._folder / f"{name}.{self._me}.new"
        whole.write_bytes(content)
        whole.replace(self._folder / name)


def _file(place: int, order: Order) -> str:
    return f"{place}-{order.name}"


class Watch:
    """
    Ends this worker soon after its controller, however that one died: nobody reads what it finds.

    execnet ends a worker, too, but 5 to 15 seconds later, and it would go on asking until then. A worker whose run is
    over, and whose test does not end, is ended as well.
    """

    def __init__(self, engine: Callable[[], Engine | None]) -> None:
        self._engine, self._parent = engine, os.getppid()
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="calm-watch", daemon=True).start()

    def end(self) -> None:
        """Watch no more: the tests are over."""
        self._over.set()

    def _watch(self) -> None:
        from calm.engine.signals import SIGNALS, WATCH_S

        while not self._over.wait(WATCH_S):
            if self._orphaned() or SIGNALS.over:
                if not SIGNALS.came:
                    SIGNALS.interrupt()
                # send nothing new, keep what is answered, and end the process even if a test does not
                if (engine := self._engine()) is not None:
                    engine.stop()
                if not self._over.wait(LAST_S):
                    if (engine := self._engine()) is not None:
                        engine.close()
                    os._exit(1)
                return

    def _orphaned(self) -> bool:
        if sys.platform != "win32":
            return os.getppid() != self._parent
        from calm.engine.leases import Host

        return not Host().runs(self._parent)  # there a process keeps the number of its dead parent
