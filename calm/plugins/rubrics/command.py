"""`calm rubric`: which criteria of a rubric tell answers apart, and which can be gamed."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import CONTINUE, add_caps, bill, impossible, opened_engine, stays
from calm.errors import ConfigError, nearest
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.models.wire import Json, Judge


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `rubric`."""
    rubric = add_command(
        commands,
        "rubric",
        "Say which criteria of a rubric can be gamed. It also names those that tell answers apart or say nothing. Gold "
        "is not needed. Answers about another question, with claims and with the words of the criteria, show what a "
        "judge takes for met. Recorded verdicts are read without a call, and without these answers.",
        "calm rubric judge.toml --cases rubric.jsonl",
    )
    option = rubric.add_argument
    option("judge", metavar="JUDGE", help=f"a judge that marks criteria (rubric, rubric-all): {JUDGES}")
    option("--cases", action="append", default=[], metavar="FILE", help=CASES)
    option("--sample", type=int, default=100, metavar="N", help="at most N cases (default 100)")
    option(
        "--content",
        default="",
        metavar="ID,...",
        help="criteria that only what an answer says about its own question can meet, or all, or none: their words "
        "count as exploits, and those of others may meet them",
    )
    option("--writer", metavar="WRITER.toml", help="a model that also writes a claim to meet each criterion")
    option(
        "--limit",
        type=float,
        default=0.20,
        metavar="V",
        help="share of cases that an exploit may add (default 0.20)",
    )
    option("--seed", type=int, default=0, metavar="I", help="seed of the sample and of the answers (default 0)")
    add_caps(rubric)
    option("--plan", action="store_true", help="show how many calls it takes; make none")
    option("-o", "--out", default="rubric.json", metavar="FILE", help="where the record goes (default rubric.json)")
    rubric.set_defaults(run=_rubric)


def _rubric(options: argparse.Namespace) -> int:
    from calm.cases import sample
    from calm.core.plugins import needed
    from calm.core.verdict import FAMILY
    from calm.experiment.run import refuse_unshowable
    from calm.gate.from_spec import cases_from, judge_from
    from calm.plugins.rubrics import report
    from calm.plugins.rubrics.exploits import Written, exploits_of, texts_to_write, write
    from calm.plugins.rubrics.study import ask, found_in, pairs_in
    from calm.results.outputs import RUBRIC, Output, write_whole
    from calm.results.study_provenance import plain, too_little

    problems = impossible(options)
    if not 0 < options.limit < 1:
        problems.append(f"--limit: expected a share above 0 and below 1, got {options.limit!r}")
    if problems:
        raise ConfigError(problems)
    judge = judge_from(options.judge)
    if FAMILY[judge.task] != "rubric":
        raise ConfigError(
            f"{judge.name}: expected a judge that marks criteria (task rubric or rubric-all), got task={judge.task!r}"
        )
    found = cases_from(options.cases, judge)
    cases = sample(found, options.sample, options.seed)
    content = _content(options.content, cases)
    module = needed("writer", "--writer") if options.writer else None
    writer = module.read_author(Path(options.writer), os.environ) if module else None
    refuse_unshowable(judge, cases)
    wanted = texts_to_write(cases) if writer else []
    if options.plan:
        print(printable(_plan(judge, cases, len(wanted)), "\n"))
        return DONE
    out = Path(options.out)
    with opened_engine(options, Output("-o", out, RUBRIC)) as engine:
        engine.admit(judge)
        written = write(wanted, module, writer, engine) if module else Written()
        recorded = judge.traits.recorded is not None
        made = {} if recorded else {case.id: exploits_of(case, options.seed, written.texts) for case in cases}
        rows, asks, lost = ask(judge, cases, made, engine, content)
        spent = bill(engine)
    body: dict[str, Json] = {
        "schema": report.SCHEMA,
        "judge": judge.name,
        "task": judge.task,
        "seed": options.seed,
        "cases": {"n": len(cases), "of": len(found)},
        "asks": asks,
        "lost": plain(lost),
        "incomplete": str(too_little(lost, asks))
        or f"{written.lost} replies of the writer are lost" * bool(written.lost),
        "limit": options.limit,
        "content": [*content],
        **report.to_json(found_in(rows, options.limit, said=bool(options.content)), pairs_in(rows), made),
        "writer": {
            "name": writer.name if writer else "",
            "wrote": len(written.texts),
            "of": len(wanted),
            "refused": plain(written.refused),
        },
        "spent": spent,
    }
    print(printable(report.in_words(body), "\n"))
    print(printable(f"\n{fill(spent, report.WIDTH)}", "\n"))
    if not stays(engine, out):
        write_whole(out, [f"{json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False)}\n"], RUBRIC)
        print(printable(f"wrote {out}; its page: calm report {out}"))
    if body["incomplete"]:
        print(CONTINUE)
    return DONE if report.colour(body) == "GREEN" else REFUSED


def _content(given: str, cases: Sequence[Case]) -> list[str]:
    known = list(dict.fromkeys(one.id for case in cases for one in case.criteria))
    names = [name for part in given.split(",") if (name := part.strip())]
    if names in (["all"], ["none"]):
        return known if names == ["all"] else []
    if strange := [name for name in names if name not in known]:
        raise ConfigError(
            f"--content: no case has a criterion {strange[0]!r}{nearest(strange[0], known)}; give ids, or all, or none"
        )
    return names


def _plan(judge: Judge, cases: Sequence[Case], written: int) -> str:
    from calm.gate.prices import clean_plan
    from calm.plugins.rubrics.exploits import BY_RULE, gained
    from calm.plugins.rubrics.report import WIDTH
    from calm.plugins.rubrics.study import PLAIN_ASKS

    told = [f"{judge.name} ({judge.task}): {len(cases)} cases; no call is made"]
    if judge.traits.recorded is not None:
        return told[0]
    broken = max(sum(one.check is not None for one in gained(case)) for case in cases)
    least, most = 1 + PLAIN_ASKS, 1 + PLAIN_ASKS + len(BY_RULE) + (written > 0) + broken
    for words, asks in (("at least", least), ("at most", most)):
        plan = clean_plan(judge, cases, asks)
        each = ", a call for each of its criteria" if judge.task == "rubric" else ""
        first = f", and {begun} to begin" if (begun := plan.most.calls - plan.asks.calls) else ""
        how = f"{asks} asks of each case{each}{first}"
        told.append(fill(f"{words} {plan.most.calls:,} calls ({how}), {plan.most.cost}", WIDTH))
    if written:
        told.append(f"and {written} calls of the writer, one for each criterion")
    return "\n".join(told)
