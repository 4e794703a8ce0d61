"""`calm cross-check`: whether a judge's verdicts on pairs fit together, and fit the scores of another judge."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import DONE, JUDGES, REFUSED
from calm.commands.answer import add_caps, refuse_folders, refuse_impossible
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.core.case import Case


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `cross-check`."""
    check = commands.add_parser("cross-check", help="check that preferences form no cycle, and fit the scores")
    check.add_argument("judge", metavar="JUDGE", help=f"of pairs or rankings: {JUDGES}")
    check.add_argument("scorer", metavar="SCORER", nargs="?", help="of scores or rubrics, on the same answers")
    check.add_argument(
        "--cases",
        action="append",
        required=True,
        metavar="FILE",
        help="cases as JSON Lines; three answers or more for cycles (repeatable)",
    )
    check.add_argument("--sample", type=int, default=200, metavar="N", help="at most so many cases (default 200)")
    check.add_argument("--rounds", type=int, default=2, metavar="R", help="asks of each question (default 2)")
    check.add_argument("--seed", type=int, default=0, metavar="I", help="seed of sample and answers (default 0)")
    add_caps(check)
    check.add_argument("-o", "--out", metavar="FILE", help="also write a record as JSON")
    check.set_defaults(run=_cross_check)


def _cross_check(options: argparse.Namespace) -> int:
    from calm import cases as datasets
    from calm.commands.rewrite import _bill
    from calm.engine.budget import Caps
    from calm.engine.engine import Engine
    from calm.engine.store import Mode, Store
    from calm.gate.from_spec import judge_from
    from calm.results.audit import write_whole
    from calm.studies import coherence

    refuse_impossible(options)
    refuse_folders(options, "out")
    if options.rounds < 2:
        raise ConfigError(f"--rounds: expected 2 or more, as one alone cannot tell noise, got {options.rounds}")
    judge = judge_from(options.judge)
    scorer = judge_from(options.scorer) if options.scorer else None
    cases = datasets.sample(_cases(options.cases), options.sample, options.seed)
    engine = Engine(Store(Path(options.cache_file), Mode.ON), caps=Caps(calls=options.max_calls, usd=options.max_usd))
    checks: list[coherence.Check] = []
    try:
        engine.greet(*judge.endpoints)
        if any(len(case.answers) > 2 for case in cases) or scorer is None:
            checks.append(coherence.check_order(judge, cases, engine, rounds=options.rounds, seed=options.seed))
        if scorer is not None:
            engine.greet(*scorer.endpoints)
            given = {"rounds": options.rounds, "seed": options.seed}
            checks += coherence.check_scores(judge, scorer, cases, engine, **given)
        bill = _bill(engine)
    finally:
        engine.close()
    print(printable(coherence.summary(checks), "\n"))
    print(printable(bill))
    if options.out:
        names = [judge.name, *([scorer.name] if scorer else [])]
        body = {
            "schema": "calm-cross-check/1",
            "judges": names,
            "seed": options.seed,
            "rounds": options.rounds,
            "checks": coherence.to_json(checks),
        }
        write_whole(Path(options.out), [f"{json.dumps(body, indent=1, ensure_ascii=False)}\n"])
        print(printable(f"wrote {options.out}"))
    known = checks and all(one.net is not None and not one.incomplete for one in checks)
    return DONE if known else REFUSED


def _cases(files: list[str]) -> list[Case]:
    """
    Return the cases of files, as they are: with all their answers.

    Raises:
        ConfigError: a file with faults, or an id that is there twice.
    """
    from calm import cases as datasets

    found: dict[str, Case] = {}
    for file in files:
        for case in datasets.read_cases(file):
            if case.id in found:
                raise ConfigError(f"{file}: case id {case.id!r} is in another file, too; ids are unique in a run")
            found[case.id] = case
    return list(found.values())
