"""Traces the tests with a `probe` in place of running them: what `calm plan` and `--calm-plan` show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.asking import asks_alone
from calm.pytest_plugin.options import design_of, flag, indented, key, sample_of, seed_of, stopping_of
from calm.pytest_plugin.session import JUDGE, SESSION, check_options, judge_of
from calm.pytest_plugin.trace import Tracer, probed, trace

if TYPE_CHECKING:
    from calm.gate.plan import Survey
    from calm.models.wire import Judge


AS_IT_GOES = "it asks while it runs, by `verdict_of`, so how much is not known before"


class Planner:
    """
    Traces the tests with a `probe`, and records what they would ask; no test runs after that.

    `judge` takes the place of `--calm-judge` if it is given; the judge is looked at and never called.
    """

    def __init__(self, judge: Judge | None = None) -> None:
        from calm.gate.plan import PlanRecord, PlanSettings

        self._judge = judge
        self.record = PlanRecord()
        self.settings = PlanSettings()
        self.paths = False
        self.skipped: list[tuple[str, str]] = []
        self.floors: list[tuple[str, str]] = []
        self.troubles: list[tuple[str, str]] = []
        self.fault: Exception | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Put the judge in its place."""
        if self._judge is not None:
            self.take_over(config)
        setattr(config.option, key("lookahead"), "0")  # else each test is traced twice, and stands in the plan twice
        self.paths = config.args_source is pytest.Config.ArgsSource.ARGS

    def take_over(self, config: pytest.Config) -> None:
        """Make sure that no judge is asked in this run."""
        from calm.gate.requests import StandIn

        config.stash[JUDGE] = StandIn(self._judge or judge_of(config))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests in place of running them."""
        from calm.engine.engine import Engine
        from calm.engine.store import Mode, Store
        from calm.errors import CalmError, ConfigError
        from calm.gate.plan import PlanSettings

        config = session.config
        ours = config.stash[SESSION]
        try:
            check_options(config)
            self.take_over(config)
        except CalmError as error:
            raise pytest.UsageError(indented(str(error))) from error
        self.settings = PlanSettings(
            sample=sample_of(config),
            seed=seed_of(config),
            design=design_of(config),
            stopping=stopping_of(config),
            every_variant=flag(config, "every-variant"),
        )
        ours.plan, ours.engine, ours.tracing = self.record, Engine(Store(None, Mode.OFF)), True
        tracer = Tracer()
        self.skipped += ours.beyond.items()
        self.skipped += [(item.nodeid, AS_IT_GOES) for item in session.items if asks_alone(item)]
        kinds = {"skipped": self.skipped, "data": self.floors, "error": self.troubles}
        for item in trace(session, probed(session), tracer):
            if tracer.kind in kinds:
                kinds[tracer.kind].append((item.nodeid, tracer.why))
        self.fault = tracer.fault or (ConfigError(list(map(str, ours.twice))) if ours.twice else None)
        if self.fault is not None:
            raise pytest.UsageError(indented(str(self.fault)))
        return True

    def survey(self, judge: Judge) -> Survey:
        """
        Return what the tests would ask.

        Raises:
            CalmError: a probe that would end in an error in the run, too.
        """
        from calm.gate.plan import survey

        found = survey(self.record.entries, judge, self.record.cases or (), self.settings)
        return replace(found, skipped=(*found.skipped, *_grouped(self.skipped)), floors=tuple(self.floors))


MANY = 3
"""If more tests than this were skipped for one reason, they are counted and not named."""


def _grouped(skipped: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return tests and why they were skipped; where many share a reason, their number stands for their names."""
    counts = Counter(reason for _, reason in skipped)
    named = [(node, reason) for node, reason in skipped if counts[reason] <= MANY]
    return [*named, *((f"{count} tests", reason) for reason, count in counts.items() if count > MANY)]


class PlanPrinter(Planner):
    """The same for `--calm-plan`: prints the plan at the end of the run."""

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print the plan."""
        from calm.errors import CalmError
        from calm.gate.rehearsal import planned, render
        from calm.results.wording import printable

        if self.fault is not None:
            return
        if not self.record.entries:
            terminalreporter.write_line("calm: nothing to plan: no test that was selected uses `probe`")
            for node, reason in _grouped(self.skipped):
                terminalreporter.write_line(f"not planned: {printable(node)}: {printable(reason)}", yellow=True)
            return
        terminalreporter.section("calm plan")
        try:
            found = self.survey(judge_of(config))
        except CalmError as error:
            terminalreporter.write_line(printable(str(error), "\n"), red=True)
            return
        terminalreporter.write_line(printable(render(found, planned(found)), "\n"))
        for node, reason in self.troubles:
            terminalreporter.write_line(f"not planned: {printable(node)}: {printable(reason)}", yellow=True)
