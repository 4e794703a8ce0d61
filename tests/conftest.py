"""Keeps the tests on this machine, and the slow lanes out of an ordinary run."""

import gc
import os
import signal
import socket
import sys
from collections import Counter
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from shutil import disk_usage

import pytest

from tests.inside import as_processes
from tests.lanes import NIGHTLY, nightly

SLOW = [Path(__file__).parent / name for name in ("power", "slow")]
MEMORY = Path("/dev/shm")
"""Where files cost no disk: each run of the gate waits until its replies are on it."""
BROWSER = Path(__file__).parent / "browser"
"""All of it needs Chromium; its imports take a second of each process."""
ROOM = 4 << 30
"""More bytes than the tests write."""
OF_LANES = {"postgres", "chromium", "built", "installed", "site"}
"""Fixtures that start a program of the machine, or build all of something: tests that use them are slow ones."""

pytest_plugins = ["pytester"]

sys.modules.setdefault("rfc3987_syntax", None)  # jsonschema has it make a parser of IRIs, for three seconds
for name in ("CI", "BUILD_NUMBER"):  # under either of them the pytest of an inner run writes each failure a second time
    os.environ.pop(name, None)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of interpreters are started: each would compile all anew
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts so what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
if os.name != "nt" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # and `nohup` so
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_addoption(parser):
    """Add the option of the slow lane."""
    parser.addoption("--slow", action="store_true", help="run what is slow (tests/lanes.py), and nothing else")
    parser.addoption(
        "--weigh",
        nargs="?",
        const="all",
        choices=("all", "new"),
        help="write to tests/nightly.txt what takes too long: of both lanes, or of what is not in it yet",
    )


def pytest_collection_modifyitems(config, items):
    """Run what is slow, by its mark or by what it needs, where that was asked for, else all the rest."""
    wanted, weighs = config.getoption("--slow", False), config.getoption("--weigh", None) == "all"
    listed = {*NIGHTLY.read_text("utf-8").splitlines()}
    kept, left = [], []
    for item in items:
        if not OF_LANES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
        slow = item.get_closest_marker("slow") is not None or item.nodeid in listed
        named = any(folder in item.path.parents for folder in SLOW)  # lanes of their own, run where they are named
        (kept if named or weighs or slow == wanted else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def pytest_terminal_summary(terminalreporter, config):
    """Write which tests took too long, if that was asked for."""
    if config.getoption("--weigh", None):
        seconds = Counter()
        for report in (one for kind in terminalreporter.stats.values() for one in kind):
            if type(report) is pytest.TestReport and "slow" not in report.keywords:  # no subtest, and no marked row
                seconds[report.nodeid] += report.duration
        left = {*NIGHTLY.read_text("utf-8").splitlines()} - {*seconds}  # what did not run stays
        NIGHTLY.write_text("".join(f"{one}\n" for one in sorted({*nightly(seconds), *left})), "utf-8")


def pytest_ignore_collect(collection_path, config):
    """Leave `tests/power` and `tests/slow` out unless they are named, and `tests/browser` but for the slow lane."""
    slow = config.getoption("--slow", False) or config.getoption("--weigh", None) == "all"
    if collection_path not in SLOW and (collection_path != BROWSER or slow):
        return None
    named = any(collection_path.name in Path(str(arg).partition("::")[0]).parts for arg in config.args)
    return None if named else True


@pytest.fixture(autouse=True, scope="module")
def collector_sees_what_is_new():
    """
    Take what is there before a module's tests out of the sight of the collector of cycles.

    Each inner run of pytest ends with five full collections, and some packages collect in each call. Each collection
    would go through all that the tests have imported.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def libraries():
    """Let inner runs of this process be as processes of their own, but keep libraries and calm loaded."""
    with as_processes():
        yield


@pytest.fixture(autouse=True, scope="session")
def signals_of_python(pytestconfig):
    """
    Take the signals back from the plugin: tests of it interrupt this process, and look who has them.

    The plugin takes them for the run of the tests themselves too: some have fixtures that are called like its own.
    """
    from calm.pytest_plugin.session import SESSION

    if (session := pytestconfig.stash.get(SESSION, None)) is not None:
        session.process.release_signals()


@pytest.fixture(autouse=True, scope="session")
def inner_options():
    """
    Start inner runs of pytest without the plugin of Hypothesis, and return the options that say so.

    It imports all of Hypothesis at the end of each run, which takes as long as a third of the run. pytester discards
    these options, so runs that are to be as a user's are made through it.
    """
    options = "-p no:hypothesispytest"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", options)
        yield options


@pytest.fixture(autouse=True, scope="session")
def loopback_only():
    """Refuse any connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0]
            if host != "localhost" and not ip_address(host).is_loopback:
                raise AssertionError(f"a test tried to reach {host}: tests talk to loopback only")
        return connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        yield


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL that all tests of a process share; each takes a schema of its own."""
    from tests.servers.postgres import running

    with running() as server:
        yield server


@pytest.fixture
def shared(postgres, request, monkeypatch):
    """Return the URL of a schema for one test, with parameters; the password stands in the environment."""
    from tests.servers.postgres import PASSWORD

    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    name = sha256(request.node.nodeid.encode()).hexdigest()[:12]
    return lambda **given: postgres.url(f"t_{name}", **given)
