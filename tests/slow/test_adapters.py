"""
The judges of other tools, each in an environment of its own with the newest release of its tool, and killed audits.

`pytest tests/slow/test_adapters.py` makes the environments (some minutes, two gigabytes) and runs the tests of
`tests/judges/adapters` in each. promptfoo is tested where its command is on the path.
"""

import json
import os
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from tests.servers import wire_server
from tests.servers.biased import biased, cases_of, score_of, written

ROOT = Path(__file__).parents[2]
TOOLS = {
    "autoevals": ["autoevals"],
    "deepeval": ["deepeval"],
    "inspect": ["inspect"],
    "openevals": ["openevals", "langchain"],
    "ragas": ["ragas"],
}
PLUGINS = ("asyncio", "deepeval", "rerunfailures", "repeat", "anyio", "langsmith_plugin")
"""Plugins that the tools bring along: calm's own tests are run without them."""
SOURCE = """
import os
from autoevals import LLMClassifier
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url=os.environ["JUDGE_URL"], api_key="key-for-a-test-1")
grades = {str(n): n / 10 for n in range(11)}
graded = LLMClassifier("graded", "Q: {{input}} A: {{output}}", grades, "gpt-4o", client=client)
"""


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_in_an_environment_of_its_own(tool, tmp_path):
    """The tests of its adapter, and of the page, with its newest release."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    extras = ",".join(TOOLS[tool])
    more = ["jsonschema", "psycopg[binary]", "pyarrow", "pytest-xdist"]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-e", f"{ROOT}[{extras}]", *more], check=True)

    done = subprocess.run(
        [
            *(python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-o", "filterwarnings=ignore"),
            *(word for plugin in PLUGINS for word in ("-p", f"no:{plugin}")),
            *(f"tests/judges/adapters/test_{tool}.py", "tests/judges/adapters/test_page.py"),
        ],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


def test_a_killed_audit_of_a_tool_pays_for_nothing_twice(tmp_path):
    """After kill -9 the second run asks what is left: both ask no more than one run, and what was under way."""
    pytest.importorskip("autoevals")
    (tmp_path / "my_scorers.py").write_text(SOURCE)
    cases = written(tmp_path / "cases.jsonl", cases_of(40))

    def slow(text, body=None):
        time.sleep(0.02)
        return str(score_of(text))

    def audit(cache):
        command = [sys.executable, "-m", "calm", "audit", "autoevals:my_scorers:graded", "--cases", cases]
        command += ["--", "-k", "authority", f"--calm-cache-file={cache}", "-n", "0"]
        env = {**os.environ, "JUDGE_URL": server.url, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    with wire_server(biased(choice=slow), limitless=True) as server:
        whole = audit("whole.sqlite")
        whole.communicate(timeout=300)
        calls = len(server.judged)
        killed = audit("killed.sqlite")
        while len(server.judged) < calls + calls // 2:
            assert killed.poll() is None
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
        killed.communicate(timeout=60)
        time.sleep(1)
        before = len(server.judged) - calls
        rest = audit("killed.sqlite")
        rest.communicate(timeout=300)
        after = len(server.judged) - calls - before
        results = json.loads((tmp_path / "calm-audit" / "results.json").read_text())

    assert rest.returncode == whole.returncode == 1, "the bias is found"
    assert calls - before <= after <= calls - before + 64
    assert after < 0.8 * calls
    assert results["findings"]
