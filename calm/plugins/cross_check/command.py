"""`calm cross-check`: whether a judge's verdicts on pairs agree with each other and with another judge's scores."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import (
    add_caps,
    bill,
    opened_engine,
    refuse_impossible,
    sampled,
    stays,
)
from calm.errors import ConfigError
from calm.results.wording import printable


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cross-check`."""
    check = add_command(
        commands,
        "cross-check",
        "Check that preferences form no cycle and agree with scores. Cycles need cases with three answers or "
        "more. Agreement needs a SCORER, which scores the same answers.",
        "calm cross-check judge.toml scorer.toml --cases answers.jsonl",
    )
    check.add_argument("judge", metavar="JUDGE", help=f"a judge of pairs or rankings: {JUDGES}")
    check.add_argument("scorer", metavar="SCORER", nargs="?", help="a judge that scores, or marks rubrics")
    check.add_argument(
        "--cases",
        action="append",
        required=True,
        metavar="FILE",
        help=f"{CASES}; three answers or more for cycles",
    )
    check.add_argument("--sample", type=int, default=200, metavar="N", help="at most N cases (default 200)")
    check.add_argument("--rounds", type=int, default=2, metavar="R", help="ask each question R times (default 2)")
    check.add_argument(
        "--seed", type=int, default=0, metavar="I", help="seed of the sample and the answers (default 0)"
    )
    add_caps(check)
    check.add_argument("-o", "--out", metavar="FILE", help="also write a record as JSON to FILE")
    check.set_defaults(run=_cross_check)


def _cross_check(options: argparse.Namespace) -> int:
    from calm.cases import read_files, sample, upright
    from calm.core.reasons import Kind, because
    from calm.experiment.run import refuse_unshowable
    from calm.gate.from_spec import judge_from
    from calm.plugins.cross_check import coherence
    from calm.results.outputs import CROSS_CHECK, Output, write_whole

    refuse_impossible(options)
    if options.rounds < 2:
        raise ConfigError(f"--rounds: expected 2 or more, because one ask cannot show noise, got {options.rounds}")
    judge = judge_from(options.judge)
    scorer = judge_from(options.scorer) if options.scorer else None
    for one in filter(None, (judge, scorer)):
        if one.traits.recorded is not None:
            raise ConfigError(f"{one.name} cannot be cross-checked: {because(Kind.REPLAYED)}")
    found = read_files(options.cases)
    cases = sample(found, options.sample, options.seed)
    if scorer is not None:
        cases = upright(cases, scorer.task, scorer.scale)
    for one in filter(None, (judge, scorer)):
        refuse_unshowable(one, cases)
    checks: list[coherence.Check] = []
    given = {"rounds": options.rounds, "seed": options.seed}
    written = [Output("-o", Path(options.out), CROSS_CHECK)] if options.out else []
    with opened_engine(options, *written) as engine:
        for one in filter(None, (judge, scorer)):
            engine.admit(one)
        if any(len(case.answers) > 2 for case in cases) or scorer is None:
            checks.append(coherence.check_order(judge, cases, engine, **given))
        if scorer is not None:
            checks += coherence.check_scores(judge, scorer, cases, engine, **given)
        spent = bill(engine)
    print(sampled(len(cases), len(found)))
    print(printable(coherence.summary(checks), "\n"))
    print(printable(spent))
    if options.out and not stays(engine, Path(options.out)):
        names = [judge.name, *([scorer.name] if scorer else [])]
        body = {
            "schema": "calm-cross-check/1",
            "judges": names,
            "seed": options.seed,
            "rounds": options.rounds,
            "cases": {"n": len(cases), "of": len(found)},
            "checks": coherence.to_json(checks),
        }
        write_whole(Path(options.out), [f"{json.dumps(body, indent=1, ensure_ascii=False)}\n"], CROSS_CHECK)
        print(printable(f"wrote {options.out}"))
    known = checks and all(one.net is not None and not one.incomplete for one in checks)
    return DONE if known else REFUSED
