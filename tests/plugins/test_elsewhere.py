"""Commands run on a Python without what other systems lack; `tests/slow/test_portable.py` runs all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from calm.plugins.watch.history import read_history

ROOT = Path(__file__).parents[2]
CODE = """
import sys
from calm.commands.cli import main

commands = (
    "perturb authority.cite_book",
    "cases generate --task pairwise --count 8 --seed 5 -o made.jsonl",
    "lint prompt.jinja --task pairwise --fail-on error",
    "watch planted:noise=0.05 --cases made.jsonl --history runs.jsonl",
    "watch planted:noise=0.05 --cases made.jsonl --history runs.jsonl",
)
print([main(command.split()) for command in commands], file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the other systems are played on Linux")
def test_commands_run_on_another_system(tmp_path):
    """They end well, and a history grows."""
    (tmp_path / "prompt.jinja").write_text(
        "{{ question }}\n{% for one in answers %}{{ one.label }}: {{ one.text }}\n{% endfor %}Say [[A]] or [[B]].\n",
        "utf-8",
    )
    path = os.pathsep.join([str(ROOT / "tests" / "slow" / "systems" / "windows"), str(ROOT)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "cp1252"}

    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        check=False,
        timeout=120,
        start_new_session=True,
    )

    assert done.stderr.endswith(b"[0, 0, 0, 0, 0]\n"), done.stderr
    assert len(read_history(tmp_path / "runs.jsonl").runs) == 2
