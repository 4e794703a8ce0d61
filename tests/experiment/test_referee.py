"""The referee: noise does not flip, an edit does, and asks that cannot matter are not made."""

from random import Random

from calm.core.case import Answer, Case
from calm.experiment.arms import SURFACES, surface
from calm.experiment.referee import Flip, Stand, Terms, rule, rule_both


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


BOTH = Terms(level=1e-4, most=59, clean_each=1)


def ruled_both(clean, edited, count):
    """Return how many of several pairs of streams end in which way."""
    found = [rule_both(Table(clean, edited, seed), BOTH, Stand()).flip for seed in range(count)]
    return {flip: found.count(flip) for flip in Flip}


def test_a_verdict_stands_only_where_that_is_proven():
    """At a level of .05, of 60 pairs that differ by a third, more than 14 NO have a probability below 1e-6."""
    for clean in (0.0, 0.4):
        assert ruled_both(clean, clean + 1 / 3 + 1e-9, 60)[Flip.NO] <= 14


def test_a_verdict_that_stands_is_no_flip():
    """At a level of .0001, of 100 pairs that do not differ, more than 2 YES have a probability below 1e-6."""
    for rate in (0.05, 0.5):
        assert ruled_both(rate, rate, 100)[Flip.YES] <= 2


def test_most_verdicts_that_stand_are_told_from_those_that_flip():
    """Beside noise of .1 it misses 1 in 100 of either; of 50, more than 10 have a probability below 1e-6."""
    assert ruled_both(0.1, 0.1, 50)[Flip.NO] >= 40
    assert ruled_both(0.1, 0.9, 50)[Flip.YES] >= 40


def test_a_sure_judge_is_asked_little_about_both():
    """Eight asks of each side prove that it stands, seven that it flips; both sides are asked equally often."""
    stands, flips = Table(0, 0, 1), Table(0, 1, 1)

    assert rule_both(stands, BOTH, Stand()).flip is Flip.NO
    assert rule_both(flips, BOTH, Stand()).flip is Flip.YES
    assert [(one.edited, one.number) for one in sorted(stands.asked, key=repr)] == [
        (edited, number) for edited in (False, True) for number in range(8)
    ]
    assert len(flips.asked) <= 16


def test_neither_is_proven_of_what_lies_between():
    """An edit that moves a quarter of the verdicts is mostly left open, which is no NO."""
    found = ruled_both(0.3, 0.55, 40)

    assert found[Flip.UNDECIDED] > 20


def test_a_coin_that_an_edit_settles_does_not_stand():
    """Either way: at a level of .05, of 80 more than 16 that stand have a probability below one in a million."""
    terms = Terms(level=1e-4, most=60, clean_each=1)
    for edited in (0.0, 1.0):
        found = [rule_both(Table(0.5, edited, seed), terms, Stand()) for seed in range(80)]

        assert sum(one.flip is Flip.NO for one in found) <= 16
