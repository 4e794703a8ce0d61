"""The page of a record of `calm self-preference`."""

from __future__ import annotations

from calm.results.reports.pages import Page

page = Page("calm \N{MIDDLE DOT} whether judges prefer their own answers")
