"""The keys of a judge file, and its tables as they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar
from unicodedata import category

from calm.core.edits import FORMS, NOTES
from calm.core.files import MOST_SETTINGS, read_bytes, read_toml, undecoded, unopened
from calm.core.verdict import RULES, TASKS, Task
from calm.errors import ConfigError, closest, nearest
from calm.models.apis import PROVIDERS
from calm.models.transport import TRANSPORTS

Kind: TypeAlias = Literal[
    "text", "blank", "line", "file", "names", "choice", "number", "count", "truth", "table", "texts", "variable",
    "variables", "list",
]  # fmt: skip
"""
What a key holds: a text (`blank`: one that may be blank; `line`: one without control characters; `file`: the name of a
file; `variable`: the name of an environment variable), a name or a list of names, one of some choices, a number, a
whole number above 0, true or false, a table (`texts`: of texts; `variables`: of names of variables), or a list.
"""

ORDERS: Final = ("balanced", "as-given")
ENDS: Final = ("high", "low")
"""The ends of a scale that can be good."""
VARIABLE: Final = r"(?!(?=.*[a-z])(?:.{31,}|[^_]{16,})$)[A-Za-z_][A-Za-z0-9_]{0,63}"
"""The name of an environment variable, whole; a long one with small letters may be a key that was pasted in."""
HEADER: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
"""The name of an HTTP header, whole."""
OWN_BODY: Final = frozenset(
    {
        *("model", "messages", "input", "system", "stream", "n", "max_tokens", "max_completion_tokens"),
        *("max_output_tokens", "state", "questions"),
    }
)
"""What `extra_body` must not hold: it would make the record of the run untrue, or the reply unreadable."""
MOST_COUNT: Final = 2**53 - 1
"""The greatest whole number that a key takes."""


@dataclass(frozen=True, slots=True)
class Key:
    """What a key of a table may be: a number lies in [least, most] and is greater than `above`."""

    kind: Kind
    required: bool = False
    choices: tuple[str, ...] = ()
    least: float = -inf
    above: float = -inf
    most: float = inf


_TEXT, _FILE, _LINE, _COUNT, _NUMBER = Key("text"), Key("file"), Key("line"), Key("count"), Key("number")
_RANGE: Final = {"low": _NUMBER, "high": _NUMBER, "step": Key("number", above=0)}
_JUDGE: Final = {
    "name": Key("line", required=True),
    "task": Key("choice", required=True, choices=TASKS),
    "cases": Key("names"),
    "family": _LINE,
}

TABLES: Final = ("judge", "model", "prompt", "verdict")
"""The tables of a judge that is no panel."""
KEYS: Final[Mapping[str, Mapping[str, Key]]] = {
    "judge": {**_JUDGE, "mitigations": Key("list")},
    "model": {
        "provider": Key("choice", required=True, choices=PROVIDERS),
        "model": Key("line", required=True),
        "served_as": _LINE,
        "base_url": _TEXT,
        "api_key_env": Key("variable"),
        "headers": Key("texts"),
        "headers_env": Key("variables"),
        "query": Key("texts"),
        "query_env": Key("variables"),
        "extra_body": Key("table"),
        "max_tokens": _COUNT,
        "context_window": _COUNT,
        "prompt_cache": Key("truth"),
        "temperature": Key("number", least=0),
        "timeout_s": Key("number", above=0),
        "greeting": Key("truth"),
        "transport": Key("choice", choices=TRANSPORTS),
        "concurrency": _COUNT,
        "rpm": _COUNT,
        "tpm": _COUNT,
        "price_usd_per_mtok": Key("table"),
    },
    "model.price_usd_per_mtok": {
        "input": Key("number", required=True, least=0),
        "output": Key("number", required=True, least=0),
        "batch": Key("number", least=0, most=1),
        "cache_read": Key("number", least=0),
        "cache_write": Key("number", least=0),
    },
    "prompt": {
        "system": Key("blank"),
        "system_file": _FILE,
        "user": _TEXT,
        "user_file": _FILE,
        "messages_file": _FILE,
        "negative_system": Key("blank"),
        "negative_system_file": _FILE,
        "negative_user": _TEXT,
        "negative_user_file": _FILE,
        "order": Key("choice", choices=ORDERS),
        "notes": Key("choice", choices=NOTES),
    },
    "verdict": {
        "format": Key("choice", choices=FORMS),
        "field": _TEXT,
        "tag": _TEXT,
        "pattern": _TEXT,
        "schema_file": _FILE,
        "values": Key("table"),
        "scale": Key("table"),
        "formula": _TEXT,
        "parts": Key("table"),
    },
    "verdict.parts.NAME": {"field": _TEXT, "tag": _TEXT, "pattern": _TEXT, "label": _TEXT, **_RANGE},
    "verdict.scale": {**_RANGE, "best": Key("choice", choices=ENDS)},
    "labels": {
        "classes": Key("list", required=True),
        "ordered": Key("truth"),
        "harm": Key("list"),
        "damaged": _TEXT,
        "meanings": Key("texts"),
    },
    "panel": {
        "members": Key("list", required=True),
        "weights": Key("list"),
        "rule": Key("choice", choices=RULES),
    },
    "recorded": {"file": Key("file", required=True), "columns": Key("texts"), "model": _LINE},
    "recorded.columns": dict.fromkeys(("case", "order", "framing", "repeat", "criterion", "verdict", "reply"), _TEXT),
}
"""The keys of each table. Tables whose keys are the user's own (headers, query, extra_body, values) are not listed."""
OF_PANEL: Final[Mapping[str, Key]] = {"name": _LINE, "cases": _JUDGE["cases"]}
"""The keys of `[judge]` beside `[panel]`."""
OF_RECORDED: Final[Mapping[str, Key]] = _JUDGE
"""The keys of `[judge]` beside `[recorded]`."""
OF_WRITER: Final[Mapping[str, Key]] = {"name": _LINE, "family": _LINE}
"""The keys of `[writer]` in a writer.toml."""

