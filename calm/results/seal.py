"""
The digest that a results file has of itself: it shows whether the file was damaged or edited after calm wrote it.

It is made without a key, so it proves damage, not honesty: a person who edits the file can make a new digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from json import JSONEncoder
from pathlib import Path
from typing import Final

from calm.errors import ConfigError
from calm.models.wire import Json


def digest_of(head: Mapping[str, Json], findings: Iterable[Iterable[str]]) -> str:
    """
    Return the SHA-256 of the canonical JSON of a record: keys in order, no spaces, ASCII.

    `head` is all of it but its findings. Each of these comes as the parts of its canonical text: all of them at once
    would fill the memory.

    >>> digest_of({"seed": 0}, [[canonical({"n": 1, "key": "a"})]])[:12]
    'e9c9b6e4af59'
    """
    hashed = sha256()
    for number, name in enumerate(sorted({*head, "findings"})):
        hashed.update(f"{',' if number else '{'}{canonical(name)}:".encode())
        if name != "findings":
            hashed.update(canonical(head[name]).encode())
            continue
        hashed.update(b"[")
        for place, parts in enumerate(findings):
            hashed.update(b"," * (place > 0))
            for part in parts:
                hashed.update(part.encode())
        hashed.update(b"]")
    hashed.update(b"}")
    return hashed.hexdigest()


def refuse_changed(path: Path, body: Mapping[str, Json]) -> None:
    """
    Return if a results file is as calm wrote it; spaces and the order of keys do not count.

    Raises:
        ConfigError: it has no digest, or one of other contents.
    """
    run = body.get("run")
    said = run.get("digest") if isinstance(run, dict) else None
    if not isinstance(run, dict) or said is None:
        raise ConfigError(f"{path}: expected run.digest, which calm writes, got none; {_FIX}")
    head = {name: value for name, value in body.items() if name != "findings"}
    head["run"] = {name: value for name, value in run.items() if name != "digest"}
    findings = body.get("findings")
    found = digest_of(head, ([canonical(one)] for one in findings) if isinstance(findings, list) else [])
    if said != found:
        raise ConfigError(
            f"{path}: expected contents with the digest {str(said)[:12]}, got {found[:12]}: the file was damaged or "
            f"edited after calm wrote it; {_FIX}"
        )


_FIX = (
    "restore it or run the suite again; if it was edited on purpose, give it a new digest, as "
    "docs/reference/results.md shows"
)


canonical: Final = JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
"""Returns the canonical JSON of plain data."""
