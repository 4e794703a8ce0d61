"""Which edit is the simpler one: how much of a case it changes, and how odd the characters are that it brings in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from rapidfuzz.distance import Levenshtein

from calm.core.case import Case, Treated
from calm.core.edits import Edit
from calm.core.material import texts_of_steps
from calm.core.verdict import FAMILIES, FAMILY, Family
from calm.experiment.aim import aim
from calm.gate.catalogue import Entry, entries

SAMPLES: Final = 20
"""An edit is tried on so many bundled cases; one that applies to none of them is the least simple."""
ODD: Final = 50
"""An added character that is neither ASCII nor in the case weighs as much as so many plain ones."""
NEVER: Final = 10**9


@cache
def by_simplicity(family: Family) -> tuple[tuple[Entry, ...], ...]:
    """
    Return the edits of the catalogue that serve a kind of verdict, by bias, the simplest first.

    The biases come in the order of their simplest edit. Edits of the judge's prompt are left out.
    """
    from calm.cases import bundled

    task = next(task for task, kind in FAMILY.items() if kind == family)
    samples = [case.with_order() for case in bundled(task)[:SAMPLES]]
    found = [(e, e.edit) for e in entries() if isinstance(e.edit, Edit) and family in e.edit.tasks]
    ordered = sorted(found, key=lambda one: (weight(one[1], samples), one[0].key))
    biases = dict.fromkeys(edit.bias for _, edit in ordered)
    return tuple(tuple(entry for entry, edit in ordered if edit.bias == bias) for bias in biases)


def weight(edit: Edit, cases: Iterable[Case]) -> int:
    """Return how much an edit changes in the first of some cases that it applies to: 0 is nothing, NEVER none."""
    for case in cases:
        aimed = aim(case, edit.expects)
        edited = edit.apply(aimed, 0) if isinstance(aimed, Treated) else None
        if edited is not None:
            return difference(case, edited)
    return NEVER


def difference(before: Case, after: Case) -> int:
    """Return how many characters of a case differ, odd ones more, and 1 for another order, and for another framing."""
    old, new = dict(texts_of(before)), dict(texts_of(after))
    changed = sum(Levenshtein.distance(old.get(k, ""), new.get(k, "")) for k in old.keys() | new.keys())
    added = Counter("".join(new.values())) - Counter("".join(old.values()))
    odd = sum(count for one, count in added.items() if not one.isascii() and one not in "".join(old.values()))
    return changed + ODD * odd + (before.slots != after.slots) + (before.framing != after.framing)


def texts_of(case: Case) -> Iterator[tuple[str, str]]:
    """Yield all texts of a case that a judge may see, each with its place."""
    yield "question", case.question
    yield "reference", case.reference or ""
    for answer in case.answers:
        yield f"answer {answer.id}", answer.text
        yield f"history {answer.id}", "\n".join(case.history(answer))
        yield f"byline {answer.id}", case.bylines.get(answer.id, "")
        yield f"steps {answer.id}", "\n".join(texts_of_steps(answer.steps))
    yield "turns", "\n".join(f"{turn.role}: {turn.text}" for turn in case.turns)
    yield "context", "\n".join(f"{passage.id}: {passage.text}" for passage in case.context)
    for name in ("notes", "labels", "follow_ups"):
        texts: Sequence[str] = getattr(case, name)
        yield name, "\n".join(texts)
    yield "criteria", "\n".join(criterion.text for criterion in case.criteria)
    yield "fields", "\n".join(case.fields.values())
    yield "examples", "\n".join("\n".join((e.question, *e.answers, e.verdict)) for e in case.examples)


def known_biases() -> list[str]:
    """Return the biases of the catalogue's edits of cases, by name."""
    return sorted({entry.edit.bias for family in FAMILIES for group in by_simplicity(family) for entry in group})
