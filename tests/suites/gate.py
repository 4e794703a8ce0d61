"""Run the gate as a user does, in a process of its own, and read its results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Gate:
    """Exit status, results and output of one run of the shipped suites."""

    status: int
    results: dict
    output: str

    @property
    def failed(self) -> set[str]:
        """The suites in which a claim failed; the claims about all probes together are of no suite."""
        return {f["bias"] for f in self.results["findings"] if f["outcome"] == "FAIL"} - {"run"}

    def outcomes(self) -> dict[str, str]:
        """The outcome of each finding."""
        return {f["key"]: f["outcome"] for f in self.results["findings"]}


WHOLE = ("--pyargs", "calm.suites")


def run_gate(
    judge: str,
    folder: Path,
    *options: str,
    env: dict[str, str] | None = None,
    what: tuple[str, ...] = WHOLE,
    timeout_s: float = 300,
) -> Gate:
    """Return the run of the suites (`what`: the default gate) with a judge, from an empty folder."""
    results = folder / "results.json"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *what, "-v", "--tb=no", "-p", "no:cacheprovider"]
    options = (f"--calm-judge={judge}", f"--calm-results={results}", *options)
    if not any(o.startswith("--calm-cache") for o in options):
        options += ("--calm-cache=off",)
    done = subprocess.run(
        [*command, *options],
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    found = json.loads(results.read_text("utf-8")) if results.exists() else {"findings": []}
    return Gate(done.returncode, found, done.stdout + done.stderr)
