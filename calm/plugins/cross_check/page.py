"""The page of a record of `calm cross-check`."""

from __future__ import annotations

from calm.results.reports.pages import Page

page = Page("calm \N{MIDDLE DOT} whether a judge agrees with itself", hidden=("judges",))
