"""
The pytest plugin: options, the fixtures `judge`, `cases` and `probe`, and what a run reports.

It is loaded in every pytest run of its environment, so nothing but pytest is imported before a probe is used.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from calm.audit import Audit, Finding
    from calm.case import Case
    from calm.engine import Engine
    from calm.experiment import Design
    from calm.probe import Probe
    from calm.wire import Judge

EXIT_CONFIG = pytest.ExitCode.USAGE_ERROR

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
    ("report", "", "FILE.html", "write a report for people"),
    ("results", "", "FILE.json", "write the results for machines, and their texts beside them"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each also as an ini setting."""
    group = parser.getgroup("calm", "calm: audit of LLM judges")
    for name, _, takes, text in _OPTIONS:
        key = f"calm_{name.replace('-', '_')}"
        group.addoption(f"--calm-{name}", dest=key, default=None, metavar=takes, help=text)
        parser.addini(key, f"{text} (as --calm-{name})")
    group.addoption(
        "--calm-cases", dest="calm_cases", action="append", default=None, metavar="FILE", help="cases as JSON Lines"
    )
    parser.addini("calm_cases", "files of cases (as --calm-cases)", type="paths")
    group.addoption(
        "--calm-every-variant",
        dest="calm_every_variant",
        action="store_true",
        default=None,
        help="also run each variant of a rotation by itself (Holm-corrected; only a FAIL counts)",
    )
    parser.addini("calm_every_variant", "as --calm-every-variant", type="bool", default=False)


@dataclass
class Session:
    """What the probes of one process share, made when the first one is used."""

    config: pytest.Config
    started: float = field(default_factory=time.time)
    engine: Engine | None = None
    greeted: set[int] = field(default_factory=set)
    judges: list[Judge] = field(default_factory=list)
    cases: tuple[Case, ...] = ()


SESSION = pytest.StashKey[Session]()
JUDGE = pytest.StashKey["Judge"]()
CASES = pytest.StashKey["list[Case]"]()
PROBE = pytest.StashKey["Probe"]()
CALLED = pytest.StashKey[bool]()


def _option(config: pytest.Config, name: str) -> str:
    """Return an option as given on the command line, else in the ini file, else by default."""
    key = f"calm_{name.replace('-', '_')}"
    default = next(value for option, value, *_ in _OPTIONS if option == name)
    given = config.getoption(key)
    return str(given if given is not None else config.getini(key) or default)


def _given(config: pytest.Config, name: str) -> bool:
    key = f"calm_{name.replace('-', '_')}"
    return config.getoption(key) is not None or bool(config.getini(key))


def _case_files(config: pytest.Config) -> list[str]:
    given = config.getoption("calm_cases")
    return list(given) if given is not None else [str(p) for p in config.getini("calm_cases") or ()]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """Check what can be checked before any test is collected, once, in the process that the user sees."""
    config.stash[SESSION] = Session(config)
    if _is_worker(config):
        return
    config.pluginmanager.register(Collector(config), "calm-collector")
    asked = [name for name, *_ in _OPTIONS if _given(config, name)]
    if not (asked or _case_files(config)):
        return
    from calm.errors import CalmError

    try:
        _check_options(config)
        if _given(config, "judge") or _case_files(config):
            judge, _ = _judge(config), _cases(config, _judge(config))
            idle = config.option.collectonly or config.option.help or config.option.version
            if judge.endpoints and not idle:
                _greet(config, judge)
    except CalmError as error:
        raise pytest.UsageError(_indented(str(error))) from error


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
    readers = (_design, _seed, _sample, _caps)
    for reader in readers:
        try:
            reader(config)
        except ConfigError as error:
            problems += error.problems
    choices = {"cache": [m.value for m in Mode], "undecided": ["fail", "warn"]}
    for name, known in choices.items():
        if _option(config, name) not in known:
            problems.append(f"--calm-{name}: expected {' or '.join(known)}, got {_option(config, name)!r}")
    for name in ("report", "results"):
        path = Path(_option(config, name) or ".")
        if _option(config, name) and path.is_dir():
            problems.append(f"--calm-{name}: expected a file, got the folder {str(path)!r}")
    if problems:
        raise ConfigError(problems)


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
    if not plus or not clean.isdigit() or not perturbed.isdigit() or not int(clean) or not int(perturbed):
        raise ConfigError(f"--calm-repeats: expected clean+perturbed asks such as 4+2, got {text!r}")
    return Design(int(clean), int(perturbed))


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


