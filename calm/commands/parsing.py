"""What a command line says: an unknown command or option is answered with the one that was likely meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from calm.core.plugins import Given, find, given, troubles
from calm.core.releases import NAME
from calm.errors import closest
from calm.results.wording import fitted, printable

BEHIND: Final = ("audit", "plan", "mitigate", "batch write")
"""Commands that hand what follows `--` to pytest."""


class Command(argparse.ArgumentParser):
    """The parser of a command."""

    def error(self, message: str) -> NoReturn:
        """End the process with status 2, after the usage and a paragraph that fits the terminal."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{fitted(f'{self.prog}: error: {message}', sys.stderr)}\n")


class Commands(Mapping[str, argparse.ArgumentParser]):
    """
    The parsers of `calm` by command, each made when it is wanted: those of the core, then those of plug-ins by name.

    `core` has for each command its help and "module:register". Plug-ins are read when one is wanted that is no other.
    """

    def __init__(self, core: Mapping[str, tuple[str, str]]) -> None:
        self._core = {name: Given(name, target, "core", NAME, text) for name, (text, target) in core.items()}
        self._made: dict[str, argparse.ArgumentParser] = {}

    def __getitem__(self, name: str) -> argparse.ArgumentParser:
        if name not in self._made:
            found = self._core.get(name) or find("COMMANDS", name)
            if found is None:
                raise KeyError(name)
            alone = Command(prog="calm").add_subparsers(parser_class=Command)
            found.load()(alone)
            self._made |= alone.choices
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        if name in self._core or not isinstance(name, str) or name.startswith("-"):
            return name in self._core
        return find("COMMANDS", name) is not None

    def __iter__(self) -> Iterator[str]:
        yield from self._core
        yield from sorted(given("COMMANDS").keys() - self._core)

    def __len__(self) -> int:
        return sum(1 for _ in self)  # a list would ask for it

    @property
    def helps(self) -> dict[str, str]:
        """What each command does, in a line."""
        return {name: (self._core.get(name) or given("COMMANDS")[name]).help for name in self}


def helps_of(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> dict[str, str]:
    """Return what each of some commands does, in a line."""
    made: object = verbs.choices
    return made.helps if isinstance(made, Commands) else {one.dest: one.help or "" for one in verbs._choices_actions}


def parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Return what a command line says; a wrong one ends the process with status 2, and with words on how to fix it."""
    _refuse_unknown_command(parser, words)
    _refuse_without_any(parser, words)
    options, left = parser.parse_known_args(words)
    if left:
        name, chosen, _ = command_in(parser, words)
        _refuse(chosen, name, left)
    return options


def command_in(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[str, argparse.ArgumentParser, Sequence[str]]:
    """Return the command that a command line names, such as "batch write", its parser, and the words after it."""
    name: list[str] = []
    rest = words
    while (verbs := verbs_of(parser)) is not None and rest and rest[0] in verbs.choices:
        name.append(rest[0])
        parser, rest = verbs.choices[rest[0]], rest[1:]
    return " ".join(name), parser, rest


def verbs_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    """Return the commands that a parser knows; None if it is that of a command without others."""
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


def _refuse_unknown_command(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    name, last, rest = command_in(parser, words)
    verbs = verbs_of(last)
    if verbs is not None and not rest:
        known = f"one of {', '.join(verbs.choices)}" if name else "a command, such as calm audit judge.toml"
        last.error(f"expected {known}; `{last.prog} --help` describes them")
    if verbs is None or rest[0].startswith("-"):
        return
    word, whole = rest[0], f"{name} ".lstrip()
    if close := closest(word, verbs.choices):
        hint = f"did you mean `calm {whole}{close}`?"
    elif not name and (word.endswith(".toml") or ":" in word):
        hint = f"to audit a judge: `calm audit {word}`"
    else:
        hint = f"known: {', '.join(verbs.choices)}"
    unread = "" if name else "".join(f"; {one}" for one in troubles())
    last.error(printable(f"there is no command {whole}{word}; {hint}{unread}"))


def _refuse_without_any(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Say what a command takes, where it gets nothing at all; of a judge, also what one is."""
    name, last, rest = command_in(parser, words)
    if rest or verbs_of(last) is not None:
        return
    needed = [one for one in last._actions if not one.option_strings and one.nargs in (None, "+")]
    if any(one.dest == "judge" for one in last._actions if not one.option_strings):
        last.error(
            f"which judge? Give the path of its judge.toml: calm {name} judge.toml. If you have none, `calm init` "
            f"writes one; to look at the command first, calm {name} planted takes a simulated judge"
        )
    if needed:
        wanted = " and ".join(f"{one.metavar} ({one.help})" for one in needed)
        example = " ".join((last.epilog or "").split()).removeprefix("example: ")
        last.error(f"expected {wanted}, got nothing; for example: {example}")


def _refuse(parser: argparse.ArgumentParser, name: str, left: Sequence[str]) -> NoReturn:
    """End the process because of words that the parser of a command does not know."""
    known = [
        string for action in parser._actions for string in action.option_strings if action.help != argparse.SUPPRESS
    ]
    said = []
    for word in left:
        option = word.partition("=")[0]
        if not option.startswith("-"):
            continue
        if close := closest(option, known):
            said.append(f"there is no option {option}; did you mean {close}?")
        elif name in BEHIND:
            said.append(
                f"there is no option {option}; an option of pytest follows after --: calm {name} JUDGE -- {option}"
            )
        else:
            said.append(f"there is no option {option}; `calm {name} --help` lists them")
    if not said:
        said = [f"unexpected: {' '.join(left)}; `calm {name} --help` shows what it takes"]
    parser.error(printable("; ".join(said)))
