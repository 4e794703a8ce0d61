"""The page of any record that a command writes: a plug-in gives it, by the kind of the record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from calm import __version__
from calm.core.plugins import find, given, troubles
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.results import outputs
from calm.results.reports.extras import (
    Section,
    as_list,
    as_mapping,
    mitigations_of,
    sections_of,
    self_preference_of,
)
from calm.results.reports.html import environment, safety

NAMED: Final = 3
"""More judges than these are counted, not named."""
Render = Callable[[Mapping[str, Json]], str]


@dataclass(frozen=True, slots=True)
class Page:
    """
    A page of a kind of record: the line above its title, its headline, and how `sections_of` reads the record.

    `headline`, `notes` and `sections` get the record; without them there are no headline and no notes, and the sections
    are those of `sections_of`. `hidden` keys of the record itself are left out there; within its rows and objects all
    are shown, so for fewer columns give `sections`.
    """

    kicker: str
    headline: Callable[[Mapping[str, Json]], str] | None = None
    hidden: tuple[str, ...] = ()
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Callable[[Mapping[str, Json]], tuple[str, ...]] | None = None
    sections: Callable[[Mapping[str, Json]], tuple[Section, ...]] | None = None

    def __call__(self, body: Mapping[str, Json]) -> str:
        """Return the page; everything that a model or a user wrote is escaped."""
        pages = environment()
        preference = self_preference_of({"self_preference": dict(body)}) if _is(body, "calm-self-preference/") else None
        mitigations = mitigations_of({"mitigations": dict(body)}) if _is(body, "calm-mitigations/") else None
        known = preference is not None or mitigations is not None
        return pages.get_template("record_page.html.jinja").render(
            kicker=self.kicker,
            title=_title(body),
            headline=self.headline(body) if self.headline else "",
            notes=self.notes(body) if self.notes else (),
            sections=self._sections(body) if self.sections or not known else (),
            preference=preference,
            mitigations=mitigations and replace(mitigations, said=""),  # the headline says it
            calm=__version__,
            schema=body.get("schema"),
            **safety(pages),
        )

    def _sections(self, body: Mapping[str, Json]) -> tuple[Section, ...]:
        if self.sections is not None:
            return self.sections(body)
        return sections_of(body, ("schema", *self.hidden), self.lists)


def render(body: Mapping[str, Json], source: str) -> str:
    """
    Return the page of a record; `source` says where it was read.

    Raises:
        ConfigError: its schema is not one that calm writes.
    """
    if found := find("PAGES", str(body.get("schema", "")).partition("/")[0]):
        page: Render = found.load()
        return page(body)
    wanted = ", ".join(["calm-results", "calm-baseline", "calm-calibration", *sorted(given("PAGES"))])
    got = f"got schema={body.get('schema')!r}; a plug-in may be missing"
    unknown = f"{source}: expected a record of calm, of schema {wanted}, {got}"
    raise ConfigError([unknown, *troubles()])


def write(body: Mapping[str, Json], path: Path) -> None:
    """
    Write the page of a record, whole or not at all.

    Raises:
        ConfigError: the file cannot be written.
    """
    outputs.write_whole(path, [render(body, "the record")], outputs.REPORT)


def _is(body: Mapping[str, Json], prefix: str) -> bool:
    return str(body.get("schema", "")).startswith(prefix)


def _title(body: Mapping[str, Json]) -> str:
    """Return the name of the judge, or of the judges, that a record is about."""
    judge, judges = body.get("judge"), as_list(body.get("judges"))
    if isinstance(judge, dict):
        judge = judge.get("name")
    names = [str(as_mapping(one).get("judge", "")) if isinstance(one, dict) else str(one) for one in judges]
    if isinstance(judge, str) and judge:
        return judge
    names = [name for name in names if name]
    return ", ".join(names) if 0 < len(names) <= NAMED else f"{len(names)} judges"
