"""What the probes of one process share, made when first needed: engine, judges, cases, gate.toml and baseline."""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from shutil import get_terminal_size
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.options import (
    OUTPUTS,
    batch_least_of,
    batches_of,
    caps_of,
    case_files,
    commanded,
    days_of,
    design_in,
    design_of,
    distributed,
    given,
    is_worker,
    limits_of,
    lookahead_of,
    looks_ahead_of,
    option,
    place_of,
    run_name_of,
    sample_of,
    seed_of,
    stopping_of,
)
from calm.pytest_plugin.trace import MARKER

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.core.memo import Memo
    from calm.core.reasons import Reason
    from calm.core.verdict import Scale
    from calm.engine.engine import Engine
    from calm.experiment.crossing import CrossInputs, Member
    from calm.experiment.lookahead import Lookahead, Order
    from calm.experiment.setup import Setup
    from calm.experiment.stopping import Design
    from calm.gate.plan import PlanRecord
    from calm.gate.probe import Probe
    from calm.gate.resolution import Limits
    from calm.gate.verdict_of import VerdictOf
    from calm.models.wire import Judge
    from calm.pytest_plugin.progress import FirstFinding
    from calm.pytest_plugin.record import Record
    from calm.pytest_plugin.workers import Workers
    from calm.results.audit import Audit
    from calm.results.gatefile import Gate
    from calm.results.outputs import Output


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
    lookahead: Lookahead | None = None
    first: FirstFinding | None = None
    """What says the first disproved claim while the run goes on."""
    scratch: TemporaryDirectory[str] | None = None
    """What the workers of xdist share until the run ends: a file that says so and, without a cache, their replies."""
    workers: Workers | None = None
    """The workers of this run, as this one sees them."""
    tracing: bool = False
    """Whether tests run for what they would ask: ahead of the run, or for a plan."""
    plan: PlanRecord | None = None
    """What a plan collects, in which no judge is asked; None: this is no plan."""
    beyond: dict[str, str] = field(default_factory=dict)
    """The tests that were collected and left out, with the reason: they are none of the default gate."""
    selected: int = 0
    """How many tests of the gate were selected."""
    collected: tuple[pytest.Item, ...] = ()
    """The tests with a probe before anything left some of them out."""
    deselected: int = 0
    """How many tests of the gate options of pytest, plugins or a conftest.py left out."""
    narrowed: bool = False
    """Whether they left out any, in this process or in a worker of xdist that has come to its end."""
    said: set[str] = field(default_factory=set)
    foreign: list[Judge] = field(default_factory=list)
    """Judges made of objects that fixtures of users returned."""
    peers: dict[str, tuple[Member, ...]] = field(default_factory=dict)
    sampled: list[tuple[Sequence[Case], Scale, tuple[Case, ...]]] = field(default_factory=list)
    """Cases that a fixture gave, and the sample of them with gold for a scale."""
    showable: list[tuple[Judge, tuple[Case, ...], Memo]] = field(default_factory=list)
    """Samples that a judge can be shown, and what its probes make of them and share."""
    refusal: Exception | None = None
    """Why a worker asks nothing: gate.toml or the baseline does not fit."""
    traced: list[tuple[Lookahead, Order]] = field(default_factory=list)
    """What tests would ask, while they are traced."""
    claimed: dict[str, tuple[str, Order]] = field(default_factory=dict)
    """By the key of each finding that the tests make, the test and the question."""
    twice: list[Reason] = field(default_factory=list)
    """Which findings two questions make, as a trace tells."""
    announced: bool = False
    """Whether it was said what the cases of the run can decide."""
    known: int = 0
    """The number of the last reading of an input before the run."""
    weighed: int = -1
    """The number of the last reading when the outputs were looked at."""
    sources: list[Path] = field(default_factory=list)
    """The files of the tests, and those that configure them."""
    caught: bool = False
    """Whether this run has taken the signals of its process."""
    rolled: bool = False
    """Whether this worker of xdist has told which tests take a probe."""
    introduced: bool = False
    """Whether it has told whom they ask."""
    asking: VerdictOf | None = None
    """What tests ask by that have no probe, made when the first one wants it."""
    records: dict[str, Record] = field(default_factory=dict)
    """What the tests of this process found, until their reports are read."""

    unseen: dict[str, Reason] = field(default_factory=dict)
    """Parts of the cases that the judge of this run is not shown, each with how many cases have it."""
    rare: ExitStack = field(default_factory=ExitStack)
    """What sets the collector of cycles back at the end."""

    def look_rarely(self) -> None:
        """Have the collector of cycles look seldom until the run ends, and not at what was there before it began."""
        from calm.engine.thread import RareCollections

        self.rare.enter_context(RareCollections())
        if not gc.get_freeze_count():  # else this process is another program's, which freezes by itself
            gc.freeze()
            self.rare.callback(gc.unfreeze)

    @cached_property
    def parts(self) -> frozenset[str]:
        """What the cases of the run's files have beside question and answers: turns, context, steps."""
        from calm.cases.shapes import parts_in

        return parts_in(case_files(self.config))


