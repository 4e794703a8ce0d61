"""A committee of judges in the place of one: its figures beside its members', and against its size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb
from random import Random
from typing import Final

from calm.core.case import digest
from calm.models.wire import Json
from calm.selfpreference.evidence import Evidence
from calm.selfpreference.report.harmful import Held, held
from calm.selfpreference.report.rows import Part, known

MOST: Final = 20
"""More committees of one size are sampled down to this many."""
FIGURES: Final = ("mra", "mipa", "hspp_rubric_self", "hspp_instance_self")
NO_TRUTH: Final = "the figures of a committee need answers with a known truth"


def together(evidence: Evidence, given: Mapping[str, Sequence[str]], seed: int) -> tuple[Part, ...]:
    """
    Return the tables `committee`, a row for each member of a committee, and `committee_size`, a row for each size.

    In the first, the ratios of a committee are by its verdicts, with the own answers and the family of the member. In
    the second, each figure is the mean over the members of a committee and over the committees of the size: all, or at
    most `MOST` that are drawn with `seed` from the members of all that are `given`. Without committees there are none.
    """
    if not given:
        return ()
    if evidence.truth is None:
        return (Part("committee", (), NO_TRUTH),)
    rows: list[dict[str, Json]] = []
    for name, members in given.items():
        by_all = _of_each(evidence, members, members)
        for member in members:
            alone = _of_each(evidence, [member], [member])[member]
            row: dict[str, Json] = {"committee": name, "judge": member}
            for figure in FIGURES:
                row |= {figure: alone[figure], f"{figure}_committee": by_all[member][figure]}
            rows.append({column: value for column, value in row.items() if evidence.table or "mra" not in column})
    pool = tuple(dict.fromkeys(member for members in given.values() for member in members))
    sizes = tuple(_of_size(evidence, pool, size, seed) for size in range(1, len(pool) + 1))
    lines = tuple(name for name in FIGURES if any(row[name] is not None for row in sizes))
    shown = tuple({c: v for c, v in row.items() if c not in FIGURES or c in lines} for row in sizes)
    return Part("committee", tuple(rows)), Part("committee_size", shown, "", "size", lines)


def _of_size(evidence: Evidence, pool: Sequence[str], size: int, seed: int) -> dict[str, Json]:
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    count = 0
    for members in _drawn(pool, size, seed):
        count += 1
        for figures in _of_each(evidence, members, members).values():
            for name, value in figures.items():
                if value is not None:
                    found[name].append(value)
    means: dict[str, Json] = {name: sum(v) / len(v) if v else None for name, v in found.items()}
    return {"size": size, "committees": count, "of": comb(len(pool), size), **means}


def _drawn(pool: Sequence[str], size: int, seed: int) -> Iterator[tuple[str, ...]]:
    if comb(len(pool), size) <= MOST:
        yield from combinations(pool, size)
        return
    rng = Random(digest("committees", seed, size))
    seen: set[tuple[str, ...]] = set()
    while len(seen) < MOST:
        places = sorted(rng.sample(range(len(pool)), size))
        if (members := tuple(pool[place] for place in places)) not in seen:
            seen.add(members)
            yield members


def _of_each(
    evidence: Evidence, committee: Sequence[str], members: Sequence[str]
) -> dict[str, dict[str, float | None]]:
    """Return the figures of a committee's verdicts by member, each with its own answers and family."""
    assert evidence.truth is not None
    said = evidence.committee([evidence.grid.row(member) for member in committee])
    return {member: _figures(held(evidence, member, said, evidence.truth)) for member in members}


def _figures(found: Held) -> dict[str, float | None]:
    rubric = None if found.rubric is None else found.rubric.ratio_self
    return dict(zip(FIGURES, (known(found.mra), known(found.mipa), rubric, found.instance.ratio_self), strict=True))
