"""What the values of a heat map are."""

from enum import StrEnum


class Unit(StrEnum):
    """The units of the matrices that analyses record; they quote no texts, so a record without texts keeps them."""

    RUBRIC_RATE = "over-estimation rate by rubric"
    MEAN_SCORE = "mean score"
    PAIRS_WON = "share of pairs won"
    CENTRED_ERROR = "score minus true score, centred by row"
    ATTACK_SUCCESS = "attack success rate, net of a clean re-ask"
    ATTACK_GAIN = "gain of the attacked answer"
