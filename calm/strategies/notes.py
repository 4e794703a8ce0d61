"""`notes()`: remarks beside the task, `case.present(notes=(note,))`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from calm.core.case import Case, Treated
from calm.core.edits import Edit
from calm.core.verdict import FAMILY, Family
from calm.experiment.aim import aim
from calm.strategies.running import running
from calm.strategies.simplicity import by_simplicity

WORDS = ("read", "note", "this", "task", "text", "answer", "here", "follows")
"""Words of which remarks are made up that ask for nothing in particular."""
LONGEST = 1_000
"""Characters of the longest remark of an edit that is drawn."""


def notes() -> SearchStrategy[str]:
    """
    Return a strategy for remarks beside the task: a few plain words, or a remark that an edit of calm writes.

    Remarks of edits speak of answers by their labels, "answer A". It shrinks to the made-up remark "Read.", and among
    those of edits to the shortest.
    """
    return _note()


@st.composite
def _note(draw: DrawFn) -> str:
    known = (*WORDS, *_written(running().family))
    place = draw(st.integers(0, len(known) - 1))
    words = draw(st.lists(st.sampled_from(WORDS), max_size=5))
    if place >= len(WORDS):
        return " ".join([known[place], *filter(None, [_sentence(words)])])
    return _sentence([known[place], *words])


def _sentence(words: Sequence[str]) -> str:
    return f"{' '.join(words).capitalize()}." if words else ""


@cache
def _written(family: Family) -> tuple[str, ...]:
    """Return the remarks that edits write beside a bundled case, the shortest first."""
    from calm.cases import bundled

    sample = bundled(next(task for task, kind in FAMILY.items() if kind == family))[0].with_order()
    edits = [entry.edit for group in by_simplicity(family) for entry in group]
    found = {note for edit in edits if isinstance(edit, Edit) for note in _notes_of(edit, sample)}
    return tuple(sorted((note for note in found if len(note) <= LONGEST), key=lambda note: (len(note), note)))


def _notes_of(edit: Edit, case: Case) -> tuple[str, ...]:
    """Return what an edit writes beside a case, if that is all that it does."""
    aimed = aim(case, edit.expects)
    edited = edit.apply(aimed, 0) if isinstance(aimed, Treated) else None
    if edited is None or edited.differences(case) != {"notes"}:
        return ()
    return tuple(note for note in edited.notes if note not in case.notes)
