"""`--calm-batch` and `calm batch`: the findings of a live run, by the provider's batches or by files."""

import json
import os

import pytest

from calm.cases import bundled
from tests.inside import calm_inside, run_inside
from tests.servers.batching import batch_server
from tests.servers.planted import planted_respond

SUITE = "calm.suites.test_authority"
JUDGE = """
[judge]
name = "mailed"
task = "pairwise"

[model]
provider = "{provider}"
model = "tiny"
base_url = "{url}"
api_key_env = "BATCH_KEY"
max_tokens = 50
greeting = {greeting}
price_usd_per_mtok = {{ input = 1.0, output = 2.0, batch = 0.4 }}
"""
KEY = "sk-0123456789abcdef"
JUDGED = ("--judge", "judge.toml")


@pytest.fixture
def server():
    with batch_server(planted_respond("planted:authority=0.6", bundled("pairwise")), api_key=KEY) as running:
        yield running


@pytest.fixture
def calm(server, tmp_path):
    """Run a command in a folder of its own; return its status and what it printed."""

    def run(*arguments):
        program, *words = arguments
        env = {"BATCH_KEY": KEY, "COLUMNS": "200"}
        done = calm_inside(tmp_path, *words, env=env) if program == "calm" else run_inside(tmp_path, words, env)
        return done.returncode, done.stdout + done.stderr

    judge(tmp_path, server.url)
    return run


def judge(folder, url, provider="openai", *, greeting=True):
    text = JUDGE.format(provider=provider, url=url, greeting=str(greeting).lower())
    (folder / "judge.toml").write_text(text, "utf-8")


def gate(*options):
    return (
        *("pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir=.", "--pyargs", SUITE),
        *("--calm-judge=judge.toml", "--calm-sample=14", *options),
    )


def findings(path):
    body = json.loads(path.read_text("utf-8"))
    return [{name: value for name, value in found.items() if name != "seconds"} for found in body["findings"]]


def test_a_run_by_batch_finds_what_a_live_run_finds(server, calm, tmp_path):
    """Claim by claim; at the stated share of the live price, without a live call but the greeting."""
    _, live = calm(*gate("--calm-results=live.json", "--calm-cache=off"))
    asked = len(server.wire.judged)
    status, said = calm(*gate("--calm-results=batch.json", "--calm-batch", "--calm-batch-least=1"))

    assert findings(tmp_path / "batch.json") == findings(tmp_path / "live.json"), (live, said)
    assert len(server.wire.judged) == asked
    assert sum(len(batch.items) for batch in server.batches) == asked
    runs = [json.loads((tmp_path / f"{name}.json").read_text("utf-8"))["run"] for name in ("live", "batch")]
    assert runs[0]["calls"] == runs[1]["calls"]
    assert runs[1]["usd"] == pytest.approx(0.4 * runs[0]["usd"], rel=0.02)  # the greeting is live
    assert status in (0, 1)


def test_a_run_that_leaves_is_shown_collected_and_gone_on_with(server, calm, tmp_path):
    """Each step says what is next; a cancelled batch comes back as far as it was answered."""
    server.desk.conduct.takes_s = None
    status, said = calm(*gate("--calm-batch-leave"))
    assert status == 1
    assert "run the same command again" in said
    (batch,) = server.batches

    status, said = calm("calm", "batch", "status", *JUDGED)
    asked = len(batch.items)
    assert (status, f"0 of {asked} answered" in said, batch.id in said) == (0, True, True), said
    calm(*gate("--calm-batch-leave"))
    assert len(server.batches) == 1

    status, said = calm("calm", "batch", "collect", *JUDGED)
    assert status == 1
    server.finish()
    status, said = calm("calm", "batch", "collect")  # a record must not choose which variable goes where
    assert (status, "name the judge whose server it is with --judge" in said) == (4, True), said
    status, said = calm("calm", "batch", "collect", *JUDGED)
    assert (status, f"collected {asked} replies" in said) == (0, True), said
    _, said = calm("calm", "batch", "status", *JUDGED)
    assert "no batch is under way" in said

    calm(*gate("--calm-batch-leave"))
    assert len(server.batches) == 2
    status, said = calm("calm", "batch", "cancel", "nobody", *JUDGED)
    assert (status, "no batch that is not over is called 'nobody'" in said) == (4, True)
    status, said = calm("calm", "batch", "cancel", "--all", *JUDGED)
    assert (status, "cancelled" in said) == (0, True)
    server.finish()
    status, said = calm("calm", "batch", "collect", *JUDGED)
    assert "its batch was cancelled before the provider answered it" in said
    assert KEY not in said
    assert all(KEY.encode() not in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (gate("--calm-batch", "--calm-cache=off"), "expected --calm-cache=on or refresh"),
        (gate("--calm-batch-leave", "--calm-batch-hold"), "leave one out"),
        (gate("--calm-batch-leave", "--calm-cache=refresh"), "expected --calm-cache=on, got 'refresh'"),
        (gate("--calm-batch", "--calm-batch-least=0"), "--calm-batch-least: expected a whole number of at least 1"),
        (("calm", "batch", "status"), "there is no cache"),
        (("calm", "batch", "read", "nothing.jsonl"), "there is no cache"),
        (("calm", "batch", "write", "-o", "judge.toml"), "it stays: choose another name"),
    ],
)
def test_a_mistake_is_one_clear_message(calm, arguments, expected):
    """Nothing is asked."""
    status, said = calm(*arguments)

    assert status == 4, said
    assert expected in said
    assert "Traceback" not in said


def test_a_server_without_a_batch_api_says_so(calm, tmp_path, server):
    """It answers 404; nothing is left behind."""
    judge(tmp_path, server.url.replace("/v1", "/elsewhere/v1"), greeting=False)
    status, said = calm(*gate("--calm-batch", "--calm-batch-least=1"))

    assert status == 1
    assert "answered 404" in said
    _, said = calm("calm", "batch", "status", *JUDGED)
    assert "no batch is under way" in said
