"""
What Python prints in this process, without the credentials that are known: also where a judge's own code prints.

What goes by the number of a stream (`os.write`, code in C, a program that a judge starts) does not come through here. A
pipe could clean it, but its reader would need the interpreter: code that holds that, and prints, would wait for ever,
and a crash would lose its last words.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper

from calm.models.vault import hidden


@contextmanager
def cleaned() -> Iterator[None]:
    """Take known credentials out of what is written to stdout and stderr in this block, by whichever thread."""
    with ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper) and "write" not in vars(stream):  # else it is cleaned already
                stack.enter_context(_clean(stream))
        yield


@contextmanager
def _clean(stream: TextIOWrapper) -> Iterator[None]:
    through = stream.write

    def write(text: str) -> int:
        through(hidden(text))
        return len(text)

    stream.write = write  # type: ignore[method-assign]  # in place: others keep the object
    try:
        yield
    finally:
        del stream.write
