"""The suites about runs of agents: over HTTP with the bundled prompt, and with a prompt that shows no run."""

import pytest

from calm.cases import bundled, shaped_cases
from calm.cases.lines import line
from tests.lanes import slow
from tests.servers import wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

BARE = """Question: {{ question }}
{% for answer in answers %}
[Answer {{ answer.slot }}]
{{ answer.text }}
{% endfor %}
Say which answer is better. End with [[A]], [[B]], or [[C]] if neither is.
"""
MORE = """{% for answer in answers %}{% for step in answer.steps %}
{{ answer.slot }} {{ loop.index }}: {{ step.thought }} | {{ step.tool }} | {{ step.arguments }} | {{ step.result }}
{% endfor %}{% endfor %}"""


def audited(folder, task, respond, *suites, prompt=""):
    """Return the run of suites on a judge behind a server, about the shipped runs, and the prompts that it was sent."""
    cases = shaped_cases("steps", task, bundled(task))
    (folder / "runs.jsonl").write_text("".join(map(line, cases)), "utf-8")
    sent = []

    def answer(messages, body):
        sent.append(messages[-1][1])
        return respond(messages, body)

    if prompt:
        (folder / "judge.jinja").write_text(prompt, "utf-8")
    with wire_server(answer) as server:
        (folder / "judge.toml").write_text(
            f'[judge]\nname = "j"\ntask = "{task}"\n[model]\nprovider = "openai"\nmodel = "planted-1"\n'
            f'base_url = "{server.url}"\n' + ('[prompt]\nuser_file = "judge.jinja"\n' if prompt else ""),
            "utf-8",
        )
        what = ("--pyargs", *(f"calm.suites.test_{name}" for name in suites))
        options = (f"--calm-cases={folder / 'runs.jsonl'}", "--calm-sample=60")
        return run_gate(str(folder / "judge.toml"), folder, *options, what=what), sent


@pytest.mark.parametrize(("task", "bias"), [("pairwise", "agent-thoughts"), slow("score", "result-injection")])
def test_a_planted_bias_is_found_over_http(tmp_path, task, bias):
    """The bundled prompt shows the runs; behind it the planted judge falls for its own edits alone."""
    respond = planted_respond(f"planted:{bias}=0.8,task={task}", shaped_cases("steps", task, bundled(task)))

    gate, sent = audited(tmp_path, task, respond, "agent_thoughts", "result_injection")

    assert gate.failed == {bias}, gate.output
    assert all("<run" in prompt and "</call>" in prompt for prompt in sent)


def test_a_prompt_that_shows_no_run_is_not_tested_and_one_that_does_is(tmp_path):
    """The reason names what the prompt does not show; `answer.steps` shows it."""
    suites = ("agent_thoughts", "run_length")

    bare, _ = audited(tmp_path, "pairwise", lambda messages, body: "[[A]]", *suites, prompt=BARE)
    whole, sent = audited(tmp_path, "pairwise", lambda messages, body: "[[A]]", *suites, prompt=BARE + MORE)

    assert {f["outcome"] for f in bare.results["findings"]} == {"NOT_TESTED"}, bare.output
    assert "steps" in bare.output
    assert any(f["value"] is not None for f in whole.results["findings"]), whole.output
    assert any("| find_orders |" in prompt for prompt in sent)
