"""
The pytest plugin: options, the fixtures `judge`, `cases` and `probe`, and what a run reports.

It is loaded in every pytest run of its environment, so nothing but pytest is imported before a probe is used.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shutil import get_terminal_size
from tempfile import TemporaryFile
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from calm.audit import Audit, Finding
    from calm.case import Case
    from calm.engine import Engine
    from calm.experiment import Design, Setup
    from calm.gatefile import Gate
    from calm.probe import Probe
    from calm.stopping import Stopping
    from calm.wire import Judge

EXIT_CONFIG = pytest.ExitCode.USAGE_ERROR
MOST_ASKS = 100
"""More asks than this of one case and arm are a slip of the keyboard."""
POOLED = "baseline/worsening"
"""The key of the claim that nothing got worse on the whole (as in `calm.gatefile`, which is not imported here)."""

# option, its default, what it takes, help
_OPTIONS = (
    ("judge", "lexical", "SPEC", "lexical, planted:..., a path to a judge.toml, or package.module:attribute"),
    ("sample", "200", "N", "at most so many cases, the same for all probes (default 200)"),
    ("seed", "0", "I", "seed of every random choice (default 0)"),
    ("repeats", "4+2", "K+M", "clean and perturbed asks a case (default 4+2, undecided claims topped up to 4+4)"),
    ("cache", "on", "MODE", "on, replay (never call), refresh (ask again), off"),
    ("cache-file", ".calm/cache.sqlite", "FILE", "where replies are kept"),
    ("max-calls", "", "N", "make at most so many calls; what is unfinished is INCOMPLETE"),
    ("max-usd", "", "X", "spend at most so many US dollars"),
    ("undecided", "fail", "fail|warn", "what an undecided claim does to its test"),
    ("gate", "", "FILE", "gate.toml: other limits, waivers and accepted NOT_TESTED, each with a reason and an expiry"),
    ("baseline", "", "FILE", "also require: not worse than this accepted run (see `calm accept`)"),
    ("report", "", "FILE.html", "write a report for people"),
    ("results", "", "FILE.json", "write the results for machines, and their texts beside them"),
)
_FLAGS = (
    ("every-variant", "also run each variant of a rotation by itself (Holm-corrected; only a FAIL counts)"),
    ("sequential", "stop each claim as soon as one of five looks decides it"),
    ("anytime", "the same by a betting e-process: valid whenever one looks, also after adding cases to a run"),
)
_PATHS = ("cache-file", "gate", "baseline", "report", "results")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each also as an ini setting."""
    group = parser.getgroup("calm", "calm: audit of LLM judges")
    for name, _, takes, text in _OPTIONS:
        key = _key(name)
        group.addoption(f"--calm-{name}", dest=key, default=None, metavar=takes, help=text)
        parser.addini(key, f"{text} (as --calm-{name})")
    group.addoption(
        "--calm-cases", dest="calm_cases", action="append", default=None, metavar="FILE", help="cases as JSON Lines"
    )
    parser.addini("calm_cases", "files of cases (as --calm-cases)", type="paths")
    for name, text in _FLAGS:
        group.addoption(f"--calm-{name}", dest=_key(name), action="store_true", default=None, help=text)
        parser.addini(_key(name), f"{text} (as --calm-{name})", type="bool", default=False)


@dataclass
class Session:
    """What the probes of one process share, made when the first one is used."""

    config: pytest.Config
    started: float = field(default_factory=time.time)
    engine: Engine | None = None
    checked: bool = False
    subjects: list[tuple[Judge, Sequence[Case], dict[str, Any]]] = field(default_factory=list)
    gate: Gate | None = None
    baseline: Audit | None = None


SESSION = pytest.StashKey[Session]()
JUDGE = pytest.StashKey["Judge"]()
CASES = pytest.StashKey["dict[str, list[Case]]"]()
PROBE = pytest.StashKey["Probe"]()
SUBJECT = pytest.StashKey[dict[str, Any]]()
CALLED = pytest.StashKey[bool]()


def _key(name: str) -> str:
    return f"calm_{name.replace('-', '_')}"


def _option(config: pytest.Config, name: str) -> str:
    """Return an option as given on the command line, else in the ini file, else by default."""
    given = config.getoption(_key(name))
    if given is not None:
        return str(given)
    default = next(value for option, value, *_ in _OPTIONS if option == name)
    return _beside_ini(config, name, str(config.getini(_key(name)))) or default


