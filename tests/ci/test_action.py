"""The files for CI services: their shape, and their own shell steps, run against a planted judge and a real server."""

import json
import os
import re
import shutil
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from ruamel.yaml import YAML

from calm.commands import init_ci
from tests.lanes import slow

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
ACTION = YAML(typ="safe").load(ROOT / "action.yml")
GITLAB = YAML(typ="safe").load(ROOT / "ci" / "gitlab.yml")
HOOKS = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
TELLS = YAML(typ="safe").load(ROOT / "ci" / "comment" / "action.yml")
GATE, TELL = ({step["name"]: step for step in one["runs"]["steps"] if "run" in step} for one in (ACTION, TELLS))
JUDGE = "planted:authority=0.9"
QUICK = "--calm-sample=12\n-ktest_a_source_does_not_win"
MARK = "<!-- calm-comment: gate -->"
GITHUB = ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail"]
"""How a runner calls a step whose shell is bash."""


class GitHub:
    """
    The part of GitHub's API that keeps the comments of pull request 7.

    It refuses what `refused` names, and answers with the bytes, or by the function, that `lies` names.
    """

    ME = "github-actions[bot]"

    def __init__(self):
        self.comments, self.refused, self.calls, self.lies = [], {}, [], {}
        github = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, method):
                url = urlsplit(self.path)
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
                github.calls.append((method, url.path, self.headers["Authorization"]))
                lie = github.lies.get((method, url.path))
                if callable(lie):
                    lie(self)
                    return
                status, reply = github.refused.get((method, url.path)) or github.refused.get(method), {"message": "no"}
                if status is None:
                    status, reply = github.done(method, url, body)
                data = json.dumps(reply).encode() if lie is None else lie
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.answer("GET")

            def do_POST(self):
                self.answer("POST")

            def do_PATCH(self):
                self.answer("PATCH")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()

    def done(self, method, url, body):
        if (method, url.path) == ("POST", "/graphql"):
            assert "viewer" in body["query"]
            return 200, {"data": {"viewer": {"login": self.ME}}}
        if method == "GET" and url.path == "/repos/me/judge/issues/7/comments":
            asked = parse_qs(url.query)
            size, page = int(asked["per_page"][0]), int(asked["page"][0])
            return 200, self.comments[size * (page - 1) : size * page]
        if method == "POST" and url.path == "/repos/me/judge/issues/7/comments":
            self.comments.append({"id": len(self.comments) + 1, "body": body["body"], "user": {"login": self.ME}})
            return 201, self.comments[-1]
        number = re.fullmatch(r"/repos/me/judge/issues/comments/(\d+)", url.path)
        if method == "PATCH" and number:
            self.comments[int(number[1]) - 1]["body"] = body["body"]
            return 200, self.comments[int(number[1]) - 1]
        return 404, {"message": "Not Found"}


@pytest.fixture
def github():
    made = GitHub()
    yield made
    made.server.shutdown()
    made.server.server_close()


class Runner:
    """A runner of GitHub in a folder: it resolves the variables of a step of an action, and runs it by bash."""

    def __init__(self, folder, github, **inputs):
        self.folder, self.github = folder, github
        both = {**TELLS["inputs"], **ACTION["inputs"]}
        given = {name: str(one.get("default", "")) for name, one in both.items()}
        self.contexts = {f"inputs.{name}": value for name, value in {**given, **inputs, "token": "t0ken"}.items()}
        self.contexts |= {"github.event.pull_request.number": "7"}
        self.outputs, self.printed = {}, ""

    def tell(self):
        """Run the job that tells of the gate, on what the job of the gate left; return the status of its comment."""
        assert self.run("clear", TELL) == 0
        if (self.folder / "calm-audit").exists():
            shutil.copytree(self.folder / "calm-audit", self.folder / "calm-told")
        return self.run("comment", TELL)

    def run(self, name, steps=GATE):
        """Run a step and return its exit status; what it prints and sets is kept."""
        step = steps[name]
        output, summary = self.folder / "output", self.folder / "summary"
        output.write_text("")
        runner = {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_REPOSITORY": "me/judge",
            "GITHUB_GRAPHQL_URL": f"{self.github.url}/graphql",
            "GITHUB_ACTION_PATH": str(ROOT if steps is GATE else ROOT / "ci" / "comment"),
            "RUNNER_TEMP": str(self.folder),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }
        own = {
            key: re.sub(r"\$\{\{ (.*?) \}\}", self.resolved, str(value)) for key, value in step.get("env", {}).items()
        }
        script = self.folder / "step.sh"
        script.write_text(step["run"])
        environment = {**os.environ, **runner, **own}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run([*GITHUB, script], cwd=self.folder, env=environment, timeout=120, check=False, **pipes)
        self.printed += done.stdout
        for line in output.read_text().splitlines():
            key, _, value = line.partition("=")
            self.outputs[key] = value
            self.contexts[f"steps.{step.get('id')}.outputs.{key}"] = value
        return done.returncode

    def resolved(self, found):
        return self.contexts.get(found[1], "")

    @property
    def summary(self):
        return (self.folder / "summary").read_text()


