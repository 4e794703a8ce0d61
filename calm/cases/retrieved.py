"""Passages as other tools write them: a list of texts, or of documents with a name and a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from calm.cases.messages import unpacked

NAMES: Final = ("id", "doc_id", "document_id", "passage_id", "title", "source")
"""What tools call the name of a document; LangChain keeps it in `metadata`."""
TEXTS: Final = ("text", "content", "page_content", "passage", "document", "body")
_LONGEST: Final = 80


def passages_in(value: object) -> list[dict[str, str]] | None:
    """
    Return passages by id and text, as a list in calm's own format holds them; None for what is no list of documents.

    A text may hold the list as JSON. A document is called by its own name if all have one and these differ, else all
    are called by their places, from 1. What has no text is left out.

    >>> passages_in([{"doc_id": "d7", "page_content": "A."}]), passages_in(["A.", "B."])
    ([{'id': 'd7', 'text': 'A.'}], [{'id': '1', 'text': 'A.'}, {'id': '2', 'text': 'B.'}])
    """
    listed = unpacked(value)
    if not isinstance(listed, list | tuple) or not all(isinstance(one, str | Mapping) for one in listed):
        return None
    found = [(_name(one), text) for one in listed if (text := _text(one)).strip()]
    names = [name for name, _ in found]
    own = "" not in names and len(set(names)) == len(names)
    return [{"id": name if own else str(place), "text": text} for place, (name, text) in enumerate(found, 1)]


def _text(one: str | Mapping[str, object]) -> str:
    if isinstance(one, str):
        return one
    return next((value for key in TEXTS if isinstance(value := one.get(key), str)), "")


def _name(one: str | Mapping[str, object]) -> str:
    """Return the name of a document, or nothing where it has none that can be cited."""
    return "" if isinstance(one, str) else next(_names(one), "")


def _names(one: Mapping[str, object]) -> Iterator[str]:
    held = one.get("metadata")
    for place in (one, held if isinstance(held, Mapping) else {}):
        for key in NAMES:
            value = place.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool):
                name = str(value).strip()
                if name and name.isprintable() and len(name) <= _LONGEST:
                    yield name
