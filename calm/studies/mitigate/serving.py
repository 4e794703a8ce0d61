"""Which sets can be asked at all: found with a question or a few, before the gate is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from calm.core.case import Case
from calm.core.reasons import Kind, reason_of
from calm.core.verdict import NoReply, Unreadable, Verdict
from calm.errors import ConfigError, JudgeError, StorageError
from calm.experiment.pairs import pair_up
from calm.experiment.setup import Setup
from calm.experiment.showing import refuse_unshowable
from calm.models.wire import Judge
from calm.studies.mitigate.study import MitigationSet

TRIED: Final = 3
"""A set is left out if its servers serve none of so many cases: one case may be refused for what it says."""


def shown(sets: Sequence[MitigationSet], cases: Sequence[Case]) -> list[MitigationSet]:
    """
    Return the sets, without a judge those that cannot be shown the cases; no judge is asked.

    Raises:
        ConfigError: the judge alone cannot be shown them, or no mitigation is left.
    """
    found = []
    for one in sets:
        try:
            if one.judge is not None:
                refuse_unshowable(one.judge, cases)
            found.append(one)
        except ConfigError as error:
            if not one.names:
                raise
            found.append(without(one, error))
    some_left(found)
    return found


def served(sets: Sequence[MitigationSet], setup: Setup) -> list[MitigationSet]:
    """
    Return the sets, without a judge those that their servers cannot serve, each with the reason.

    Each set is asked about one case as it is, and about `TRIED` where that brings nothing; its gate asks the same, so
    a set that is served pays for no call more.

    Raises:
        ConfigError: the judge alone cannot be served, or no mitigation is left.
        StorageError: the cache cannot be read or written.
    """
    found = []
    for one in sets:
        why = None if one.judge is None else _unserved(one.judge, replace(setup, judge=one.judge))
        if why is not None and not one.names:
            raise why
        found.append(one if why is None else without(one, why))
    some_left(found)
    return found


def without(one: MitigationSet, why: object) -> MitigationSet:
    """Return a set that is left out, and why."""
    return replace(one, judge=None, reason=" ".join(str(why).split()))


def some_left(sets: Sequence[MitigationSet]) -> None:
    """
    Return if a mitigation is left.

    Raises:
        ConfigError: none is; it names why each is left out.
    """
    if any(one.judge is not None and one.names for one in sets):
        return
    raise ConfigError(
        [
            "--try: expected a mitigation that this judge and its server can carry out, got none; nothing is compared",
            *(f"{one.label}: {one.reason}" for one in sets if one.judge is None),
        ]
    )


def _unserved(judge: Judge, setup: Setup) -> ConfigError | None:
    """Return why the servers of a judge do not serve it; None: they answer, or a cap or a stop left it open."""
    try:
        setup.engine.admit(judge)
    except StorageError:
        raise
    except ConfigError as error:
        return error
    why = None
    for pair in pair_up(setup, None, None, ties=True).pairs[:TRIED]:
        try:
            [asked] = setup.engine.ask(judge, [(pair.base, 1)])
        except JudgeError as error:
            return ConfigError(str(error))
        why = _lacks(asked.verdict)
        if why is None:
            return None
    return why


def _lacks(verdict: Verdict) -> ConfigError | None:
    """Return what a server did not serve; None: it did, or it was not asked."""
    if isinstance(verdict, NoReply):
        reason = reason_of(verdict.reason)
        return None if reason.unmade else ConfigError(str(reason))
    if isinstance(verdict, Unreadable) and verdict.kind is Kind.NO_TOKENS:
        return ConfigError(verdict.reason)
    return None
