"""`calm design`: what the next call is best spent on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import CONTINUE, bill, impossible, opened_engine, stays
from calm.core.files import record_at
from calm.errors import ConfigError
from calm.plugins.diagnose.command import MOST_WORDINGS, add_record, outputs_of, tell
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.gate.prices import Plan
    from calm.models.wire import Judge
    from calm.plugins.diagnose.sources import Answers, Crossed

MOST_REPEATS, MOST_ASKS = 8, 8


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `design`."""
    design = add_command(
        commands,
        "design",
        "Say what the next call is best spent on. The command splits the variance of the verdicts by case, wording, "
        "order, repeat and judge, and shows the standard error of their mean for designs by cost. "
        "It asks about a few cases in several wordings and in both orders, or reads saved runs without a call.",
        "calm design judge.toml --cases cases.jsonl --plan",
    )
    option = design.add_argument
    option(
        "judges",
        nargs="+",
        metavar="JUDGE",
        help=f"{JUDGES}; or RESULTS.json of a run, or its folder",
    )
    option("--cases", action="append", default=[], metavar="FILE", help=CASES)
    option("--sample", type=int, default=30, metavar="N", help="ask about at most N cases (default 30)")
    option("--wordings", type=int, default=3, metavar="N", help="other wordings of the prompt (default 3)")
    option("--repeats", type=int, default=2, metavar="N", help="asks in each wording and order (default 2)")
    option("--paraphrases", metavar="FILE", help="JSON with your own wordings of the prompt, to go first")
    option("--over", type=int, metavar="N", help="the cases that your mean is over (default: all that were given)")
    option("--most", type=int, default=4, metavar="N", help="show designs of up to N asks of a case (default 4)")
    option(
        "--limit",
        action="append",
        default=[],
        metavar="SOURCE=SD",
        help="claim that the standard deviation by wording, order, judge or repeat is at most SD (repeatable)",
    )
    add_record(design)
    design.set_defaults(run=_design)


def _design(options: argparse.Namespace) -> int:
    limits = _checked(options)
    options.judges = [str(place) if (place := record_at(Path(one))) != Path(one) else one for one in options.judges]
    saved = [one.endswith(".json") for one in options.judges]
    if all(saved):
        return _from_records(options, limits)
    if any(saved):
        raise ConfigError(
            "give either judges to ask or results of runs: a run holds other wordings than a judge is asked"
        )
    return _from_judges(options, limits)


def _checked(options: argparse.Namespace) -> Mapping[str, float]:
    from calm.plugins.diagnose.design import PLURAL

    problems = impossible(options)
    for name, low, high in (("wordings", 0, MOST_WORDINGS), ("repeats", 1, MOST_REPEATS), ("most", 1, MOST_ASKS)):
        if not low <= getattr(options, name) <= high:
            problems.append(f"--{name}: expected a number from {low} to {high}, got {getattr(options, name)}")
    if options.over is not None and options.over < 1:
        problems.append(f"--over: expected a number of cases above 0, got {options.over}")
    limits: dict[str, float] = {}
    for given in options.limit:
        source, _, value = given.partition("=")
        try:
            limit = float(value)
        except ValueError:
            limit = -1.0
        if source in limits or source not in PLURAL or not 0 < limit <= 1:
            problems.append(
                f"--limit: expected one of {', '.join(PLURAL)}, each once, and a limit up to 1, as wording=0.05, "
                f"got {given!r}"
            )
        limits[source] = limit
    if problems:
        raise ConfigError(problems)
    return limits


