"""Where the code of a user raised an exception, and what it said, in few words."""

from __future__ import annotations

import asyncio
import sysconfig
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Final

LONGEST_MESSAGE: Final = 300
"""Characters of the message of an exception that are shown."""
_INSTALLED: Final = tuple(
    {
        *(str(Path(__file__).parent.parent), str(Path(asyncio.__file__).parent.parent)),
        *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)
"""Folders whose code is not the user's."""


def in_short(error: BaseException) -> str:
    """Return the kind and the message of an exception, in a line that is not long."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - it is the user's code, which may fail here, too
        said = "its message cannot be read"
    text = " ".join(f"{type(error).__name__}: {said}".split()).removesuffix(":")
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}..."


def place_of(error: BaseException) -> str:
    """
    Return the last line of the user's own code in the trace of an exception, as "judges.py, line 12, in lookup".

    Code that is installed, and calm's own, is not the user's; where there is no other, the last line will do.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((*_INSTALLED, "<"))]
    if not (own or frames):
        return "its code"
    frame = (own or frames)[-1]
    path = Path(frame.filename)
    with suppress(ValueError):
        path = path.relative_to(Path.cwd())
    return f"{path.as_posix()}, line {frame.lineno}, in {frame.name}"
