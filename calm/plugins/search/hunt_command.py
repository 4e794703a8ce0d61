"""`calm hunt`: the smallest text that flips the judge, confirmed by fresh asks, and kept as a test."""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import CACHE, CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import CONTINUE, add_caps, bill, impossible, opened_engine, sampled, stays
from calm.commands.terminal import end_of_progress, progress_line
from calm.errors import ConfigError
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from calm.core.case import Case
    from calm.experiment.setup import Setup
    from calm.models.wire import Json, Judge
    from calm.plugins.search.arms import Arm
    from calm.plugins.search.findings import Finding, Hunted
    from calm.plugins.search.hunt import Progress
    from calm.plugins.search.proposers import BestOf
    from calm.plugins.search.subjects import Bounds, Place

ANSWER = "answer"
"""Where a hunt edits by default, and the only place that a writer rewrites."""
WHERE = (ANSWER, "question", "reference", "criteria", "notes", "byline")
"""The places of `calm.plugins.search.subjects`; importing them here would take `calm --help` a second."""
AROUND = 60
"""Characters of a text that are shown on each side of what was put into it."""
PARTS = 20
"""The bar of progress has so many parts; where no terminal shows it, a line is printed for each quarter of it."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `hunt`."""
    hunt = add_command(
        commands,
        "hunt",
        "Search for the smallest text that flips the judge. It is kept as a test. The command tries edits together and "
        "alone, shrinks what flips the judge to its fewest and plainest words, and asks anew about the case with and "
        "without them. It exits with 0 whether it finds anything or not, and with 1 if a cap ended it.",
        "calm hunt judge.toml --asks 600 --write tests/found/",
    )
    hunt.add_argument("judge", metavar="JUDGE", help=JUDGES)
    hunt.add_argument("--asks", type=int, default=600, metavar="N", help="ask at most N times, from 24 (default 600)")
    hunt.add_argument("--findings", type=int, default=3, metavar="K", help="stop after K findings (default 3)")
    hunt.add_argument("--with", dest="writer", metavar="WRITER.toml", help="who writes texts beside the edits")
    hunt.add_argument(
        "--edits",
        default="",
        metavar="E,...",
        help="biases, perturbations; cue: words and signs (default all)",
    )
    hunt.add_argument(
        "--where",
        default=ANSWER,
        metavar="PLACE,...",
        help=f"what an attacker controls: {', '.join(WHERE)}; several share the asks (default answer)",
    )
    hunt.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    hunt.add_argument("--sample", type=int, default=200, metavar="N", help="at most N cases (default 200)")
    hunt.add_argument(
        "--at-once", type=int, default=0, metavar="N", help="hunt in N cases at once (default: 2 to 8, by --asks)"
    )
    hunt.add_argument("--seed", type=int, default=0, metavar="I", help="seed of the sample and the search (default 0)")
    hunt.add_argument("--fresh", action="store_true", help="do not begin with what earlier hunts found")
    add_caps(hunt)
    hunt.add_argument("--plan", action="store_true", help="show how many calls the hunt can take; make none")
    hunt.add_argument(
        "--write", metavar="DIR", help="also keep each finding as a test in this folder, such as tests/found/"
    )
    hunt.add_argument(
        "-o", "--out", default="hunt.json", metavar="FILE", help="where the record goes (default hunt.json)"
    )
    hunt.add_argument("--report", metavar="FILE", help="write the findings as a page, too, each beside its original")
    hunt.add_argument("--force", action="store_true", help="overwrite the file of -o, whoever wrote it")
    hunt.set_defaults(run=_hunt)