def _beside_ini(config: pytest.Config, name: str, text: str) -> str:
    """Return a path of the ini file as seen from the folder of that file, and anything else as it is."""
    path = name in _PATHS or (name == "judge" and text.endswith(".toml"))
    return str(config.inipath.parent / text) if path and text and config.inipath else text


def _flag(config: pytest.Config, name: str) -> bool:
    return bool(config.getoption(_key(name)) or config.getini(_key(name)))


def _given(config: pytest.Config, name: str) -> bool:
    return config.getoption(_key(name)) is not None or bool(config.getini(_key(name)))


def _case_files(config: pytest.Config) -> list[str]:
    given = config.getoption("calm_cases")
    return list(given) if given is not None else [str(p) for p in config.getini("calm_cases") or ()]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """
    Check what can be checked before any test is collected, once, in the process that the user sees.

    What only stands in an ini file waits until a probe was collected, so that other runs of a project owe it nothing;
    but with xdist no process sees both the tests and the user.
    """
    config.stash[SESSION] = Session(config)
    if _is_worker(config):
        return
    config.pluginmanager.register(Collector(config), "calm-collector")
    if not (config.option.help or config.option.version) and (_commanded(config) or _distributed(config)):
        _preflight(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Check what stands in an ini file, if there is a probe that needs it."""
    config = session.config
    probed = any("probe" in getattr(item, "fixturenames", ()) for item in session.items)
    if probed and not _is_worker(config) and not _distributed(config):
        _preflight(config)


def _preflight(config: pytest.Config) -> None:
    session = config.stash[SESSION]
    if session.checked or not _asked(config):
        return
    session.checked = True
    from calm.errors import CalmError

    try:
        _check_options(config)
        if _given(config, "judge") or _case_files(config):
            judge = _judge(config)
            if _case_files(config):  # the bundled ones wait: a conftest.py may have other ones
                _cases(config, judge)
            if judge.endpoints and not config.option.collectonly:
                _engine(config).greet(judge)
    except CalmError as error:
        raise pytest.UsageError(_indented(str(error))) from error


def _commanded(config: pytest.Config) -> bool:
    """Return whether any option of ours was given on the command line."""
    names = (*(name for name, *_ in (*_OPTIONS, *_FLAGS)), "cases")
    return any(config.getoption(_key(name)) is not None for name in names)


def _asked(config: pytest.Config) -> bool:
    return _commanded(config) or bool(_case_files(config)) or any(_given(config, name) for name, *_ in _OPTIONS)


def _distributed(config: pytest.Config) -> bool:
    return bool(getattr(config.option, "dist", "no") != "no")


def _indented(text: str) -> str:
    lines = text.splitlines()
    return "\n".join([f"calm: {lines[0]}", *(f"      {rest}" for rest in lines[1:])])


def _check_options(config: pytest.Config) -> None:
    """
    Read every option once, so that a wrong one is said before a call is paid.

    Raises:
        ConfigError: naming the option, what it takes and what it got.
    """
    from calm.errors import ConfigError
    from calm.store import Mode

    problems: list[str] = []
    readers = (_design, _seed, _sample, _caps, _gate, _baseline)
    for reader in readers:
        try:
            reader(config)
        except ConfigError as error:
            problems += error.problems
    choices = {"cache": [m.value for m in Mode], "undecided": ["fail", "warn"]}
    for name, known in choices.items():
        if _option(config, name) not in known:
            problems.append(f"--calm-{name}: expected {' or '.join(known)}, got {_option(config, name)!r}")
    outputs = {name: Path(_option(config, name)) for name in ("report", "results") if _option(config, name)}
    problems += [f"--calm-{name}: {fault}" for name, path in outputs.items() if (fault := _unwritable(path))]
    if _flag(config, "sequential") and _flag(config, "anytime"):
        problems.append("--calm-sequential and --calm-anytime: expected one of the two rules for stopping, got both")
    if _option(config, "baseline") and (_flag(config, "sequential") or _flag(config, "anytime")):
        problems.append("--calm-baseline: it is compared case by case, so all cases must be asked; do not stop early")
    if Path(_option(config, "cache-file")).is_dir():
        problems.append(f"--calm-cache-file: expected a file, got the folder {_option(config, 'cache-file')!r}")
    if len(outputs) > len({path.absolute() for path in outputs.values()}):
        problems.append(f"--calm-report and --calm-results: expected two files, got {str(outputs['report'])!r} twice")
    if problems:
        raise ConfigError(problems)


def _unwritable(path: Path) -> str:
    """Return why a file cannot be written, as far as can be seen before the run."""
    if path.is_dir():
        return f"expected a file, got the folder {str(path)!r}"
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with TemporaryFile(dir=folder):  # root may do what the permissions deny, and not what the file system denies
            return ""
    except OSError:
        return f"expected a file that can be written, got {str(path)!r}: {str(folder)!r} is no folder to write in"


def _whole(config: pytest.Config, name: str, least: int) -> int | None:
    from calm.errors import ConfigError

    text = _option(config, name)
    if not text:
        return None
    try:
        value = int(text.replace("_", ""))
    except ValueError:
        value = least - 1
    if value < least:
        raise ConfigError(f"--calm-{name}: expected a whole number of at least {least}, got {text!r}")
    return value


def _seed(config: pytest.Config) -> int:
    return _whole(config, "seed", 0) or 0


def _sample(config: pytest.Config) -> int:
    return _whole(config, "sample", 1) or 1


def _design(config: pytest.Config) -> Design:
    from calm.errors import ConfigError
    from calm.experiment import Design

    text = _option(config, "repeats")
    clean, plus, perturbed = text.partition("+")
    numbers = [int(n) for n in (clean, perturbed) if n.isascii() and n.isdigit()]
    if not plus or len(numbers) < 2 or not all(1 <= n <= MOST_ASKS for n in numbers):
        wanted = f"clean+perturbed asks such as 4+2, each at most {MOST_ASKS}"
        raise ConfigError(f"--calm-repeats: expected {wanted}, got {text!r}")
    return Design(*numbers)


def _caps(config: pytest.Config) -> tuple[int | None, float | None]:
    from calm.errors import ConfigError

    calls = _whole(config, "max-calls", 1)
    text = _option(config, "max-usd")
    if not text:
        return calls, None
    try:
        usd = float(text)
    except ValueError:
        usd = -1.0
    if not 0 < usd < float("inf"):
        raise ConfigError(f"--calm-max-usd: expected an amount above 0, got {text!r}")
    return calls, usd


def _gate(config: pytest.Config) -> Gate:
    from calm.gatefile import Gate, read_gate

    session = config.stash[SESSION]
    if session.gate is None:
        path = _option(config, "gate")
        session.gate = read_gate(Path(path), datetime.now(UTC).date()) if path else Gate()
    return session.gate


def _baseline(config: pytest.Config) -> Audit | None:
    from calm.baseline import read_baseline

    session = config.stash[SESSION]
    if session.baseline is None and (path := _option(config, "baseline")):
        session.baseline = read_baseline(Path(path))
    return session.baseline


def _stopping(config: pytest.Config) -> Stopping:
    from calm.stopping import Stopping

    if _flag(config, "anytime"):
        return Stopping.ANYTIME
    return Stopping.LOOKS if _flag(config, "sequential") else Stopping.FIXED


def _judge(config: pytest.Config) -> Judge:
    from calm.config import judge_from

    if JUDGE not in config.stash:
        keyless = _option(config, "cache") == "replay"
        config.stash[JUDGE] = judge_from(_option(config, "judge"), keyless=keyless)
    return config.stash[JUDGE]


def _cases(config: pytest.Config, judge: Judge) -> list[Case]:
    from calm.config import cases_from

    known = config.stash.setdefault(CASES, {})
    if judge.task not in known:
        known[judge.task] = cases_from(_case_files(config), judge)
    return known[judge.task]


def _engine(config: pytest.Config) -> Engine:
    """Return the engine of this process; a worker gets its share of the caps, and the models read by the controller."""
    from calm.engine import Caps, Engine
    from calm.store import Mode, Store

    session = config.stash[SESSION]
    if session.engine is None:
        calls, usd = _caps(config)
        served: dict[str, str] = {}
        if _is_worker(config):
            given: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]  # set by xdist
            served = given.get("calm_served", {})
            used, spent = given.get("calm_used", (0, 0.0))
            count, number = int(given["workercount"]), int(str(given["workerid"]).removeprefix("gw"))
            calls = None if calls is None else max(0, (calls - used + count - 1 - number) // count)
            usd = None if usd is None else max(0.0, (usd - spent) / count)
        store = Store(Path(_option(config, "cache-file")), Mode(_option(config, "cache")))
        session.engine = Engine(store, caps=Caps(calls, usd), served=served)
    return session.engine


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the workers of xdist what the first live call found, and have the cache file made before they open it."""
    if not _asked(node.config):
        return
    from calm.errors import CalmError

    try:
        engine = _engine(node.config)
    except CalmError as error:
        raise pytest.UsageError(_indented(str(error))) from error
    node.workerinput["calm_served"] = dict(engine.served)
    node.workerinput["calm_used"] = (engine.ledger.calls["made"], engine.ledger.usd)


@pytest.fixture(scope="session")
def judge(pytestconfig: pytest.Config) -> Judge:
    """The judge under audit: `--calm-judge`, unless a conftest.py overrides this fixture."""
    return _judge(pytestconfig)


@pytest.fixture(scope="session")
def cases(pytestconfig: pytest.Config, judge: Judge) -> Sequence[Case]:
    """The cases it is asked about: `--calm-cases`, or the bundled ones, unless a conftest.py overrides this fixture."""
    _refuse_other_than_a_judge(judge)
    return _cases(pytestconfig, judge)


@pytest.fixture
def probe(request: pytest.FixtureRequest, judge: Judge, cases: Sequence[Case]) -> Iterator[Probe]:
    """Ask the judge about edited cases: `assert probe(edit).proves(net_robustness >= 0.95)`."""
    from calm.probe import Node, Probe

    config, item = request.config, request.node
    if any(cases is own for own in config.stash.get(CASES, {}).values()):
        cases = _cases(config, judge)  # pytest keeps one value of a session fixture, though folders have other judges
    setup = _setup(config, judge, cases)
    item.stash[SUBJECT] = _subject(config, judge, setup.cases)
    node = Node(item.nodeid, item.path.stem.removeprefix("test_").replace("_", "-"))
    undecided: Any = _option(config, "undecided")
    every = _flag(config, "every-variant")
    gate, say = _gate(config), _speaker(config)
    item.stash[PROBE] = made = Probe(setup, node, undecided=undecided, every_variant=every, gate=gate, say=say)
    yield made
    if item.stash.get(CALLED, False) and (complaint := made.complaint()):
        pytest.fail(complaint, pytrace=False)


def _speaker(config: pytest.Config) -> Callable[[str], None]:
    """Return what says something at once, not at the end of the run; a worker of xdist has nobody to say it to."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")

    def say(text: str) -> None:
        if reporter is None or _is_worker(config):
            return
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            reporter.ensure_newline()
            for part in _lines(f"calm: {text}", 0):
                reporter.write_line(part, yellow=True)

    return say


def _setup(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> Setup:
    from calm import datasets
    from calm.case import Case
    from calm.errors import ConfigError
    from calm.experiment import Setup

    _check_options(config)
    _refuse_other_than_a_judge(judge)
    if not isinstance(cases, Sequence) or not all(isinstance(c, Case) for c in cases):
        raise ConfigError(
            f"the fixture `cases`: expected a list of cases, got {type(cases).__name__}; "
            "make one with calm.datasets.read_cases(path)"
        )
    _engine(config).greet(judge)
    chosen = tuple(datasets.sample(cases, _sample(config), _seed(config)))
    return Setup(judge, chosen, _engine(config), _seed(config), _design(config), _stopping(config))


def _refuse_other_than_a_judge(judge: object) -> None:
    from calm.errors import ConfigError

    if not (hasattr(judge, "judge") and hasattr(judge, "task")):
        raise ConfigError(
            f"the fixture `judge`: expected a judge, got {judge!r}; "
            "make one with judge_from(SPEC) of calm.config, or of a function with PythonJudge(f) of calm.judges.python"
        )


def _subject(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> dict[str, Any]:
    """Return what the record says of a judge and its cases."""
    from calm import datasets

    session = config.stash[SESSION]
    for known, same, subject in session.subjects:
        if known == judge and same == cases:
            return subject
    about = dict(judge.about)
    served = _engine(config).served
    record = {
        "name": judge.name,
        "task": judge.task,
        "fingerprint": judge.fingerprint,
        "model": about.pop("model", None),
        "served": ", ".join(served[e.identity] for e in judge.endpoints if e.identity in served) or None,
        "prompt_sha256": about.pop("prompt_sha256", None),
        "scale": {"low": judge.scale.low, "high": judge.scale.high, "step": judge.scale.step},
        "parameters": about.pop("parameters", {}),
        "about": about,
    }
    subject = {"judge": record, "cases": {"n": len(cases), "sha256": datasets.sha256(cases)}}
    session.subjects.append((judge, cases, subject))
    return subject


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Let the findings of a test travel with its report, and say what kind of failure it is."""
    report = yield
    if call.excinfo is not None and report.when == "setup" and "probe" in getattr(item, "fixturenames", ()):
        _say_fault(item, call.excinfo, report)
    made = item.stash.get(PROBE, None)
    if made is None or report.when != "call":
        return report
    item.stash[CALLED] = report.passed
    from dataclasses import replace

    from calm.audit import finding_to_json, texts_to_json
    from calm.claims import Outcome
    from calm.wording import value

    reason = getattr(report, "wasxfail", None)
    findings: list[Finding] = made.findings
    if reason is not None:
        why = f"xfail: {reason}" if reason else "xfail"
        findings = [replace(f, accepted=why) if f.red and f.outcome is not Outcome.INCOMPLETE else f for f in findings]
    properties = [(f.key, f"{f.outcome.value} {value(f)}") for f in findings]
    item.user_properties += [p for p in properties if p not in item.user_properties]  # read at teardown, for JUnit
    red = {f.outcome for f in findings if f.red}
    kind = ""
    if report.failed and call.excinfo is not None and call.excinfo.errisinstance(AssertionError):
        bad = next((p for p in made.proofs if not p.holds), None)
        if bad is not None:
            crash = getattr(report.longrepr, "reprcrash", None)
            if crash is not None:
                crash.message = repr(bad)
            first = [o for o in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED) if o in red]
            kind = first[0].value if first and first[0] is not Outcome.FAIL else ""
    untested = bool(made.proofs) and all(f.outcome is Outcome.NOT_TESTED for f in findings)
    if report.passed and untested and made.complaint() is None:
        why = findings[0].reason if findings else made.proofs[0].nothing
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], f"NOT_TESTED: {why}")
        kind = Outcome.NOT_TESTED.value
    record = {
        "node": item.nodeid,
        "subject": item.stash[SUBJECT] if made.proofs or findings else None,
        "findings": [finding_to_json(f) for f in findings],
        "texts": [texts_to_json(t) for t in made.texts],
        "seconds": made.seconds,
        "asks": [made.asked, made.planned],
    }
    report.calm = {"kind": kind, "record": json.dumps(record)}  # as ASCII: xdist cannot carry every text
    return report


