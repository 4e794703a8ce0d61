"""Which edits a hunt for the smallest example of a failed claim begins with, and in which part of the cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from calm.core.case import Treated
from calm.core.edits import Edit, Expects
from calm.core.measures import flips
from calm.core.trials import Trials
from calm.errors import CalmError
from calm.experiment.lookahead import Order
from calm.experiment.pairs import aim
from calm.gate.catalogue import name_of

PLACES: Final[Mapping[str, str]] = {
    "answers": "answer",
    "question": "question",
    "reference": "reference",
    "criteria": "criteria",
    "notes": "notes",
    "bylines": "byline",
}
"""The part of a case that an edit changes, and how `calm hunt --where` calls it."""
MOST: Final = 3
"""So many variants of a rotation are named; of more, the bias is."""
TRIED: Final = 20
"""Cases on which an edit is tried to see what it changes."""


def hunted(order: Order, trials: Trials | None) -> dict[str, str]:
    """
    Return the edits and the place of a hunt for the smallest example of what failed, as `calm hunt` takes them.

    Empty where a hunt makes no sense: the edit is none of cases, or a sound judge may react to it; it changes more than
    one part of a case; no case flipped toward the treated answer; no command line can name it; the test brought
    its cases or another edit to compare with; or the judge is a table that is replayed.
    """
    edit, judge = order.edit, order.setup.judge
    wanted = isinstance(edit, Edit) and edit.expects in (Expects.NOT_BETTER, Expects.SAME)
    if not wanted or trials is None or order.against or order.own_cases or judge.traits.recorded is not None:
        return {}
    assert isinstance(edit, Edit)
    counts: Counter[str] = Counter()  # the rows in which each variant made the treated answer win
    for label in {row.edit for row in trials.rows}:
        counts[label] = flips(replace(trials, rows=tuple(row for row in trials.rows if row.edit == label))).toward
    found: dict[str, list[tuple[str, str]]] = {}
    totals: Counter[str] = Counter()
    for one in edit.variants or (edit,):
        if counts[one.label] and (place := _place(one, order)) and (name := name_of(one, judge)):
            found.setdefault(place, []).append((one.label, name))
            totals[place] += counts[one.label]
    if not found:
        return {}
    place = max(found, key=lambda where: totals[where])
    named = sorted(found[place], key=lambda pair: (-counts[pair[0]], pair))
    shipped = all(":" not in name for _, name in named)
    edits = [edit.bias] if len(named) > MOST and shipped else [name for _, name in named[:MOST]]
    return {"edits": ",".join(edits), "where": place}


def _place(edit: Edit, order: Order) -> str:
    """Return the one part of a case that an edit changes; nothing where it changes several, or another one."""
    for case in order.setup.cases[:TRIED]:
        aimed = aim(case.with_order(), edit.expects)
        if not isinstance(aimed, Treated):
            continue
        try:
            after = edit.apply(aimed, order.setup.seed)
        except CalmError:
            return ""
        if after is not None:
            changed = aimed.differences(after)
            [part, *more] = sorted(changed)
            return "" if more or not _writes_once(part, aimed, after) else PLACES.get(part, "")
    return ""


def _writes_once(part: str, before: Treated, after: Treated) -> bool:
    """Return whether an edit writes what a hunt can: one text, that of the treated answer where each has its own."""
    target = before.target
    if part == "answers":
        return [a for a in before.answers if a.id != target] == [a for a in after.answers if a.id != target]
    if part == "bylines":
        others = [{who: name for who, name in case.bylines.items() if who != target} for case in (before, after)]
        return others[0] == others[1]
    if part == "notes":
        return after.notes[:-1] == before.notes
    return part != "criteria" or after.criteria[:-1] == before.criteria[:-1]
