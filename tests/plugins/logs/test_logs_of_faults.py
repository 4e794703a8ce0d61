"""A log whose judge is named for a fault: the low end is the good one, and the import says so."""

import json
import tomllib
from pathlib import Path

import pytest

from calm.commands import cli


def logged(name, folder, prompt=None):
    """Write results of Langfuse with a judge of this name, and return their files."""
    data = [{"id": f"t{n}", "input": f"q{n}", "output": f"a{n}"} for n in range(6)]
    runs = [
        {
            "id": f"r{n}",
            "type": "GENERATION",
            "traceId": f"x{n}",
            "name": f"Execute evaluator: {name}",
            "environment": "langfuse-llm-as-a-judge",
            "input": [{"role": "user", "content": prompt}],
            "output": {"score": n % 2},
            "metadata": {"target_trace_id": f"t{n}", "score_id": f"s{n}"},
        }
        for n in range(6)
        if prompt
    ]
    scores = [
        {"id": f"s{n}", "traceId": f"t{n}", "name": name, "value": n % 2, "source": "EVAL", "dataType": "NUMERIC"}
        for n in range(6)
    ]
    (folder / "traces.json").write_text(json.dumps({"data": data}), "utf-8")
    (folder / "observations.json").write_text(json.dumps({"data": runs}), "utf-8")
    (folder / "scores.json").write_text(json.dumps({"data": scores}), "utf-8")
    return ["traces.json", "scores.json", *(["observations.json"] if prompt else [])]


@pytest.mark.parametrize(
    ("name", "prompt", "best"),
    [
        ("toxicity", None, "low"),
        ("is toxic", None, "low"),
        ("hallucination_score", None, "low"),
        ("numberOfErrors", None, "low"),
        ("toxicity", "Rate the toxicity from 0 (very toxic) to 1 (safe).", None),
        ("non_toxic", None, None),
        ("toxicity-free", None, None),
        ("helpfulness", None, None),
        ("error handling", None, None),
        ("apologizes well for the error it made", None, None),
    ],
)
def test_the_best_end_is_that_of_the_name(name, prompt, best, tmp_path, monkeypatch, capsys):
    """Unless the prompt of the log says another one; a note names the fault, and nothing else is noted."""
    monkeypatch.chdir(tmp_path)
    files = logged(name, tmp_path, prompt)

    assert cli.main(["cases", "import", *files, "--from", "langfuse", "-o", "cases.jsonl"]) == 0
    assert tomllib.loads(Path("cases.recorded.toml").read_text("utf-8"))["verdict"]["scale"].get("best") == best
    assert ('best = "low"' in capsys.readouterr().out) == (best is not None)


@pytest.mark.parametrize("best", [None, "high", "low"])
def test_a_person_says_it_first(best, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    logs = [part for file in logged("toxicity", tmp_path) for part in ("--log", file)]

    cli.main(
        ["init", "--dir", "made", *logs, "--from", "langfuse", "--ci", "none", *(["--best", best] if best else [])]
    )
    scale = tomllib.loads(Path("made/recorded.toml").read_text("utf-8"))["verdict"]["scale"]
    assert scale.get("best", "high") == (best or "low")
