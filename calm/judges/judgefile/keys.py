"""The tables and keys of judge.toml: the one place that lists them, and what each may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, TypeAlias

from calm.core.templates import FORMS, NOTES
from calm.core.verdict import RULES, TASKS, Task
from calm.models.server import PROVIDERS
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
    {"model", "messages", "input", "system", "stream", "n", "max_tokens", "max_completion_tokens", "max_output_tokens"}
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
