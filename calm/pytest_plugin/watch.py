"""A worker of pytest-xdist watches its controller: nobody reads what it finds after the controller is gone."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calm.pytest_plugin.session import Session

LAST_S = 1.0
"""For how many seconds the tests of a worker may go on after its calls have ended."""


class Watch:
    """
    Ends this process soon after its parent, however that one died.

    execnet ends a worker, too, but 5 to 15 seconds later, and it would go on asking until then. A worker whose run is
    over, and whose test does not end, is ended as well.
    """

    def __init__(self, ours: Session) -> None:
        self._ours, self._parent = ours, os.getppid()
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
                self._leave()
                return

    def _orphaned(self) -> bool:
        if sys.platform != "win32":
            return os.getppid() != self._parent
        from calm.engine.leases import Host

        return not Host().runs(self._parent)  # there a process keeps the number of its dead parent

    def _leave(self) -> None:
        """Send nothing new, keep what is answered, and end the process even if a test does not."""
        if self._ours.engine is not None:
            self._ours.engine.stop()
        if not self._over.wait(LAST_S):
            if self._ours.engine is not None:
                self._ours.engine.close()
            os._exit(1)
