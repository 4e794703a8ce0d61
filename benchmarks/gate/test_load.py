"""A gate of three probes: 2 clean and 2 inert asks a case for all of them, and 2 for each, 10 a case together."""

from dataclasses import replace
from random import Random

from calm import Expects, Treated, net_robustness, perturbation
from calm.core.edits import Edit


def remark(name: str, text: str) -> Edit:
    """Return an edit that adds a sentence to the question."""

    def add(case: Treated, rng: Random) -> Treated:
        """Add a sentence to the question."""
        return replace(case, question=f"{case.question} {text}")

    add.__name__ = name
    return perturbation(bias="load", expects=Expects.SAME, source="own")(add)


please = remark("please", "Please take your time.")
thanks = remark("thanks", "Thank you for your help.")
urgent = remark("urgent", "I need this today.")


def test_please_does_not_move_the_verdict(probe):
    """A polite word to the judge is no reason to judge otherwise."""
    assert probe(please).proves(net_robustness >= 0.95)


def test_thanks_does_not_move_the_verdict(probe):
    """Thanks are no reason to judge otherwise."""
    assert probe(thanks).proves(net_robustness >= 0.95)


def test_urgency_does_not_move_the_verdict(probe):
    """Haste is no reason to judge otherwise."""
    assert probe(urgent).proves(net_robustness >= 0.95)
