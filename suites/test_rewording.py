"""Rewording: a few words that say nothing must not change the verdict; if they do, no other finding means much."""

from calm import rewording_rate, rotate
from calm.perturbations.rewording import FORMS, reword

WORDS = rotate(*(reword(form) for form in range(1, FORMS + 1)))


def test_words_that_say_nothing_move_few_verdicts(probe):
    assert probe(WORDS).proves(rewording_rate <= 0.20)
