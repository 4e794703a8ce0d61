"""
What `calm init` writes for a CI service runs where there is nothing but the repository and a package registry.

A container is a process in a network of its own, whose only address is the loopback, with an empty home; the tree of
calm and the environment of these tests are hidden from it. The repository comes by `git clone`, and a folder of wheels
stands for the registry. The steps run as they are written; what other actions do is done by hand.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PORT = 8123
FEW = 12
"""Cases: what is shown is that the gate begins and decides, and not what it decides."""
KEY = "a-key-of-nobody"
INSIDE = r"""
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

given = json.loads(Path(sys.argv[1]).read_text())
work, seen = Path(given["work"]), []
for place in given["hidden"]:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


class Judge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        seen.append(self.headers["Authorization"])
        said = {"role": "assistant", "content": "[[A]]"}
        body = {"id": "1", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": said}]}
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


server = ThreadingHTTPServer(("127.0.0.1", given["port"]), Judge)
threading.Thread(target=server.serve_forever, daemon=True).start()
(work / "home").mkdir()
env = {"HOME": str(work / "home"), "PATH": f"{work / 'python' / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin", "CI": "true"}
env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": given["registry"], "PIP_CONFIG_FILE": os.devnull}
subprocess.run([sys.executable, "-m", "venv", work / "python"], check=True, env=env)  # setup-python
done = []
for run in given["runs"]:
    tree, temp = work / run["name"], work / run["temp"]
    subprocess.run(["git", "clone", "-q", given["repository"], tree], check=True, env=env)  # checkout
    temp.mkdir(exist_ok=True)
    before, status = len(seen), 0
    for step in run["steps"]:
        if status and not step["always"]:
            continue
        script = work / "step.sh"
        script.write_text(step["run"])
        runner = {"RUNNER_TEMP": str(temp), "GITHUB_STEP_SUMMARY": str(tree / "step-summary.md"), **step["env"]}
        shell = [*step["shell"], str(script)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        told = subprocess.run(shell, cwd=tree / step["folder"], env={**env, **runner}, **pipes)
        asked = seen[before:]
        done.append([run["name"], step["name"], told.returncode, told.stdout, sorted({*asked}), len(asked)])
        before, status = len(seen), status or told.returncode
Path(given["answer"]).write_text(json.dumps(done))
"""


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=me", "-c", "user.email=me@x.y", *words], cwd=folder, check=True)


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """Return a folder with the wheels that a registry gives for what CI installs."""
    folder, wheels = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("registry")
    calm(folder, "init")
    lines = (folder / "calm-ci" / "requirements.txt").read_text("utf-8").splitlines()
    (folder / "others.txt").write_text("\n".join(line for line in lines if not line.startswith("./")), "utf-8")
    command = [sys.executable, "-m", "pip", "download", "-qqq", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", wheels, "-r", folder / "others.txt"], check=True)
    return wheels


def calm(folder, *words):
    command = [sys.executable, "-m", "calm", *words]
    subprocess.run(
        command, cwd=folder, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL
    )


def steps_of(text, ci, folder, key):
    """Return the steps of a workflow that are commands, with the variables that the service sets for a key."""
    made = YAML(typ="safe").load(text)
    if ci == "gitlab":
        (job,) = made.values()
        env = {"JUDGE_KEY": key} if key else {}
        usual = {"shell": ["sh", "-e"], "env": env, "folder": ".", "always": False}
        return [{"name": "script", "run": "\n".join(job["script"]), **usual}]
    (job,) = made["jobs"].values()
    below = job.get("defaults", {}).get("run", {}).get("working-directory", ".")
    usual = {"shell": ["bash", "--noprofile", "--norc", "-eo", "pipefail"], "folder": below}
    return [
        {
            "name": step["name"],
            "run": step["run"],
            "env": {name: key if "secrets." in value else value for name, value in step.get("env", {}).items()},
            "always": step.get("if") == "always()",
            **usual,
        }
        for step in job["steps"]
        if "run" in step
    ]


@pytest.mark.parametrize(("ci", "below"), [("github", "."), ("github", "judges/tone"), ("gitlab", "judges/tone")])
def test_what_calm_init_writes_runs_in_a_clean_container(tmp_path, registry, ci, below):
    """It installs what stands in the repository, asks the judge with the key, and without one replays or says so."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rnm", "true"], check=False).returncode:
        pytest.skip("needs unshare, and the right to make a network")
    tree, work = tmp_path / "tree", tmp_path / "work"
    tree.mkdir()
    work.mkdir()
    git(tree, "init", "-q", "-b", "main")
    judge = ("--base-url", f"http://127.0.0.1:{PORT}/v1", "--model", "m", "--api-key-env", "JUDGE_KEY")
    calm(tree, "init", "--ci", ci, "--dir", below, *judge)
    cases = (tree / below / "cases.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tree / below / "cases.jsonl").write_text("".join(cases[:FEW]), "utf-8")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "A gate")
    (file,) = tree.rglob(".gitlab-ci.yml" if ci == "gitlab" else ".github/workflows/*.yml")
    with_key, without = (steps_of(file.read_text("utf-8"), ci, below, key) for key in (KEY, ""))
    runs = [
        {"name": "main", "temp": "temp", "steps": with_key},
        {"name": "fork", "temp": "temp", "steps": without},
        {"name": "first-fork", "temp": "empty", "steps": without},
    ]
    given = {
        "work": str(work),
        "hidden": [str(ROOT), sys.prefix],
        "port": PORT,
        "registry": str(registry),
        "repository": f"file://{tree}",
        "runs": runs[: 1 if ci == "gitlab" else 3],
        "answer": str(tmp_path / "answer.json"),
    }
    (tmp_path / "given.json").write_text(json.dumps(given))
    (tmp_path / "inside.py").write_text(INSIDE)

    inside = ["unshare", "-rnm", Path(sys.executable).resolve(), "-I", tmp_path / "inside.py", tmp_path / "given.json"]
    subprocess.run(inside, check=True, cwd="/", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, timeout=1_800)

    done = {(run, step): rest for run, step, *rest in json.loads((tmp_path / "answer.json").read_text())}
    shown = "\n".join(f"--- {place}: {rest[0]}\n{rest[1][-3_000:]}" for place, rest in done.items())
    assert KEY not in shown
    gate = "script" if ci == "gitlab" else "gate"
    status, said, keys, calls = done["main", gate]
    assert (status, keys) == (1, [f"Bearer {KEY}"]), shown
    assert calls > 100
    assert "biases: " in said, shown
    if ci == "gitlab":
        return
    assert done["main", "install"][0] == 0
    assert (work / "main" / "step-summary.md").read_text().startswith("# calm: ")
    assert done["fork", gate][0] == 1, shown
    assert done["fork", gate][3] == 0
    assert "there is no cache to replay" in done["first-fork", gate][1], shown
    assert done["first-fork", gate][3] == 0
