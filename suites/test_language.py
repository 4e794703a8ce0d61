"""Language: mixed languages, another script or a learner's English must not change the verdict."""

import pytest

from calm import rotate
from calm.core.languages import NAMES
from calm.perturbations.language import (
    drop_articles,
    mix_scripts,
    native_digits,
    romanise,
    strip_diacritics,
    switch_code,
)
from calm.perturbations.written import written
from calm.suites.limits import NO_EFFECT

pytestmark = pytest.mark.calm_every_variant

TRANSLATED = [written(f"translate_{code}", rule=False) for code in NAMES]
BY_RULE = rotate(switch_code, drop_articles, strip_diacritics, romanise, mix_scripts, native_digits)
WAYS_TO_SPEAK = rotate(BY_RULE, *TRANSLATED)


def test_the_way_to_speak_does_not_move_the_verdict(probe):
    assert probe(WAYS_TO_SPEAK).proves(**NO_EFFECT)
