"""The first part of a page: what is wrong with the judge, a card for each bias, and what to do next about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.core.case import COPY
from calm.core.reasons import shared
from calm.core.trials import CUED, PLAIN
from calm.results.audit import BASELINE, RUN, Audit
from calm.results.command_lines import subject
from calm.results.reports.flips import Group
from calm.results.reports.highlights import Highlight
from calm.results.reports.rows import FindingRow
from calm.results.reports.texts import Text, cut
from calm.results.sentences import capital, loudest, name_of, sentence, unmeasured
from calm.results.steps import Step, steps_of
from calm.results.troubles import Trouble, troubles
from calm.results.wording import clipped, figures

CARDS: Final = 6
"""So many troubles have a card; of the others there is a line each."""
ANSWER, MOST_ANSWERS = 240, 2
"""Characters of an answer on a card, and the most answers that are shown."""
_PLACES: Final = ("first", "second")
REASON: Final = 400
"""Characters of a reason on a card."""


@dataclass(frozen=True, slots=True)
class Card:
    """
    A trouble as a card: its sentence, the figures behind it, the case that changed most, and what to do next.

    `row` is its lead in the table; `flips` and `details` are places in the page, empty where there are none. One that
    is not `full` has a line of a list instead of a card.
    """

    trouble: Trouble
    name: str
    sentence: str
    row: FindingRow | None
    figures: Text
    worst: Highlight | None
    answers: tuple[tuple[str, str], ...]
    flips: str
    details: str
    steps: tuple[Step, ...]
    full: bool


def cards_of(audit: Audit, rows: Sequence[FindingRow], groups: Sequence[Group]) -> tuple[Card, ...]:
    """Return a card for each trouble, the worst first."""
    by_key = {row.finding.key: row for row in rows}
    places = {row.finding.key: group for group in groups for row in group.probe.rows}
    found = [_card(audit, one, by_key, places, same) for one, same in _alike(audit)]
    single = [card for card in found if card.trouble.bias not in (RUN, BASELINE)][:CARDS] or found[:1]
    return tuple(replace(card, full=card in single) for card in found)


def _alike(audit: Audit) -> list[tuple[Trouble, list[str]]]:
    """Return each trouble with the biases that it is about: those without figures for one reason are one trouble."""
    groups: dict[object, tuple[Trouble, list[str]]] = {}
    for one in troubles(audit):
        key = (one.outcome, shared(one.lead.reason)) if unmeasured(one.lead) else one.bias
        groups.setdefault(key, (one, []))[1].append(name_of(one.bias))
    return list(groups.values())


def _card(
    audit: Audit, one: Trouble, rows: Mapping[str, FindingRow], places: Mapping[str, Group], names: Sequence[str]
) -> Card:
    lead, several = one.lead, len(names) > 1
    group = None if several else next((places[f.key] for f in (lead, *one.findings) if f.key in places), None)
    worst = example(group.first, loudest(lead)) if group else None
    return Card(
        trouble=one,
        name=capital(", ".join(names)),
        sentence=capital(str(shared(lead.reason))) if several else sentence(lead),
        row=rows.get(lead.key),
        figures=cut("" if several else figures(lead), REASON),
        worst=worst,
        answers=_answers(worst) if worst else (),
        flips=f"flips-{group.probe.anchor}" if group and group.first else "",
        details=group.probe.anchor if group else "",
        steps=tuple(steps_of(audit, one, worst.again if worst else "")),
        full=True,
    )


def example(flips: Sequence[Highlight], variant: str) -> Highlight | None:
    """Return the flip of a variant, if it has one, that is the quickest to read among the loudest."""
    flips = [one for one in flips if one.edit == variant] or flips
    most = [one for one in flips if (one.word, one.weight) == (flips[0].word, flips[0].weight)]
    return min(most, key=lambda one: (not one.came, bool(one.went), len(one.came), one.case), default=None)


def _answers(one: Highlight) -> tuple[tuple[str, str], ...]:
    """Return the answers of a case as the judge saw them with the edit, by what each is; none if they were not kept."""
    if one.texts is None:
        return ()
    before, after = (one.texts.answers.get(arm, {}) for arm in ("clean", "perturbed"))
    roles: dict[str | None, str] = {
        one.texts.better: "Better answer",
        CUED: "One of two equally good answers, with the edit",
        PLAIN: "The other, without it",
        **{answer: "Damaged copy" for answer in after if answer.endswith(COPY)},
    }
    usual = "Worse answer" if one.texts.better in after else "Answer"
    slots = {answer: _slots(answer, before, after) for answer in after}
    edited = {answer for answer, text in after.items() if before.get(answer, text) != text} - {CUED}
    return tuple(
        (f"{roles.get(answer, usual)}{', edited' if answer in edited else ''}{slots[answer]}", clipped(text, ANSWER))
        for answer, text in after.items()
        if len(after) <= MOST_ANSWERS
    )


def _slots(answer: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return where an answer was shown before and after an edit that changed the order; else nothing."""
    if before.keys() != after.keys() or list(before) == list(after):
        return ""
    then, now = (list(shown).index(answer) for shown in (before, after))
    return f" (shown {_PLACES[then]} before the edit, {_PLACES[now]} after it)"


def stands_in(audit: Audit) -> str:
    """Return what a person has to put into the commands of a page; nothing where they run as they are."""
    named = subject(audit)
    return "" if named.whole else ", ".join(word for word in (named.judge, *named.cases) if word.isupper())
