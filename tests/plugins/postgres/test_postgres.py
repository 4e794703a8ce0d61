"""The shared record: a real PostgreSQL, which is as exact as a file, may be lost and come back, and tells no secret."""

import asyncio
import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calm.core.reasons import Kind
from calm.core.releases import install
from calm.core.verdict import NoReply, Preferred
from calm.engine.accounts import NOTHING, Amount, Grant
from calm.engine.engine import Engine
from calm.engine.leases import STALE_S, Host
from calm.engine.money import Caps, Money
from calm.engine.places import VARIABLE, place
from calm.engine.store import Entry, Mode, Store, request_text, spilled
from calm.errors import ConfigError, StorageError
from calm.models.secrets import hidden
from calm.models.wire import Limits, Message, Reply
from calm.plugins.postgres.server import read_address
from calm.plugins.postgres.statements import read, written
from tests.disk import MOUNTS, small_disk
from tests.planted import Asking, Local, pairs
from tests.servers.postgres import PASSWORD, Relay, running

OPTION = "--calm-cache-url"
HOSTILE = "a\0b \ud800 \U0010ffff \U0010ffff000000 \\u0000 \\\\u0000 '\" %s ? {} \x1b[31m \u2028"
WIDE = Amount(1000, 10**9, 10.0)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Let each process keep what the server cannot take in a folder of the test."""
    monkeypatch.chdir(tmp_path)


def at(url):
    return read_address(url, OPTION, os.environ)


def opened(url, mode=Mode.ON, **given):
    return closing(Store(at(url), mode, **given))


def key(number):
    return number.to_bytes(32)


def entry(number, text="reply"):
    return Entry(key(number), request_text((Message("user", f"{number}"),), "{}"), Reply(f"{text} {number}"))


class Long(Local):
    """One whose replies fill a disk."""

    async def call(self, body):
        await super().call(body)
        return Reply("good", model="m-1" + "x" * 10_000)


class Ended(Host):
    """A process that others of its place find dead."""

    pid = 2**22 + 7  # Linux gives no such number


def once(cases):
    return [(case, 1) for case in cases]


@given(st.text(st.characters(codec=None) | st.sampled_from("\0\ud800\U0010ffff0af")))
def test_each_text_comes_back_as_it_was(text):
    """Also NUL, lone surrogates and the sign that stands for them; and what is stored holds neither."""
    stored = written(text)

    assert read(stored) == text
    assert "\0" not in stored
    stored.encode()


def test_two_processes_share_replies_leases_and_models(shared):
    """Hostile texts come back; a lease is held by one; what is answered is claimed by nobody."""
    with opened(shared()) as one, opened(shared()) as two:
        assert one.claim_all([key(1), key(2)]) == [True, True]
        assert two.claim_all([key(2), key(3)]) == [False, True]
        prompt = (Message("user", HOSTILE),)
        one.put(key(1), prompt, {"model": HOSTILE}, Reply(HOSTILE, model=HOSTILE))
        one.serves(HOSTILE, HOSTILE)

        assert two.get(key(1)) == two.find([key(1), key(9)])[key(1)] == Reply(HOSTILE, model=HOSTILE)
        assert two.prompt(key(1)) == prompt
        assert two.served(HOSTILE) == HOSTILE
        assert two.claim_all([key(1)]) == [False]
        one.give_up(key(2))
        one.release()
        assert two.claim_all([key(2)]) == [True]
        assert two.put_all([entry(1, "later")]) == [Reply(HOSTILE, model=HOSTILE)]


def test_a_damaged_row_is_asked_again(shared, postgres):
    """Its checksum tells; the new reply takes its place."""
    with opened(shared()) as store:
        store.put_all([entry(1)])
        schema = store.place.schema
        with postgres.connected() as db:
            db.execute(f"update {schema}.reply set reply = replace(reply, 'reply', 'rumour')")

        assert store.get(key(1)) is None
        assert store.damaged == {key(1)}
        assert store.put_all([entry(1, "new")]) == [Reply("new 1")]
        assert store.get(key(1)) == Reply("new 1")


def test_a_refresh_asks_once_in_a_named_run(shared):
    """Two machines of one run replace a reply once; the next run replaces it again."""
    with opened(shared()) as store:
        store.put_all([entry(1, "old")])
    with opened(shared(), Mode.REFRESH, name="r") as one, opened(shared(), Mode.REFRESH, name="r") as two:
        assert one.get(key(1)) is None
        assert one.put_all([entry(1, "new")]) == [Reply("new 1")]
        assert two.put_all([entry(1, "newer")]) == [Reply("new 1")]
    with opened(shared(), Mode.REFRESH) as other:
        assert other.put_all([entry(1, "last")]) == [Reply("last 1")]


def test_a_replay_reads_only(shared, postgres):
    """It finds replies and models, writes nothing, and needs a record."""
    with pytest.raises(ConfigError, match="there is no record of calm"):
        Store(at(shared()), Mode.REPLAY)
    with opened(shared()) as store:
        store.put_all([entry(1)])
        store.serves("e", "m")
    with opened(shared(), Mode.REPLAY) as replay:
        assert (replay.get(key(1)), replay.served("e")) == (Reply("reply 1"), "m")
        with pytest.raises(StorageError, match="lets nobody write"):
            replay.put_all([entry(2)])


def test_a_cap_holds_over_processes_that_reserve_at_once(shared):
    """Four stores in one named run, each from a thread; 40 reservations for 25 calls: 25 are given, none is lost."""
    limits = Amount(25, 10**9, 10.0)
    stores = [Store(at(shared()), Mode.ON, name="both") for _ in range(4)]

    def reserve(number):
        return stores[number % 4].account.reserve([Amount(1, 10, 0.1)] * 5, limits)

    with ThreadPoolExecutor(4) as threads:
        grants = [grant for found in threads.map(reserve, range(8)) for grant in found]
    assert (grants.count(Grant.GIVEN), grants.count(Grant.LATER)) == (25, 15)

    stores[0].account.settle(Amount(1, 10, 0.1), NOTHING)
    stores[0].show_life()
    assert stores[1].account.spent().calls == 24
    assert stores[1].account.reserve([Amount(1)] * 2, limits) == [Grant.GIVEN, Grant.LATER]
    for store in stores:
        store.close()
    with opened(shared(), name="another") as other:
        assert other.account.reserve([Amount(1)], limits) == [Grant.GIVEN]


def test_a_cap_on_a_server_is_used_up_and_not_passed(shared):
    """An engine reserves for the calls of one moment together; the last ones are capped."""
    local = Local(limits=Limits(concurrency=8))
    store = Store(at(shared()), Mode.ON, name="capped")
    with closing(Engine(store, money=Money(Caps(calls=20), store.account))) as running:
        found = [asked.verdict for asked in running.ask(Asking(local), once(pairs(50)))]

    assert len(local.begun) == 20
    assert found.count(Preferred("good")) == 20
    assert {v.reason.kind for v in found if isinstance(v, NoReply)} == {Kind.CAPPED}


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_done_once(shared, postgres, cut):
    """The server is asked what became of it: an amount is settled once, a reply is stored once."""
    relay = Relay(postgres.port)
    worst = Amount(1, 10, 0.1)
    with opened(shared(port=relay.port, sslmode="disable"), name="run") as store:
        assert store.account.reserve([worst] * 3, WIDE) == [Grant.GIVEN] * 3
        store.account.settle(worst, Amount(1, 4, 0.01))
        relay.cut = cut
        if cut == "before":
            with pytest.raises(StorageError) as said:
                store.put_all([entry(1)])
            assert said.value.busy
            assert store.get(key(1)) is None
        store.put_all([entry(1)])

        assert relay.cuts == 1
        assert store.get(key(1)) == Reply("reply 1")
        assert store.account.spent().tokens == 24
        store.account.settle_rest()
        assert store.account.spent().tokens == 24
    relay.close()


def test_a_connection_that_is_lost_again_and_again_loses_nothing(shared, postgres):
    """The server ends all connections while calls are under way: each question is asked once, and all is kept."""
    local, ended = Local(limits=Limits(concurrency=4)), []
    url = shared(application_name="cut")

    class Cutting(Local):
        async def call(self, body):
            if len(self.begun) % 20 == 10:
                await asyncio.to_thread(cut)
            return await super().call(body)

    def cut():
        with postgres.connected() as db:
            ended.extend(
                db.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cut'"
                ).fetchall()
            )

    local = Cutting(limits=Limits(concurrency=4))
    store = Store(at(url), Mode.ON, name="lost")
    with closing(Engine(store, money=Money(Caps(calls=1000), store.account))) as running:
        found = [asked.verdict for asked in running.ask(Asking(local), once(pairs(100)))]
    with opened(url) as after:
        count = len(after.kept_since(0.0))

    assert len(ended) >= 5
    assert found == [Preferred("good")] * 100
    assert len(local.begun) == count == 100


@pytest.mark.slow  # as all tests that ask for a server, which this one has for itself
def test_a_server_that_crashes_is_waited_for(monkeypatch):
    """It crashes and comes back in the middle of a run: nothing is asked twice, and every reply is there."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    crashed = []
    with running(synchronous_commit="on") as postgres:

        class Crashing(Local):
            async def call(self, body):
                if len(self.begun) >= 20 and not crashed:
                    crashed.append(True)
                    await asyncio.to_thread(postgres.stop)
                    threading.Timer(0.3, postgres.start).start()
                return await super().call(body)

        local = Crashing(limits=Limits(concurrency=4))
        with closing(Engine(Store(at(postgres.url()), Mode.ON))) as engine:
            found = [asked.verdict for asked in engine.ask(Asking(local), once(pairs(60)))]
            notes = list(engine.notes)
        with opened(postgres.url()) as after:
            count = len(after.kept_since(0.0))

    assert found == [Preferred("good")] * 60
    assert len(local.begun) == count == 60
    assert not notes


