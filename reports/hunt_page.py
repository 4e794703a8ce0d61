"""The page of a hunt: each text that was found, with what was put into it marked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from calm import __version__
from calm.models.wire import Json
from calm.results import outputs
from calm.results.hunts import KEY, SCHEMA
from calm.results.reports.html import environment, safety
from calm.results.reports.hunt import hunts_of


def render(hunt: Mapping[str, Json]) -> str:
    """Return the page of a record of schema `calm-hunt/1`; everything that a model or user wrote is escaped."""
    pages = environment()
    hunts = hunts_of({KEY: [dict(hunt)]})
    return pages.get_template("hunt_page.html.jinja").render(
        hunts=hunts,
        judge=hunts[0].judge if hunts else "",
        said=[found.said for one in hunts for found in one.found],
        calm=__version__,
        schema=SCHEMA,
        **safety(pages),
    )


def write(hunt: Mapping[str, Json], path: Path) -> None:
    """
    Write the page, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render(hunt)], outputs.REPORT)
