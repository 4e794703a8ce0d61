"""Judges that share a lean: found where it is planted, and not where it is not."""

from random import Random

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from calm.plugins.uda import ratings as module
from calm.plugins.uda.ratings import clustered, leans

MODELS = tuple(f"m{i}" for i in range(9))
LEAN = np.array([1, 1, -1, 0, 0, 0, -1, 0.5, -0.5])


def ratings(seed, judges, *, shared=0.0, noise=40.0):
    """Return ratings of judges with noise of their own; the first two share a lean."""
    rng = Random(seed)
    truth = np.array([rng.gauss(1200, 100) for _ in MODELS])
    matrix = truth + np.array([[rng.gauss(0, noise) for _ in MODELS] for _ in range(judges)])
    matrix[:2] += shared * LEAN
    return matrix


def found(matrix):
    """Return what is found in ratings of judges j0, j1, ..."""
    return clustered(matrix, [f"j{j}" for j in range(len(matrix))], MODELS, Random(0))


@pytest.mark.parametrize("judges", [5, 6])
def test_two_judges_with_one_lean_are_a_cluster(judges):
    """They are named, with what they favour and mark down; the independent judges are in no cluster."""
    (one,) = found(ratings(4, judges, shared=250.0)).found

    assert one.judges == ("j0", "j1")
    assert one.p <= 0.05
    assert {"m0", "m1"} <= set(one.favours)
    assert {"m2", "m6"} <= set(one.marks_down)
    assert one.lean["m0"] > 100


def test_independent_judges_are_seldom_a_cluster():
    """Of 60 data sets without a shared lean at most one in twenty may have a cluster; above 9 of 60: 1 in 1000."""
    seen = [found(ratings(seed, 3 + seed % 3)) for seed in range(60)]

    assert sum(bool(one.found) for one in seen) <= 9
    assert all(one.cut >= one.chance for one in seen)


def test_two_judges_against_two_are_told_as_two_camps():
    """With as many judges on either side, both lean against the median, and each names the other."""
    camps = found(ratings(4, 4, shared=300.0, noise=10.0)).found

    assert {one.judges for one in camps} == {("j0", "j1"), ("j2", "j3")}
    assert all(one.against == other.judges for one, other in zip(camps, camps[::-1], strict=True))


def test_leans_and_the_tree_are_those_of_numpy_and_scipy():
    """The leans are residuals of least squares on the median; the clusters those of scipy at the cut."""
    matrix = ratings(1, 5, shared=250.0)
    rows = (matrix - matrix.mean(axis=1, keepdims=True)) / matrix.std(axis=1, keepdims=True)
    middle = np.median(rows, axis=0)
    left = [row - np.polyval(np.polyfit(middle, row, 1), middle) for row in rows]
    near = np.corrcoef(left)

    got = found(matrix)

    assert leans(matrix) == pytest.approx(np.array(left))
    assert [[got.correlations[a][b] for b in got.correlations] for a in got.correlations] == [
        pytest.approx(row) for row in near.tolist()
    ]
    flat = fcluster(linkage((1 - near)[np.triu_indices(5, 1)], "average"), 1 - got.cut, criterion="distance")
    assert [j for j in range(5) if flat[j] == flat[0]] == [0, 1]


def test_too_few_judges_or_models_have_no_figures():
    """Two judges, or four models, say nothing of shared leans."""
    assert found(ratings(1, 2)).cut is None
    assert clustered(ratings(1, 4)[:, :4], "abcd", MODELS[:4], Random(0)).to_json()["found"] == []


def test_a_judge_that_says_tie_to_all_leans_nowhere():
    """Ratings that do not vary have a lean of 0 and no correlation with anything."""
    matrix = ratings(3, 4)
    matrix[0] = 1200.0

    assert leans(matrix)[0] == pytest.approx(0)
    assert set(found(matrix).correlations["j0"].values()) == {0.0}


def test_shuffles_in_small_parts_are_the_same_ones(monkeypatch):
    """How many are held at once changes no figure."""
    matrix = ratings(4, 7, shared=250.0)
    whole = found(matrix)
    monkeypatch.setattr(module, "TOGETHER", 400)

    assert found(matrix) == whole
