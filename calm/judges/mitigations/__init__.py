"""
Mitigations make a judge steadier, or harder to attack.

Each module holds one idea, its source, and its entries in the table `MITIGATIONS`. A mitigation is a judge around a
judge, so one can be put around another. All of its calls go through `send`, which counts, caps and caches them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from calm.core.plugins import given
from calm.core.verdict import FAMILY, Task
from calm.errors import ConfigError, nearest
from calm.judges.foreign import judge_of
from calm.judges.mitigations import (
    autocalibrate,
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
    plan,
    reference,
    samples,
    score_options,
    segments,
    spotlighting,
)
from calm.judges.mitigations.mitigation import Mitigation, NotApplicable, Reader
from calm.judges.mitigations.orders import swap
from calm.models.wire import Judge

__all__ = ["DEFENCES", "MITIGATIONS", "Mitigation", "NotApplicable", "fault", "mitigated", "swap", "unfit"]

MITIGATIONS: Mapping[str, Mitigation] = {
    one.name: one
    for one in chain(
        orders.MITIGATIONS,
        samples.MITIGATIONS,
        evidence.MITIGATIONS,
        instructions.MITIGATIONS,
        plan.MITIGATIONS,
        reference.MITIGATIONS,
        autocalibrate.MITIGATIONS,
        geval.MITIGATIONS,
        framings.MITIGATIONS,
        score_options.MITIGATIONS,
        segments.MITIGATIONS,
        panels.MITIGATIONS,
        peer_rank.MITIGATIONS,
        discussion.MITIGATIONS,
        spotlighting.MITIGATIONS,
        filters.MITIGATIONS,
        guards.MITIGATIONS,
    )
} | {name: one.load() for name, one in given("MITIGATIONS").items()}
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
"""Mitigations against orders that an answer gives to its judge."""


def mitigated(judge: Judge, names: Sequence[str], reader: Reader | None = None) -> Judge:
    """
    Return a judge with mitigations around it, the first one innermost.

    A name may have an argument after a colon, such as `evidence:3` or `panel:b.toml+c.toml`. `reader` makes the other
    judges that an argument names.

    Raises:
        ConfigError: an unknown name, or an argument that the mitigation does not take.
        NotApplicable: a mitigation that can do nothing for this judge.
    """
    judge = judge_of(judge)
    for name in names:
        if problem := fault(name):
            raise ConfigError(f"mitigations: {problem}")
        kind, _, argument = name.partition(":")
        entry = MITIGATIONS[kind]
        if FAMILY[judge.task] not in entry.families:
            raise NotApplicable(f"mitigations: {unfit(name, judge.task)}")
        if argument.strip() and not entry.takes:
            raise ConfigError(f"mitigations: {kind!r} takes nothing after a colon, got {argument.strip()!r}; remove it")
        judge = entry.make(judge, argument.strip(), reader or _no_reader)
    return judge


def fault(name: str) -> str:
    """Return what is wrong with the name of a mitigation; empty if nothing is."""
    kind = name.partition(":")[0]
    return "" if kind in MITIGATIONS else f"unknown name {kind!r}{nearest(kind, MITIGATIONS)}"


def unfit(name: str, task: Task) -> str:
    """Return why a mitigation does not fit a task; empty if it does."""
    kind = name.partition(":")[0]
    if FAMILY[task] in MITIGATIONS[kind].families:
        return ""
    tasks = " or ".join(f"task = {family!r}" for family in MITIGATIONS[kind].families)
    return f"{kind!r} expects {tasks}, got task={task!r}"


def _no_reader(spec: str) -> Judge:
    raise ConfigError(f"mitigations: expected a reader for other judges, to make one of {spec!r}")
