"""
The judges of other tools, each in an environment of its own with the newest release of its tool, and a killed audit.

`pytest tests/slow/test_adapters.py` makes the environments (some minutes, two gigabytes) and runs the tests of each
tool there: what its adapter makes of its objects, the judges of the page, and a whole audit against the same judge
written by hand. `CALM_TEST_DEEPEVAL` and the like may name the interpreter of an environment that is there already.

promptfoo is the command on the path, or the one in the folder that `CALM_TEST_PROMPTFOO` names, or is installed by npm.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers import wire_server
from tests.servers.biased import biased, cases_of, score_of, written
from tests.slow.apart import environment

ROOT = Path(__file__).parents[2]
OWN = "tests/slow/adapters"
TOOLS = {
    "autoevals": (["autoevals"], ["tests/plugins/adapters/test_autoevals.py", f"{OWN}/of_autoevals.py"]),
    "deepeval": (["deepeval"], [f"{OWN}/of_deepeval.py", f"{OWN}/of_deepeval_start.py"]),
    "inspect": (["inspect"], ["tests/plugins/adapters/test_inspect.py"]),
    "openevals": (["openevals", "langchain"], [f"{OWN}/of_openevals.py"]),
    "ragas": (["ragas"], [f"{OWN}/of_ragas.py"]),
}
"""The extras of each tool, and the tests that need it."""
MORE = ("langchain-community<0.4.2", "jsonschema", "psycopg[binary]", "pyarrow", "pytest-xdist")
"""What the tests themselves need."""
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


def run(python, files, **more):
    """Run tests in an environment, and return what they said: all passed, and none was left out."""
    done = subprocess.run(
        [
            *(python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-o", "filterwarnings=ignore"),
            *(word for plugin in PLUGINS for word in ("-p", f"no:{plugin}")),
            *files,
        ],
        check=False,
        cwd=ROOT,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
    )
    print(done.stdout[-300:])

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_in_an_environment_of_its_own(tool, tmp_path):
    """The tests of its adapter, of the page, and of whole audits, with its newest release."""
    extras, files = TOOLS[tool]
    packages = ["-e", f"{ROOT}[{','.join(extras)}]", *MORE]
    python = environment(f"CALM_TEST_{tool.upper()}", tmp_path / "venv", *packages)

    run(python, [*files, f"{OWN}/of_the_page.py"], CALM_TEST_TOOLS=",".join(extras))


def test_promptfoo(tmp_path):
    """Its own command grades the answers."""
    place = os.environ.get("CALM_TEST_PROMPTFOO")
    if place is None and shutil.which("promptfoo") is None:
        subprocess.run(["npm", "install", "--silent", "--prefix", str(tmp_path), "promptfoo"], check=True)
        place = str(tmp_path / "node_modules" / ".bin")

    run(sys.executable, [f"{OWN}/of_promptfoo.py"], PATH=os.pathsep.join(filter(None, [place, os.environ["PATH"]])))


def test_a_killed_audit_of_a_tool_pays_for_nothing_twice(tmp_path):
    """After kill -9 the second run asks what is left: both ask no more than one run, and what was under way."""
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
