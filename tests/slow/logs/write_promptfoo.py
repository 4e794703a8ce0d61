"""Write `promptfoo.json` with the real command: `python -m tests.slow.logs.write_promptfoo FOLDER PROMPTFOO`."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.plugins.logs.desk import CONTEXT, ITEMS, REPEATS

APP = """\
const items = require('./items.json');
module.exports = class {
  id() { return 'desk'; }
  async callApi(prompt, context) { return { output: items.find((i) => i.name === context.vars.name).answer }; }
};
"""
JUDGE = """\
const items = require('./items.json');
const asked = {};
module.exports = class {
  id() { return 'planted-judge'; }
  async callApi(prompt) {
    const item = items.find((i) => prompt.includes(i.answer) && prompt.includes(i.question));
    asked[item.name] = (asked[item.name] || 0) + 1;
    const score = item.said[(asked[item.name] - 1) % item.said.length];
    return { output: JSON.stringify({ reason: 'I compared it.', pass: score === 1, score }) };
  }
};
"""
RUBRIC = "The answer to '{{question}}' says what is expected: {{reference}}"


def main(folder, command):
    """Run an evaluation and leave its results in a folder."""
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        (place / "items.json").write_text(json.dumps([item._asdict() for item in ITEMS]), "utf-8")
        (place / "app.js").write_text(APP, "utf-8")
        (place / "judge.js").write_text(JUDGE, "utf-8")
        tests = [
            {
                "description": item.name,
                "vars": {
                    "name": item.name,
                    "question": item.question,
                    "reference": item.reference,
                    "context": "\n".join(CONTEXT),
                    "person": item.person,
                },
                "assert": [
                    {"type": "llm-rubric", "value": RUBRIC, "provider": "file://judge.js"},
                    {"type": "contains", "value": "e"},
                ],
            }
            for item in ITEMS
        ]
        config = {"prompts": ["{{question}}"], "providers": ["file://app.js"], "tests": tests}
        (place / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
        env = {**os.environ, "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_CONFIG_DIR": work, "HOME": work}
        env |= {"PROMPTFOO_DISABLE_UPDATE": "1"}
        given = ["eval", "-c", "promptfooconfig.json", "-o", "results.json", "--no-cache", "-j", "1"]
        subprocess.run(  # a test that an answer failed is no failure of the run
            [*command, *given, "--repeat", str(REPEATS)], cwd=work, env=env, check=False, capture_output=True
        )
        found = json.loads((place / "results.json").read_text("utf-8"))
    found["metadata"] = {"promptfooVersion": found["metadata"]["promptfooVersion"]}
    (folder / "promptfoo.json").write_text(json.dumps(found) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
