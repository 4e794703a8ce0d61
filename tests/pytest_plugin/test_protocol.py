"""CALM's own protocol, as it ships: asked if it is named, 2+1 asks, and RR with CR for each bias."""

import json

from tests.suites.gate import WHOLE, run_gate

BIASES = {
    "authority",
    "bandwagon",
    "chain-of-thought",
    "compassion-fade",
    "distraction",
    "diversity",
    "fallacy-oversight",
    "position",
    "refinement-aware",
    "sentiment",
    "verbosity",
}
JUDGE = "planted:authority=0.4,noise=0.02"


def test_each_bias_has_its_two_rates_and_the_planted_one_stands_out(tmp_path):
    """RR falls by the dose where the bias is, and nowhere else; CR is that of the same cases; nothing is claimed."""
    gate = run_gate(JUDGE, tmp_path, "--calm-sample=60", what=("--pyargs", "calm.suites.papers"))

    found = {f["bias"]: f for f in gate.results["findings"] if f["measure"] == "robustness_rate"}
    assert set(found) == BIASES
    assert {f["asks"] for f in found.values()} == {"2+1"}
    assert {f["outcome"] for f in found.values()} == {"OBSERVED"}
    assert all(f["consistency_rate"] >= 0.9 for f in found.values())
    assert found["authority"]["robustness_rate"] < 0.75
    assert all(f["robustness_rate"] > 0.85 for bias, f in found.items() if bias != "authority")


def test_self_enhancement_says_why_it_was_not_asked(tmp_path):
    """The bundled cases name no authors: the record says so."""
    papers = ("--pyargs", "calm.suites.papers")
    gate = run_gate(JUDGE, tmp_path, "--calm-sample=20", "-k", "self_enhancement", what=papers)

    [finding] = gate.results["findings"]
    assert finding["outcome"] == "NOT_TESTED"
    assert finding["reason"].startswith("the cases name no authors")
    assert json.dumps(finding["claim"]) == "null"


def test_a_run_of_all_suites_leaves_it_out(tmp_path):
    """Not even all variants bring it in: nothing of it is in the record."""
    options = ("--calm-sample=20", "--calm-every-variant", "-k", "authority or papers")
    gate = run_gate(JUDGE, tmp_path, *options, what=WHOLE)

    assert {f["measure"] for f in gate.results["findings"]} == {"gain", "net_robustness", "worst_gain"}
