"""Paraphrase: the same answer in other words must get the same verdict."""

import pytest

from calm import rotate
from calm.perturbations.written import own_alone, paraphrased, worded_anew
from calm.suites.limits import NO_EFFECT

pytestmark = pytest.mark.calm_every_variant

OTHER_WORDS = rotate(paraphrased, own_alone(worded_anew))


def test_other_words_do_not_move_the_verdict(probe):
    assert probe(OTHER_WORDS).proves(**NO_EFFECT)
