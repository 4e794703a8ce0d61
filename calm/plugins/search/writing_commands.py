"""
What models write, as commands.

`calm answer` lets them answer the questions of cases, so that the author of each answer is known. `calm rewrite` lets
one write the texts of edits.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import DONE, REFUSED, add_command, cache_files
from calm.commands.spending import (
    CONTINUE,
    add_caps,
    bill,
    impossible,
    opened_engine,
    refuse_impossible,
    sampled,
    stays,
)
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.plugins.search.writer import Writer


def register_answer(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `answer`."""
    answer = add_command(
        commands,
        "answer",
        "Let models answer the questions of cases. The ids of the answers do not show who wrote them. "
        "`calm self-preference` reads the file.",
        "calm answer cases.jsonl --with a.toml,b.toml -o answers.jsonl",
    )
    answer.add_argument("cases", metavar="CASES", help="cases as JSON Lines; answers without an author are not used")
    answer.add_argument(
        "--with",
        dest="writers",
        required=True,
        metavar="A.toml,B.toml",
        help="the models: files with a [model] table, for a judge or a writer",
    )
    answer.add_argument(
        "-o", "--out", metavar="OUT.jsonl", help="the file to write (default answers.jsonl, with --twins twins.jsonl)"
    )
    answer.add_argument(
        "--twins",
        action="store_true",
        help="one answer to each question, by the models in turn (an answer of that model in CASES will do), in the "
        "words of each model",
    )
    answer.add_argument("--force", action="store_true", help="overwrite OUT, whoever wrote it")
    answer.add_argument("--sample", type=int, metavar="N", help="the first N questions (default: all)")
    add_caps(answer)
    answer.set_defaults(run=_answer)


def _answer(options: argparse.Namespace) -> int:
    from calm.cases import read_cases
    from calm.plugins.search import answering
    from calm.plugins.search import writer as replies
    from calm.results.outputs import ANSWERED, UNUSED, Output

    refuse_impossible(options)
    out = Path(options.out or ("twins.jsonl" if options.twins else "answers.jsonl"))
    writers = _writers(options.writers)
    answering.families_of_writers(writers)
    given = read_cases(options.cases)
    every = answering.questions(given)
    cases = every[: options.sample]
    written = (Output("-o", out, ANSWERED, options.force), Output("-o", replies.beside(out), UNUSED))
    with opened_engine(options, *written) as engine:
        found = (answering.twins if options.twins else answering.answer)(cases, writers, engine)
        spent = bill(engine)
    print(printable(answering.summary(found, writers), "\n"))
    if stays(engine, out):
        print(printable(spent))
        print(CONTINUE)
        return REFUSED
    answering.write_answers(out, found, force=options.force)
    of = sampled(len(cases), len(every), "questions") + (f" in {len(given)} cases" if len(every) < len(given) else "")
    print(printable(f"wrote {out}: {len(found.cases)} of {of}; {spent}"))
    if found.failures:
        print(printable(f"wrote {replies.beside(out)}: {len(found.failures)} replies that are not answers"))
    if found.missing:
        print(CONTINUE)
    return REFUSED if found.missing else DONE


def _writers(names: str) -> list[Writer]:
    from calm.plugins.search.writer import read_author

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


def register_rewrite(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `rewrite`."""
    rewrite = add_command(
        commands,
        "rewrite",
        "Let a model write the texts of edits that need a writer. calm validates each text and stores it in the cases. "
        "A gate on these cases then needs no writer.",
        "calm rewrite cases.jsonl --with writer.toml --kinds verbosity,sentiment -o rewritten.jsonl",
    )
    rewrite.add_argument("cases", metavar="CASES", help="cases as JSON Lines")
    rewrite.add_argument("--with", dest="writer", metavar="WRITER.toml", help="the model that writes")
    rewrite.add_argument(
        "--kinds",
        required=True,
        metavar="KIND,...",
        help="verbosity, sentiment, fallacy, polish, paraphrase, translate:LANGUAGE, error, neutral",
    )
    rewrite.add_argument("-o", "--out", required=True, metavar="OUT.jsonl", help="the file of cases to write")
    rewrite.add_argument("--force", action="store_true", help="overwrite OUT, whoever wrote it")
    add_caps(rewrite)
    rewrite.add_argument("--offline", action="store_true", help="call no model; let rules write the texts")
    rewrite.set_defaults(run=_rewrite)


def _rewrite(options: argparse.Namespace) -> int:
    from calm.cases import read_cases
    from calm.commands.plan import places_of
    from calm.core.files import inputs
    from calm.plugins.search import rewriting
    from calm.plugins.search import writer as replies
    from calm.plugins.search.writer import read_writer
    from calm.results.outputs import REWRITTEN, UNUSED, Output, refuse

    names = _names(options)
    out = Path(options.out)
    cases = read_cases(options.cases)
    written = (Output("-o", out, REWRITTEN, options.force), Output("-o", replies.beside(out), UNUSED))
    if options.offline:
        refuse(written, inputs=inputs(), caches=cache_files(options))
        found, by, spent = rewriting.rewrite_by_rule(cases, names), rewriting.RULE_MADE, "no call made"
    else:
        writer = read_writer(Path(options.writer), os.environ)
        with opened_engine(options, *written) as engine:
            found = rewriting.rewrite(cases, names, writer, engine)
            spent = bill(engine)
        if found.missing and stays(engine, out):
            print(printable(f"{rewriting.summary(found)}\n{spent}\n{CONTINUE}", "\n"))
            return REFUSED
        by = f"{writer.name} ({writer.family})" if writer.family else writer.name
    rewriting.write_cases(out, cases, found, by, force=options.force)
    print(printable(rewriting.summary(found), "\n"))
    for place in places_of(names):
        print(printable(place))
    print(printable(f"wrote {out}; {spent}"))
    if found.refused:
        print(printable(f"wrote {replies.beside(out)}: {len(found.refused)} refused texts; none of them is used"))
    if found.missing:
        print(CONTINUE)
    return REFUSED if found.missing else DONE


def _names(options: argparse.Namespace) -> list[str]:
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
    problems += impossible(options)
    if problems:
        raise ConfigError(problems)
    return list(names)
