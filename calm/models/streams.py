"""
What this process and its children print, without the credentials that are known: also where a judge's own code prints.

Python's two streams are cleaned as they are written to. What goes by the number of a stream (`os.write`, code in C, a
program that a judge starts) goes through a pipe, and a thread passes it on.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOWrapper
from typing import Final

from calm.models.vault import hidden

CHUNK: Final = 65_536
"""Bytes that are passed on at once; of what is longer, whole lines."""


@contextmanager
def cleaned(*copies: Sequence[int]) -> Iterator[None]:
    """
    Take known credentials out of stdout and stderr in this block, where they are the streams of the process.

    `copies` are further numbers of stdout and of stderr, which somebody keeps to set them back.
    """
    with ExitStack() as stack:
        for place, name in enumerate(("stdout", "stderr")):
            stream = getattr(sys, name)
            if isinstance(stream, TextIOWrapper) and "write" not in vars(stream):  # else it is cleaned already
                with suppress(OSError, ValueError):  # it has no number, or is closed
                    if stream.fileno() == place + 1:
                        stack.enter_context(_clean(name, stream, [place + 1, *(c[place] for c in copies)]))
        yield


@contextmanager
def _clean(name: str, stream: TextIOWrapper, numbers: Sequence[int]) -> Iterator[None]:
    stream.flush()
    real = os.dup(numbers[0])
    direct = open(real, "w", buffering=1, encoding=stream.encoding, errors=stream.errors, closefd=False)  # noqa: SIM115
    through, straight, flushed = stream.write, direct.write, stream.flush
    source, sink = os.pipe()
    ours = os.fstat(sink)

    def write(text: str) -> int:
        free = os.path.samestat(os.fstat(numbers[0]), ours)  # else somebody captures what goes by the number
        return (straight if free else through)(hidden(text))

    def flush() -> None:
        flushed()
        direct.flush()

    for one in (stream, direct):  # in place: others keep the object
        one.write = write  # type: ignore[method-assign]
    stream.flush, stream.isatty = flush, direct.isatty  # type: ignore[method-assign]
    before = getattr(sys, f"__{name}__")
    setattr(sys, f"__{name}__", direct)  # whoever asks for the width of the terminal asks this
    for number in numbers:
        os.dup2(sink, number)
    os.close(sink)
    thread = threading.Thread(target=_pass_on, args=(source, real), name=f"calm-{name}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with suppress(OSError):  # nobody reads it any more
            direct.flush()
        for number in numbers:
            with suppress(OSError):  # it is closed, or has been given to somebody else
                if os.path.samestat(os.fstat(number), ours):
                    os.dup2(real, number)
        setattr(sys, f"__{name}__", before)
        del stream.write, stream.flush, stream.isatty
        thread.join(timeout=1.0)  # a child may hold its end of the pipe, and write still
        if not thread.is_alive():
            os.close(real)


def _pass_on(source: int, real: int) -> None:
    held = b""
    while chunk := os.read(source, CHUNK):
        whole, held = held + chunk, b""
        if len(chunk) == CHUNK:  # it may be cut in a credential
            whole, end, held = whole.rpartition(b"\n")
            whole += end
        _write(real, whole)
    _write(real, held)
    os.close(source)


def _write(real: int, data: bytes) -> None:
    left = memoryview(hidden(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))
    with suppress(OSError):  # nobody reads it any more: whoever writes by the number goes on
        while left:
            left = left[os.write(real, left) :]
