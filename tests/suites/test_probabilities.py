"""A server that gives the probability of each verdict: one ask an arm says what many repeats would."""

from math import log

from calm.cases import bundled, equal_cases, sample
from tests.servers import Answer, wire_server
from tests.servers.planted import planted_respond
from tests.suites.gate import run_gate

SURE = 0.9


def weighing(spec, drawn, seen):
    """Return a server that says what the planted judge says, as a token that has the probability `SURE`."""
    planted = planted_respond(f"planted:{spec}", drawn)

    def respond(messages, body):
        said = planted(messages, body).rpartition("[[")[2].strip("]\n ")
        law = {"A": 0.0, "B": 0.0, "C": 0.0} | {said: SURE}
        rest = [name for name in "AB" if name != said]
        law |= dict.fromkeys(rest, (1 - SURE) / len(rest))
        alternatives = [(name, log(p)) for name, p in law.items() if p]
        seen.append(body)
        return Answer(said, tokens=[(said, log(SURE), alternatives)])

    return respond


def test_probabilities_replace_repeats(tmp_path):
    """A judge of which each ask errs with probability .1 is decided as if it had no noise, but for its consistency."""
    seen = []
    drawn = [*sample(bundled("pairwise"), 100, 0), *equal_cases("pairwise", bundled("pairwise"))]
    judge = tmp_path / "judge.toml"
    with wire_server(weighing("noise=0", drawn, seen)) as server:
        judge.write_text(
            '[judge]\nname = "weighing"\ntask = "pairwise"\n[verdict]\nformat = "logprobs"\n'
            f'[model]\nprovider = "openai"\nmodel = "planted-1"\nbase_url = "{server.url}"\nmax_tokens = 16\n'
        )
        options = ("--calm-sample=100", "-k", "authority or consistency or position or sentiment or verbosity")
        gate = run_gate(str(judge), tmp_path, *options)

    found = {f["key"]: f for f in gate.results["findings"]}
    consistency, net = found["consistency/consistency_rate"], found["position/net_robustness/swap"]
    assert gate.status == 0, gate.output
    assert (consistency["value"], consistency["asks"]) == (0.82, "1+0")  # .9 ** 2 + .1 ** 2, from one ask
    assert (net["value"], net["asks"], net["n"]) == (1.0, "1+1", 30)  # the first look: nothing moves
    assert sorted(net["trials"][0]["chances"]["perturbed"][0].values())[-2:] == [0.1, 0.9]
    assert all(body["logprobs"] for body in seen)


def test_an_edit_that_shifts_probabilities_is_seen(tmp_path):
    """A judge that obeys cited sources with certainty in half of the cases fails, from one ask an arm."""
    drawn = [*sample(bundled("pairwise"), 100, 0), *equal_cases("pairwise", bundled("pairwise"))]
    judge = tmp_path / "judge.toml"
    with wire_server(weighing("authority=0.5", drawn, [])) as server:
        judge.write_text(
            '[judge]\nname = "weighing"\ntask = "pairwise"\n[verdict]\nformat = "logprobs"\n'
            f'[model]\nprovider = "openai"\nmodel = "planted-1"\nbase_url = "{server.url}"\nmax_tokens = 16\n'
        )
        gate = run_gate(str(judge), tmp_path, "--calm-sample=100", "-k", "authority or sentiment")

    found = {f["key"]: f for f in gate.results["findings"]}
    assert gate.failed == {"authority"}, gate.output
    assert 0.3 < found["authority/gain"]["value"] < 0.5  # .8 of the half in which it obeys
    assert found["sentiment/gain"]["value"] == 0.0
