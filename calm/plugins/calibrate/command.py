"""`calm calibrate`: hold a judge against labels of people, and say how far it can be trusted for what."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import CONTINUE, add_caps, bill, impossible, opened_engine, stays
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calm.core.case import Case
    from calm.core.claims import Claim
    from calm.core.measures import Measure
    from calm.experiment.setup import Setup
    from calm.experiment.stopping import Design
    from calm.models.wire import Judge
    from calm.plugins.calibrate.study import Calibration, Parts, Wishes

OUT = "calibration.json"
"""The record that is written, unless an option names another."""
TABLES = ".csv, .tsv, .json, .jsonl, .ndjson, .parquet"
"""How the name of a table of results ends."""
REPEATS = 3
"""Asks of a case, so that their agreement tells how sure the judge is."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `calibrate`."""
    one = add_command(
        commands,
        "calibrate",
        "Compare a judge with labels of people. The command says where the judge errs, which mapping fits best, what "
        "it may decide alone, and how many labels a claim needs. It corrects the judge's mean over cases without "
        "labels. The record serves as a baseline.",
        "calm calibrate results.csv --map verdict=judge --map better=human",
    )
    option = one.add_argument
    option("judge", metavar="JUDGE", help=f"a table of results ({TABLES}), recorded:SET/MODEL, {JUDGES}")
    option(
        "--map",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        help="of a table: which column holds a field of a case, or `verdict`, what the judge said (repeatable)",
    )
    option(
        "--value",
        action="append",
        default=[],
        metavar="WORD=MEANING",
        help="of a table: what a word means: a, b, tie, a score, or none: no verdict (repeatable)",
    )
    option("--scale", metavar="LOW..HIGH", help="of a table: the scale of its scores, such as 1..5")
    option("--cases", action="append", default=[], metavar="FILE", help=f"{CASES}, with labels of people")
    option(
        "--unlabelled",
        action="append",
        default=[],
        metavar="FILE",
        help="cases whose mean is wanted; their labels, if any, are not used (repeatable)",
    )
    option("--labels", type=int, metavar="N", help="use the labels of N cases, drawn at random; the others have none")
    option("-o", "--out", default=OUT, metavar="FILE", help=f"the record to write (default {OUT})")
    option("--repeats", type=int, default=REPEATS, metavar="K", help=f"asks of a case (default {REPEATS})")
    option("--sample", type=int, metavar="N", help="at most N labelled and N unlabelled cases (default: all)")
    option("--seed", type=int, default=0, metavar="I", help="seed of the sample and the folds (default 0)")
    option(
        "--limit",
        type=float,
        action="append",
        default=[],
        metavar="X",
        help="also say how many labels prove a share of right verdicts of X (repeatable)",
    )
    option(
        "--error", type=float, default=0.05, metavar="X", help="error of what the judge decides alone (default 0.05)"
    )
    option(
        "--within",
        type=float,
        metavar="X",
        help="scores: right if within X of the label (default: a step, or an eighth of a scale without steps)",
    )
    option("--pass", dest="passing", type=float, metavar="X", help="scores: right if on the same side of X")
    option("--next", type=int, default=10, metavar="N", help="name N cases to label next (default 10)")
    option("--of", metavar="NAME", help="pairs: whose win rate is wanted, an answer's id or an author")
    add_caps(one)
    option("--plan", action="store_true", help="show what the command will ask and cost; make no call")
    one.set_defaults(run=_calibrate)


