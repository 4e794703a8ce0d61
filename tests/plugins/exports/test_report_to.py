"""`calm report --to`: results in other tools: what is told, what is refused, and that no key is shown."""

import re
from dataclasses import replace

import pytest

from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.core.plugins import given
from calm.core.reasons import Kind, Said, because
from calm.results.audit import write
from calm.results.reports.exports import GATE, LONGEST, exported
from calm.results.tabular import as_read
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, sample
from tests.servers.langfuse import langfuse_server

DESTINATIONS = (
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "MLFLOW_TRACKING_URI", "LANGFUSE_HOST"),
    *("LANGFUSE_BASE_URL", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY", "WANDB_API_KEY", "WANDB_MODE"),
)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A Langfuse on loopback that the environment names, and a folder with the results of a run."""
    monkeypatch.chdir(tmp_path)
    for name in DESTINATIONS:
        monkeypatch.delenv(name, raising=False)
    write(sample(), tmp_path / "results.json")
    with langfuse_server() as found:
        monkeypatch.setenv("LANGFUSE_HOST", found.url)
        monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", found.keys[0])
        monkeypatch.setenv("LANGFUSE_SECRET_KEY", found.keys[1])
        yield found


def send(target="langfuse", *more):
    """Return the exit status of sending the results."""
    return main(["report", "results.json", "--to", target, *more])


def test_each_finding_is_a_score_and_the_gate_is_one(server):
    """Its value is a number, its outcome a category; what has no value has an outcome alone."""
    assert send() == 0

    found = {score["name"]: score for score in server.scores.values()}
    for one in as_read(sample()).findings:
        assert found[f"{one.key.replace('@', '-')}/outcome"]["value"] == one.outcome.value
        assert found.get(one.key.replace("@", "-"), {}).get("value") == one.value
    assert found[GATE]["value"] == 0
    assert len({score["sessionId"] for score in server.scores.values()}) == 1


def test_what_is_sent_twice_is_there_once(server):
    """Ids and times are those of the file."""
    send()
    once = dict(server.scores)

    assert send() == 0
    assert server.scores == once


def test_a_server_that_refuses_is_named_with_what_to_do(server, subtests, capsys, monkeypatch):
    """A wrong key, a part that is refused, nonsense, and nobody there: a message, no traceback and no key."""
    cases = {
        "a proxy": {"/api/public/projects": (200, b"<html>sign in</html>")},
        "something else": {"/api/public/projects": (200, b"[1]")},
        "moved": {"/api/public/projects": (307, b"")},
        "an older one": {"/api/public/scores": (400, b'{"message": "expected object, received array"}')},
        "a part": {"/api/public/scores": (207, b'{"accepted": 1, "rejected": 2, "errors": []}')},
        "no numbers": {"/api/public/scores": (200, b"{}")},
    }
    for name, replies in cases.items():
        with subtests.test(name):
            server.replies = replies

            assert send() == 4
            assert capsys.readouterr().err.startswith("calm: --to langfuse: ")
    server.replies = {}
    for wrong in ({"LANGFUSE_SECRET_KEY": "sk-lf-another-one"}, {"LANGFUSE_HOST": "http://127.0.0.1:9"}):
        with subtests.test(*wrong), monkeypatch.context() as patched:
            [*map(patched.setenv, wrong, wrong.values())]

            assert send() == 4
            said = capsys.readouterr().err
            assert "sk-lf" not in said
            assert "c2stbGYt" not in said


def test_the_destination_is_checked_before_anything_is_read(server, subtests, capsys, monkeypatch):
    """Where it is not set, or does not answer, the results need not even exist."""
    server.replies = {"/api/public/projects": (500, b"down")}

    assert main(["report", "nowhere.json", "--to", "langfuse"]) == 4
    assert "nowhere.json" not in capsys.readouterr().err
    for name in DESTINATIONS:
        monkeypatch.delenv(name, raising=False)
    for target in given("EXPORTS"):
        with subtests.test(target):
            assert main(["report", "nowhere.json", "--to", target]) == 4
            assert "nowhere.json" not in capsys.readouterr().err


def test_options_of_files_are_refused(server, subtests):
    """Nothing is written, so nothing says how."""
    for more in (["-o", "x.html"], ["--format", "html"], ["--limit", "5"], ["--name", "x"], ["--hunt", "h.json"]):
        with subtests.test(more[0]):
            assert send("langfuse", *more) == 4
            assert not server.scores


def test_only_the_results_of_a_run_are_sent(server, tmp_path):
    """A record of another kind has no gate."""
    (tmp_path / "hunt.json").write_text('{"schema": "calm-hunt/1"}')

    assert main(["report", "hunt.json", "--to", "langfuse"]) == 4
    assert main(["report", "nowhere.json", "--to", "langfuse"]) == 4
    assert not server.scores


def test_hostile_texts_are_bounded_and_their_names_are_their_own(server, tmp_path, subtests):
    """Each row has a name of plain letters that no other row has, and an id; texts are short and printable."""
    source = tmp_path / "results.json"
    for text in HOSTILE:
        with subtests.test(repr(text[:20])):
            run = exported(hostile_audit(text), source)

            assert len({row.name for row in run.rows}) == len({row.id for row in run.rows}) == len(run.rows)
            assert all(re.fullmatch(r"[A-Za-z0-9_./-]{1,150}", row.name) for row in run.rows)
            said = [said for row in run.rows for said in row.plain().values() if isinstance(said, str)]
            assert all(len(one) <= LONGEST and one.isprintable() for one in said)
    write(hostile_audit(HOSTILE[0]), source)
    assert send() == 0


def test_what_a_judge_said_is_not_told(server, tmp_path):
    """A reason quotes what a judge or a server answered, which may be a case: a tool that keeps no files gets none."""
    private = because(Kind.HOOK_FAILED, Said("a private text"))
    first, *others = sample().findings
    quoting = replace(first, outcome=Outcome.INCOMPLETE, value=None, low=None, high=None, reason=private)
    write(replace(sample(), findings=(quoting, *others)), tmp_path / "results.json")

    assert "a private text" in (tmp_path / "results.json").read_text("utf-8")
    assert send() == 0
    assert "a private text" not in str(server.scores)


def test_an_empty_run_is_told_too(server, tmp_path):
    """It has a gate that is not green, and no findings."""
    write(empty(), tmp_path / "results.json")

    assert send() == 0
    assert {score["name"] for score in server.scores.values()} == {GATE, f"{GATE}/outcome"}
