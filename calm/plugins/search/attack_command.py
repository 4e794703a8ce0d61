"""`calm attack`: search for texts of the weaker answer that win, and measure with fresh asks how often."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import CONTINUE, add_caps, bill, impossible, opened_engine, sampled, stays
from calm.errors import ConfigError
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calm.core.case import Case
    from calm.experiment.stopping import Design
    from calm.models.wire import Judge
    from calm.plugins.search.arms import Arm
    from calm.plugins.search.attack import Attack

SEARCH, TRANSFER = METHODS = ("search", "transfer")
EXAMPLES = 3
"""How many found texts are shown."""
TRIES, REPEATS = 12, "4+2"
"""What is taken for `--n` and `--repeats` where they are not given."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `attack`."""
    attack = add_command(
        commands,
        "attack",
        "Search for texts that make the weaker answer win. Fresh asks then measure how often each text wins.",
        "calm attack judge.toml --max-calls 5000",
    )
    attack.add_argument("judge", metavar="JUDGE", help=JUDGES)
    attack.add_argument(
        "--method",
        choices=METHODS,
        default=SEARCH,
        metavar="METHOD",
        help="search for texts, or transfer: try those that an earlier attack left in the cases (default search)",
    )
    attack.add_argument(
        "--edits", default="", metavar="E,...", help="biases, perturbations; cue: words and signs (default all)"
    )
    attack.add_argument("--with", dest="writer", metavar="WRITER.toml", help="who writes texts beside the edits")
    attack.add_argument("--n", type=int, metavar="N", help=f"try N texts in each case (default {TRIES})")
    attack.add_argument(
        "--curve",
        type=int,
        metavar="N",
        help="no search: try N texts in each case, and show how often the best of 1, 2, 4, ... N wins, beyond that of "
        "as many harmless ones; the exit status says whether the claim of --limit is proven",
    )
    attack.add_argument(
        "--limit",
        type=float,
        metavar="X",
        help="with --curve: the best of N texts may win in this share of cases more than harmless ones (default 0.10)",
    )
    attack.add_argument(
        "--shrink", action="store_true", help="shrink each text that was found to its fewest and plainest words"
    )
    attack.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    attack.add_argument("--sample", type=int, default=200, metavar="N", help="at most N cases (default 200)")
    attack.add_argument(
        "--repeats",
        metavar="K+M",
        help=f"fresh asks of the clean text and of the found one (default {REPEATS})",
    )
    attack.add_argument(
        "--seed", type=int, default=0, metavar="I", help="seed of the sample, the edits and the order (default 0)"
    )
    add_caps(attack)
    attack.add_argument("--plan", action="store_true", help="show how many calls the attack can take; make none")
    attack.add_argument("--write", metavar="OUT.jsonl", help="also write the cases, with the texts found")
    attack.add_argument("--force", action="store_true", help="overwrite the file of --write, whoever wrote it")
    attack.add_argument(
        "-o", "--out", metavar="FILE", help="where the record goes (default attack.json, with --curve curve.json)"
    )
    attack.set_defaults(run=_attack)


def _attack(options: argparse.Namespace) -> int:
    from calm.cases import sample, upright
    from calm.cases.lines import line
    from calm.core.claims import Estimate
    from calm.experiment.run import refuse_unserved, refuse_unshowable
    from calm.experiment.setup import Setup
    from calm.gate.from_spec import judge_from, written_cases
    from calm.plugins.search import attack as attacking
    from calm.plugins.search.curve_command import curve
    from calm.plugins.search.proposers import BestOf, bandit_for
    from calm.plugins.search.subjects import PLACES
    from calm.plugins.search.writer import read_author
    from calm.results.outputs import ATTACK, ATTACKED, Output, write_whole

    design = _checked(options)
    judge = judge_from(options.judge)
    refuse_unserved(judge, "attack", "attacked")
    written = written_cases(options.cases, judge)
    cases = upright(written, judge.task, judge.scale)
    if options.method == TRANSFER and not any(attacking.ATTACK in case.variants for case in cases):
        raise ConfigError(
            "--method transfer: expected cases with texts of an earlier attack, got none; "
            "write them with `calm attack ... --write FILE` and give them with --cases FILE"
        )
    author = read_author(Path(options.writer), os.environ) if options.writer else None
    arms = _arms(options, judge)
    refuse_unshowable(judge, sample(cases, options.sample, options.seed))
    if options.curve:
        return curve(options, judge, cases, arms, author)
    if options.plan:
        print(fitted(printable(_plan(options, judge, cases, design, arms), "\n"), sys.stdout))
        return DONE
    out = Path(options.out or "attack.json")
    cases_out = [Output("--write", Path(options.write), ATTACKED, options.force)] if options.write else []
    with opened_engine(options, Output("-o", out, ATTACK), *cases_out) as engine:
        engine.admit(judge)
        setup = Setup(judge, tuple(cases), engine, options.seed, design)
        writer = BestOf(author, setup) if author else None  # greeted before the judge is paid for
        bandit = bandit_for(arms, PLACES["answer"], setup, writer) if options.method == SEARCH else None
        found = attacking.attack(setup, options.sample, bandit, tries=options.n or TRIES, shrink=options.shrink)
    said = attacking.summary(found, judge.name, options.method, writer)
    taken = sampled(min(options.sample, len(cases)), len(cases))
    print(fitted(printable(f"taken: {taken}\n{said}", "\n"), sys.stdout))
    _show(found)
    print(printable(f"\n{bill(engine)}", "\n"))
    if not stays(engine, out):
        body = attacking.to_json(found, setup, options.method, writer)
        write_whole(out, [f"{json.dumps(body, indent=1, ensure_ascii=False)}\n"], ATTACK)
        print(printable(f"wrote {out}"))
    if options.write and not stays(engine, Path(options.write)):
        by = author.name if author else ""
        made = attacking.with_texts(written, found, judge.name, options.method, by)
        write_whole(Path(options.write), map(line, made), ATTACKED, force=options.force)
        print(printable(f"wrote {options.write}: {len(found.found)} of {len(made)} cases have a winning text"))
    incomplete = bool(found.incomplete) or bool(writer and writer.failed)
    if incomplete:
        print(CONTINUE)
    return REFUSED if incomplete or not all(isinstance(e, Estimate) for e in found.estimates.values()) else DONE