def _calibrate(options: argparse.Namespace) -> int:
    from calm.experiment.run import refuse_unshowable
    from calm.experiment.setup import Setup
    from calm.experiment.stopping import Stopping
    from calm.gate.from_spec import judge_from
    from calm.plugins.calibrate import report
    from calm.plugins.calibrate.study import calibrate, is_chosen, refuse_gold
    from calm.results.outputs import CALIBRATION, Output

    design = _checked(options)
    judge = _results(options) if _is_table(options.judge) else judge_from(options.judge)
    parts, there = _cases(options, judge)
    labelled, unlabelled = parts.labelled, parts.unlabelled
    wishes = _wishes(options, judge, [*labelled, *unlabelled])
    refuse_unshowable(judge, [*labelled, *unlabelled])
    out = Path(options.out)
    if options.plan:
        print(printable(_plan(judge, [*labelled, *unlabelled], design, options.seed), "\n"))
        return DONE
    claims, observed = _suite(judge, options)
    with opened_engine(options, Output("-o", out, CALIBRATION)) as engine:
        setup = Setup(judge, tuple(labelled), engine, options.seed, design, Stopping.FIXED)
        refuse_gold(setup)
        engine.admit(judge)
        found = replace(calibrate(setup, unlabelled, wishes, claims, observed), divided=len(parts.divided))
        spent = bill(engine)
    labels = f"{len(labelled)} of {there} labels" if len(labelled) < there else f"{there} labelled cases"
    if chosen := sum(map(is_chosen, labelled)):
        labels += f" ({chosen} of them chosen)"
    if parts.divided:
        labels += f", {len(parts.divided)} cases on which people are divided"
    print(printable(f"{judge.name} ({judge.task}): {labels}, {len(unlabelled)} cases without labels"), end="\n\n")
    print(printable(report.summary(found), "\n"))
    print(printable(f"\n{spent}", "\n"))
    if found.incomplete:
        print(printable(f"incomplete: {found.incomplete}; nothing is written; {CONTINUE}"))
        return REFUSED
    if stays(engine, out):
        return REFUSED
    return _write(found, setup, out, there)


def _is_table(spec: str) -> bool:
    return Path(spec).suffix.lower() in TABLES.split(", ")


def _results(options: argparse.Namespace) -> Judge:
    from calm.cases.proposed import named_in
    from calm.commands.logs import scale_in
    from calm.judges.recorded.results_table import results_in

    said = named_in(options.map, options.value)
    scale = None if options.scale is None else scale_in(options.scale)
    if options.cases:
        raise ConfigError("--cases: expected a table of results alone, as it holds its cases, got a file of cases, too")
    results = results_in(Path(options.judge), said.columns, said.values, scale)
    told = ", ".join(f"{key} = {value}" for key, value in results.read.items())
    print(printable(f"{options.judge} is read as: {told}"))
    if results.left:
        print(f"note: {results.left} records are left out: they have no question or no answer")
    return results.judge


def _checked(options: argparse.Namespace) -> Design:
    from calm.experiment.stopping import Design

    problems = impossible(options)
    if options.repeats < 1:
        problems.append(f"--repeats: expected 1 or more, got {options.repeats}")
    if options.next < 0:
        problems.append(f"--next: expected 0 or more, got {options.next}")
    shares = [("--error", options.error), *(("--limit", limit) for limit in options.limit)]
    problems += [f"{name}: expected a share between 0 and 1, got {x!r}" for name, x in shares if not 0 < x < 1]
    if options.within is not None and not 0 <= options.within < float("inf"):
        problems.append(f"--within: expected a distance of 0 or more, got {options.within!r}")
    if options.within is not None and options.passing is not None:
        problems.append("--within, --pass: expected one of them, got both")
    of_table = [f"--{name}" for name in ("map", "value", "scale") if getattr(options, name)]
    if of_table and not _is_table(options.judge):
        problems.append(f"{of_table[0]}: expected a table of results as the judge ({TABLES}), got {options.judge}")
    if options.labels is not None and options.labels < 1:
        problems.append(f"--labels: expected 1 or more, got {options.labels}")
    if problems:
        raise ConfigError(problems)
    return Design(options.repeats, 1)


