"""A run: each anchor is asked anew, by repeat indices that no other run of its history has (see also `begun`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from calm.core.case import Case
from calm.core.order import RUN_ASKS
from calm.core.reasons import Reason, reason_of
from calm.core.verdict import Criteria, Label, NoReply, Preferred, Score, Tie, Verdict, chances, code, decode
from calm.engine.engine import Engine
from calm.experiment.pairs import ORDER_SALT
from calm.experiment.stopping import LOST
from calm.models.wire import Json, Judge

_DIGITS = 2
"""Decimals of a probability in a history: more would separate asks that say the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    The verdicts on each case, in the order of the cases; `lost` counts asks without a reply.

    `incomplete` is why most of them have none, if too many have none for a run to count.
    """

    verdicts: tuple[tuple[Verdict, ...], ...]
    lost: int
    incomplete: Reason | None = None


def asks_of(number: int, repeats: int) -> range:
    """
    Return the repeat indices of a run, numbered from 1: no other run of its history has them.

    >>> list(asks_of(3, 2))
    [3001, 3002]
    """
    return range(number * RUN_ASKS + 1, number * RUN_ASKS + repeats + 1)


def ask_anchors(engine: Engine, judge: Judge, cases: Sequence[Case], number: int, repeats: int) -> Asked:
    """
    Ask a judge about each case, so many times, as the run of a number; equal asks of a stopped run are kept.

    The order of the answers is drawn once for a case, as in the gate, so that a pull to one slot is no favour.
    """
    asks, salt = asks_of(number, repeats), "" if judge.traits.as_given else ORDER_SALT
    shown = [case.with_order(salt) for case in cases]
    found = iter(engine.ask(judge, [(case, ask) for case in shown for ask in asks]))
    every = [[next(found).verdict for _ in asks] for _ in cases]
    lost = Counter(reason_of(one.reason) for row in every for one in row if isinstance(one, NoReply))
    kept = tuple(tuple(one for one in row if not isinstance(one, NoReply)) for row in every)
    capped = any(reason.unfinished for reason in lost)
    stopped = engine.broken is not None and bool(engine.broken)
    much = lost.total() > LOST * len(cases) * repeats
    return Asked(kept, lost.total(), max(lost, key=lost.__getitem__) if lost and (capped or stopped or much) else None)


def said(verdict: Verdict) -> str:
    """
    Return a verdict as a history keeps it: its code, and the probability of each where it has them.

    >>> said(Preferred("good")), said(Preferred("good", {"good": 0.912, "bad": 0.088}))
    ('{"code":"good"}', '{"code":"good","p":{"bad":0.09,"good":0.91}}')
    """
    law = chances(verdict)
    body: dict[str, Json] = {"code": cast(Json, code(verdict))}
    if law is not None:
        body["p"] = {name: share for name, p in sorted(law.items()) if (share := round(p, _DIGITS))}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def verdict_in(kept: str) -> Verdict:
    """Return the verdict that `said` wrote; an error such as `ValueError` for any other text."""
    body = json.loads(kept)
    law = {name: float(share) for name, share in body["p"].items()} if "p" in body else None
    verdict = decode(body["code"])
    match verdict:
        case Preferred(answer=answer):
            return Preferred(answer, law)
        case Tie():
            return Tie(law)
        case Score(value=value):
            return Score(value, law)
        case Criteria(met=met):
            return Criteria(met, law)
        case Label(value=value):
            return Label(value, law)
        case _:
            return verdict
