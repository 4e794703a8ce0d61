"""Runs of the gate, live and by batch, against a server of batches."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUITES = ("calm.suites.test_authority", "calm.suites.test_bandwagon", "calm.suites.test_sophistication")
SAMPLE = 40
BATCH = ("--calm-batch", "--calm-batch-least=1")
JUDGE = """
[judge]
name = "patient"
task = "pairwise"

[model]
provider = "{provider}"
model = "tiny"
base_url = "{url}"
max_tokens = 50
concurrency = 8
"""


@dataclass(frozen=True)
class Runs:
    """A folder with a judge; its runs share no cache unless they are told to."""

    folder: Path

    @classmethod
    def of(cls, folder: Path, url: str, provider: str = "openai") -> Runs:
        """Write the judge of a server."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "judge.toml").write_text(JUDGE.format(url=url, provider=provider), "utf-8")
        return cls(folder)

    def start(self, *options: str, cache: str = "cache.sqlite") -> subprocess.Popen[str]:
        """Start a run in a session of its own."""
        command = [sys.executable, "-m", "pytest", "--pyargs", *SUITES, "-q", "--tb=short", "-p", "no:cacheprovider"]
        outputs = (f"--calm-cache-file={cache}", "--calm-results=results.json", f"--calm-sample={SAMPLE}")
        return subprocess.Popen(
            [*command, "--calm-judge=judge.toml", *outputs, *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def whole(self, *options: str, cache: str = "cache.sqlite") -> tuple[dict[str, Any], dict[str, Any]]:
        """Run to the end; return what was found, and what the record says of the run itself."""
        results = self.folder / "results.json"
        results.unlink(missing_ok=True)
        with self.start(*options, cache=cache) as running:
            output, _ = running.communicate(timeout=300)
        assert results.exists(), output
        body = json.loads(results.read_text("utf-8"))
        run = body.pop("run")
        return body, run | {"output": output}
