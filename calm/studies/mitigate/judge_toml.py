"""Write the judge.toml with the mitigations, for any folder."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from calm.core.toml_text import quoted
from calm.errors import ConfigError

_TABLE = re.compile(r"^[ \t]*\[([^\[\]\n]+)\][ \t]*(?:#.*)?$", re.MULTILINE)
_LIST = re.compile(r"^[ \t]*mitigations[ \t]*=[ \t]*\[[^\]]*\][ \t]*(?:#.*)?\n?", re.MULTILINE)
_FILE = re.compile(r"^([ \t]*\w+_file[ \t]*=[ \t]*)([\"'])([^\"'\n]+)\2", re.MULTILINE)

_CASES = re.compile(r"^[ \t]*cases[ \t]*=[ \t]*(?:\[[^\]]*\]|[\"'][^\"'\n]*[\"'])", re.MULTILINE)
_QUOTED = re.compile(r"([\"'])([^\"'\n]+)\1")

FILES = (".toml", ".json", ".jsonl")
"""How the files end that a mitigation names."""


def with_mitigations(text: str, names: Sequence[str], source: Path, folder: Path) -> str:
    """
    Return a judge.toml with other mitigations, for another folder: its paths are relative to that folder.

    Raises:
        ConfigError: it has no table [judge] to hold the line.
    """
    moved = _FILE.sub(lambda m: f"{m[1]}{m[2]}{_from(folder, source.parent / m[3])}{m[2]}", text)

    def moved_path(path: re.Match[str]) -> str:
        return f"{path[1]}{_from(folder, source.parent / path[2])}{path[1]}"

    moved = _CASES.sub(lambda m: _QUOTED.sub(moved_path, m[0]), moved)
    found = next((m for m in _TABLE.finditer(moved) if m[1].strip() == "judge"), None)
    if found is None:
        raise ConfigError(f"{source}: expected a line [judge], under which the mitigations could be written")
    after = next((m.start() for m in _TABLE.finditer(moved) if m.start() > found.start()), len(moved))
    table = _LIST.sub("", moved[found.end() : after])
    shown = ", ".join(quoted(_moved(name, source.parent, folder)) for name in names)
    return f"{moved[: found.end()]}\nmitigations = [{shown}]{table}{moved[after:]}"


def _from(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _moved(name: str, old: Path, new: Path) -> str:
    """Return the name of a mitigation with its files relative to another folder."""
    kind, colon, argument = name.partition(":")
    parts = [_from(new, old / part) if part.endswith(FILES) else part for part in argument.split("+")]
    return f"{kind}{colon}{'+'.join(parts)}"
