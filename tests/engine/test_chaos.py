"""A server that fails in many ways: every call ends as a verdict or as a counted loss, none twice, within the caps."""

import pytest

from calm.engine.money import Caps
from tests.servers import wire_server
from tests.servers.chaos import USAGE, Chaos, asked, stormed


def settled(storm, calls):
    """Check what must hold of every storm."""
    verdicts = calls - storm.lost
    assert len(storm.verdicts) == calls
    assert storm.ledger.calls["failed"] + storm.ledger.calls["unmade"] == storm.lost
    assert storm.ledger.calls["made"] == len(storm.wire.seen)
    assert sum(storm.chaos.good.values()) == verdicts == storm.kept  # nothing that was answered was asked again


def test_every_call_ends_as_a_verdict_or_a_loss(tmp_path):
    """500 calls, of which a fifth fail once or more."""
    storm = stormed(tmp_path, 500)

    settled(storm, 500)
    assert storm.lost <= 5
    assert set(storm.chaos.kinds) == {"200", "429", "500", "hang", "cut", "truncated", "html", "mistyped"}


def test_a_new_run_asks_only_what_was_lost(tmp_path):
    """What was answered is in the cache, whatever happened around it."""
    chaos = Chaos()
    with wire_server(chaos.respond) as wire:
        capped = asked(tmp_path, wire, chaos, 300, Caps(calls=150))
        rest = asked(tmp_path, wire, chaos, 300)

    assert sum(chaos.good.values()) == 300 - rest.lost
    assert rest.ledger.calls["cached"] == 300 - capped.lost


@pytest.mark.parametrize("caps", [Caps(calls=200), Caps(tokens=6000), Caps(usd=0.15)], ids=["calls", "tokens", "usd"])
def test_no_cap_is_passed(tmp_path, caps):
    """Whatever fails and is tried again, and however many calls are in flight; what is left over is a counted loss."""
    storm = stormed(tmp_path, 400, caps=caps)
    answered = sum(storm.chaos.good.values())
    put, got = USAGE

    settled(storm, 400)
    assert 0 < storm.lost < 400
    assert caps.calls is None or len(storm.wire.seen) <= caps.calls
    assert caps.tokens is None or answered * (put + got) <= caps.tokens
    assert caps.usd is None or answered * (put * 10 + got * 100) / 1e6 <= caps.usd
