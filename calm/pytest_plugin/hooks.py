"""
The hooks of a run that has a probe: it is checked before it is paid for, asked together, and reported.

`calm.pytest_plugin` registers them when a run needs them.
"""

from __future__ import annotations

import atexit
import gc
import json
import sys
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.checks import (
    CHECKS,
    Checks,
    baseline_of,
    check_options,
    gate_of,
    left_out,
    partly,
    prompt_errors,
    refuse_what_fits_not,
)
from calm.pytest_plugin.collector import Collector
from calm.pytest_plugin.endings import Record, end_in, ended_without_verdict
from calm.pytest_plugin.fixtures import (
    CALLED,
    PROBE,
    SUBJECT,
    asking_for,
    asks_alone,
    cases_asked,
    cases_of,
    judge_of,
    peers_of,
    sample_shown,
    searches,
)
from calm.pytest_plugin.options import (
    MARKER,
    asked,
    caps_of,
    case_files,
    commanded,
    distributed,
    flag,
    given,
    indented,
    is_worker,
    lookahead_of,
    option,
)
from calm.pytest_plugin.outputs import INPUTS, Inputs, refuse_outputs
from calm.pytest_plugin.selection import (
    SELECTION,
    Selection,
    count_selected,
    deselect_beyond,
    in_gate,
    part_chosen,
    probed,
    takes_probe,
)
from calm.pytest_plugin.session import SESSION, Session, engine_of, figures_of, first_of, handed_on, meet, part
from calm.pytest_plugin.shown import (
    SHOWN,
    Shown,
    clean_streams,
    private,
    shorten,
    shown_safely,
    speaker,
    veil_assertion,
    veil_findings,
    veil_report,
)
from calm.pytest_plugin.trace import Planner, PlanPrinter, Tracer, trace
from calm.pytest_plugin.workers import Watch

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.experiment.lookahead import Order
    from calm.gate.probe import Probe
    from calm.models.wire import Judge
    from calm.pytest_plugin import Waiting
    from calm.results.audit import Finding


COLLECTOR = pytest.StashKey[Collector]()


def begin(config: pytest.Config, before: Waiting) -> None:
    """
    Register the hooks and what gathers findings, and check what can be checked before any test is collected.

    Settings in an ini file are checked only after a probe was collected, so that a wrong one does not disturb other
    runs of the project. With xdist they are checked here: no process sees both the tests and the user.
    """
    from calm.models.pricing import KEPT

    session = config.stash[SESSION] = Session(config)
    config.stash[CHECKS], config.stash[INPUTS] = Checks(), Inputs(before.known)
    config.stash[SELECTION], config.stash[SHOWN] = Selection(), Shown()
    KEPT.beside(None if option(config, "cache") == "off" else Path(option(config, "cache-file")))
    config.pluginmanager.register(sys.modules[__name__], "calm-hooks")
    clean_streams(config, session.process.until_end)
    if is_worker(config):
        return
    collector = config.stash[COLLECTOR] = Collector(config)
    config.pluginmanager.register(collector, "calm-collector")
    if flag(config, "plan"):
        config.pluginmanager.register(PlanPrinter(), "calm-planner")
    collector.catch_up(before)
    if not (config.option.help or config.option.version) and (commanded(config) or distributed(config)):
        try:
            _preflight(config)
        except KeyboardInterrupt:  # pytest says nothing of it before its session
            speaker(config)(collector.interrupt())
            raise


