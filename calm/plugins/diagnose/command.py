"""`calm diagnose`: which cases a judge is unsure about, and which criteria are vague."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import add_caps, bill, impossible, opened_engine, stays
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.models.wire import Json, Judge
    from calm.plugins.diagnose.asking import Design, Wording
    from calm.plugins.diagnose.naming import Limits
    from calm.plugins.diagnose.report import Diagnosis
    from calm.results.outputs import Form, Output

MOST_ASKS = 1000
MOST_WORDINGS = 12


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `diagnose`."""
    diagnose = add_command(
        commands,
        "diagnose",
        "Name the unsure cases and the vague criteria of a judge. The command asks several times, with the "
        "judge's prompt and the criteria in other words. The results of a run, in place of a judge, are diagnosed "
        "without a call.",
        "calm diagnose judge.toml --cases cases.jsonl",
    )
    option = diagnose.add_argument
    option("judge", metavar="JUDGE", help=f"{JUDGES}; or RESULTS.json, which --calm-results wrote")
    option("--cases", action="append", default=[], metavar="FILE", help=CASES)
    option("--sample", type=int, default=60, metavar="N", help="at most N cases (default 60)")
    option(
        "--asks",
        type=int,
        default=32,
        metavar="N",
        help="ask N times about a case whose first replies differ, over all wordings; 8 times or twice in each about "
        "the others (default 32)",
    )
    option("--wordings", type=int, default=3, metavar="N", help="other wordings of the judge's prompt (default 3)")
    option("--criterion-wordings", type=int, default=2, metavar="N", help="other wordings of the criteria (default 2)")
    option(
        "--paraphrases", metavar="FILE", help="JSON with your own wordings of the prompt and of criteria, to go first"
    )
    option(
        "--rate",
        type=float,
        default=0.10,
        metavar="V",
        help="in at most this share of asks may a sound judge say something else than usual (default 0.10)",
    )
    option("--wrong", type=float, default=0.05, metavar="Q", help="expected share of wrong names (default 0.05)")
    option(
        "--tolerance",
        type=float,
        default=0.10,
        metavar="T",
        help="scores this share of the scale to both sides of the usual one are the same (default 0.10)",
    )
    add_record(diagnose)
    diagnose.set_defaults(run=_diagnose)


def add_record(parser: argparse.ArgumentParser) -> None:
    """Add the seed, the caps, and how the record comes out: `tell` obeys these options."""
    option = parser.add_argument
    option("--seed", type=int, default=0, metavar="I", help="seed of the sample, the wordings and the lots (default 0)")
    add_caps(parser)
    option("--plan", action="store_true", help="show how many calls it takes; make none")
    option("--json", action="store_true", help="print the record as JSON instead of a text")
    option("-o", "--out", metavar="FILE", help="also write a record as JSON to FILE")


def _diagnose(options: argparse.Namespace) -> int:
    limits = _checked(options)
    return _from_record(options, limits) if options.judge.endswith(".json") else _from_judge(options, limits)


def _checked(options: argparse.Namespace) -> Limits:
    from calm.plugins.diagnose.naming import Limits

    problems = impossible(options)
    if not 2 <= options.asks <= MOST_ASKS:
        problems.append(
            f"--asks: expected a number from 2, because one ask cannot show noise, to {MOST_ASKS}, got {options.asks}"
        )
    for name in ("wordings", "criterion_wordings"):
        if not 0 <= getattr(options, name) <= MOST_WORDINGS:
            problems.append(
                f"--{name.replace('_', '-')}: expected a number from 0 to {MOST_WORDINGS}, got {getattr(options, name)}"
            )
    for name, most in (("rate", 0.5), ("wrong", 0.5), ("tolerance", 0.5)):
        value = getattr(options, name)
        if not 0 < value < most and not (name == "tolerance" and value == 0):
            problems.append(f"--{name}: expected a share above 0 and below {most}, got {value!r}")
    if problems:
        raise ConfigError(problems)
    return Limits(options.rate, options.wrong, options.tolerance)