def test_replies_that_no_server_takes_wait_on_the_disk(shared, postgres):
    """The way to it is gone for good: what is in hand lies in a file, and the next run takes it in."""
    relay, left = Relay(postgres.port), []

    class Leaving(Local):
        async def call(self, body):
            if len(self.begun) >= 9 and not left:
                left.append(True)
                relay.close()
                with postgres.connected() as db:
                    db.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gone'")
            return await super().call(body)

    local = Leaving(limits=Limits(concurrency=4))
    address = at(shared(port=relay.port, application_name="gone", patience=0.5))
    with closing(Engine(Store(address, Mode.ON, host=Ended()))) as engine:
        first = [asked.verdict for asked in engine.ask(Asking(local), once(pairs(60)))]
        kinds, why = {note.kind for note in engine.notes}, engine.broken
    begun = len(local.begun)
    later = Relay(postgres.port)
    for file, _ in list(spilled(address.beside)):  # the same machine names the server by another port now
        file.rename(str(file).replace(address.beside.name, at(shared(port=later.port)).beside.name))
    with closing(Engine(Store(at(shared(port=later.port)), Mode.ON))) as engine:
        again = [asked.verdict for asked in engine.ask(Asking(local), once(pairs(60)))]

    assert why.kind is Kind.CACHE_FAILED
    assert Kind.REPLIES_SPILLED in kinds
    assert first.count(Preferred("good")) == begun < 60
    assert again == [Preferred("good")] * 60
    assert len(local.begun) == 60
    later.close()


