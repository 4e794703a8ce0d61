"""
Two machines on one PostgreSQL: each question is paid for once, caps are exact, findings are those of one machine.

A machine is a run of its own, `pytest -n 2`, with its own folder and home, its own processes and its own network. It
reaches the judge and the record through a cable, the record by TLS that is held to a certificate, and with a password.
The cable is pulled, the machine is killed. See `tests/servers/network.py` for what it is where the kernel gives no
network.
"""

import json
import os
import shutil
import sys
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from time import monotonic, sleep

import pytest

from calm.engine.store import prompt_in
from calm.plugins.postgres.server import PostgresRecord, read_address
from tests.servers.deaths import CONCURRENCY, SAMPLE, SUITES, WINDOW, Mortal, mortal
from tests.servers.network import Loopback, network
from tests.servers.postgres import PASSWORD, Server, running

WORKERS = 2
WAITS = """
import os, sys
from calm.plugins.postgres.server import read_address
from calm.plugins.postgres.server import PostgresRecord

record = PostgresRecord(read_address(sys.argv[1], "--calm-cache-url", os.environ))
with record.writing() as db:
    db.execute("select 1").fetchone()
"""
DELAY_S = 0.1
"""For so long the judge thinks, so there is always something in flight."""
SHORT_S = 5
"""For so many seconds a machine is cut off: nobody takes it for dead."""


@dataclass
class Site:
    """The servers, the network to them, and what one machine alone asked and found."""

    made: Mortal
    server: Server
    network: object
    alone: str = ""
    needed: Counter | None = None
    machines: list = field(default_factory=list)

    def run(self, name):
        """Return a run, on a machine of its own."""
        found = Run(self, name, self.network.machine(name))
        self.machines.append(found.machine)
        return found

    def end_all(self):
        """End what a test that failed has left: it would ask on."""
        for machine in self.machines:
            machine.kill()
        self.machines.clear()

    def url(self, schema, name):
        """Return the URL of a record, which takes its server at its certificate; the server knows the run by name."""
        held = {"sslmode": "verify-full", "sslrootcert": self.server.folder / "root.crt"}
        return self.server.url(schema, **held, application_name=name)

    def together(self, schema, cap=100_000):
        """Forget what was asked; start two runs on one new record and under one cap of calls, and return them."""
        self.made.answered.clear()
        self.made.wire.seen.clear()
        self.end_all()
        found = self.run(f"{schema}1"), self.run(f"{schema}2")
        for run in found:
            url = self.url(schema, run.name)
            run.start(f"--calm-cache-url={url}", f"--calm-run={schema}", f"--calm-max-calls={cap}")
        return found

    def table(self, schema, sql):
        """Return the rows that a person finds."""
        with closing(self.server.connected(options=f"-c search_path={schema}")) as db:
            return db.execute(sql).fetchall()

    def kept(self, schema):
        """Return how many replies the record holds, by prompt."""
        return Counter(
            prompt_in(json.loads(request))[-1].text for (request,) in self.table(schema, "select request from reply")
        )

    def once(self, prompts):
        """Return those prompts that a run needs once; of two replies to one prompt, nobody can tell whose they are."""
        return Counter({prompt: count for prompt, count in prompts.items() if self.needed[prompt] == 1})

    def counted(self, schema):
        """Return how many calls the record counts, over all machines."""
        ((calls,),) = self.table(schema, "select calls from spent")
        return calls

    def until_under_way(self, run):
        """Wait until the machine of a run was answered a sixth of the questions."""
        until = monotonic() + 120
        while self.asked(run.machine).total() < self.needed.total() // 6:
            assert monotonic() < until, "the run does not get going"
            sleep(0.05)

    def until_gone(self, run):
        """Wait until the record has dealt with all that a dead machine sent it."""
        sql = f"select 1 from pg_stat_activity where application_name = '{run.name}'"
        until = monotonic() + 120
        while self.table("public", sql):
            assert monotonic() < until, "the record still serves the dead"
            sleep(0.05)

    def until(self, sql):
        """Wait until the server finds something."""
        until = monotonic() + 120
        while not self.table("public", sql):
            assert monotonic() < until, f"it does not come: {sql}"
            sleep(0.05)

    def cut_off(self, run, how):
        """Cut the machine of a run off from the servers, in this block."""
        if isinstance(self.network, Loopback):
            pytest.skip(f"needs a network that can break: {self.network.why}")
        return getattr(run.machine, how)()

    def posts(self):
        """Return how many requests came from each machine, greetings among them."""
        return Counter(seen.sender for seen in self.made.wire.seen)

    def asked(self, machine):
        """Return what a machine was answered, by prompt."""
        return Counter(seen.messages[-1][1] for seen in self.made.wire.judged if seen.sender == machine.address)


class Run:
    """A run on a machine: a folder, a judge, and processes."""

    def __init__(self, site, name, machine):
        self.name, self.machine = name, machine
        self.folder = site.made.folder / name
        self.folder.mkdir()
        shutil.copy(site.made.folder / "judge.toml", self.folder)

    def start(self, *options, suites=SUITES):
        """Start it."""
        (self.folder / "results.json").unlink(missing_ok=True)
        run = ["-m", "pytest", "--pyargs", *suites, f"-n{WORKERS}", "-q", "--tb=no", "-p", "no:cacheprovider"]
        outputs = "--calm-judge=judge.toml", f"--calm-sample={SAMPLE}", "--calm-results=results.json"
        self.command(*run, *outputs, *options)

    def command(self, *arguments):
        """Start Python with some arguments."""
        self._process = self.machine.start(
            [sys.executable, *arguments],
            cwd=self.folder, env={**os.environ, "HOME": str(self.folder), "PGPASSWORD": PASSWORD},
        )  # fmt: skip

    @property
    def status(self):
        """The exit status of what has ended."""
        return self._process.returncode

    def ended(self):
        """Wait for its end, and return what it said."""
        self.said, _ = self._process.communicate(timeout=300)
        return self.said

    def findings(self):
        """Wait for its end, and return its findings as text."""
        self.ended()
        results = self.folder / "results.json"
        assert results.exists(), self.said
        body = json.loads(results.read_text("utf-8"))
        self.bill = body.pop("run")
        return json.dumps(body)


