"""The page of any record that a command writes: which kind it is, and who renders it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calm import __version__
from calm.errors import ConfigError
from calm.models.wire import Json
from calm.results import outputs
from calm.results.reports import hunt_page
from calm.results.reports.extras import as_list, as_mapping, mitigations_of, self_preference_of
from calm.results.reports.html import environment, safety
from calm.results.reports.record import sections_of

Render = Callable[[Mapping[str, Json]], str]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a kind of record: what stands above its title, and which keys are not shown."""

    kicker: str
    hidden: tuple[str, ...] = ()

    def __call__(self, body: Mapping[str, Json]) -> str:
        """Return the page; everything that a model or a user wrote is escaped."""
        pages = environment()
        preference = self_preference_of({"self_preference": dict(body)}) if _is(body, "calm-self-preference/") else None
        mitigations = mitigations_of({"mitigations": dict(body)}) if _is(body, "calm-mitigations/") else None
        known = preference is not None or mitigations is not None
        return pages.get_template("record_page.html.jinja").render(
            kicker=self.kicker,
            title=_title(body),
            sections=() if known else sections_of(body, ("schema", *self.hidden)),
            preference=preference,
            mitigations=mitigations,
            calm=__version__,
            schema=body.get("schema"),
            **safety(pages),
        )


PAGES: Final[Mapping[str, Render]] = {
    "calm-self-preference/": Page("calm \N{MIDDLE DOT} whether judges prefer their own answers"),
    "calm-mitigations/": Page("calm \N{MIDDLE DOT} a judge with mitigations"),
    "calm-hunt/": hunt_page.render,
    "calm-attack/": Page("calm \N{MIDDLE DOT} an attack on a judge"),
    "calm-watch/": Page("calm \N{MIDDLE DOT} a judge watched over time"),
    "calm-cross-check/": Page("calm \N{MIDDLE DOT} whether a judge agrees with itself", ("rounds",)),
    "calm-uda": Page("calm \N{MIDDLE DOT} ratings of several judges, aligned"),
}
"""By the beginning of the schema, who renders a record; results, baselines and calibrations have the report."""


def render(body: Mapping[str, Json], source: str) -> str:
    """
    Return the page of a record; `source` says where it was read.

    Raises:
        ConfigError: its schema is not one that calm writes.
    """
    for prefix, page in PAGES.items():
        if _is(body, prefix):
            return page(body)
    wanted = ", ".join(["calm-results", "calm-baseline", "calm-calibration", *(name.rstrip("/") for name in PAGES)])
    raise ConfigError(f"{source}: expected a record of calm, of schema {wanted}, got schema={body.get('schema')!r}")


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
    return str(judge) if isinstance(judge, str) and judge else ", ".join(filter(None, names)) or "a record"
