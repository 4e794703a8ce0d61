"""
The workers of one run on one machine: each runs its share of what the tests ask, and tells the others its results.

Each worker listens on a socket, or on a pipe of Windows, and writes its address into a folder that its controller made
for the run. A test that a worker got, and whose question another one runs, asks for the result there. A worker that
dies breaks its connections: nobody waits for it.
"""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import TYPE_CHECKING, Any

from calm.engine.thread import SLICE_S
from calm.experiment.lookahead import stretches

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from calm.experiment.lookahead import Lookahead, Timing

BACKLOG = 64
"""So many workers may knock at the door of one at a moment."""
FOLDER, NAMES, KEY = "calm_fellows", "calm_workers", "calm_key"
"""
What the controller tells each worker: where all of them write their addresses, what those are called with which it
began, and by what they know each other: any program of this machine can knock.
"""


class Meeting:
    """Where the workers of a run find each other; made by the controller."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._folder, self._key = TemporaryDirectory(prefix="calm-"), secrets.token_hex()

    def handed_on(self) -> dict[str, Any]:
        """Return what each worker is told, and a later one that takes the place of a dead one, too."""
        return {FOLDER: self._folder.name, NAMES: self._names, KEY: self._key}

    def end(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()


def meeting(config: Any, specs: Sequence[Any]) -> Meeting | None:
    """Return where workers can meet, given what xdist starts them by; None: they cannot, or each runs all tests."""
    here = all(spec.popen for spec in specs)
    return Meeting([spec.id for spec in specs]) if here and config.option.dist != "each" else None


class Fellows:
    """
    The other workers, as one of them sees them: `me` is its name, `names` are those of the workers of the beginning.
    `key` is what all of them know, and nobody else.

    Of the orders that all of them traced, each worker has a stretch. A worker that takes the place of a dead one has
    what belongs to nobody who is alive.
    """

    def __init__(self, folder: Path, me: str, names: Sequence[str], key: str) -> None:
        from multiprocessing.connection import Listener

        self._folder, self._me, self._names, self._key = folder, me, list(names), key.encode()
        self._owners: list[str] = []
        self._lookahead: Lookahead | None = None
        self._open, self._over = threading.Event(), threading.Event()
        self._lines: dict[str, Connection[Any, Any] | None] = {}
        place = str(folder / f"{me}.socket") if hasattr(socket, "AF_UNIX") else None  # else it chooses the place itself
        self._listener = Listener(place, backlog=BACKLOG, authkey=self._key)
        written = folder / f"{me}.new"
        written.write_text(json.dumps(self._listener.address), "utf-8")
        written.replace(folder / me)
        threading.Thread(target=self._welcome, name="calm-fellows", daemon=True).start()

    def share(self, work: Sequence[int]) -> list[bool]:
        """Return for each order whether it is run here."""
        self._owners = [self._names[number] for number in stretches(work, len(self._names))]
        if self._me in self._names:
            return [owner == self._me for owner in self._owners]
        gone = {name for name in self._names if self._line(name) is None}
        return [owner in gone for owner in self._owners]

    def result(self, place: int, name: str) -> Timing | None:
        """Wait for the result of an order that another worker runs; None: there will be none."""
        owner = self._owners[place]
        found: Timing | None = self._asked(owner, (place, name)) if owner != self._me else None
        return found

    def serve(self, lookahead: Lookahead | None) -> None:
        """Tell the others from now on what is found here."""
        self._lookahead = lookahead
        self._open.set()

    def wait(self) -> None:
        """Wait, when the tests of this worker are over, for those of the others: they may want what is found here."""
        self.end()
        for path in sorted(self._folder.iterdir()):
            if path.name != self._me and not path.suffix:
                self._asked(path.name, None)

    def end(self) -> None:
        """Tell the others that the tests of this worker are over, and make none of them wait for what is not begun."""
        self._over.set()
        self._open.set()

    def _asked(self, fellow: str, question: object) -> Any:
        """Put a question to another worker, and return its answer; None if it is gone."""
        line = self._line(fellow)
        if line is None:
            return None
        try:
            line.send(question)
            while not line.poll(SLICE_S):  # in slices: an untimed wait cannot be interrupted everywhere
                pass
            return line.recv()
        except (EOFError, OSError):
            self._lines[fellow] = None
            return None
        except Exception:  # noqa: BLE001 - what cannot be read here is found here
            return None

    def _line(self, fellow: str) -> Connection[Any, Any] | None:
        from multiprocessing import AuthenticationError
        from multiprocessing.connection import Client

        if fellow not in self._lines:
            self._lines[fellow] = None
            with suppress(OSError, EOFError, AuthenticationError):
                address = json.loads((self._folder / fellow).read_bytes())
                self._lines[fellow] = Client(
                    tuple(address) if isinstance(address, list) else address, authkey=self._key
                )
        return self._lines[fellow]

    def _welcome(self) -> None:
        from multiprocessing import AuthenticationError

        while True:
            try:
                line = self._listener.accept()
            except (OSError, EOFError, AuthenticationError):  # it is a stranger, gone again, or one file too many
                sleep(SLICE_S)
                continue
            threading.Thread(target=self._serve, args=(line,), name="calm-fellow", daemon=True).start()

    def _serve(self, line: Connection[Any, Any]) -> None:
        with line, suppress(EOFError, OSError):
            while True:
                question = line.recv()
                if question is None:
                    self._over.wait()
                    line.send(None)
                    continue
                found = self._told(line, *question)
                try:
                    line.send(found)
                except OSError:
                    raise
                except Exception:  # noqa: BLE001 - what cannot be sent is found anew by whoever wants it
                    line.send(None)

    def _told(self, line: Connection[Any, Any], place: int, name: str) -> Timing | None:
        def gone() -> bool:
            return line.poll(0)  # it says nothing while it waits

        while not self._open.wait(SLICE_S):
            if gone():
                return None
        return None if self._lookahead is None else self._lookahead.told(place, name, gone)
