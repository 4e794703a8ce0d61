"""Gathers the findings of all tests, writes the outputs, and says at the end what is not green and why."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.checks import baseline_of, gate_of
from calm.pytest_plugin.endings import Endings, Found, Record
from calm.pytest_plugin.fixtures import cases_asked, named_as, unknown_subject
from calm.pytest_plugin.options import (
    OUTPUTS,
    distributed,
    flag,
    given,
    is_worker,
    option,
    place_of,
    seed_of,
    stopping_of,
)
from calm.pytest_plugin.outputs import Outputs, output_faults, write
from calm.pytest_plugin.selection import SELECTION, in_gate, part_chosen
from calm.pytest_plugin.session import SESSION, figures_of, figures_of_dead
from calm.pytest_plugin.shown import SHOWN

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.core.reasons import Reason
    from calm.pytest_plugin import Waiting
    from calm.results.audit import Audit, Finding, Run

EXIT_CONFIG = pytest.ExitCode.USAGE_ERROR


@dataclass
class Troubles:
    """What is wrong with a run as a whole, and in no finding."""

    ended: list[Reason] = field(default_factory=list)
    """Why the run is not what was asked for: it was interrupted, or something could not be collected."""
    pressed: bool = False
    """Whether a signal ended the run, and not pytest itself."""
    interrupted: str = ""
    """What an interrupted run says of itself; empty if it was not interrupted."""
    refused: bool = False
    """Whether the run was refused before its first question."""
    misconfigured: str = ""
    """What is set up wrongly, in words: what ended the run first."""
    of_tests: dict[str, None] = field(default_factory=dict)
    """What single tests met that is set up wrongly, in words."""
    at_end: list[Reason] = field(default_factory=list)
    """What could not be compared with or written."""


class Collector:
    """Gathers the findings of all tests, in the process that the user sees, and writes the output files."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.found, self.tests, self.troubles, self.outputs = Found(), Endings(), Troubles(), Outputs(config)
        self.first_subject: dict[str, Any] | None = None
        """Whom the first test with a probe asked, whatever became of the test."""
        self.nodes: list[Any] = []
        """The workers of xdist, dead ones included."""
        self.status = 0
        """The exit status of the run, known when it ends."""
        self.decided: Audit | None = None

    def catch_up(self, before: Waiting) -> None:
        """Take what happened before it was known that the run has a probe."""
        for node in before.uncollected:
            self._uncollected(node)
        self.nodes += before.nodes
        for ids in before.ids:
            self.tests.collect(ids)
        for report in before.reports:
            self.pytest_runtest_logreport(report)

    def pytest_collectreport(self, report: Any) -> None:
        """Note what could not be collected: nobody knows whether a probe was in it."""
        if report.failed:
            self._uncollected(report.nodeid)

    def _uncollected(self, node: str) -> None:
        from calm.core.reasons import Kind, because

        self.troubles.ended.append(because(Kind.NOT_COLLECTED, node or "the tests"))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which tests with a probe are to run."""
        self.tests.collect(item.nodeid for item in session.items if in_gate(item))
        if not distributed(self.config):
            self.tests.name(item.nodeid for item in session.items if in_gate(item))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Note which tests are to run on the workers of xdist; which of them have a probe comes with a report."""
        self.tests.collect(ids)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add the findings that came with a report."""
        came = getattr(report, "calm", {})
        if "gate" in came:
            self.tests.name(json.loads(came["gate"]))
            if not self.tests.empty:
                self.config.stash[SESSION].process.catch_signals(patient=is_worker(self.config))
                self.set_aside()
        if "subject" in came:
            self.first_subject = self.first_subject or json.loads(came["subject"])
        if "late" in came:
            self.tests.collect([report.nodeid])
            self.tests.name([report.nodeid])
        if "alone" in came:
            self.tests.alone.add(report.nodeid)
        if "unanswered" in came:
            self.tests.unanswered[report.nodeid] = came["unanswered"]
        self.tests.note(report)
        self.troubles.misconfigured = self.troubles.misconfigured or came.get("misconfigured", "")
        self.troubles.of_tests |= dict.fromkeys([came["fault"]] if came.get("fault") else [])
        if "record" in came:
            self.found.add(Record.from_json(came["record"]))
        elif report.when == "call" and report.nodeid in (here := self.config.stash[SESSION].records):
            self.found.add(here.pop(report.nodeid))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that a signal came."""
        self.troubles.pressed = excinfo.type is KeyboardInterrupt

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Note a worker of xdist, which tells at its end what it used."""
        self.nodes.append(node)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, None, None]:
        """Write the output files, and make a green exit status red where the gate is not green."""
        from calm.core.reasons import Kind, Said, because
        from calm.engine.signals import SIGNALS

        if not all(hasattr(node, "workeroutput") for node in self.nodes):
            SIGNALS.end_all()  # xdist only asks them to end, and they would go on asking meanwhile
        try:
            return (yield)
        except BaseException as error:
            self.troubles.ended.append(because(Kind.HOOK_FAILED, Said(f"{type(error).__name__}: {error}")))
            raise
        finally:
            with SIGNALS.held():
                self._finish(session, exitstatus)

    def _finish(self, session: pytest.Session, exitstatus: int) -> None:
        from calm.core.reasons import Kind, because

        for told in filter(None, (getattr(node, "workeroutput", {}).get("calm_gate") for node in self.nodes)):
            self.tests.name(json.loads(told))
        narrowed = (getattr(node, "workeroutput", {}).get("calm_narrowed", False) for node in self.nodes)
        self.config.stash[SELECTION].narrowed |= any(narrowed)
        whole = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if self.troubles.refused:  # pytest says why
            self.outputs.put_back()
            return
        if exitstatus == pytest.ExitCode.INTERRUPTED and not self.troubles.misconfigured:
            self.troubles.ended.append(because(Kind.INTERRUPTED))
            if self.troubles.pressed:
                said = self.interrupt()
                reporter = self.config.pluginmanager.get_plugin("terminalreporter")
                crash = getattr(getattr(reporter, "_keyboardinterrupt_memo", None), "reprcrash", None)
                caught = self.config.stash[SESSION].process.caught and not self.config.getoption("fulltrace", False)
                if crash is not None and caught:  # where calm took the signal there is nothing to see
                    crash.message = said
        elif exitstatus not in (*whole, pytest.ExitCode.NO_TESTS_COLLECTED):
            self.troubles.ended.append(because(Kind.ENDED_EARLY, int(exitstatus)))
        if not self.found.told and self.troubles.of_tests:
            self.troubles.misconfigured = self.troubles.misconfigured or "\n".join(self.troubles.of_tests)
            self.troubles.of_tests.clear()
        self._introduce(exitstatus)
        if self.found.subjects:
            audit = self.decided = self._kept()
            if exitstatus in whole and not self._green(audit):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif (
            self.tests.gateless
            and not self.troubles.ended
            and all(hasattr(node, "workeroutput") for node in self.nodes)
        ):
            self.outputs.put_back()  # no test of the gate was chosen
        if self.troubles.misconfigured:
            session.exitstatus = EXIT_CONFIG
        self.status = int(session.exitstatus)

    def interrupt(self) -> str:
        """Put back what an earlier run wrote, which stays; return what an interrupted run says of itself."""
        from calm.results.codes import interrupted

        self.outputs.put_back()
        place = "" if option(self.config, "cache") == "off" else str(place_of(self.config))
        self.troubles.interrupted = interrupted(sum(figure["calls"].get("made", 0) for figure in self._figures), place)
        return self.troubles.interrupted

    def _introduce(self, exitstatus: int) -> None:
        """Find whom the record is about where no test told anything: it has to say all the same what became of them."""
        if self.troubles.misconfigured and not self.found.told:
            self.found.subjects.clear()
            return
        cut_short = self.tests.lost or (self.troubles.ended and not self.tests.empty)
        if self.found.subjects or self._only_shows or self.tests.gateless or not cut_short:
            return
        known = self._asked_first
        if known is not None or exitstatus == pytest.ExitCode.OK or any(given(self.config, name) for name in OUTPUTS):
            self.found.subjects[""] = known or unknown_subject(self.config)

    @property
    def _asked_first(self) -> dict[str, Any] | None:
        """Whom a test asked first, in this process or in a worker."""
        asked = [subject for *_, subject in self.config.stash[SESSION].subjects.asked]
        return asked[0] if asked else self.first_subject

    def set_aside(self) -> None:
        """Let no file of an earlier run lie where this one will write."""
        if not self._only_shows:
            self.outputs.set_aside()

    @property
    def _only_shows(self) -> bool:
        """Whether the run shows what it would do, and does not do it."""
        option, traced = self.config.option, self.config.stash[SESSION].ahead.tracing
        return bool(option.collectonly or option.setupplan or option.setuponly or traced or flag(self.config, "plan"))

    @property
    def _told_figures(self) -> list[dict[str, Any]]:
        """What this process and the workers that came to their end used."""
        told = [getattr(node, "workeroutput", {}).get("calm") for node in self.nodes]
        return [f for f in (figures_of(self.config), *told) if f]

    @property
    def _figures(self) -> list[dict[str, Any]]:
        """The same with workers that died."""
        told = self._told_figures
        return [*told, *figures_of_dead(self.config, told)]

    @property
    def faults(self) -> list[Reason]:
        """What is wrong with the run as a whole and is not in any finding, nor in the end of any test."""
        from calm.core.reasons import Kind, because

        faults = list(dict.fromkeys([*self.found.twice, *self.troubles.ended, *self.troubles.at_end]))
        gate = gate_of(self.config)
        if not self.partial:
            faults += [
                because(Kind.GATE_UNUSED, entry) for entry in gate.unused((*self.found.findings, *self.found.together))
            ]
        elif not {one.bias for one in gate.overrides} <= (met := {f.bias for f in self.found.findings.values()}):
            from calm.gate.catalogue import known_biases

            faults += [because(Kind.GATE_MISSPELT, *pair) for pair in gate.misspelt({*met, *known_biases()})]
        return faults

    def audit(self) -> Audit:
        """Return the record of the run."""
        from calm import __version__
        from calm.core.plugins import hook
        from calm.core.reasons import Kind, because
        from calm.results.audit import Audit, JudgeRecord
        from calm.results.records import counted, resolved

        subject = self.found.subjects[min(self.found.subjects)]  # the same whichever test came first
        others = sum(
            (s["judge"], s["cases"]) != (subject["judge"], subject["cases"]) for s in self.found.subjects.values()
        )
        repeats = Counter(self.found.subjects[node]["repeats"] for node in sorted(self.found.subjects))
        several = [because(Kind.OTHER_SUBJECTS, others)] if others else []
        asked, planned = (sum(pair[i] for pair in self.found.asks.values()) for i in (0, 1))
        if planned and option(self.config, "stopping") != "fixed":
            several.append(because(Kind.STOPPED_EARLY, asked, round(1 - asked / planned, 4), planned))
        run = self._run(several)
        audit = Audit(
            calm=__version__,
            judge=JudgeRecord(**subject["judge"]),
            cases=subject["cases"],
            seed=seed_of(self.config),
            repeats=repeats.most_common(1)[0][0],  # a test can have its own: each finding says what it was asked
            stopping=str(stopping_of(self.config)),
            limits="attainable" if "attainable" in {s["limits"] for s in self.found.subjects.values()} else "suites",
            findings=tuple(self.found.findings[k] for k in sorted(self.found.findings)),
            run=run,
            texts=tuple(self.found.texts[k] for k in sorted(self.found.texts)),
            tests=self.tests.endings(),
            extras={k: self.found.extras[k] for k in sorted(self.found.extras)},
        )
        judge, files = named_as(self.config, audit)
        audit = replace(
            audit, run=replace(run, judge=judge, case_files=files, kept=option(self.config, "cache") != "off")
        )
        audit = self._together(audit)
        if (figures := hook("record")) is not None:
            audit = figures(audit)
        audit = resolved(_noted(replace(counted(audit), faults=tuple(self.faults)), cases_asked(self.config)))
        if option(self.config, "texts") == "none":
            from calm.results.redaction import without_texts

            return without_texts(audit)
        return audit

    def _run(self, notes: Sequence[Reason]) -> Run:
        """Return what the run used, with notes of its own and others."""
        from calm.core.reasons import Kind, because
        from calm.results.audit import Run
        from calm.results.codes import from_code

        figures = self._figures

        def total(name: str, keys: Sequence[str]) -> dict[str, int]:
            return {k: sum(f[name].get(k, 0) for f in figures) for k in keys}

        calls = total("calls", ("made", "cached", "failed", "unmade", "retried", "recorded"))
        if shared := [f["keys"] for f in figures if f["keys"]]:
            from calm.engine.money import saved

            calls["cached"] = saved(shared)  # what one probe or worker made is found by the others
        noted = [from_code(note, "") for figure in figures for note in figure["notes"]]
        if dead := len(figures) - len(self._told_figures):
            noted.append(because(Kind.BILL_OF_DEAD, dead))
        if calls["cached"]:
            noted.append(because(Kind.FROM_CACHE, calls["cached"]))
        session = self.config.stash[SESSION]
        usd, unpriced = sum(f["usd"] for f in figures), {name for f in figures for name in f["unpriced"]}
        return Run(
            started=datetime.fromtimestamp(session.started, UTC).isoformat(timespec="seconds"),
            seconds=round(time.time() - session.started, 3),
            calls=calls,
            tokens=total("tokens", ("input", "output")),
            usd=round(usd, 6) if usd or not unpriced else None,
            unpriced=tuple(sorted(unpriced)),
            per_finding={k: {"seconds": round(v, 3)} for k, v in sorted(self.found.seconds.items())},
            notes=tuple(dict.fromkeys([*noted, *notes])),
        )

    def _together(self, audit: Audit) -> Audit:
        """Return the record with claims about all probes and a baseline; a fault in them costs no other finding."""
        from calm.core.reasons import Kind, Said, because
        from calm.errors import ConfigError
        from calm.gate.resolution import Attainable
        from calm.results.baseline import recalled
        from calm.results.pairing import pooled
        from calm.results.records import family_of, scale_of
        from calm.results.worsening import against

        if not audit.judge.scale:  # no test came far enough to tell its judge
            return audit
        judge, gate, whole = audit.judge, gate_of(self.config), audit
        try:
            family = family_of(judge.task)
            limiter = None if audit.limits == "suites" or family is None else Attainable(family)
            whole = self._with(audit, pooled(audit.findings, scale_of(judge), judge.task, gate.limits, limiter))
            if (baseline := baseline_of(self.config)) is not None:
                worse = against(baseline, whole, gate.limits)
                whole = self._with(recalled(baseline, whole), worse)
        except ConfigError as error:  # of the baseline
            self.troubles.at_end += [because(Kind.FILE_LOST, "baseline", Said(problem)) for problem in error.problems]
        except Exception as error:  # noqa: BLE001 - it is said, and keeps the gate from being green
            self.troubles.at_end.append(because(Kind.NOT_POOLED, Said(f"{type(error).__name__}: {error}")))
            return audit
        return whole

    def _with(self, audit: Audit, found: Sequence[Finding]) -> Audit:
        """Return the record with findings about all probes or a baseline, and what gate.toml says of them."""
        from calm.results.gatefile import allowed

        self.found.together |= {f.key for f in found}
        found = [allowed(gate_of(self.config), f) for f in found]
        return replace(audit, findings=tuple(sorted((*audit.findings, *found), key=lambda f: f.key)))

    @property
    def partial(self) -> bool:
        """Whether the user chose a part of the tests, or the run is not whole."""
        return part_chosen(self.config) or bool(self.troubles.ended) or self.tests.lost

    def _green(self, audit: Audit) -> bool:
        return audit.green(undecided=option(self.config, "undecided"))

    def _kept(self) -> Audit:
        """Write the outputs, and return the record; where one cannot be written, the others say so."""
        left = self.outputs.wanted()
        while True:
            audit = self.audit()
            # the record comes last if it is green: if anything fails before, no file says so
            left.sort(key=lambda name: (name == "results") is audit.green())
            failed = next((name for name in left if not self._wrote(audit, name)), None)
            if failed is None:
                break
            left.remove(failed)
        self.outputs.written = [name for name in OUTPUTS if name in left]
        answered = self.found.told or any(figure["answers"] for figure in self._figures)
        if answered and not self.troubles.interrupted:  # else what lay there before has more to tell
            self.outputs.take_their_places(audit)
        return audit

    def _wrote(self, audit: Audit, name: str) -> bool:
        """Write one output and return true, or note why it cannot be written."""
        from calm.core.reasons import Kind, Said, because
        from calm.errors import ConfigError

        faults = output_faults(self.config, name)  # a test may have read more than was known at the start
        try:
            if not faults:
                write(audit, name, self.config)
        except ConfigError as error:
            faults = [str(error)]
        except Exception as error:  # noqa: BLE001 - a fault in one form must not cost the others
            faults = [f"{type(error).__name__}: {error}; it is a fault of calm, please report it"]
        self.troubles.at_end += [because(Kind.FILE_LOST, name, Said(fault)) for fault in faults]
        return not faults

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show what all probes show together, what else is not green and why, what that means, and what it cost."""
        from calm.results.wording import printable

        if self.config.getoption("tbstyle", "auto") == "no":  # else it stands with the test that met it
            for text in (*self.troubles.misconfigured.splitlines(), *"\n".join(self.troubles.of_tests).splitlines()):
                terminalreporter.write_line(printable(text), red=True)
        if self.troubles.interrupted:  # pytest says it, in one line
            return
        if not self.found.subjects:
            self._tell_asked(terminalreporter)
            self._tell_kept(terminalreporter.write_line)
            return
        from calm.results.reports import terminal
        from calm.results.wording import lines

        audit, out = self.decided or self.audit(), terminalreporter
        green = self._green(audit)
        size = get_terminal_size((terminal.WIDTH, terminal.HEIGHT))
        width = size.columns if out.isatty else 0
        out.ensure_newline()  # else pytest ends its line of dots below the heading
        out.section("calm", sep="=", **{"green": True} if green else {"red": True})
        written = [Path(option(self.config, name)) for name in self.outputs.written]
        ended = terminal.Ended(
            green, self.status, written, option(self.config, "baseline") or "", self.outputs.replaced
        )
        if self.config.getoption("verbose", 0) > 0:
            told = terminal.whole(audit, ended)
        else:
            columns = size.columns if out.isatty or "COLUMNS" in os.environ else terminal.LOG
            above = sum(-(-len(text) // columns) for text in self.config.stash[SHOWN].said)
            told = terminal.shown(audit, terminal.Screen(columns, size.lines, above), ended)
        for one in told:
            for part in [one.text] if one.whole else lines(one.text, width):
                out.write_line(part, **({one.colour: True} if one.colour else {}))
        self._tell_kept(out.write_line)

    def _tell_asked(self, out: Any) -> None:
        """Say what tests without a probe asked, where there was none with one."""
        subject = self._asked_first
        if not self.tests.alone or subject is None:
            return
        from calm.results.wording import bill_alone, lines

        run = self._run([])
        out.ensure_newline()
        out.section("calm", sep="=")
        for node, text in self.tests.unanswered.items():
            for part in lines(f"{node}: {text}", 0):
                out.write_line(part, red=True)
        for remark in run.notes:
            for part in lines(f"note: {remark}", 0):
                out.write_line(part, yellow=True)
        for part in lines(bill_alone(subject["judge"], subject["cases"], run), 0):
            out.write_line(part)

    def _tell_kept(self, say: Callable[[str], None]) -> None:
        """Say where the files of an earlier run are, which told more than this one."""
        from calm.results.outputs import BEFORE
        from calm.results.wording import printable

        kept = [f"{path}{BEFORE}" for path in self.outputs.kept()]
        if kept:
            say(printable(f"no verdict was given: what an earlier run wrote is kept as {', '.join(kept)}"))


def _noted(audit: Audit, cases: Sequence[Case]) -> Audit:
    """Return the record with what its rows say of the judge and the cases, before all other notes."""
    from calm.core.verdict import Scale
    from calm.results.notes import notes_of, topics
    from calm.results.records import scale_of

    notes = notes_of(audit.findings, audit.cases)
    if audit.run.case_files != ():  # those that ship are about these topics on purpose
        scale = scale_of(audit.judge) if audit.judge.scale else Scale()
        notes += topics(audit.findings, cases, scale, audit.seed)
    return replace(audit, run=replace(audit.run, notes=(*notes, *audit.run.notes)))
