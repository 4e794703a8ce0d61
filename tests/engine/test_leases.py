"""Leases: a call is paid for once, also where processes cannot see each other; a dead holder blocks nobody for long."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calm.engine.leases import BEAT_S, BRIEF_S, LONG_AGO_S, STALE_S, Host
from calm.engine.store import Mode, Store

KEY = b"k" * 32


class Elsewhere(Host):
    """A host with a clock, a place and processes of its own."""

    def __init__(self, place="one", pid=7, alive=(7,)):
        self.place, self._pid, self.alive = place, pid, set(alive)
        self.at_s, self.epoch_s = 1000.0, 1e9

    @property
    def pid(self):
        """Its number."""
        return self._pid

    def now(self):
        """Its clock."""
        return self.at_s

    def wall(self):
        """Its calendar."""
        return self.epoch_s

    def runs(self, pid):
        """Whether a process of its place runs."""
        return pid in self.alive


def watched(store, host, seconds, *, each=BEAT_S):
    """Let a process want a lease again and again for so many seconds of its clock; return whether it got it."""
    for _ in range(int(seconds / each)):
        host.at_s += each
        if store.claim_all([KEY])[0]:
            return True
    return False


@pytest.fixture
def asking(tmp_path):
    """Return a function that opens one cache in two hosts, of which the second one holds the lease."""
    opened = []

    def opens(mine, theirs):
        opened[:] = [Store(tmp_path / "cache.sqlite", Mode.ON, host=host) for host in (mine, theirs)]
        assert opened[1].claim_all([KEY])[0]
        return opened

    yield opens
    for store in opened:
        store.close()


def test_the_number_of_a_process_says_nothing_in_another_place(asking):
    """The holder lives in another namespace, where its number means another process or none."""
    mine, theirs = Elsewhere("one", 7), Elsewhere("two", 12, alive=())
    here, there = asking(mine, theirs)

    for _ in range(60):
        theirs.at_s += BEAT_S
        there.show_life()
        mine.at_s += BEAT_S
        assert not here.claim_all([KEY])[0]


def test_a_holder_of_another_place_that_shows_no_life_is_dead_after_a_while(asking):
    """Its clock may show anything: only the clock of whoever watches counts."""
    mine, theirs = Elsewhere("one"), Elsewhere("two")
    theirs.at_s = 9e9
    here, _ = asking(mine, theirs)

    assert not watched(here, mine, STALE_S - 1)
    assert watched(here, mine, 2 * BEAT_S)


def test_a_holder_of_the_same_place_that_is_gone_is_not_waited_for(asking):
    """Its number is free there: its lease is at once another's."""
    mine, theirs = Elsewhere("one", 7, alive=(7,)), Elsewhere("one", 8)
    here, _ = asking(mine, theirs)

    assert here.claim_all([KEY])[0]


def test_a_number_that_another_process_has_now_keeps_no_lease(asking):
    """The number of the holder runs, but no beat comes: after a while the lease is another's."""
    mine, theirs = Elsewhere("one", 7, alive=(7, 8)), Elsewhere("one", 8)
    here, _ = asking(mine, theirs)

    assert not watched(here, mine, STALE_S - 1)
    assert watched(here, mine, 2 * BEAT_S)


def test_whoever_stood_still_has_watched_nothing(asking):
    """A laptop that slept, or a file that was locked for a minute, is no proof that others are dead."""
    mine, theirs = Elsewhere("one"), Elsewhere("two")
    here, _ = asking(mine, theirs)
    assert not here.claim_all([KEY])[0]

    mine.at_s += 600

    assert not here.claim_all([KEY])[0]


def test_a_holder_of_an_earlier_day_is_watched_for_a_moment(asking):
    """After a restart of the machine nobody waits for long for those who were killed with it."""
    mine, theirs = Elsewhere("one"), Elsewhere("before")
    theirs.epoch_s -= LONG_AGO_S + 1
    here, _ = asking(mine, theirs)

    assert not watched(here, mine, BRIEF_S - 1)
    assert watched(here, mine, 2 * BEAT_S)


def test_a_wrong_calendar_takes_no_lease(asking):
    """The holder lives; its calendar is of another day."""
    mine, theirs = Elsewhere("one"), Elsewhere("two")
    theirs.epoch_s -= LONG_AGO_S + 1
    here, there = asking(mine, theirs)

    for _ in range(60):
        theirs.at_s += BEAT_S
        there.show_life()
        mine.at_s += BEAT_S
        assert not here.claim_all([KEY])[0]


def test_whoever_stood_still_claims_its_leases_again(asking):
    """Another process may have taken them, as it has here."""
    mine, theirs = Elsewhere("one"), Elsewhere("two")
    here, there = asking(mine, theirs)
    assert there.holds(KEY)
    assert watched(here, mine, STALE_S + 2)

    theirs.at_s += STALE_S

    assert not there.holds(KEY)
    there.show_life()
    assert not there.holds(KEY)
    assert not there.claim_all([KEY])[0]
    assert here.holds(KEY)


def test_a_place_is_a_namespace_of_processes():
    """On Linux it is that of this boot and this namespace; the number of this process is one of it."""
    host = Host()

    assert host.runs(os.getpid())
    assert host.place == Host().place or sys.platform == "win32"
    if sys.platform == "linux":
        assert str(Path("/proc/self/ns/pid").readlink()) in host.place


ASKING = """
import asyncio, os, sys
from pathlib import Path
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.models.wire import Reply
from tests.planted import Asking, Local, pairs

class Paid(Local):
    async def call(self, body):
        with open(sys.argv[2], "a") as file:  # one short line: whole, whoever else writes
            file.write(body["text"].splitlines()[0] + chr(10))
        await asyncio.sleep(0.05)
        return Reply("good", model="m-1")

engine = Engine(Store(Path(sys.argv[1]), Mode.ON))
found = engine.ask(Asking(Paid()), [(case, ask) for case in pairs(40) for ask in range(1, 6)])
engine.close()
print(os.getpid(), os.readlink("/proc/self/ns/pid"), len(found), flush=True)
"""
NAMESPACE = ("unshare", "--pid", "--fork", "--mount-proc")


def namespaces():
    """Return the command that starts a process in a namespace of its own; none where the system forbids it."""
    for command in (NAMESPACE, (*NAMESPACE, "--user", "--map-root-user")):
        if (
            shutil.which("unshare")
            and subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0
        ):
            return command
    return ()


def test_two_containers_on_one_cache_pay_once(tmp_path):
    """Each process has a number of its own, which nobody has in the other namespace; both ask the same questions."""
    apart = namespaces()
    if not apart:
        pytest.skip("this system does not let a user make namespaces of processes")
    root = Path(__file__).parents[2]
    payments = tmp_path / "payments"
    payments.touch()
    command = [*apart, "sh", "-c", 'for n in $1; do /bin/true; done; shift; "$@"; exit $?', "sh"]
    asking = [sys.executable, "-c", ASKING, str(tmp_path / "cache.sqlite"), str(payments)]

    both = [
        subprocess.Popen(
            [*command, before, *asking],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for before in ("", "1 2 3")
    ]
    said = [child.communicate(timeout=120)[0].split() for child in both]

    assert [pid for pid, *_ in said] == ["2", "5"]
    assert len({str(Path("/proc/self/ns/pid").readlink()), *(place for _, place, _ in said)}) == 3
    assert {count for *_, count in said} == {"200"}
    assert len(payments.read_text().splitlines()) == 200
