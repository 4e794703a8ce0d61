"""
Operations: how much work a function does on a text, counted and not timed, so that a busy machine changes nothing.

Counted are the lines of Python that run, the calls, and the characters that a method of a text reads. A counter of
lines and calls alone does not see the last: `text.count("$", 0, at)` is one call, and reads `at` characters. So the
function gets its text as a `str` whose methods count what they read, and so do the parts that they return. A text that
is made anew, as by `"".join(...)`, is a plain one: of its methods those count that always read all of it. What a
regular expression does within one call is not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType, TracebackType
from typing import Any

_READ_ALL = frozenset(
    ("casefold", "encode", "lower", "lstrip", "replace", "rstrip", "split", "splitlines", "strip", "translate", "upper")
)
"""Methods that read a whole text, whatever their arguments."""
_COUNTED = ("__add__", "__getitem__", *(name for name in dir(str) if not name.startswith("_")))
_OTHERS = ("format", "format_map", "join", "maketrans")
"""Methods that read their arguments."""


class Tally:
    """
    The operations that are done within it: `with tally: work(tally.text("..."))`, then `tally.operations`.

    Within it there is no other tracer, such as that of a debugger.
    """

    def __init__(self) -> None:
        self.operations = 0
        self._kind = _counting(self)
        self._before: tuple[Any, Any] = (None, None)

    def text(self, plain: str) -> str:
        """Return a text that counts what its methods read."""
        return self._kind(plain)

    def __enter__(self) -> Tally:
        self._before = sys.gettrace(), sys.getprofile()
        sys.settrace(self._line)
        sys.setprofile(self._call)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        sys.setprofile(self._before[1])
        sys.settrace(self._before[0])

    def _line(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
        self.operations += 1
        return self._line

    def _call(self, frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call":
            self.operations += 1
            text = getattr(called, "__self__", None)
            if type(text) is str and called.__name__ in _READ_ALL:
                self.operations += len(text)


def _counting(tally: Tally) -> type[str]:
    class Counting(str):
        __slots__ = ()

        def __contains__(self, part: object) -> bool:
            return self.find(part) >= 0  # type: ignore[arg-type]  # a part that is no text is refused as ever

    def counted(name: str) -> Callable[..., Any]:
        plain = getattr(str, name)

        def method(self: str, *given: Any, **named: Any) -> Any:
            found = plain(self, *given, **named)
            tally.operations += _read(name, len(self), given, found)
            return again(found)

        return method

    def again(found: Any) -> Any:
        if isinstance(found, list | tuple):
            return type(found)(map(again, found))
        return Counting(found) if isinstance(found, str) else found

    for name in _COUNTED:
        if name not in _OTHERS:
            setattr(Counting, name, counted(name))
    return Counting


def _read(name: str, length: int, given: Sequence[Any], found: Any) -> int:
    match name:
        case "__add__" | "__getitem__":
            return len(found)
        case "startswith" | "endswith":
            return 1
        case "partition":
            return len(found[0])
        case "rpartition":
            return len(found[2])
        case "count" | "find" | "index" | "rfind" | "rindex":
            start, end, _ = slice(*(*given[1:], None, None)[:2]).indices(length)
            if name == "count" or found < 0:
                return max(0, end - start)
            return int(end - found if name.startswith("r") else found - start)
        case _:
            return length
