"""Gathers the findings of all tests, writes the outputs, and says at the end what is not green and why."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.aside import Aside
from calm.pytest_plugin.options import OUTPUTS, distributed, flag, given, option, seed_of, stopping_of
from calm.pytest_plugin.record import Record
from calm.pytest_plugin.roll import Roll, on_roll
from calm.pytest_plugin.session import (
    SESSION,
    baseline_of,
    cases_asked,
    catch_signals,
    figures_of,
    figures_of_dead,
    gate_of,
    named_as,
    output_faults,
    part_chosen,
    set_aside_of,
    unknown_subject,
)

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.core.claims import Limiter
    from calm.core.reasons import Reason
    from calm.core.texts import CaseTexts
    from calm.pytest_plugin import Waiting
    from calm.results.audit import Audit, Finding, Run

EXIT_CONFIG = pytest.ExitCode.USAGE_ERROR


class Collector:
    """Gathers the findings of all tests, in the process that the user sees, and writes the output files."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.findings: dict[str, Finding] = {}
        self.texts: dict[tuple[str, str], CaseTexts] = {}
        self.seconds: dict[str, float] = {}
        self.asks: dict[str, list[int]] = {}
        self.extras: dict[str, Any] = {}
        self.subjects: dict[str, dict[str, Any]] = {}
        self.first_subject: dict[str, Any] | None = None
        """Whom the first test with a probe asked, whatever became of the test."""
        self.alone: set[str] = set()
        """The tests that asked the judge without a probe: they claim nothing, and are no part of the gate."""
        self.unanswered: dict[str, str] = {}
        """Which of them got no reply, and what is to be said of it."""
        self.twice: list[Reason] = []
        self.roll = Roll()
        self.aside = Aside()
        self.ended: list[Reason] = []
        """Why the run as a whole is not what was asked for: it was interrupted, or something could not be collected."""
        self._pressed = False
        """Whether a signal ended the run, and not pytest itself."""
        self.interrupted = ""
        """What an interrupted run says of itself; empty if it was not interrupted."""
        self._stays: set[Path] = set()
        """The outputs of an earlier run that stay, so that nothing is written in their places."""
        self.refused = False
        """Whether the run was refused before its first question."""
        self.misconfigured = ""
        """What is set up wrongly, in words: what ended the run first."""
        self.nodes: list[Any] = []
        """The workers of xdist, dead ones included."""
        self.written: list[str] = []
        """The names of the outputs that were written."""
        self.problems: list[Reason] = []
        """What could not be compared with or written, found at the end."""
        self.told_wrong: dict[str, None] = {}
        """What single tests met that is set up wrongly, in words."""
        self.status = 0
        """The exit status of the run, known when it ends."""
        self.decided: Audit | None = None
        self.together: set[str] = set()
        """The keys of claims about all probes of the run, or about a baseline, that this run made."""

    def catch_up(self, before: Waiting) -> None:
        """Take what happened before it was known that the run has a probe."""
        for node in before.uncollected:
            self._uncollected(node)
        self.nodes += before.nodes
        for ids in before.ids:
            self.roll.collect(ids)
        for report in before.reports:
            self.pytest_runtest_logreport(report)

    def pytest_collectreport(self, report: Any) -> None:
        """Note what could not be collected: nobody knows whether a probe was in it."""
        if report.failed:
            self._uncollected(report.nodeid)

    def _uncollected(self, node: str) -> None:
        from calm.core.reasons import Kind, because

        self.ended.append(because(Kind.NOT_COLLECTED, node or "the tests"))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which tests with a probe are to run."""
        self.roll.collect(item.nodeid for item in session.items if on_roll(item))
        if not distributed(self.config):
            self.roll.name(item.nodeid for item in session.items if on_roll(item))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Note which tests are to run on the workers of xdist; which of them have a probe comes with a report."""
        self.roll.collect(ids)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Add the findings that came with a report."""
        from calm.core.claims import Outcome
        from calm.core.reasons import Kind, because

        came = getattr(report, "calm", {})
        if "roll" in came:
            self.roll.name(json.loads(came["roll"]))
            if not self.roll.empty:
                catch_signals(self.config)
                self.set_aside()
        if "subject" in came:
            self.first_subject = self.first_subject or json.loads(came["subject"])
        if "late" in came:
            self.roll.collect([report.nodeid])
            self.roll.name([report.nodeid])
        if "alone" in came:
            self.alone.add(report.nodeid)
        if "unanswered" in came:
            self.unanswered[report.nodeid] = came["unanswered"]
        self.roll.note(report)
        self.misconfigured = self.misconfigured or came.get("misconfigured", "")
        self.told_wrong |= dict.fromkeys([came["fault"]] if came.get("fault") else [])
        if "record" in came:
            record = Record.from_json(came["record"])
        elif report.when == "call" and report.nodeid in (here := self.config.stash[SESSION].records):
            record = here.pop(report.nodeid)
        else:
            return
        node = record.node
        if record.subject:
            self.subjects[node] = record.subject
        mine: dict[str, Finding] = {}
        for finding in record.findings:
            key = finding.key
            before = self.findings.get(key, finding)
            if before.node != node:
                self.twice.append(because(Kind.TWICE, key, before.node, node))
            if mine.setdefault(key, finding) != finding:
                self.twice.append(because(Kind.TWICE_IN_TEST, key, node))
            # a test that a plugin runs again cannot take back a claim that was decided against the judge
            self.findings[key] = before if before.outcome in (Outcome.FAIL, Outcome.UNDECIDED) else finding
        self.texts |= {(t.case, t.hash): t for t in record.texts}
        self.seconds |= record.seconds
        self.asks[node] = record.asks
        self.extras |= record.extras

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that a signal came."""
        self._pressed = excinfo.type is KeyboardInterrupt

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
            self.ended.append(because(Kind.HOOK_FAILED, Said(f"{type(error).__name__}: {error}")))
            raise
        finally:
            with SIGNALS.held():
                self._finish(session, exitstatus)

    def _finish(self, session: pytest.Session, exitstatus: int) -> None:
        from calm.core.reasons import Kind, because

        for told in filter(None, (getattr(node, "workeroutput", {}).get("calm_roll") for node in self.nodes)):
            self.roll.name(json.loads(told))
        narrowed = (getattr(node, "workeroutput", {}).get("calm_narrowed", False) for node in self.nodes)
        self.config.stash[SESSION].narrowed |= any(narrowed)
        whole = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if self.refused:  # pytest says why
            self.aside.put_back()
            return
        if exitstatus == pytest.ExitCode.INTERRUPTED and not self.misconfigured:
            self.ended.append(because(Kind.INTERRUPTED))
            if self._pressed:
                self._say_interrupted()
        elif exitstatus not in (*whole, pytest.ExitCode.NO_TESTS_COLLECTED):
            self.ended.append(because(Kind.ENDED_EARLY, int(exitstatus)))
        if not self._told and self.told_wrong:
            self.misconfigured = self.misconfigured or "\n".join(self.told_wrong)
            self.told_wrong.clear()
        self._introduce(exitstatus)
        if self.subjects:
            audit = self.decided = self._kept()
            if exitstatus in whole and not self._green(audit):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        elif self._gateless and not self.ended and all(hasattr(node, "workeroutput") for node in self.nodes):
            self.aside.put_back()  # no test of the gate was chosen
        if self.misconfigured:
            session.exitstatus = EXIT_CONFIG
        self.status = int(session.exitstatus)

    def interrupt(self) -> str:
        """Put back what an earlier run wrote, which stays; return what an interrupted run says of itself."""
        from calm.pytest_plugin.options import place_of
        from calm.results.codes import interrupted

        self._stays = self.aside.put_back()
        place = "" if option(self.config, "cache") == "off" else str(place_of(self.config))
        self.interrupted = interrupted(sum(figure["calls"].get("made", 0) for figure in self._figures), place)
        return self.interrupted

    def _say_interrupted(self) -> None:
        """Let pytest say what was made and is kept, and not where calm took the signal: there is nothing to see."""
        said = self.interrupt()
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        crash = getattr(getattr(reporter, "_keyboardinterrupt_memo", None), "reprcrash", None)
        if crash is not None and self.config.stash[SESSION].caught and not self.config.getoption("fulltrace", False):
            crash.message = said

    def _introduce(self, exitstatus: int) -> None:
        """Find whom the record is about where no test told anything: it has to say all the same what became of them."""
        if self.misconfigured and not self._told:
            self.subjects.clear()
            return
        lost = any(one.lost for one in self.roll.endings())
        if self.subjects or self._only_shows or self._gateless or not (lost or (self.ended and not self.roll.empty)):
            return
        known = self._asked_first
        if known is not None or exitstatus == pytest.ExitCode.OK or any(given(self.config, name) for name in OUTPUTS):
            self.subjects[""] = known or unknown_subject(self.config)

    @property
    def _asked_first(self) -> dict[str, Any] | None:
        """Whom a test asked first, in this process or in a worker."""
        asked = [subject for *_, subject in self.config.stash[SESSION].subjects]
        return asked[0] if asked else self.first_subject

    @property
    def _gateless(self) -> bool:
        """Whether no test that ran is one of the gate: each asks without a probe, and pytest says how it ended."""
        return all(one.node in self.alone for one in self.roll.endings())

    def set_aside(self) -> None:
        """Let no file of an earlier run lie where this one will write."""
        if not self._only_shows:
            self.aside.move(set_aside_of(self.config))

    @property
    def _only_shows(self) -> bool:
        """Whether the run shows what it would do, and does not do it."""
        option, traced = self.config.option, self.config.stash[SESSION].tracing
        return bool(option.collectonly or option.setupplan or option.setuponly or traced or flag(self.config, "plan"))

    @property
    def _told(self) -> bool:
        """Whether anything is decided or observed: a run that told nothing must not take the place of one that did."""
        from calm.core.claims import Outcome

        return any(f.outcome not in (Outcome.NOT_TESTED, Outcome.INCOMPLETE) for f in self.findings.values())

    @property
    def _answered(self) -> bool:
        """Whether a judge gave any verdict in this run."""
        return any(f["answers"] for f in self._figures)

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

        faults = list(dict.fromkeys([*self.twice, *self.ended, *self.problems]))
        gate = gate_of(self.config)
        if not self.partial:
            faults += [because(Kind.GATE_UNUSED, entry) for entry in gate.unused((*self.findings, *self.together))]
        elif not {one.bias for one in gate.overrides} <= (met := {f.bias for f in self.findings.values()}):
            from calm.gate.catalogue import known_biases

            faults += [because(Kind.GATE_MISSPELT, *pair) for pair in gate.misspelt({*met, *known_biases()})]
        return faults

    def audit(self) -> Audit:
        """Return the record of the run."""
        from calm import __version__
        from calm.core.plugins import hook
        from calm.core.reasons import Kind, because
        from calm.results.audit import Audit, JudgeRecord
        from calm.results.records import resolved

        subject = self.subjects[min(self.subjects)]  # the same whichever test came first
        others = sum((s["judge"], s["cases"]) != (subject["judge"], subject["cases"]) for s in self.subjects.values())
        repeats = Counter(self.subjects[node]["repeats"] for node in sorted(self.subjects))
        several = [because(Kind.OTHER_SUBJECTS, others)] if others else []
        run = self._run([*several, *self._saved()])
        audit = Audit(
            calm=__version__,
            judge=JudgeRecord(**subject["judge"]),
            cases=subject["cases"],
            seed=seed_of(self.config),
            repeats=repeats.most_common(1)[0][0],  # a test can have its own: each finding says what it was asked
            stopping=str(stopping_of(self.config)),
            limits="attainable" if "attainable" in {s["limits"] for s in self.subjects.values()} else "suites",
            findings=tuple(self.findings[k] for k in sorted(self.findings)),
            run=run,
            texts=tuple(self.texts[k] for k in sorted(self.texts)),
            tests=self.roll.endings(),
            extras={k: self.extras[k] for k in sorted(self.extras)},
        )
        judge, files = named_as(self.config, audit)
        audit = replace(
            audit, run=replace(run, judge=judge, case_files=files, kept=option(self.config, "cache") != "off")
        )
        audit = self._together(audit)
        if (figures := hook("record")) is not None:
            audit = figures(audit)
        audit = resolved(_noted(replace(audit, faults=tuple(self.faults)), cases_asked(self.config)))
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
            per_finding={k: {"seconds": round(v, 3)} for k, v in sorted(self.seconds.items())},
            notes=tuple(dict.fromkeys([*noted, *notes])),
        )

    def _together(self, audit: Audit) -> Audit:
        """Return the record with claims about all probes and a baseline; a fault in them costs no other finding."""
        from calm.core.reasons import Kind, Said, because

        if not audit.judge.scale:  # no test came far enough to tell its judge
            return audit
        try:
            return self._held_against(baseline_of(self.config), self._pooled(audit))
        except Exception as error:  # noqa: BLE001 - it is said, and keeps the gate from being green
            self.problems.append(because(Kind.NOT_POOLED, Said(f"{type(error).__name__}: {error}")))
            return audit

    def _held_against(self, baseline: Audit | None, audit: Audit) -> Audit:
        """Return the record with what got worse since the baseline, if there is one."""
        if baseline is None:
            return audit
        from calm.core.reasons import Kind, Said, because
        from calm.errors import ConfigError
        from calm.results.baseline import recalled
        from calm.results.worsening import against

        gate = gate_of(self.config)
        try:
            worse = against(baseline, audit, gate.limits)
        except ConfigError as error:
            self.problems += [because(Kind.FILE_LOST, "baseline", Said(problem)) for problem in error.problems]
            return audit
        return self._with(recalled(baseline, audit), worse)

    def _pooled(self, audit: Audit) -> Audit:
        """Return the record with what all probes show together."""
        from calm.results.pairing import pooled
        from calm.results.records import scale_of

        limiter, limits = self._limiter(audit), gate_of(self.config).limits
        found = pooled(audit.findings, scale_of(audit.judge), audit.judge.task, limits, limiter)
        return self._with(audit, found)

    def _with(self, audit: Audit, found: Sequence[Finding]) -> Audit:
        """Return the record with findings about all probes or a baseline, and what gate.toml says of them."""
        from calm.results.gatefile import allowed

        self.together |= {f.key for f in found}
        found = [allowed(gate_of(self.config), f) for f in found]
        return replace(audit, findings=tuple(sorted((*audit.findings, *found), key=lambda f: f.key)))

    def _limiter(self, audit: Audit) -> Limiter | None:
        """Return what chooses the limits of the claims about the whole run, if attainable ones are taken."""
        from calm.gate.resolution import Attainable
        from calm.results.records import family_of

        family = family_of(audit.judge.task)
        return None if audit.limits == "suites" or family is None else Attainable(family)

    def _saved(self) -> list[Reason]:
        """Say what stopping early saved."""
        from calm.core.reasons import Kind, because

        if option(self.config, "stopping") == "fixed" or not self.asks:
            return []
        asked, planned = (sum(pair[i] for pair in self.asks.values()) for i in (0, 1))
        return [because(Kind.STOPPED_EARLY, asked, round(1 - asked / planned, 4), planned)] if planned else []

    @property
    def partial(self) -> bool:
        """Whether the user chose a part of the tests, or the run is not whole."""
        return part_chosen(self.config) or bool(self.ended) or any(one.lost for one in self.roll.endings())

    def _green(self, audit: Audit) -> bool:
        return audit.green(undecided=option(self.config, "undecided"))

    def _kept(self) -> Audit:
        """Write the outputs, and return the record; where one cannot be written, the others say so."""
        left = [name for name in OUTPUTS if (path := option(self.config, name)) and Path(path) not in self._stays]
        while True:
            audit = self.audit()
            # the record comes last if it is green: if anything fails before, no file says so
            left.sort(key=lambda name: (name == "results") is audit.green())
            failed = next((name for name in left if not self._wrote(audit, name)), None)
            if failed is None:
                break
            left.remove(failed)
        self._tidy(left)
        return audit

    def _wrote(self, audit: Audit, name: str) -> bool:
        """Write one output and return true, or note why it cannot be written."""
        from calm.core.reasons import Kind, Said, because
        from calm.errors import ConfigError

        if faults := output_faults(self.config, name):  # a test may have read more than was known at the start
            self.problems += [because(Kind.FILE_LOST, name, Said(fault)) for fault in faults]
            return False
        try:
            _WRITERS[name](audit, Path(option(self.config, name)), self.config)
        except ConfigError as error:
            self.problems.append(because(Kind.FILE_LOST, name, Said(str(error))))
        except Exception as error:  # noqa: BLE001 - a fault in one form must not cost the others
            said = f"{type(error).__name__}: {error}; it is a fault of calm, please report it"
            self.problems.append(because(Kind.FILE_LOST, name, Said(said)))
        else:
            return True
        return False

    def _tidy(self, names: Sequence[str]) -> None:
        """Say what was written; remove what lay there before, unless this run has less to tell."""
        self.written = [name for name in OUTPUTS if name in names]
        if (self._told or self._answered) and not self.interrupted:
            self.aside.remove(one for one in set_aside_of(self.config) if one.path.exists())

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show what all probes show together, what else is not green and why, what that means, and what it cost."""
        from calm.results.wording import printable

        if self.config.getoption("tbstyle", "auto") == "no":  # else it stands with the test that met it
            for text in (*self.misconfigured.splitlines(), *"\n".join(self.told_wrong).splitlines()):
                terminalreporter.write_line(printable(text), red=True)
        if self.interrupted:  # pytest says it, in one line
            return
        if not self.subjects:
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
        written = [Path(option(self.config, name)) for name in self.written]
        ended = terminal.Ended(green, self.status, written, option(self.config, "baseline") or "")
        if self.config.getoption("verbose", 0) > 0:
            told = terminal.whole(audit, ended)
        else:
            columns = size.columns if out.isatty or "COLUMNS" in os.environ else terminal.LOG
            above = sum(-(-len(text) // columns) for text in self.config.stash[SESSION].said)
            told = terminal.shown(audit, terminal.Screen(columns, size.lines, above), ended)
        for one in told:
            for part in [one.text] if one.whole else lines(one.text, width):
                out.write_line(part, **({one.colour: True} if one.colour else {}))
        self._tell_kept(out.write_line)

    def _tell_asked(self, out: Any) -> None:
        """Say what tests without a probe asked, where there was none with one."""
        subject = self._asked_first
        if not self.alone or subject is None:
            return
        from calm.results.wording import bill_alone, lines

        run = self._run([])
        out.ensure_newline()
        out.section("calm", sep="=")
        for node, text in self.unanswered.items():
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

        kept = [f"{path}{BEFORE}" for path in self.aside.kept(set_aside_of(self.config))]
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


def _write_results(audit: Audit, path: Path, config: pytest.Config) -> None:
    from calm.results.audit import write

    write(audit, path, texts=option(config, "texts") == "full")


def _write_report(audit: Audit, path: Path, config: pytest.Config) -> None:
    from calm.results.reports import html

    html.write(audit, path)


def _write_summary(audit: Audit, path: Path, config: pytest.Config) -> None:
    from calm.results.reports import markdown

    markdown.write(audit, path)


def _write_sarif(audit: Audit, path: Path, config: pytest.Config) -> None:
    from calm.results.reports import sarif

    sarif.write(audit, path, root=config.rootpath)


_WRITERS: dict[str, Callable[[Audit, Path, pytest.Config], None]] = {
    "results": _write_results,
    "report": _write_report,
    "summary": _write_summary,
    "sarif": _write_sarif,
}
