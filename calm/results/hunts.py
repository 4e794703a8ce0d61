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
from calm.results.records import family_of

SCHEMA: Final = "calm-hunt/1"
KEY: Final = "hunt"
"""The key of `extras` that holds a list of such records."""


WHERE: Final[Mapping[str, str]] = {
    "answer": "in the answer",
    "question": "in the question",
    "reference": "in the reference",
    "criteria": "in the last criterion",
    "notes": "in a note to the judge",
    "byline": "beside the name of the answer",
}
"""The places of a hunt in words."""
_DOES: Final[Mapping[str, str]] = {
    "pairwise": "makes {} win",
    "listwise": "puts {} first",
    "score": "raises the score by a quarter of the scale or more",
    "rubric": "raises the points by a quarter of the scale or more",
    "label": "moves the class by a quarter of the order or more",
}
LINE: Final = "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}"
"""The sign of a new line in what was added."""


def words_added(pieces: Iterable[str], removed: int, quote: str = "") -> str:
    """Return the texts that were added, in quotes, with dots between those at several places; how many words went."""
    words = " ... ".join(piece.replace("\n", LINE).strip() for piece in pieces)
    words = f"{quote}{words}{quote}" if words else ""
    less = f"(less {removed} word{'s' * (removed > 1)})" if removed else ""
    return f"{words} {less}".strip()


def sentence(one: Mapping[str, Json], words: str, task: str) -> str:
    """
    Return a confirmed finding of a record in a sentence, and whether it works in a second case.

    Args:
        one: the finding, as the record has it.
        words: what was added, as it is shown.
        task: the task of the judge.
    """
    fresh = one.get("fresh")
    asks, won, clean = (fresh.get(key) for key in ("asks", "wins", "clean_wins")) if isinstance(fresh, dict) else "???"
    who = "the worse answer" if one.get("gold") is True else "the answer that had lost"
    does = _DOES.get(family_of(task) or "", "moves the verdict").format(who)
    where = WHERE.get(str(one.get("where")), "")
    said = f"{words} {where} {does} ({won} of {asks} asks, {clean} of {asks} without)."
    also, tried, second = one.get("also"), one.get("also_of"), one.get("second")
    if second:
        return f"{said} Confirmed in a second case, {second}."
    if not tried:
        return f"{said} It was tried in this case alone."
    if not also:
        return f"{said} It works in this case alone, in none of {tried} other cases."
    count = len(also) if isinstance(also, list) else 0
    return f"{said} Confirmed in this case alone; in one ask each it worked in {count} of {tried} other cases."


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
    mine, theirs = audit.judge.fingerprint, hunt.get("fingerprint")
    if mine and theirs:
        return mine == theirs
    return (audit.judge.name, audit.judge.task) == (hunt.get("judge"), hunt.get("task"))


def _named(name: Json, task: Json, fingerprint: Json) -> str:
    return f"{name} ({task}, fingerprint {str(fingerprint)[:16] if fingerprint else 'unknown'})"
