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

from calm.commands.cli import main
from tests.lanes import slow

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
ACTION = YAML(typ="safe").load(ROOT / "action.yml")
GITLAB = YAML(typ="safe").load(ROOT / "ci" / "gitlab.yml")
HOOKS = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
JUDGE = "planted:authority=0.9"
QUICK = "--calm-sample=12\n-ktest_a_source_does_not_win"
MARK = "<!-- calm-comment: gate -->"
GITHUB = ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail"]
"""How a runner calls a step whose shell is bash."""


class GitHub:
    """The part of GitHub's API that keeps the comments of pull request 7; it refuses what `refused` names."""

    def __init__(self):
        self.comments, self.refused, self.calls = [], {}, []
        github = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, method):
                url = urlsplit(self.path)
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")
                github.calls.append((method, url.path, self.headers["Authorization"]))
                status, reply = github.refused.get((method, url.path)) or github.refused.get(method), {"message": "no"}
                if status is None:
                    status, reply = github.done(method, url, body)
                data = json.dumps(reply).encode()
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
        if method == "GET" and url.path == "/repos/me/judge/issues/7/comments":
            asked = parse_qs(url.query)
            size, page = int(asked["per_page"][0]), int(asked["page"][0])
            return 200, self.comments[size * (page - 1) : size * page]
        if method == "POST" and url.path == "/repos/me/judge/issues/7/comments":
            self.comments.append({"id": len(self.comments) + 1, "body": body["body"]})
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
    """A runner of GitHub in a folder: it resolves the variables of a step, and runs it by bash."""

    def __init__(self, folder, github, **inputs):
        self.folder, self.github = folder, github
        given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        self.contexts = {f"inputs.{name}": value for name, value in {**given, **inputs, "token": "t0ken"}.items()}
        self.contexts |= {"github.event.pull_request.number": "7"}
        self.outputs, self.printed = {}, ""

    def run(self, name):
        """Run a step and return its exit status; what it prints and sets is kept."""
        step = STEPS[name]
        output, summary = self.folder / "output", self.folder / "summary"
        output.write_text("")
        runner = {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_REPOSITORY": "me/judge",
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(self.folder),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }
        own = {key: re.sub(r"\$\{\{ (.*?) \}\}", self.resolved, str(value)) for key, value in step["env"].items()}
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


@pytest.mark.parametrize("again", [("comment",), slow(("gate", "comment"))])
def test_a_red_gate_fails_the_job_and_comments_once(tmp_path, github, again):
    """Summary and comment say why; a second run replaces its comment, and the cache spares its calls."""
    runner = Runner(tmp_path, github, judge=JUDGE, options=QUICK)

    assert runner.run("install") == 0
    assert [runner.run(name) for name in ("gate", "summary", "comment")] == [0, 0, 0], runner.printed
    assert runner.outputs["status"] == "1"
    assert runner.run("result") == 1
    assert runner.summary.startswith("# calm: RED")
    assert [one["body"].splitlines()[0] for one in github.comments] == [MARK]
    assert "authority" in github.comments[0]["body"]
    assert "FAILED" not in runner.printed

    github.comments[0]["body"] = f"{MARK}\nof an earlier run"
    assert {runner.run(name) for name in again} == {0}
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
    assert runner.outputs["status"] == "0", runner.printed
    assert runner.run("result") == 0
    assert "### calm: GREEN" in github.comments[0]["body"]


def test_a_run_that_cannot_begin_says_so(tmp_path, github):
    """Status 4, no results, whatever lay there: the summary points to the log, and there is no comment."""
    runner = Runner(tmp_path, github, judge="no-such.toml")
    out = tmp_path / "calm-audit"
    out.mkdir()
    for name in ("results.json", "summary.md"):
        (out / name).write_text("# calm: PASS, says the pull request itself")

    assert [runner.run(name) for name in ("gate", "summary", "comment")] == [0, 0, 0]
    assert runner.outputs == {"status": "4", "comment": "none: the run left no results"}
    assert runner.run("result") == 4
    assert "exit status 4" in runner.summary
    assert github.calls == []


@pytest.mark.slow
def test_a_fork_asks_nothing_and_is_not_red_for_its_token(tmp_path, github):
    """What the cache lacks is not asked; GitHub's refusal is a note."""
    runner = Runner(tmp_path, github, judge=JUDGE, options=QUICK)
    runner.run("gate")
    runner.contexts["github.event.pull_request.head.repo.fork || github.actor == 'dependabot[bot]'"] = "true"
    github.refused = {"POST": 403}

    assert [runner.run(name) for name in ("gate", "comment")] == [0, 0]

    assert runner.outputs["status"] == "1"
    assert "; 0 calls" in runner.printed
    assert runner.outputs["comment"].startswith("none: GitHub answered 403; it needs the permission")
    assert "::notice title=calm::There is no comment on the pull request: GitHub answered 403" in runner.printed
    assert github.comments == []