def _hunt(options: argparse.Namespace) -> int:
    from calm.cases import sample
    from calm.experiment.run import refuse_unserved, refuse_unshowable
    from calm.experiment.setup import Setup
    from calm.gate.from_spec import cases_from, judge_from
    from calm.plugins.search.findings import summary, to_json
    from calm.plugins.search.proposers import BestOf
    from calm.plugins.search.writer import read_author
    from calm.plugins.search.written import files_in, kept_rows, rows_for, write_found
    from calm.results.outputs import HUNT, REPORT, Output, refuse

    places = _checked(options)
    author = read_author(Path(options.writer), os.environ) if options.writer else None
    judge = judge_from(options.judge)
    refuse_unserved(judge, "hunt", "hunted")
    whole = cases_from(options.cases, judge)
    cases = sample(whole, options.sample, options.seed)
    arms = _arms(options, judge)
    refuse_unshowable(judge, cases)
    _refuse_unseen(judge, cases, places)
    bounds = _bounds(options, len(places))
    if options.plan:
        print(fitted(printable(_plan(options, judge, cases, len(whole)), "\n"), sys.stdout))
        return DONE
    out = Path(options.out)
    tests = files_in(Path(options.write), judge.name) if options.write else None
    page = [Output("--report", Path(options.report), REPORT)] if options.report else []
    written = [Output("-o", out, HUNT, options.force), *(tests.outputs if tests else ()), *page]
    if tests:
        refuse(written)
        kept_rows(tests.texts)
    with opened_engine(options, *written) as engine:
        engine.admit(judge)
        setup = Setup(judge, tuple(cases), engine, options.seed)
        writer = BestOf(author, setup) if author else None
        found = _hunted(options, setup, places, arms, bounds, writer=writer)
        spent = bill(engine)
    end_of_progress()
    said = f"{summary(found, judge.name, bounds)}\nchosen from {sampled(len(cases), len(whole))}"
    print(fitted(printable(said, "\n"), sys.stdout))
    confirmed = [one for hunt in found.values() for one in hunt.confirmed]
    show(confirmed)
    print(printable(f"\n{writer}\n{spent}" if writer else f"\n{spent}", "\n"))
    if not stays(engine, out):
        _write(to_json(found, setup, bounds) | ({"writer": writer.to_json()} if writer else {}), options)
    if tests:
        count, new = write_found(tests, rows_for(confirmed, judge, date.today()))
        run = f"pytest {tests.tests} --calm-judge={options.judge}"
        made = f"wrote {tests.tests}: {count} test{'s' * (count > 1)}, {new} of them new; run: {run}"
        print(printable(made if count else f"nothing to write in {options.write}"))
    incomplete = any(one.incomplete for one in found.values()) or bool(writer and writer.failed)
    if incomplete:
        print(CONTINUE)
    return REFUSED if incomplete else DONE


def _write(body: dict[str, Json], options: argparse.Namespace) -> None:
    """Write the record, and the page if one is wanted, and say so."""
    from calm.plugins.search import pages as hunt_page
    from calm.results.outputs import HUNT, write_whole

    text = json.dumps(body, indent=1, ensure_ascii=False)
    write_whole(Path(options.out), [f"{text}\n"], HUNT, force=options.force)
    print(printable(f"wrote {options.out}"))
    if options.report:
        hunt_page.write(body, Path(options.report))
        print(printable(f"wrote {options.report}"))


def _hunted(
    options: argparse.Namespace,
    setup: Setup,
    places: Sequence[Place],
    arms: Sequence[Arm],
    bounds: Bounds,
    *,
    writer: BestOf | None,
) -> dict[str, Hunted]:
    """Hunt in one place after the other, until a cap ends it; return what was found by the name of the place."""
    from calm.plugins.search.findings import Memory
    from calm.plugins.search.hunt import hunt
    from calm.plugins.search.proposers import bandit_for

    memory = Memory(Path(options.cache_file or CACHE).parent / "hunts", fresh=options.fresh)
    found: dict[str, Hunted] = {}
    for place in places:
        bandit = bandit_for(arms, place, setup, writer, asks=bounds.asks)
        shown = progress(len(found), len(places))
        found[place.name] = hunt(setup, place, bandit, bounds, memory=memory, progress=shown)
        if found[place.name].incomplete:
            break
    return found


def _checked(options: argparse.Namespace) -> list[Place]:
    """
    Return the places to hunt in.

    Raises:
        ConfigError: impossible options.
    """
    from calm.errors import nearest
    from calm.plugins.search.subjects import LEAST, PLACES

    names = list(dict.fromkeys(name for part in options.where.split(",") if (name := part.strip())))
    numbers = {"--asks": (options.asks, LEAST * max(1, len(names))), "--findings": (options.findings, 1)}
    problems = [
        f"{name}: expected a number from {least} on, got {value}"
        for name, (value, least) in numbers.items()
        if value < least
    ]
    if options.at_once < 0:
        problems.append(f"--at-once: expected a number above 0, got {options.at_once}")
    problems += [
        f"--where: expected one or several of {', '.join(PLACES)}, got {name!r}{nearest(name, PLACES)}"
        for name in names
        if name not in PLACES
    ]
    if not names:
        problems.append(f"--where: expected one or several of {', '.join(PLACES)}, got {options.where!r}")
    if options.writer and ANSWER not in names:
        problems.append(f"--with: expected --where {ANSWER}, which a writer rewrites, got {options.where}")
    problems += impossible(options)
    if problems:
        raise ConfigError(problems)
    return [PLACES[name] for name in names]


