"""Words of a command as a person copies it into a shell: that of POSIX, or those of Windows."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from typing import Final

_PLAIN: Final = re.compile(r"[\w@+=:,./\\-]+")


def quote(word: str) -> str:
    """Return a word in quotes, if it needs any; cmd.exe knows double ones alone, and PowerShell takes them, too."""
    if os.name != "nt":
        return shlex.quote(word)
    return word if _PLAIN.fullmatch(word) else '"{}"'.format(word.replace('"', '\\"'))


def join(words: Iterable[str]) -> str:
    """Return a command of some words."""
    return " ".join(map(quote, words))
