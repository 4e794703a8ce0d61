"""What a claim is about, and the order of the three resolutions."""

from dataclasses import replace

from calm.core.reasons import Kind, because
from calm.results.audit import Limit
from calm.results.sentences import Resolution, in_order, resolution
from tests.reports.planted_audit import finding

PROBE = finding(key="authority/gain", measure="gain", claim=Limit("<=", 0.15))
RUN = replace(PROBE, key="run/gain", bias="run", claim=Limit("<=", 0.05))
WORST = replace(PROBE, key="authority/worst_gain", measure="worst_gain", claim=Limit("<=", 0.30))


def test_there_are_three_resolutions():
    """A run, a probe, and the worst variant or one by itself; findings are read in this order."""
    single = replace(PROBE, key="authority/gain/cite_book", reason=because(Kind.VARIANT))

    assert [resolution(f) for f in (RUN, PROBE, WORST, single)] == [
        Resolution.RUN,
        Resolution.PROBE,
        Resolution.VARIANT,
        Resolution.VARIANT,
    ]
    assert in_order([WORST, single, PROBE, RUN]) == [RUN, PROBE, WORST, single]
