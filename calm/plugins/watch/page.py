"""The page of a record of `calm watch`."""

from __future__ import annotations

from collections.abc import Mapping

from calm.models.wire import Json
from calm.results.reports.pages import Page


def _alarm(body: Mapping[str, Json]) -> str:
    return "Alarm: the judge does not answer as before" if body.get("alarm") is True else "No alarm"


page = Page("calm \N{MIDDLE DOT} a judge watched over time", _alarm)