@pytest.mark.slow  # as all tests that ask for a server, which this one has for itself
@pytest.mark.skipif(not MOUNTS, reason="only root can mount a small disk")
def test_a_full_disk_of_the_server_loses_nothing(monkeypatch):
    """One cause; with room again, the next run takes in what was kept beside the record, and asks the rest."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    local = Long(limits=Limits(concurrency=8))
    with running() as server, small_disk(server.folder / "small", 24 << 20, server.data.stat().st_uid) as disk:
        with server.connected() as db:
            db.execute(f"create tablespace small location '{disk}'")
            db.execute("create database small tablespace small")
        with opened(server.url(database="small")) as store:
            store.put_all([entry(1)])
        with server.connected(dbname="small") as db:
            db.execute("alter table calm.reply alter column reply set storage external")  # as it is, uncompressed
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - 600_000))
        with closing(Engine(Store(at(server.url(database="small")), Mode.ON, host=Ended()))) as engine:
            first = [asked.verdict for asked in engine.ask(Asking(local), once(pairs(200)))]
            why = engine.broken
        begun = len(local.begun)
        ballast.unlink()
        with closing(Engine(Store(at(server.url(database="small")), Mode.ON))) as engine:
            again = [asked.verdict for asked in engine.ask(Asking(local), once(pairs(200)))]
        server.stop()

    assert why.kind is Kind.CACHE_FAILED
    assert "the disk of the server is full" in str(why)
    assert 0 < first.count(Preferred("good")) == begun < 200
    assert again == [Preferred("good")] * 200
    assert len(local.begun) == 200


def test_processes_that_begin_at_once_make_one_record(shared):
    """Eight open it in the same moment: none complains, and all see one another's replies."""
    barrier = threading.Barrier(8)

    def begin(number):
        barrier.wait()
        with opened(shared()) as store:
            store.put_all([entry(number)])
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(begin, range(8)))
    with opened(shared()) as store:
        assert len(store.kept_since(0.0)) == 8


