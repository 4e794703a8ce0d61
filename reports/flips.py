"""All rows that speak against the judge, in one list: by probe, and with as much of each as the page has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.results.changes import Place
from calm.results.reports.highlights import Highlight
from calm.results.reports.probes import CASES, Probe
from calm.results.reports.texts import bytes_of
from calm.results.wording import reasons_words, ways

ROOM: Final = 1_000_000
"""Bytes that the lines of all flips may take, without prompts and replies."""
FIRST: Final = CASES
"""Flips of a probe that are listed at once; the others are one fold away."""
MARKUP: Final = 330
"""About how many bytes of markup a line takes that can be opened."""
PLACE: Final = 60
"""About how many bytes of markup a place takes that an edit touched."""


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a flip is shown: characters of its question and of its edit, and whether its command is."""

    question: int
    edit: int
    command: bool


DETAILS: Final = (
    Detail(160, 240, command=True),
    Detail(80, 120, command=True),
    Detail(60, 80, command=False),
    Detail(0, 60, command=False),
)
BARE: Final = Detail(0, 0, command=False)
"""What is shown of each where there are too many: its case, its edit and its verdicts."""


@dataclass(frozen=True, slots=True)
class Group:
    """
    The flips of one probe: those that are listed at once, and the others.

    `examples` are cases that do not speak against the judge, where none does. `words` says what each kind of flip is,
    `reasons` in how many the judge names the cue.
    """

    probe: Probe
    first: tuple[Highlight, ...]
    others: tuple[Highlight, ...]
    examples: tuple[Highlight, ...]
    words: Mapping[str, str]
    reasons: str = ""


def groups_of(probes: Sequence[Probe]) -> tuple[Group, ...]:
    """Return the flips of all probes that have some, or examples, in the order of the probes: the worst first."""
    return tuple(_group(probe) for probe in probes if probe.cases)


def _group(probe: Probe) -> Group:
    flips = probe.flips
    examples = tuple(case for case in probe.cases if not case.tells)
    finding = probe.rows[0].finding
    toward, away = ways(finding)
    words = {"toward": toward, "away": away}
    return Group(probe, flips[:FIRST], flips[FIRST:], examples, words, reasons_words(finding))


def detail_of(groups: Sequence[Group]) -> Detail:
    """Return how much is shown of each flip: the most for which all of them fit the room."""
    every = [case for group in groups for case in (*group.first, *group.others, *group.examples)]
    for detail in DETAILS:
        if sum(_size(case, detail) for case in every) <= ROOM:
            return detail
    return BARE


def _size(case: Highlight, detail: Detail) -> int:
    changed = case.places or (Place("", case.came, case.went),)
    said_of = [text for one in changed for text in (one.where, one.came[: detail.edit], one.went[: detail.edit])]
    texts = case.question[: detail.question], *said_of
    said = sum(len(code) for _, codes in case.arms for code in codes)
    command = case.again if detail.command else ""
    return (
        MARKUP
        + PLACE * len(case.places)
        + sum(map(bytes_of, (*texts, command)))
        + 2 * len(case.anchor)
        + len(case.case)
        + said
    )
