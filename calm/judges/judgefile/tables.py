"""A TOML file and its tables, with a line for each thing that is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar
from unicodedata import category

from calm.core.files import MOST_SETTINGS, read_bytes, read_toml, undecoded, unopened
from calm.errors import ConfigError, nearest
from calm.judges.judgefile.keys import KEYS, MOST_COUNT, Key

C = TypeVar("C", bound=str)

_UNSEEN: Final = frozenset({"Cc", "Zl", "Zp"})
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction in which a text is shown."""
_OWN: Final = Key("text")
"""A key that the user names."""


def read_document(path: Path) -> dict[str, object]:
    """Return what a TOML file holds; a `ConfigError` if it cannot be read."""
    return read_toml(path, "a judge.toml")


def dict_of(value: object) -> dict[str, object]:
    """Return a table; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def shown(name: str, value: object) -> str:
    """Return a key with its value for a message, cut to 100 characters."""
    text = f"{name}={value!r}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def one_of(known: tuple[C, ...], name: str | None) -> C | None:
    """Return the name if it is a known one."""
    return next((k for k in known if k == name), None)


@dataclass(slots=True)
class Table:
    """One table of the file. `problems` gets what is wrong with it; `keys` are what it may have, and what they hold."""

    path: Path
    name: str
    values: dict[str, object]
    problems: list[str]
    keys: Mapping[str, Key] = field(default_factory=dict)

    def say(self, key: str, problem: str) -> None:
        """Note what is wrong with a key."""
        self.problems.append(f"{self.path}: [{self.name}] {key}: {problem}")

    def expected(self, key: str, what: str) -> None:
        """Note that a key has another value than it should have."""
        self.say(key, f"expected {what}, got {shown(key, self.values[key])}")

    def unknown(self) -> None:
        """Note each key that the table does not have."""
        unknown = [key for key in self.values if key not in self.keys]
        later = self.problems[:]
        self.problems.clear()
        for key in unknown:
            self.say(key, f"unknown key{nearest(key, self.keys)}")
        self.problems += later  # they may only follow from a name that is written wrongly

    def rule(self, key: str) -> Key:
        """Return what a key may be."""
        return self.keys.get(key, _OWN)

    def get(self, key: str) -> object:
        """Return the value of a key; None if it has none."""
        return self.values.get(key)

    def text(self, key: str, *, required: bool = False) -> str | None:
        """Return a text; None, which is noted, for any other value."""
        value = self.get(key)
        if value is None:
            if required or self.rule(key).required:
                self.say(key, "missing; expected a text")
            return None
        if isinstance(value, str) and (value.strip() or self.rule(key).kind == "blank"):
            return value
        self.expected(key, "a text in quotes" if not isinstance(value, str) else "a text that is not blank")
        return None

    def names(self, key: str) -> list[str]:
        """Return a text, or the texts of a list; nothing, which is noted, for any other value."""
        value = self.get(key)
        names = [value] if isinstance(value, str) else value
        if isinstance(names, list) and all(isinstance(name, str) and name.strip() for name in names):
            return names
        if value is not None:
            self.expected(key, "a name, or a list of names")
        return []

    def line(self, key: str) -> str | None:
        """Return a text that is shown as it is: one line, without what moves a terminal's cursor or turns its text."""
        text = self.text(key)
        odd = sorted({f"U+{ord(c):04X}" for c in text or "" if category(c) in _UNSEEN or c in _TURNING})
        if odd:
            self.say(key, f"expected a text without control characters, got {key} with {', '.join(odd)}; take them out")
            return None
        return text

    def choice(self, key: str) -> str | None:
        """Return one of some names; None, which is noted, for any other value."""
        names = self.rule(key).choices
        value = self.get(key)
        if value is None:
            if self.rule(key).required:
                self.say(key, f"missing; expected one of {', '.join(names)}")
            return None
        if isinstance(value, str) and value in names:
            return value
        hint = nearest(value, names) if isinstance(value, str) else f"; known: {', '.join(names)}"
        self.say(key, f"unknown value, got {shown(key, value)}{hint}")
        return None

    def number(self, key: str) -> float | None:
        """Return a finite number within its bounds; None, which is noted, for any other value."""
        value, rule = self.get(key), self.rule(key)
        if value is None:
            if rule.required:
                self.say(key, "missing; expected a number")
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value) if abs(value) < 1e300 else math.inf
            if math.isfinite(number) and rule.least <= number <= rule.most and number > rule.above:
                return number
        bound = f" of at least {rule.least:g}" if rule.least > -math.inf else ""
        bound = f" above {rule.above:g}" if rule.above > -math.inf else bound
        bound = f" from {rule.least:g} to {rule.most:g}" if rule.most < math.inf else bound
        self.expected(key, f"a number{bound}")
        return None

    def count(self, key: str) -> int | None:
        """Return a whole number above 0; None, which is noted, for any other value."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_COUNT:
            return value
        self.expected(key, "a whole number above 0")
        return None

    def truth(self, key: str) -> bool | None:
        """Return true or false; None, which is noted, for any other value."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.expected(key, "true or false")
        return None

    def table(self, key: str) -> Table | None:
        """Return an inner table; None, which is noted, for any other value."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, dict):
            name = f"{self.name}.{key}"
            return Table(self.path, name, value, self.problems, KEYS.get(name, {}))
        self.expected(key, "a table such as { name = value }")
        return None

    def texts(self, key: str) -> dict[str, str]:
        """Return an inner table of texts."""
        found = self.table(key)
        if found is None:
            return {}
        pairs = {name: found.text(name) for name in found.values}
        return {name: text for name, text in pairs.items() if text is not None}

    def file(self, key: str) -> tuple[Path, str] | None:
        """Return the path and the text of the file that a key names, line ends and all."""
        name = self.text(key)
        if name is None:
            return None
        path = self.path.parent / name
        try:
            return path, read_bytes(path, MOST_SETTINGS).decode("utf-8")
        except ConfigError as error:
            self.say(key, str(error))
        except OSError as error:
            self.say(key, f"the file {unopened(path, error, 'a text')} (paths are relative to judge.toml)")
        except UnicodeDecodeError as error:
            self.say(key, f"the file {undecoded(path, error)}")
        except ValueError as error:
            self.say(key, f"expected the name of a file, got {shown(key, name)} ({error})")
        return None