def _cases(options: argparse.Namespace, judge: Judge) -> tuple[Parts, int]:
    from calm.cases import read_files, sample, upright
    from calm.gate.from_spec import cases_from
    from calm.plugins.calibrate.study import Parts, drawn_of, refuse_drawn, split

    if not options.cases and judge.traits.recorded is None:
        raise ConfigError(
            "--cases: expected a file of cases with labels of people (labels, better, scores or met), got none"
        )
    mine = cases_from(options.cases, judge)
    parts = split(mine, judge.task)
    labelled, unlabelled = parts.labelled, parts.unlabelled
    known = {case.id for case in mine}
    if options.unlabelled:
        others = upright(read_files(options.unlabelled, task=judge.task), judge.task, judge.scale)
        both = [case.id for case in others if case.id in known]
        if both:
            raise ConfigError(
                f"--unlabelled: expected other cases than those of --cases, got {both[0]!r} in both"
                f"{f' and {len(both) - 1} more' if len(both) > 1 else ''}: they would be counted twice"
            )
        unlabelled = [*unlabelled, *others]
    refuse_drawn([*mine, *unlabelled])
    if not labelled:
        split_up = f", and people are divided on {len(parts.divided)} of them" if parts.divided else ""
        what = {"rubric": "met", "rubric-all": "met", "score": "scores", "points": "met or scores"}
        if _is_table(options.judge):
            raise ConfigError(f"{options.judge}: expected records with a gold label, got none in {len(mine)}{split_up}")
        raise ConfigError(
            f"--cases: expected cases with labels of people ({what.get(judge.task, 'better')}, or labels), got none in "
            f"{len(mine)} cases{split_up}; docs/how-to/calibrate-a-judge.md shows how to write them"
        )
    at_random = drawn_of(labelled)
    if options.labels is not None:  # those chosen are neither a random draw nor a part of the others
        labelled = at_random
    there = len(labelled)
    if options.labels is not None:
        drawn = sample(labelled, len(labelled), options.seed)
        labelled, unlabelled = drawn[: options.labels], [*drawn[options.labels :], *unlabelled]
    most = options.sample or max(len(labelled), len(unlabelled))
    few = sample(unlabelled, most, options.seed) if unlabelled else []
    return Parts(sample(labelled, most, options.seed), parts.divided, few), there


def _wishes(options: argparse.Namespace, judge: Judge, cases: Sequence[Case]) -> Wishes:
    from calm.core.verdict import FAMILY
    from calm.plugins.calibrate.items import entity_of
    from calm.plugins.calibrate.study import Wishes

    family = FAMILY[judge.task]
    if family == "label":
        raise ConfigError(
            "calm calibrate: expected a judge of pairs, scores, rubrics or lists, got task = 'label'; how far "
            "it agrees with people is in the suite of agreement: calm audit"
        )
    problems: list[str] = []
    for name, value in (("--within", options.within), ("--pass", options.passing)):
        if value is not None and family != "score":
            problems.append(f"{name}: expected a judge of scores, got task = {judge.task!r}")
    scale = judge.scale
    worst, best = scale.upright(scale.low), scale.upright(scale.high)
    ends = sorted((worst, best))
    if (
        options.passing is not None
        and family == "score"
        and not (ends[0] <= options.passing <= ends[1] and options.passing != worst)
    ):
        side = "above" if worst < best else "below"
        problems.append(
            f"--pass: expected a score {side} {worst:g} and at {'most' if worst < best else 'least'} {best:g}, got "
            f"{options.passing:g}"
        )
    if options.of is not None and family not in ("pairwise", "listwise"):
        problems.append(f"--of: expected a judge of pairs, got task = {judge.task!r}")
    elif options.of is not None and entity_of(cases, options.of) is None:
        problems.append(f"--of: expected an answer id or an author that all cases have, got {options.of!r}")
    if problems:
        raise ConfigError(problems)
    return Wishes(tuple(options.limit), options.error, options.within, options.passing, options.next, options.of)


def _suite(judge: Judge, options: argparse.Namespace) -> tuple[list[Claim], list[Measure]]:
    from calm import suites
    from calm.commands.plan import traced
    from calm.plugins.calibrate.study import SUITE

    path = Path(suites.__path__[0]) / f"test_{SUITE}.py"
    asked = argparse.Namespace(cases=options.cases, sample="1", repeats=None, fit=False, pytest=[str(path)])
    orders = [entry.order for entry in traced(judge, asked).record.entries]
    return [claim for one in orders for claim in one.claims], [m for one in orders for m in one.observed]


def _plan(judge: Judge, cases: Sequence[Case], design: Design, seed: int) -> str:
    from calm.experiment.stopping import Stopping
    from calm.gate.plan import PlanSettings, survey_clean
    from calm.gate.prices import plan_of
    from calm.gate.rehearsal import render

    found = survey_clean(judge, cases, PlanSettings(len(cases), seed, design, Stopping.FIXED))
    return render(found, plan_of(found, len(found.cases), design))


def _write(found: Calibration, setup: Setup, out: Path, there: int) -> int:
    from calm.plugins.calibrate import report
    from calm.results.baseline import write_calibration
    from calm.results.study_provenance import audit_of

    audit = audit_of(setup, found.findings, setup.engine, of=there, asks=str(setup.design))
    write_calibration(audit, report.to_json(found), out)
    print(printable(f"wrote {out}: it holds for this judge, prompt and model; use it with --calm-baseline={out}"))
    return DONE
