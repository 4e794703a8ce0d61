"""
Mitigations make a judge steadier, or harder to attack.

Each is a function with its entry, and its source, in the table `MITIGATIONS`. A mitigation is a judge around a judge,
so one can be put around another. All of its calls go through `send`, which counts, caps and caches them.
"""

from __future__ import annotations

from collections.abc import Sequence

from calm.core.plugins import given
from calm.core.verdict import FAMILY, Task
from calm.errors import ConfigError, nearest
from calm.judges.python import judge_of
from calm.models.wire import Judge
from calm.plugins.mitigate import asks, autocalibrate, filters, panels, prompts
from calm.plugins.mitigate.mitigation import MITIGATIONS, Mitigation, NotApplicable, Reader

__all__ = ["DEFENCES", "MITIGATIONS", "Mitigation", "NotApplicable", "fault", "mitigated", "unfit"]

MODULES = (asks, autocalibrate, filters, panels, prompts)
"""Each puts its mitigations into the table as it is imported."""
MITIGATIONS.update({name: one.load() for name, one in given("MITIGATIONS").items()})

DEFENCES = (
    *("delimiters", "datamarking", "sandwich", "string-filter", "statistical-filter", "input-filter"),
    *("output-filter", "committee"),
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

    def no_reader(spec: str) -> Judge:
        raise ConfigError(f"mitigations: expected a reader for other judges, to make one of {spec!r}")

    judge = judge_of(judge)
    for name in names:
        if problem := fault(name):
            raise ConfigError(f"mitigations: {problem}")
        kind, _, argument = name.partition(":")
        entry, argument = MITIGATIONS[kind], argument.strip()
        if FAMILY[judge.task] not in entry.families:
            raise NotApplicable(f"mitigations: {unfit(name, judge.task)}")
        if argument and not entry.takes:
            raise ConfigError(f"mitigations: {kind!r} takes nothing after a colon, got {argument!r}; remove it")
        judge = entry.make(judge, argument, reader or no_reader) if entry.takes else entry.make(judge)
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