def _from_judge(options: argparse.Namespace, limits: Limits) -> int:
    from calm.cases import sample
    from calm.experiment.run import refuse_unshowable
    from calm.gate.from_spec import cases_from, judge_from
    from calm.plugins.diagnose.asking import Design, ask
    from calm.plugins.diagnose.report import About, diagnosis
    from calm.results.outputs import DIAGNOSIS

    judge = judge_from(options.judge)
    found = cases_from(options.cases, judge)
    cases = sample(found, options.sample, options.seed)
    refuse_unshowable(judge, cases)
    wordings = _wordings(options, judge, cases)
    design = Design.over(len(wordings), options.asks)
    if options.plan:
        print(printable(_plan(judge, cases, wordings, design), "\n"))
        return DONE
    with opened_engine(options, *outputs_of(options, DIAGNOSIS)) as engine:
        engine.admit(judge)
        asked = ask(engine, wordings, cases, design, tolerance=limits.tolerance)
        if not asked.first:
            raise ConfigError(f"{judge.name} gave no verdict on any case: {asked.incomplete}. {bill(engine)}")
        about = About(judge.name, judge.task, judge.scale, len(found), {case.id: case for case in cases})
        made = diagnosis(about, asked, limits, options.seed)
        kept = not options.out or not stays(engine, Path(options.out))
        return _told(options, made, bill(engine), write=kept)


def _wordings(options: argparse.Namespace, judge: Judge, cases: Sequence[Case]) -> tuple[Wording, ...]:
    from calm.plugins.diagnose.asking import Paraphrases, read_paraphrases, wordings_of

    record = judge.traits.recorded
    if judge.traits.repeats == 1 or (record is not None and not any(record.held(case) > 1 for case in cases)):
        raise ConfigError(
            f"{judge.name} holds one verdict on each case, so nothing can differ; diagnose a judge that can be asked, "
            "or a record with repeats"
        )
    own = read_paraphrases(Path(options.paraphrases)) if options.paraphrases else Paraphrases()
    return wordings_of(
        judge, cases, own, prompts=options.wordings, criteria=options.criterion_wordings, seed=options.seed
    )


def _from_record(options: argparse.Namespace, limits: Limits) -> int:
    from calm.plugins.diagnose.report import About, diagnosis, recorded
    from calm.results.audit import read
    from calm.results.records import scale_of

    if options.plan or options.paraphrases:
        raise ConfigError(f"{options.judge} is a record: nothing is asked, so --plan and --paraphrases have no use")
    from calm.core.files import inputs
    from calm.results.outputs import DIAGNOSIS, refuse

    audit = read(Path(options.judge))
    refuse(outputs_of(options, DIAGNOSIS), inputs=inputs(), caches=[])
    texts = _cases_of(options, audit.judge.task, audit.run.case_files)
    asked = recorded(audit, texts)
    count = len({unit.case for unit in asked.units})
    about = About(audit.judge.name, audit.judge.task, scale_of(audit.judge), count, texts)
    made = diagnosis(about, asked, limits, options.seed)
    return _told(options, made, "no call was made", write=bool(options.out))


def _cases_of(options: argparse.Namespace, task: str, files: Sequence[str] | None) -> Mapping[str, Case]:
    from typing import get_args

    from calm.cases import bundled, read_files
    from calm.core.verdict import Task

    if options.cases:
        return {case.id: case for case in read_files(options.cases)}
    if files is None or (files and not all(Path(name).is_file() for name in files)):
        return {}
    known: list[Task] = [one for one in get_args(Task) if one == task]
    found = read_files(files) if files else [case for one in known for case in bundled(one)]
    return {case.id: case for case in found}


def _told(options: argparse.Namespace, made: Diagnosis, spent: str, *, write: bool) -> int:
    from calm.plugins.diagnose.report import in_words, to_json
    from calm.results.outputs import DIAGNOSIS

    tell(options, to_json(made, spent=spent), f"{in_words(made)}\n{spent}", DIAGNOSIS, write=write)
    return REFUSED if made.asked.incomplete else DONE


def tell(options: argparse.Namespace, record: Json, words: str, form: Form, *, write: bool) -> None:
    """Print a record or its words, as `--json` says, and write it to the file of `-o`, if there is one."""
    from calm.results.outputs import write_whole

    body = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    print(printable(body if options.json else words, "\n"))
    if options.out and write:
        write_whole(Path(options.out), [f"{body}\n"], form)
        if not options.json:
            print(printable(f"wrote {options.out}"))


def outputs_of(options: argparse.Namespace, form: Form) -> list[Output]:
    """Return what `-o` writes."""
    from calm.results.outputs import Output

    return [Output("-o", Path(options.out), form)] if options.out else []


def _plan(judge: Judge, cases: Sequence[Case], wordings: Sequence[Wording], design: Design) -> str:
    from calm.gate.prices import clean_plan

    counts = f"cases: {len(cases)}, wordings: {len(wordings)}"
    told = [f"{judge.name} ({judge.task}): {counts}; no call is made"]
    for words, repeats in (("at least", design.first), ("at most", design.repeats)):
        most = clean_plan(judge, cases, repeats * len(wordings)).most
        told.append(f"{words} {most.calls} calls, {most.cost} ({repeats} asks of a case in each wording)")
    return "\n".join([*told, *(f"  {wording.name}" for wording in wordings)])
