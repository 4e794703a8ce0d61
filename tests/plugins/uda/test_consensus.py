"""Where the consensus may be biased: found where it is planted, and not where it is not."""

from random import Random

import numpy as np
import pytest

from calm.errors import EstimateError
from calm.plugins.uda import ratings as consensus
from calm.plugins.uda.report import report, table

MODELS = tuple(f"m{i}" for i in range(10))
JUDGES = tuple(f"{chr(97 + i)}-judge" for i in range(10))
GOLD = np.linspace(1000, 1400, 10)


def ratings(seed, *, sharing=0):
    """Return ratings of ten judges with errors of their own; `sharing` of them overrate the same two poor models."""
    rng = Random(seed)
    matrix = GOLD + np.array([[rng.gauss(0, 60) for _ in MODELS] for _ in JUDGES])
    matrix[:sharing, :2] += 600
    return matrix


def told(matrix, *, gold=True):
    """Return the warnings on a matrix."""
    truth = dict(zip(MODELS, GOLD.tolist(), strict=True)) if gold else None
    return consensus.warnings(matrix, JUDGES, MODELS, truth, Random(0))


def test_a_bias_of_most_judges_is_found_against_gold():
    """Seven of ten share a bias: it is measured, and the overrated models are named."""
    found = told(ratings(1, sharing=7))

    assert any(w.startswith("the judges err alike") and "too high for m" in w for w in found)
    assert any("7 of 10 judges lean alike" in w for w in found)


def test_judges_that_err_apart_are_not_accused(subtests):
    """Independent errors raise no warning where there is gold."""
    for seed in range(10):
        with subtests.test(seed=seed):
            assert told(ratings(seed)) == []


def test_a_bias_of_all_judges_is_seen_only_with_gold():
    """All judges share a bias: gold shows it; without gold nothing is found, and that is said."""
    matrix = ratings(2, sharing=10)

    assert any(w.startswith("the judges err alike") for w in told(matrix))
    assert [w for w in told(matrix, gold=False) if "lean alike" in w] == []
    assert any("looks like truth" in w for w in told(matrix, gold=False))


def test_a_majority_that_leans_alike_is_named_without_gold():
    """Six of ten judges against four can be seen without gold, though not who is right."""
    found = told(ratings(3, sharing=6), gold=False)

    assert any(f"6 of 10 judges lean alike ({', '.join(JUDGES[:6])})" in w for w in found)


def test_a_family_of_most_judges_is_named():
    """Names of one family make a majority that is worth a word."""
    judges = [*(f"org/gpt-{i}" for i in range(6)), "claude-x", "qwen-y", "glm-z", "gemini-w"]

    found = consensus.warnings(ratings(4), judges, MODELS, None, Random(0))

    assert any("6 of 10 judges are of one family by name (gpt:" in w for w in found)


def test_shrinking_alone_is_named():
    """Ratings that all move toward the start come nearer to each other and align nobody."""
    matrix = ratings(5)
    gold = dict(zip(MODELS, GOLD.tolist(), strict=True))

    made = report(matrix, 1200 + 0.3 * (matrix - 1200), JUDGES, MODELS, gold=gold, rng=Random(0))

    assert made["change"]["inter_judge_std"] == pytest.approx(-0.7)
    assert made["change"]["relative_std"] == pytest.approx(0)
    assert [w for w in made["warnings"] if "only as all ratings shrank" in w]


def test_alignment_is_not_taken_for_shrinking():
    """Judges pulled toward their mean are reported without that warning, and the table has the figures."""
    matrix = ratings(6)

    made = report(matrix, 0.5 * matrix + 0.5 * matrix.mean(axis=0), JUDGES, MODELS, gold=None, rng=Random(0))

    assert not [w for w in made["warnings"] if "shrank" in w]
    assert "-50.0%" in table(made)
    assert "self-preference" not in table(made)


def test_ratings_that_do_not_vary_have_no_correlation():
    """A judge that rates all alike has None, and no NaN gets into the report."""
    assert consensus.correlation(np.full(4, 1200.0), GOLD[:4]) is None


def test_too_few_judges_or_models_are_refused():
    """One judge has no deviation; three models no test."""
    with pytest.raises(EstimateError, match="expected two judges or more"):
        consensus.inter_judge_std(np.ones((1, 3)))
    with pytest.raises(EstimateError, match="expected two judges and four models"):
        consensus.shared_error(np.ones((2, 3)), np.arange(3.0), MODELS[:3], Random(0))