SESSION = pytest.StashKey[Session]()
JUDGE = pytest.StashKey["Judge"]()
CASES = pytest.StashKey["dict[str, list[Case]]"]()
PROBE: pytest.StashKey[Probe] = pytest.StashKey()
SUBJECT = pytest.StashKey[dict[str, Any]]()
CALLED = pytest.StashKey[bool]()

_OVER, _FIRST, _SHARED = "over", "first", "shared"
"""Files that say that the run is over, and which claim was disproved first; the folder of what workers share."""


def catch_signals(config: pytest.Config) -> None:
    """Let a signal end the run as Ctrl-C does, until `release_signals`."""
    from calm.engine.signals import SIGNALS

    session = config.stash[SESSION]
    if not session.caught:
        session.caught = True
        SIGNALS.catch(patient=is_worker(config))


def release_signals(config: pytest.Config) -> None:
    """Give the signals back, if this run has taken them."""
    session = config.stash.get(SESSION, None)
    if session is not None and session.caught:
        from calm.engine.signals import SIGNALS

        session.caught = False
        SIGNALS.release()


def check_options(config: pytest.Config) -> None:
    """
    Read every option once, so that a wrong one is reported before any call is paid for.

    Raises:
        ConfigError: it names each wrong option, what it takes and what it got.
    """
    from calm.engine.store import Mode
    from calm.engine.thread import FORKED
    from calm.errors import ConfigError
    from calm.experiment.stopping import Stopping

    problems: list[str] = []
    readers = (
        *(design_of, seed_of, sample_of, caps_of, days_of, lookahead_of, looks_ahead_of, gate_of, baseline_of),
        *(batches_of, batch_least_of, families_of, place_of, run_name_of),
    )
    for reader in readers:
        try:
            reader(config)
        except ConfigError as error:
            problems += error.problems
    choices = {
        "cache": [m.value for m in Mode],
        "undecided": ["fail", "warn"],
        "texts": ["full", "none"],
        "stopping": list(map(str, Stopping)),
    }
    for name, known in choices.items():
        if option(config, name) not in known:
            problems.append(f"--calm-{name}: expected {' or '.join(known)}, got {option(config, name)!r}")
    forks = getattr(config.option, "forked", False)
    if forks and (commanded(config) or not distributed(config)):  # else a worker says it, if it has a test of the gate
        problems.append(f"--forked: {FORKED}")
    problems += output_faults(config)
    if not problems:  # it reads what was checked above
        try:
            limits_of(config)
        except ConfigError as error:
            problems += error.problems
    if Path(option(config, "cache-file")).is_dir():
        problems.append(f"--calm-cache-file: expected a file, got the folder {option(config, 'cache-file')!r}")
    if problems:
        raise ConfigError(problems)


