"""
The codes of a results file: reasons beside their words, how each test with a probe ended, and the digest of the whole.

The digest of a file shows whether it was damaged or edited after calm wrote it. It is made without a key, so it proves
damage, not honesty: a person who edits the file can make a new digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from json import JSONEncoder
from pathlib import Path
from typing import Final

from calm.core.reasons import NONE, Detail, Kind, Reason, Said, because
from calm.errors import ConfigError, few_of
from calm.models.wire import Json

OLDER: Final[Mapping[str, Kind]] = {
    "does not apply": Kind.APPLIES_NOT,
    "one variant of a rotation": Kind.VARIANT,
    "the run was interrupted: the record holds only what was decided before": Kind.INTERRUPTED,
    "texts were left out of this record: no question, answer, prompt or reply is in it": Kind.TEXTS_LEFT_OUT,
}
"""The words of older records without codes, and their meaning. They belong to that format and never change."""


def to_code(reason: Reason) -> dict[str, Json]:
    """
    Return a reason as JSON-able data.

    >>> to_code(because(Kind.CONTROL, because(Kind.REFUSED, "length")))
    {'kind': 'control', 'details': [{'kind': 'refused', 'details': ['length']}]}
    """
    return {"kind": reason.kind.value, "details": [_detail_to_json(detail) for detail in reason.details]}


def from_code(code: Json, words: str) -> Reason:
    """
    Return the reason that `to_code` wrote; without a code that this version knows, one that quotes the words.

    >>> from_code({"kind": "no-room", "details": []}, "").kind, from_code(None, "too dear").quotes
    (<Kind.NO_ROOM: 'no-room'>, True)
    """
    try:
        found = _reason(code)
        str(found)  # the details are those of its kind
    except (KeyError, TypeError, ValueError, LookupError):
        return _older(words)
    return found


def _older(words: str) -> Reason:
    if not words:
        return NONE
    if words in OLDER:
        return because(OLDER[words])
    first, _, rest = words.partition(": ")
    if rest and OLDER.get(first) is Kind.VARIANT:
        return because(Kind.VARIANT, _older(rest))
    return because(Kind.OLDER, Said(words))


def _detail_to_json(detail: Detail) -> Json:
    if isinstance(detail, Reason):
        return to_code(detail)
    return {"said": detail.text} if isinstance(detail, Said) else detail


def _reason(code: Json) -> Reason:
    if not isinstance(code, dict) or not isinstance(code["details"], list):
        raise TypeError("expected a kind and its details")
    return Reason(Kind(str(code["kind"])), tuple(_detail(detail) for detail in code["details"]))


def _detail(value: Json) -> Detail:
    if isinstance(value, dict):
        return Said(str(value["said"])) if "said" in value else _reason(value)
    if value is None or isinstance(value, list):
        raise TypeError("expected a name, a number, a text or a reason")
    return value


MOST_NAMED: Final = 20
"""How many tests a sentence names; the others are only counted."""


class State(StrEnum):
    """What became of a test that was collected."""

    DECIDED = "decided"
    """It came to its end, and its claims are findings."""
    NOT_TESTED = "not-tested"
    """It does not apply to this judge, or its author skipped it."""
    CRASHED = "crashed"
    """It ended by an error of its own, or with the process that ran it."""
    NOT_RUN = "not-run"
    """It did not begin, or the run ended before it did."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How one test ended, and why if it decided nothing."""

    node: str
    state: State
    reason: Reason = NONE

    @property
    def lost(self) -> bool:
        """Whether the run lacks what the test would have said."""
        return self.state in (State.CRASHED, State.NOT_RUN)


def interrupted(made: int, place: str) -> str:
    """
    Return in one line that a run was interrupted after so many calls, and where their replies are kept; "": nowhere.

    >>> interrupted(312, ".calm/cache.sqlite")
    'interrupted: 312 calls made; the replies are kept in .calm/cache.sqlite; the same command goes on'
    >>> interrupted(1, ""), interrupted(0, ".calm/cache.sqlite")
    ('interrupted: 1 call made; no reply is kept, as there is no cache', 'interrupted: no call was made')
    """
    if not made:
        return "interrupted: no call was made"
    calls = f"interrupted: {made:,} call{'s' * (made != 1)} made"
    if not place:
        return f"{calls}; no reply is kept, as there is no cache"
    return f"{calls}; the replies are kept in {place}; the same command goes on"


def gaps(endings: Sequence[Ending]) -> tuple[Reason, ...]:
    """
    Return what a run lacks because of tests that crashed or did not run, in one reason for each state.

    >>> ends = (Ending("a", State.DECIDED), Ending("b", State.NOT_RUN))
    >>> [str(gap) for gap in gaps(ends)]
    ['1 of 2 tests did not run: b']
    """
    kinds = {State.CRASHED: Kind.CRASHED, State.NOT_RUN: Kind.DID_NOT_RUN}
    found = {kind: [one.node for one in endings if one.state is state] for state, kind in kinds.items()}
    return tuple(
        because(kind, len(nodes), len(endings), few_of(nodes, MOST_NAMED)) for kind, nodes in found.items() if nodes
    )


def ending_to_json(one: Ending) -> dict[str, Json]:
    """Return an ending as JSON-able data, its reason in words and as a code."""
    return {"node": one.node, "state": one.state.value, **reason_to_json(one.reason)}


def ending_from_json(body: Mapping[str, Json]) -> Ending:
    """Return the ending that `ending_to_json` wrote; a KeyError, TypeError or ValueError names what is wrong."""
    node = body["node"]
    if not isinstance(node, str):
        raise TypeError(f"tests: expected the name of a test, got {node!r}")
    return Ending(node, State(str(body["state"])), reason_from_json(body))


def reason_to_json(reason: Reason) -> dict[str, Json]:
    """Return the words of a reason, and its code if there is one."""
    return {"reason": str(reason), **({"reason_code": to_code(reason)} if reason else {})}


def reason_from_json(body: Mapping[str, Json]) -> Reason:
    """Return the reason that `reason_to_json` wrote."""
    words = body["reason"]
    if not isinstance(words, str):
        raise TypeError(f"reason: expected words, got {words!r}")
    return from_code(body.get("reason_code"), words)


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
