"""What a claim is about: all probes of a run together, one probe, or the worst variant; findings are read so."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from calm.core.measures import MEASURES
from calm.results.audit import BASELINE, RUN, Finding


class Resolution(IntEnum):
    """What a finding is about, in the order in which findings are read."""

    RUN = 0
    """All probes of the run together, or the run compared with its baseline."""
    PROBE = 1
    VARIANT = 2
    """The worst variant of a rotation, or one variant by itself."""


def resolution(finding: Finding) -> Resolution:
    """Return what a finding is about: the run, a probe, or a variant."""
    if finding.bias in (RUN, BASELINE):
        return Resolution.RUN
    measure = MEASURES.get(finding.measure)
    return Resolution.VARIANT if finding.single or (measure is not None and measure.worst_of) else Resolution.PROBE


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings about the run first, then those about probes, then those about variants."""
    return sorted(findings, key=resolution)
