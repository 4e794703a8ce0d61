"""
Ways to make a judge steadier, or harder to attack, as judges around a judge.

Each module holds one idea, its source, and its entries in the table `MITIGATIONS`. A mitigation wraps a judge and is a
judge, so they can be put around each other; what they cost is counted, capped and cached like all else, as all of it
goes through `send`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from calm.core.verdict import FAMILY, Task
from calm.errors import ConfigError, nearest
from calm.judges.mitigations import (
    discussion,
    evidence,
    filters,
    framings,
    geval,
    guards,
    instructions,
    orders,
    panels,
    peer_rank,
    reference,
    segments,
    spotlighting,
)
from calm.judges.mitigations.mitigation import Mitigated, Mitigation, NotApplicable, Reader
from calm.judges.mitigations.orders import swap
from calm.models.wire import Judge

__all__ = ["DEFENCES", "MITIGATIONS", "Mitigated", "Mitigation", "NotApplicable", "fault", "mitigated", "swap", "unfit"]

MITIGATIONS: Mapping[str, Mitigation] = {
    one.name: one
    for one in chain(
        orders.MITIGATIONS,
        evidence.MITIGATIONS,
        instructions.MITIGATIONS,
        reference.MITIGATIONS,
        geval.MITIGATIONS,
        framings.MITIGATIONS,
        segments.MITIGATIONS,
        panels.MITIGATIONS,
        peer_rank.MITIGATIONS,
        discussion.MITIGATIONS,
        spotlighting.MITIGATIONS,
        filters.MITIGATIONS,
        guards.MITIGATIONS,
    )
}
"""All mitigations by name."""

DEFENCES = (
    "delimiters",
    "datamarking",
    "sandwich",
    "string-filter",
    "statistical-filter",
    "input-filter",
    "output-filter",
    "committee",
)
"""Those that are meant against injected orders."""


def mitigated(judge: Judge, names: Sequence[str], reader: Reader | None = None) -> Judge:
    """
    Return a judge with the mitigations of these names around it, the first innermost.

    A name may have an argument behind a colon, such as `evidence:3` or `panel:b.toml+c.toml`; `reader` makes the other
    judges that it names.

    Raises:
        ConfigError: an unknown name, or an argument that is none.
        NotApplicable: a mitigation that can do nothing for this judge.
    """
    for name in names:
        if problem := fault(name):
            raise ConfigError(f"mitigations: {problem}")
        kind, _, argument = name.partition(":")
        entry = MITIGATIONS[kind]
        if FAMILY[judge.task] not in entry.families:
            raise NotApplicable(f"mitigations: {unfit(name, judge.task)}")
        judge = entry.make(judge, argument.strip(), reader or _none)
    return judge


def fault(name: str) -> str:
    """Return what is wrong with the name of a mitigation, or nothing."""
    kind = name.partition(":")[0]
    return "" if kind in MITIGATIONS else f"unknown name {kind!r}{nearest(kind, MITIGATIONS)}"


def unfit(name: str, task: Task) -> str:
    """Return why a mitigation is not for a task, or nothing."""
    kind = name.partition(":")[0]
    if FAMILY[task] in MITIGATIONS[kind].families:
        return ""
    tasks = " or ".join(f"task = {family!r}" for family in MITIGATIONS[kind].families)
    return f"{kind!r} expects {tasks}, got task={task!r}"


def _none(spec: str) -> Judge:
    raise ConfigError(f"mitigations: expected a reader for other judges, to make one of {spec!r}")
