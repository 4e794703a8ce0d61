"""The disk as a source of faults: one message, no more calls, nothing that was answered is lost, damage is noticed."""

import asyncio
import os
import shutil
import sqlite3
import sys
import threading
from contextlib import closing

import pytest

from calm.core.reasons import Kind
from calm.core.verdict import NoReply, Preferred
from calm.engine.store import Entry, Mode, Store, request_text, spilled
from calm.errors import StorageError
from calm.models.wire import Limits, Message, Reply
from tests.disk import MOUNTS, filled, run_apart
from tests.planted import Asking, Local, engine, pairs


def once(cases):
    return [(case, 1) for case in cases]


def entry(number, size=10):
    key = number.to_bytes(32)
    return Entry(key, request_text((Message("user", f"{number}"),), "{}"), Reply(f"reply {number} ".ljust(size, ".")))


class Failing(sqlite3.Connection):
    """A connection whose commits fail from the first reply on, as on a disk that is full at that moment."""

    error = sqlite3.SQLITE_FULL
    broken = threading.Event()

    def executemany(self, sql, *given):
        """Fail where replies are written."""
        if self.broken.is_set() and "insert into reply" in sql:
            failure = sqlite3.OperationalError("the fault of a test")
            failure.sqlite_errorcode = self.error
            raise failure
        return super().executemany(sql, *given)


@pytest.fixture
def failing():
    """Return the class of connections that fail, with its switch on; and switch it off afterwards."""
    Failing.broken.set()
    yield Failing
    Failing.broken.clear()
    Failing.error = sqlite3.SQLITE_FULL


@pytest.mark.parametrize("error", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT])
def test_the_first_failed_commit_stops_the_asking_and_keeps_what_is_in_hand(tmp_path, failing, error):
    """The replies in hand lie beside the cache; the next run takes them in and asks only the rest."""
    path, server = tmp_path / "cache.sqlite", Local(limits=Limits(concurrency=4))
    failing.error = error
    store = Store(path, Mode.ON, driver=failing)
    with engine_on(store) as running:
        found = [asked.verdict for asked in running.ask(Asking(server), once(pairs(100)))]
        why, notes = running.broken, {note.kind for note in running.notes}
    begun = len(server.begun)
    failing.broken.clear()
    with engine(path, Mode.ON) as running:
        again = [asked.verdict for asked in running.ask(Asking(server), once(pairs(100)))]

    assert begun <= 2 * 4
    assert why.kind is Kind.CACHE_FAILED
    assert Kind.REPLIES_SPILLED in notes
    assert sum(isinstance(v, Preferred) for v in found) == begun
    assert {v.reason.kind for v in found if isinstance(v, NoReply)} == {Kind.NOT_KEPT}
    assert again == [Preferred("good")] * 100
    assert len(server.begun) == 100
    assert not list(spilled(path))


def engine_on(store):
    """Return a context manager that runs an engine on a store."""
    from contextlib import closing

    from calm.engine.engine import Engine

    return closing(Engine(store))


def test_a_lock_of_half_a_minute_loses_nothing(tmp_path):
    """Another program holds the file locked; replies and leases wait for it, the loop goes on, and all is kept."""
    path = tmp_path / "cache.sqlite"
    Store(path, Mode.ON).close()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    held, turns = threading.Event(), []

    class Locking(Local):
        async def call(self, body):
            if len(self.begun) == 10:
                other.execute("begin immediate")
                held.set()
            return await super().call(body)

    server = Locking(limits=Limits(concurrency=4))

    def free():
        held.wait(timeout=60)
        while len(turns) < 30:  # as long as it takes for so many turns of the loop, however fast the machine is
            threading.Event().wait(0.05)
        other.execute("rollback")

    async def turn():
        while True:
            await asyncio.sleep(0.05)
            turns.append(held.is_set())
            if not held.is_set():
                turns.clear()

    thread = threading.Thread(target=free)
    thread.start()
    with engine(path, Mode.ON) as running:
        running._thread.soon(lambda: running._thread.start(turn()))
        found = [asked.verdict for asked in running.ask(Asking(server), once(pairs(60)))]
    thread.join()
    other.close()

    assert found == [Preferred("good")] * 60
    assert len(server.begun) == 60


