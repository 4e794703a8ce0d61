"""20,000 calls to a server that fails in many ways."""

from calm.engine.money import Caps
from tests.servers.chaos import stormed

CALLS = 20_000
TIMEOUT_S = 2
"""Long enough for a busy machine: an answer that comes later than this is paid, and asked again."""


def test_twenty_thousand_calls_end_as_verdicts_or_losses(tmp_path):
    """None is asked again once it was answered, and hardly any is lost: what fails is tried again six times."""
    storm = stormed(tmp_path, CALLS, timeout_s=TIMEOUT_S)

    answered = sum(storm.chaos.good.values())
    print(f"{CALLS} calls: {storm.ledger.calls}, {storm.chaos.kinds}, {storm.lost} lost")
    assert answered == CALLS - storm.lost == storm.kept
    assert storm.ledger.calls["failed"] == storm.lost <= CALLS // 1000
    assert storm.ledger.calls["made"] == len(storm.wire.seen)


def test_a_cap_on_calls_holds_to_the_call(tmp_path):
    """Tried again or not: 10,000 attempts are allowed, and 10,000 are made."""
    storm = stormed(tmp_path, CALLS, caps=Caps(calls=10_000), seed=1, timeout_s=TIMEOUT_S)

    assert len(storm.wire.seen) == 10_000
    assert sum(storm.chaos.good.values()) == CALLS - storm.lost == storm.kept
    assert storm.ledger.calls["failed"] + storm.ledger.calls["unmade"] == storm.lost