def outputs_of(config: pytest.Config) -> list[Output]:
    """Return the files that the run is to write."""
    from calm.results import outputs

    forms = {
        "results": outputs.RESULTS,
        "report": outputs.REPORT,
        "summary": outputs.SUMMARY,
        "sarif": outputs.SARIF,
    }
    found = [
        outputs.Output(f"--calm-{name}", Path(option(config, name)), forms[name], aside=True)
        for name in OUTPUTS
        if option(config, name)
    ]
    if (path := option(config, "results")) and option(config, "texts") == "full":
        from calm.results.audit import texts_path

        found.append(outputs.Output("--calm-results", texts_path(Path(path)), outputs.TEXTS, aside=True))
    return found


def output_faults(config: pytest.Config, *names: str) -> list[str]:
    """
    Return which outputs would take the place of an input, a cache or a file of the user's, or cannot be written.

    `names` are those of the options to look at (none: all).
    """
    from calm.core.files import inputs
    from calm.results.outputs import faults

    session = config.stash[SESSION]
    read = (*inputs(session.known), *session.sources, *([config.inipath] if config.inipath else ()))
    looked_at = {f"--calm-{name}" for name in names or OUTPUTS}
    written = [one for one in outputs_of(config) if one.option in looked_at]
    return faults(written, inputs=read, caches=_caches(config))


def _caches(config: pytest.Config) -> list[Path]:
    """Return the files that keep replies; what is wrong with their option is said elsewhere."""
    from calm.engine.places import files
    from calm.errors import ConfigError

    try:
        return files(place_of(config))
    except ConfigError:
        return []


def refuse_outputs(config: pytest.Config) -> None:
    """
    Refuse outputs again, now that more inputs are known: those that the fixtures of a test read.

    Raises:
        ConfigError: one line for each.
    """
    from calm.core.files import count
    from calm.errors import ConfigError

    session = config.stash[SESSION]
    if session.weighed != count():
        session.weighed = count()
        if found := output_faults(config):
            raise ConfigError(found)


def gate_of(config: pytest.Config) -> Gate:
    """Return what gate.toml says, read once."""
    from calm.results.gatefile import Gate, read_gate

    session = config.stash[SESSION]
    if session.gate is None:
        path = option(config, "gate")
        session.gate = read_gate(Path(path), datetime.now(UTC).date()) if path else Gate()
    return session.gate


def baseline_of(config: pytest.Config) -> Audit | None:
    """Return the accepted run to compare with, if one was given."""
    from calm.results.baseline import read_baseline

    session = config.stash[SESSION]
    if session.baseline is None and (path := option(config, "baseline")):
        session.baseline = read_baseline(Path(path))
    return session.baseline


def judge_of(config: pytest.Config) -> Judge:
    """Return the judge of the run, made once."""
    from calm.gate.from_spec import judge_from

    if JUDGE not in config.stash:
        keyless = option(config, "cache") == "replay"
        config.stash[JUDGE] = judge_from(option(config, "judge"), keyless=keyless)
    return config.stash[JUDGE]


def cases_of(config: pytest.Config, judge: Judge) -> list[Case]:
    """Return the cases for the task of a judge as they are written, read once."""
    from calm.gate.from_spec import written_cases

    known = config.stash.setdefault(CASES, {})
    if judge.task not in known:
        known[judge.task] = written_cases(case_files(config), judge)
    return known[judge.task]


def cases_asked(config: pytest.Config) -> Sequence[Case]:
    """Return the cases of the run where this process knows them: it asked about them, or they are in files."""
    from calm.errors import CalmError

    if subjects := config.stash[SESSION].subjects:
        return subjects[0][1]
    try:
        return cases_of(config, judge_of(config))
    except CalmError:
        return ()


def named_as(config: pytest.Config, audit: Audit) -> tuple[str, tuple[str, ...] | None]:
    """
    Return how the options name the judge and the cases of a run.

    A judge that a conftest.py made has no name there, and cases that it made are in no file: nothing, or None.
    """
    from calm.errors import CalmError

    files = tuple(case_files(config))
    try:
        judge = judge_of(config)
        whole = cases_of(config, judge)
    except CalmError:
        return "", files
    same = (judge.name, judge.task, judge.fingerprint) == (
        audit.judge.name,
        audit.judge.task,
        audit.judge.fingerprint,
    )
    if not same:
        return "", files
    return option(config, "judge"), files if audit.cases.get("of") == len(whole) else None