def _say_fault(item: pytest.Item, raised: pytest.ExceptionInfo[BaseException], report: Any) -> None:
    """Say an error of configuration without a traceback, and ask no other test: all would meet it."""
    from calm.errors import ConfigError

    if raised.errisinstance(ConfigError):
        report.longrepr = _indented(str(raised.value))
        report.calm = {"kind": "", "misconfigured": True}
        if not _is_worker(item.config):
            item.session.shouldstop = "calm is set up wrongly"


_LETTERS = {"UNDECIDED": ("?", "yellow"), "INCOMPLETE": ("!", "red"), "NOT_TESTED": ("-", "yellow")}


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show an undecided, incomplete or untested probe in a category of its own; it stays a failure, or a skip."""
    kind = getattr(report, "calm", {}).get("kind", "")
    if report.when != "call" or not kind:
        return None
    letter, colour = _LETTERS[kind]
    return kind.lower().replace("_", " "), letter, (kind, {colour: True})


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker: hand the figures of its engine to the controller."""
    if _is_worker(session.config):
        session.config.workeroutput["calm"] = _figures(session.config)  # type: ignore[attr-defined]  # set by xdist


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the engine."""
    session = config.stash.get(SESSION, None)
    if session is not None and session.engine is not None:
        session.engine.close()
        session.engine = None


def _figures(config: pytest.Config) -> dict[str, Any]:
    """Return what this process used."""
    session = config.stash[SESSION]
    engine = session.engine
    if engine is None:
        return {}
    ledger = engine.ledger
    return {
        "calls": dict(ledger.calls),
        "tokens": dict(ledger.tokens),
        "usd": ledger.usd,
        "priced": ledger.priced,
        "notes": [*engine.notes, *([engine.broken] if engine.broken else [])],
    }


class Collector:
    """Gathers the findings of all tests in the process that the user sees, and writes what was asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.findings: dict[str, dict[str, Any]] = {}
        self.texts: dict[tuple[str, str], dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self.asks: dict[str, list[int]] = {}
        self.subjects: dict[str, dict[str, Any]] = {}
        self.twice: list[str] = []
        self.misconfigured = self.interrupted = False
        self.workers: list[dict[str, Any]] = []
        self.written: list[str] = []
        self.problems: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take in the findings that came with a report."""
        came = getattr(report, "calm", {})
        self.misconfigured |= came.get("misconfigured", False)
        if "record" not in came:
            return
        record = json.loads(came["record"])
        node = record["node"]
        if record["subject"]:
            self.subjects[node] = record["subject"]
        mine: dict[str, dict[str, Any]] = {}
        for finding in record["findings"]:
            key = finding["key"]
            before = self.findings.get(key, finding)
            added = finding["measure"] == "unreadable_gain"  # by the engine, beside each claim about a gain
            if before["node"] != node and not (added and _but_for_node(before) == _but_for_node(finding)):
                self.twice.append(f"two findings with one key: {key}, by {before['node']} and by {node}")
            if mine.setdefault(key, finding) != finding:
                self.twice.append(f"two findings with one key: {key}, both by {node}")
            self.findings[key] = finding
        self.texts |= {(t["case"], t["hash"]): t for t in record["texts"]}
        self.seconds |= record["seconds"]
        self.asks[node] = record["asks"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take in the figures of a worker of xdist that ended."""
        output = getattr(node, "workeroutput", {})
        if output.get("calm"):
            self.workers.append(output["calm"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the outputs, and turn a green exit red where the gate is not green."""
        self.interrupted = exitstatus == pytest.ExitCode.INTERRUPTED and not self.misconfigured
        if self.subjects:
            audit = self.audit()
            self._write(audit)
            ok = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
            if exitstatus in ok and not self._green(audit):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.misconfigured:
            session.exitstatus = EXIT_CONFIG

    @property
    def faults(self) -> list[str]:
        """What is wrong with the run as a whole, though no finding says so."""
        faults = list(dict.fromkeys(self.twice))
        if self.interrupted:
            faults.append("the run was interrupted: the record holds only what was decided before")
        if not self.partial:
            keys = (*self.findings, *(POOLED,) * (self.config.stash[SESSION].baseline is not None))
            unused = _gate(self.config).unused(keys)
            faults += [f"--calm-gate: {entry} means no claim of this run; correct or remove it" for entry in unused]
        return faults

    def audit(self) -> Audit:
        """Return the record of the run."""
        from calm import __version__
        from calm.audit import Audit, JudgeRecord, Run, finding_from_json, texts_from_json

        figures = [f for f in (_figures(self.config), *self.workers) if f]
        subject = self.subjects[min(self.subjects)]  # the same whichever test came first
        others = sum(s != subject for s in self.subjects.values())
        several = [f"{others} tests had other cases or another judge; the record names the first's"] if others else []

        def total(name: str, keys: Sequence[str]) -> dict[str, int]:
            return {k: sum(f[name].get(k, 0) for f in figures) for k in keys}

        noted = [note for figure in figures for note in figure["notes"]]
        session = self.config.stash[SESSION]
        priced = all(f["priced"] for f in figures)
        run = Run(
            started=datetime.fromtimestamp(session.started, UTC).isoformat(timespec="seconds"),
            seconds=round(time.time() - session.started, 3),
            calls=total("calls", ("made", "cached", "failed", "retried")),
            tokens=total("tokens", ("input", "output")),
            usd=round(sum(f["usd"] for f in figures), 6) if priced else None,
            per_finding={k: {"seconds": round(v, 3)} for k, v in sorted(self.seconds.items())},
            notes=tuple(dict.fromkeys([*noted, *several, *self._saved(), *self.faults])),
        )
        audit = Audit(
            calm=__version__,
            judge=JudgeRecord(**subject["judge"]),
            cases=subject["cases"],
            seed=_seed(self.config),
            repeats=str(_design(self.config)),
            stopping=str(_stopping(self.config)),
            findings=tuple(finding_from_json(self.findings[k]) for k in sorted(self.findings)),
            run=run,
            texts=tuple(texts_from_json(self.texts[k]) for k in sorted(self.texts)),
        )
        return self._held_against(_baseline(self.config), audit)

    def _held_against(self, baseline: Audit | None, audit: Audit) -> Audit:
        """Return the record with what got worse since the baseline, if there is one."""
        if baseline is None:
            return audit
        from dataclasses import replace

        from calm.baseline import MARGIN, against, recalled
        from calm.errors import ConfigError

        gate = _gate(self.config)
        pooled = gate.limit_for(POOLED)
        margin = pooled.limit if pooled and pooled.limit is not None else MARGIN
        try:
            worse = against(baseline, audit, limit=margin)
        except ConfigError as error:
            said = [f"--calm-baseline: {problem}" for problem in error.problems]
            self.problems += [text for text in said if text not in self.problems]
            return audit
        if self.partial:  # what was left out by the user's own choice did not vanish
            present = {f.key.split("/")[0] for f in audit.findings}
            worse = tuple(f for f in worse if f.bias in present)
        entries = [(f, gate.waiver(f.key) if f.red else None) for f in worse]
        worse = tuple(replace(f, accepted=f"gate.toml, until {e.expires}: {e.reason}") if e else f for f, e in entries)
        audit = recalled(baseline, audit)
        return replace(audit, findings=tuple(sorted((*audit.findings, *worse), key=lambda f: f.key)))

    def _saved(self) -> list[str]:
        """Say what stopping early saved."""
        if not (_flag(self.config, "sequential") or _flag(self.config, "anytime")) or not self.asks:
            return []
        asked, planned = (sum(pair[i] for pair in self.asks.values()) for i in (0, 1))
        share = 1 - asked / planned if planned else 0.0
        words = f"{share:.0%} fewer than" if share >= 0 else f"{-share:.0%} more than"
        return [f"stopping early: {asked} asks were needed, {words} the {planned} of all cases before any top-up"]

    @property
    def partial(self) -> bool:
        """Whether the user chose a part of the tests, or the run did not come to its end."""
        option = self.config.option
        chosen = (option.keyword, option.markexpr, getattr(option, "lf", False), getattr(option, "stepwise", False))
        return any(chosen) or self.interrupted or any("::" in str(a) for a in self.config.args)

    def _green(self, audit: Audit) -> bool:
        undecided = _option(self.config, "undecided")
        return not self.problems and not self.faults and _green(audit, undecided=undecided)

    def _write(self, audit: Audit) -> None:
        from calm.errors import ConfigError

        for name, write in (("results", _write_results), ("report", _write_report)):
            target = _option(self.config, name)
            if not target:
                continue
            try:
                write(audit, Path(target))
                self.written.append(f"{name}: {target}")
            except ConfigError as error:
                self.problems.append(f"--calm-{name}: {error}")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many biases were tested, what is not green and why, and what it cost."""
        if not self.subjects:
            return
        from calm.claims import Outcome
        from calm.wording import headline, line

        audit = self.audit()
        out = terminalreporter
        width = get_terminal_size().columns if out.isatty else 0

        def say(text: str, **colour: bool) -> None:
            for part in _lines(text, width):
                out.write_line(part, **colour)

        out.section("calm", sep="=", **{"green": True} if self._green(audit) else {"red": True})
        say(headline(audit))
        for outcome in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED):
            for finding in audit.of(outcome):
                note = f" (accepted: {finding.accepted})" if finding.accepted else ""
                colour = "yellow" if outcome is Outcome.UNDECIDED or finding.accepted else "red"
                where = f" ({finding.node})" if outcome is not Outcome.FAIL and finding.red and finding.node else ""
                say(f"{finding.key}: {line(finding)}{note}{where}", **{colour: True})
        for text in (*_why_not_green(audit), *self.faults, *self.problems):
            say(text, red=True)
        for note in audit.run.notes:
            if note not in self.faults:
                say(f"note: {note}", yellow=True)
        say(_bill(audit))
        for text in self.written:
            say(text)


def _but_for_node(finding: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in finding.items() if name != "node"}


def _write_results(audit: Audit, path: Path) -> None:
    from calm.audit import write

    write(audit, path)


def _write_report(audit: Audit, path: Path) -> None:
    from calm.reports import html

    html.write(audit, path)


def _lines(text: str, width: int) -> list[str]:
    """
    Return text as lines that a terminal can show and not obey: a reason may quote what a judge or a server said.

    It is broken between words for a person's terminal; a log (`width` 0) keeps it whole.
    """
    from calm.wording import printable

    shown = printable(text)
    return wrap(shown, width, subsequent_indent="  ", break_on_hyphens=False) if width > 20 else [shown]


def _bill(audit: Audit) -> str:
    calls = audit.run.calls
    cost = "price unknown" if audit.run.usd is None else f"{audit.run.usd:.4f} USD" if audit.run.usd else ""
    parts = [
        f"judge {audit.judge.name} ({audit.judge.task}), {audit.cases.get('n', 0)} cases, {audit.repeats} asks",
        f"{calls['made']} calls made, {calls['cached']} cached"
        + (f", {calls['failed']} failed" if calls["failed"] else "")
        + (f", {calls['retried']} retried" if calls["retried"] else ""),
    ]
    return "; ".join([*parts, cost] if cost else parts)


def _why_not_green(audit: Audit) -> list[str]:
    """Return why the gate is not green although no finding says so."""
    from calm.audit import CONTROLS
    from calm.claims import Outcome

    reasons = []
    if not audit.of(Outcome.PASS):
        reasons.append("nothing was proven: a gate without one passed claim is not green")
    asked = [c for c in CONTROLS if any(f.bias == c for f in audit.findings)]
    loose = [c for c in asked if not audit.settled(c)]
    return reasons + [f"{c} was not decided: without it a constant judge or a coin could pass" for c in loose]


def _green(audit: Audit, *, undecided: str) -> bool:
    from calm.claims import Outcome

    open_ones = {f.outcome for f in audit.findings if f.red} - ({Outcome.UNDECIDED} if undecided == "warn" else set())
    return not open_ones and not _why_not_green(audit)


class Planner:
    """
    Lets the tests run with a `probe` that asks nothing, and records what they would ask: for `calm plan`.

    It takes the place of `--calm-judge`; the judge is looked at and never called. Tests without a probe do not run.
    """

    def __init__(self, judge: Judge) -> None:
        from calm.planning import Recorded, Settings, Unasked

        self.judge = Unasked(judge)
        self.record: list[Recorded] = []
        self.settings: Settings = Settings()
        self.cases: Sequence[Case] | None = None
        self.paths = False
        self.skipped: list[tuple[str, str]] = []
        self.troubles: list[tuple[str, str]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Put the judge in its place, and the fixture before the plugin's own."""
        config.stash[JUDGE] = self.judge
        config.pluginmanager.register(_Planned(self), "calm-planned")
        self.paths = config.args_source is pytest.Config.ArgsSource.ARGS

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is no probe, and read the options."""
        from calm.errors import CalmError
        from calm.planning import Settings

        items[:] = [item for item in items if "probe" in getattr(item, "fixturenames", ())]
        try:
            _check_options(config)
        except CalmError as error:
            raise pytest.UsageError(_indented(str(error))) from error
        self.settings = Settings(
            sample=_sample(config),
            seed=_seed(config),
            design=_design(config),
            stopping=_stopping(config),
            every_variant=_flag(config, "every-variant"),
        )

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Note what kept a test from being planned."""
        if call.excinfo is None or call.excinfo.errisinstance(pytest.xfail.Exception):
            return
        skipped = call.excinfo.errisinstance(pytest.skip.Exception)
        reason = str(call.excinfo.value) or type(call.excinfo.value).__name__
        (self.skipped if skipped else self.troubles).append((item.nodeid, reason.partition("\n")[0]))


class _Planned:
    """The fixture `probe` of a planned run."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    @pytest.fixture
    def probe(self, request: pytest.FixtureRequest, judge: Judge, cases: Sequence[Case]) -> object:
        """Record what a test asks, and ask nothing."""
        from calm.planning import Recorder

        _refuse_other_than_a_judge(judge)
        self._planner.cases = cases if self._planner.cases is None else self._planner.cases
        suite = request.node.path.stem.removeprefix("test_").replace("_", "-")
        return Recorder(judge, cases, suite, self._planner.record)