def _arms(options: argparse.Namespace, judge: Judge) -> tuple[Arm, ...]:
    from calm.core.verdict import FAMILY
    from calm.plugins.search.arms import arms_for

    names = [name for part in options.edits.split(",") if (name := part.strip())]
    return arms_for(FAMILY[judge.task], names, str(judge.about.get("model") or judge.name))


def _bounds(options: argparse.Namespace, places: int) -> Bounds:
    """Return what the hunt in one of some places may take: its share of the asks, and of the error."""
    from calm.plugins.search.subjects import ERROR, Bounds

    return Bounds(options.asks // places, options.findings, options.at_once, ERROR / places)


def _refuse_unseen(judge: Judge, cases: Sequence[Case], places: Sequence[Place]) -> None:
    """
    Refuse places that no case has, or that the judge is not shown in any of them; nobody is asked.

    Raises:
        ConfigError: a paragraph for each such place.
    """
    problems = []
    for place in places:
        shown = [place.shown_to(judge, case) for case in cases]
        if any(shown):
            continue
        if all(one is None for one in shown):
            problems.append(
                f"--where {place.name}: expected cases with a {place.name}, got none in {len(cases)} cases; give the "
                "cases one, or choose another place"
            )
        else:
            problems.append(
                f"--where {place.name}: expected a place that reaches the judge, got one that {judge.name} is not "
                f"shown: what it sees of each of the {len(cases)} cases stays the same, whatever is written there. "
                "Nobody who controls this place can flip the judge. Choose another place; or, if your judge uses it "
                "after all, show it in the prompt (a judge in Python: name it in `reads`)"
            )
    if problems:
        raise ConfigError(problems)


def _plan(options: argparse.Namespace, judge: Judge, cases: Sequence[Case], there: int) -> str:
    """Return the most that a hunt can take."""
    from calm.gate.prices import clean_plan
    from calm.models.pricing import dollars

    once = clean_plan(judge, cases, 1).asks  # one of every case
    times = options.asks / len(cases)
    usd = str(once.cost) if not once.usd else f"about {dollars(times * once.usd)} USD"
    where = ", ".join(part.strip() for part in options.where.split(","))
    lines = [
        f"hunt on {judge.name}, in {where}: {sampled(len(cases), there)}; no call is made",
        f"at most: {options.asks} asks, {round(times * once.calls)} calls of the judge, {usd}",
    ]
    if options.writer:
        lines.append("calls of the writer come on top, one for each text; --max-calls and --max-usd cap both together")
    return "\n".join(lines)


def show(findings: Sequence[Finding]) -> None:
    """Print the original and the smallest text of each finding as one, with what was added and taken away marked."""
    from calm.results.reports.texts import coloured, differences

    for one in findings:
        answer = f" {one.subject.case.target}" if one.subject.place.name in (ANSWER, "byline") else ""
        print(printable(f"\n-- case {one.subject.id}, {one.subject.place.name}{answer}", "\n"))
        for text in differences(one.subject.original, one.text, colour=coloured(), context=AROUND).splitlines():
            print(f"   {text}")


def progress(done: int, of: int) -> Callable[[Progress], None]:
    """Return what shows how far a hunt is, of which some were run before."""
    told: list[tuple[int, int]] = [(0, 0)]

    def line(one: Progress) -> None:
        filled = min(PARTS, (done * one.of + one.asks) * PARTS // max(1, of * one.of))
        quarter = (filled * 4 // PARTS, one.findings)
        progress_line(_said(one, done, of, filled), worth=quarter != told[0])
        told[0] = quarter

    return line


def _said(one: Progress, done: int, of: int, filled: int) -> str:
    """Return the line of progress."""
    best = "nothing yet" if not one.best else f"{len(one.best)} word{'s' * (len(one.best) > 1)}"
    place = f" (place {done + 1} of {of})" if of > 1 else ""
    found = f"{one.findings} finding{'s' * (one.findings != 1)}"
    return f"hunt: [{'#' * filled}{'.' * (PARTS - filled)}] {one.asks} of {one.of} asks{place}; {found}; best: {best}"
