"""
What pytest shows of a run beside its own lines: how far it is, and the first disproved claim; of a claim that does not
hold a few lines, not a screen; and nowhere a credential, or a text with `--calm-texts none`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from shutil import get_terminal_size
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.options import is_worker, option

if TYPE_CHECKING:
    from calm.engine.engine import Engine
    from calm.experiment.lookahead import Lookahead, Order
    from calm.experiment.stopping import Ruling
    from calm.gate.probe import Probe
    from calm.models.pricing import Cost
    from calm.results.gatefile import Gate

MOST_FOUND = 4
"""Lines that pytest shows of what an assertion found."""
_WHERE = "+  "
"""How pytest begins a line that says where a value came from; of a probe that is the test's own line again."""
WINDOW_S = 10.0
"""The rate of calls is measured over this many seconds."""
SOON_S = 1.0
"""No line is shown for a wait that is shorter than this."""
LOOK_S = 0.2
"""Seconds between two looks of a controller for what its workers found."""

# One line is made below the present one (which scrolls where it is the last), and the place of the cursor is kept: what
# pytest writes next goes on where it stopped. These are sequences of the VT100.
_BELOW = "\x1bD\x1b[1A\x1b7\r\n"
_BACK = "\x1b[K\x1b8"


@dataclass
class Shown:
    """What this process has shown at once, and not at the end of the run."""

    first: FirstFinding | None = None
    """What says the first disproved claim while the run goes on."""
    said: set[str] = field(default_factory=set)
    announced: bool = False
    """Whether it was said what the cases of the run can decide."""


SHOWN: pytest.StashKey[Shown] = pytest.StashKey()


def speaker(config: pytest.Config) -> Callable[[str], None]:
    """Return what shows a message at once, not at the end of the run; a worker of xdist shows none."""
    from calm.results.wording import lines

    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")

    said = config.stash[SHOWN].said

    def say(text: str) -> None:
        if is_worker(config) or text in said or not config.pluginmanager.hasplugin("terminal"):
            return
        said.add(text)
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            if reporter is not None:
                reporter.ensure_newline()
                if reporter._tw.width_of_current_line:  # the dots of a run with -q belong to no file
                    reporter._tw.line()
            width = get_terminal_size().columns if getattr(reporter, "isatty", False) else 0  # a log stays whole
            for part in lines(f"calm: {text}", width):
                if reporter is None:  # pytest is being configured
                    print(part, flush=True)
                else:
                    reporter.write_line(part, yellow=True)

    return say


@dataclass(frozen=True, slots=True)
class ProgressFigures:
    """How far a run is."""

    decided: int = 0
    probes: int = 0
    made: int = 0
    cached: int = 0
    failed: int = 0
    tokens: int = 0
    cost: Cost | None = None
    seconds_left: float | None = None
    batches: int = 0
    over: int = 0


def said(figures: ProgressFigures) -> str:
    """
    Return the line.

    >>> from calm.models.pricing import Cost
    >>> said(ProgressFigures(3, 20, 1240, 300, 2, 53100, Cost(0.12), 41.0))
    'calm: 3 of 20 probes decided; 1240 calls made, 300 cached, 2 failed; 53k tokens; 0.12 USD; about 41 s left'
    >>> said(ProgressFigures(3, 20, 1240, cost=Cost(0.12, ("tiny",))))
    'calm: 3 of 20 probes decided; 1240 calls made, 0 cached; >= 0.12 USD'
    >>> said(ProgressFigures(3, 20, 1240, cost=Cost(0, ("tiny",))))
    'calm: 3 of 20 probes decided; 1240 calls made, 0 cached; unknown price'
    >>> said(ProgressFigures(0, 1, 7))
    'calm: 0 of 1 probes decided; 7 calls made, 0 cached'
    >>> said(ProgressFigures(0, 1, 7, batches=3, over=1))
    'calm: 0 of 1 probes decided; 7 calls made, 0 cached; 1 of 3 batches back (Ctrl-C leaves them under way)'
    """
    f = figures
    parts = [f"calm: {f.decided} of {f.probes} probes decided", f"{f.made} calls made, {f.cached} cached"]
    if f.failed:
        parts[1] += f", {f.failed} failed"
    if f.tokens:
        parts.append(f"{f.tokens / 1000:.0f}k tokens" if f.tokens >= 10_000 else f"{f.tokens} tokens")
    if f.cost is not None and (f.cost.usd or f.cost.unpriced):
        known = f"{'>= ' if f.cost.unpriced else ''}{f.cost.usd:.2f} USD"
        parts.append(known if f.cost.usd else "unknown price")
    if f.batches:
        parts.append(f"{f.over} of {f.batches} batches back (Ctrl-C leaves them under way)")
    elif f.seconds_left is not None:
        parts.append(f"about {_span(f.seconds_left)} left")
    return "; ".join(parts)