@pytest.mark.parametrize("again", [(), slow(("gate", "comment"))])
def test_a_red_gate_fails_the_job_and_comments_once(tmp_path, github, again):
    """Summary and comment say why; a second run replaces its comment, and the cache spares its calls."""
    runner = Runner(tmp_path, github, judge=JUDGE, options=QUICK)

    assert runner.run("install") == 0
    assert [runner.run(name) for name in ("gate", "summary", "comment")] == [0, 0, 0], runner.printed
    assert runner.tell() == 0
    assert runner.outputs["status"] == "1"
    assert runner.run("result") == 1
    assert runner.summary.startswith("# calm: RED")
    assert [one["body"].splitlines()[0] for one in github.comments] == [MARK]
    assert "authority" in github.comments[0]["body"]
    assert "FAILED" not in runner.printed

    github.comments[0]["body"] = f"{MARK}\nof an earlier run"
    assert {*(runner.run(name) for name in again), runner.tell()} == {0}
    assert runner.outputs["comment"] == "updated"
    assert len(github.comments) == 1
    assert ("; 0 calls" in github.comments[0]["body"]) == ("gate" in again)
    assert {call[2] for call in github.calls} == {"Bearer t0ken"}
    assert "t0ken" not in runner.printed


@pytest.mark.slow
def test_a_green_gate_lets_the_job_pass(tmp_path, github):
    """Status 0, and a comment that says so."""
    options = "--calm-sample=30\n-ktest_a_source_does_not_win\n--calm-limits=attainable"
    runner = Runner(tmp_path, github, judge="planted:authority=0", options=options)

    assert [runner.run(name) for name in ("gate", "comment")] == [0, 0]
    assert runner.tell() == 0
    assert runner.outputs["status"] == "0", runner.printed
    assert runner.run("result") == 0
    assert "### calm: GREEN" in github.comments[0]["body"]


def test_a_run_that_cannot_begin_says_so(tmp_path, github):
    """Status 4, no results, whatever lay there: the summary points to the log, and there is no comment."""
    runner = Runner(tmp_path, github, judge="no-such.toml")
    out = tmp_path / "calm-audit"
    out.mkdir()
    for name in ("results.json", "summary.md", "comment.md"):
        (out / name).write_text("# calm: PASS, says the pull request itself")

    (tmp_path / "calm-told").mkdir()
    (tmp_path / "calm-told" / "comment.md").write_text(f"{MARK}\nof the pull request itself")

    assert [runner.run(name) for name in ("gate", "summary", "comment")] == [0, 0, 0]
    assert runner.tell() == 0
    assert runner.outputs == {"status": "4", "comment": "none: the run left no results"}
    assert runner.run("result") == 4
    assert "exit status 4" in runner.summary
    assert github.calls == []


@pytest.mark.slow
def test_a_fork_asks_nothing_and_is_not_red_for_its_token(tmp_path, github):
    """What the cache lacks is not asked; GitHub's refusal is a note."""
    runner = Runner(tmp_path, github, judge=JUDGE, options=QUICK)
    runner.run("gate")
    runner.contexts[GATE["gate"]["env"]["KEYLESS"].removeprefix("${{ ").removesuffix(" }}")] = "true"
    github.refused = {("POST", "/repos/me/judge/issues/7/comments"): 403}

    assert [runner.run(name) for name in ("gate", "comment")] == [0, 0]
    assert runner.tell() == 0

    assert runner.outputs["status"] == "1"
    assert "; 0 calls" in runner.printed
    assert runner.outputs["comment"].startswith("none: GitHub answered 403; it needs the permission")
    assert "::notice title=calm::There is no comment on the pull request: GitHub answered 403" in runner.printed
    assert github.comments == []


