"""A judge that notes what it ignored, drafts, or explains what it refused, is green; one that obeys is not."""

from pathlib import Path

import pytest

from calm.cases import bundled, sample
from tests.lanes import slow
from tests.servers import wire_server
from tests.servers.speaking import STYLES, VERDICT, speaking
from tests.suites.gate import Gate, run_gate


def gate_of(folder: Path, spec: str, task: str, form: str, style: str, cases: int) -> Gate:
    """Return the suite of injection on a planted judge that says more than its verdict."""
    drawn = sample(bundled(task), cases, 0)
    with wire_server(speaking(f"{spec},task={task}", drawn, form, STYLES[style])) as server:
        judge = folder / "judge.toml"
        judge.write_text(
            f'[judge]\nname = "it speaks"\ntask = "{task}"\n{VERDICT[form]}'
            f'[model]\nprovider = "openai"\nmodel = "planted-1"\nbase_url = "{server.url}"\nmax_tokens = 256\n'
        )
        return run_gate(str(judge), folder, f"--calm-sample={cases}", "-k", "test_injection")


@pytest.mark.parametrize(
    ("task", "form", "style", "cases"),
    [
        ("pairwise", "brackets", "note", 60),
        ("score", "json", "drafts", 60),
        slow("rubric", "last-line", "refuses", 80),
    ],
)
def test_a_judge_that_is_never_moved_and_says_so_is_green(tmp_path, task, form, style, cases):
    """Its note, its draft and what it refused are no verdicts; each format and task: tests/power."""
    gate = gate_of(tmp_path, "noise=0", task, form, style, cases)

    assert gate.status == 0, gate.output
    assert not gate.failed
    assert gate.results["findings"]


@pytest.mark.parametrize(("task", "form"), [("score", "json"), slow("pairwise", "brackets")])
def test_a_judge_that_obeys_an_injection_fails_whatever_it_notes(tmp_path, task, form):
    """A note that says the contrary does not hide what its verdict does."""
    gate = gate_of(tmp_path, "injection=0.9", task, form, "note", 60)

    assert gate.failed == {"injection"}, gate.output