def test_a_sign_of_life_that_failed_is_not_the_last_one(tmp_path):
    """The heart beats on after an error of the disk."""

    class Skipping(sqlite3.Connection):
        beats = 0

        def execute(self, sql, *given):
            if "insert into owner" in sql:
                Skipping.beats += 1
                if Skipping.beats == 1:
                    raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *given)

    store = Store(tmp_path / "cache.sqlite", Mode.ON, driver=Skipping)
    with engine_on(store):
        for _ in range(400):
            if Skipping.beats >= 3:
                break
            threading.Event().wait(0.05)

    assert Skipping.beats >= 3


@pytest.mark.skipif(not MOUNTS, reason="only root can mount a small disk")
@pytest.mark.parametrize("left", [40_000, 400_000])
def test_a_disk_that_is_full_loses_no_answer(tmp_path, left):
    """A real disk, filled but for so many bytes: one message, and the next run pays only for what was not answered."""
    first, second = filled(tmp_path / "disk", left)

    paid, verdicts, *said = first
    assert int(paid) == int(verdicts) < 200, first
    assert "the disk is full" in said[0]
    assert second[:2] == [str(200 - int(paid)), "200"]


def test_a_row_that_was_damaged_is_asked_again(tmp_path):
    """A changed byte in a reply is noticed; in `replay` the call has no reply, and the reason says why."""
    path, server = tmp_path / "cache.sqlite", Local()
    with engine(path, Mode.ON) as running:
        running.greet(server)
        running.ask(Asking(server), once(pairs(3)))
    with closing(sqlite3.connect(path)) as db, db:
        (text,) = db.execute("select reply from reply limit 1").fetchone()
        db.execute("update reply set reply = ? where rowid = 1", (text.replace("good", "bad!"),))
    db.close()

    with engine(path, Mode.REPLAY) as running:
        running.greet(server)
        replayed = [asked.verdict for asked in running.ask(Asking(server), once(pairs(3)))]
    with engine(path, Mode.ON) as running:
        running.greet(server)
        asked = [asked.verdict for asked in running.ask(Asking(server), once(pairs(3)))]
        notes = {note.kind for note in running.notes}

    assert [v.reason.kind for v in replayed if isinstance(v, NoReply)] == [Kind.CALL_DAMAGED]
    assert asked == [Preferred("good")] * 3
    assert Kind.ROWS_DAMAGED in notes
    assert len(server.begun) == 3 + 1


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are those of Linux")
@pytest.mark.parametrize("killed", [False, True], ids=["closed", "killed"])
def test_a_replay_works_in_a_folder_that_is_read_only(tmp_path, killed):
    """Also where the run that filled the cache was killed, and left its log beside it."""
    folder = tmp_path / "kept"
    folder.mkdir()
    store = Store(folder / "cache.sqlite", Mode.ON)
    store.put_all([entry(1), entry(2)])
    if killed:
        copy = tmp_path / "left"
        copy.mkdir()
        for file in folder.iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
        folder = copy
    store.close()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    said = run_apart(READING, folder / "cache.sqlite")

    assert said.stdout.split() == ["reply", "1", "reply", "2"], said.stderr
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


READING = """
import os, sys
from pathlib import Path
from calm.engine.store import Mode, Store
folder = Path(sys.argv[1]).parent
folder.chmod(0o555)
for parent in list(folder.parents)[:4]:
    parent.chmod(parent.stat().st_mode | 0o055)
for file in folder.iterdir():
    file.chmod(0o444)
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
store = Store(Path(sys.argv[1]), Mode.REPLAY)
print(*(store.get(n.to_bytes(32)).text.strip(".") for n in (1, 2)))
store.close()
"""


def test_what_was_spilled_by_one_that_lives_is_taken_in_and_its_file_left_to_it(tmp_path):
    """It may go on writing; who lives in another container cannot be known."""
    path = tmp_path / "cache.sqlite"
    one = Store(path, Mode.ON)
    one.claim_all([b"x" * 32])
    where = one.spill([entry(1)])

    two = Store(path, Mode.ON)

    assert (two.get(entry(1).key), where.exists()) == (entry(1).reply, True)
    two.close()
    one.close()


