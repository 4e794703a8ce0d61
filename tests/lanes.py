"""
The slow lane: what is proven each night, and not at every change.

    .venv/bin/pytest tests/ --slow -n logical     # what is slow, and nothing else
    .venv/bin/pytest tests/ --weigh=new -n logical    # what runs at every change, and list what takes too long there
    .venv/bin/pytest tests/ --weigh -n logical    # both lanes, so that a test comes back that is quick again

Three ways lead there: rows that are marked because other rows of the same test prove the same, tests that need
PostgreSQL, Chromium, a built release or the built site (`OF_LANES` in `conftest.py` names their fixtures), and what
`nightly.txt` lists, because it took too long when it was last weighed.
"""

from pathlib import Path

import pytest


def slow(*values, **about):
    """Return a row of parameters for the slow lane alone; it may be given an `id`."""
    return pytest.param(*values, marks=pytest.mark.slow, **about)


def one_in(share, rows, start=0):
    """Return rows of parameters: one in so many runs at every change, the others in the slow lane."""
    rows = [row if isinstance(row, tuple) else (row,) for row in rows]
    found = [pytest.param(*row) if turn % share == start else slow(*row) for turn, row in enumerate(rows)]
    assert len(found) > start, "expected a row that runs at every change, got none"
    return found


NIGHTLY = Path(__file__).with_name("nightly.txt")
"""The tests that take longer than `LONGEST_S`, by their ids: they run each night, and not at every change."""
LONGEST_S, LONGEST_DENSE_S = 0.6, 2.0
QUICK_S = 4.0
"""What is the quickest of its kind runs at every change, unless it takes longer than this."""
DENSE = ("tests/core/", "tests/experiment/", "tests/gate/test_probe", "tests/judges/test_reading", "tests/statistics/")
"""Tests of what decides: those that `tools.mutation` counts on."""
ALWAYS = (
    "tests/gate/test_default_gate_simulated.py",
    "tests/models/test_streams.py::test_a_run_without_capture_prints_no_credential",
    "tests/plugins/rubrics/test_rubrics.py::test_a_criterion_that_a_claim_meets_is_named_and_no_other",
    "tests/plugins/search/test_curve.py::test_a_biased_judge_is_red_and_a_sound_one_green",
    "tests/plugins/self_preference/test_twins.py::test_a_judge_that_breaks_ties_for_itself_is_red_and_a_fair_one_green",
    "tests/pytest_plugin/test_conservation.py::test_whoever_dies_no_record_is_green[the page-is killed",
    *("tests/papers/", "tests/weight/", "tests/packaging/", "tests/ci/"),
    "tests/suites/test_diagonal.py::test_planted_biases_fail_their_own_suites_and_no_other[score",
    "tests/suites/test_diagonal.py::test_a_sound_judge_with_a_little_noise_passes[1-score-100]",
    "tests/suites/test_over_correction.py::test_a_judge_that_over_corrects_is_red_and_a_sound_one_green",
)
"""How the ids begin of tests that run at every change, however long they take."""


def nightly(seconds):
    """
    Return the ids of the tests for the night, of the tests without a mark by their ids and the seconds that each took.

    The quickest test of a file runs at every change, and so does the quickest row of each test of `DENSE`.
    """
    quickest = {}
    for one in sorted(seconds, key=lambda one: (seconds[one], one)):
        quickest.setdefault(one.partition("[")[0] if one.startswith(DENSE) else one.partition("::")[0], one)
    kept = {one for one in quickest.values() if seconds[one] <= QUICK_S}
    most = {one: LONGEST_DENSE_S if one.startswith(DENSE) else LONGEST_S for one in seconds}
    return sorted(one for one in seconds if seconds[one] > most[one] and one not in kept and not one.startswith(ALWAYS))