@pytest.hookimpl(specname="pytest_collection_modifyitems", wrapper=True, tryfirst=True)
def pytest_note_collected(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Note which tests there are before anything leaves some of them out; pytest takes no hook without its prefix."""
    config.stash[SELECTION].collected = tuple(item for item in items if takes_probe(item))
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that were not asked for, and let a worker of xdist be heard before any of them gets a test."""
    deselect_beyond(config, items)
    if is_worker(config) and probed(session):
        meet(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Check the settings in an ini file, if there is a probe that needs them."""
    config = session.config
    count_selected(session)
    conftests = (getattr(plugin, "__file__", None) or "" for plugin in config.pluginmanager.get_plugins())
    sources = [*(item.path for item in session.items), *(Path(p) for p in conftests if p.endswith("conftest.py"))]
    config.stash[INPUTS].sources = list(dict.fromkeys(sources))
    if any(map(in_gate, session.items)):
        config.stash[SESSION].process.catch_signals(patient=is_worker(config))
        if not is_worker(config) and not distributed(config):
            _preflight(config)
            config.stash[COLLECTOR].set_aside()
    if hasattr(config.option, "forked"):  # pytest-forked, of which the option is checked with all others
        forked = (item.nodeid for item in session.items if in_gate(item) and item.get_closest_marker("forked"))
        if (node := next(forked, None)) is not None:
            from calm.engine.thread import FORKED
            from calm.errors import ConfigError

            _refuse(config, ConfigError(f"{node}: @pytest.mark.forked: {FORKED}"))


def collected(session: pytest.Session) -> None:
    """Take the tests of a run whose hooks were registered after these had been collected."""
    pytest_collection_finish(session)
    if not is_worker(session.config):
        session.config.stash[COLLECTOR].pytest_collection_finish(session)


def _preflight(config: pytest.Config) -> None:
    session = config.stash[SESSION]
    if config.stash[CHECKS].done or not asked(config):
        return
    config.stash[CHECKS].done = True
    session.process.catch_signals(patient=is_worker(config))
    from calm.core.releases import refuse_other_releases
    from calm.errors import CalmError

    collector = config.stash[COLLECTOR]
    try:
        refuse_other_releases("pytest")
        check_options(config)
        live = None
        if given(config, "judge") or case_files(config):
            for text in prompt_errors(config, partial(cases_of, config)):
                speaker(config)(text)
            judge = judge_of(config)
            if given(config, "peers"):
                peers_of(config, judge)
            calls = judge.endpoints and not config.option.collectonly and not flag(config, "plan")
            showable = (case_files(config) or calls) and _showable(config, judge)
            live = judge if showable and calls else None
            refuse_outputs(config)
        session.process.look_rarely()
        if commanded(config):
            collector.set_aside()
        if live is not None:
            engine_of(config).admit(live)
    except CalmError as error:
        collector.outputs.put_back()
        raise pytest.UsageError(indented(str(error))) from error


def _showable(config: pytest.Config, judge: Judge) -> bool:
    """Return whether the cases can be shown; bundled ones need not be: a conftest.py may have others."""
    from calm.errors import ConfigError

    try:
        sample_shown(config, judge, cases_of(config, judge))
    except ConfigError:
        if case_files(config):
            raise
        return False
    return True


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say under `-v` how many tests beyond the default gate were left out: pytest counts them as deselected."""
    count = len(config.stash[SELECTION].beyond)
    if not count or config.get_verbosity() < 1:
        return []
    return [f"calm: {count} deselected tests are not in the default gate; --calm-every-variant adds them"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Ask the questions of all tests together."""
    config, option = session.config, session.config.option
    # --setup-show: a trace would make the session fixtures where nobody sees it
    idle = option.collectonly or option.setupshow or option.setupplan or getattr(option, "trace", False)
    ours = config.stash[SESSION]
    ahead = bool(lookahead_of(config))
    weighed = not _plans(config) and any(given(config, name) for name in ("gate", "baseline"))
    items = [] if idle or session.testsfailed or not (ahead or weighed) else probed(session)
    watch = Watch(lambda: ours.engine) if is_worker(config) and any(map(in_gate, session.items)) else None
    items = [one for one in items if all(m.kwargs.get("lookahead", True) for m in one.iter_markers(MARKER))]
    if items := [item for item in items if not searches(item)]:
        ours.ahead.tracing = True
        asked: list[tuple[pytest.Item, int]] = []
        tracer, ends = Tracer(), set()
        try:
            for item in trace(session, items, tracer):
                asked.append((item, len(ours.ahead.orders)))
                ends.add(tracer.kind)
        finally:
            ours.ahead.tracing = False
        known = ends == {"whole"} and len(asked) == len(session.items)
        _weigh(config, known=known)
        one_red = option.maxfail == 1 and not is_worker(config)
        wanted = _scouted(session, asked) if one_red else None
        if wanted is not None:
            session.items.remove(wanted)
            session.items.insert(0, wanted)
        _announce(config, ahead=ahead and config.stash[CHECKS].refusal is None)
    try:
        if ours.ahead.lookahead is not None:
            ours.ahead.lookahead.begin()
        elif ours.sharing.workers is not None:
            ours.sharing.workers.end()
        if not idle and distributed(config) and not is_worker(config) and not _plans(config):
            first_of(config).watch()  # the controller of xdist says what a worker finds first
        done = yield
        if ours.sharing.workers is not None and not (session.shouldfail or session.shouldstop):
            ours.sharing.workers.wait()
        return done
    except KeyboardInterrupt as stop:
        if not getattr(option, "fulltrace", False):
            stop.with_traceback(None)  # pytest would take seconds to write down frames that it does not show
        raise
    finally:
        if ours.sharing.workers is not None:
            ours.sharing.workers.end()
        if ours.ahead.lookahead is not None:
            ours.ahead.lookahead.stop()
            if ours.engine is not None:
                ours.engine.stop()  # another worker may wait for what this one has in flight
        for end in [one.end for one in (config.stash[SHOWN].first, watch) if one is not None]:
            end()


def _plans(config: pytest.Config) -> bool:
    """Return whether this run only prices what it would ask; then nothing is asked, and tests are traced once."""
    return any(isinstance(one, Planner) for one in config.pluginmanager.get_plugins())


def _weigh(config: pytest.Config, *, known: bool) -> None:
    """
    Refuse tests that make a finding twice, and a gate.toml or a baseline that does not fit what was traced.

    `known`: that is all that the tests claim.

    Raises:
        UsageError: one line for each fault.
    """
    from calm.errors import CalmError, ConfigError

    ours = config.stash[SESSION].ahead
    orders, twice = [order for _, order in ours.orders], list(map(str, ours.twice))
    ours.claimed.clear()  # what is asked is noted anew
    baseline, whole = baseline_of(config), known and not part_chosen(config)
    try:
        if twice:
            raise ConfigError(twice)
        refuse_what_fits_not(config, orders, gate_of(config), baseline, whole=whole)
    except CalmError as error:
        _refuse(config, error)
        return
    told = [left_out(baseline, orders)] if known else []
    for text in filter(None, [*told, *partly(baseline, orders)]):
        speaker(config)(text)


def _refuse(config: pytest.Config, error: Exception) -> None:
    """Ask nothing, and say why; in a worker of xdist, its first test says it."""
    if is_worker(config):
        config.stash[CHECKS].refusal = error
        return
    config.stash[COLLECTOR].troubles.refused = True
    raise pytest.UsageError(indented(str(error))) from error


def _scouted(session: pytest.Session, asked: Sequence[tuple[pytest.Item, int]]) -> pytest.Item | None:
    """
    Return the first test that a cue between two equal answers turns red, where the first red one ends the run.

    Such a question is the cheapest one of a test. So these are asked first, one after the other, and what the run would
    ask ahead is not.
    """
    traced, begun = session.config.stash[SESSION].ahead.orders, 0
    suspects = []
    for item, ended in asked:
        pulled = [order.pulled for _, order in traced[begun:ended]]
        suspects += [(seen, item, order) for order in pulled if (seen := order.suspicion()) > 0]
        begun = ended
    suspects.sort(key=lambda one: -one[0])
    return next((item for _, item, order in suspects if order.run().failed), None)


def _announce(config: pytest.Config, *, ahead: bool) -> None:
    """Say what the cases and the caps of the run can decide, and begin to ask what was traced, if it is `ahead`."""
    from calm.engine.money import Caps
    from calm.gate.resolution import outlook, without_gold

    ours = config.stash[SESSION]
    if is_worker(config):
        config.stash[SHOWN].announced = True  # a worker shows nothing, so there is nothing to work out
    else:
        orders = [order for _, order in ours.ahead.orders]
        if bare := without_gold([order.setup for order in orders if not order.own_cases]):
            speaker(config)(bare)
        if text := outlook(orders, _parted(orders, cases_asked(config))):
            config.stash[SHOWN].announced = True
            speaker(config)(text)
    if ahead and config.option.maxfail != 1:  # else the run ends at the first red test, and asks nothing ahead
        asking = {id(order): lookahead for lookahead, order in ours.ahead.orders}
        capped = _capped(config) if caps_of(config) != Caps() else []
        for lookahead in asking.values() if capped else ():
            lookahead.one_by_one()
        for order in capped or [order for _, order in ours.ahead.orders]:
            asking[id(order)].submit(order)
    ours.ahead.orders.clear()


def _parted(orders: Sequence[Order], cases: Sequence[Case]) -> int:
    """Return how many cases a run has if its tests ask about a part of them alone; else 0."""
    chosen = {case.id for order in orders for case in order.setup.cases}
    return len(cases) if chosen < {case.id for case in cases} and all(order.own_cases for order in orders) else 0


def _capped(config: pytest.Config) -> list[Order]:
    """Say what the caps leave open and return the questions by their weight; nothing if the caps are wide enough."""
    from calm.gate.question import by_weight, shortage  # they load the rehearsal

    orders = by_weight(order for _, order in config.stash[SESSION].ahead.orders)
    short = shortage([order for order in orders if not order.idle], caps_of(config))
    if short:
        speaker(config)(short)
    return orders if short else []


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give the workers of xdist what the first live call found, and make the cache file before they open it."""
    if not asked(node.config):
        return
    from calm.errors import CalmError

    try:
        engine = engine_of(node.config)
    except CalmError as error:
        raise pytest.UsageError(indented(str(error))) from error
    node.workerinput |= handed_on(engine, node.config, node.nodemanager.specs)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Let no worker of xdist wait for one that has ended."""
    part(node.config, node.gateway.id)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Let `verdict_of` ask the judge of the test that runs."""
    with asking_for(pyfuncitem):
        return (yield)


def tell(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> None:
    """Send the findings of a test with its report, and say what kind of failure it is and how the test ended."""
    if _probing(item):
        shown_safely(report)
    made = item.stash.get(PROBE, None)
    said: dict[str, Any] = {}
    if is_worker(item.config):
        said = _introduction(item)
    late = made is not None and not in_gate(item)
    if late:  # it got its probe by `request.getfixturevalue`
        said["late"] = True
    ours = late or in_gate(item)
    if ours:
        _tell(item, call, report, made)
        if end := end_in(item, call, report, made):
            said["end"] = end
        if asks_alone(item):
            said["alone"] = True
    if said or ours:
        report.calm = {**getattr(report, "calm", {}), **said}


def _probing(item: pytest.Item) -> bool:
    """Return whether a test asks a judge: by a probe, also one that it asked for while it ran, or without one."""
    return takes_probe(item) or PROBE in item.stash or asks_alone(item)


def _in_gate(session: pytest.Session) -> str:
    return json.dumps([one.nodeid for one in session.items if in_gate(one)])


def _introduction(item: pytest.Item) -> dict[str, Any]:
    """Return what a worker of xdist tells its controller once: which tests take a probe, and whom they ask."""
    ours, said = item.config.stash[SESSION].sharing, {}
    if not ours.named:
        ours.named = True
        said["gate"] = _in_gate(item.session)
    if not ours.introduced and SUBJECT in item.stash:
        ours.introduced = True
        said["subject"] = json.dumps(item.stash[SUBJECT])
    return said


def _tell(item: pytest.Item, call: pytest.CallInfo[None], report: Any, made: Probe | None) -> None:
    """Put the findings of a test into its report, and make a test of which nothing could be tested a skipped one."""
    from calm.core.claims import Outcome
    from calm.results.wording import printable

    veiled = private(item.config) and _probing(item)
    if veiled:
        veil_report(item, call.excinfo, report, made)
    if call.excinfo is not None and _probing(item) and _ends(item, call, report):
        return
    if (ended := ended_without_verdict(call)) is not None:
        report.longrepr = indented(printable(str(ended), "\n"))
        report.sections = [part for part in report.sections if part[0] != "Hypothesis"]  # how to fail again
        report.calm = {**getattr(report, "calm", {}), "kind": Outcome.INCOMPLETE.value, "unanswered": str(ended)}
        return
    if made is None or report.when != "call":
        return
    item.stash[CALLED] = report.passed and item.stash.get(CALLED, True)  # its subtests were reported before it
    if veiled:
        veil_findings(made)
    from dataclasses import replace

    from calm.results.wording import value

    reason = getattr(report, "wasxfail", None)
    findings: list[Finding] = made.context.findings
    if reason is not None:
        why = f"xfail: {reason}" if reason else "xfail"
        findings = [replace(f, accepted=why) if f.red and f.outcome is not Outcome.INCOMPLETE else f for f in findings]
    properties = [(f.key, f"{f.outcome.value} {value(f)}") for f in findings]
    item.user_properties += [p for p in properties if p not in item.user_properties]  # read at teardown, for JUnit
    red = {f.outcome for f in findings if f.red}
    kind = ""
    if report.failed and call.excinfo is not None and call.excinfo.errisinstance(AssertionError):
        bad = next((p for p in made.context.proofs if not p.holds), None)
        if bad is not None:
            _say_claims(item, report, repr(bad), veiled=veiled)
            first = [o for o in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED) if o in red]
            kind = first[0].value if first and first[0] is not Outcome.FAIL else ""
    untested = bool(made.context.proofs) and all(f.outcome is Outcome.NOT_TESTED for f in findings)
    if report.passed and untested and made.complaint() is None:
        why = str(findings[0].reason) if findings else made.context.proofs[0].nothing
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], f"NOT_TESTED: {printable(why)}")
        kind = Outcome.NOT_TESTED.value
    record = Record(
        node=item.nodeid,
        subject=item.stash[SUBJECT] if made.context.proofs or findings else None,
        findings=findings,
        texts=[] if veiled else list(made.context.texts.values()),
        seconds=made.context.seconds,
        asks=[made.context.asks_made, made.context.asks_planned],
        extras=made.context.extras,
    )
    said = getattr(report, "calm", {})
    if is_worker(item.config):
        report.calm = {**said, "kind": kind, "record": record.to_json()}
    else:  # in one process nothing need be written down and read again
        item.config.stash[SESSION].records[item.nodeid] = record
        report.calm = {**said, "kind": kind}


def _say_claims(item: pytest.Item, report: Any, said: str, *, veiled: bool) -> None:
    """Let pytest show of a failed assertion what its claims found, in few lines unless all of them are asked for."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        crash.message = said
    if veiled:
        veil_assertion(report, said)
    elif item.config.getoption("verbose", 0) <= 0:
        shorten(report)


def _ends(item: pytest.Item, call: pytest.CallInfo[None], report: Any) -> bool:
    """Return whether a test met what all others would meet: it is said without a traceback, and no other test runs."""
    from calm.core.reasons import Kind, because, reason_of
    from calm.errors import ConfigError, JudgeError
    from calm.judges.blind import Undeclared
    from calm.results.wording import printable

    assert call.excinfo is not None
    error = call.excinfo.value
    if isinstance(error, Undeclared) or (isinstance(error, ConfigError) and call.when == "setup"):
        words = str(error)
    elif isinstance(error, JudgeError) and (why := reason_of(error)).kind in (Kind.JUDGE_UNREAD, Kind.JUDGE_FAILS):
        from calm.results.redaction import bare

        words = str(bare(why, because(Kind.HIDDEN_WHY)) if private(item.config) else why)
    else:
        if isinstance(error, ConfigError) and call.when == "call":  # the others may do: it is said, and they run
            report.calm = {"kind": "", "fault": indented(printable(str(error), "\n"))}
        return False
    report.longrepr = indented(printable(words, "\n"))
    report.calm = {"kind": "", "misconfigured": report.longrepr}
    item.session.shouldstop = "calm is set up wrongly"
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker: hand its figures to the controller, and the names of its tests, which no report may have carried."""
    if is_worker(session.config):
        narrowed = session.config.stash[SELECTION].narrowed
        found = {"calm": figures_of(session.config), "calm_gate": _in_gate(session), "calm_narrowed": narrowed}
        session.config.workeroutput |= found  # type: ignore[attr-defined]  # set by xdist


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the engine."""
    session = config.stash.get(SESSION, None)
    if session is None:
        return
    session.process.release_signals()
    with session.process.until_end:
        if session.engine is None:
            return
        session.engine.close()
        session.engine = None
        atexit.register(gc.freeze)  # not before: only the interpreter, while it ends, need not walk over what is left
        if session.sharing.scratch is not None:
            session.sharing.scratch.cleanup()
