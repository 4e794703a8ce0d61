"""Agreement: the judge agrees with the gold labels of the cases beyond chance, and with people as well as people do."""

from calm import (
    accuracy,
    annotator_advantage,
    balanced_accuracy,
    correlation,
    gwet_ac,
    kappa,
    mean_absolute_error,
    mean_error,
    rank_agreement,
    weighted_kappa,
)


def test_the_judge_agrees_with_the_gold_labels(probe):
    assert probe().proves(
        kappa >= 0.40,
        annotator_advantage >= -0.20,
        score=[
            weighted_kappa >= 0.40,
            rank_agreement >= 0.20,
            mean_absolute_error <= 0.30,
            annotator_advantage >= -0.20,
        ],
        listwise=[rank_agreement >= 0.20, annotator_advantage >= -0.20],
    )


def test_how_far_it_agrees_is_on_record(probe):
    probe().observe(
        balanced_accuracy,
        gwet_ac,
        score=[gwet_ac, correlation, mean_error, accuracy],
        rubric=[accuracy, balanced_accuracy, gwet_ac, correlation, mean_error],
        listwise=[accuracy],
        label=[accuracy, balanced_accuracy, gwet_ac, weighted_kappa, rank_agreement, mean_error, mean_absolute_error],
    )
