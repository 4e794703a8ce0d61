"""
Two machines on one PostgreSQL: each question is paid for once, caps are exact, findings are those of one machine.

A machine is a run of its own, `pytest -n 2`, in a namespace of processes of its own, with its own folder and home. So
it sees no process of the other one, as in two containers. Where the kernel gives no namespace, it is a group of
processes.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter

from tests.servers.deaths import CONCURRENCY, SAMPLE, SUITES, WINDOW, mortal
from tests.servers.postgres import PASSWORD, running

APART = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--")
WORKERS = 2


def apart():
    """Return the command that gives a program a namespace of its own; nothing where the kernel refuses."""
    allowed = shutil.which("unshare") and subprocess.run([*APART, "true"], check=False, capture_output=True)
    return APART if allowed and allowed.returncode == 0 else ()


class Machine:
    """A folder, a home, and processes that see no others."""

    def __init__(self, made, name):
        self.folder = made.folder / name
        self.folder.mkdir()
        shutil.copy(made.folder / "judge.toml", self.folder)

    def start(self, url, *options):
        """Start a run that keeps its replies on a server."""
        run = [sys.executable, "-m", "pytest", "--pyargs", *SUITES, "-n2", "-q", "--tb=no", "-p", "no:cacheprovider"]
        outputs = "--calm-judge=judge.toml", f"--calm-sample={SAMPLE}", "--calm-results=results.json"
        return subprocess.Popen(
            [*apart(), *run, *outputs, f"--calm-cache-url={url}", *options],
            cwd=self.folder, env={**os.environ, "HOME": str(self.folder), "PGPASSWORD": PASSWORD},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def findings(self, process):
        """Wait for the end of a run and return its findings as text, and what it said."""
        output, _ = process.communicate(timeout=240)
        results = self.folder / "results.json"
        assert results.exists(), output
        body = json.loads(results.read_text("utf-8"))
        body.pop("run")
        return json.dumps(body), output


def table(server, schema, sql):
    """Return the rows that a person finds."""
    with server.connected(options=f"-c search_path={schema}") as db:
        return db.execute(sql).fetchall()


def kept(server, schema):
    """Return how many replies the server holds, by prompt."""
    rows = table(server, schema, "select request from reply")
    return Counter(json.loads(request)["prompt"][-1][1] for (request,) in rows)


def test_two_machines_pay_for_each_question_once(tmp_path):
    """Together, one killed halfway, and under one cap."""
    with mortal(tmp_path) as made, running() as server:
        alone = made.whole("-n2")
        needed = made.committed()

        made.answered.clear()
        url = server.url("together")
        machines = [Machine(made, "one"), Machine(made, "two")]
        processes = [machine.start(url, "--calm-run=together") for machine in machines]
        found = [machine.findings(process)[0] for machine, process in zip(machines, processes, strict=True)]
        assert found == [alone] * 2
        assert made.answered == needed == kept(server, "together")
        print(f"two machines: {made.answered.total()} calls for {needed.total()} questions, findings as of one machine")

        made.answered.clear()
        url = server.url("killed")
        first, second = Machine(made, "first"), Machine(made, "second")
        cap = needed.total() + WORKERS * CONCURRENCY + 8  # what is under way when a machine is killed counts as used
        options = ("--calm-run=killed", f"--calm-max-calls={cap}")
        dies, lives = first.start(url, *options), second.start(url, *options)
        made.until_answered(needed.total() // 2)
        os.killpg(dies.pid, signal.SIGKILL)
        dies.communicate(timeout=60)
        after, said = second.findings(lives)
        made.settle()
        assert after == alone, said
        again = made.answered - needed
        assert not needed - made.answered
        assert kept(server, "killed") == needed
        assert again.total() <= WORKERS * (CONCURRENCY + WINDOW)
        ((calls,),) = table(server, "killed", "select calls from spent")
        print(f"one killed: {again.total()} of {needed.total()} questions paid twice, in flight; {calls} counted")
        assert made.answered.total() <= calls <= cap

        made.answered.clear()
        url, cap = server.url("capped"), needed.total() // 2
        machines = [Machine(made, "left"), Machine(made, "right")]
        posts = len(made.wire.seen)
        processes = [machine.start(url, "--calm-run=capped", f"--calm-max-calls={cap}") for machine in machines]
        for machine, process in zip(machines, processes, strict=True):
            machine.findings(process)
        made.settle()
        posts = len(made.wire.seen) - posts
        ((calls,),) = table(server, "capped", "select calls from spent")
        print(f"capped: {posts} posts, {calls} counted, with a cap of {cap}")
        assert posts == calls == cap
