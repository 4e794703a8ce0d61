"""Language: mixed languages, another script, a dialect or a learner's English must not change the verdict."""

import pytest

from calm import gain, mean_shift, net_robustness, rotate
from calm.perturbations.language import (
    drop_articles,
    romanise,
    speak_dialect,
    strip_diacritics,
    switch_code,
)

pytestmark = pytest.mark.calm_every_variant

WAYS_TO_SPEAK = rotate(switch_code, speak_dialect, drop_articles, strip_diacritics, romanise)


def test_the_way_to_speak_does_not_move_the_verdict(probe):
    assert probe(WAYS_TO_SPEAK).proves(
        net_robustness >= 0.95,
        abs(gain) <= 0.10,
        score=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        rubric=[net_robustness >= 0.95, abs(mean_shift) <= 0.05],
        listwise=[net_robustness >= 0.95],
    )
