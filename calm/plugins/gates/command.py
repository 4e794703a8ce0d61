"""`calm gate-risk`: how often a gate of your own is red by noise; and `calm migrate`: its mark for another judge."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import CONFIGURATION, DONE, REFUSED, add_command
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.plugins.gates.linking import Migration
    from calm.plugins.gates.study import GateRisk, Rule, Wishes
    from calm.plugins.gates.verdicts import Verdicts

TABLES = "a table of verdicts (CSV, TSV, JSON, JSON Lines, Parquet) or results.json of a run"
MOST_CASES, MOST_ASKS = 1_000_000, 100


def register_gate_risk(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `gate-risk`."""
    one = add_command(
        commands,
        "gate-risk",
        "Say how often your own gate goes red by noise alone. It also says how often the gate misses a worse system, "
        "and which mark to take. The command reads verdicts that you have, several on each case, and makes no call. "
        "Exit status 0: the risk is at most --risk, or no mark was given. 1: it is more. 4: the record cannot tell.",
        "calm gate-risk runs.csv --mean-at-least 3.8 --drop 0.2",
    )
    one.add_argument("files", nargs="+", metavar="FILE", help=f"{TABLES}; several files: the asks of each run")
    _add_gate(one)
    option = one.add_argument
    option("--cases", type=int, metavar="N", help="cases of the gate (default: those of the record)")
    option("--new-cases", action="store_true", help="each run takes other cases of the same kind (default: the same)")
    option("--risk", type=float, default=0.05, metavar="P", help="how often it may be red by noise (default 0.05)")
    option("--drop", type=float, metavar="D", help="also say how often a mean, or share, lower by D stays green")
    option("--missed", type=float, default=0.2, metavar="P", help="how often that may be missed (default 0.2)")
    _add_table(one)
    option("--scale", metavar="LOW..HIGH", help="the scale of the scores (default: the usual one that holds them)")
    one.set_defaults(run=_gate_risk)


