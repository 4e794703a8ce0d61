"""arXiv 2410.02736: identities that hold between its printed tables, through our functions."""

import pytest

from calm.plugins.papers.protocol import (
    ALIGNMENT,
    enhancement_of,
    mean_of,
    share_of,
)
from calm.statistics import calm_errors
from tests.papers.published import by, rows

RATES, ERRORS = by("calm_table4.csv", "judge"), by("calm_table5_errors.csv", "judge")
SENTIMENT = rows("calm_table8_sentiment.csv")
JUDGES = list(RATES)
PRINTED = {"compassion-fade": "Com", "distraction": "Dst"}
"""Columns of Table 4 that are not called by the first letters of a bias."""


def test_sentiment_of_table_4_is_the_mean_of_table_8(subtests):
    """The mean of the eight conditions, within .001: 6 of 6."""
    for judge in JUDGES:
        with subtests.test(judge=judge):
            cells = [share_of({str(n): [float(row[judge])] for n in range(150)}) for row in SENTIMENT]

            assert len(SENTIMENT) == 8
            assert mean_of(cells).value == pytest.approx(float(RATES[judge]["Sen"]), abs=0.001)


def test_the_self_enhancement_error_follows_from_the_printed_means(subtests):
    """y_self / y_other - 1, within what the rounding of both means allows: 6 of 6."""
    for judge in JUDGES:
        with subtests.test(judge=judge):
            row = ERRORS[judge]
            own, others, printed = float(row["y_self"]), float(row["y_other"]), float(row["err_se_pct"])
            record = {"kind": "score", "judges": [{"judge": judge, "published": {"own": own, "received": others}}]}

            assert abs(100 * enhancement_of(record, judge).value - printed) <= rounding(own, others)


def test_the_refinement_error_follows_from_the_printed_means(subtests):
    """y_history / y_refined - 1, within what the rounding of both means allows: 6 of 6."""
    for judge in JUDGES:
        with subtests.test(judge=judge):
            row = ERRORS[judge]
            refined, history, printed = float(row["y_ref"]), float(row["y_ref_history"]), float(row["err_ra_pct"])

            assert abs(100 * calm_errors.refinement_error(refined, history) - printed) <= rounding(history, refined)


def test_the_preprints_errors_are_the_absolute_ones(subtests):
    """|1 - y_self / y_other| has the size of the signed error."""
    for judge in JUDGES:
        with subtests.test(judge=judge):
            row = ERRORS[judge]
            own, others = float(row["y_self"]), float(row["y_other"])

            signed = calm_errors.self_enhancement_error(own, others)

            assert calm_errors.self_enhancement_error(own, others, signed=False) == abs(signed)


OURS = {"ChatGPT": 0.211, "GPT-4-Turbo": 0.065, "GPT-4o": 0.121, "GLM-4": 0.100, "Claude-3.5": 0.086, "Qwen2": 0.115}


def test_the_bias_intensity_of_the_alignment_data_is_ours_alone(subtests):
    """CR minus the mean of the six robustness rates of Table 4; the tables at hand print none to compare it with."""
    for judge in JUDGES:
        with subtests.test(judge=judge):
            row = RATES[judge]

            found = calm_errors.bias_intensity(
                float(row["CR_Al"]), [float(row[PRINTED.get(name, name[:3].title())]) for name in ALIGNMENT]
            )

            assert round(found, 3) == OURS[judge]


def rounding(above, below):
    """Return by how many percent points the ratio may differ, both means being rounded to two decimals."""
    return 100 * ((above + 0.005) / (below - 0.005) - above / below) + 0.005