def comment(tmp_path, github, said="new", mark=MARK, command=(ROOT / "tools" / "pull_request_comment.py",)):
    """Put a comment on a pull request, and return the exit status and what became of it."""
    text, output = tmp_path / "c.md", tmp_path / "output"
    text.write_text(f"{mark}\n{said}")
    output.write_text("")
    environment = {
        **os.environ,
        "GITHUB_OUTPUT": str(output),
        "GITHUB_API_URL": github.url,
        "GITHUB_GRAPHQL_URL": f"{github.url}/graphql",
        "GITHUB_REPOSITORY": "me/judge",
        "GITHUB_TOKEN": "t0ken",
        "PULL_REQUEST": "7",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, *command, text], env=environment, timeout=60, check=False, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert "t0ken" not in done.stdout
    assert output.read_text().count("\n") == 1
    return done.returncode, output.read_text().strip()


def test_a_comment_of_somebody_else_is_not_ours(tmp_path, github):
    """Even where the token may change it, as an owner's may; ours is found behind a hundred others."""
    foreign = [{"login": "mallory"}, {"login": "github-actions"}, {"login": "x[bot]", "type": "Bot"}, None, {}, "me"]
    github.comments = [{"id": i + 1, "body": f"{MARK}\nnot yours", "user": user} for i, user in enumerate(foreign)]
    github.comments += [{"id": i, "body": f"quoted:\n{MARK}", "user": {"login": github.ME}} for i in range(7, 130)]
    before = [dict(one) for one in github.comments]

    assert comment(tmp_path, github) == (0, "comment=created")
    assert comment(tmp_path, github) == (0, "comment=updated")

    assert [one["body"] for one in github.comments[129:]] == [f"{MARK}\nnew"]
    assert github.comments[:129] == before
    assert [call[1] for call in github.calls if call[0] == "PATCH"] == ["/repos/me/judge/issues/comments/130"]


def test_what_is_no_comment_of_calm_is_not_sent(tmp_path, github):
    """The file comes from a job that ran what the pull request brings: another mark, or one that is too long."""
    for said, mark in (("new", "<!-- calm-comment: x --> <b>"), ("new", "# hello"), ("x" * 65_536, MARK)):
        assert comment(tmp_path, github, said=said, mark=mark) == (0, "comment=none: the file is no comment of calm")
    assert github.calls == []


COMMENTS = ("GET", "/repos/me/judge/issues/7/comments")
GRAPHQL = ("POST", "/graphql")


def endless(handler):
    """Say that the reply continues, until nobody listens."""
    try:
        while True:
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    except OSError:
        pass


def elsewhere(handler):
    """Send the token to another place."""
    handler.send_response(302)
    handler.send_header("Location", "/else")
    handler.end_headers()


