"""Write TOML: tables of plain values, as a judge.toml holds them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = str | bool | int | float | list[str] | Mapping[str, "Value"]
"""What stands behind a key."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def quoted(text: str) -> str:
    r"""
    Return a text as a string of TOML.

    >>> print(quoted('a "b" \\ c'))
    "a \"b\" \\ c"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml(tables: Mapping[str, Mapping[str, Value]], head: str = "") -> str:
    """
    Return tables as TOML; `head` is a comment above them. Whole numbers are written without a point.

    >>> print(toml({"judge": {"name": "j"}, "verdict": {"values": {"PASS": 1.0}}}, "mine"), end="")
    # mine
    [judge]
    name = "j"
    <BLANKLINE>
    [verdict]
    values = { PASS = 1 }
    """
    lines = [f"# {line}" for line in head.splitlines()]
    parts = [
        "\n".join([f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())])
        for name, table in tables.items()
    ]
    return "\n".join([*lines, "\n\n".join(parts)]) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else quoted(name)


def _value(value: Value) -> str:
    if isinstance(value, str):
        literal = "\\" in value and value.isprintable() and "'''" not in value and not value.endswith("'")
        mark = "'''" if "'" in value else "'"
        return f"{mark}{value}{mark}" if literal else quoted(value)  # a pattern is written as it is
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(one)}' for key, one in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    return f"{value:g}" if value == int(value) and abs(value) < 1e6 else repr(value)