TEMPLATES: Final = ("system", "user", "negative_system", "negative_user")
"""The keys of `[prompt]` that hold a template; each has a twin that ends in `_file`, and one of the two is given."""
ONE_FORMAT: Final[Mapping[str, str]] = {"field": "json", "schema_file": "json", "tag": "tag", "pattern": "regex"}
"""The keys of `[verdict]` that one format alone takes."""
PARTED: Final[Mapping[str, str]] = {
    "json": "field",
    "tag": "tag",
    "regex": "pattern",
    "brackets": "label",
    "last-line": "label",
}
"""The key that says how a part of a verdict is written, by format: other formats have no parts."""
PARTED_TASKS: Final[tuple[Task, ...]] = ("score", "pairwise")
"""The tasks of verdicts that may have parts."""


C = TypeVar("C", bound=str)

_UNSEEN: Final = frozenset({"Cc", "Zl", "Zp"})
_TURNING: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction in which a text is shown."""
_SECRET: Final = ("api_key_env", "headers", "headers_env", "query", "query_env")
_TELLING: Final = re.compile("tokens?$|key|secret|pass|pw|auth|header|bearer|cred|cookie|sign", re.IGNORECASE)
_OWN: Final = Key("text")
"""A key that the user names."""


def read_document(path: Path) -> dict[str, object]:
    """Return what a TOML file holds; a `ConfigError` if it cannot be read."""
    return read_toml(path, "a judge.toml")


def dict_of(value: object) -> dict[str, object]:
    """Return a table; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_meant(values: Mapping[str, object], known: Collection[str], but: Collection[str] = ()) -> dict[str, object]:
    """
    Return values by the known name that each name most likely means, where no value has that; never one of `but`.

    A name that speaks of a secret stays as it is: a message about what it means would show its value.
    """
    free = set(known) - {*values}
    meant = {name: closest(name, free) for name in values if name not in known and not _TELLING.search(name)}
    return {taken if (taken := meant.get(name)) and taken not in but else name: one for name, one in values.items()}


def shown(name: str, value: object) -> str:
    """Return a key with its value for a message, cut to 100 characters."""
    text = f"{name}={value!r}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def one_of(known: tuple[C, ...], name: str | None) -> C | None:
    """Return the name if it is a known one."""
    return next((k for k in known if k == name), None)


@dataclass(slots=True)
class Table:
    """
    One table of the file. `problems` gets what is wrong with it; `keys` are what it may have, and what they hold.

    A key that is written wrongly is noted by `unknown`. Its value is read as that of the key that it most likely means,
    so nothing else is said of that; not so where the value may be secret.
    """

    path: Path
    name: str
    values: dict[str, object]
    problems: list[str]
    keys: Mapping[str, Key] = field(default_factory=dict)
    unknowns: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.unknowns = [key for key in self.values if key not in self.keys]
        self.values = as_meant(self.values, self.keys, _SECRET)

    def say(self, key: str, problem: str) -> None:
        """Note what is wrong with a key."""
        self.problems.append(f"{self.path}: [{self.name}] {key}: {problem}")

    def expected(self, key: str, what: str) -> None:
        """Note that a key has another value than it should have."""
        self.say(key, f"expected {what}, got {shown(key, self.values[key])}")

    def unknown(self) -> None:
        """Note each key that the table does not have."""
        later = self.problems[:]
        self.problems.clear()
        for key in self.unknowns:
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
        return closest(value, names) or None if isinstance(value, str) else None

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

    def table(self, key: str, of: str = "") -> Table | None:
        """Return an inner table, of a kind that has keys of its own; None, which is noted, for any other value."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, dict):
            name = f"{self.name}.{key}"
            return Table(self.path, name, value, self.problems, KEYS.get(of or name, {}))
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
