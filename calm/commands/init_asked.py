"""The questions of `calm init`: a person at a terminal is asked what no option, no prompt and no table says."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from calm.errors import ConfigError
from calm.results.wording import fitted, printable


def at_terminal() -> bool:
    """Return whether a person is there to be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def answered(question: str, usual: str = "") -> str:
    """Ask a person, and return what was written; the `usual` answer for an empty line or the end of the input."""
    try:
        said = input(printable(f"{question} [{usual}]? " if usual else f"{question}? ")).strip()
    except EOFError:
        said = ""
        if not usual:
            raise ConfigError(f"{question}: expected an answer, got the end of the input") from None
    return said or usual


def chosen(question: str, known: Sequence[str], usual: str) -> str:
    """Ask a person for one of some names, until it is one."""
    while (said := answered(f"{question}: {', '.join(known)}", usual)) not in known:
        say(f"expected one of {', '.join(known)}, got {said}")
    return said


def say(text: str, *, error: bool = False) -> None:
    """Print a line; at a terminal, several that are no wider than it."""
    stream = sys.stderr if error else sys.stdout
    print(fitted(printable(text), stream), file=stream)
