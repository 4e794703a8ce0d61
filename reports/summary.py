"""What stands first on a page: what is wrong with the judge, a card for each bias, and what to do next about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.core.claims import Outcome
from calm.results.audit import AGREEMENT, BASELINE, CONTROLS, RUN, Audit
from calm.results.command_lines import hunt, mitigate, subject
from calm.results.meaning import meaning
from calm.results.remedies import PAGE, PAGES
from calm.results.reports.flips import Group
from calm.results.reports.highlights import Highlight
from calm.results.reports.rows import FindingRow
from calm.results.reports.texts import Text, cut
from calm.results.troubles import Trouble, name_of, troubles
from calm.results.wording import flip_words, plan

CARDS: Final = 6
"""So many troubles have a card; of the others there is a line each."""
REASON: Final = 400
"""Characters of a reason on a card."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do next: what it is for, and its command, or nothing where a page says it all."""

    what: str
    command: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """
    A trouble as a card: its effect in words, what was claimed, its worst flip, and what to do next.

    `row` is its lead in the table; `flips` and `details` are places in the page, empty where there are none. One that
    is not `full` has a line of a list instead of a card.
    """

    trouble: Trouble
    name: str
    effect: str
    claimed: str
    row: FindingRow | None
    flipped: str
    reason: Text
    worst: Highlight | None
    flips: str
    details: str
    steps: tuple[Step, ...]
    full: bool


def cards_of(audit: Audit, rows: Sequence[FindingRow], groups: Sequence[Group]) -> tuple[Card, ...]:
    """Return a card for each trouble, the worst first."""
    by_key = {row.finding.key: row for row in rows}
    places = {row.finding.key: group for group in groups for row in group.probe.rows}
    found = [_card(audit, one, by_key, places) for one in troubles(audit)]
    single = [card for card in found if card.trouble.bias not in (RUN, BASELINE)][:CARDS] or found[:1]
    return tuple(replace(card, full=card in single) for card in found)


def _card(audit: Audit, one: Trouble, rows: Mapping[str, FindingRow], places: Mapping[str, Group]) -> Card:
    lead = one.lead
    group = places.get(lead.key) or next((places[f.key] for f in one.findings if f.key in places), None)
    worst = _example(group.first) if group else None
    return Card(
        trouble=one,
        name=_capital(name_of(one.bias)),
        effect=_effect(one),
        claimed=meaning(lead),
        row=rows.get(lead.key),
        flipped=flip_words(lead).removeprefix("flips ") if worst else "",
        reason=cut(str(lead.reason), REASON),
        worst=worst,
        flips=f"flips-{group.probe.anchor}" if group and group.first else "",
        details=group.probe.anchor if group else "",
        steps=tuple(_steps(audit, one)),
        full=True,
    )


def _effect(one: Trouble) -> str:
    """Return what the lead of a trouble measured, in a sentence."""
    if one.effect is not None:
        return one.effect.sentence
    return "Nothing was measured." if one.lead.value is None else "Too few replies came to say anything."


def _example(flips: Sequence[Highlight]) -> Highlight | None:
    """Return the flip that is the quickest to read among the loudest: what only adds a few words."""
    loudest = [one for one in flips if (one.word, one.weight) == (flips[0].word, flips[0].weight)]
    return min(loudest, key=lambda one: (not one.came, bool(one.went), len(one.came), one.case), default=None)


def _steps(audit: Audit, one: Trouble) -> list[Step]:
    """Return what to do about a trouble: by its outcome, and by what fits the judge."""
    if one.outcome is Outcome.INCOMPLETE:
        return [Step("Run it again: what was asked before comes from the cache.")]
    if one.outcome is Outcome.UNDECIDED:
        needed = next(filter(None, map(plan, one.findings)), "")
        return [
            Step(f"{_capital(needed)}." if needed else "Ask about more cases, or with more repeats (--calm-repeats).")
        ]
    steps = []
    if one.bias in CONTROLS:
        steps.append(Step("See to this first: while it fails, no other finding means much."))
    if one.bias in (RUN, BASELINE):
        return [Step("It sums up all probes: begin with the worst bias.")]
    failed = [f for f in one.findings if f.outcome is Outcome.FAIL]
    if command := mitigate(audit, one.bias, list(dict.fromkeys(f.node for f in failed if f.node))):
        steps.append(Step("Try mitigations, and see which one helps (add --plan for the cost)", command))
    elif one.bias != AGREEMENT:
        steps.append(Step("No ready mitigation fits a judge whose prompt calm cannot change: change its own code"))
    if command := hunt(audit, failed):
        steps.append(Step("Find the smallest text that flips it, and keep it as a test", command))
    steps.append(Step("Read", page=PAGES.get(one.bias, PAGE)))
    return steps


def stands_in(audit: Audit) -> str:
    """Return what a person has to put into the commands of a page; nothing where they run as they are."""
    named = subject(audit)
    return "" if named.whole else ", ".join(word for word in (named.judge, *named.cases) if word.isupper())


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
