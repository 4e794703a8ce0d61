"""The page on starting from a metric of deepeval, in an empty folder: its commands, with the plugins that it brings."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from calm.core.releases import install
from tests.docs.pages import DOCS, blocks, section
from tests.servers import wire_server
from tests.servers.biased import weighed

PAGE = DOCS / "how-to" / "start-from-what-you-have.md"
LOG = Path(__file__).parents[2] / "plugins" / "logs" / "deepeval.json"
INSTALL, *COMMANDS = next(block for block in blocks(PAGE, "sh") if "deepeval:" in block).splitlines()
MADE = {
    *("metrics.py", "test_run.json", "cases.jsonl", "cases.recorded.toml", "cases.verdicts.jsonl"),
    *("calm-audit", ".calm"),
}


def longer(messages, body):
    """Score an answer by its length, from 0 to 9."""
    answer = re.search(r"Actual Output:\n(.*?)\n\n", messages[-1][1], re.DOTALL)
    return weighed("", min(9, len(answer[1]) // 12))


def test_a_metric_reaches_a_report_in_three_commands(tmp_path):
    """A whole audit through a server on this machine: the report is there, verbosity is found, nothing else is left."""
    metric = re.search(r"```python\n(.*?)```", section(PAGE, "## A metric of deepeval"), re.DOTALL)[1]
    (tmp_path / "metrics.py").write_text(metric)
    shutil.copy(LOG, tmp_path / "test_run.json")
    said = []
    with wire_server(longer, limitless=True) as server:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("DEEPEVAL", "PYTEST"))},
            "OPENAI_API_KEY": "key-for-a-test-1",
            "OPENAI_BASE_URL": server.url,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        for command in COMMANDS:
            done = subprocess.run(
                shlex.split(command), check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            said.append(done)
        calls = len(server.seen)

    results = json.loads((tmp_path / "calm-audit" / "results.json").read_text("utf-8"))
    shown = "\n".join(one.stdout + one.stderr for one in said)
    assert install("deepeval") == INSTALL
    assert len(COMMANDS) == 2
    assert [one.returncode for one in said] == [0, 1], shown
    assert (tmp_path / "calm-audit" / "report.html").stat().st_size > 0
    assert results["judge"]["name"] == "deepeval:metrics:correctness"
    assert results["run"]["calls"]["made"] == calls > 200
    assert {one["outcome"] for one in results["findings"]} <= {"PASS", "FAIL", "UNDECIDED", "NOT_TESTED"}
    assert {one["bias"] for one in results["findings"]} >= {"verbosity", "authority", "sensitivity", "consistency"}
    assert "teardown" not in shown, "deepeval's plugin prints this"
    assert "Traceback" not in shown
    assert "Warning" not in shown
    assert {path.name for path in tmp_path.iterdir()} - {"__pycache__"} == MADE
