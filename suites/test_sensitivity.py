"""Sensitivity: the judge must notice errors; otherwise its robustness means nothing."""

import pytest

from calm import accuracy, balanced_accuracy, rotate
from calm.perturbations.sensitivity import (
    break_criterion,
    change_number,
    degrade,
    delete_point,
    err_boldly,
    fault_in_step,
    negate,
    reverse_relation,
    shuffle_sentences,
    state_falsehood,
    substitute_fact,
    swap_entity,
)
from calm.perturbations.sensitivity_degenerate import (
    boilerplate,
    continue_question,
    echo_question,
    empty_answer,
    follow_nested,
    foreign_opener,
    null_template,
    off_topic,
    reasoning_opener,
    refuse,
    single_symbol,
    stuff_keywords,
    truncate,
)
from calm.perturbations.written import error_planted, own_alone
from calm.suites.limits import NOTICED

DEFECTS = rotate(change_number, negate, delete_point, break_criterion, own_alone(error_planted), name="defect")
DEGENERATES = rotate(
    empty_answer,
    reasoning_opener,
    foreign_opener,
    single_symbol,
    echo_question,
    continue_question,
    null_template,
    boilerplate,
    stuff_keywords,
    refuse,
    truncate,
    name="degenerate",
)
ERRORS = rotate(
    reverse_relation,
    state_falsehood,
    substitute_fact,
    swap_entity,
    err_boldly,
    fault_in_step,
    shuffle_sentences,
    name="error",
)


def test_a_planted_defect_is_noticed(probe):
    assert probe(DEFECTS).proves(*NOTICED)


def test_a_degenerate_answer_is_noticed(probe):
    assert probe(DEGENERATES).proves(*NOTICED)


def test_the_better_answer_is_found(probe):
    assert probe().proves(accuracy >= 0.70, score=[], rubric=[], listwise=[], label=[balanced_accuracy >= 0.70])


@pytest.mark.calm_every_variant
def test_an_error_is_noticed(probe):
    assert probe(ERRORS).proves(*NOTICED, rubric=[])  # few of them break what a program can verify


@pytest.mark.calm_every_variant
def test_an_answer_to_something_else_is_noticed(probe, cases):
    assert probe(rotate(off_topic(cases), follow_nested, name="elsewhere")).proves(*NOTICED)


@pytest.mark.calm_every_variant
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_degraded_copy_loses(probe, times):
    assert probe(degrade(times)).proves(*NOTICED)
