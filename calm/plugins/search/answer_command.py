"""`calm answer`: let models answer the questions of cases, so that the author of each answer is known."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import DONE, REFUSED, add_command
from calm.commands.spending import CONTINUE, add_caps, bill, opened_engine, refuse_impossible, sampled, stays
from calm.errors import ConfigError
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.plugins.search.writing.writer import Writer


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `answer`."""
    answer = add_command(
        commands,
        "answer",
        "Let models answer the questions of cases. The ids of the answers do not show who wrote them. "
        "`calm self-preference` reads the file.",
        "calm answer cases.jsonl --with a.toml,b.toml -o answers.jsonl",
    )
    answer.add_argument("cases", metavar="CASES", help="cases as JSON Lines; their own answers are not used")
    answer.add_argument(
        "--with",
        dest="writers",
        required=True,
        metavar="A.toml,B.toml",
        help="the models: files with a [model] table, for a judge or a writer",
    )
    answer.add_argument(
        "-o", "--out", default="answers.jsonl", metavar="OUT.jsonl", help="the file to write (default answers.jsonl)"
    )
    answer.add_argument("--force", action="store_true", help="overwrite OUT, whoever wrote it")
    answer.add_argument("--sample", type=int, metavar="N", help="the first N questions (default: all)")
    add_caps(answer)
    answer.set_defaults(run=_answer)


def _answer(options: argparse.Namespace) -> int:
    from calm.cases import read_cases
    from calm.plugins.search.writing import answering
    from calm.plugins.search.writing import writer as replies
    from calm.results.outputs import ANSWERED, UNUSED, Output

    refuse_impossible(options)
    out = Path(options.out)
    writers = _writers(options.writers)
    answering.families_of_writers(writers)
    every = read_cases(options.cases)
    cases = every[: options.sample]
    written = (Output("-o", out, ANSWERED, options.force), Output("-o", replies.beside(out), UNUSED))
    with opened_engine(options, *written) as engine:
        found = answering.answer(cases, writers, engine)
        spent = bill(engine)
    print(printable(answering.summary(found, writers), "\n"))
    if stays(engine, out):
        print(printable(spent))
        print(CONTINUE)
        return REFUSED
    answering.write_answers(out, found, force=options.force)
    print(printable(f"wrote {out}: {len(found.cases)} of {sampled(len(cases), len(every), 'questions')}; {spent}"))
    if found.failures:
        print(printable(f"wrote {replies.beside(out)}: {len(found.failures)} replies that are not answers"))
    if found.missing:
        print(CONTINUE)
    return REFUSED if found.missing else DONE


def _writers(names: str) -> list[Writer]:
    from calm.plugins.search.writing.writer import read_author

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
