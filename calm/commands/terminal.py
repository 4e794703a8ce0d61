"""What all commands print goes through here: no credential, no control character, no command to a CI service."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from shutil import get_terminal_size
from types import TracebackType
from typing import TextIO

from calm.models.secrets import cleaned, hidden, hidden_where_cut
from calm.results.wording import obeyed_by_none

_CONTROLS = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]"
)
_SEQUENCES = re.compile(r"\x1b(?:\[[\d;]*[mKA]|[D78])")
"""Colours, and the steps of a line of progress: what calm and pytest write to a terminal themselves."""


class Terminal:
    """A stream of text that shows control characters as escapes; colours pass where a person sees them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._colours = stream.isatty() or any(os.environ.get(name) for name in ("FORCE_COLOR", "PY_COLORS"))

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, made safe, and return its length."""
        self._stream.write(self.safe(text))
        return len(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def safe(self, text: str) -> str:
        """Return a text that does nothing but show itself."""
        shown = obeyed_by_none(hidden(text))
        if not self._colours:
            return _escaped(shown.replace("\r", "\\r"))
        parts = _SEQUENCES.split(shown)
        between = _SEQUENCES.findall(shown)
        return "".join(_escaped(part) + sign for part, sign in zip(parts, [*between, ""], strict=True))


def progress_line(line: str, *, worth: bool) -> None:
    """
    Show how far a command is: on a terminal in one line that changes, elsewhere only what is worth a line of its own.

    A command whose output follows ends the line with `end_of_progress`.
    """
    if sys.stderr.isatty():
        width = get_terminal_size().columns - 1
        print(f"\r{line[:width]}\x1b[K", end="", file=sys.stderr, flush=True)
    elif worth:
        print(line, file=sys.stderr, flush=True)


def end_of_progress() -> None:
    """End the line of progress, if a terminal shows one."""
    if sys.stderr.isatty():
        print(file=sys.stderr, flush=True)


def _escaped(text: str) -> str:
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


@contextmanager
def shielded() -> Iterator[None]:
    """Let all that is printed go through a `Terminal`, and what a judge's code prints lose credentials."""
    out, error = sys.stdout, sys.stderr
    for one in (out, error):
        if isinstance(one, TextIOWrapper) and one.encoding.lower().replace("-", "") != "utf8":
            one.reconfigure(errors="replace")  # a code page of Windows lacks most letters
    with cleaned():
        sys.stdout, sys.stderr = (Terminal(one or StringIO()) for one in (out, error))  # it may be closed: `>&-`
        try:
            yield
        finally:
            sys.stdout, sys.stderr = out, error


def print_unexpected(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error that nobody expected as Python does, made safe."""
    text = "".join(traceback.format_exception(kind, error, trace))
    Terminal(sys.stderr).write(hidden_where_cut(text))
