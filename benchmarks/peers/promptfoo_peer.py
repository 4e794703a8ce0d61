"""The judgments through promptfoo, the prompt as its provider's: PROMPTS.jsonl COUNT IN_FLIGHT URL PROMPTFOO."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from material import JUDGE, prompts

PATH, COUNT, IN_FLIGHT, URL, PROMPTFOO = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
with TemporaryDirectory() as name:
    provider = {"id": "openai:chat:stub-judge", "config": {"apiBaseUrl": URL, "apiKey": "none", "max_tokens": 64}}
    config = {
        "prompts": [JUDGE.replace("{question}", "{{question}}").replace("{answer}", "{{answer}}")],
        "providers": [provider],
        "tests": [
            {"vars": {"question": q, "answer": a}, "assert": [{"type": "contains", "value": "[["}]}
            for q, a in prompts(PATH, COUNT)
        ],
    }
    file = Path(name) / "promptfooconfig.json"
    file.write_text(json.dumps(config), "utf-8")
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": name}
    command = [PROMPTFOO, "eval", "-c", str(file), "-j", IN_FLIGHT, "--no-cache", "--no-table", "--no-progress-bar"]
    done = subprocess.run([*command, "-o", str(Path(name) / "out.json")], env=os.environ | quiet, check=False)
print("judged", COUNT)
sys.exit(done.returncode)
