"""`calm attack`: search for texts of the weaker answer that win, and measure with fresh asks how often."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import (
    CONTINUE,
    add_caps,
    bill,
    impossible,
    opened_engine,
    sampled,
    stays,
)
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calm.core.case import Case
    from calm.experiment.asks import Design
    from calm.models.wire import Judge
    from calm.studies.attack import Attack, Group, Search
    from calm.studies.writing.writer import Writer

METHODS = ("stack", "best-of", "hill-climb", "transfer")
WRITING = ("best-of", "hill-climb")
EXAMPLES = 3
"""How many found texts are shown."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `attack`."""
    attack = add_command(
        commands,
        "attack",
        "Search for texts that make the weaker answer win. Fresh asks then measure how often each text wins.",
        "calm attack judge.toml --method stack --max-calls 5000",
    )
    attack.add_argument("judge", metavar="JUDGE", help=JUDGES)
    attack.add_argument("--method", required=True, choices=METHODS, metavar="METHOD", help=", ".join(METHODS))
    attack.add_argument(
        "--edits", default="", metavar="E,...", help="stack: biases or perturbations (default: one edit of each bias)"
    )
    attack.add_argument("--with", dest="writer", metavar="WRITER.toml", help="best-of, hill-climb: who writes")
    attack.add_argument("--n", type=int, default=4, metavar="N", help="best-of: rewrites of each case (default 4)")
    attack.add_argument("--rounds", type=int, default=3, metavar="R", help="hill-climb: at most R rounds (default 3)")
    attack.add_argument(
        "--shrink", action="store_true", help="shrink each text that was found to its fewest and plainest words"
    )
    attack.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    attack.add_argument("--sample", type=int, default=200, metavar="N", help="at most N cases (default 200)")
    attack.add_argument(
        "--repeats",
        default="4+2",
        metavar="K+M",
        help="fresh asks of the clean text and of the found one (default 4+2)",
    )
    attack.add_argument(
        "--seed", type=int, default=0, metavar="I", help="seed of the sample, the edits and the order (default 0)"
    )
    add_caps(attack)
    attack.add_argument("--plan", action="store_true", help="show how many calls the attack can take; make none")
    attack.add_argument("--write", metavar="OUT.jsonl", help="also write the cases, with the texts found")
    attack.add_argument("--force", action="store_true", help="overwrite the file of --write, whoever wrote it")
    attack.add_argument(
        "-o", "--out", default="attack.json", metavar="FILE", help="where the record goes (default attack.json)"
    )
    attack.set_defaults(run=_attack)


def _attack(options: argparse.Namespace) -> int:
    from calm.cases import sample, upright
    from calm.cases.lines import line
    from calm.core.claims import Estimate
    from calm.experiment.run import refuse_unserved
    from calm.experiment.setup import Setup
    from calm.experiment.showing import refuse_unshowable
    from calm.gate.from_spec import judge_from, written_cases
    from calm.results.outputs import ATTACK, ATTACKED, Output, write_whole
    from calm.studies import attack as attacking

    design = _checked(options)
    judge = judge_from(options.judge)
    refuse_unserved(judge, "attack", "attacked")
    written = written_cases(options.cases, judge)
    cases = upright(written, judge.task, judge.scale)
    if options.method == "transfer" and not any(attacking.ATTACK in case.variants for case in cases):
        raise ConfigError(
            "--method transfer: expected cases with texts of an earlier attack, got none; "
            "write them with `calm attack ... --write FILE` and give them with --cases FILE"
        )
    writer = _writer(options)
    groups = _groups(options, judge)
    refuse_unshowable(judge, sample(cases, options.sample, options.seed))
    if options.plan:
        print(printable(_plan(options, judge, cases, design, groups), "\n"))
        return DONE
    out = Path(options.out)
    outputs = [Output("-o", out, ATTACK)]
    if options.write:
        outputs.append(Output("--write", Path(options.write), ATTACKED, options.force))
    with opened_engine(options, *outputs) as engine:
        engine.admit(judge)
        if writer is not None:  # before the judge is paid for
            engine.greet(writer.server)
        setup = Setup(judge, tuple(cases), engine, options.seed, design)
        found = attacking.attack(setup, _search(options, groups, writer), options.sample)
        spent = bill(engine)
    print(sampled(min(options.sample, len(cases)), len(cases)))
    print(printable(attacking.summary(found, judge.name, options.method), "\n"))
    _show(found)
    print(printable(f"\n{spent}", "\n"))
    if not stays(engine, out):
        body = attacking.to_json(found, setup, options.method)
        write_whole(out, [f"{json.dumps(body, indent=1, ensure_ascii=False)}\n"], ATTACK)
        print(printable(f"wrote {out}"))
    if options.write and not stays(engine, Path(options.write)):
        by = writer.name if writer else ""
        made = attacking.with_texts(written, found, judge.name, options.method, by)
        write_whole(Path(options.write), map(line, made), ATTACKED, force=options.force)
        print(printable(f"wrote {options.write}: {len(found.found)} of {len(made)} cases have a winning text"))
    if found.incomplete:
        print(CONTINUE)
    return REFUSED if found.incomplete or not all(isinstance(e, Estimate) for e in found.estimates.values()) else DONE


