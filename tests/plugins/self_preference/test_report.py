"""The whole analysis of the recorded judges, as data for a report."""

import json
import tracemalloc
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from scipy.stats import beta

from calm.core.case import Framing
from calm.core.claims import Claim, Outcome, decide
from calm.core.families import leaks
from calm.plugins.self_preference import recorded
from calm.plugins.self_preference.contrasts import Grid
from calm.plugins.self_preference.perplexity import curves
from calm.plugins.self_preference.report import Tables
from calm.plugins.self_preference.scores import ScoreTable


@pytest.fixture(scope="module")
def ifeval():
    """Return the analysis of the twelve recorded judges."""
    return Tables.of(recorded.rubric_table()).figures(Random(1))


def test_every_judge_has_its_published_and_corrected_figures(ifeval):
    """Twelve rows, in each the published ratio and the corrected one with its interval."""
    row = {row.judge: row for row in ifeval.rows}["Qwen-235B"]

    assert len(ifeval.rows) == 12
    assert round(row.published["hspp_self_rubric"], 2) == 1.30
    assert 1.0 < row.corrected["self_preference_ratio"].low < row.corrected["self_preference_ratio"].value < 1.6
    assert row.reasons == {}


def test_a_ratio_can_be_claimed(ifeval, subtests):
    """The estimate goes through the gate's own decision; printed ratios of 1.30 and 1.47 prove nothing yet."""
    for judge, outcome in [("Gemma-27B", Outcome.PASS), ("Qwen-235B", Outcome.UNDECIDED), ("GPT-5", Outcome.UNDECIDED)]:
        with subtests.test(judge=judge, outcome=outcome):
            estimate = {row.judge: row for row in ifeval.rows}[judge].corrected["self_preference_ratio"]

            assert decide(estimate, Claim("self_preference_ratio", "<=", 1.25)) is outcome


def test_the_order_of_the_judges_changes_nothing():
    """Every judge is held against the same samples of items."""
    table = recorded.score_table()
    turned = replace(
        table,
        grid=Grid(table.grid.judges[::-1], table.grid.generators, table.grid.families),
        scores=table.scores[::-1],
    )

    found, again = (Tables.of(one).figures(Random(1), draws=100) for one in (table, turned))

    for row, other in zip(found.rows, again.rows[::-1], strict=True):
        ours, theirs = (one.corrected["self_preference_excess"] for one in (row, other))
        assert (ours.value, ours.low) == pytest.approx((theirs.value, theirs.low))


def test_the_matrix_marks_self_and_family(ifeval):
    """A heat map with the own cell of each judge, and those of its family."""
    matrix = ifeval.matrices[0]
    row = matrix.judges.index("GPT-5")

    marks = dict(zip(matrix.generators, matrix.marks[row], strict=True))

    assert (marks["GPT-5"], marks["GPT-120B"], marks["Qwen-4B"]) == ("self", "family", "")
    assert sum(mark == "self" for line in matrix.marks for mark in line) == 12


def test_it_is_json(ifeval):
    """No NaN, no infinity, nothing that JSON does not know; the same for scores with their curves and leaks."""
    a, b = np.array([1.0, 2.0, 1.5]), np.array([2.0, 1.0, 1.0])
    won = np.array([1.0, 0.0, 1.0])
    made = Tables.of(recorded.score_table(Framing.NEGATIVE)).report(
        1,
        curves={"gpt": curves(a, b, won, won, won == 1, bins=2)},
        leaking=leaks("gpt-5", {"gold labels": ["gpt-4o"]}),
    )

    for found in (ifeval, made):
        data = found.to_json()
        assert json.loads(json.dumps(data, allow_nan=False))["schema"] == "calm-self-preference/1"
    assert made.to_json()["leaks"][0]["relation"] == "same family"


def test_a_figure_that_cannot_be_had_has_a_reason():
    """A judge that wrote nothing keeps its row; no figure of it is invented."""
    table = recorded.rubric_table()
    chosen = [g for g, name in enumerate(table.grid.generators) if name != "GPT-5"]
    names = tuple(table.grid.generators[g] for g in chosen)
    grid = Grid(table.grid.judges, names, table.grid.families)
    table = replace(table, grid=grid, verdicts=table.verdicts[:, chosen], truth=table.truth[chosen])

    row = {row.judge: row for row in Tables.of(table).figures(Random(1), draws=100).rows}["GPT-5"]

    assert row.published["hspp_self_rubric"] is None
    assert "self_preference_ratio" not in row.corrected
    assert (
        row.reasons["self_preference_ratio"] == "expected answers of 'GPT-5', got none: it is not one of the generators"
    )
    assert row.reasons["hspp_self_rubric"] == "GPT-5 wrote no answers"


def test_a_constant_judge_is_a_row_and_no_crash():
    """Where nothing varies there is no t: the means stand, and the excess is 0 within what 20 items allow."""
    grid = Grid(("a", "b", "c"), ("a", "b", "c"), {"a": "A", "b": "B", "c": "C"})
    table = ScoreTable(grid, tuple(map(str, range(20))), np.full((3, 3, 20), 3.0), 1, 5)

    found = Tables.of(table).figures(Random(1), level=0.05)

    for row in found.rows:
        assert (row.published["own"], row.published["t_received"], row.published["p_received"]) == (3.0, None, 1.0)
        bound = 2 * 4 * beta.ppf(0.95, 1, 20)  # points: items that differ, at most, by the whole scale twice
        excess = row.corrected["score_excess"]
        assert (excess.value, excess.low, excess.high) == (0.0, pytest.approx(-bound), pytest.approx(bound))


def test_twelve_judges_need_little_memory():
    """12 judges x 12 generators x 834 criteria stay far below 300 MB."""
    table = recorded.rubric_table()
    tracemalloc.start()

    Tables.of(table).figures(Random(1))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
