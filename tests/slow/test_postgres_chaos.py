"""
Two machines on one PostgreSQL that crashes, freezes, falls silent, is cut off, or was never the right one.

A run ends by its patience with what it has, and says once why. What was answered is kept, by the server or beside it;
so the runs that come when it is back pay for each question once.
"""

import json
import os
import signal
import socket
import subprocess
import threading
from contextlib import closing, contextmanager, suppress
from time import monotonic, sleep

import pytest

from calm.engine.database import VERSION
from tests.servers.deaths import CONCURRENCY, WINDOW, mortal
from tests.servers.network import Loopback, network
from tests.servers.postgres import PASSWORD, Line, running
from tests.slow.test_two_machines import WORKERS, Run, Site, billed

SUITES = ("calm.suites.test_authority",)
FEW = "--calm-sample=12"
DELAY_S = 0.3
PATIENCE_S = 5
AWAY_S = 3
"""For so many seconds a server is away that comes back in time."""
TAKES_IN = """
import os, sys
from calm.plugins.postgres.server import read_address
from calm.engine.store import Mode, Store

Store(read_address(sys.argv[1], "--calm-cache-url", os.environ), Mode.ON).close()
"""


class Chaos(Site):
    """The same servers, with a line of its own to the record for each machine."""

    def __init__(self, made, server, net):
        super().__init__(made, server, net)
        self.lines = {}

    def run(self, name):
        """Return a run, on a machine of its own, with a line of its own."""
        self.lines[name] = Line(self.server, self.network.listening())
        return super().run(name)

    def url(self, schema, name, **given):
        """Return the URL of a record as a machine reaches it."""
        usual = {"sslmode": "disable", "patience": PATIENCE_S}
        return self.server.url(schema, port=self.lines[name].port, **{**usual, **given})

    def start(self, run, schema, **given):
        """Start a run on a record."""
        run.start(f"--calm-cache-url={self.url(schema, run.name, **given)}", f"--calm-run={schema}", FEW, suites=SUITES)

    def two(self, schema, **given):
        """Forget what was asked; start two runs on one new record, wait until both are under way, return both."""
        self.made.answered.clear()
        self.made.wire.seen.clear()
        self.end_all()
        found = self.run(f"{schema}1"), self.run(f"{schema}2")
        for run in found:
            self.start(run, schema, **given)
        until = monotonic() + 120
        while not all(self.asked(run.machine) for run in found) and monotonic() < until:
            sleep(0.05)
        self.until_under_way(found[0])
        return found

    def again(self, runs, schema):
        """Let both machines take in what they kept, then run again; return their findings."""
        for run in runs:
            run.command("-c", TAKES_IN, self.url(schema, run.name))
            run.ended()
        for run in runs:
            self.start(run, schema)
        return [run.findings() for run in runs]


