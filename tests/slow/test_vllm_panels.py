"""
Panels that answer, discuss and weigh by perplexity, on two real servers: vLLM on the CPU, with models made on the spot.

    pytest tests/slow/test_vllm_panels.py -s     # some minutes; without CALM_VLLM it installs vLLM and torch first

What calm says it took is what the servers counted, and how likely it says answers are is what the models say.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from calm.cases import bundled, sample
from calm.core.edits import Message
from calm.models.likelihood import likelihood_request, likelihood_server, log_perplexity, text_logprobs
from calm.models.server import Server
from tests.planted import engine
from tests.slow.vllm_engine import interpreter, serving, write_model

PRICES = ((1.0, 2.0), (30.0, 40.0))
PANELS = ("peer-rank:b.toml", "discussion:b.toml", "perplexity-panel:b.toml")
JUDGE = """
[judge]
name = "{name}"
task = "pairwise"

[model]
provider = "openai"
model = "{model}"
base_url = "{url}"
max_tokens = 48
temperature = 1.0
timeout_s = 300
price_usd_per_mtok = {{ input = {price[0]}, output = {price[1]} }}
extra_body = {{ structured_outputs = {{ regex = "[a-z ]{{8,24}}\\\\[\\\\[[AB]\\\\]\\\\]" }} }}
"""
"""The expression is a parameter of vLLM alone: so models without sense give reasons, and verdicts."""
FEW = ("--sample=4", "--repeats=2+2")
POSITION = ("--", "--pyargs", "calm.suites.test_position", "-k", "the_order_does_not")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter with vLLM."""
    return interpreter(tmp_path_factory.mktemp("vllm"))


@pytest.fixture(scope="module")
def models(python, tmp_path_factory):
    """Two models that differ by their seed."""
    folder = tmp_path_factory.mktemp("models")
    return [write_model(python, folder / f"tiny-{seed}", seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def urls(python, models):
    """The URLs of two servers."""
    with serving(python, *models) as found:
        yield found


def counted(url):
    """Return what a server counts since it began: requests that it answered, tokens of prompts, tokens of replies."""
    with urlopen(f"{url.removesuffix('/v1')}/metrics", timeout=30) as page:
        lines = page.read().decode().splitlines()
    names = ("vllm:request_success_total", "vllm:prompt_tokens_total", "vllm:generation_tokens_total")
    found = (sum(float(one.rpartition(" ")[2]) for one in lines if one.startswith(f"{name}{{")) for name in names)
    return [int(value) for value in found]


def calm(folder, tried, *more):
    """Return what `calm mitigate` says of one set."""
    command = [sys.executable, "-m", "calm", "mitigate", "judge.toml", f"--try={tried}", *FEW, *more, *POSITION]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    print(done.stdout)
    return done.stdout


@pytest.mark.parametrize("tried", PANELS)
def test_the_bill_is_what_two_real_servers_counted(tmp_path, models, urls, tried):
    """Calls, tokens and dollars, each member by its own price; the plan says no less; the set comes to a result."""
    for name, model, url, price in zip(("judge", "b"), models, urls, PRICES, strict=True):
        (tmp_path / f"{name}.toml").write_text(JUDGE.format(name=name, model=model.name, url=url, price=price))
    before = [counted(url) for url in urls]
    planned = calm(tmp_path, tried, "--plan")
    said = calm(tmp_path, tried)
    took = [[b - a for a, b in zip(one, counted(url), strict=True)] for one, url in zip(before, urls, strict=True)]

    [told] = re.findall(r"took ([\d,]+) calls.*?, ([\d.]+) USD.*; ([\d,]+) tokens in, ([\d,]+) out", said)
    calls, usd, put, got = (float(one.replace(",", "")) for one in told)
    assert [calls, put, got] == [sum(each) for each in zip(*took, strict=True)]
    paid = [(o[1] * price[0] + o[2] * price[1]) / 1e6 for o, price in zip(took, PRICES, strict=True)]
    assert usd == pytest.approx(sum(paid), abs=1e-4)
    [most] = re.findall(r"together.*: ([\d,]+) calls", planned)
    assert float(most.replace(",", "")) >= calls
    rows = {
        row["set"]: row for row in json.loads((tmp_path / "calm-mitigate" / "mitigations.json").read_text())["rows"]
    }
    assert rows.keys() == {"none", tried}
    assert isinstance(rows[tried]["robustness"], float)
    greeted = 2 * (18 + 48) * 40 / 1e6  # the set's own cost is without the greetings, which are short
    assert rows[tried]["usd"] == pytest.approx(sum(paid), abs=greeted)
    if tried != PANELS[1]:
        assert rows[tried]["calls_per_verdict"] == 2
        [shares] = re.findall(r"member 1 \(judge\) ([\d.]+), member 2 \(b\) ([\d.]+)", said)
        assert sum(map(float, shares)) == pytest.approx(1, abs=0.011)


def test_answers_are_as_likely_as_the_model_itself_says(python, models, urls):
    """By vLLM through calm, and by torch in another process: to a thousandth of a nat; other scripts, too."""
    cases = sample(bundled("pairwise"), 4, 0)
    pairs = [(case.question, answer.text.strip()) for case in cases for answer in case.answers]
    pairs += [("Wie groß?", "So groß wie 漢字 🙂 und naïf."), ("Again?", "Again? Again? Again?")]
    for model, url in zip(models, urls, strict=True):
        script = Path(__file__).with_name("vllm_truth.py")
        done = subprocess.run(
            [str(python), str(script), str(model)], input=json.dumps(pairs), capture_output=True, text=True, check=True
        )
        server = likelihood_server(Server("openai", model.name, base_url=url))
        requests = [(likelihood_request(server, (Message("user", q),), a), 1) for q, a in pairs]

        with engine() as running:
            replies = running.generate(requests)

        found = [log_perplexity(text_logprobs(r.reply.tokens, a)) for r, (_, a) in zip(replies, pairs, strict=True)]
        truth = json.loads(done.stdout)
        print(model.name, [f"{one:.4f} {other:.4f}" for one, other in zip(found, truth, strict=True)])
        assert found == pytest.approx(truth, abs=1e-3)
