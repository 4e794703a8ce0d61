"""
The pytest plugin: it gives each test its `judge`, `cases` and `probe`, and reports the run.

It is loaded in every pytest run of its environment, so this module declares the options and the fixtures and imports
nothing else of calm. The hooks of a run stand in `hooks`: they are registered when an option of calm is given on the
command line, or when a test that takes one of the fixtures is collected.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin import options

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.gate.probe import Probe
    from calm.gate.verdict_of import VerdictOf
    from calm.models.wire import Judge

FIXTURES = frozenset({"judge", "cases", "probe", "verdict_of"})


class Waiting:
    """
    A run of pytest of which nobody knows yet whether it has a probe.

    It registers the hooks of a run when the first test needs them, and keeps for them what happened until then. `known`
    is how many inputs this process knew before any conftest.py was read: those are none of this run.
    """

    def __init__(self, known: int = 0) -> None:
        self.known = known
        self.uncollected: list[str] = []
        self.nodes: list[Any] = []
        """The workers of xdist."""
        self.ids: list[Sequence[str]] = []
        """The tests that each of them collected."""
        self.reports: list[pytest.TestReport] = []
        """Those of tests that failed, such as one whose worker died, and the first one that tells of a probe."""
        self.config: pytest.Config | None = None

    def end(self) -> None:
        """Register the hooks, in the place of this."""
        assert self.config is not None
        from calm.pytest_plugin.hooks import begin  # not `import hooks`: a run of pytester unloads what it imported

        self.config.pluginmanager.unregister(self)
        del self.config.stash[WAITING]
        begin(self.config, self)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Look whether a test takes one of the fixtures, or is marked as one of the gate."""
        if _is_ours(item):
            self.end()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Look again: a conftest.py may have given a fixture to a test."""
        if any(map(_is_ours, items)):
            self.end()
            from calm.pytest_plugin.hooks import pytest_collection_modifyitems

            pytest_collection_modifyitems(session, config, items)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be collected."""
        if report.failed:
            self.uncollected.append(report.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Note a worker of xdist."""
        self.nodes.append(node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Note the tests of a worker of xdist."""
        self.ids.append(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Look whether a worker of xdist tells of a probe."""
        if report.failed or hasattr(report, "calm"):
            self.reports.append(report)
        if hasattr(report, "calm"):
            self.end()


WAITING = pytest.StashKey[Waiting]()
"""It is in the stash of a run until the hooks are registered."""


def _is_ours(item: pytest.Item) -> bool:
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) or bool(item.get_closest_marker(options.EXTRA))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each also as an ini setting."""
    options.add_to(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Note which inputs this process knew before any conftest.py was read."""
    inputs = sys.modules.get("calm.core.files")
    early_config.stash[WAITING] = Waiting(inputs.count() if inputs is not None else 0)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Make a plan in this process and not in workers of xdist, since it asks nothing."""
    if options.flag(config, "plan") and hasattr(config.option, "numprocesses"):
        config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and wait for a test with a probe where no option asks for one."""
    config.addinivalue_line("markers", "calm(lookahead=False): ask this test when it runs, not ahead of it")
    config.addinivalue_line("markers", 'calm(repeats="2+1"): asks a case of this test, whatever --calm-repeats says')
    extra = options.EXTRA
    config.addinivalue_line("markers", f"{extra}: asked with --calm-every-variant, or if its file is named")
    config.addinivalue_line("markers", f"{extra}(folder=True): asked only if its folder or file is named")
    config.addinivalue_line("markers", f'{extra}(unless="turns"): asked also where a case of the run has turns')
    waiting = config.stash.setdefault(WAITING, Waiting())
    waiting.config = config
    config.pluginmanager.register(waiting, "calm-waiting")
    if options.commanded(config) or options.flag(config, "plan"):
        waiting.end()
    elif options.distributed(config) and not options.is_worker(config) and options.asked(config):
        waiting.end()  # no process sees both the tests and the user


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """
    Name the file in the ids of the suites that are installed with calm: `calm/suites/test_position.py::test_...`.

    pytest names a file by its path below the root folder, or else below what was asked for, which leaves nothing of it
    where a module is asked for: JUnit, Allure and pytest-html could not tell the suites apart.
    """
    in_project = module_path.is_relative_to(parent.config.rootpath) and "site-packages" not in module_path.parts
    if in_project or not module_path.is_relative_to(options.SUITES):
        return None
    name = f"calm/suites/{module_path.relative_to(options.SUITES).as_posix()}"
    return pytest.Module.from_parent(parent, path=module_path, nodeid=name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Take known credentials out of the report of a test, and send the findings of a probe with it."""
    report = yield
    _without_credentials(report)
    if WAITING not in item.config.stash:
        from calm.pytest_plugin.hooks import tell

        tell(item, call, report)
    return report


_LETTERS = {"UNDECIDED": ("?", "yellow"), "INCOMPLETE": ("!", "red"), "NOT_TESTED": ("-", "yellow")}


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show an undecided, incomplete or untested probe in a category of its own; it stays a failure, or a skip."""
    kind = getattr(report, "calm", {}).get("kind", "")
    if report.when != "call" or not kind:
        return None
    letter, colour = _LETTERS[kind]
    return kind.lower().replace("_", " "), letter, (kind, {colour: True})


@pytest.hookimpl(tryfirst=True)
def pytest_internalerror(excrepr: Any) -> None:
    """Take known credentials out of an error of pytest or a plugin."""
    _without_credentials(excrepr)


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: Any) -> None:
    """Take known credentials out of a warning."""
    _without_credentials(warning_message)


def _without_credentials(shown: Any) -> None:
    if "calm.models.secrets" in sys.modules:  # else calm knows of none
        from calm.pytest_plugin.shown import without_credentials

        without_credentials(shown)


def _begun(request: pytest.FixtureRequest) -> pytest.Config:
    """Return the run's configuration, with its hooks registered: a test may ask for a fixture while it runs."""
    waiting = request.config.stash.get(WAITING, None)
    if waiting is not None:
        waiting.end()
        from calm.pytest_plugin.hooks import collected

        collected(request.session)
    return request.config


@pytest.fixture(scope="session")
def judge(request: pytest.FixtureRequest) -> Judge:
    """The judge under audit: `--calm-judge`, unless a conftest.py overrides this fixture."""
    config = _begun(request)
    from calm.pytest_plugin.fixtures import judge_of

    return judge_of(config)


@pytest.fixture(scope="session")
def cases(request: pytest.FixtureRequest, judge: Judge) -> Sequence[Case]:
    """The cases it is asked about: `--calm-cases`, or the bundled ones, unless a conftest.py overrides this fixture."""
    config = _begun(request)
    from calm.pytest_plugin.fixtures import cases_of, judge_in

    return cases_of(config, judge_in(config, judge))


@pytest.fixture
def probe(request: pytest.FixtureRequest, judge: Judge, cases: Sequence[Case]) -> Iterator[Probe]:
    """Ask the judge about edited cases: `assert probe(edit).proves(net_robustness >= 0.95)`."""
    _begun(request)
    from calm.pytest_plugin.fixtures import probe_of

    yield from probe_of(request.node, judge, cases)


@pytest.fixture(scope="session")
def verdict_of(request: pytest.FixtureRequest, judge: Judge, cases: Sequence[Case]) -> Iterator[VerdictOf]:
    """Ask the judge about one case, in a test of any kind: `verdict_of(case)`, `verdict_of.flips(case, edited)`."""
    config = _begun(request)
    from calm.pytest_plugin.fixtures import verdict_of_run

    with verdict_of_run(config, judge, cases) as made:
        yield made
