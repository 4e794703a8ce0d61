"""The `calm` command: audit a judge, try it on one case, or see a red gate without spending anything."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from errno import ENOSPC, EPIPE
from typing import Final

from calm import __version__
from calm.commands import (
    CONFIGURATION,
    DONE,
    INTERRUPTED,
    agents,
    answer,
    attack,
    attempt,
    audit,
    batch,
    cache,
    calibrate,
    cases,
    completion,
    cross_check,
    diagnose,
    hunt,
    init,
    lint,
    mitigate,
    perturb,
    plan,
    power,
    records,
    report,
    rewrite,
    schema,
    self_preference,
    uda,
    watch,
)
from calm.commands.parsing import Command, command_in, parsed, verbs_of
from calm.commands.run_options import add_run_options, given_to_pytest
from calm.commands.terminal import shielded, told
from calm.core.inputs import forget
from calm.engine.signals import SIGNALS
from calm.errors import CalmError, ConfigError, Interruption
from calm.models.secrets import on_guard
from calm.results.wording import fitted, printable

COMMANDS = (
    init,
    audit,
    attempt,
    lint,
    perturb,
    records,
    report,
    plan,
    power,
    cases,
    cache,
    batch,
    rewrite,
    answer,
    self_preference,
    attack,
    hunt,
    cross_check,
    diagnose,
    calibrate,
    mitigate,
    uda,
    watch,
    schema,
    completion,
    agents,
)
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "commands, in the order in which you need them": (
        *("init", "try", "audit", "plan", "report", "compare", "accept", "perturb", "cases", "cache"),
    ),
    "more, to begin": ("demo", "lint", "power"),
    "more, to find what a judge gets wrong": (
        *("hunt", "attack", "diagnose", "cross-check", "self-preference", "watch"),
    ),
    "more, to repair a judge": ("mitigate", "calibrate", "uda"),
    "more, for texts, calls, editors, agents and shells": ("rewrite", "answer", "batch"),
}
"""The commands as `calm --help` shows them; those that are not listed follow at the end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run one command and return its exit status: 0 done, 1 refused or a claim not proven, 4 wrong configuration.

    Usage errors exit with status 2, as most command lines do.
    """
    on_guard()
    with ExitStack() as streams:
        streams.enter_context(shielded())
        if arguments is None:  # this process is ours: what a judge prints while it ends is cleaned, too
            atexit.register(streams.pop_all().close)
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    if arguments is None:
        sys.excepthook = told
        atexit.register(gc.freeze)  # this process is ours; the interpreter collects several times while it ends
    with SIGNALS.caught():
        try:
            options = _options(list(sys.argv[1:] if arguments is None else arguments))
            run: Callable[[argparse.Namespace], int] = options.run
            return run(options)
        except CalmError as error:
            if SIGNALS.came:  # what it cut short is no fault
                return _interrupted()
            problems = error.problems if isinstance(error, ConfigError) else str(error).splitlines()
            said = "calm: " + "\n".join(map(printable, problems))  # they may quote a file
            print(fitted(said, sys.stderr), file=sys.stderr)
            return CONFIGURATION
        except Interruption as error:
            return _interrupted(str(error))
        except KeyboardInterrupt:  # it may say what it cut short, such as a decoder
            return _interrupted()
        except OSError as error:
            if error.errno not in (EPIPE, ENOSPC):
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is written at the end
            if error.errno == EPIPE:  # nobody reads our output any more: `calm try ... | head`
                return DONE
            print("calm: no space is left for what is printed: free some, or print it elsewhere", file=sys.stderr)
            return CONFIGURATION


def _options(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; `pytest` are those for pytest."""
    end = given.index("--") if "--" in given else len(given)
    forget()
    words = given[:end]
    options = parsed(_parser_for(words), words)
    options.pytest = [
        *given_to_pytest(options),
        *given[end + 1 :],
    ]  # argparse takes them only directly behind the judge
    _remember_cases(options)
    return options


def _interrupted(said: str = "interrupted") -> int:
    print(f"calm: {printable(said)}", file=sys.stderr)
    return INTERRUPTED


def _remember_cases(options: argparse.Namespace) -> None:
    """Give a command about one judge the cases that its judge.toml names, if the command line names none."""
    if getattr(options, "cases", None) != [] or any(word.startswith("--calm-cases") for word in options.pytest):
        return
    if (spec := str(getattr(options, "judge", ""))).endswith(".toml"):
        from calm.judges.judgefile import remembered

        options.cases = remembered(spec)


def _parser_for(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser that knows the options of a run, too, if the command which the words name takes them."""
    parser = _parser()
    name, command, _ = command_in(parser, words)
    add_run_options(command, name)
    return parser


class _Grouped(Command):
    """The parser of `calm` alone: its help shows the commands in groups."""

    def format_help(self) -> str:
        """Return the usage, the commands by group, and the options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        commands = verbs_of(self)
        left = {} if commands is None else {action.dest: action for action in commands._choices_actions}
        groups = [(title, [left.pop(name) for name in names]) for title, names in GROUPS.items()]
        groups[-1][1].extend(left.values())
        for title, actions in [*groups, ("options", self._optionals._group_actions)]:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        return formatter.format_help()


def _parser() -> argparse.ArgumentParser:
    parser = _Grouped(
        prog="calm",
        description="A regression gate for LLM judges. `calm COMMAND --help` describes a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"calm {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Command)
    for module in COMMANDS:
        module.register(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
