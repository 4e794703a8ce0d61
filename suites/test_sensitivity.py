"""Sensitivity: a judge must notice what is wrong, or its robustness means nothing."""

from calm import accuracy, net_detection, rotate
from calm.perturbations.sensitivity import (
    break_criterion,
    change_number,
    delete_point,
    echo_question,
    empty_answer,
    negate,
    reasoning_opener,
    single_symbol,
    truncate,
)

DEFECTS = rotate(change_number, negate, delete_point, break_criterion, name="defect")
DEGENERATES = rotate(empty_answer, reasoning_opener, single_symbol, echo_question, truncate, name="degenerate")


def test_a_planted_defect_is_noticed(probe):
    assert probe(DEFECTS).proves(net_detection >= 0.60)


def test_a_degenerate_answer_is_noticed(probe):
    assert probe(DEGENERATES).proves(net_detection >= 0.60)


def test_the_better_answer_is_found(probe):
    assert probe().proves(accuracy >= 0.70, score=[], rubric=[], listwise=[])
