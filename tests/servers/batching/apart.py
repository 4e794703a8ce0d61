"""A server of batches in a process of its own: `with apart("planted:seed=1") as server: ... server.told()`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen


@dataclass(frozen=True)
class Apart:
    """Where it listens."""

    url: str
    pid: int

    def told(self) -> dict[str, Any]:
        """Return its counts: "batches", "billed" (times, tokens in and out by custom_id), "live", "polls"."""
        with urlopen(f"{self.url}/told", timeout=60) as reply:
            found: dict[str, Any] = json.load(reply)
        return found

    def finish(self) -> None:
        """Bring all batches to their end now."""
        urlopen(Request(f"{self.url}/finish", method="POST"), timeout=60).close()

    def change(self, **conduct: Any) -> None:
        """Change its conduct."""
        urlopen(Request(f"{self.url}/conduct", json.dumps(conduct).encode(), method="POST"), timeout=60).close()

    def forget(self) -> None:
        """Begin anew, with no batch and no bill."""
        urlopen(Request(f"{self.url}/forget", method="POST"), timeout=60).close()


@contextmanager
def apart(judge: str, **conduct: Any) -> Iterator[Apart]:
    """Start a server that answers as `judge` (planted:..., or one text) and end it with the block."""
    command = [sys.executable, "-m", "tests.servers.batching", judge, f"--conduct={json.dumps(conduct)}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        yield Apart(running.stdout.readline().strip(), running.pid)
        running.stdin.close()
