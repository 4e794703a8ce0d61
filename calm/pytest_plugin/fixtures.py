"""What the fixtures give: the judge, its cases, the probe of a test, and `verdict_of` for tests of any kind."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.checks import CHECKS, check_options, gate_of
from calm.pytest_plugin.options import (
    MARKER,
    batches_of,
    case_files,
    design_in,
    design_of,
    families_of,
    flag,
    given,
    limits_of,
    looks_ahead_of,
    option,
    sample_of,
    seed_of,
    stopping_of,
)
from calm.pytest_plugin.outputs import refuse_outputs
from calm.pytest_plugin.selection import parts_of
from calm.pytest_plugin.session import SESSION, engine_of, lookahead_for
from calm.pytest_plugin.shown import SHOWN, speaker

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.experiment.crossing import CrossInputs, Member
    from calm.experiment.setup import Setup
    from calm.experiment.stopping import Design
    from calm.gate.probe import Probe
    from calm.gate.question import Context
    from calm.gate.resolution import Limits
    from calm.gate.verdict_of import VerdictOf
    from calm.models.wire import Judge
    from calm.results.audit import Audit

JUDGE: pytest.StashKey[Judge] = pytest.StashKey()
CASES: pytest.StashKey[dict[str, list[Case]]] = pytest.StashKey()
PROBE: pytest.StashKey[Probe] = pytest.StashKey()
SUBJECT: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
CALLED: pytest.StashKey[bool] = pytest.StashKey()


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

    if asked := config.stash[SESSION].subjects.asked:
        return asked[0][1]
    try:
        return cases_of(config, judge_of(config))
    except CalmError:
        return ()


def judge_in(config: pytest.Config, given: object) -> Judge:
    """
    Return what a fixture `judge` returned as a judge, always the same one for the same object.

    Raises:
        ConfigError: it is no judge.
    """
    from calm.errors import ConfigError
    from calm.judges.python import ForeignJudge
    from calm.judges.python import judge_of as as_judge

    known = config.stash[SESSION].subjects.foreign
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


def sample_shown(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> tuple[Case, ...]:
    """
    Return the sample of cases that a run takes, drawn and rendered once, whoever asks for it first.

    Raises:
        ConfigError: a case that cannot be shown to the judge, or a table of verdicts that does not fit the cases.
    """
    from calm.cases import sample, upright
    from calm.core.memo import Memo
    from calm.core.reasons import Kind, because, reason_of
    from calm.experiment.run import refuse_unshowable
    from calm.experiment.setup import SHARED
    from calm.gate.from_spec import recall
    from calm.judges.wrapper import unseen

    ours = config.stash[SESSION].subjects
    chosen = next((drawn for known, scale, drawn in ours.sampled if known is cases and scale == judge.scale), None)
    if chosen is None:
        drawn = sample(cases, sample_of(config), seed_of(config))
        chosen = tuple(upright(drawn, judge.task, judge.scale))
        ours.sampled.append((cases, judge.scale, chosen))
    recall(judge, cases)
    if ours.memo(judge, chosen) is None:
        refuse_unshowable(judge, chosen)
        for note in map(reason_of, judge.remarks.notes):
            if note.kind is Kind.SCALE_DIFFERS:
                speaker(config)(str(note))
        parts = parts_of(config)
        for one in unseen(judge, chosen) if parts else ():
            if one.part in parts:
                ours.unseen[one.part] = because(Kind.PART_UNSEEN, one.part, one.cases, one.of)
                speaker(config)(str(ours.unseen[one.part]))
        ours.showable.append((judge, chosen, Memo(SHARED)))
    return chosen


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
    if (refusal := config.stash[CHECKS].refusal) is not None:
        raise refusal
    judge = judge_in(config, judge)
    if not isinstance(cases, Sequence) or not all(isinstance(c, Case) for c in cases):
        raise ConfigError(
            f"the fixture `cases`: expected a list of cases, got {type(cases).__name__}; "
            "make one with calm.cases.read_cases(path)"
        )
    chosen = sample_shown(config, judge, cases)
    if config.stash[SESSION].ahead.plan is None:
        refuse_outputs(config)
        engine_of(config).admit(judge)
    design = asks or design_for(config, judge)
    rules = seed_of(config), design, stopping_of(config), looks_ahead_of(config)
    at_a_time = AT_A_TIME if batches_of(config) is None else TOGETHER
    memo = config.stash[SESSION].subjects.memo(judge, chosen)
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


def peers_of(config: pytest.Config, judge: Judge) -> tuple[Member, ...]:
    """
    Return the judges to compare with, read once.

    Raises:
        ConfigError: no such judge or record, or one of another kind of verdict.
    """
    from calm.gate.probe import read_peers

    known = config.stash[SESSION].subjects.peers
    if judge.task not in known:
        keyless = option(config, "cache") == "replay"
        known[judge.task] = read_peers(option(config, "peers"), judge.task, keyless=keyless)
    return known[judge.task]


def subject_of(config: pytest.Config, judge: Judge, setup: Setup, of: int, limits: Limits = "suites") -> dict[str, Any]:
    """Return what the record says of a judge, its cases (a sample of so many), the number of asks, and the limits."""
    from calm.results.notes import cases_record, judge_record

    ours, cases, design = config.stash[SESSION].subjects, setup.cases, setup.design
    for known, same, subject in ours.asked:
        alike = subject["repeats"] == str(design) and subject["cases"]["of"] == of and subject["limits"] == limits
        if known == judge and same == cases and alike:
            return subject
    record = judge_record(judge, engine_of(config).served)
    if files := judge_files(config, judge):
        record["about"]["files"] = files
    subject = {"judge": record, "cases": cases_record(cases, of), "repeats": str(design), "limits": limits}
    ours.asked.append((judge, cases, subject))
    return subject


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


def searches(item: pytest.Item) -> bool:
    """Return whether Hypothesis runs a test: it does so many times, so it is not run ahead for what it would ask."""
    hypothesis = sys.modules.get("hypothesis")
    return hypothesis is not None and hypothesis.is_hypothesis_test(getattr(item, "function", None))


def asks_alone(item: pytest.Item) -> bool:
    """Return whether a test takes `verdict_of`, and no probe."""
    names = getattr(item, "fixturenames", ())
    return "verdict_of" in names and "probe" not in names


@contextmanager
def verdict_of_run(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> Iterator[VerdictOf]:
    """Give what asks the judge of a run, made once; Hypothesis takes no fixture of a single test."""
    from calm.gate.verdict_of import VerdictOf

    ours = config.stash[SESSION]
    judge = judge_in(config, judge)
    cases = own(config, judge, cases)
    made = ours.subjects.asking = VerdictOf(setup_of(config, judge, cases), lambda: ours.ahead.tracing)
    with drawing(made.setup, cases):
        yield made


@contextmanager
def asking_for(item: pytest.Function) -> Iterator[None]:
    """Let `verdict_of` ask the judge of a test, and strategies draw its cases, while the test runs."""
    ours = item.config.stash[SESSION]
    asking = ours.subjects.asking
    if asking is None or item.funcargs.get("verdict_of") is not asking:
        yield
        return
    config = item.config
    given: dict[str, Any] = item.funcargs
    judge = judge_in(config, given["judge"])
    cases = own(config, judge, given["cases"])
    setup = setup_of(config, judge, cases, asks_of(item))
    if not ours.ahead.tracing:
        item.stash[SUBJECT] = subject_of(config, judge, setup, len(cases))
    with asking.about(setup), drawing(setup, cases):
        yield


@contextmanager
def drawing(setup: Setup, cases: Sequence[Case]) -> Iterator[None]:
    """Let strategies draw the sample of a run, in the order of its cases."""
    from calm.strategies.cases import during

    chosen = {case.id for case in setup.cases}
    judge = setup.judge
    with during([c for c in cases if c.id in chosen], judge.task, str(judge.about.get("model") or judge.name)):
        yield


def own(config: pytest.Config, judge: Judge, cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases of a test: pytest keeps one value of a session fixture, though folders have other judges."""
    if any(cases is known for known in config.stash.get(CASES, {}).values()):
        return cases_of(config, judge)
    return cases


