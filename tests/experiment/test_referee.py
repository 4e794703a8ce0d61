"""The referee: noise does not flip, an edit does, and asks that cannot matter are not made."""

from random import Random

from calm.core.case import Answer, Case
from calm.experiment.referee import Flip, Terms, rule
from calm.experiment.surfaces import SURFACES, surface


class Table:
    """Answers asks at fixed rates, each number always alike, and counts them."""

    def __init__(self, clean, edited, seed):
        self.rates, self.seed, self.asked = {False: clean, True: edited}, seed, set()

    def __call__(self, asks):
        self.asked |= set(asks)
        return [Random(f"{self.seed} {one.edited} {one.number}").random() < self.rates[one.edited] for one in asks]


def ruled(clean, edited, count, terms):
    """Return the rulings on several pairs of streams."""
    return [rule(Table(clean, edited, seed), terms) for seed in range(count)]


def test_noise_is_no_flip():
    """At a level of .01, 500 pairs that do not differ: more than 20 YES have a probability below one in a million."""
    for rate in (0.05, 0.25, 0.5):
        found = ruled(rate, rate, 500, Terms(level=0.01, noise=0.2))

        assert sum(one.flip is Flip.YES for one in found) <= 20


def test_an_edit_that_flips_is_found():
    """Beside noise of .1 a flip in .9 of the asks is found by most rulings."""
    found = ruled(0.1, 0.9, 200, Terms(noise=0.1))

    assert sum(one.flip is Flip.YES for one in found) > 150


def test_a_sure_judge_is_asked_little():
    """One ask ends it where the edit does nothing; four, against eight clean ones, where it always flips."""
    nothing, flips = Table(0, 0, 1), Table(0, 1, 1)

    assert rule(nothing, Terms()).flip is Flip.NO
    assert len(nothing.asked) == 1
    assert rule(flips, Terms()).flip is Flip.YES
    assert sum(one.edited for one in flips.asked) == 4
    assert sum(not one.edited for one in flips.asked) == 8


def test_a_coin_stays_undecided_or_no():
    """A case on which the judge tosses a coin is not flipped by an edit that leaves it a coin."""
    assert all(one.flip is not Flip.YES for one in ruled(0.5, 0.5, 50, Terms()))


def test_fresh_asks_have_other_numbers():
    """Rulings from another first block on share no ask."""
    early, late = Table(0, 1, 1), Table(0, 1, 1)
    rule(early, Terms())
    rule(late, Terms(), first=50)

    assert not early.asked & late.asked


def test_each_ask_shows_something_else():
    """All surfaces differ; beyond them the words come again with the next repeat index."""
    case = Case("c", "What is it?", (Answer("a", "It is a text."),))
    shown = [surface(case, number) for number in range(2 * len(SURFACES))]

    assert shown[0] == (case, 1)
    assert len({(one.question, ask) for one, ask in shown}) == len(shown)
    assert {ask for _, ask in shown} == {1, 2}
