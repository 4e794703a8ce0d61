"""What the record of batches takes, and who gets what where two things happen at a moment."""

import asyncio

import pytest

from calm.engine.money import Money
from calm.engine.queue import Tried
from calm.engine.store import Entry, Mode, Store, request_text
from calm.models.wire import Reply
from calm.plugins.batches.records import BatchedCall, BatchRecords
from calm.plugins.batches.waits import Anew, Waits

KEY, OTHER = b"k" * 32, b"o" * 32
REQUEST = request_text((), "{}")


@pytest.fixture
def store(tmp_path):
    """Give a record in a file."""
    found = Store(tmp_path / "cache.sqlite", Mode.ON)
    yield found
    found.close()


def test_a_call_whose_reply_was_kept_meanwhile_goes_into_no_batch(store):
    """Its batch was collected between the look-up and this: in another batch it would be paid for again."""
    store.put_all([Entry(KEY, REQUEST, Reply("[[A]]"))])

    elsewhere = BatchRecords(store).add(
        "b", '{"model": {"model": "m"}}', 0.0, [BatchedCall(k, REQUEST) for k in (KEY, OTHER)]
    )

    assert elsewhere == {KEY: ""}
    assert BatchRecords(store).keys("b") == {OTHER}
    assert BatchRecords(store).row("b").total == 1


def test_who_joined_a_call_that_is_dropped_looks_again():
    """Nobody waits for what stands in no batch."""

    async def run():
        waits = Waits(Money(), None, again=lambda _: None, release=lambda _: None)
        waits.put(KEY, None, 0)
        joined = asyncio.ensure_future(waits.outcome(KEY, None))
        await asyncio.sleep(0)
        waits.drop(KEY)
        return await asyncio.wait_for(joined, 5), KEY in waits

    outcome, there = asyncio.run(run())

    assert isinstance(outcome, Tried)
    assert isinstance(outcome.last, Anew)
    assert (outcome.failures, there) == (0, False)