class Elsewhere(Host):
    """A machine whose calendar is off, and whose clock is wound by hand."""

    def __init__(self, ahead_s):
        self.ahead_s, self.clock_s, self.place = ahead_s, 0.0, f"machine {ahead_s}"

    def now(self):
        return self.clock_s

    def wall(self):
        return super().wall() + self.ahead_s


@pytest.mark.parametrize("ahead_s", [-7200.0, 7200.0])
def test_a_clock_that_is_hours_off_takes_no_live_lease_and_keeps_no_dead_one(shared, ahead_s):
    """The beats of a machine are watched, and the calendar that counts is the server's."""
    off, right = Elsewhere(ahead_s), Elsewhere(0.0)
    with opened(shared(), host=off) as one, opened(shared(), host=right) as two:
        assert one.claim_all([key(1)]) == two.claim_all([key(2)]) == [True]
        for store, others, host in ((two, key(1), right), (one, key(2), off)):
            for _ in range(20):  # the other one lives
                host.clock_s += 1.0
                (two if store is one else one).show_life()
                (off if store is two else right).clock_s += 1.0
                assert store.claim_all([others]) == [False]
        for _ in range(int(STALE_S) + 2):  # it shows no life any more
            right.clock_s += 1.0
            taken = two.claim_all([key(1)])

        assert taken == [True]


def test_what_is_kept_beside_a_record_is_taken_in_wherever_its_owner_ran(shared, tmp_path):
    """Nobody can see from another container whether it still runs: its replies are taken in, and its file stays."""
    with opened(shared(), host=Elsewhere(0.0)) as gone:
        gone.spill([entry(1)])

        with opened(shared()) as store:
            assert store.get(key(1)) == Reply("reply 1")
            assert any(store.place.beside.parent.glob("*.spill-*"))


def test_what_stands_in_the_way_is_said_in_one_paragraph(shared, postgres, monkeypatch, subtests):
    """Each with its cause and what to do, and without the password."""
    schema = at(shared()).schema
    with postgres.connected() as db:
        db.execute("create schema foreign_one")
        db.execute("create table foreign_one.diary (day text)")
        db.execute("create schema old_one")
        db.execute("create table old_one.version (version integer)")
        db.execute("insert into old_one.version values (1)")
        db.execute("create role reader login password 'only-reads-here'")
        db.execute("create role guest login password 'only-reads-here'")
        db.execute("create database latin encoding 'LATIN1' template template0")
    with opened(shared()):
        pass
    cases = [
        (shared().replace(f"schema={schema}", "schema=foreign_one"), PASSWORD, r"other tables in the schema .*diary"),
        (shared().replace(f"schema={schema}", "schema=old_one"), PASSWORD, "record of version 2, got 1"),
        (shared(), "wrong-password", "set the right password"),
        (shared(database="nowhere"), PASSWORD, "make it with `createdb`"),
        (shared(database="latin"), PASSWORD, "encoding UTF8, got LATIN1"),
        (shared(port=1), PASSWORD, "no server listens there"),
        (shared(host="no-such-host.invalid", sslmode="disable"), PASSWORD, "there is no such host"),
        (shared(colour="red"), PASSWORD, "correct the parameters"),
        (shared(user="guest").replace(f"schema={schema}", "schema=fresh"), "only-reads-here", "may not do this"),
        (shared(options="-c%20default_transaction_read_only%3Don").replace(f"schema={schema}", "schema=ro"), PASSWORD,
         "lets nobody write"),
    ]  # fmt: skip
    for url, password, words in cases:
        with subtests.test(words):
            monkeypatch.setenv("PGPASSWORD", password)
            with pytest.raises(ConfigError, match=words) as said:
                Store(at(url), Mode.ON)
            assert len(str(said.value).splitlines()) == 1
            assert password not in str(said.value)


