"""
The documented Ray script on a real local cluster: all is answered once, also after a sudden death.

    pytest tests/slow/test_ray.py -s      # some minutes: it installs Ray into an environment of its own

CALM_RAY names the interpreter of an environment that has `ray[data]` and `aiohttp` already.
"""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from threading import Lock
from time import monotonic, sleep

import pytest

from tests.servers import Answer, wire_server
from tests.slow.apart import environment

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-in-batches.md"
SCRIPT = PAGE.with_name("answer_on_ray.py")
COUNT = 200
FAILS, BUSY, BROKEN = "q3", "q5", "q7"
"""Refused; busy twice; without a reply at the first run."""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter with Ray."""
    return environment("CALM_RAY", tmp_path_factory.mktemp("ray"), "ray[data]", "aiohttp")


def request(n):
    """Return one request; some have fields that others do not have."""
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": f"q{n}"}]}
    if n % 3 == 0:
        schema = {"type": "object", "properties": {"verdict": {"enum": ["A", "B"]}}}
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    return {"custom_id": f"{n:064x}", "method": "POST", "url": "/v1/chat/completions", "body": body}


def started(python, folder, url, *options):
    """Start the script as the page says."""
    server = ("--server", url.removesuffix("/v1"), "--key-variable=KEY_OF_MINE")
    command = [str(python), str(SCRIPT), "requests.jsonl", "replies.jsonl", *server, "--at-once=8", *options]
    env = os.environ | {"KEY_OF_MINE": "k-1", "RAY_USAGE_STATS_ENABLED": "0"}
    env.pop("PYTHONPATH", None)
    with (folder / "log.txt").open("a") as log:
        return subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)


def test_the_page_names_the_script():
    assert f"({SCRIPT.name})" in PAGE.read_text("utf-8")


def test_a_cluster_answers_each_request_once(python, tmp_path):
    """Killed in the middle and run again: what was kept is not asked again, bodies arrive as they were written."""
    asked, lock = Counter(), Lock()

    def respond(messages, body):
        said = messages[-1][1]
        with lock:
            asked[said] += 1
            time = asked[said]
        if said == FAILS:
            return Answer(status=400, message="not this one")
        if said == BUSY and time <= 2:
            return Answer(status=429, headers={"Retry-After": "0.05"})
        if said == BROKEN and broken:
            return Answer(fault="cut")
        return Answer(f"[[{'AB'[len(said) % 2]}]]", delay_s=0.1)

    broken = True
    requests = [request(n) for n in range(COUNT)]
    (tmp_path / "requests.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in requests))
    replies = tmp_path / "replies.jsonl"
    with wire_server(respond, api_key="k-1") as server:
        running = started(python, tmp_path, server.url, "--tries=3")
        until = monotonic() + 240
        while not replies.exists() or replies.read_bytes().count(b"\n") < 20:
            assert running.poll() is None, (tmp_path / "log.txt").read_text()
            assert monotonic() < until, (tmp_path / "log.txt").read_text()[-3000:]
            sleep(0.02)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        sleep(2)  # what was on its way arrives
        whole = replies.read_bytes().splitlines(keepends=True)
        replies.write_bytes(b"".join(whole[:-1]) + whole[-1][:40])
        there = {json.loads(line)["custom_id"] for line in whole[:-1]}
        before = asked.copy()

        assert started(python, tmp_path, server.url, "--tries=3").wait(300) == 0, (tmp_path / "log.txt").read_text()

        found = [json.loads(line) for line in replies.read_text().splitlines()]
        assert sorted(each["custom_id"] for each in found) == [each["custom_id"] for each in requests]
        again = asked - before
        named = {each["body"]["messages"][0]["content"]: each["custom_id"] for each in requests}
        assert {custom_id for said, custom_id in named.items() if again[said]} == set(named.values()) - there
        for each in found:
            said = next(s for s, custom_id in named.items() if custom_id == each["custom_id"])
            if said == BROKEN:
                assert (each["response"], each["error"]["code"]) == (None, "no_reply")
            elif said == FAILS:
                assert (each["response"]["status_code"], each["error"]) == (400, None)
                assert each["response"]["body"]["error"]["message"] == "not this one"
            else:
                text = each["response"]["body"]["choices"][0]["message"]["content"]
                assert (text, each["error"]) == (f"[[{'AB'[len(said) % 2]}]]", None)
        sent = {seen.messages[-1][1]: seen.body for seen in server.seen}
        assert sent == {each["body"]["messages"][0]["content"]: each["body"] for each in requests}
        assert max(count for said, count in asked.items() if said not in (BUSY, BROKEN)) <= 2

        broken, before = False, asked.copy()
        assert started(python, tmp_path, server.url, "--again").wait(300) == 0, (tmp_path / "log.txt").read_text()
        assert asked - before == Counter([FAILS, BROKEN])
        assert len(replies.read_text().splitlines()) == COUNT
    assert "k-1" not in (tmp_path / "log.txt").read_text() + replies.read_text()