def engine_of(config: pytest.Config) -> Engine:
    """Return the engine of this process; workers share caps and cache, and know the models read by the controller."""
    from calm.engine.engine import Engine
    from calm.engine.money import Keys, Money
    from calm.engine.signals import SIGNALS
    from calm.engine.store import Mode, Store

    session = config.stash[SESSION]
    if session.engine is None:
        place, mode, given = place_of(config), Mode(option(config, "cache")), _from_controller(config)
        if mode is Mode.OFF and (given or distributed(config)):  # workers share a file all the same, until the end
            place, mode = _scratch(config) / "run.sqlite", Mode.ON
        days = days_of(config)
        oldest = 0.0 if days is None else session.started - 86_400 * days
        name = run_name_of(config)
        store = Store(place, mode, run=given.get("calm_run", ""), name=name, oldest=given.get("calm_oldest", oldest))
        shared = store.account if given or name or distributed(config) else None
        money = Money(caps_of(config), shared, given.get("calm_started"))
        session.engine = Engine(
            store,
            money=money,
            served=given.get("calm_served"),
            seed=seed_of(config),
            batches=batches_of(config),
            least=batch_least_of(config),
        )
        session.engine.ledger.keys = Keys()
        if mode is Mode.ON and not given:
            session.engine.note_batches()
        if given:
            engine = session.engine
            store.bills.keep(lambda: json.dumps(_bill_of(config, engine)))
            SIGNALS.share(_scratch(config) / _OVER)
            if SIGNALS.over:
                raise KeyboardInterrupt
    return session.engine


def _scratch(config: pytest.Config) -> Path:
    """Return the folder that the workers of this run share until it ends."""
    session = config.stash[SESSION]
    if shared := _from_controller(config).get("calm_scratch"):
        return Path(shared)
    session.scratch = session.scratch or TemporaryDirectory(prefix="calm-")
    return Path(session.scratch.name)


