"""Leases and replies that share a commit: the same results as one by one, in fewer steps."""

import asyncio
import sqlite3

from calm.engine.database import BY
from calm.engine.journal import Journal
from calm.engine.money import Ledger
from calm.engine.store import Entry, Mode, Store, request_text
from calm.models.wire import Message, Reply


def journal_of(store):
    """Return the journal of a process that may make any call."""
    return Journal(store, lambda why: None, Ledger().note)


def entry(number, text="reply"):
    return Entry(number.to_bytes(32), request_text((Message("user", "x"),), {"n": number}), Reply(f"{text} {number}"))


def test_a_reply_is_returned_after_it_is_committed(tmp_path):
    """Many replies at once come back each to its own asker, and another reader finds them all."""
    path = tmp_path / "cache.sqlite"
    store = Store(path, Mode.ON)

    async def work():
        journal = journal_of(store)
        return await asyncio.gather(*(journal.record(entry(n)) for n in range(100)))

    returned = asyncio.run(work())
    reader = Store(path, Mode.REPLAY)

    assert [r.text for r in returned] == [f"reply {n}" for n in range(100)]
    assert all(reader.get(n.to_bytes(32)) == returned[n] for n in range(100))
    reader.close()
    store.close()


def test_a_reply_that_nobody_waits_for_is_kept(tmp_path):
    """A call that was cancelled after its answer came is committed all the same."""
    store = Store(tmp_path / "cache.sqlite", Mode.ON)

    async def work():
        journal = journal_of(store)
        waiting = asyncio.ensure_future(journal.record(entry(1)))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        journal.commit()

    asyncio.run(work())

    assert store.get((1).to_bytes(32)).text == "reply 1"
    store.close()


def test_the_first_reply_stands(tmp_path):
    """Where a reply is there already, the second call returns the first one."""
    path = tmp_path / "cache.sqlite"
    one, two = Store(path, Mode.ON), Store(path, Mode.ON)
    one.put_all([entry(1, "first")])

    standing = two.put_all([entry(1, "second"), entry(2, "second")])

    assert [r.text for r in standing] == ["first 1", "second 2"]
    one.close()
    two.close()


def test_of_two_processes_one_gets_each_lease(tmp_path):
    """Leases claimed together are given to one owner only, and all are free again when it is gone."""
    path = tmp_path / "cache.sqlite"
    keys = [n.to_bytes(32) for n in range(50)]
    one, two = Store(path, Mode.ON), Store(path, Mode.ON)

    first, second = one.claim_all(keys[:30]), two.claim_all(keys)
    one.close()
    again = two.claim_all(keys)

    assert (first, second) == ([True] * 30, [False] * 30 + [True] * 20)
    assert again == [True] * 50
    two.close()


def test_a_call_of_another_process_gives_its_reply(tmp_path):
    """A reply that another process commits reaches whoever waits for it."""
    path = tmp_path / "cache.sqlite"
    one, two = Store(path, Mode.ON), Store(path, Mode.ON)

    async def work():
        journal = journal_of(two)
        waiting = asyncio.ensure_future(journal.elsewhere((1).to_bytes(32)))
        await asyncio.sleep(0)
        one.put_all([entry(1)])
        return await waiting

    assert asyncio.run(work()).text == "reply 1"
    one.close()
    two.close()


def test_whoever_waits_gets_a_fault_of_the_program(tmp_path):
    """An error that is none of the disk reaches who claims, who records and who waits: nobody waits for ever."""
    store = Store(tmp_path / "cache.sqlite", Mode.ON)
    broken = Entry((1).to_bytes(32), "x", Reply(object()))  # a text that JSON cannot hold

    async def work():
        journal = journal_of(store)
        waits = journal.look([]), journal.record(broken), journal.elsewhere([])  # a key is hashable
        return await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 30)

    found = asyncio.run(work())

    assert [type(one) for one in found] == [TypeError] * 3
    store.close()


class Counting(sqlite3.Connection):
    """A connection that counts the statements that look replies up."""

    looked_up = 0

    def execute(self, sql, *given):
        Counting.looked_up += sql.startswith("select key, request")
        return super().execute(sql, *given)


def test_look_ups_of_one_moment_are_one_statement(tmp_path):
    """A thousand at once take as few statements as the names of keys in one allow; each gets its own reply, or none."""
    store = Store(tmp_path / "cache.sqlite", Mode.ON, driver=Counting)
    store.put_all([entry(n) for n in range(0, 1000, 2)])

    async def work(count):
        journal = journal_of(store)
        before = Counting.looked_up
        found = await asyncio.gather(*(journal.look(n.to_bytes(32)) for n in range(count)))
        return [reply if reply is True else reply.text for reply in found], Counting.looked_up - before

    for count in (1, 100, 1000):
        found, statements = asyncio.run(work(count))
        assert found == [True if n % 2 else f"reply {n}" for n in range(count)]
        assert statements == -(-count // BY)
    store.close()


def test_who_finds_nothing_goes_on_before_the_call_that_is_committed_then():
    """So an equal call is still under way, and is not made again."""
    store = Store(None, Mode.OFF)
    order = []

    async def finder(journal):
        order.append(("found", await journal.look((1).to_bytes(32))))

    async def caller(journal):
        await journal.record(entry(1))
        order.append(("called", None))

    async def work():
        journal = journal_of(store)
        await asyncio.gather(finder(journal), caller(journal))

    asyncio.run(work())

    assert order == [("found", True), ("called", None)]
    store.close()
