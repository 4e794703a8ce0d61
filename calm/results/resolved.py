"""The resolution of a run with attainable limits: what it could tell, shown beside what it found."""

from __future__ import annotations

from dataclasses import replace

from calm.core.claims import Claim, decimals
from calm.core.reasons import Kind, because
from calm.results.audit import Audit, Finding


def resolved(audit: Audit) -> Audit:
    """Return the record of a run with attainable limits with a note of its resolution first; any other as it is."""
    if audit.limits == "suites":
        return audit
    note = because(Kind.ATTAINABLE, *resolution(audit.findings))
    return replace(audit, run=replace(audit.run, notes=(note, *audit.run.notes)))


def resolution(findings: tuple[Finding, ...]) -> list[str]:
    """Return the loosest limit that each measure got in place of the suites' own, as claims."""
    loosest: dict[tuple[str, str, float], float] = {}
    for f in findings:
        if f.claim is None or f.stated is None or f.reason.has(Kind.GATE_FILE):
            continue
        name = f.measure if f.node else f"{f.bias}/{f.measure}"
        key = name, f.claim.op, f.stated.limit
        worse = min if f.claim.op == ">=" else max
        loosest[key] = worse(loosest.get(key, f.claim.limit), f.claim.limit)
    return [
        f"{Claim(name, op, limit)} (the suites state {decimals(stated)})"  # type: ignore[arg-type]  # the op of a claim
        for (name, op, stated), limit in sorted(loosest.items())
    ]