def _span(seconds: float) -> str:
    """
    Return a span of time as people say it.

    >>> [_span(s) for s in (0.2, 59, 61, 3700)]
    ['1 s', '59 s', '1 min', '1.0 h']
    """
    if seconds < 60:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


class FirstFinding:
    """
    Says the first disproved claim once: in this process, or by a file of the run to the controller of xdist.

    `hear` may be called in any thread. `say` is called in the thread that shows the tests.
    """

    def __init__(self, config: pytest.Config, gate: Gate, shared: Path | None, say: Callable[[str], None]) -> None:
        self._config, self._gate, self._shared, self._speak = config, gate, shared, say
        self._known = self._said = ""
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def hear(self, order: Order, ruling: Ruling) -> None:
        """Take a disproved claim of an order; nothing if an earlier one is known, or if it is accepted."""
        if self._known or order.lenient:
            return
        text = self._sentence(order, ruling)
        with self._lock:
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
        from calm.results.findings import finding
        from calm.results.gatefile import accepted
        from calm.results.redaction import finding_without_texts
        from calm.results.reports.terminal import trouble_line
        from calm.results.steps import trouble_of

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
        found = finding_without_texts(found) if option(self._config, "texts") == "none" else found
        return f"first finding: {trouble_line(trouble_of(found.bias, [found])).text}"


class ProgressLine:
    """
    Shows the line while a test waits and takes it away before pytest writes; silent where nobody would see it.

    It is shown on a terminal only, not with `-q -q`, and not with workers of xdist, whose tests wait elsewhere.
    """

    def __init__(self, config: pytest.Config, engine: Engine, first: FirstFinding) -> None:
        self._engine, self._first = engine, first
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._capture: Any = config.pluginmanager.get_plugin("capturemanager")
        seen = self._reporter is not None and getattr(self._reporter, "isatty", False)
        self._live = bool(seen and not is_worker(config) and config.option.verbose > -2)
        self._seen: deque[tuple[float, int]] = deque()
        self._since: float | None = None
        self._shown = False

    def show(self, lookahead: Lookahead) -> None:
        """Write the line anew; called again and again while a test waits."""
        self._say_first()
        if not self._live:
            return
        now = monotonic()
        self._since = now if self._since is None else self._since
        figures = self._figures(lookahead, now)
        if now - self._since >= SOON_S:
            width = get_terminal_size().columns - 1
            self._write(f"{_BELOW}{said(figures)[:width]}{_BACK}")
            self._shown = True

    def clear(self) -> None:
        """Take the line away; called when the wait is over."""
        self._take_away()
        self._since = None
        self._say_first()

    def _take_away(self) -> None:
        if self._shown:
            self._write(f"{_BELOW}{_BACK}")
        self._shown = False

    def _say_first(self) -> None:
        """Show the first disproved claim, once; it stays, and the line is shown below it."""
        if self._first.waits:
            self._take_away()
            self._first.say()

    def _figures(self, lookahead: Lookahead, now: float) -> ProgressFigures:
        ledger = self._engine.ledger
        calls = ledger.calls
        self._seen.append((now, calls["made"]))
        while now - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()
        then, before = self._seen[0]
        rate = (calls["made"] - before) / (now - then) if now > then else 0.0
        batches = self._engine.batch_figures
        return ProgressFigures(
            lookahead.decided,
            lookahead.submitted,
            calls["made"],
            calls["cached"],
            calls["failed"],
            ledger.tokens.total(),
            ledger.cost,
            self._engine.pending / rate if rate > 0 else None,
            batches.batches if batches else 0,
            batches.over if batches else 0,
        )

    def _write(self, text: str) -> None:
        with self._capture.global_and_fixture_disabled():
            self._reporter._tw._file.write(text)  # not through its own method: this is no part of the current line
            self._reporter.flush()