def register_migrate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `migrate`."""
    one = add_command(
        commands,
        "migrate",
        "Give the mark of your gate for another judge. The command reads what both judges said of the same cases, and "
        "makes no call. Exit status 0: there is a mark. 1: there is none, as the judges do not rank the cases alike. "
        "4: the record cannot tell.",
        "calm migrate old.csv new.csv --pass-mark 4 --pass-at-least 0.9",
    )
    one.add_argument("old", metavar="OLD", help=f"verdicts of the old judge: {TABLES}")
    one.add_argument("new", metavar="NEW", help="verdicts of the new judge on the same cases")
    _add_gate(one)
    _add_table(one)
    option = one.add_argument
    option("--new-map", action="append", default=[], metavar="FIELD=COLUMN", help="--map of NEW, if it is another one")
    option("--scale", metavar="LOW..HIGH", help="the scale of the old judge (default: the usual one)")
    option("--new-scale", metavar="LOW..HIGH", help="the scale of the new judge (default: the usual one)")
    one.set_defaults(run=_migrate, cases=None, new_cases=False, risk=0.05, drop=None, missed=0.2)


def _add_gate(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("--mean-at-least", type=float, metavar="T", help="the gate is green if the mean score is at least T")
    option("--mean-at-most", type=float, metavar="T", help="the same where low scores are good: at most T")
    option("--pass-at-least", type=float, metavar="P", help="green if this share of cases passes; 1: every case must")
    option("--pass-mark", type=float, metavar="X", help="a case passes with a score of X or better")
    option("--asks", type=int, default=1, metavar="R", help="the gate asks each case R times (default 1)")
    option("--asks-pass", type=int, metavar="K", help="a case passes if K of its asks do (default: more than half)")


def _add_table(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--map",
        action="append",
        default=[],
        metavar="FIELD=COLUMN",
        help="the column of the case, score, repeat or group (its question); score several times: one for each ask",
    )
    option(
        "--value",
        action="append",
        default=[],
        metavar="WORD=NUMBER",
        help="what a word is worth, or none for no verdict (repeatable)",
    )
    option("--json", action="store_true", help="print the record as JSON instead of a text")


def _wanted(options: argparse.Namespace) -> tuple[Rule, Wishes]:
    """Return the gate that the options say, without a mark that of the mean; and what is wanted of it."""
    from calm.plugins.gates.study import Rule, Wishes

    share, mark = options.pass_at_least, options.pass_mark
    means = {"--mean-at-least": options.mean_at_least, "--mean-at-most": options.mean_at_most}
    given = [name for name, value in (means | {"--pass-at-least": share}).items() if value is not None]
    problems: list[str] = []
    if len(given) > 1:
        problems.append(f"{' and '.join(given)}: expected one gate, got {len(given)}; run the command for each of them")
    if share is not None and not 0 < share <= 1:
        hint = f"; write {share / 100:g} for {share:g} %" if 1 < share <= 100 else ""
        problems.append(f"--pass-at-least: expected a share above 0 and at most 1, got {share:g}{hint}")
    problems += [
        f"{name}: expected a finite number, got {value!r}"
        for name, value in (means | {"--pass-mark": mark, "--drop": options.drop}).items()
        if value is not None and not isfinite(value)
    ]
    shares, mean = share is not None or mark is not None, next((one for one in means.values() if one is not None), None)
    if mark is not None and mean is not None and share is None:
        problems.append("--pass-mark: expected it with --pass-at-least, got a gate on the mean; leave one of them out")
    if not 1 <= options.asks <= MOST_ASKS:
        problems.append(f"--asks: expected a whole number from 1 to {MOST_ASKS}, got {options.asks}")
    least = options.asks // 2 + 1 if options.asks_pass is None else options.asks_pass
    if options.asks_pass is not None and not shares:
        problems.append("--asks-pass: expected it with --pass-at-least or --pass-mark, got a gate on the mean")
    elif shares and not 1 <= least <= max(1, options.asks):
        problems.append(f"--asks-pass: expected a whole number from 1 to the {options.asks} of --asks, got {least}")
    problems += [
        f"--{name}: expected a probability above 0 and below 0.5, got {value:g}"
        for name, value in (("risk", options.risk), ("missed", options.missed))
        if not 0 < value < 0.5
    ]
    if options.cases is not None and not 1 <= options.cases <= MOST_CASES:
        problems.append(f"--cases: expected a whole number from 1 to {MOST_CASES:,}, got {options.cases}")
    if options.drop is not None and options.drop <= 0:
        problems.append(f"--drop: expected a number above 0, got {options.drop:g}")
    if problems:
        raise ConfigError(problems)
    asked = options.cases, options.asks
    rule = Rule("mean", mean, *asked, fresh=options.new_cases)
    if shares:
        rule = Rule("share", share, *asked, least, mark, options.new_cases)
    return rule, Wishes(options.risk, options.drop, options.missed)


def _read(files: list[str], maps: list[str], scale: str | None, options: argparse.Namespace) -> Verdicts:
    """Return the verdicts in some files, in the direction that the options say."""
    from calm.commands.logs import scale_in
    from calm.core.files import refuse_twice
    from calm.plugins.gates.verdicts import read_verdicts

    paths = [Path(one) for one in files]
    refuse_twice(paths)
    on = None if scale is None else scale_in(scale)
    found = read_verdicts(paths, maps, options.value, on, low_is_good=options.mean_at_most is not None)
    if found.scale.best == "low" and options.mean_at_least is not None:
        raise ConfigError("--mean-at-least: expected --mean-at-most, as low scores are good in this record")
    return found


def _say(found: GateRisk | Migration, lines: Iterable[str], options: argparse.Namespace) -> None:
    text = "\n".join([*lines, "no call was made"])
    if options.json:
        text = json.dumps(found.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    print(printable(text, "\n"))


def _gate_risk(options: argparse.Namespace) -> int:
    from calm.plugins.gates.study import gate_risk
    from calm.plugins.gates.words import in_words, read_in_words

    rule, wishes = _wanted(options)
    verdicts = _read(options.files, options.map, options.scale, options)
    if rule.kind == "mean" and rule.mark is None and verdicts.plain:
        rule = replace(rule, kind="share", least=rule.asks // 2 + 1)
    found = gate_risk(verdicts, rule, wishes)
    _say(found, [*read_in_words(verdicts), "", *in_words(found)], options)
    return {"FAIL": REFUSED, "UNDECIDED": CONFIGURATION}.get(str(found.outcome), DONE)


def _migrate(options: argparse.Namespace) -> int:
    from calm.plugins.gates.linking import migrate
    from calm.plugins.gates.words import migration_in_words, read_in_words

    rule, _ = _wanted(options)
    if rule.mark is None and rule.pass_mark is None:
        raise ConfigError(
            "expected a mark to carry over, got none: --pass-mark X for a score from which on a case passes, "
            "--mean-at-least T for a mean, or --pass-at-least P for judges that pass or fail themselves"
        )
    old = _read([options.old], options.map, options.scale, options)
    new = _read([options.new], options.new_map or options.map, options.new_scale, options)
    found = migrate(old, new, rule)
    _say(found, [*read_in_words(old), *read_in_words(new), "", *migration_in_words(found, rule)], options)
    return REFUSED if found.mark is None else CONFIGURATION if found.outcome == "UNDECIDED" else DONE
