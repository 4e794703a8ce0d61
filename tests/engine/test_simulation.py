"""
The engine under faults at every statement and step: 500 runs drawn from seeds, in virtual time.

`tests/slow/test_simulation.py` draws 100,000.

A seed that fails is run again, and made smaller, by `python -m tests.simulation --seed N`.
"""

import asyncio

import pytest

from calm.engine.accounts import Grant, SharedAccount
from calm.engine.calls import Calls
from calm.engine.journal import Journal
from calm.engine.leases import BEAT_S, Leases
from calm.engine.money import Money
from calm.engine.store import Spill, Store, _line, spilled
from calm.errors import JudgeError
from tests.lanes import slow
from tests.simulation.faults import Fault, Kind, Plan, shrunk
from tests.simulation.world import failure, first_failure, run

EACH, LOTS = 250, 2
WITHIN = 1000
"""A bug that is planted on purpose is found within so many runs."""


@pytest.mark.parametrize("lot", range(LOTS))
def test_no_fault_loses_a_reply_pays_twice_or_passes_a_cap(lot):
    """Crashes, full disks, locks, pauses and stops: replies are kept or counted, leases and caps hold, runs end."""
    found = first_failure(range(lot * EACH, (lot + 1) * EACH))

    assert found is None, f"python -m tests.simulation --seed {found[0].seed}: {found[1]}"


def test_a_plan_runs_the_same_each_time():
    """So a failing seed can be looked at."""
    worlds = [run(Plan.drawn(5)) for _ in range(2)]

    assert len({(w.loops.steps, w.loops.time, w.usd, len(w.payments)) for w in worlds}) == 1


def unleased(leases, _db, keys):
    """Make every call, whoever else makes it."""
    leases._since.update(dict.fromkeys(keys, leases._lapses))
    return [True] * len(keys)


async def told_early(journal, entry, *, more=False):
    """Hand a reply on before it is committed."""
    future = asyncio.get_running_loop().create_future()
    journal._entries.waiting.append((entry, future))
    asyncio.get_running_loop().call_later(0.01, journal.commit)
    return entry.reply


def by_number(leases, db, owner, **_):
    """Take a process for dead whose number is not one of this place."""
    row = db.execute("select pid from owner where id = ?", (owner,)).fetchone()
    return owner == leases.me or (row is not None and leases._host.runs(row[0]))


def generous(account, worsts, limits):
    """Reserve nothing, and allow everything."""
    return [Grant.GIVEN] * len(worsts)


def forgotten(journal, entries, error):
    """Drop the replies that the cache does not take."""
    for _, future in entries:
        if not future.done():
            future.set_exception(journal.broken(error))


def nothing_taken_in(store, path):
    """Leave what was spilled, and remove its file."""
    for file, _ in spilled(path):
        file.unlink()


def believing(store, key, request, reply, found):
    """Take every row for whole."""
    return True


def never_settled(account, worst, used):
    """Keep what was reserved."""


BEAT, BEGINS, FAILED, LOOK = Leases.beat, Money.begin_now, Money.failed, Journal._look
PUT_ALL, SEND, STANDS, WRITE = Store.put_all, Calls.send, Leases._stands, Spill.write


def standstill_counts(leases, owner, beat):
    """Take all time between two looks for time in which the other one showed no life."""
    watch = leases._watched.get(owner)
    before = None if watch is None or watch.beat != beat else leases._host.now() - watch.looked
    stood_s = STANDS(leases, owner, beat)
    if before is not None:
        leases._watched[owner].stood_s = stood_s = max(stood_s, before)
    return stood_s


def claimed_unseen(store, keys):
    """Take leases, although replies may have come since they were looked up."""
    with store.leases.kept(), store.database.writing() as db:
        store.leases.beat(db)
        return store.leases.claim(db, keys)


def settled_again(store, answered, also=None, *, since=0.0):
    """Write down what was used together with replies, and do not forget that it is written."""
    before = list(store.account._unsettled)
    found = PUT_ALL(store, answered, also, since=since)
    store.account._unsettled[:0] = before
    return found


def retried_for_nothing(money, charge, error):
    """Count nothing for an attempt that may be billed, if another one may follow."""
    FAILED(money, charge, JudgeError(again=True) if error.billed and error.again else error)


