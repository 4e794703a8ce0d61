"""The page of a record of `calm mitigate`."""

from __future__ import annotations

from collections.abc import Mapping

from calm.models.wire import Json
from calm.results.reports.pages import Page


def _said(body: Mapping[str, Json]) -> str:
    said = body.get("said")
    return said if isinstance(said, str) else ""


page = Page("calm \N{MIDDLE DOT} a judge with mitigations", _said)
