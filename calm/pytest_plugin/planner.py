"""Traces the tests with a `probe` that asks nothing: what `calm plan` and `--calm-plan` are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.options import design_of, flag, indented, key, sample_of, seed_of, stopping_of
from calm.pytest_plugin.session import JUDGE, check_options, judge_in, judge_of, wanted_of
from calm.pytest_plugin.trace import Tracer, probed, trace

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.gate.planning import Recorded, Settings, Survey
    from calm.models.wire import Judge


class Planner:
    """
    Traces the tests with a `probe` that asks nothing, and records what they would ask; no test runs after that.

    `judge` takes the place of `--calm-judge` if it is given; the judge is looked at and never called.
    """

    def __init__(self, judge: Judge | None = None) -> None:
        from calm.gate.planning import Settings

        self._judge = judge
        self.record: list[Recorded] = []
        self.settings: Settings = Settings()
        self.cases: Sequence[Case] | None = None
        self.paths = False
        self.skipped: list[tuple[str, str]] = []
        self.floors: list[tuple[str, str]] = []
        self.troubles: list[tuple[str, str]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Put the judge in its place, and the fixture before the plugin's own."""
        if self._judge is not None:
            self.take_over(config)
        setattr(config.option, key("lookahead"), "0")  # else each test is traced twice, and stands in the plan twice
        config.pluginmanager.register(_Planned(self), "calm-planned")
        self.paths = config.args_source is pytest.Config.ArgsSource.ARGS

    def take_over(self, config: pytest.Config) -> None:
        """Let no judge be asked in this run."""
        from calm.gate.planning import Unasked

        config.stash[JUDGE] = Unasked(self._judge or judge_of(config))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests in place of running them."""
        from calm.errors import CalmError
        from calm.gate.planning import Settings

        config = session.config
        try:
            check_options(config)
            self.take_over(config)
        except CalmError as error:
            raise pytest.UsageError(indented(str(error))) from error
        self.settings = Settings(
            sample=sample_of(config),
            seed=seed_of(config),
            design=design_of(config),
            stopping=stopping_of(config),
            every_variant=flag(config, "every-variant"),
        )
        tracer = Tracer()
        kinds = {"skipped": self.skipped, "data": self.floors, "error": self.troubles}
        for item in trace(session, probed(session), tracer):
            if tracer.kind in kinds:
                kinds[tracer.kind].append((item.nodeid, tracer.why))
        return True

    def survey(self, judge: Judge) -> Survey:
        """
        Return what the tests would ask.

        Raises:
            CalmError: a probe that would end in an error in the run, too.
        """
        from calm.gate import planning

        found = planning.survey(self.record, judge, self.cases or (), self.settings)
        return replace(found, skipped=(*found.skipped, *_grouped(self.skipped)), floors=tuple(self.floors))


MANY = 3
"""More tests than these that were skipped for one reason are counted and not named."""


def _grouped(skipped: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return tests and why they were skipped, those with a frequent reason as a number in place of their names."""
    counts = Counter(reason for _, reason in skipped)
    named = [(node, reason) for node, reason in skipped if counts[reason] <= MANY]
    return [*named, *((f"{count} tests", reason) for reason, count in counts.items() if count > MANY)]


class Shown(Planner):
    """The same for `--calm-plan`: the plan is what the run says at its end."""

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Print the plan."""
        from calm.errors import CalmError
        from calm.gate import planning
        from calm.results.wording import printable

        if not self.record:
            terminalreporter.write_line("calm: nothing to plan: no test that was selected uses `probe`")
            return
        terminalreporter.section("calm plan")
        try:
            found = self.survey(judge_of(config))
        except CalmError as error:
            terminalreporter.write_line(printable(str(error), "\n"), red=True)
            return
        plan = planning.plan_of(found, len(found.cases), self.settings.design)
        terminalreporter.write_line(printable(planning.render(found, plan), "\n"))
        for node, reason in self.troubles:
            terminalreporter.write_line(f"not planned: {node}: {printable(reason)}", yellow=True)


class _Planned:
    """The fixture `probe` of a planned run."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    @pytest.fixture
    def probe(self, request: pytest.FixtureRequest, judge: Judge, cases: Sequence[Case]) -> object:
        """Record what a test asks, and ask nothing."""
        from calm.gate.planning import Recorder, Unasked

        judge = judge_in(request.config, judge)
        self._planner.cases = cases if self._planner.cases is None else self._planner.cases
        suite = request.node.path.stem.removeprefix("test_").replace("_", "-")
        asked = judge.inner if isinstance(judge, Unasked) else judge
        wanted = partial(wanted_of, request.config, asked, cases)
        return Recorder(judge, cases, suite, self._planner.record, wanted)