def _judge(config: pytest.Config) -> Judge:
    from calm.config import judge_from

    if JUDGE not in config.stash:
        config.stash[JUDGE] = judge_from(_option(config, "judge"))
    return config.stash[JUDGE]


def _cases(config: pytest.Config, judge: Judge) -> list[Case]:
    from calm.config import cases_from

    if CASES not in config.stash:
        config.stash[CASES] = cases_from(_case_files(config), judge)
    return config.stash[CASES]


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


def _greet(config: pytest.Config, judge: Judge) -> None:
    session = config.stash[SESSION]
    if id(judge) not in session.greeted:
        _engine(config).greet(judge)
        session.greeted.add(id(judge))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the workers of xdist what the first live call found, and have the cache file made before they open it."""
    engine = _engine(node.config)
    node.workerinput["calm_served"] = dict(engine.served)
    node.workerinput["calm_used"] = (engine.ledger.calls["made"], engine.ledger.usd)


@pytest.fixture(scope="session")
def judge(pytestconfig: pytest.Config) -> Judge:
    """The judge under audit: `--calm-judge`, unless a conftest.py overrides this fixture."""
    return _judge(pytestconfig)


@pytest.fixture(scope="session")
def cases(pytestconfig: pytest.Config, judge: Judge) -> Sequence[Case]:
    """The cases it is asked about: `--calm-cases`, or the bundled ones, unless a conftest.py overrides this fixture."""
    return _cases(pytestconfig, judge)


@pytest.fixture
def probe(request: pytest.FixtureRequest, judge: Judge, cases: Sequence[Case]) -> Iterator[Probe]:
    """Ask the judge about edited cases: `assert probe(edit).proves(net_robustness >= 0.95)`."""
    from calm.errors import CalmError
    from calm.probe import Node, Probe

    config, item = request.config, request.node
    try:
        setup = _setup(config, judge, cases)
    except CalmError as error:
        if _is_worker(config):
            raise
        pytest.exit(_indented(str(error)), returncode=EXIT_CONFIG)
    node = Node(item.nodeid, item.path.stem.removeprefix("test_").replace("_", "-"))
    undecided: Any = _option(config, "undecided")
    every = config.getoption("calm_every_variant") or config.getini("calm_every_variant")
    item.stash[PROBE] = made = Probe(setup, node, undecided=undecided, every_variant=bool(every))
    yield made
    if item.stash.get(CALLED, False) and (complaint := made.complaint()):
        pytest.fail(complaint, pytrace=False)


def _setup(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> Any:
    from calm import datasets
    from calm.experiment import Setup

    _check_options(config)
    session = config.stash[SESSION]
    _greet(config, judge)
    chosen = tuple(datasets.sample(cases, _sample(config), _seed(config)))
    if judge not in session.judges:
        session.judges.append(judge)
        session.cases = chosen
    return Setup(judge, chosen, _engine(config), _seed(config), _design(config))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Let the findings of a test travel with its report, and say what kind of failure it is."""
    report = yield
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
    report.user_properties += [(f.key, f"{f.outcome.value} {value(f)}") for f in findings]
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
    report.calm = {
        "kind": kind,
        "findings": [finding_to_json(f) for f in findings],
        "texts": [texts_to_json(t) for t in made.texts],
        "seconds": made.seconds,
    }
    return report


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
    """Return what this process used, and what it knows of the judge and the cases."""
    session = config.stash[SESSION]
    engine = session.engine
    if engine is None:
        return {}
    ledger = engine.ledger
    found: dict[str, Any] = {
        "calls": dict(ledger.calls),
        "tokens": dict(ledger.tokens),
        "usd": ledger.usd,
        "priced": ledger.priced,
        "notes": [*engine.notes, *([engine.broken] if engine.broken else [])],
    }
    if session.judges:
        from calm import datasets

        judge = session.judges[0]
        about = dict(judge.about)
        served = [engine.served[e.identity] for e in judge.endpoints if e.identity in engine.served]
        found["judge"] = {
            "name": judge.name,
            "task": judge.task,
            "fingerprint": judge.fingerprint,
            "model": about.pop("model", None),
            "served": ", ".join(served) or None,
            "prompt_sha256": about.pop("prompt_sha256", None),
            "scale": {"low": judge.scale.low, "high": judge.scale.high, "step": judge.scale.step},
            "parameters": about.pop("parameters", {}),
            "about": about,
        }
        found["cases"] = {"n": len(session.cases), "sha256": datasets.sha256(session.cases)}
        if len(session.judges) > 1:
            found["notes"].append(f"{len(session.judges)} judges were used; the record names the first")
    return found


