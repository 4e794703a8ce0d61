"""The resolution of a run whose cases are few: what it could tell, as printed before its first call and last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from calm.core.claims import Claim, Outcome
from calm.core.reasons import Kind, because
from calm.results.audit import Audit

TELLING: Final = ("pull", "lift", "gain", "net_robustness")
"""The measures of which one stands for all that a run can tell, the most telling first."""


def resolved(audit: Audit) -> Audit:
    """Return the record of a green run with a note of its resolution first, if its cases were few; else as it is."""
    passed = [f for f in audit.findings if f.outcome is Outcome.PASS and not f.reason.has(Kind.GATE_FILE)]
    known = [f for f in passed if f.claim and f.stated and f.node]
    limits = [(Claim(f.measure, f.claim.op, f.claim.limit), f.stated.limit) for f in known if f.claim and f.stated]
    wider = widest((claim, replace(claim, limit=stated)) for claim, stated in limits)
    if audit.limits == "suites" or not wider or any(f.red for f in audit.findings):
        return audit
    note = because(Kind.AT_RESOLUTION, int(str(audit.cases["n"])), *wider)
    return replace(audit, run=replace(audit.run, notes=(note, *audit.run.notes)))


def widest(limits: Iterable[tuple[Claim, Claim]]) -> tuple[str, float, float] | None:
    """
    Return the measure that tells most of those whose limits gave way, its widest limit, and the one that was stated.

    `limits` are claims as they are made, each with the claim as its suite states it. None if no limit gave way.
    """
    found: dict[str, tuple[float, float]] = {}
    for made, stated in limits:
        if made.limit != stated.limit:
            wider = min if made.op == ">=" else max
            before = found.get(made.measure, (made.limit, stated.limit))
            found[made.measure] = wider(before[0], made.limit), wider(before[1], stated.limit)
    for measure in (*TELLING, *sorted(found)):
        if measure in found:
            return measure, *found[measure]
    return None