def test_tls_is_held_to_the_certificate(shared, postgres, subtests):
    """A certificate of a known authority is taken; that of another one, or for another host, is not."""
    root, other = postgres.folder / "root.crt", postgres.folder / "other.crt"
    with opened(shared(host="localhost", sslmode="verify-full", sslrootcert=root)) as store:
        store.put_all([entry(1)])
        assert store.get(key(1)) == Reply("reply 1")
    wrong = [
        ("another authority", {"host": "localhost", "sslrootcert": other}, "certificate verify failed"),
        ("another host", {"host": "127.0.0.1", "sslrootcert": root}, "does not match host name"),
        ("no such file", {"host": "localhost", "sslrootcert": "nowhere.crt"}, "root certificate"),
    ]
    for name, parameters, words in wrong:
        with subtests.test(name), pytest.raises(ConfigError, match=words):
            Store(at(shared(sslmode="verify-full", **parameters)), Mode.ON)


def test_no_password_goes_to_another_machine_in_the_open(subtests):
    """Unless the URL, or the environment, says so."""
    table = [
        ("postgresql://u@db.example.com/x", {}, "sslmode=require"),
        ("postgresql://u@10.0.0.7,localhost/x", {}, "sslmode=require"),
        ("postgresql://u@/x?host=db.example.com", {}, "sslmode=require"),
        ("postgresql://u@/x", {"PGHOST": "db.example.com"}, "sslmode=require"),
        ("postgresql://u@db.example.com/x?sslmode=disable", {}, "sslmode=disable"),
        ("postgresql://u@db.example.com/x", {"PGSSLMODE": "disable"}, ""),
        ("postgresql://u@localhost:5433/x", {}, ""),
        ("postgresql://u@[::1]/x", {}, ""),
        ("postgresql:///x?host=/run/postgresql", {}, ""),
    ]
    for url, environment, mode in table:
        with subtests.test(url):
            conninfo = read_address(url, OPTION, environment).conninfo
            assert (mode in conninfo) if mode else ("sslmode" not in conninfo)


def test_a_password_comes_from_the_environment_alone(shared, subtests):
    """One in an option is refused and not repeated; one in `CALM_CACHE_URL` is taken and never shown."""
    for url in ("postgresql://u:hunter2-secret@h/d", "postgresql://u@h/d?password=hunter2-secret"):
        with subtests.test(url), pytest.raises(ConfigError, match="without a password") as said:
            read_address(url, OPTION, {})
        assert "hunter2-secret" not in str(said.value)
    url = shared().replace("calm@", f"calm:{PASSWORD}@")

    found = place(None, None, {VARIABLE: url}, option=OPTION, usual="x.sqlite")

    assert PASSWORD not in f"{found} {found!r}"
    assert PASSWORD not in hidden(url)
    assert place("mine.sqlite", None, {VARIABLE: url}, option=OPTION, usual="x.sqlite").name == "mine.sqlite"
    for text in ("mysql://u@h/d", "nonsense"):
        with pytest.raises(ConfigError, match="expected a URL such as"):
            read_address(text, OPTION, {})
    with pytest.raises(ConfigError, match="expected one place"):
        place("mine.sqlite", url, {}, option=OPTION, usual="x.sqlite")
    with pytest.raises(ConfigError, match="small letters"):
        read_address("postgresql://u@h/d?schema=A;drop", OPTION, {})


def test_a_missing_package_is_named(monkeypatch):
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(ConfigError, match=re.escape(install("postgres"))):
        Store(read_address("postgresql://u@localhost/x", OPTION, {}), Mode.ON)
