"""
Make the pairwise cases whose better answer a program knows: arithmetic, units and ordering.

A clear pair has a wrong method, a close pair one slip at the end. The same count and seed give the same cases.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from calm.cases.generate.arithmetic import ARITHMETIC
from calm.cases.generate.ordering import ORDERING
from calm.cases.generate.units import UNITS
from calm.cases.generate.working import Draft, Template, balanced, better_first, render

CLOSE_AT: Final = (0, 3)
CLOSE_PERIOD: Final = 7


def arithmetic_pairs(count: int, seed: int) -> list[dict[str, object]]:
    """Make word problems about sums, prices, shares and averages, each with a right and a wrong working."""
    return [_case("ari", "arithmetic", n, draft) for n, draft in enumerate(_drafts(ARITHMETIC, count, seed), 1)]


def unit_pairs(count: int, seed: int) -> list[dict[str, object]]:
    """Make conversions of length, mass, time, speed, area and temperature, each with a right and a wrong working."""
    return [_case("uni", "units", n, draft) for n, draft in enumerate(_drafts(UNITS, count, seed), 1)]


def ordering_pairs(count: int, seed: int) -> list[dict[str, object]]:
    """Make questions about ranks, dates, places and lists in order, each with a right and a wrong working."""
    return [_case("ord", "ordering", n, draft) for n, draft in enumerate(_drafts(ORDERING, count, seed), 1)]


def _case(prefix: str, category: str, number: int, draft: tuple[Draft, str, str]) -> dict[str, object]:
    problem, good, bad = draft
    case_id = f"{prefix}-{number:03}"
    answers = [{"id": "good", "text": good}, {"id": "bad", "text": bad}]
    return {
        "id": case_id,
        "question": problem.question,
        "answers": answers if better_first(case_id) else answers[::-1],
        "better": "good",
        "reference": problem.reference,
        "tags": {"category": category, "margin": "close" if problem.close else "clear"},
    }


def _drafts(templates: Sequence[Template], count: int, seed: int) -> list[tuple[Draft, str, str]]:
    """Draw distinct problems, template by template, with the texts of both answers; length and markup are balanced."""
    rng = random.Random(seed)
    longer = [n % 2 == 0 for n in range(count)]
    styles = [("plain", "plain", "list", "bold", "list", "bold")[n % 6] for n in range(count)]
    marked = [("good", "bad", "both")[n // 2 % 3] for n in range(count)]
    for plan in (longer, styles, marked):
        rng.shuffle(plan)
    made: list[tuple[Draft, str, str]] = []
    seen: set[str] = set()
    while len(made) < count:
        n = len(made)
        close = n % CLOSE_PERIOD in CLOSE_AT
        draft = replace(templates[n % len(templates)](rng, close), close=close)
        if draft.question in seen or draft.good.result == draft.bad.result:
            continue
        seen.add(draft.question)
        end_first = rng.random() < 0.4
        good, bad = (
            render(working, styles[n] if marked[n] in (side, "both") else "plain", end_first)
            for side, working in (("good", draft.good), ("bad", draft.bad))
        )
        made.append((draft, *balanced(draft, good, bad, longer[n])))
    return made