def comment(tmp_path, github, number="7"):
    """Put a comment on a pull request, and return the exit status and what became of it."""
    text, output = tmp_path / "c.md", tmp_path / "output"
    text.write_text(f"{MARK}\nnew")
    output.write_text("")
    environment = {
        **os.environ,
        "GITHUB_OUTPUT": str(output),
        "GITHUB_API_URL": github.url,
        "GITHUB_REPOSITORY": "me/judge",
        "GITHUB_TOKEN": "t",
        "PULL_REQUEST": number,
    }
    command = [sys.executable, ROOT / "tools" / "pull_request_comment.py", text]
    done = subprocess.run(command, env=environment, timeout=60, check=False, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    return done.returncode, output.read_text().strip()


def test_a_comment_of_somebody_else_is_not_ours(tmp_path, github):
    """One with our mark that the token may not change is left; ours is found behind a hundred others."""
    github.comments = [{"id": 1, "body": f"{MARK}\nnot yours"}]
    github.comments += [{"id": i, "body": f"quoted:\n{MARK}"} for i in range(2, 130)]
    github.refused = {("PATCH", "/repos/me/judge/issues/comments/1"): 403}

    assert comment(tmp_path, github) == (0, "comment=created")
    assert comment(tmp_path, github) == (0, "comment=updated")

    assert [one["body"] for one in github.comments[129:]] == [f"{MARK}\nnew"]
    assert github.comments[0]["body"] == f"{MARK}\nnot yours"


def test_a_comment_that_cannot_be_written_costs_nothing(tmp_path, github, subtests):
    """Whatever GitHub answers, the step ends well and says why there is none."""
    for status in (401, 404, 422, 500):
        with subtests.test(status):
            github.refused = {"POST": status}

            code, said = comment(tmp_path, github)

            assert code == 0
            assert said.startswith(f"comment=none: GitHub answered {status}")
    github.url = "http://127.0.0.1:9"
    assert comment(tmp_path, github) == (0, "comment=none: URLError")


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


def test_no_step_holds_what_somebody_else_may_write():
    """An expression inside of a script would be run as a part of it: it comes as a variable alone."""
    for step in STEPS.values():
        assert "${{" not in step["run"], step["name"]
        assert step["shell"] == "bash"


@pytest.mark.parametrize(
    ("schema", "file"),
    [("github-actions", "action.yml"), ("gitlab-ci", "ci/gitlab.yml"), ("github-workflows", "ci/nightly.yml")],
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


def test_the_hook_lints_the_judge_of_a_template_that_changed(tmp_path, monkeypatch, capsys):
    """As `calm init` writes one; a template of no judge is linted alone."""
    (hook,) = HOOKS
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["init", "--dir", "judges", "--ci", "none"]) == 0
    written = [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    changed = [name for name in written if re.search(hook["files"], name) and not re.search(hook["exclude"], name)]
    assert changed == ["judges/judge.jinja", "judges/judge.negative.jinja", "judges/judge.toml"]
    capsys.readouterr()
    entry = hook["entry"].split()[1:]
    for names in (changed, changed[:1]):
        assert main([*entry, *names]) == 0
        assert capsys.readouterr().out == "judges/judge.toml: nothing found\n"
    template = tmp_path / changed[0]
    template.write_text("{{ question }} <a>{{ answers[0].text }}</a> Say [[A]], [[B]] or [[C]].", "utf-8")
    assert main([*entry, changed[0]]) == 1
    assert "error: answer-not-shown" in capsys.readouterr().out
    (tmp_path / "judges" / "judge.toml").unlink()
    main([*entry, changed[0]])
    assert capsys.readouterr().out.splitlines()[-1].startswith("judges/judge.jinja: ")


def test_the_image_is_pinned_and_its_user_is_not_root():
    """Each stage begins with a version, the last user is a number, and only what the wheel needs is sent to it."""
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    stages = [line.split()[1] for line in lines if line.startswith("FROM ")]

    assert all(re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", stage) for stage in stages)
    assert [line for line in lines if line.startswith("USER ")] == ["USER 1000"]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    assert {line[1:] for line in ignored if line.startswith("!")} >= {"calm", "pyproject.toml", "README.md", "LICENSE"}