def _from_controller(config: pytest.Config) -> dict[str, Any]:
    """Return what the controller of xdist gave to this process; empty if it is no worker."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given


def handed_on(engine: Engine, config: pytest.Config, specs: Sequence[Any]) -> dict[str, Any]:
    """Return what the controller of xdist gives to its workers, which it starts by `specs`."""
    from calm.engine.signals import SIGNALS
    from calm.pytest_plugin.workers import sharing

    scratch = _scratch(config)
    SIGNALS.share(scratch / _OVER)
    (scratch / _SHARED).mkdir(exist_ok=True)
    # each worker counts its own waves: a share of one may be too small for a batch
    return {
        "calm_workers": sharing(config, specs) if batches_of(config) is None else [],
        "calm_served": dict(engine.served),
        "calm_run": engine.store.run,
        "calm_oldest": engine.store.oldest,
        "calm_started": engine.money.started,
        "calm_scratch": str(scratch),
    }


def meet(config: pytest.Config) -> None:
    """Let a worker of xdist tell others of its machine what it finds; to be called before any of them gets a test."""
    from calm.pytest_plugin.workers import Workers

    given = _from_controller(config)
    if (names := given.get("calm_workers")) and lookahead_of(config):
        config.stash[SESSION].workers = Workers(_scratch(config) / _SHARED, given["workerid"], names)


def part(config: pytest.Config, worker: str) -> None:
    """In the controller of xdist: note that a worker has ended, so that no other one waits for what it was to find."""
    from calm.pytest_plugin.workers import strike_out

    if config.stash[SESSION].scratch is not None:
        strike_out(_scratch(config) / _SHARED, worker)


def lookahead_for(config: pytest.Config, judge: Judge) -> Lookahead:
    """
    Return what asks probes before their tests run; with `--calm-lookahead 0` it has nothing to do.

    A worker of xdist looks ahead at its share of the tests, or at all of them where the workers are not on one machine.
    The replies of a judge without a fingerprint cannot be kept, so each worker would ask for those that it shares with
    others: such a judge is asked when its test runs.
    """
    from calm.experiment.lookahead import Lookahead
    from calm.pytest_plugin.progress import ProgressLine

    session = config.stash[SESSION]
    first = first_of(config)
    if session.lookahead is None:
        progress = ProgressLine(config, engine_of(config), first)
        probes = max(1, lookahead_of(config))
        ends = progress.show, progress.clear, first.hear
        session.lookahead = Lookahead(probes, *ends, workers=session.workers)
    if is_worker(config) and judge.fingerprint is None:
        idle = Lookahead(1, heard=first.hear)
        idle.stop()
        return idle
    return session.lookahead


def first_of(config: pytest.Config) -> FirstFinding:
    """Return what says the first disproved claim, made once in each process; those of one run share a file."""
    from calm.pytest_plugin.progress import FirstFinding

    session = config.stash[SESSION]
    if session.first is None:
        shared = _scratch(config) / _FIRST if distributed(config) or is_worker(config) else None
        session.first = FirstFinding(config, gate_of(config), shared, speaker(config))
    return session.first


def speaker(config: pytest.Config) -> Callable[[str], None]:
    """Return what shows a message at once, not at the end of the run; a worker of xdist shows none."""
    from calm.results.wording import lines

    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")

    said = config.stash[SESSION].said

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


def sample_shown(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> tuple[Case, ...]:
    """
    Return the sample of cases that a run takes, drawn and rendered once, whoever asks for it first.

    Raises:
        ConfigError: a case that cannot be shown to the judge, or a table of verdicts that does not fit the cases.
    """
    from calm.cases import sample, upright
    from calm.core.memo import Memo
    from calm.core.reasons import Kind, because
    from calm.experiment.run import refuse_unshowable
    from calm.experiment.setup import SHARED
    from calm.gate.from_spec import recall
    from calm.judges.wrapper import unseen

    session = config.stash[SESSION]
    chosen = next((drawn for known, scale, drawn in session.sampled if known is cases and scale == judge.scale), None)
    if chosen is None:
        drawn = sample(cases, sample_of(config), seed_of(config))
        chosen = tuple(upright(drawn, judge.task, judge.scale))
        session.sampled.append((cases, judge.scale, chosen))
    recall(judge, cases)
    if _memo_of(session, judge, chosen) is None:
        refuse_unshowable(judge, chosen)
        for one in unseen(judge, chosen) if session.parts else ():
            if one.part in session.parts:
                session.unseen[one.part] = because(Kind.PART_UNSEEN, one.part, one.cases, one.of)
                speaker(config)(str(session.unseen[one.part]))
        session.showable.append((judge, chosen, Memo(SHARED)))
    return chosen


def _memo_of(session: Session, judge: Judge, cases: tuple[Case, ...]) -> Memo | None:
    """Return what probes make of a sample that a judge can be shown; None if it was not looked at yet."""
    return next((memo for known, drawn, memo in session.showable if known is judge and drawn is cases), None)


def setup_of(config: pytest.Config, judge: Judge, cases: Sequence[Case], asks: Design | None = None) -> Setup:
    """
    Return what the probes of a test share; `asks` are the test's own.

    A first live call is made to each model of the judge, but for a plan.

    Raises:
        ConfigError: wrong options, what is no judge or no case, cases that cannot be shown, or a failed first call.
    """
    from calm.core.case import Case
    from calm.core.memo import once
    from calm.errors import ConfigError
    from calm.experiment.setup import AT_A_TIME, TOGETHER, Setup

    check_options(config)
    if (refusal := config.stash[SESSION].refusal) is not None:
        raise refusal
    judge = judge_in(config, judge)
    if not isinstance(cases, Sequence) or not all(isinstance(c, Case) for c in cases):
        raise ConfigError(
            f"the fixture `cases`: expected a list of cases, got {type(cases).__name__}; "
            "make one with calm.cases.read_cases(path)"
        )
    chosen = sample_shown(config, judge, cases)
    if config.stash[SESSION].plan is None:
        refuse_outputs(config)
        engine_of(config).admit(judge)
    design = asks or design_for(config, judge)
    rules = seed_of(config), design, stopping_of(config), looks_ahead_of(config)
    at_a_time = AT_A_TIME if batches_of(config) is None else TOGETHER
    memo = _memo_of(config.stash[SESSION], judge, chosen)
    equals = once(memo, partial(_equals, judge, chosen), (chosen,), "equal")
    return Setup(judge, chosen, engine_of(config), *rules, at_a_time, memo=memo, equals=equals)


def _equals(judge: Judge, chosen: Sequence[Case]) -> tuple[Case, ...]:
    """Return the pairs of equal answers that ship, if a run takes them; none for a judge that needs what they lack."""
    from calm.cases import equal_cases
    from calm.errors import ConfigError
    from calm.experiment.run import refuse_unshowable
    from calm.judges.python import ForeignJudge, PythonJudge

    shipped = equal_cases(judge.task, chosen)
    if isinstance(judge, PythonJudge | ForeignJudge) and "reference" in judge.reads:
        return ()  # they have none, and code that goes by it would fail
    try:
        refuse_unshowable(judge, shipped)
    except ConfigError:
        return ()
    return shipped


def asks_of(item: pytest.Item) -> Design | None:
    """
    Return the number of asks that a test states for itself, as `@pytest.mark.calm(repeats="2+1")`; else None.

    Raises:
        ConfigError: it states something that is no number of asks.
    """
    stated = next((m.kwargs["repeats"] for m in item.iter_markers(MARKER) if "repeats" in m.kwargs), None)
    return None if stated is None else design_in(stated, f"{item.nodeid}: @pytest.mark.{MARKER}(repeats=...)")


def design_for(config: pytest.Config, judge: Judge) -> Design:
    """Return the asks in each arm: one where a repeat would say nothing new, unless the user says more."""
    from calm.experiment.stopping import Design

    if judge.traits.weighs and not given(config, "repeats"):
        return Design(1, 1)
    if judge.traits.repeats is not None and not given(config, "repeats"):
        return Design(judge.traits.repeats, judge.traits.repeats)
    return design_of(config)


def wanted_of(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> CrossInputs:
    """Return what a cross of judges and authors can use: all cases, and the judges that `--calm-peers` names."""
    from calm.cases import upright
    from calm.experiment.crossing import CrossInputs
    from calm.gate.from_spec import recall

    peers = peers_of(config, judge)
    for peer in peers:
        if peer.judge is not None:
            recall(peer.judge, cases)
    mine = tuple(upright(cases, judge.task, judge.scale))
    return CrossInputs(mine, peers, sample_of(config), families_of(config))


def families_of(config: pytest.Config) -> dict[str, str]:
    """
    Return the families that the user states for authors.

    Raises:
        ConfigError: something that is neither NAME=FAMILY nor a file of them.
    """
    if not (said := option(config, "families")):
        return {}
    from calm.core.families import stated

    return stated([said], "--calm-families")


def peers_of(config: pytest.Config, judge: Judge) -> tuple[Member, ...]:
    """
    Return the judges to compare with, read once.

    Raises:
        ConfigError: no such judge or record, or one of another kind of verdict.
    """
    from calm.gate.probe import read_peers

    session = config.stash[SESSION]
    if judge.task not in session.peers:
        keyless = option(config, "cache") == "replay"
        session.peers[judge.task] = read_peers(option(config, "peers"), judge.task, keyless=keyless)
    return session.peers[judge.task]


def judge_in(config: pytest.Config, given: object) -> Judge:
    """
    Return what a fixture `judge` returned as a judge, always the same one for the same object.

    Raises:
        ConfigError: it is no judge.
    """
    from calm.errors import ConfigError
    from calm.judges.python import ForeignJudge
    from calm.judges.python import judge_of as as_judge

    known = config.stash[SESSION].foreign
    found = next((one for one in known if isinstance(one, ForeignJudge) and one.inner is given), None)
    if found is not None:
        return found
    try:
        made = as_judge(given)
    except ConfigError as error:
        raise ConfigError(f"the fixture `judge`: {error}") from None
    if made is not given:
        known.append(made)
    return made


def subject_of(config: pytest.Config, judge: Judge, setup: Setup, of: int, limits: Limits = "suites") -> dict[str, Any]:
    """Return what the record says of a judge, its cases (a sample of so many), the number of asks, and the limits."""
    from calm.results.notes import cases_record, judge_record

    session, cases, design = config.stash[SESSION], setup.cases, setup.design
    for known, same, subject in session.subjects:
        alike = subject["repeats"] == str(design) and subject["cases"]["of"] == of and subject["limits"] == limits
        if known == judge and same == cases and alike:
            return subject
    record = judge_record(judge, engine_of(config).served)
    if files := judge_files(config, judge):
        record["about"]["files"] = files
    subject = {"judge": record, "cases": cases_record(cases, of), "repeats": str(design), "limits": limits}
    session.subjects.append((judge, cases, subject))
    return subject


def unknown_subject(config: pytest.Config) -> dict[str, Any]:
    """Return what the record says where no test came far enough to tell its judge and its cases."""
    from calm.cases import sha256

    names = ("fingerprint", "model", "served", "prompt_sha256")
    judge = {"name": option(config, "judge"), "task": "unknown", "scale": {}, "parameters": {}, "about": {}}
    cases = {"n": 0, "of": 0, "questions": 0, "sha256": sha256(())}
    return {
        "judge": judge | dict.fromkeys(names),
        "cases": cases,
        "repeats": str(design_of(config)),
        "limits": "suites",
    }


def set_aside_of(config: pytest.Config) -> list[Output]:
    """Return all files that the run may write or remove, that of the texts included."""
    from calm.results.audit import texts_path
    from calm.results.outputs import TEXTS, Output

    found = outputs_of(config)
    if results := option(config, "results"):
        texts = texts_path(Path(results))
        if option(config, "texts") != "full" and texts.is_file() and TEXTS.owns(texts):
            found.append(Output("--calm-results", texts, TEXTS, aside=True))
    return found


def judge_files(config: pytest.Config, judge: Judge) -> list[str]:
    """
    Return the files of the run's judge, relative to where the tests run: its prompt first, judge.toml last.

    There are none for a judge that a conftest.py made, that is no file, or that is a panel of several files.
    """
    spec = option(config, "judge")
    if config.stash.get(JUDGE, None) is not judge or not spec.endswith(".toml") or spec.startswith("panel:"):
        return []
    from calm.core.files import read_toml

    path = Path(spec)
    table = read_toml(path, "a judge.toml").get("prompt")
    prompt = table if isinstance(table, dict) else {}
    keys = ("user_file", "messages_file", "system_file")
    named = [path.parent / prompt[key] for key in keys if isinstance(prompt.get(key), str)]
    root = config.rootpath.absolute()
    found = (file.absolute() for file in (*named, path))
    return [file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name for file in found]


def figures_of(config: pytest.Config) -> dict[str, Any]:
    """Return what this process used, and which calls of it were found or made; empty if it has no engine."""
    from calm.results.codes import to_code

    session = config.stash[SESSION]
    engine = session.engine
    if engine is None:
        return {}
    ledger, used = engine.ledger, _bill_of(config, engine)
    used["notes"] += [to_code(note) for note in _notes_of(session)]
    return used | {"keys": ledger.keys.packed() if ledger.keys is not None else None}


def _bill_of(config: pytest.Config, engine: Engine) -> dict[str, Any]:
    """Return what this process used so far, as plain data."""
    from calm.results.codes import to_code

    ledger = engine.ledger
    return {
        "worker": _from_controller(config).get("workerid", ""),
        "pid": os.getpid(),
        "calls": dict(ledger.calls),
        "answers": ledger.answers,
        "tokens": dict(ledger.tokens),
        "usd": ledger.usd,
        "unpriced": list(ledger.unpriced),
        "notes": [to_code(note) for note in (*engine.notes, engine.broken) if note],
    }


def bills_left(config: pytest.Config, known: Collection[str]) -> list[dict[str, Any]]:
    """
    Return what the workers of xdist kept of what they used, but for those that are known to have ended.

    Raises:
        StorageError: the record cannot be read, or its server is away.
    """
    engine = config.stash[SESSION].engine
    if engine is None or not distributed(config):
        return []
    with engine.store.hurried():
        return [bill for text in engine.store.bills.left() if (bill := json.loads(text))["worker"] not in known]


def figures_of_dead(config: pytest.Config, told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """
    Return what workers of xdist used that died before they could tell, as they kept it beside the replies.

    Which calls they made themselves is seen from the replies that were kept since the run began. Where the record
    cannot be read, nobody knows: the run says that it failed.
    """
    from calm.engine.money import KEY_BYTES
    from calm.errors import StorageError

    session = config.stash[SESSION]
    with suppress(StorageError):
        bills = bills_left(config, {one["worker"] for one in told})
        if bills and session.engine is not None:
            made = b"".join(key[:KEY_BYTES] for key in session.engine.store.kept_since(session.started))
            return [bill | {"keys": (b"", made)} for bill in bills]
    return []


def _notes_of(session: Session) -> list[Reason]:
    """
    Return that a part of the gate was selected, and what judges say of their own run.

    Of a panel that is which members gave no verdict, and how far they agree.

    A worker of xdist has seen only a part of the verdicts, so it says nothing of how far members agree.
    """
    from calm.core.reasons import Kind, because, reason_of

    of = session.selected + session.deselected
    part = [because(Kind.SELECTED, session.selected, of)] if session.deselected else []
    if not part and session.selected and part_chosen(session.config):  # pytest does not say how many there are
        part = [because(Kind.SELECTED, session.selected)]
    said = [judge.remarks for judge, _, _ in session.subjects]
    whole = not is_worker(session.config)
    part += session.unseen.values()
    return part + [reason_of(note) for one in said for note in (*one.notes, *(one.agreement if whole else ()))]


NARROWING = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")
"""The options of pytest that choose a part of the tests."""


def part_chosen(config: pytest.Config) -> bool:
    """
    Return whether this is a run of a part of the tests: by options, by paths, or by a filter of a plugin or a conftest.

    Known when the tests are collected; with workers of xdist, at the end.
    """
    narrowed = any(getattr(config.option, name, None) for name in NARROWING)
    return narrowed or config.stash[SESSION].narrowed or _by_path(config)


def _by_path(config: pytest.Config) -> bool:
    """
    Return whether the paths of a run are a part: a node, a file, or a folder beside or below other tests.

    Where the ini file has `testpaths`, these are the whole.
    """
    if any("::" in str(one) for one in config.args):
        return True
    root = config.rootpath
    paths = [_path_of(config, str(one)) for one in config.args]
    homes = [home for pattern in config.getini("testpaths") for home in root.glob(pattern)] or [root]
    if all(any(home.is_relative_to(path) for path in paths) for home in homes):
        return False
    if homes != [root] or any(path.is_file() for path in paths):
        return True
    named = config.getini("python_files")
    for parent in {path.parent for path in paths}:
        deep = ("", "*/") if root in parent.parents else ("",)  # what lies beside the root is another project
        found = (test for name in named for where in deep for test in parent.glob(f"{where}{name}"))
        if any(not any(test.is_relative_to(path) for path in paths) for test in found):
            return True
    return False


def _path_of(config: pytest.Config, argument: str) -> Path:
    """Return the file or folder that an argument of pytest means, which may be the name of a module."""
    path = config.invocation_params.dir / argument
    if path.exists() or not config.option.pyargs:
        return path.resolve()
    try:
        found = find_spec(argument)
    except (ImportError, ValueError):
        return path
    where = (found.submodule_search_locations or [found.origin or ""]) if found is not None else []
    return next((Path(one).resolve() for one in where if one), path)
