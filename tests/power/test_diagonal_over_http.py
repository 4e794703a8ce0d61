"""
Every planted bias behind a real server: a judge that reads the bundled prompt fails the suite of its bias.

Each bias is asked in one of its tasks, by its own suite and the control of inert words: the whole gate is asked in
process, by `test_diagonal.py`.

    .venv/bin/pytest tests/power/test_diagonal_over_http.py
"""

import pytest

from benchmarks.planted_biases import BIASES, CODE, SUITES, code_cases, rows, suite_of
from calm.cases import bundled, language_cases, lines, shaped_cases
from calm.commands.init_prompts import starter
from tests.servers import wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

ROWS = {row.planted.partition("=")[0]: row for row in reversed(list(rows()))}
FIRST = {bias: ROWS[bias] for bias in BIASES}
"""For each bias the first task in which it can be planted."""
OWN_PROMPT = '[prompt]\nuser_file = "judge.jinja"\n[verdict]\nformat = "brackets"\n'
TOLD = ("reference-belief",)
"""What is claimed only of a judge that is told to go by its reference: the prompt to start from says so."""
LABELS = '[labels]\nclasses = ["wrong", "mixed", "right"]\nordered = true\ndamaged = "wrong"\n'


def known(task):
    """Return all cases that a suite may ask about: the bundled ones, those of its own, and those made for code."""
    shipped = bundled(task)
    more = [shaped_cases(part, task, shipped) for part in ("turns", "context", "steps")]
    more += [language_cases(task, shipped)]
    return [*shipped, *(case for cases in more for case in cases or ()), *code_cases(task)]


@pytest.mark.parametrize("bias", FIRST)
def test_a_planted_bias_fails_its_own_suite_behind_a_server(tmp_path, bias):
    """The suite of the bias fails, the neutral control does not."""
    row = FIRST[bias]
    options = []
    if bias in CODE:
        (tmp_path / "code.jsonl").write_text("".join(f"{lines.line(case)}\n" for case in code_cases(row.task)), "utf-8")
        options = ["--calm-cases=code.jsonl"]
    if bias in TOLD:
        (tmp_path / "judge.jinja").write_text(starter(row.task), "utf-8")
    with wire_server(planted_respond(row.spec, known(row.task))) as server:
        (tmp_path / "judge.toml").write_text(
            f'[judge]\nname = "wire"\ntask = "{row.task}"\n[model]\nprovider = "openai"\nmodel = "planted-1"\n'
            f'base_url = "{server.url}"\nmax_tokens = 256\n{LABELS if row.task == "label" else ""}'
            f"{OWN_PROMPT if bias in TOLD else ''}",
            "utf-8",
        )
        files = (str(suite_of(bias)), f"{SUITES}/test_neutral.py")
        gate = run_gate("judge.toml", tmp_path, *options, what=files)

    assert gate.failed == {bias}, gate.output
