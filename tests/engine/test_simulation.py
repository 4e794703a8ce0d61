"""
The engine under faults at every statement and step: 500 runs drawn from seeds, in virtual time.

`tests/slow/test_simulation.py` draws 100,000.

A seed that fails is run again, and made smaller, by `python -m tests.simulation --seed N`.
"""

import asyncio

import pytest

from calm.engine.account import SharedAccount
from calm.engine.budget import Grant
from calm.engine.journal import Journal
from calm.engine.leases import Leases
from calm.engine.spill import spilled
from calm.engine.store import Store
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


async def unleased(_journal, _key):
    """Make every call, whoever else makes it."""
    await asyncio.sleep(0)
    return True


async def told_early(journal, entry, *, more=False):
    """Hand a reply on before it is committed."""
    future = asyncio.get_running_loop().create_future()
    journal._entries.append((entry, future))
    asyncio.get_running_loop().call_later(0.01, journal.commit)
    return entry.reply


def by_number(leases, db, owner):
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
            future.set_exception(journal._calls.broken(error))


def nothing_taken_in(store, path):
    """Leave what was spilled, and remove its file."""
    for file, _ in spilled(path):
        file.unlink()


def believing(store, key, request, reply, found):
    """Take every row for whole."""
    return True


def never_settled(account, worst, used):
    """Keep what was reserved."""


PLANTED = (
    (Journal, "claim", unleased, "paid"),
    (Journal, "record", told_early, "before it was kept"),
    (Journal, "_spill", forgotten, "not kept"),
    (Store, "_take_in", nothing_taken_in, "although kept"),
    (Store, "_is_whole", believing, "the verdict is|found"),
    (Leases, "lives", by_number, "who lives"),
    (SharedAccount, "reserve", generous, "cap"),
    (SharedAccount, "settle", never_settled, "stopped the run|and no end|waits"),
)


@pytest.mark.parametrize(("owner", "name", "bug", "words"), PLANTED, ids=[name for _, name, *_ in PLANTED])
def test_a_bug_that_is_planted_is_found(monkeypatch, owner, name, bug, words):
    """Within 1,000 runs, by an invariant that names what went wrong."""
    monkeypatch.setattr(owner, name, bug)

    found = first_failure(range(WITHIN))

    assert found is not None
    assert any(part in found[1] for part in words.split("|")), found[1]


def test_a_failing_plan_is_made_smaller(monkeypatch):
    """What is left fails still, and nothing in it can go."""
    monkeypatch.setattr(Journal, "claim", unleased)
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
