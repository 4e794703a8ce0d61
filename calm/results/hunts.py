"""Records of `calm hunt` in the record of a run: read, checked to be of its judge, and kept among its extras."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from calm.core.files import read_json
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.results.audit import Audit

SCHEMA: Final = "calm-hunt/1"
KEY: Final = "hunt"
"""The key of `extras` that holds a list of such records."""


def with_hunts(audit: Audit, paths: Iterable[Path]) -> Audit:
    """
    Return an audit with the hunts in some files among its extras, after those that it holds already.

    Raises:
        ConfigError: a file is no record of a hunt, or the hunt was of another judge.
    """
    held = audit.extras.get(KEY, [])
    hunts = list(held) if isinstance(held, list) else []
    for path in paths:
        hunt = read(path)
        if not _same_judge(audit, hunt):
            raise ConfigError(
                f"{path}: expected a hunt of the judge of these results, "
                f"{_named(audit.judge.name, audit.judge.task, audit.judge.fingerprint)}, "
                f"got one of {_named(hunt.get('judge'), hunt.get('task'), hunt.get('fingerprint'))}: "
                "what moves one judge says nothing about another. Run `calm hunt` with this judge, "
                "or `calm audit` with that one"
            )
        if hunt not in hunts:
            hunts.append(hunt)
    return replace(audit, extras={**audit.extras, KEY: hunts})


def read(path: Path) -> dict[str, Json]:
    """
    Return the record of a hunt.

    Raises:
        ConfigError: no such file, not JSON, or of another schema.
    """
    body = read_json(path, "a file that `calm hunt -o` wrote")
    schema = body.get("schema") if isinstance(body, dict) else None
    if not isinstance(body, dict) or schema != SCHEMA:
        raise ConfigError(f"{path}: expected a record of `calm hunt`, of schema {SCHEMA!r}, got schema={schema!r}")
    return body


def _same_judge(audit: Audit, hunt: Mapping[str, Json]) -> bool:
    """Return whether a hunt was of the judge of a run: by the fingerprints, or where one has none, by their names."""
    mine, theirs = audit.judge.fingerprint, hunt.get("fingerprint")
    if mine and theirs:
        return mine == theirs
    return (audit.judge.name, audit.judge.task) == (hunt.get("judge"), hunt.get("task"))


def _named(name: Json, task: Json, fingerprint: Json) -> str:
    return f"{name} ({task}, fingerprint {str(fingerprint)[:16] if fingerprint else 'unknown'})"