def huge(handler):
    """Answer with more than any page of comments holds."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(20_000_000))
    handler.end_headers()
    try:
        for _ in range(20):
            handler.wfile.write(b" " * 1_000_000)
    except OSError:
        pass


@pytest.mark.parametrize(
    ("place", "lie"),
    [
        *((GRAPHQL, lie) for lie in (b"", b"[]", b'{"data": {"viewer": {"login": 7}}}', b'{"errors": []}', elsewhere)),
        *((COMMENTS, lie) for lie in (b"{}", b"\xff", b"[" * 100_000, b"[1" + b"0" * 5_000 + b"]", elsewhere, huge)),
    ],
    ids=lambda one: getattr(one, "__name__", repr(one)[:20]),
)
def test_a_server_that_lies_gets_no_comment_and_costs_nothing(tmp_path, github, place, lie):
    """Wrong types, a redirect, a page that is too large, brackets, digits: the step ends well and changes nothing."""
    github.comments = [{"id": 1, "body": f"{MARK}\nold", "user": {"login": github.ME}}]
    github.lies = {place: lie}

    code, said = comment(tmp_path, github)

    assert (code, said.partition(":")[0]) == (0, "comment=none")
    assert {call[1] for call in github.calls} <= {place[1], "/graphql"}
    assert github.comments[0]["body"] == f"{MARK}\nold"


@pytest.mark.parametrize("one", [7, None, [], {"id": "1"}, {"id": 1, "body": 3}, {"id": True, "user": []}])
def test_pages_that_never_end_are_read_so_far(tmp_path, github, one):
    """Then there is no comment of ours, whatever stands on the pages."""
    github.lies = {COMMENTS: json.dumps([one] * 50).encode()}

    assert comment(tmp_path, github) == (0, "comment=created")
    assert sum(call[:2] == COMMENTS for call in github.calls) == 60


def test_a_server_that_never_comes_to_an_end_is_left(tmp_path, github):
    """A reply that goes on for ever is given up at the deadline."""
    github.lies = {COMMENTS: endless}
    short = "import sys; from tools import pull_request_comment as it; it.DEADLINE_S = 0.5; it.main(sys.argv[1:])"

    code, said = comment(tmp_path, github, command=("-c", short))

    assert code == 0
    assert said.startswith("comment=none: GitHub did not answer within")


def test_a_comment_that_cannot_be_written_costs_nothing(tmp_path, github, subtests):
    """Whatever GitHub answers, the step ends well and says why there is none."""
    for status in (401, 404, 422, 500):
        with subtests.test(status):
            github.refused = {("POST", COMMENTS[1]): status}

            code, said = comment(tmp_path, github)

            assert code == 0
            assert said.startswith(f"comment=none: GitHub answered {status}")
    github.url = "http://127.0.0.1:9"
    assert comment(tmp_path, github)[1].startswith("comment=none: URLError")


@pytest.mark.parametrize("runs", [1, slow(3)])
def test_gitlab_runs_the_gate_and_keeps_its_status(tmp_path, subtests, runs):
    """The script by sh: a red gate ends with 1 and leaves a JUnit file; without the key it replays the cache."""
    job = GITLAB[".calm"]
    script = tmp_path / "job.sh"
    script.write_text("\n".join(job["script"]))
    variables = {**job["variables"], "CALM_JUDGE": JUDGE, "CALM_OPTIONS": QUICK.replace("\n", " ")}
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    some, none = r"; [1-9]\d* calls\b", "; 0 calls"
    rows = [("k", "OPENAI_API_KEY", some), (None, "OPENAI_API_KEY", none), (None, "", some)]
    for key, name, calls in rows[:runs]:
        with subtests.test(f"{key} {name}"):
            if not name:
                shutil.rmtree(tmp_path / ".calm")
            environment = {
                **os.environ,
                **variables,
                "CALM_KEY": name,
                "PATH": path,
                **({"OPENAI_API_KEY": key} if key else {}),
            }
            if key is None:
                environment.pop("OPENAI_API_KEY", None)

            done = subprocess.run(
                ["sh", "-e", script], cwd=tmp_path, env=environment, check=False, timeout=120, **pipes
            )

            assert done.returncode == 1, done.stdout
            assert re.search(calls, done.stdout)
            assert (tmp_path / "calm-audit" / "junit.xml").exists()


def test_gitlab_says_what_it_lacks_to_install_calm(tmp_path):
    """Without a file that says what to install, it does not guess a name."""
    script = tmp_path / "job.sh"
    script.write_text("\n".join(GITLAB[".calm"]["script"]))
    environment = {**GITLAB[".calm"]["variables"], "PATH": "/usr/bin:/bin"}

    done = subprocess.run(
        ["sh", "-e", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 4
    assert "no file calm-ci/requirements.txt" in done.stderr


def test_nothing_is_installed_by_the_name_of_calm():
    """It is free in registries: whoever took it would get the keys of all who follow such a line. A file has a path."""
    line = r"install .*calm[-_]judge|calm-judge(\[|==|@| @)|INSTALL\w*: calm( |$)"
    command = ["git", "grep", "-nE", line, "--", ".", ":!tests", ":!CHANGELOG.md"]

    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    if found.returncode == 128:
        pytest.skip("this is no git checkout")
    fine = "install ./calm_judge-", "uninstall calm calm-judge"
    assert found.returncode in (0, 1), found.stderr
    assert [line for line in found.stdout.splitlines() if not any(words in line for words in fine)] == []


def test_each_action_is_named_by_a_commit():
    """A tag can be moved; an action has one commit in all files."""
    written = [ROOT / "action.yml", *(ROOT / "ci").rglob("*.yml")]
    used = [one for file in written for one in re.findall(r"uses: (\S+@.*)", file.read_text("utf-8"))]
    used += [init_ci._CHECKOUT, init_ci._SETUP_PYTHON, init_ci._CACHE, init_ci._UPLOAD]

    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one) for one in used), used
    assert len({one.partition("@")[0] for one in used}) == len(set(used))


def test_no_step_holds_what_somebody_else_may_write():
    """An expression inside of a script would be run as a part of it: it comes as a variable alone."""
    for step in (*GATE.values(), *TELL.values()):
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("github-actions", "action.yml"),
        ("github-actions", "ci/comment/action.yml"),
        ("gitlab-ci", "ci/gitlab.yml"),
        ("github-workflows", "ci/nightly.yml"),
        ("github-workflows", "ci/release.yml"),
        ("github-workflows", "ci/systems.yml"),
    ],
)
def test_the_files_have_the_shape_that_the_services_state(schema, file, capsys):
    """By the schemas that check-jsonschema ships."""
    import check_jsonschema  # here, as it takes seconds

    status = check_jsonschema.main(["--builtin-schema", f"vendor.{schema}", str(ROOT / file)], standalone_mode=False)

    assert status == 0, capsys.readouterr()


def test_each_night_runs_each_lane_that_the_readme_names():
    """By the command that stands there, beside others; a lane that nobody runs proves nothing."""
    page = (ROOT / "tests" / "README.md").read_text("utf-8").partition("## What runs when")[2]
    rows = dict(re.findall(r"^\| [\w ]+ \| `([^`]+)` \| .* \| ([^|]*) \|$", page, re.MULTILINE))

    nightly = YAML(typ="safe").load(ROOT / "ci" / "nightly.yml")["jobs"]["lane"]["strategy"]["matrix"]["lane"]

    named = {command for command, when in rows.items() if when.startswith("each night")}
    assert {command.removeprefix(".venv/bin/") for command in nightly} == named


def test_each_system_runs_the_first_command_of_the_readme():
    """Part by part, as each system spells the folder of programs, on the oldest Python and on three systems."""
    job = YAML(typ="safe").load(ROOT / "ci" / "systems.yml")["jobs"]["system"]
    steps = [step["run"].replace("${{ matrix.bin }}", ".venv/bin") for step in job["steps"] if "run" in step]
    command = re.search(r"^python3 (-m venv .*)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)[1]
    matrix = job["strategy"]["matrix"]

    assert steps[:3] == f"python {command}".split(" && ")
    assert {one.partition("-")[0] for one in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert f">={matrix['python'][0]}" in (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_hook_finds_files_of_judges():
    """It is run on what people call a judge.toml, and on nothing else."""
    (hook,) = HOOKS
    found = [
        name
        for name in (
            *("judge.toml", "judges/support-judge.toml", "a/judge-v2.toml", "pyproject.toml", "prejudge.toml"),
            *("judge.jinja", "b/judge.system.jinja", "judges/helpfulness.toml", "judges/de/tone.j2", "mail.jinja"),
            *("judges/gate.toml", "judges/tone.recorded.toml", "recorded.toml", "judges/notes.md", "judge.py"),
        )
        if re.search(hook["files"], name) and not re.search(hook["exclude"], name)
    ]

    assert (hook["id"], hook["entry"]) == ("calm-lint", "calm lint")
    assert found == [
        *("judge.toml", "judges/support-judge.toml", "a/judge-v2.toml"),
        *("judge.jinja", "b/judge.system.jinja", "judges/helpfulness.toml", "judges/de/tone.j2"),
    ]


def test_the_image_is_pinned_and_its_user_is_not_root():
    """Each stage begins with a version, the last user is a number, and only what the wheel needs is sent to it."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    stages = [line.split()[1] for line in lines if line.startswith("FROM ")]

    assert all(re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", stage) for stage in stages)
    assert [line for line in lines if line.startswith("USER ")] == ["USER 1000"]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    assert {line[1:] for line in ignored if line.startswith("!")} >= {"calm", "pyproject.toml", "README.md", "LICENSE"}