def billed(*runs):
    """Return how many calls stand in the bills of runs, by machine."""
    bills = Counter()
    for run in runs:
        bills[run.machine.address] += run.bill["calls"]["made"]
    return bills


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """What one machine asks and finds by itself, with a file."""
    folder = tmp_path_factory.mktemp("site")
    with network() as net, mortal(folder, DELAY_S, net.listening()) as made, running(net) as server:
        one = Site(made, server, net)
        alone = one.run("alone")
        alone.start(f"--calm-cache-file={made.cache}")
        one.alone, one.needed = alone.findings(), made.committed()
        assert made.answered == one.needed
        yield one


def test_two_machines_pay_for_each_question_once(site):
    """Together they ask what one machine asks, and each takes a share of it."""
    runs = site.together("together")

    assert [run.findings() for run in runs] == [site.alone] * 2

    assert site.made.answered == site.needed == site.kept("together")
    posts = site.posts()
    assert billed(*runs) == posts
    assert site.counted("together") == posts.total()
    print(f"two machines: {[*posts.values()]} calls for {site.needed.total()} questions, findings as of one machine")


@pytest.mark.parametrize("how", ["unplugged", "switched_off"])
def test_a_machine_that_is_cut_off_for_seconds_goes_on_where_it_was(site, how):
    """Whether its cable is pulled, or its interface goes down: nothing is lost, and nothing is paid twice."""
    runs = site.together(how)
    site.until_under_way(runs[0])

    with site.cut_off(runs[0], how):
        sleep(SHORT_S)
    assert [run.findings() for run in runs] == [site.alone] * 2

    assert site.made.answered == site.needed == site.kept(how)
    posts = site.posts()
    print(f"{how} for {SHORT_S} s: {[*posts.values()]} calls for {site.needed.total()} questions")
    assert billed(*runs) == posts
    assert site.counted(how) == posts.total()


def test_a_machine_that_is_taken_for_dead_comes_back(site):
    """Its cable is in again when the other one has ended, which asked again what it was asking, and nothing else."""
    away, stays = site.together("away")
    site.until_under_way(away)

    with site.cut_off(away, "unplugged"):
        assert stays.findings() == site.alone
        asked, kept = site.asked(away.machine), site.kept("away")
    assert away.findings() == site.alone

    again = site.made.answered - site.needed
    posts = site.posts()
    print(f"away until the other one ended: {again.total()} of {site.needed.total()} questions paid twice, {posts}")
    assert kept == site.kept("away") == site.needed
    assert not site.asked(away.machine) - asked - again  # what lay in the cable at the cut came late, nothing else
    assert not site.needed - site.made.answered
    assert again.total() <= WORKERS * (CONCURRENCY + WINDOW)
    assert billed(away, stays) == posts
    assert site.counted("away") == posts.total()


def test_what_a_killed_machine_had_in_flight_is_all_that_is_paid_twice(site):
    """It is killed halfway. The other one asks its calls again that no record holds; they count as used."""
    needed = site.needed
    cap = needed.total() + WORKERS * CONCURRENCY + 8  # what is under way when a machine is killed counts as used
    dies, lives = site.together("killed", cap)
    site.until_under_way(dies)

    dies.machine.kill()
    site.until_gone(dies)
    kept = site.kept("killed")
    assert lives.findings() == site.alone

    site.made.settle()
    lost = site.once(site.asked(dies.machine) - kept)
    again = site.made.answered - needed
    calls = site.counted("killed")
    seen = len(site.made.wire.seen)
    print(f"one killed: {again.total()} of {needed.total()} questions paid twice; {calls} counted, {seen} came")
    assert site.once(again) == lost or isinstance(site.network, Loopback)  # where nobody can tell whose a call was
    assert not needed - site.made.answered
    assert site.kept("killed") == needed
    assert again.total() <= WORKERS * (CONCURRENCY + WINDOW)
    assert seen <= calls <= cap


def test_a_machine_that_is_cut_off_as_it_gets_the_lock_holds_it_for_seconds_alone(site, monkeypatch):
    """The answer that gives it the lock never reaches it; the server gives it up, and others can write."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    here = f"postgresql://calm@/postgres?schema=lock&host={site.server.folder}&port={site.server.port}"
    waits = site.run("waits")
    with closing(PostgresRecord(read_address(here, "--calm-cache-url", {}))) as record, ExitStack() as cut:
        with record.writing() as db:
            assert db.execute("select 1").fetchone() == (1,)
            waits.command("-c", WAITS, site.url("lock", "waits"))
            site.until("select 1 from pg_stat_activity where application_name = 'waits' and wait_event = 'advisory'")
            cut.enter_context(site.cut_off(waits, "unplugged"))
        site.until_gone(waits)
        with record.writing() as db:
            assert db.execute("select 1").fetchone() == (1,)
    waits.machine.kill()


def test_two_machines_stay_within_one_cap(site):
    """Each call counts, whichever machine makes it, and the cap is used up."""
    cap = site.needed.total() // 2

    for run in site.together("capped", cap):
        run.findings()

    site.made.settle()
    assert len(site.made.wire.seen) == site.counted("capped") == cap
