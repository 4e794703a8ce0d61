"""Draw pairs whose worse answer has a wrong method or a single slip, from the templates of the shipped set."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from calm.cases.generate.arithmetic import ARITHMETIC
from calm.cases.generate.ordering import ORDERING
from calm.cases.generate.units import UNITS
from calm.cases.generate.working import Template, balanced, render

__all__ = ["BY_KIND", "pair_of"]

_CLOSE_PERIOD: Final = 3

BY_KIND: Final[Mapping[str, tuple[Template, ...]]] = {
    "arithmetic": ARITHMETIC,
    "units": UNITS,
    "ordering": ORDERING,
}


def pair_of(template: Template, rng: random.Random, turn: int) -> dict[str, object] | None:
    """Return a pair without its id; None where slip and truth happen to be equal."""
    close = turn % _CLOSE_PERIOD == 0
    draft = replace(template(rng, close), close=close)
    if draft.good.result == draft.bad.result:
        return None
    end_first = rng.random() < 0.4
    good, bad = (render(one, rng.choice(("plain", "list", "bold")), end_first) for one in (draft.good, draft.bad))
    good, bad = balanced(draft, good, bad, rng.random() < 0.5)
    return {
        "question": draft.question,
        "answers": [{"id": "good", "text": good}, {"id": "bad", "text": bad}],
        "better": "good",
        "reference": draft.reference,
        "tags": {"margin": "close" if close else "clear"},
    }