def probe_of(item: pytest.Item, judge: Judge, cases: Sequence[Case]) -> Iterator[Probe]:
    """Yield the probe of a test, and fail the test afterwards if it left something to complain of."""
    from calm.gate.probe import Probe
    from calm.gate.question import LookaheadSink

    config = item.config
    ours = config.stash[SESSION]
    judge = judge_in(config, judge)
    cases = own(config, judge, cases)
    if ours.ahead.plan is not None:
        from calm.cases import upright
        from calm.gate.plan import PlanSink
        from calm.gate.requests import StandIn

        asked = judge.inner if isinstance(judge, StandIn) else judge
        context, record = _context(item, asked, cases), ours.ahead.plan
        record.cases = upright(cases, judge.task, judge.scale) if record.cases is None else record.cases
        context.sink = PlanSink(record)  # the orders are collected and not sent
        yield Probe(context)
        return
    context = _context(item, judge, cases)
    context.say, context.announced = speaker(config), config.stash[SHOWN].announced
    context.lookahead = lookahead_for(config, judge)
    if ours.ahead.tracing:
        context.sink = LookaheadSink(context.lookahead, ours.ahead.orders)
    item.stash[SUBJECT] = subject_of(config, judge, context.setup, len(cases), context.limits)
    made = Probe(context)
    if ours.ahead.tracing:
        yield made
        return
    item.stash[PROBE] = made
    if CALLED in item.stash:  # a test may run again
        del item.stash[CALLED]
    yield made
    if item.stash.get(CALLED, False) and (complaint := made.complaint()):
        pytest.fail(complaint, pytrace=False)


def _context(item: pytest.Item, judge: Judge, cases: Sequence[Case]) -> Context:
    from calm.gate.question import Context, Node

    config = item.config
    undecided: Any = option(config, "undecided")
    return Context(
        setup_of(config, judge, cases, asks_of(item)),
        Node(item.nodeid, item.path.stem.removeprefix("test_").replace("_", "-")),
        undecided=undecided,
        every_variant=flag(config, "every-variant"),
        lenient=lambda: item.get_closest_marker("xfail") is not None,
        limits=limits_of(config, item.path),
        gate=gate_of(config),
        wanted_by=partial(wanted_of, config, judge, tuple(cases)),
        claimed=config.stash[SESSION].ahead.claimed,
        twice=config.stash[SESSION].ahead.twice,
    )
