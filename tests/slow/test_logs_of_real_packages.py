"""
The packages that are installed write their logs anew, and each log still holds the judge's verdicts.

A package that is not installed is skipped. `CALM_TEST_PYTHONS` may name interpreters that have some, by package:
`deepeval=/path/to/python,mlflow=/path/to/python`. promptfoo is the command in `CALM_TEST_PROMPTFOO`, or on the path.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calm.cases.logs import Wanted, gathered, read_logs
from tests.plugins.logs.desk import ITEMS

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "deepeval": ("deepeval", ["deepeval.json"]),
    "inspect": ("inspect_ai", ["inspect.eval"]),
    "mlflow": ("mlflow", ["mlflow.jsonl"]),
    "langfuse": ("langfuse", ["langfuse.json", "langfuse-scores.json"]),
    "otel": ("opentelemetry.exporter.otlp.proto.common", ["otel.jsonl"]),
}
PYTHONS = dict(pair.split("=", 1) for pair in os.environ.get("CALM_TEST_PYTHONS", "").split(",") if pair)
PROMPTFOO = os.environ.get("CALM_TEST_PROMPTFOO", shutil.which("promptfoo") or "").split()


def verdicts(paths):
    """Return what the judge said of each answer, in order."""
    found = gathered(read_logs(paths), Wanted())
    texts = {case.id: case.answers[0].text for case in found.cases}
    said = {item.answer: [] for item in ITEMS}
    for ask in found.asks:
        said[texts[ask.case]].append(ask.verdict)
    return said


def write(python, name, folder, *more):
    """Run the script that writes a log."""
    command = [python, "-m", f"tests.slow.logs.write_{name}", str(folder), *more]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_log_that_is_written_anew_holds_the_verdicts_of_the_judge(name, tmp_path):
    """Whatever version of the package is installed."""
    package, files = PACKAGES[name]
    python = PYTHONS.get(name, sys.executable)
    if subprocess.run([python, "-c", f"import {package}"], check=False, capture_output=True).returncode:
        pytest.skip(f"{package} is not installed")

    write(python, name, tmp_path)

    assert verdicts([tmp_path / file for file in files]) == {item.answer: list(item.said) for item in ITEMS}


@pytest.mark.skipif(not PROMPTFOO, reason="promptfoo is not installed")
def test_results_that_promptfoo_writes_anew_hold_the_verdicts_of_the_judge(tmp_path):
    """They come from its own command, which ends repeats of a test in any order."""
    write(sys.executable, "promptfoo", tmp_path, *PROMPTFOO)

    found = {answer: sorted(said) for answer, said in verdicts([tmp_path / "promptfoo.json"]).items()}
    assert found == {item.answer: sorted(item.said) for item in ITEMS}
