"""Ctrl-C ends a run soon, with pytest's own status, and what was decided is kept."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from calm.commands.cli import main
from tests.inside import offered
from tests.lanes import one_in, slow
from tests.servers import Answer, wire_server

KEY = {**os.environ, "OPENAI_API_KEY": "k"}
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def interrupted(project, judge, sign, *options):
    """Start a run, press Ctrl-C when `sign` holds, and return its exit status and output."""
    command = [sys.executable, "-m", "pytest", f"--calm-judge={judge}", "--calm-cases=cases.jsonl", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=project.path, **pipes) as running:
        until = monotonic() + 60
        while not sign() and monotonic() < until:
            sleep(0.02)
        running.send_signal(signal.SIGINT)
        try:
            output, _ = running.communicate(timeout=20)  # a call that is under way would take much longer
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    return running.returncode, output


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["one-process", "two-workers"])
def test_an_async_judge_is_left_at_once(project, workers):
    """The run ends with status 2; what was answered is in the cache."""
    status, output = interrupted(project, "judges:slow", lambda: project.calls() >= 20, *workers)

    assert status == 2
    assert "INTERNALERROR" not in output
    again = project.run("--calm-results=results.json", judge="judges:slow")
    assert again.ret in (0, 1)
    assert project.results()["run"]["calls"]["cached"] >= 10


def test_a_sync_judge_does_not_hold_the_run(project):
    """A function that is under way in its thread cannot be stopped, and is not waited for."""
    status, output = interrupted(project, "judges:sleepy", (project.path / "asleep").exists)

    assert status == 2
    assert "INTERNALERROR" not in output


def test_an_interrupted_run_is_never_recorded_as_a_whole(project):
    """The results of a run that was cut short say so."""
    project.write(
        "test_zzz.py", "import time\n\n\ndef test_wait():\n    open('asleep', 'a').close()\n    time.sleep(30)\n"
    )

    status, output = interrupted(
        project, "judges:gold", (project.path / "asleep").exists, "--calm-results=results.json"
    )

    assert status == 2
    assert "interrupted: " in output
    assert project.results()["outcome"] == "INCOMPLETE"


JUDGE = """
[judge]
name = "slow"
task = "pairwise"