def in_order_of_keys(store, answered, also=None, *, since=0.0):
    """Return replies in another order than that of their calls."""
    return PUT_ALL(store, sorted(answered, key=lambda call: call.key), also, since=since)


def looked_once(journal):
    """Do not look for replies of others again, once nobody waited for one."""
    if not all(future.done() for future in journal._awaited):
        LOOK(journal)


def unchecked(money, worst):
    """Begin calls after the end, if they need not wait."""
    money.check = lambda: None
    try:
        return BEGINS(money, worst)
    finally:
        del money.check


def by_the_calendar(leases, db, *, now=False):
    """Show life when the calendar says so."""
    at = leases._host.wall()
    if now or at >= getattr(leases, "calendar", at):
        BEAT(leases, db, now=True)
        leases.calendar = at + BEAT_S


def counted_before_written(spilling, entries, at):
    """Leave a half line where a write failed."""
    before = spilling._end
    try:
        WRITE(spilling, entries, at)
    except OSError:
        spilling._end = before + sum(len(_line(entry, at)) for entry in entries)
        raise


async def unshielded(calls, request, ask, keys, *, patient=False):
    """Cancel a call that others wait for, with one who does not want it any more."""
    flight = calls._flights.get(calls.prepared(request).key(ask))
    return (await flight)[0] if flight is not None else await SEND(calls, request, ask, keys, patient=patient)


PLANTED = (
    (Leases, "claim", unleased, "paid"),
    (Journal, "record", told_early, "before it was kept"),
    (Journal, "_spill", forgotten, "not kept"),
    (Store, "_take_in", nothing_taken_in, "although kept"),
    slow(Store, "_is_whole", believing, "the verdict is|found"),
    (Leases, "lives", by_number, "who lives"),
    (SharedAccount, "reserve", generous, "cap"),
    (SharedAccount, "settle", never_settled, "stopped the run|and no end|waits|account"),
    (Money, "failed", retried_for_nothing, "account|cap|counted"),
    (Store, "put_all", in_order_of_keys, "the verdict is"),
    slow(Leases, "_stands", standstill_counts, "who lives|stopped the run"),
    slow(Store, "claim_all", claimed_unseen, "although the reply is kept|paid"),
    slow(Store, "put_all", settled_again, "account|cap"),
    slow(Journal, "_look", looked_once, "waits|and no end"),
    slow(Money, "begin_now", unchecked, "after its end"),
    slow(Leases, "beat", by_the_calendar, "who lives|and no end"),
    slow(Spill, "write", counted_before_written, "not kept|before it was kept"),
    slow(Calls, "send", unshielded, "waits|and no end|ended with"),
)
NAMES = [getattr(row, "values", row)[2].__name__ for row in PLANTED]


@pytest.mark.parametrize(("owner", "name", "bug", "words"), PLANTED, ids=NAMES)
def test_a_bug_that_is_planted_is_found(monkeypatch, owner, name, bug, words):
    """Within 1,000 runs, by an invariant that names what went wrong."""
    monkeypatch.setattr(owner, name, bug)

    found = first_failure(range(WITHIN))

    assert found is not None
    assert any(part in found[1] for part in words.split("|")), found[1]


def test_a_failing_plan_is_made_smaller(monkeypatch):
    """What is left fails still, and nothing in it can go."""
    monkeypatch.setattr(Leases, "claim", unleased)
    plan, _ = first_failure(range(WITHIN))

    small = shrunk(plan, lambda one: bool(failure(one)))

    assert failure(small)
    assert (small.questions, small.processes, small.faults) == (1, 2, ())


def test_every_kind_of_fault_happens():
    """None of them is only a name: each befalls one of the first runs."""
    happened = {kind for seed in range(80) for kind in run(Plan.drawn(seed)).happened}

    assert happened == set(Kind)


def test_a_disk_that_is_full_at_any_statement_stops_the_run_and_loses_nothing():
    """Wherever it happens in a run of two processes."""
    for at in range(0, 120, 4):
        plan = Plan(at, 6, 2, apart=False, again=False, usd=0.11, calls=None, faults=(Fault(Kind.FULL, 0, at),))

        assert not failure(plan), plan