def reason(run):
    """Return the outcome of a run that ended, and the codes of its notes."""
    body = json.loads((run.folder / "results.json").read_text("utf-8"))
    return body["outcome"], [note if isinstance(note, str) else str(note) for note in body["run"]["notes"]]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What one machine alone asks and finds, with a file."""
    folder = tmp_path_factory.mktemp("chaos")
    with (
        network() as net,
        mortal(folder, DELAY_S, net.listening()) as made,
        running(net, synchronous_commit="on") as server,
    ):
        one = Chaos(made, server, net)
        alone = one.run("alone")
        alone.start(f"--calm-cache-file={made.cache}", FEW, suites=SUITES)
        one.alone, one.needed = alone.findings(), made.committed()
        yield one
        one.end_all()


@contextmanager
def crashed(site):
    """Kill all processes of the server, in this block."""
    site.server.signal(signal.SIGKILL)
    try:
        yield
    finally:
        site.server.start()


@contextmanager
def frozen(site):
    """Stop all processes of the server, in this block: its machine takes what is sent, and nothing comes."""
    stopped = site.server.processes
    site.server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@contextmanager
def silent(site):
    """Let all lines to the server swallow what is sent, in this block."""
    for line in site.lines.values():
        line.silent.set()
    try:
        yield
    finally:
        for line in site.lines.values():
            line.silent.clear()


@contextmanager
def cut_off(site):
    """Pull the cables of all machines, in this block: neither judge nor record is reached."""
    if isinstance(site.network, Loopback):
        pytest.skip(f"needs a network that can break: {site.network.why}")
    with site.machines[-1].unplugged(), site.machines[-2].unplugged():
        yield


@pytest.mark.parametrize("how", [crashed, frozen, silent])
def test_a_server_that_comes_back_in_time_costs_nothing(site, how):
    """Both runs go on where they were, and each question is paid for once."""
    schema = f"back_{how.__name__}"
    runs = site.two(schema, patience=60)

    with how(site):
        sleep(AWAY_S)

    assert [run.findings() for run in runs] == [site.alone] * 2
    assert site.made.answered == site.needed == site.kept(schema)
    assert billed(*runs) == site.posts()
    print(f"{how.__name__} for {AWAY_S} s: each of {site.needed.total()} questions paid for once")


@pytest.mark.parametrize("how", [crashed, frozen, silent, cut_off])
def test_a_server_that_is_gone_ends_both_runs_with_what_they_have(site, how):
    """By the patience, with results and one cause; when it is back, only what was not kept is paid for."""
    schema = f"gone_{how.__name__}"
    runs = site.two(schema)
    began = monotonic()

    with how(site):
        for run in runs:
            run.findings()
        took = monotonic() - began
    paid = site.made.answered.copy()
    ends = [reason(run) for run in runs]
    found = site.again(runs, schema)

    again = site.made.answered - site.needed
    print(f"{how.__name__}: both ended after {took:.0f} s, {paid.total()} of {site.needed.total()} paid by then; "
          f"{again.total()} paid twice")  # fmt: skip
    for outcome, notes in ends:
        assert outcome == "INCOMPLETE"
        assert any(note.startswith("the cache failed") for note in notes), notes
        assert PASSWORD not in f"{notes}"
    assert found == [site.alone] * 2
    assert site.kept(schema) == site.needed
    if how is cut_off:  # what the judge answered into a cable that is out reached nobody
        assert again.total() <= 2 * WORKERS * (CONCURRENCY + WINDOW)
    else:
        assert not again


def test_one_machine_that_loses_the_record_leaves_the_other_one_alone(site):
    """Its line falls silent for good; the other one ends as if it were alone, and the first one ends too."""
    away, stays = site.two("one")
    line = site.lines[away.name]

    line.silent.set()
    away.findings()
    found, (outcome, _) = stays.findings(), reason(away)
    line.silent.clear()
    again = site.again([away, stays], "one")

    twice = site.made.answered - site.needed
    print(f"one machine without the record: {twice.total()} of {site.needed.total()} questions paid twice")
    assert (found, outcome) == (site.alone, "INCOMPLETE")
    assert again == [site.alone] * 2
    assert twice.total() <= WORKERS * (CONCURRENCY + WINDOW)


def test_connections_that_an_administrator_ends_cost_nothing(site):
    """Again and again, those of both machines."""
    runs = site.two("ended")
    sql = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'calm'"

    ended = 0
    for _ in range(10):
        ended += len(site.table("public", sql))
        sleep(0.3)

    assert [run.findings() for run in runs] == [site.alone] * 2
    assert ended >= 10
    assert site.made.answered == site.needed == site.kept("ended")


def test_tables_that_are_removed_end_both_runs(site):
    """With one cause; what was answered is kept beside the record."""
    runs = site.two("dropped")

    with closing(site.server.connected()) as db:
        db.execute("drop schema dropped cascade")
    for run in runs:
        run.findings()
        outcome, notes = reason(run)
        assert outcome == "INCOMPLETE"
        assert any("its tables were removed" in note for note in notes)


def refusal(code, words):
    """Return what a PostgreSQL sends that refuses a connection."""
    body = b"".join(f"{letter}{text}\0".encode() for letter, text in (("S", "FATAL"), ("C", code), ("M", words)))
    return b"E" + (len(body) + 5).to_bytes(4) + body + b"\0"


@contextmanager
def speaking(words):
    """Yield the port of a server that answers whoever connects with some words."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer():
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                client.recv(1024)
                client.sendall(words)
                client.close()

    threading.Thread(target=answer, daemon=True).start()
    yield listening.getsockname()[1]
    listening.close()