def test_a_torn_line_of_what_was_spilled_is_not_taken_in(tmp_path):
    """The file of a process that is gone goes, with what was torn."""
    path = tmp_path / "cache.sqlite"
    one = Store(path, Mode.ON)
    one.claim_all([b"x" * 32])
    where = one.spill([entry(1), entry(2)])
    one.close()
    where.write_bytes(where.read_bytes()[:-20])

    three = Store(path, Mode.ON)

    assert (three.get(entry(1).key), three.get(entry(2).key)) == (entry(1).reply, None)
    assert not where.exists()
    three.close()


@pytest.mark.parametrize(
    "line",
    [
        b'{"key": "00", "request": 5, "reply": "x", "at": 1, "sum": "00"}',
        b"[" * 100_000,
        b'{"key": "00", "request": "", "reply": "", "at": 1' + b"0" * 400 + b', "sum": "00"}',
        b'{"key": 1}',
        b"\xff\xfe",
        b"5",
    ],
)
def test_a_hostile_spill_file_stops_no_run(tmp_path, line):
    """What is no reply of ours is passed over; the good line after it is taken."""
    path = tmp_path / "cache.sqlite"
    store = Store(path, Mode.ON)
    file = store.spill([entry(1)])
    good = file.read_bytes().partition(b"\n")[0]
    store.close()
    path.with_name("cache.sqlite.spill-someone").write_bytes(line + b"\n" + good + b"\n")
    file.unlink()

    again = Store(path, Mode.ON)

    assert again.get(entry(1).key) == entry(1).reply
    again.close()


def test_a_process_that_begins_leaves_the_room_of_others_alone(tmp_path):
    """Also before they have shown life by a call."""
    path = tmp_path / "cache.sqlite"
    stores = [Store(path, Mode.ON) for _ in range(4)]

    kept = [store.spill([entry(number)]) for number, store in enumerate(stores)]

    assert len(set(kept)) == 4
    for store in stores:
        store.close()
    last = Store(path, Mode.ON)
    assert len(last.find(entry(number).key for number in range(4))) == 4
    last.close()


def test_a_row_with_a_right_checksum_that_is_no_reply_is_asked_again(tmp_path):
    """Whoever can write the cache can compute a checksum; no traceback follows."""
    from calm.engine.store import checksum

    store = Store(tmp_path / "cache.sqlite", Mode.ON)
    store.put_all([entry(1)])
    with closing(sqlite3.connect(tmp_path / "cache.sqlite")) as db, db:
        db.execute("update reply set reply = '[', sum = ?", (checksum(entry(1).key, entry(1).request, "["),))
    db.close()

    assert store.get(entry(1).key) is None
    assert store.claim_all([entry(1).key])[0]
    store.close()


def test_a_store_in_memory_has_no_place_beside_it():
    """What it cannot keep is lost, and that is said."""
    store = Store(None, Mode.OFF)

    with pytest.raises(OSError, match="in memory alone"):
        store.spill([entry(1)])
    store.close()


def test_a_cache_that_is_removed_while_a_run_uses_it_stops_the_run(tmp_path):
    """Replies would go to a file that nobody can find any more; those in hand have no place, and that is said."""
    path = tmp_path / "folder" / "cache.sqlite"

    class Removing(Local):
        async def call(self, body):
            if len(self.begun) == 5:
                shutil.rmtree(path.parent)
            return await super().call(body)

    server = Removing(limits=Limits(concurrency=2))
    with engine(path, Mode.ON) as running:
        found = [asked.verdict for asked in running.ask(Asking(server), once(pairs(100)))]
        why, notes = running.broken, {note.kind for note in running.notes}

    assert len(server.begun) <= 5 + 2 * 2
    assert "was removed or replaced" in str(why)
    assert Kind.REPLIES_LOST in notes
    assert isinstance(found[-1], NoReply)


def test_a_file_that_cannot_be_read_is_a_storage_error(tmp_path):
    """Every access says which file, what SQLite says, and what to do."""
    path = tmp_path / "cache.sqlite"
    store = Store(path, Mode.ON)
    store.put_all([entry(n, 5000) for n in range(50)])
    store.close()
    reader = Store(path, Mode.ON)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(100_000))

    with pytest.raises(StorageError, match=r"cache.sqlite.*the file is damaged; name another one"):
        reader.find(n.to_bytes(32) for n in range(50))
    reader.close()