[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
max_tokens = 50
concurrency = 8
"""
CALM = (sys.executable, "-m", "calm")
COMMANDS = {
    "pytest": (sys.executable, "-m", "pytest", "--pyargs", "calm.suites.test_authority", "--calm-judge=judge.toml"),
    "audit": (*CALM, "audit", "judge.toml", "-o", "."),
    "hunt": (*CALM, "hunt", "judge.toml", "-o", "results.json", "--force"),
    "mitigate": (*CALM, "mitigate", "judge.toml", "--try", "swap", "--out", "made"),
}
OWN = {"pytest": ("--calm-results=results.json", "-p", "no:cacheprovider"), "mitigate": ("--", "-k", "authority")}
STATUS = {"pytest": 2, "audit": 130, "hunt": 130, "mitigate": 130}


@pytest.mark.parametrize("name", ["pytest", "audit", *map(slow, offered("hunt", "mitigate"))])
def test_a_command_ends_with_calls_in_flight_and_retries_pending(tmp_path, name):
    """It asks nothing more, says one line, keeps what was answered, and leaves what an earlier run wrote as it is."""
    with wire_server(lambda _messages, _body: "[[A]]") as server:
        (tmp_path / "judge.toml").write_text(JUDGE.format(url=server.url))
        sample = ("--calm-sample=20",) if name == "pytest" else ("--sample", "20")
        earlier = [*COMMANDS["pytest"], "--calm-sample=20", "--calm-cache=off", *OWN["pytest"]]
        made = subprocess.run(earlier, cwd=tmp_path, env=KEY, check=False, capture_output=True, timeout=120)
        assert made.returncode in (0, 1), made.stdout
        before = {path.name: path.read_bytes() for path in tmp_path.glob("results*")}

        later = Answer(status=429, headers={"Retry-After": "60"}), Answer("[[A]]", delay_s=60)
        server.seen.clear()
        server.respond = lambda _messages, _body: "[[A]]" if len(server.judged) < 12 else later[len(server.judged) % 2]
        command = [*COMMANDS[name], *sample, *OWN.get(name, ())]
        with subprocess.Popen(command, cwd=tmp_path, env=KEY, **PIPES) as running:
            while len(server.judged) < 18 and running.poll() is None:
                sleep(0.02)
            running.send_signal(signal.SIGINT)
            output, _ = running.communicate(timeout=50)  # the calls and the retries take longer
        asked = len(server.judged)
        sleep(0.5)

    assert running.returncode == STATUS[name], output
    assert len(server.judged) == asked
    assert sum("interrupted" in line for line in output.splitlines()) == 1, output
    assert "the same command goes on" in output
    assert {path.name: path.read_bytes() for path in tmp_path.glob("results*") if path.name in before} == before
    assert not list(tmp_path.glob("*.before"))
    kept = sqlite3.connect(tmp_path / ".calm" / "cache.sqlite")
    assert kept.execute("select count(*) from reply").fetchone()[0] >= 10
    kept.close()


@pytest.mark.parametrize("name", ["pytest", "audit"])
def test_a_run_that_is_interrupted_at_its_first_call_says_so(tmp_path, name):
    """The server does not answer the greeting; what an earlier run wrote, killed or not, is in its place."""
    record = tmp_path / ("results.json.before" if name == "pytest" else "results.json")
    record.write_text('{"schema": "calm-results/2", "findings": []}')
    with wire_server(lambda _messages, _body: Answer("ready", delay_s=60), greetings=False) as server:
        (tmp_path / "judge.toml").write_text(JUDGE.format(url=server.url))
        with subprocess.Popen([*COMMANDS[name], *OWN.get(name, ())], cwd=tmp_path, env=KEY, **PIPES) as running:
            while not server.seen and running.poll() is None:
                sleep(0.02)
            running.send_signal(signal.SIGINT)
            output, _ = running.communicate(timeout=50)

    assert running.returncode == STATUS[name], output
    assert sum("interrupted: 1 call made" in line for line in output.splitlines()) == 1, output
    assert (tmp_path / "results.json").exists()
    assert not list(tmp_path.glob("*.before"))


@pytest.mark.parametrize("decoder", ["utf-8-sig", "utf-16"])
def test_a_signal_within_a_decoder_is_an_interruption(decoder, capsys, monkeypatch):
    """Python names the decoder in what it raises then: it is nobody's fault, and is not shown."""

    def run(*_given):
        raise KeyboardInterrupt(f"decoding with {decoder!r} codec failed (KeyboardInterrupt: )")

    monkeypatch.setattr("calm.commands.init._init", run)
    assert main(["init"]) == 130
    assert capsys.readouterr().err == "calm: interrupted\n"


PRESSED = """
import signal, sys

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Pressed())
sys.argv = ["calm", *{words!r}]
from calm.__main__ import main
sys.exit(main())
"""


BEGUN = [("audit", "lexical"), ("init", "--dir", "made"), *((one, "lexical") for one in offered("hunt"))]
MODULES = ("calm.commands.cli", "calm.core.verdict", "calm.results.wording", "calm.cases")


@pytest.mark.parametrize(("words", "module"), one_in(2, [(words, one) for one in MODULES for words in BEGUN]))
def test_a_command_that_is_interrupted_while_it_starts_says_one_line(tmp_path, module, words):
    """Ctrl-C comes while a module is imported: of the command line itself, or of the command."""
    code = PRESSED.format(module=module, words=words)

    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False, timeout=60, **PIPES)

    assert found.returncode == 130
    assert found.stdout in ("calm: interrupted\n", "calm: interrupted: no call was made\n")


@pytest.mark.parametrize("greets", [True, False], ids=["in-its-trial", "in-its-greeting"])
def test_init_that_is_interrupted_in_its_call_says_what_is_there(tmp_path, greets):
    """In its trial call the files are there, and stay, and the command that goes on is named; before it nothing is."""
    with wire_server(lambda _messages, _body: Answer("ready", delay_s=60), greetings=greets) as server:
        command = [*CALM, "init", "--dir", "made", "--base-url", server.url, "--model", "m", "--ci", "none"]
        with subprocess.Popen(command, cwd=tmp_path, env=KEY, **PIPES) as running:
            while not (server.judged if greets else server.seen) and running.poll() is None:
                sleep(0.02)
            running.send_signal(signal.SIGINT)
            output, _ = running.communicate(timeout=50)

    assert running.returncode == 130, output
    assert output.splitlines()[-1].endswith(f"calm try {Path('made/judge.toml')}" if greets else "interrupted")
    assert "Traceback" not in output
    assert (tmp_path / "made" / "judge.toml").exists() == greets
