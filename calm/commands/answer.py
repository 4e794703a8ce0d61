"""`calm answer`: let models answer the questions of cases, so that judges can be put to answers of known authors."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import DONE, REFUSED
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.studies.writing.writerfile import Writer

CACHE = ".calm/cache.sqlite"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `answer`."""
    answer = commands.add_parser(
        "answer", help="let models answer the questions of cases, under ids that tell no author"
    )
    answer.add_argument("cases", metavar="CASES", help="cases as JSON Lines; their own answers need not be good")
    answer.add_argument(
        "--with",
        dest="writers",
        required=True,
        metavar="A.toml,B.toml",
        help="the models: files with a [model] table, as of a judge or a writer",
    )
    answer.add_argument("-o", "--out", default="answers.jsonl", metavar="OUT.jsonl", help="default answers.jsonl")
    answer.add_argument("--sample", type=int, metavar="N", help="the first N questions (default: all)")
    add_caps(answer)
    answer.set_defaults(run=_answer)


def add_caps(parser: argparse.ArgumentParser) -> None:
    """Add the hard caps, and the cache that a later run goes on from."""
    parser.add_argument("--max-calls", type=int, metavar="N", help="the most calls to make")
    parser.add_argument("--max-usd", type=float, metavar="X", help="the most to spend, in US dollars")
    parser.add_argument("--cache-file", default=CACHE, metavar="FILE", help=f"the record of replies (default {CACHE})")


def refuse_impossible(options: argparse.Namespace) -> None:
    """
    Refuse caps and samples that cannot be.

    Raises:
        ConfigError: a number that is not above 0, with its option.
    """
    problems: list[str] = []
    for name in ("max_calls", "sample"):
        value = getattr(options, name)
        if value is not None and value < 1:
            problems.append(f"--{name.replace('_', '-')}: expected a number above 0, got {value}")
    if options.max_usd is not None and not 0 < options.max_usd < float("inf"):
        problems.append(f"--max-usd: expected an amount above 0, got {options.max_usd!r}")
    if problems:
        raise ConfigError(problems)


def refuse_folders(options: argparse.Namespace, *names: str) -> None:
    """
    Refuse, before anything is asked, to write a file where a folder is.

    Raises:
        ConfigError: each such option.
    """
    given = {name: Path(value) for name in names if (value := getattr(options, name))}
    if problems := [
        f"--{name}: expected a file to write, got the folder {str(path)!r}"
        for name, path in given.items()
        if path.is_dir()
    ]:
        raise ConfigError(problems)


def _answer(options: argparse.Namespace) -> int:
    from calm import cases as datasets
    from calm.commands.rewrite import _bill
    from calm.engine.budget import Caps
    from calm.engine.engine import Engine
    from calm.engine.store import Mode, Store
    from calm.studies.writing import answering, replies

    refuse_impossible(options)
    refuse_folders(options, "out")
    out = Path(options.out)
    answering.refuse_output(out, Path(options.cases))
    writers = _writers(options.writers)
    answering.families_of_writers(writers)
    cases = datasets.read_cases(options.cases)[: options.sample]
    store = Store(Path(options.cache_file), Mode.ON)
    engine = Engine(store, caps=Caps(calls=options.max_calls, usd=options.max_usd))
    try:
        found = answering.answer(cases, writers, engine)
        bill = _bill(engine)
    finally:
        engine.close()
    answering.write_answers(out, found)
    print(printable(answering.summary(found, writers), "\n"))
    print(printable(f"wrote {out}: {len(found.cases)} of {len(cases)} questions; {bill}"))
    if found.failures:
        print(printable(f"wrote {replies.beside(out)}: {len(found.failures)} replies that are no answers"))
    if found.missing:
        print("run the same command again to go on: what was answered is kept")
    return REFUSED if found.missing else DONE


def _writers(names: str) -> list[Writer]:
    """
    Return the models that a list with commas names.

    Raises:
        ConfigError: the faults of all files.
    """
    from calm.studies.writing.writerfile import read_author

    found: list[Writer] = []
    problems: list[str] = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        try:
            found.append(read_author(Path(name), os.environ))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return found
