"""Which share may be decided alone: exact bounds, and the guarantee over the choice of the threshold."""

from random import Random

import pytest
from scipy.stats import beta

from calm.errors import EstimateError
from calm.statistics.calibration import least_without_error, select


def test_the_bound_is_that_of_clopper_and_pearson():
    """By hand for 3 errors of 100 (scipy's Beta quantile)."""
    found = select([1.0] * 100, [1.0] * 3 + [0.0] * 97, [1.0], risk=0.10)

    assert found.chosen.bound == pytest.approx(beta.ppf(0.95, 4, 97), abs=1e-9)


def test_the_least_number_without_an_error():
    """59 cases without an error prove 5 %, 58 do not."""
    assert least_without_error(0.05, 0.05) == 59
    assert select([1.0] * 59, [0.0] * 59, [1.0], risk=0.05).chosen is not None
    assert select([1.0] * 58, [0.0] * 58, [1.0], risk=0.05).chosen is None


def test_the_first_threshold_that_fails_ends_the_search():
    """What lies below it is not looked at, however good it is."""
    sure = [0.9] * 60 + [0.8] * 60 + [0.7] * 10_000
    wrong = [0.0] * 60 + [1.0] * 60 + [0.0] * 10_000

    found = select(sure, wrong, [0.9, 0.8, 0.7], risk=0.05)

    assert found.chosen.threshold == 0.9
    assert [step.threshold for step in found.steps] == [0.9, 0.8]


def test_a_case_that_stands_twice_counts_once():
    """Clusters are the unit: 40 questions asked twice are no 80."""
    names = [k // 2 for k in range(80)]

    assert select([1.0] * 80, [0.0] * 80, [1.0], risk=0.05).chosen is not None
    assert select([1.0] * 80, [0.0] * 80, [1.0], risk=0.05, clusters=names).chosen is None


@pytest.mark.parametrize("shape", ["monotone", "flat", "worst in the middle"])
def test_the_risk_is_kept_over_the_choice_of_the_threshold(shape):
    """
    In 600 samples the chosen threshold breaks its promise in at most 58.

    The promise allows 30 on average; more than 58 come less than once in a million times (binomial).
    """
    rng = Random(5)
    grid = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]
    risks = {
        "monotone": [0.01, 0.03, 0.06, 0.10, 0.2, 0.3],
        "flat": [0.051] * 6,
        "worst in the middle": [0.01, 0.20, 0.01, 0.01, 0.01, 0.2],
    }[shape]
    true = {grid[k]: sum(risks[: k + 1]) / (k + 1) for k in range(6)}
    broken = 0
    for _ in range(600):
        places = [rng.randrange(6) for _ in range(300)]
        found = select([grid[k] for k in places], [float(rng.random() < risks[k]) for k in places], grid, risk=0.05)
        broken += found.chosen is not None and true[found.chosen.threshold] > 0.05

    assert broken <= 58


def test_two_large_questions_that_are_wrong_are_most_of_the_cases():
    """200 of 418 cases are wrong, in 2 of 220 questions: no share of the cases is proven."""
    sizes = [100, 100] + [1] * 218
    names = [place for place, size in enumerate(sizes) for _ in range(size)]
    wrong = [float(name < 2) for name in names]

    found = select([1.0] * 418, wrong, [1.0], risk=0.05, clusters=names)

    assert found.chosen is None
    assert (found.passed.n, found.passed.errors, found.passed.clusters) == (418, 200.0, 220)
    assert found.passed.effective < 3
    assert found.passed.bound > 200 / 418


def test_questions_of_equal_size_count_as_one_case_each():
    """Of 100 questions of 3 cases, 4 are wrong throughout: by hand the bound of 4 of 100, or a little more."""
    names = [k // 3 for k in range(300)]

    found = select([1.0] * 300, [float(name < 4) for name in names], [1.0], risk=0.2, clusters=names)

    exact = beta.ppf(0.95, 5, 96)
    assert exact - 1e-9 <= found.chosen.bound <= exact + 0.005
    assert (found.chosen.effective, found.chosen.n) == (pytest.approx(100), 300)


@pytest.mark.parametrize(
    ("sizes", "weights", "risks"),
    [
        ([1, 10], [0.8, 0.2], [0.0, 0.075]),
        ([1, 20], [0.95, 0.05], [0.0, 0.1]),
        ([1, 4], [0.9, 0.1], [0.0, 0.168]),
        ([1, 2, 3, 4, 5, 6, 7, 8], [1] * 8, [0.009 * k for k in range(1, 9)]),
    ],
)
def test_the_risk_is_of_cases_where_questions_differ_in_size(sizes, weights, risks):
    """
    All cases of a question are right or wrong together, large ones more often: 5.1 to 5.4 % of the cases are wrong.

    So whatever is chosen breaks the promise. In 200 samples of 300 questions that happens in at most 29: the promise
    allows 10 on average, and more than 29 come less than once in a million times (binomial).
    """
    rng = Random(7)
    grid = [1.0, 0.9, 0.8, 0.7]
    broken = 0
    for _ in range(200):
        sure, wrong, names = [], [], []
        for name, kind in enumerate(rng.choices(range(len(sizes)), weights, k=300)):
            error = float(rng.random() < risks[kind])
            for _ in range(sizes[kind]):
                sure.append(rng.choice(grid))
                wrong.append(error)
                names.append(name)
        broken += select(sure, wrong, grid, risk=0.05, clusters=names).chosen is not None

    assert broken <= 29


def test_questions_of_different_size_prove_a_share_too():
    """The bound is of use: a judge wrong in 1 % of 1,500 questions of one to three cases may decide all alone."""
    rng = Random(8)
    names = [name for name in range(1500) for _ in range(rng.randint(1, 3))]

    found = select([1.0] * len(names), [float(name % 100 == 0) for name in names], [1.0], risk=0.05, clusters=names)

    assert found.chosen is not None


@pytest.mark.parametrize(("sure", "wrong", "grid"), [([], [], [1.0]), ([1.0], [], [1.0]), ([1.0], [0.0], [])])
def test_nothing_to_look_at_is_refused(sure, wrong, grid):
    """No item, no error of an item, no threshold."""
    with pytest.raises(EstimateError):
        select(sure, wrong, grid, risk=0.05)
