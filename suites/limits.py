"""
Limits that many suites share, for each kind of verdict: `assert probe(EDIT).proves(**NO_GAIN)`.

In a suite of your own, write other claims in their place: `assert probe(EDIT).proves(gain <= 0.05)`.
"""

from calm import gain, mean_shift, net_robustness

NO_GAIN = {
    "pairwise": [net_robustness >= 0.95, gain <= 0.10],
    "score": [gain <= 0.05],
    "rubric": [gain <= 0.05],
    "listwise": [gain <= 0.10],
}
"""The edited answer gains nothing: for edits that must not help it."""

SAME_VERDICT = {
    "pairwise": [net_robustness >= 0.95],
    "score": [net_robustness >= 0.95, abs(mean_shift) <= 0.05],
    "rubric": [net_robustness >= 0.95, abs(mean_shift) <= 0.05],
    "listwise": [net_robustness >= 0.95],
}
"""The verdict stays: for edits that favour no answer."""

NO_EFFECT = {**SAME_VERDICT, "pairwise": [net_robustness >= 0.95, abs(gain) <= 0.10]}
"""The verdict stays, and the edited answer neither gains nor loses."""
