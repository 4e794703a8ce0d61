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
from typing import Any, Final

from calm import __version__
from calm.commands import CONFIGURATION, DONE, INTERRUPTED
from calm.commands.parsing import Command, Commands, command_in, helps_of, parsed, verbs_of
from calm.commands.run_options import add_run_options, given_to_pytest
from calm.commands.terminal import shielded, told
from calm.core.files import forget
from calm.core.plugins import troubles
from calm.engine.signals import SIGNALS
from calm.errors import CalmError, ConfigError, Interruption
from calm.models.secrets import on_guard
from calm.results.wording import fitted, printable

CORE: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("write judge.toml, its prompt, cases and a CI workflow", "calm.commands.init:register"),
    "try": ("ask a judge about one case", "calm.commands.attempt:register"),
    "audit": ("run all suites on a judge and write a report", "calm.commands.audit:register"),
    "plan": ("show what a run will ask and cost", "calm.commands.plan:register"),
    "report": ("write the results of a run in another form", "calm.commands.report:register"),
    "compare": ("show what changed between the results of two runs", "calm.commands.records:register"),
    "accept": ("write a baseline from the results of a run", "calm.commands.records:register"),
    "perturb": ("show what a perturbation changes, or list all perturbations", "calm.commands.perturb:register"),
    "cases": ("import cases, generate cases, or check cases", "calm.commands.cases:register"),
    "cache": ("show, prune, export or copy a cache of replies", "calm.commands.cache:register"),
}
"""The commands of the core in the order in which a person needs them; plug-ins give the others in the same form."""


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


class _Whole(Command):
    """The parser of `calm` alone: its help shows the commands of the core first, and then those of plug-ins."""

    def format_help(self) -> str:
        """Return the usage, the commands, and the options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        verbs = verbs_of(self)
        helps = {} if verbs is None else helps_of(verbs)
        lines = [argparse.Action([], name, help=text) for name, text in helps.items()]
        for title, actions in [
            ("commands, in the order in which you need them", lines[: len(CORE)]),
            ("more", lines[len(CORE) :]),
            ("options", self._optionals._group_actions),
        ]:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.add_text("\n".join(map(printable, troubles())) or None)
        return formatter.format_help()


def _parser() -> argparse.ArgumentParser:
    parser = _Whole(
        prog="calm",
        description="A regression gate for LLM judges. `calm COMMAND --help` describes a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"calm {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Command)
    made: Any = Commands(CORE)  # argparse wants a dict, and reads no more than a mapping has
    verbs.choices = verbs._name_parser_map = made
    parser.set_defaults(commands=verbs)
    return parser


if __name__ == "__main__":
    sys.exit(main())
