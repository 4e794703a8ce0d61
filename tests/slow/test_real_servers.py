"""
A real model server, and a model with a bias that is known: what is measured is what the model itself says.

See docs/how-to/test-against-real-servers.md for what has to be installed; without it the tests are skipped.
"""

import json
import math
import os
import socket
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import pytest

from calm.engine.store import prompt_in

NEEDED = ("llama_cpp", "gguf", "tokenizers", "jax", "optax")
NOUNS = ("river", "city", "planet", "metal", "poem", "engine", "tree", "island")
ASKS = 60

JUDGE = """
[judge]
name = "tiny"
task = "pairwise"

[model]
provider = "openai"
model = "tiny"
base_url = "{url}"
temperature = 1.0
max_tokens = 4
concurrency = 4
timeout_s = 120
extra_body = {extra}

[prompt]
user = "A: {{{{ answers[0].text }}}}\\nB: {{{{ answers[1].text }}}}"

[verdict]
format = "{form}"
"""

SUITE = """
from calm import Expects, gain, perturbation, robustness_rate, consistency_rate

SOURCES = (" (Nature, 2021)", " (Harvard, 2019)", " (WHO, 2020)")


@perturbation(bias="citing", expects=Expects.NOT_BETTER)
def cite(case, rng):
    \"\"\"Cite a source in the weaker answer.\"\"\"
    return case.edit(case.target, lambda text: text + rng.choice(SOURCES))


def test_a_source_wins(probe):
    found = probe(cite).observe(gain, robustness_rate)
    assert found[gain].value > 0.3


def test_the_judge_has_noise(probe):
    assert 0.85 < probe().observe(consistency_rate)[consistency_rate].value < 1.0
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with the trained model; CALM_TINY_MODEL names one that is there already."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: see docs/how-to/test-against-real-servers.md")
    if os.environ.get("CALM_TINY_MODEL"):
        return Path(os.environ["CALM_TINY_MODEL"])
    folder = tmp_path_factory.mktemp("model")
    script = Path(__file__).with_name("tiny_model.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, timeout=1800)
    return folder


@pytest.fixture(scope="module")
def server(model):
    """The URL of llama.cpp's server with that model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model / "tiny.gguf"), "--model_alias", "tiny"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--n_ctx", "512", "--logits_all", "true"]
    url = f"http://127.0.0.1:{port}/v1"
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            until = monotonic() + 120
            while True:
                try:
                    urlopen(f"{url}/models", timeout=5).close()
                    break
                except OSError:
                    assert running.poll() is None
                    assert monotonic() < until, "the server did not start"
                    sleep(0.2)
            yield url
        finally:
            running.terminate()


def run(folder, url, *, form="last-line", extra="{ top_k = 0, min_p = 0.0 }"):
    """Ask all cases through the gate and return findings by measure, with the prompts that were shown."""
    cases = [
        {"id": noun, "question": f"Which {noun}?", "better": "good", "answers": [
            {"id": "good", "text": f"a good {noun}"}, {"id": "bad", "text": f"a bad {noun}"}]}
        for noun in NOUNS
    ]  # fmt: skip
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    (folder / "judge.toml").write_text(JUDGE.format(url=url, form=form, extra=extra))
    (folder / "test_citing.py").write_text(SUITE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    options = ("--calm-judge=judge.toml", "--calm-cases=cases.jsonl", f"--calm-repeats={ASKS}+{ASKS}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--calm-results=results.json", "--calm-cache-file=cache.sqlite"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert (folder / "results.json").exists(), done.stdout + done.stderr
    findings = json.loads((folder / "results.json").read_text())["findings"]
    return {f["measure"]: f for f in findings}, done


def prompts(folder):
    """Return the pairs of answers that were shown, as the truth names them."""
    db = sqlite3.connect(folder / "cache.sqlite")
    rows = {prompt_in(json.loads(request))[-1].text for (request,) in db.execute("select request from reply")}
    db.close()
    return {text.removeprefix("A: ").replace("\nB: ", "|") for text in rows}


def expected(model, folder):
    """Return what consistency and robustness of the model are, from its own probabilities of what was shown."""
    truth = json.loads((model / "truth.json").read_text())
    shown = prompts(folder)
    clean = {pair.split()[2].partition("|")[0]: pair for pair in shown if "(" not in pair}
    cited = {pair.split()[2].partition("|")[0]: pair for pair in shown if "(" in pair}
    consistency = [truth[p] ** 2 + (1 - truth[p]) ** 2 for p in clean.values()]
    robustness = [
        truth[clean[n]] * truth[cited[n]] + (1 - truth[clean[n]]) * (1 - truth[cited[n]]) for n in clean
    ]  # fmt: skip
    return sum(consistency) / len(consistency), sum(robustness) / len(robustness)


def test_noise_and_bias_are_those_of_the_model(model, server, tmp_path):
    """CR and RR lie within four standard errors of what the model's probabilities say; flips go toward the source."""
    found, done = run(tmp_path, server)
    consistency, robustness = expected(model, tmp_path)
    gained = found["gain"]
    print(f"CR {gained['consistency_rate']:.3f}, expected {consistency:.3f}")
    print(f"RR {gained['robustness_rate']:.3f}, expected {robustness:.3f}; flips {gained['flips']}")

    assert "2 passed" in done.stdout  # and status 1, as nothing is claimed
    error = 4 / math.sqrt(len(NOUNS) * ASKS)
    assert abs(gained["consistency_rate"] - consistency) < error * math.sqrt(consistency * (1 - consistency))
    assert abs(gained["robustness_rate"] - robustness) < error * math.sqrt(robustness * (1 - robustness))
    assert gained["flips"]["toward"] > 5 * gained["flips"]["away"]


def test_a_server_that_cuts_the_tail_off_hides_the_noise(model, server, tmp_path):
    """Without top_k and min_p in extra_body this one does; `calm try --server` warns of it, and this is why."""
    found, _ = run(tmp_path, server, extra="{}")

    consistency, _ = expected(model, tmp_path)
    assert found["consistency_rate"]["value"] > consistency


@pytest.mark.parametrize("form", ["last-line", "logprobs"])
def test_the_table_of_the_server(model, server, tmp_path, form):
    """A real server keeps to what it is told."""
    (tmp_path / "judge.toml").write_text(JUDGE.format(url=server, form=form, extra="{ top_k = 0, min_p = 0.0 }"))

    done = subprocess.run(
        [sys.executable, "-m", "calm", "try", "judge.toml", "--server"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("log-probabilities   ok" in done.stdout) is (form == "logprobs")