def _from_judges(options: argparse.Namespace, limits: Mapping[str, float]) -> int:
    from calm.cases import sample
    from calm.experiment.run import refuse_unshowable
    from calm.gate.from_spec import cases_from, judge_from
    from calm.judges.panel import Panel
    from calm.plugins.diagnose.asking import Paraphrases, read_paraphrases
    from calm.plugins.diagnose.sources import Crossed, ask, refuse_unlike
    from calm.results.outputs import DESIGN
    from calm.statistics.components import FEWEST

    judges: list[Judge] = []
    for spec in options.judges:
        judge = judge_from(spec)
        judges += judge.members if isinstance(judge, Panel) else [judge]
    prints = [judge.fingerprint for judge in judges if judge.fingerprint is not None]
    if len(set(options.judges)) < len(options.judges) or len(set(prints)) < len(prints):
        raise ConfigError("expected each judge once: the same judge twice is no second judge")
    refuse_unlike([(judge.name, judge.task) for judge in judges])
    given = cases_from(options.cases, judges[0])
    cases = sample(given, options.sample, options.seed)
    if len(cases) < FEWEST:
        raise ConfigError(f"expected at least {FEWEST} cases, got {len(cases)}: what fewer vary by says little")
    for judge in judges:
        refuse_unshowable(judge, cases)
    own = read_paraphrases(Path(options.paraphrases)) if options.paraphrases else Paraphrases()
    crossed = Crossed.over(judges, cases, own, wordings=options.wordings, repeats=options.repeats, seed=options.seed)
    if options.plan:
        print(printable(_plan(judges, cases, crossed), "\n"))
        return DONE
    print(fitted(_asks(cases, crossed, list(_plans(judges, cases, crossed))), sys.stderr), file=sys.stderr)
    with opened_engine(options, *outputs_of(options, DESIGN)) as engine:
        for judge in judges:
            engine.admit(judge)
        answers = ask(engine, crossed, cases)
        if (there := len({one.levels[0] for one in answers.said})) < FEWEST:
            why = answers.incomplete or "too few replies could be read"
            again = f"; {CONTINUE}" if answers.incomplete else ""
            raise ConfigError(f"verdicts on {there} cases, and it takes {FEWEST}: {why}. {bill(engine)}{again}")
        kept = not options.out or not stays(engine, Path(options.out))
        options.over = options.over or len(given)
        return _told(options, answers, limits, bill(engine), write=kept)


def _from_records(options: argparse.Namespace, limits: Mapping[str, float]) -> int:
    from calm.core.files import inputs
    from calm.plugins.diagnose.sources import recorded
    from calm.results.audit import read
    from calm.results.outputs import DESIGN, refuse

    if options.plan or options.paraphrases or options.cases:
        raise ConfigError("of saved runs nothing is asked, so --plan, --paraphrases and --cases have no use")
    if len({Path(one).resolve() for one in options.judges}) < len(options.judges):
        raise ConfigError("expected each run once: the same run twice is no second judge")
    audits = [read(Path(one), texts=False) for one in options.judges]
    refuse(outputs_of(options, DESIGN), inputs=inputs(), caches=[])
    return _told(options, recorded(audits), limits, "no call was made", write=bool(options.out))


def _told(
    options: argparse.Namespace, answers: Answers, limits: Mapping[str, float], spent: str, *, write: bool
) -> int:
    from calm.plugins.diagnose.design import designed, in_words, to_json
    from calm.results.outputs import DESIGN

    made = designed(answers, cases=options.over, most=options.most, limits=limits, seed=options.seed)
    record = to_json(made, spent=spent)
    tell(options, record, in_words(record), DESIGN, write=write)
    if answers.incomplete and not options.json:
        print(CONTINUE)
    return REFUSED if made.incomplete else DONE


def _plans(judges: Sequence[Judge], cases: Sequence[Case], crossed: Crossed) -> Iterator[Plan]:
    from calm.gate.prices import clean_plan

    for judge, shown in zip(judges, crossed.wordings.values(), strict=True):
        yield clean_plan(judge, cases, len(shown) * (1 + crossed.both) * crossed.repeats)


def _asks(cases: Sequence[Case], crossed: Crossed, plans: Sequence[Plan]) -> str:
    wordings = " + ".join(f"{len(one)}" for one in crossed.wordings.values())
    orders = " x 2 orders" if crossed.both else ""
    shown = f"{len(cases)} cases x {wordings} wordings{orders} x {crossed.repeats} repeats"
    first = sum(one.most.calls - one.asks.calls for one in plans)
    tried = f", and {first} to try the server" if first else ""
    return f"at most {len(cases) * crossed.most + first:,} calls: {shown}{tried}"


def _plan(judges: Sequence[Judge], cases: Sequence[Case], crossed: Crossed) -> str:
    from calm.plugins.diagnose.design import WIDTH

    plans = list(_plans(judges, cases, crossed))
    told = [fill(_asks(cases, crossed, plans), WIDTH)]
    for judge, (name, shown), one in zip(judges, crossed.wordings.items(), plans, strict=True):
        most = one.most
        told.append(fill(f"{name} ({judge.task}): at most {most.calls:,} calls, {most.cost}; no call is made", WIDTH))
        told += [f"  {wording.name}" for wording in shown]
    return "\n".join(told)
