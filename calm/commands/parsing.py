"""What a command line says: an unknown command or option is answered with the one that was likely meant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final, NoReturn

from calm.errors import closest
from calm.results.wording import printable

BEHIND: Final = ("audit", "plan", "mitigate", "batch write")
"""Commands that hand what follows `--` to pytest."""


def parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Return what a command line says; a wrong one ends the process with status 2, and with words on how to fix it."""
    _refuse_unknown_command(parser, words)
    _refuse_without_judge(parser, words)
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
    if verbs is None or not rest or rest[0].startswith("-"):
        return
    word, whole = rest[0], f"{name} ".lstrip()
    if close := closest(word, verbs.choices):
        hint = f"did you mean `calm {whole}{close}`?"
    elif not name and (word.endswith(".toml") or ":" in word):
        hint = f"to audit a judge: `calm audit {word}`"
    else:
        hint = f"known: {', '.join(verbs.choices)}"
    last.error(printable(f"there is no command {whole}{word}; {hint}"))


def _refuse_without_judge(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Say what a judge is, where a command that takes one gets nothing at all."""
    name, last, rest = command_in(parser, words)
    if not rest and any(action.dest == "judge" and not action.option_strings for action in last._actions):
        last.error(
            f"which judge? Give the path of its judge.toml: calm {name} judge.toml. If you have none, `calm init` "
            f"writes one; to look at the command first, calm {name} planted takes a simulated judge"
        )


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
