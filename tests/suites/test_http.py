"""The gate over real HTTP: the real SDKs against a server on loopback with the planted judge behind it."""

import pytest

from calm.cases import bundled, sample
from tests.lanes import slow
from tests.servers import wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

LABELS = '[labels]\nclasses = ["wrong", "mixed", "right"]\nordered = true\ndamaged = "wrong"\n'


def judge_file(folder, server, *, provider="openai", task="pairwise", more=""):
    """Write a judge.toml for a server and return its path."""
    path = folder / "judge.toml"
    more += LABELS if task == "label" else ""
    path.write_text(
        f'[judge]\nname = "over the wire"\ntask = "{task}"\n'
        f'[model]\nprovider = "{provider}"\nmodel = "planted-1"\nbase_url = "{server.url}"\nmax_tokens = 256\n{more}'
    )
    return str(path)


def over_http(folder, spec, *, provider="openai", task="pairwise", options=()):
    """Return the run of the gate on a planted judge behind a server."""
    drawn = sample(bundled(task), 200, 0)
    with wire_server(planted_respond(f"planted:{spec},task={task}", drawn)) as server:
        return run_gate(judge_file(folder, server, provider=provider, task=task), folder, *options)


FEW = "authority or sentiment or consistency or sensitivity"
PROVIDERS = ("openai", "openai-responses", "anthropic")
WIRES = [("openai", 80, ""), *((provider, 60, FEW) for provider in PROVIDERS[1:])]
WIRES += [slow(provider, size, "") for provider in PROVIDERS for size in (80, 200) if (provider, size, "") != WIRES[0]]


@pytest.mark.parametrize(("provider", "size", "suites"), WIRES)
def test_a_biased_judge_fails_its_suite_through_each_wire_format(tmp_path, provider, size, suites):
    """A judge that falls for cited sources fails the authority suite and no other, whatever SDK asks it."""
    options = (f"--calm-sample={size}", "-k", suites)

    gate = over_http(tmp_path, "authority=0.8,noise=0.02", provider=provider, options=options)

    assert gate.failed == {"authority"}, gate.output
    assert gate.status == 1


SIZE = {"score": 130, "rubric": 40, "label": 130}
"""Cases of a whole gate; a rubric costs four calls an ask."""


@pytest.mark.parametrize(
    ("task", "size", "suites"),
    [("score", 60, "injection or sentiment or consistency"), *(slow(task, SIZE[task], "") for task in SIZE)],
)
def test_outcomes_over_http_equal_those_in_process(tmp_path, task, size, suites):
    """A judge that never errs gets the same outcome for every claim behind the wire as in process."""
    spec = "injection=0.8"
    options = (f"--calm-sample={size}", "-k", suites)

    wire = over_http(tmp_path, spec, task=task, options=options)
    process = run_gate(f"planted:{spec},task={task}", tmp_path, *options)

    assert wire.outcomes() == process.outcomes()
    assert wire.failed == {"injection"}
    assert wire.results["judge"]["served"] == "planted-1"


@pytest.mark.parametrize(("size", "suites"), [(60, FEW), slow(150, "")])
def test_a_sound_judge_passes_over_http(tmp_path, size, suites):
    """A judge without bias and with a little noise passes the gate through HTTP; on few cases it fails nothing."""
    options = (f"--calm-sample={size}", "-k", suites)

    gate = over_http(tmp_path, "noise=0.03,seed=2", options=options)

    assert not gate.failed, gate.output
    assert gate.results["findings"], gate.output
    assert gate.status == 0 or size < 150, gate.output


def test_a_replay_needs_no_key_and_no_server(tmp_path):
    """What was answered once can be decided again by anybody who has the cache."""
    drawn = sample(bundled("pairwise"), 100, 0)
    cache = (f"--calm-cache-file={tmp_path / 'cache.sqlite'}", "--calm-sample=60", "-k", FEW)
    with wire_server(planted_respond("planted:noise=0", drawn), api_key="k-1") as server:
        judge = judge_file(tmp_path, server, more='api_key_env = "GATE_KEY"\n')
        first = run_gate(judge, tmp_path, "--calm-cache=on", *cache, env={"GATE_KEY": "k-1"})

    again = run_gate(judge, tmp_path, "--calm-cache=replay", *cache)

    assert not first.failed, first.output
    assert again.status == first.status, again.output
    assert again.outcomes() == first.outcomes()
    assert again.results["run"]["calls"]["made"] == 0
