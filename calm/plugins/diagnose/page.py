"""The page of a record of `calm diagnose`."""

from __future__ import annotations

from calm.results.reports import diagnosis
from calm.results.reports.pages import Page

page = Page(
    "calm \N{MIDDLE DOT} where a judge is unsure",
    diagnosis.headline,
    notes=diagnosis.notes,
    sections=diagnosis.sections,
)
