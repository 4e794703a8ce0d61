"""The suites of passages over real HTTP: with a prompt that shows passages, and with one that does not."""

import pytest

from benchmarks.planted_biases import SUITES
from calm.cases import bundled, lines, shaped_cases
from tests.lanes import slow
from tests.servers import wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

ASKED = ("passage_order", "passage_injection")
FILES = tuple(f"{SUITES}/test_{name}.py" for name in ASKED)
WITHOUT = """
Which answer is better?
<question>
{{ question }}
</question>
{% for answer in answers %}
<answer label="{{ answer.label }}">
{{ answer.text }}
</answer>
{% endfor %}
End with [[A]] or [[B]], or [[C]] for a tie.
"""


def over_http(folder, spec, size, *, prompt=None):
    """Return the run of some suites on a planted judge behind a server, about cases with passages."""
    cases = shaped_cases("context", "pairwise", bundled("pairwise"))
    (folder / "cases.jsonl").write_text("".join(f"{lines.line(case)}\n" for case in cases), "utf-8")
    with wire_server(planted_respond(f"planted:{spec}", cases)) as server:
        more = ""
        if prompt is not None:
            (folder / "prompt.jinja").write_text(prompt)
            more = '[prompt]\nuser_file = "prompt.jinja"\n'
        (folder / "judge.toml").write_text(
            '[judge]\nname = "wire"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "planted-1"\n'
            f'base_url = "{server.url}"\nmax_tokens = 256\n{more}'
        )
        return run_gate("judge.toml", folder, "--calm-cases=cases.jsonl", f"--calm-sample={size}", what=FILES)


@pytest.mark.parametrize("bias", ["passage-injection", slow("passage-order")])
def test_a_biased_judge_fails_its_suite_and_no_other_behind_a_server(tmp_path, bias):
    """It reads the passages out of the bundled prompt, as a model would."""
    gate = over_http(tmp_path, f"{bias}=0.8", 204)

    assert gate.failed == {bias}, gate.output


def test_a_prompt_that_shows_no_passages_is_not_tested_and_the_reason_is_given(tmp_path):
    """What is edited is not shown, so there is nothing to measure."""
    gate = over_http(tmp_path, "passage-order=0.8", 20, prompt=WITHOUT)

    assert {f["outcome"] for f in gate.results["findings"] if f["bias"] != "run"} == {"NOT_TESTED"}, gate.output
    assert "the judge is not shown the passages" in gate.output, gate.output