@contextmanager
def standby(server, **settings):
    """Yield a second server that follows a first one."""
    with running(**settings) as second:
        second.stop()
        subprocess.run(["rm", "-rf", str(second.data)], check=True)
        env = {**os.environ, "PGPASSWORD": PASSWORD}
        command = [*second._as, str(second._bin / "pg_basebackup"), "-h", str(server.folder), "-p", str(server.port),
                   "-U", "calm", "-D", str(second.data), "-R", "-X", "stream"]  # fmt: skip
        subprocess.run(command, check=True, env=env, cwd="/")
        second.start()
        yield second


def test_what_is_wrong_from_the_start_is_one_message_and_costs_nothing(tmp_path, subtests):
    """Status 4, cause and fix in one line, no password, no traceback, nothing asked, nothing changed."""
    with (
        mortal(tmp_path, 0) as made,
        running(max_connections="4", superuser_reserved_connections="1") as server,
        standby(server) as follows,
        speaking(b"HTTP/1.1 400 Bad Request\r\n\r\n") as http,
        speaking(refusal("57P03", "the database system is starting up")) as starts,
    ):
        with closing(server.connected()) as db:
            for number, schema in ((VERSION - 1, "older"), (VERSION + 1, "newer")):
                db.execute(f"create schema {schema}")
                db.execute(f"create table {schema}.version (version integer)")
                db.execute(f"insert into {schema}.version values ({number})")
            db.execute("create schema odd")
            db.execute("create table odd.version (version text)")
            db.execute("insert into odd.version values ('two')")
            db.execute(f"create role guest login password '{PASSWORD}'")
            db.execute(f"create role nobody login password '{PASSWORD}' connection limit 0")
            db.execute("create database closed")
            db.execute("revoke connect on database closed from public")
        first = Run(Site(made, server, Loopback("")), "first", Loopback("").machine("first"))

        def said(url):
            made.wire.seen.clear()
            first.start(f"--calm-cache-url={url}", FEW, suites=SUITES)
            text = first.ended()
            (found,) = [line for line in text.splitlines() if "postgresql://" in line] or [text]
            assert first.status == 4, text
            assert "Traceback" not in text
            assert PASSWORD not in text
            assert not made.wire.seen
            print(found[:400])
            return found

        first.start(f"--calm-cache-url={server.url('made')}", FEW, suites=SUITES)
        first.findings()
        with closing(server.connected()) as db:
            db.execute("grant usage on schema made to guest")
            db.execute("grant select on all tables in schema made to guest")
        table = [
            (server.url(database="nowhere"), "createdb"),
            (server.url("made", user="guest"), "may not do this"),
            (server.url(user="guest", database="closed"), "may not do this"),
            (server.url(user="stranger"), "password authentication failed"),
            (server.url("older"), "got 1"),
            (server.url("newer"), "a newer calm"),
            (server.url("odd"), "expected a record of calm"),
            (server.url(user="nobody"), "no free connection"),
            (server.url(port=http), "no PostgreSQL answers there"),
            (server.url(port=starts, sslmode="disable"), "the server starts or stops"),
            (server.url(port=1), "no server listens there"),
            (follows.url("made"), "lets nobody write"),
        ]
        for url, words in table:
            with subtests.test(words):
                assert words in said(url)
        with subtests.test("too many"):
            held = [server.connected() for _ in range(4)]
            assert "no free connection" in said(server.url("made"))
            for one in held:
                one.close()
        with subtests.test("TLS alone"):
            rules = server.data / "pg_hba.conf"
            rules.write_text("local all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
            with closing(server.connected()) as db:
                db.execute("select pg_reload_conf()")
            sleep(0.5)
            assert "admit none without TLS" in said(server.url("made", sslmode="disable"))
        with subtests.test("a standby that is not to be read"):
            follows.stop()
            follows.settings["hot_standby"] = "off"
            with suppress(AssertionError):  # it never takes connections
                follows.start()
            assert "lets nobody write" in said(follows.url("made"))
        with closing(server.connected(options="-c search_path=older")) as db:
            assert db.execute("select version from version").fetchall() == [(1,)]