def _checked(options: argparse.Namespace) -> Design:
    """
    Return how often each arm is asked.

    Raises:
        ConfigError: impossible options, or options that exclude each other.
    """
    from calm.pytest_plugin.options import design_in

    numbers = {"--n": options.n, "--rounds": options.rounds}
    problems = [f"{name}: expected a number above 0, got {value}" for name, value in numbers.items() if value < 1]
    writes = options.method in WRITING
    if writes and not options.writer:
        problems.append(f"--method {options.method}: expected --with WRITER.toml, got none")
    if options.writer and not writes:
        problems.append(f"--with: expected --method {' or '.join(WRITING)} with it, got {options.method}")
    if options.shrink and options.method == "transfer":
        problems.append(f"--shrink: expected --method {', '.join(METHODS[:-1])} with it, got {options.method}")
    if options.edits and options.method != "stack":
        problems.append(f"--edits: expected --method stack with it, got {options.method}")
    problems += impossible(options)
    try:
        design_in(options.repeats, "--repeats")
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(problems)
    design = design_in(options.repeats, "--repeats")
    if design.clean < 2:
        raise ConfigError(
            f"--repeats: expected at least 2 clean asks, because one is compared with the other, got {options.repeats}"
        )
    return design


def _writer(options: argparse.Namespace) -> Writer | None:
    from calm.studies.writing.writer import read_author

    return read_author(Path(options.writer), os.environ) if options.writer else None


def _groups(options: argparse.Namespace, judge: Judge) -> list[Group]:
    from calm.studies.attack import groups_for

    if options.method != "stack":
        return []
    names = [name for name in (part.strip() for part in options.edits.split(",")) if name]
    return groups_for(names, str(judge.about.get("model") or judge.name))


def _search(options: argparse.Namespace, groups: Sequence[Group], writer: Writer | None) -> Search:
    from calm.studies import attack as attacking

    if options.method == "transfer":
        return attacking.transfer
    found = attacking.stack(groups)
    if writer is not None:
        by_writer = attacking.best_of(writer, options.n) if options.method == "best-of" else None
        found = by_writer or attacking.hill_climb(writer, options.rounds)
    return attacking.shrinking(found) if options.shrink else found


def _plan(
    options: argparse.Namespace, judge: Judge, cases: Sequence[Case], design: Design, groups: Sequence[Group]
) -> str:
    """Return the calls of an attack: if no text wins, and if each search takes the most asks."""
    from calm.cases import sample
    from calm.experiment.asks import Design
    from calm.gate.plan import PlanSettings, survey_clean
    from calm.gate.prices import plan_of
    from calm.models.pricing import dollars
    from calm.studies.attack import LOOKS, SHRINK, steps

    found = survey_clean(judge, cases, PlanSettings(options.sample, options.seed, Design(1, 0)))
    once = plan_of(found, len(found.cases), Design(1, 0)).asks  # one of every case
    laid = steps(groups, chosen := sample(cases, options.sample, options.seed), options.seed) / len(chosen)
    tried = {"stack": laid, "best-of": options.n, "hill-climb": options.rounds, "transfer": 0}[options.method]
    # each text may win once and not twice; then a stack may lose edits again, and a text may lose words
    most = tried * (2 + LOOKS if options.method == "stack" else 2) + (SHRINK if options.shrink else 0)
    rows = []
    for word, searched, held in (("if nothing wins", tried, 0), ("at most", most, design.perturbed)):
        times = 1 + design.clean + searched + held
        usd = str(once.cost) if not once.usd else f"about {dollars(times * once.usd)} USD"
        rows.append(f"{word}: {times:.1f} asks a case, {round(times * once.calls)} calls of the judge, {usd}")
    taken = sampled(len(found.cases), len(cases))
    lines = [f"attack on {judge.name} by {options.method}: {taken}; no call is made", *rows]
    if options.method in WRITING:
        each = options.n if options.method == "best-of" else options.rounds
        lines.append(f"calls of the writer: at most {each * len(found.cases)}")
    if options.method == "stack":
        lines.append(f"edits: one of each of {', '.join(g.name for g in groups)}")
    return "\n".join(lines)


def _show(found: Attack) -> None:
    """Print some found texts as a word diff, those first that won all of their fresh asks."""
    from calm.results.differences import coloured, differences

    ordered = sorted(found.found, key=lambda s: (-(found.wins(s) or 0.0), s.aim.source.id))
    for one in ordered[:EXAMPLES]:
        wins = found.wins(one)
        made_of = f" by {' + '.join(e.label for e in one.edits)}" if one.edits else ""
        said = "no fresh ask" if wins is None else f"{wins:.0%} of fresh asks"
        answer = one.aim.case.target
        print(printable(f"\n-- case {one.aim.source.id}, answer {answer}{made_of}, won {said}", "\n"))
        before, after = one.aim.case[answer].text, one.text or ""
        for text in differences(before, after, colour=coloured()).splitlines():
            print(f"   {text}")
