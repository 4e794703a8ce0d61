"""`calm rewrite`: let a model write the texts of edits that need a writer, once, into the cases."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import DONE, REFUSED
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.engine.engine import Engine

CACHE = ".calm/cache.sqlite"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `rewrite`."""
    rewrite = commands.add_parser("rewrite", help="let a model write the texts of edits that need a writer")
    rewrite.add_argument("cases", metavar="CASES", help="cases as JSON Lines")
    rewrite.add_argument("--with", dest="writer", metavar="WRITER.toml", help="the model that writes")
    rewrite.add_argument(
        "--kinds",
        required=True,
        metavar="KIND,...",
        help="verbosity, sentiment, fallacy, polish, paraphrase, translate:LANGUAGE, error, neutral",
    )
    rewrite.add_argument("-o", "--out", required=True, metavar="OUT.jsonl", help="where to write the cases")
    rewrite.add_argument("--max-calls", type=int, metavar="N", help="the most calls to make")
    rewrite.add_argument("--max-usd", type=float, metavar="X", help="the most to spend, in US dollars")
    rewrite.add_argument("--cache-file", default=CACHE, metavar="FILE", help=f"the record of replies (default {CACHE})")
    rewrite.add_argument("--offline", action="store_true", help="ask no model: write what the rules make")
    rewrite.set_defaults(run=_rewrite)


def _rewrite(options: argparse.Namespace) -> int:
    from calm import cases as datasets
    from calm.engine.budget import Caps
    from calm.engine.engine import Engine
    from calm.engine.store import Mode, Store
    from calm.studies.writing import replies, rewriting
    from calm.studies.writing.writerfile import read_writer

    names = _names(options)
    out = Path(options.out)
    cases = datasets.read_cases(options.cases)
    if options.offline:
        found, by, bill = rewriting.rewrite_by_rule(cases, names), rewriting.RULE_MADE, "no call made"
    else:
        writer = read_writer(Path(options.writer), os.environ)
        store = Store(Path(options.cache_file), Mode.ON)
        engine = Engine(store, caps=Caps(calls=options.max_calls, usd=options.max_usd))
        try:
            found = rewriting.rewrite(cases, names, writer, engine)
            bill = _bill(engine)
        finally:
            engine.close()
        by = f"{writer.name} ({writer.family})" if writer.family else writer.name
    rewriting.write_cases(out, cases, found, by)
    print(printable(rewriting.summary(found), "\n"))
    print(printable(f"wrote {out}; {bill}"))
    if found.refused:
        print(printable(f"wrote {replies.beside(out)}: {len(found.refused)} refused, none of them is used"))
    if found.missing:
        print("run the same command again to go on: what was answered is kept")
    return REFUSED if found.missing else DONE


def _names(options: argparse.Namespace) -> list[str]:
    """
    Return the names of the edits to write texts for.

    Raises:
        ConfigError: a kind that is not known, or options that do not go together.
    """
    from calm.perturbations.written import names_of

    problems: list[str] = []
    names: dict[str, None] = {}
    for asked in filter(None, (kind.strip() for kind in options.kinds.split(","))):
        try:
            names |= dict.fromkeys(names_of(asked))
        except ConfigError as error:
            problems += error.problems
    if not names and not problems:
        problems.append("--kinds: expected at least one kind, such as verbosity, got none")
    if bool(options.writer) == options.offline:
        given = "both" if options.offline else "neither"
        problems.append(f"expected --with WRITER.toml or --offline, got {given}")
    if options.max_calls is not None and options.max_calls < 1:
        problems.append(f"--max-calls: expected a number above 0, got {options.max_calls}")
    if options.max_usd is not None and not 0 < options.max_usd < float("inf"):
        problems.append(f"--max-usd: expected an amount above 0, got {options.max_usd!r}")
    if problems:
        raise ConfigError(problems)
    return list(names)


def _bill(engine: Engine) -> str:
    calls, usd = engine.ledger.calls, engine.ledger.usd
    cost = f"{usd:.4f} USD" if engine.ledger.priced else "price unknown"
    notes = "".join(f"; {note}" for note in engine.notes)
    return f"{calls['made']} calls made, {calls['cached']} cached, {cost}{notes}"
