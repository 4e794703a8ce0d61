"""The page of a record of `calm attack`."""

from __future__ import annotations

from collections.abc import Mapping

from calm.models.wire import Json
from calm.results.reports.pages import Page


def _found(body: Mapping[str, Json]) -> str:
    found = body.get("found")
    return (
        f"{found} {'text' if found == 1 else 'texts'} found that won the judge over" if found else "No text was found"
    )


of_attack = Page("calm \N{MIDDLE DOT} an attack on a judge", _found, ("judge",), lists={"edits": ("stacks", "held")})
