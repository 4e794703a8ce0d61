"""Bounds of a mean over items that come in clusters: known values, what must hold of all, coverage and power."""

from math import fsum, sqrt
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calm.errors import EstimateError
from calm.statistics.intervals import clustered_t, grouped_t, padded_t

VALUES = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])
GROUPS = st.lists(st.lists(VALUES, min_size=1, max_size=6), min_size=2, max_size=40)


def parted(groups):
    """Return the sums and the sizes of groups."""
    return [fsum(group) for group in groups], [len(group) for group in groups]


@given(st.lists(VALUES, min_size=2, max_size=60))
@settings(max_examples=60, deadline=None)
def test_clusters_of_one_are_items(values):
    """Bit for bit."""
    assert grouped_t([[value] for value in values], -1, 1, 0.05) == padded_t(values, -1, 1, 0.05)


@given(st.lists(VALUES, min_size=2, max_size=60), st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_items_that_always_move_together_are_one(values, size):
    """Nothing is gained by asking for the same again."""
    found = grouped_t([[value] * size for value in values], -1, 1, 0.05)

    assert found == pytest.approx(padded_t(values, -1, 1, 0.05), abs=1e-9)


@pytest.mark.parametrize("sizes", [[4] * 50, [1, 2, 4, 10] * 12])
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_where_nothing_varies_the_bound_is_that_of_as_many_items_as_clusters(sizes, value):
    """Whatever their sizes: nothing tells that the items of one say more than one does."""
    found = grouped_t([[value] * size for size in sizes], 0, 1, 0.05)

    assert found == pytest.approx(padded_t([value] * len(sizes), 0, 1, 0.05), abs=1e-9)


@given(GROUPS)
@settings(max_examples=100, deadline=None)
def test_what_tells_how_items_move_makes_no_interval_wider(groups):
    """Bounds hold the mean, and lie within those of items that are taken to move together, where sums show any move."""
    sums, sizes = parted(groups)
    assume(any(abs(one * sum(sizes) - fsum(sums) * size) > 0.1 for one, size in zip(sums, sizes, strict=True)))
    low, high = grouped_t(groups, -1, 1, 0.05)
    least, most = clustered_t(sums, sizes, -1, 1, 0.05)

    assert least - 1e-9 <= low <= fsum(sums) / sum(sizes) + 1e-9
    assert most + 1e-9 >= high >= fsum(sums) / sum(sizes) - 1e-9


@given(GROUPS)
@settings(max_examples=60, deadline=None)
def test_turned_values_turn_the_bounds(groups):
    """Neither end is better than the other."""
    low, high = grouped_t(groups, -1, 1, 0.05)

    assert grouped_t([[-value for value in group] for group in groups], -1, 1, 0.05) == pytest.approx((-high, -low))


def test_a_worked_example():
    """
    Four clusters of two, of values in [0, 1] at .05: rows 1 0, 0 0, 0 0, 1 1; mean .375, cluster means .5, 0, 0, 1.

    About the mean the squares are .625^2 or .375^2, in all 1.875; pairs of a cluster: -.234, .141, .141, .391, twice
    .438 in all. The pseudo-item above counts w 2 .625^2 = .935, so r = (.875 + .935) / (1.875 + .935) = .644 and it
    lies at .375 + .625 sqrt(1.644 / 2) = .942; that below counts .337, r = .548, and lies at .375 - .375 sqrt(.774).
    """
    n, t, w = 4, 2.35336, 1.19651

    def bound(end, sign):
        size = n + w
        mean = (1.5 + w * end) / size
        return mean + sign * t * sqrt(((1.25 + w * end**2) / size - mean**2) / (size - 1))

    low, high = grouped_t([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], 0, 1, 0.05)

    assert high == pytest.approx(bound(0.9417, 1), abs=2e-4)
    assert low == pytest.approx(bound(0.0451, -1), abs=2e-4)


def test_sums_sizes_and_squares_belong_together(subtests):
    """As many of each, and two clusters at least."""
    for call in (
        lambda: clustered_t([1.0, 0.0], [1], 0, 1, 0.05),
        lambda: clustered_t([1.0, 0.0], [2, 2], 0, 1, 0.05, squares=[1.0]),
        lambda: grouped_t([[1.0, 0.0]], 0, 1, 0.05),
    ):
        with subtests.test(call=call), pytest.raises(EstimateError, match="expected"):
            call()


def sampled(rng, sizes, correlation, rate):
    """Return yes-or-no rows: in a share of the clusters all say the same, in the others each speaks for itself."""
    return [
        [float(rng.random() < rate)] * size
        if rng.random() < correlation
        else [float(rng.random() < rate) for _ in range(size)]
        for size in sizes
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("sizes", "correlation", "rate"),
    [
        ([4] * 42, 0.2, 0.05),
        ([10] * 40, 0.5, 0.05),
        ([2] * 60, 0.0, 0.3),
        ([1] * 36 + [10] * 4, 1.0, 0.3),  # a tenth of the questions have half of the rows
    ],
)
def test_the_upper_bound_covers_the_mean(sizes, correlation, rate, seed):
    """
    The bound misses in one of twenty samples, whatever the sizes.

    600 samples miss 5 % = 30, sd 5.3, and more than 60 in fewer than 1 of 10^6 runs (binomial: 3e-7).
    """
    rng = Random(seed)

    missed = sum(grouped_t(sampled(rng, sizes, correlation, rate), 0, 1, 0.05)[1] < rate for _ in range(600))

    assert missed <= 60


def test_a_pull_that_42_questions_of_4_pairs_show_is_disproven():
    """
    A pull of -.22 from rows of -1/2 and 0 with correlation .1, against a limit of .10.

    Disproven in more than .965 of samples; with pseudo-items at -1 and 1 it would be in .87. Of 600 samples fewer than
    550 are disproven in fewer than 1 of 10^6 runs (binomial: 1e-8).
    """
    rng = Random(0)

    def sample():
        return [[-value / 2 for value in group] for group in sampled(rng, [4] * 42, 0.1, 0.44)]

    assert sum(grouped_t(sample(), -1, 1, 0.05)[1] < -0.10 for _ in range(600)) >= 550
