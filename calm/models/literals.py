"""Credentials that stand in a judge.toml itself, in place of a variable's name: told by name, shape and entropy."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from calm.models.vault import SHAPES

if TYPE_CHECKING:
    from calm.models.server import Server

LEAST_RANDOM: Final = 20
"""Letters and digits in a row that can look random: names, versions, dates and UUIDs have dashes and dots between."""
LEAST_ENTROPY: Final = 3.25
"""Bits a character, by the frequencies in the row itself: 20 random hexadecimal digits have about 3.5."""
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
_SECRET_WORDS: Final = frozenset(
    {
        *("apikey", "auth", "authorization", "bearer", "cookie", "credential", "credentials", "passphrase", "passwd"),
        *("password", "secret", "sig", "signature", "token", "jwt"),
    }
)
"""The last word of a name says what its value is: `session_token`, but not `token_budget`."""
_SECRET_PAIRS: Final = frozenset(
    (first, "key") for first in ("access", "api", "auth", "master", "private", "secret", "service", "subscription")
)
_TEMPLATE_TOKENS: Final = frozenset(
    f"{what}_token" for what in ("bos", "cls", "eos", "mask", "pad", "sep", "stop", "unk")
)
"""Signs of a model's own vocabulary, such as `<|endoftext|>`: no credentials."""
_ROW: Final = re.compile(r"[A-Za-z0-9]+")


def literal_secrets(server: Server) -> Iterator[tuple[str, str]]:
    """Give the values of a judge.toml that are credentials, as (key of judge.toml, problem); none is shown."""
    for name, value in server.headers.items():
        if _secret_name(name, ("key",)) or _secret_value(value):
            yield "headers", _advice(name, "headers_env")
    for name, value in server.query.items():
        if _secret_name(name, ("key", "code")) or _secret_value(value):
            yield "query", _advice(name, "query_env")
    for path, value in _texts("", server.extra_body):
        if (_secret_name(path.rpartition(".")[2], ()) and len(value) >= 8) or SHAPES.search(value):
            yield (
                "extra_body",
                f"{path!r} holds a secret, and neither a file nor the cache is a place for it; send it as a header: "
                "headers_env = { 'NAME-OF-A-HEADER' = 'NAME_OF_A_VARIABLE' }",
            )


def _advice(name: str, key: str) -> str:
    return (
        f"{name!r} holds a secret, and a file is no place for it; "
        f"write {key} = {{ {json.dumps(name)} = 'NAME_OF_A_VARIABLE' }}"
    )


def _secret_name(name: str, alone: tuple[str, ...]) -> bool:
    """
    Return whether a name says that its value is a credential; the names `alone` do where they are the whole name.

    >>> [_secret_name(name, ()) for name in ("X-Api-Key", "sessionToken", "max_tokens", "eos_token")]
    [True, True, False, False]
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or name.lower() in _TEMPLATE_TOKENS:
        return False
    return words[-1] in _SECRET_WORDS or tuple(words[-2:]) in _SECRET_PAIRS or (len(words) == 1 and words[0] in alone)


def _secret_value(value: str) -> bool:
    """
    Return whether a value has the shape of a credential, or is long and random.

    >>> [_secret_value(v) for v in ("evals", "Bearer abcdefgh", "4f9a0c1e7b2d8a6f3c5e9d1b", "a description in words")]
    [False, True, True, False]
    """
    if SHAPES.search(value):
        return True
    rows = (row for row in _ROW.findall(value) if len(row) >= LEAST_RANDOM and not row.isalpha() and not row.isdigit())
    return any(entropy(row) >= LEAST_ENTROPY for row in rows)


def entropy(text: str) -> float:
    """
    Return the entropy of the characters of a text, in bits a character.

    >>> entropy("aaaa"), entropy("abcd")
    (0.0, 2.0)
    """
    shares = [count / len(text) for count in Counter(text).values()]
    return abs(sum(share * math.log2(share) for share in shares))


def _texts(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield all texts of a body with their paths."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(f"{path}.{name}" if path else str(name), inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(path, inner)