class Collector:
    """Gathers the findings of all tests in the process that the user sees, and writes what was asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.findings: dict[str, dict[str, Any]] = {}
        self.texts: dict[tuple[str, str], dict[str, Any]] = {}
        self.seconds: dict[str, float] = {}
        self.twice: list[str] = []
        self.workers: list[dict[str, Any]] = []
        self.written: list[str] = []
        self.problems: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take in the findings that came with a report."""
        found = getattr(report, "calm", None)
        if not found:
            return
        for finding in found["findings"]:
            key = finding["key"]
            before = self.findings.get(key)
            if before is not None and before["node"] != finding["node"]:
                self.twice.append(f"{key}: by {before['node']} and by {finding['node']}")
            self.findings[key] = finding
        self.texts |= {(t["case"], t["hash"]): t for t in found["texts"]}
        self.seconds |= found["seconds"]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take in the figures of a worker of xdist that ended."""
        output = getattr(node, "workeroutput", {})
        if output.get("calm"):
            self.workers.append(output["calm"])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the outputs, and turn a green exit red where the gate is not green."""
        if not self.findings:
            return
        audit = self.audit()
        self._write(audit)
        ok = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if exitstatus in ok and not self._green(audit):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def audit(self) -> Audit:
        """Return the record of the run."""
        from calm import __version__
        from calm.audit import Audit, JudgeRecord, Run, finding_from_json, texts_from_json

        figures = [f for f in (_figures(self.config), *self.workers) if f]
        known = next((f for f in figures if "judge" in f), {"judge": {}, "cases": {}})

        def total(name: str, keys: Sequence[str]) -> dict[str, int]:
            return {k: sum(f[name].get(k, 0) for f in figures) for k in keys}

        session = self.config.stash[SESSION]
        priced = all(f["priced"] for f in figures)
        run = Run(
            started=datetime.fromtimestamp(session.started, UTC).isoformat(timespec="seconds"),
            seconds=round(time.time() - session.started, 3),
            calls=total("calls", ("made", "cached", "failed", "retried")),
            tokens=total("tokens", ("input", "output")),
            usd=round(sum(f["usd"] for f in figures), 6) if priced else None,
            per_finding={k: {"seconds": round(v, 3)} for k, v in sorted(self.seconds.items())},
            notes=tuple(dict.fromkeys(n for f in figures for n in f["notes"])),
        )
        return Audit(
            calm=__version__,
            judge=JudgeRecord(**known["judge"]),
            cases=known["cases"],
            seed=_seed(self.config),
            repeats=str(_design(self.config)),
            findings=tuple(finding_from_json(self.findings[k]) for k in sorted(self.findings)),
            run=run,
            texts=tuple(texts_from_json(self.texts[k]) for k in sorted(self.texts)),
        )

    def _green(self, audit: Audit) -> bool:
        undecided = _option(self.config, "undecided")
        return not self.problems and not self.twice and _green(audit, undecided=undecided)

    def _write(self, audit: Audit) -> None:
        from calm import audit as record
        from calm.errors import ConfigError
        from calm.reports import html

        for name, write in (("results", record.write), ("report", html.write)):
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
        if not self.findings:
            return
        from calm.claims import Outcome
        from calm.wording import headline, line

        audit = self.audit()
        out = terminalreporter
        out.section("calm", sep="=", **{"green": True} if self._green(audit) else {"red": True})
        out.write_line(headline(audit))
        for outcome in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED):
            for finding in audit.of(outcome):
                note = f" (accepted: {finding.accepted})" if finding.accepted else ""
                out.write_line(f"{finding.key}: {line(finding)}{note}", red=outcome is not Outcome.UNDECIDED, yellow=True)
        for text in (*_why_not_green(audit), *(f"two findings with one key: {t}" for t in self.twice), *self.problems):
            out.write_line(text, red=True)
        for note in audit.run.notes:
            out.write_line(f"note: {note}", yellow=True)
        out.write_line(_bill(audit))
        for text in self.written:
            out.write_line(text)


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
    for control in CONTROLS:
        found = {f.outcome for f in audit.findings if f.bias == control}
        if found and not found & {Outcome.PASS, Outcome.FAIL}:
            reasons.append(f"{control} was not decided: without it a constant judge or a coin could pass")
    return reasons


def _green(audit: Audit, *, undecided: str) -> bool:
    from calm.claims import Outcome

    open_ones = {f.outcome for f in audit.findings if f.red} - ({Outcome.UNDECIDED} if undecided == "warn" else set())
    return not open_ones and not _why_not_green(audit)