def shorten(report: Any) -> None:
    """Cut the traceback of a failed claim to its function, the line that claims, and what was found."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", None) or ()
    for one in entries:
        if getattr(one, "style", "") in ("long", "short"):
            one.lines = shortened(one.lines)
            one.reprfuncargs = None


def shortened(lines: Sequence[str]) -> list[str]:
    """
    Return the lines of one entry of a traceback, cut.

    >>> shortened(["    def test_it(probe):", "        # why", ">       assert probe(it).proves(gain <= 0)", "E  FAIL"])
    ['    def test_it(probe):', '>       assert probe(it).proves(gain <= 0)', 'E  FAIL']
    """
    source = [line for line in lines if not line.startswith("E")]
    found = [line for line in lines if line.startswith("E") and not line[1:].lstrip().startswith(_WHERE)]
    at = next((place for place, line in enumerate(source) if line.startswith(">")), 0)
    return [*source[: min(at, 1)], *source[at:], *found[:MOST_FOUND]]


def private(config: pytest.Config) -> bool:
    """Return whether every text is to be left out."""
    return option(config, "texts") == "none"


def shown_safely(report: Any) -> None:
    """Let nothing that pytest shows of a test with a probe act on a terminal: errors quote cases, servers and files."""
    from calm.results.wording import printable

    _clean(report, partial(printable, keep="\n\t"), set())


def without_credentials(report: Any) -> None:
    """
    Take all known credentials out of what pytest shows: messages, source lines, locals (`-l`), captured output, logs.

    A run in which calm knows of no credential is left alone, and imports nothing.
    """
    vault = sys.modules.get("calm.models.secrets")
    if vault is not None and vault.knows_any():
        _clean(report, vault.hidden_where_cut, set())


def clean_streams(config: pytest.Config, until_end: ExitStack) -> None:
    """
    Take all known credentials out of what comes past pytest's capture, until the run ends.

    That is what is printed with `-s`, or between two tests: the threads of a judge write when they like.
    """
    from calm.models.secrets import cleaned

    capture = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        until_end.enter_context(cleaned())


def _clean(found: Any, clean: Callable[[str], str], seen: set[int]) -> Any:
    """Return what was found with its texts cleaned; objects of pytest are changed in place."""
    if isinstance(found, str):
        return clean(found)
    if found is None or isinstance(found, int | float | bytes | type | Path) or id(found) in seen:
        return found
    seen.add(id(found))
    if isinstance(found, list):
        found[:] = [_clean(one, clean, seen) for one in found]
    elif type(found) is tuple:
        return tuple(_clean(one, clean, seen) for one in found)
    elif isinstance(found, Warning):
        found.args = _clean(found.args, clean, seen)
    elif type(found).__module__.startswith(("_pytest.", "warnings")) and hasattr(found, "__dict__"):
        for name, value in vars(found).items():
            if (now := _clean(value, clean, seen)) is not value:
                object.__setattr__(found, name, now)
    return found


def veil_findings(made: Probe) -> None:
    """Take all quotations out of the findings of a probe, and so out of what an assertion shows of them."""
    from calm.results.redaction import finding_without_texts

    made.context.findings = [finding_without_texts(f) for f in made.context.findings]
    for proof in made.context.proofs:
        proof.findings = tuple(finding_without_texts(f) for f in proof.findings)


def veil_report(
    item: pytest.Item, raised: pytest.ExceptionInfo[BaseException] | None, report: Any, made: Probe | None
) -> None:
    """
    Take the printed output out of a report, and everything but place and kind out of a failure.

    The message of an exception, the values that pytest shows of an assertion, and the lines of a traceback may all
    hold a text. A wrong setting and the reason of a skip are still shown.
    """
    from calm.errors import ConfigError

    report.sections = []
    if raised is None or raised.errisinstance(pytest.skip.Exception):
        return
    if raised.errisinstance(ConfigError):
        from calm.results.wording import printable

        report.longrepr = printable(str(raised.value), "\n")
        return
    if made is not None and report.when == "teardown" and str(raised.value) == made.complaint():
        return
    entry = next((e for e in reversed(raised.traceback) if str(e.path) == str(item.path)), None)
    path, number, _ = item.location
    place = f"{path}:{(number if entry is None else entry.lineno) + 1}" if number is not None else path
    report.place = f"{place}: {raised.typename}"
    report.longrepr = f"{report.place}; its message is left out with the texts"


def veil_assertion(report: Any, words: str) -> None:
    """Show the numbers of a failed claim."""
    report.longrepr = f"{getattr(report, 'place', report.longrepr)}: {words}"
