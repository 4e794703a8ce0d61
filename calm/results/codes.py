"""Reasons in a results file: each as a code beside its words, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calm.core.reasons import NONE, Detail, Kind, Reason, Said, because
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
    """Return what the words of a record without codes mean."""
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
