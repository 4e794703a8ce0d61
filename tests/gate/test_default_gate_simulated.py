"""
The whole default gate on two simulated judges: a sound one is green, one with a biased probe FAILs there and nowhere.

The seeds are fixed, and the bias decides twice the share of cases that the claims allow. On other seeds the first would
be red in fewer than 5 of 100, and the second would miss the FAIL in fewer than 1 of 100.
"""

from benchmarks.calibration.conditions import gate_of
from benchmarks.calibration.laws import Bias, Manner, sound


def test_a_sound_judge_is_green_and_a_biased_probe_fails():
    gate = gate_of("pairwise")

    fair = gate.run(sound(gate, "noise .05", 1), 1)
    biased = gate.run(sound(gate, "noise .05", 1, Manner(Bias(probes={"authority": 0.50}))), 1)

    assert fair.green, fair.red
    assert {key.partition("/")[0] for key in biased.failed} - {"run"} == {"authority"}
