"""A run with credentials in every place: none of them is in a file, in the cache, or in what is printed."""

import base64
import html
import json
import os
import subprocess
import sys
from urllib.parse import quote

import pytest

from tests.lanes import slow
from tests.servers import Answer, wire_server

CANARIES = {
    "JUDGE_KEY": "sk-canary-key-0a1b2c3d4e5f",
    "GATEWAY_AUTH": "Bearer canary-token/6f7a8b=9c&0d",
    "GATEWAY_BASIC": "Basic " + base64.b64encode(b"joe:canary-pair-e1f2a3").decode(),
    "QUERY_KEY": "canary+query/b4c5<d6>",
    "HTTPS_PROXY": "http://joe:canary-proxy-f7%2Fa8b9@127.0.0.1:9",
    "OTHER_SERVICE_TOKEN": "canary-other-c0d1e2f3",
}
BARE = (
    "sk-canary-key-0a1b2c3d4e5f",
    "canary-token/6f7a8b=9c&0d",
    "canary-pair-e1f2a3",
    "canary+query/b4c5<d6>",
    "canary-proxy-f7",
    "canary-proxy-f7%2Fa8b9",
    "canary-other-c0d1e2f3",
)
WRITTEN = (
    str,
    lambda text: json.dumps(text)[1:-1],
    lambda text: quote(text, safe=""),
    html.escape,
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.b64encode(f"joe:{text}".encode()).decode(),
)
"""How a bad server writes what it was sent."""
FORMS = (
    *WRITTEN[:4],
    lambda text: base64.b64encode(text.encode()).decode().rstrip("=")[:-1],
    lambda text: base64.b64encode(f"joe:{text}".encode()).decode().rstrip("=")[6:-1],
)
"""What of it is looked for: in base64, the signs that do not depend on what stands around."""
JUDGE = """
[judge]
name = "canary"
task = "pairwise"

[model]
provider = "openai"
model = "m"
base_url = "{url}"
api_key_env = "JUDGE_KEY"
headers_env = {{ "X-Gateway" = "GATEWAY_AUTH", "X-Basic" = "GATEWAY_BASIC" }}
query_env = {{ "sig" = "QUERY_KEY" }}
transport = "{transport}"
"""
CODE = """
import logging, os, warnings


def leaking(case):
    \"\"\"Use a key of the environment, and quote it.\"\"\"
    key = os.environ["OTHER_SERVICE_TOKEN"]
    warnings.warn(f"the key {key}")
    logging.getLogger("httpx").debug("header %s", os.environ["GATEWAY_AUTH"])
    raise RuntimeError(f"401 for {key} through {os.environ['HTTPS_PROXY']}")

leaking.reads = ("question", "answers")
"""
TESTS = """
import os


def test_with_locals():
    headers = {"authorization": os.environ["GATEWAY_AUTH"], "proxy": os.environ["HTTPS_PROXY"], "more": "x" * 300}
    long = "y" * 200 + os.environ["JUDGE_KEY"] + "z" * 200
    print(headers)
    assert headers == {"q": os.environ["QUERY_KEY"]}, os.environ["OTHER_SERVICE_TOKEN"]
"""
LOUD = ("-l", "-vv", "-rA", "--log-cli-level=DEBUG", "-p", "no:cacheprovider", "--junitxml=junit.xml")
FILES = [f"--calm-{name}=out/{name}" for name in ("results", "report", "summary", "sarif")]


def found(text):
    """Return the canaries that a text holds in any form."""
    return [bare for bare in BARE if any(form(bare) in text for form in FORMS)]


def searched(folder):
    """Return the canaries in each file of a folder, but for the code of the tests."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc", ".toml")]
    assert files
    return {path.name: here for path in files if (here := found(path.read_bytes().decode("utf-8", "replace")))}


def all_seen(server):
    """Return what a request carries, in every form: what a bad server repeats."""
    seen = server.seen[-1]
    said = " ".join([*seen.headers.values(), *seen.query.values()])
    return " ".join(form(part) for form in WRITTEN for part in (said, *said.split()))


SERVERS = {
    "replies": lambda server: Answer(f"{all_seen(server)} [[A]]", model=f"m-{server.seen[-1].query['sig']}"),
    "refusals": lambda server: Answer(refusal=all_seen(server)),
    "errors": lambda server: Answer(status=400, message=all_seen(server)),
}


@pytest.mark.parametrize("kind", ["replies", slow("refusals"), "errors", slow("proxy"), "odd proxy", "code"])
def test_no_credential_is_in_any_output(projects, kind):
    """The server repeats all that it was sent; the proxy is not there; the judge's own code quotes its key."""
    project = projects(kind.replace(" ", "-"))
    project.write("judges.py", CODE)
    project.write("test_locals.py", TESTS)
    env = CANARIES
    if kind == "odd proxy":  # a slash that is not escaped ends the address: a client quotes what it takes for the port
        env = {**CANARIES, "HTTPS_PROXY": "http://joe:canary-proxy-f7/a8b9@127.0.0.1:9"}
    with wire_server(lambda *_: "") as server:
        server.respond = lambda *_: SERVERS[kind](server)
        url = "https://judge.example/v1" if "proxy" in kind else server.url
        transport = "sdk" if kind in ("proxy", "errors") else "fast"
        project.write("judge.toml", JUDGE.format(url=url, transport=transport))
        judge = "judges:leaking" if kind == "code" else "judge.toml"
        run = project.run_alone(*LOUD, *FILES, "--calm-sample=10", judge=judge, env=env)
        commands = []
        if kind in SERVERS or kind == "odd proxy":
            commands += [["try", "judge.toml", *more] for more in ((), ("--server",))]
        if (project.path / "out" / "results").exists():
            forms = ("junit.xml", "trials.csv", "summary.md", "published.json", "report.html")
            commands += [["report", "out/results", "-o", f"again/{form}"] for form in forms]
        if (project.path / ".calm" / "cache.sqlite").exists():
            commands.append(["cache", "export", "again/replies.jsonl"])
        printed = [run.stdout, calm(project, env, commands)]
        asked = len(server.seen)

    assert "proxy" in kind or kind == "code" or asked > 0
    assert run.returncode in (1, 4), run.stdout
    assert "proxy" in kind or kind == "refusals" or "[secret]" in "".join(printed)
    assert [found(text) for text in printed] == [[]] * len(printed), "\n".join(printed)
    assert searched(project.path) == {}


def calm(project, env, commands):
    """Return what commands print on both streams, one after the other in a process that knows no credential yet."""
    each = f"from calm.commands.cli import main\nfor words in {commands!r}:\n    main(words)\n"
    done = subprocess.run(
        [sys.executable, "-c", each],
        cwd=project.path,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout
