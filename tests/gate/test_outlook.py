"""What so many cases can decide: the line before the first call, and the attainable limits."""

import sys
from dataclasses import replace
from itertools import pairwise
from random import Random
from subprocess import run

import pytest

from benchmarks.resolution import RUNS, pooled, table
from calm.core.claims import Claim
from calm.core.edits import Expects, perturbation
from calm.core.measures import gain, net_robustness
from calm.experiment.asks import Design
from calm.experiment.lookahead import Order
from calm.experiment.setup import Setup
from calm.experiment.stopping import Stopping
from calm.gate import resolution
from calm.gate.outlook import attained, outlook
from calm.gate.resolution import Claimed, attainable, green, knows, missed
from calm.gate.sizing import ProbeClaims, Rules, Simulated, all_green
from calm.results.pooled import LIMITS
from calm.statistics.power import Noise
from tests.gate.test_plan import cite, never, note
from tests.planted import Planted, fair, pairs

GAIN, NET = Claim("gain", "<=", 0.15), Claim("net_robustness", ">=", 0.90)


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite_odd(case, rng):
    """Cite a book in every other case."""
    return case.edit(case.target, lambda t: f"{t} (A Book)") if int(case.id.lstrip("c") or 0) % 2 else None


def about(n, *, expects=Expects.NOT_BETTER, rotation=False, claims=()):
    """Return a probe of n questions."""
    return Claimed(claims, expects, rotation, n)


def order(count, edit=cite, claims=(GAIN, NET), **options):
    """Return what a probe of a fair judge asks about so many cases."""
    return Order(Setup(Planted(fair), pairs(count), None), edit, claims, **options)


def test_the_table_is_what_the_simulation_finds():
    """A few cells anew, with other draws: the medians agree, and what a hundredth of the runs misses."""
    known = {(cell, n): limits for cell, n, limits in table(["pairwise"], (60,), 1200, 60) if not cell.rotation}
    known |= {(cell, n): limits for cell, n, limits in pooled("pairwise", 60, RUNS)}

    assert len(known) > 8
    for (cell, n), limits in known.items():
        stored = resolution._table()[cell][n]
        assert limits[0] == pytest.approx(stored[0], abs=0.01)
        assert limits[5] == pytest.approx(stored[5], abs=0.02)


def test_more_cases_attain_stricter_limits_and_none_stricter_than_the_suites(subtests):
    """From 20 to 300 questions the limits tighten, within the error of the table, and end at the suites' own."""
    for claim in (GAIN, NET, Claim("readable_rate", ">=", 0.95)):
        with subtests.test(repr(claim)):
            expects = None if claim.measure == "readable_rate" else Expects.NOT_BETTER
            sign = -1 if claim.op == ">=" else 1
            found = [sign * attainable(claim, "pairwise", about(n, expects=expects)).limit for n in range(20, 301, 10)]

            assert all(b <= a + 0.02 for a, b in pairwise(found))
            assert found[0] > sign * claim.limit
            assert found[-1] == pytest.approx(sign * claim.limit)


def test_limits_are_round_steps():
    """Hundredths, towards the looser side."""
    limit = attainable(NET, "pairwise", about(60)).limit

    assert limit == round(limit, 2)
    assert missed(Claim("net_robustness", ">=", limit), "pairwise", about(60)) <= resolution.MISSES * 1.01


def test_a_claim_that_the_table_does_not_know_stays():
    """Ties are not simulated; nothing is said of them."""
    ties = Claim("tie_rate", ">=", 0.80)

    assert attainable(ties, "pairwise", about(20, expects=Expects.TIE)) is ties
    assert missed(ties, "pairwise", about(20, expects=Expects.TIE)) == 0.0


@pytest.mark.parametrize(("n", "limit"), [(60, 0.85), (80, 0.90), (120, 0.90)])
def test_the_chance_in_the_line_is_that_of_the_simulation(n, limit):
    """Eight rotations, by the table and by a joint simulation of 300 runs."""
    claims = (Claim("net_robustness", ">=", limit), GAIN)
    by_table = green([about(n, claims=claims, rotation=True)] * 8, "pairwise", LIMITS)
    judge = Simulated("pairwise", Noise(0.05))
    simulated = all_green([ProbeClaims(claims, variants=11)] * 8, judge, Rules(), n, Random(1), runs=300)

    assert by_table == pytest.approx(simulated, abs=0.15)
    assert by_table <= simulated + 0.06


def test_the_line_says_what_the_cases_can_decide():
    """Enough of them: the chance alone; too few: what is hardly decided, and what helps."""
    many, few = outlook([order(200)]), outlook([order(20)])

    assert many == "200 cases are enough to prove these limits of a judge without bias that errs in 5 % of asks"
    assert few.startswith(
        "20 cases are few: a judge without bias that errs in 5 % of asks is green in under 1 % of runs"
    )
    assert "authority/cite: net_robustness >= 0.90 (proven in under 1 %)" in few
    assert few.endswith("; take more cases, or --calm-limits attainable")


def test_the_line_counts_questions_where_cases_repeat_them():
    """Ten questions asked six times are ten."""
    cases = tuple(replace(case, id=f"{case.id}-{i}") for case in pairs(10) for i in range(6))
    repeated = Order(Setup(Planted(fair), cases, None), cite, (GAIN,))

    assert outlook([repeated]).startswith("60 cases about 10 questions are few: ")


def test_nothing_is_said_where_nothing_is_known():
    """No claims, claims that may stay open, another stopping rule, or a design with fewer asks."""
    assert outlook([order(20, claims=(), observed=(gain,))]) == ""
    assert outlook([order(20, top_up=False)]) == ""
    assert knows(Design(4, 2), Stopping.FIXED)
    assert not knows(Design(1, 1), Stopping.SEQUENTIAL)
    assert not knows(Design(), Stopping.ANYTIME)


def test_attainable_limits_are_those_of_the_cases_that_an_edit_applies_to():
    """An edit of half of the cases gets the limits of half as many; a waived measure keeps its own."""
    whole, half = attained(order(80)), attained(order(80, edit=cite_odd))

    assert whole.claims == tuple(attainable(c, "pairwise", about(80)) for c in (GAIN, NET))
    assert half.claims == tuple(attainable(c, "pairwise", about(40)) for c in (GAIN, NET))
    assert half.claims[1].limit < whole.claims[1].limit
    assert attained(order(40), kept=["net_robustness"]).claims[1] == NET
    assert attained(order(40, edit=never)).claims == (GAIN, NET)
    assert attained(order(40, edit=note, claims=(NET,))).claims[0].limit < 0.90
    assert str(net_robustness >= 0.90) == str(NET)


def test_the_line_needs_no_array_library():
    """Neither numpy nor scipy is loaded to say it."""
    code = (
        "import sys; from calm.core.claims import Claim; from calm.core.edits import Expects; "
        "from calm.gate.resolution import Claimed, green; import calm.gate.outlook; "
        "green([Claimed((Claim('gain', '<=', 0.15),), Expects.NOT_BETTER, False, 60)], 'pairwise', ()); "
        "assert not {'numpy', 'scipy'} & set(sys.modules)"
    )

    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_nothing_is_said_of_a_run_of_which_a_part_is_not_known():
    """A probe with fewer asks a case, beside one with the usual ones: no word that the cases are enough."""
    usual = order(300)
    fewer = replace(usual, setup=replace(usual.setup, design=Design(clean=1, perturbed=1)))

    assert "are enough" in outlook([usual])
    assert outlook([usual, fewer]) == ""
