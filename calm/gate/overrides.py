"""What gate.toml changes: the limit of a claim, and which findings are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from calm.core.claims import Claim, Outcome
from calm.core.reasons import listed
from calm.errors import ConfigError
from calm.results.audit import Finding, Limit
from calm.results.gatefile import Gate


def gated(gate: Gate, key: str, claim: Claim) -> Claim:
    """
    Return a claim with the limit that gate.toml sets for it.

    Raises:
        ConfigError: the limit has the wrong sign for a claim on both sides.
    """
    override = gate.limit_for(key)
    if override is None or override.limit is None:
        return claim
    if claim.op == "abs<=" and override.limit <= 0:
        raise ConfigError(f"gate.toml: {override}: expected a limit above 0 for {claim}, got {override.limit!r}")
    return replace(claim, limit=override.limit)


def accepted(gate: Gate, found: Finding, stated: Mapping[str, Claim]) -> Finding:
    """Return a finding with what gate.toml says of it: the suite's own limit, or why the finding is accepted."""
    override, claim = gate.limit_for(found.key), stated.get(found.measure)
    if claim is not None and found.claim is not None and claim.limit != found.claim.limit:
        found = replace(found, stated=Limit(claim.op, claim.limit))
        if override is not None:
            reason = listed([found.reason, override.grounds] if found.reason else [override.grounds])
            found = replace(found, reason=reason)
    kinds = {Outcome.FAIL: gate.waiver, Outcome.UNDECIDED: gate.waiver, Outcome.NOT_TESTED: gate.accepts_untested}
    entry = kinds[found.outcome](found.key) if found.outcome in kinds else None
    if entry is None:
        return found
    return replace(found, accepted=str(entry.grounds))


def allowed(gate: Gate, found: Finding) -> Finding:
    """Return a finding about all probes, or about a baseline, with what gate.toml says of it."""
    limit, waiver = gate.limit_for(found.key), gate.waiver(found.key) if found.red else None
    if limit is not None and found.stated is not None:
        found = replace(found, reason=listed([found.reason, limit.grounds] if found.reason else [limit.grounds]))
    return replace(found, accepted=str(waiver.grounds)) if waiver is not None else found
