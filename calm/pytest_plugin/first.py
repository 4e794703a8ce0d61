"""The first claim that a run disproves: it is said as soon as it is decided, while the rest is still asked."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calm.pytest_plugin.options import is_worker
from calm.pytest_plugin.privacy import private

if TYPE_CHECKING:
    from collections.abc import Callable

    from calm.experiment.lookahead import Order
    from calm.experiment.stopping import Ruling
    from calm.results.gatefile import Gate

LOOK_S = 0.2
"""Seconds between two looks of a controller for what its workers found."""


class FirstFinding:
    """
    Says the first disproved claim once: in this process, or by a file of the run to the controller of xdist.

    `hear` may be called in any thread. `say` is called in the thread that shows the tests.
    """

    def __init__(self, config: pytest.Config, gate: Gate, shared: Path | None, say: Callable[[str], None]) -> None:
        self._config, self._gate, self._shared, self._speak = config, gate, shared, say
        self._known = self._said = ""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def hear(self, order: Order, ruling: Ruling) -> None:
        """Take a disproved claim of an order; nothing if an earlier one is known, or if it is accepted."""
        if self._known or order.lenient:
            return
        text = self._sentence(order, ruling)
        if not text or self._known:
            return
        self._known = text
        if self._shared is not None:
            with suppress(OSError):  # another worker was first, or the run is over: it is in the report
                file = os.open(self._shared, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(file, "w", encoding="utf-8") as written:
                    written.write(f"{text}\n")

    @property
    def waits(self) -> bool:
        """Whether something was heard that is not shown yet; a worker of xdist shows nothing."""
        return self._known != self._said and not is_worker(self._config)

    def say(self) -> None:
        """Show what was heard."""
        self._said = self._known
        self._speak(self._said)

    def watch(self) -> None:
        """In the controller of xdist: show what a worker finds, until `end`."""
        self._thread = threading.Thread(target=self._watch, name="calm-first", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look a last time, and watch no more."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        over = False
        while not (over or self._known):
            over = self._over.wait(LOOK_S)
            self._look()

    def _look(self) -> None:
        assert self._shared is not None
        with suppress(OSError):
            text = self._shared.read_text("utf-8")
            if text.endswith("\n"):  # it is whole
                self._known = text.rstrip("\n")
                self.say()

    def _sentence(self, order: Order, ruling: Ruling) -> str:
        """Return the sentence that the report has for the claim; empty if gate.toml accepts it."""
        from calm.gate.overrides import accepted
        from calm.results.audit import finding
        from calm.results.redaction import finding_without_texts
        from calm.results.reports.terminal import trouble_line
        from calm.results.troubles import trouble_of

        found = finding(
            bias=order.bias,
            node="",
            task=order.setup.judge.task,
            edit=order.edit,
            against=order.against,
            decision=ruling.decision,
            trials=ruling.trials,
        )
        found = accepted(self._gate, found, {})
        if not found.red:
            return ""
        found = finding_without_texts(found) if private(self._config) else found
        return f"first finding: {trouble_line(trouble_of(found.bias, [found])).text}"
