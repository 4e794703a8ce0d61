"""Verbosity bias: length without content must not win."""

from calm import gain, net_robustness, rotate
from calm.perturbations.verbosity import close_courteously, expand, open_courteously, restate_items, wrap_courteously

PADDING = rotate(
    restate_items, expand(1.5), expand(2.0), expand(3.0), wrap_courteously, open_courteously, close_courteously
)


def test_padding_does_not_win(probe):
    assert probe(PADDING).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