def _checked(options: argparse.Namespace) -> Design:
    """
    Return how often each arm is asked.

    Raises:
        ConfigError: impossible options, or options that exclude each other.
    """
    from calm.plugins.search.curve import MOST
    from calm.pytest_plugin.options import design_in

    problems = [f"--n: expected a number above 0, got {options.n}"] if options.n is not None and options.n < 1 else []
    if options.curve is not None:
        others = {"--n": options.n, "--shrink": options.shrink, "--write": options.write, "--repeats": options.repeats}
        if options.method == TRANSFER:
            others["--method transfer"] = True
        problems += [
            f"--curve: it tries {options.curve} texts and searches for none, so leave {name} out"
            for name, value in others.items()
            if value
        ]
        if not 1 < options.curve <= MOST:
            problems.append(f"--curve: expected a number of texts from 2 to {MOST}, got {options.curve}")
    if options.limit is not None and (options.curve is None or not 0 < options.limit < 1):
        wanted = "--curve N with it" if options.curve is None else "a share above 0 and below 1"
        problems.append(f"--limit: expected {wanted}, got {options.limit:g}")
    given = {"--with": options.writer, "--edits": options.edits, "--shrink": options.shrink}
    problems += [
        f"{name}: expected --method {SEARCH} with it, got {TRANSFER}"
        for name, value in given.items()
        if value and options.method == TRANSFER
    ]
    problems += impossible(options)
    repeats = options.repeats or REPEATS
    try:
        design_in(repeats, "--repeats")
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise ConfigError(problems)
    design = design_in(repeats, "--repeats")
    if design.clean < 2:
        raise ConfigError(
            f"--repeats: expected at least 2 clean asks, because one is compared with the other, got {options.repeats}"
        )
    return design


def _arms(options: argparse.Namespace, judge: Judge) -> tuple[Arm, ...]:
    """
    Return the edits that are tried.

    Raises:
        ConfigError: a name is unknown, or a sound judge may come to prefer an answer for its edit.
    """
    from calm.core.verdict import FAMILY
    from calm.plugins.search.arms import arms_for
    from calm.plugins.search.subjects import EXPECTED

    if options.method == TRANSFER:
        return ()
    names = [name for part in options.edits.split(",") if (name := part.strip())]
    arms = arms_for(FAMILY[judge.task], names, str(judge.about.get("model") or judge.name))
    edits = [arm.step.edit for arm in arms]
    problems = [
        f"--edits: {edit.label}: expected an edit that expects NOT_BETTER or SAME, got one that expects {edit.expects}"
        for edit in edits
        if edit.expects not in EXPECTED
    ]
    if problems:
        raise ConfigError(problems)
    return arms


def _plan(options: argparse.Namespace, judge: Judge, cases: Sequence[Case], design: Design, arms: Sequence[Arm]) -> str:
    """Return the calls of an attack: if no text wins, and if each search takes the most asks."""
    from calm.cases import sample
    from calm.gate.prices import clean_plan
    from calm.models.pricing import dollars
    from calm.plugins.search.attack import PRUNE, SHRINK

    drawn = sample(cases, options.sample, options.seed)
    once = clean_plan(judge, drawn, 1).asks  # one of every case
    tried = (options.n or TRIES) if options.method == SEARCH else 0
    # each text may win once and not twice; then it may lose edits again, and words
    most = 2 * tried + PRUNE * (options.method == SEARCH) + SHRINK * options.shrink
    rows = []
    for word, searched, held in (("if nothing wins", tried, 0), ("at most", most, design.perturbed)):
        times = 1 + design.clean + searched + held
        usd = str(once.cost) if not once.usd else f"about {dollars(times * once.usd)} USD"
        rows.append(f"{word}: {times:.1f} asks a case, {round(times * once.calls)} calls of the judge, {usd}")
    taken = sampled(len(drawn), len(cases))
    lines = [f"attack on {judge.name} by {options.method}: {taken}; no call is made", *rows]
    if options.writer:
        lines.append("calls of the writer come on top, one for each text; --max-calls and --max-usd cap both together")
    if options.edits:
        lines.append(f"edits: {len(arms)}, of {', '.join(sorted({arm.bias for arm in arms}))}")
    return "\n".join(lines)


def _show(found: Attack) -> None:
    """Print some found texts as a word diff, those first that won all of their fresh asks."""
    from calm.results.reports.texts import coloured, differences

    for one in sorted(found.found, key=lambda one: (-(one.wins or 0.0), one.subject.id))[:EXAMPLES]:
        made_of = f" by {' + '.join(one.edits)}" if one.edits else ""
        said = "no fresh ask" if one.wins is None else f"{one.wins:.0%} of fresh asks"
        print(printable(f"\n-- case {one.subject.id}, answer {one.subject.case.target}{made_of}, won {said}", "\n"))
        for text in differences(one.subject.original, one.text or "", colour=coloured()).splitlines():
            print(f"   {text}")
