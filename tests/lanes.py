"""
The slow lane: rows that prove more of what other rows of the same test prove at every change.

    .venv/bin/pytest tests/ --slow -n logical    # what is marked `slow`, and nothing else

Tests that need PostgreSQL, Chromium, a built release or the built site are in it without a mark: `OF_LANES` in
`conftest.py` names their fixtures.
"""

import pytest


def slow(*values, **about):
    """Return a row of parameters for the slow lane alone; it may be given an `id`."""
    return pytest.param(*values, marks=pytest.mark.slow, **about)


def one_in(share, rows, start=0):
    """Return rows of parameters: one in so many runs at every change, the others in the slow lane."""
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    found = [pytest.param(*row) if turn % share == start else slow(*row) for turn, row in enumerate(rows)]
    assert len(found) > start, "expected a row that runs at every change, got none"
    return found
