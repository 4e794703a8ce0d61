"""
`vllm run-batch`, with a real engine on the CPU, reads what calm writes, and calm reads what it answers.

    pytest tests/slow/test_vllm_batch.py -s      # a quarter of an hour: it installs vLLM and torch, 4 GB,
                                                 # into an environment of its own

CALM_VLLM names the interpreter of an environment that has vLLM already.
"""

import json
import subprocess
import sys

import pytest

from calm.core.edits import Message
from calm.errors import JudgeError
from calm.judges.judgefile.judge import read_judge
from tests.slow.vllm_engine import OPTIONS, interpreter, surroundings, write_model

FEW = ("--calm-sample=3", "-k", "test_authority", "--calm-looks-ahead=9")
MOST_WAVES = 12
JUDGE = """
[judge]
name = "tiny"
task = "pairwise"

[model]
provider = "{provider}"
model = "tiny"
base_url = "http://127.0.0.1:9/v1"
max_tokens = 16
greeting = false
{extra}

[verdict]
format = "{form}"
"""
CHOICE = 'extra_body = { structured_outputs = { choice = ["[[A]]", "[[B]]"] } }'
"""A parameter of vLLM alone: so a model without sense gives verdicts."""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter with vLLM."""
    return interpreter(tmp_path_factory.mktemp("vllm"))


@pytest.fixture(scope="module")
def model(python, tmp_path_factory):
    """A folder with a model."""
    return write_model(python, tmp_path_factory.mktemp("model") / "tiny")


def run_batch(python, model, requests, replies):
    """Answer a file of requests."""
    command = [str(python.with_name("vllm")), "run-batch", "-i", str(requests), "-o", str(replies)]
    options = (f"--model={model}", "--served-model-name=tiny", *OPTIONS)
    env = surroundings(python)
    done = subprocess.run([*command, *options], env=env, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]


def calm(folder, *arguments):
    """Run a command of calm."""
    command = [sys.executable, "-m", "calm", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def judge(folder, *, provider="openai", extra="", form="brackets"):
    """Write and read judge.toml."""
    file = folder / "judge.toml"
    file.write_text(JUDGE.format(provider=provider, extra=extra, form=form))
    return read_judge(file, {}, keyless=True)


def test_a_run_goes_through_vllm_and_back(python, model, tmp_path):
    """Wave by wave, until no call is left; each reply is vLLM's own."""
    judge(tmp_path, extra=CHOICE)
    answered = 0
    for wave in range(MOST_WAVES):
        written = calm(tmp_path, "batch", "write", "judge.toml", "-o", f"{wave}.jsonl", "--", *FEW)
        if "no call is left" in written.stdout:
            break
        assert written.returncode == 0, written.stdout + written.stderr
        run_batch(python, model, tmp_path / f"{wave}.jsonl", tmp_path / f"{wave}.out.jsonl")
        count = len((tmp_path / f"{wave}.jsonl").read_text().splitlines())
        took = calm(tmp_path, "batch", "read", f"{wave}.out.jsonl")
        assert f"{count} replies kept" in took.stdout, took.stdout + took.stderr
        answered += count
    else:
        pytest.fail(f"{MOST_WAVES} waves were not enough")
    assert wave > 1
    ended = calm(tmp_path, "audit", "judge.toml", "--", *FEW, "--calm-results=results.json", "--calm-cache=replay")
    run = json.loads((tmp_path / "results.json").read_text())["run"]
    assert (run["calls"]["made"], run["calls"]["failed"]) == (0, 0), ended.stdout
    print(f"{wave} waves, {answered} calls answered by vllm run-batch")


def test_what_vllm_takes_of_each_kind_of_judge(subtests, python, model, tmp_path):
    """Schema, log-probabilities and further parameters: yes; responses and messages: a line that says no."""
    messages = [Message("system", "You judge."), Message("user", "Which is better, A or B?")]
    kinds = {
        "schema": {"form": "json"},
        "logprobs": {"form": "logprobs"},
        "extra": {"extra": "extra_body = { top_k = 0, min_p = 0.0, prompt_logprobs = 0 }"},
        "unknown": {"extra": "extra_body = { of_another_engine = 1 }"},
        "responses": {"provider": "openai-responses"},
        "anthropic": {"provider": "anthropic"},
    }
    endpoints = {}
    with (tmp_path / "requests.jsonl").open("wb") as file:
        for number, (kind, given) in enumerate(kinds.items()):
            endpoint = endpoints[kind] = judge(tmp_path, **given).server
            schema = {"type": "object", "properties": {"verdict": {"enum": ["A", "B"]}}, "required": ["verdict"]}
            asked = {"schema": schema} if kind == "schema" else {"logprobs": kind == "logprobs"}
            body = json.dumps(endpoint.body(messages, **asked))
            file.write(endpoint.request_line(bytes([number]) * 32, body) + b"\n")
    run_batch(python, model, tmp_path / "requests.jsonl", tmp_path / "replies.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text().splitlines()]
    found = {}
    for number, kind in enumerate(kinds):
        (line,) = [line for line in lines if line["custom_id"] == (bytes([number]) * 32).hex()]
        found[kind] = endpoints[kind].answer(line)
    for kind in ("schema", "logprobs", "extra", "unknown"):
        with subtests.test(kind):
            assert not isinstance(found[kind], JudgeError), found[kind]
            assert (found[kind].model, found[kind].usage.output > 0) == ("tiny", True)
    with subtests.test("the schema holds"):
        assert "".join(found["schema"].text.split()).startswith('{"verdict"')
    with subtests.test("tokens come"):
        assert len(found["logprobs"].tokens[0].alternatives) >= 5
        assert len(found["extra"].tokens) > 10
    for kind in ("responses", "anthropic"):
        with subtests.test(kind):
            assert isinstance(found[kind], JudgeError)
            assert "Supported endpoints" in str(found[kind]), found[kind]
