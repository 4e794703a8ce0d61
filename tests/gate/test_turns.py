"""A cap below the plan: some claims are decided, in the order of their weight, and the others are named."""

import json

import pytest

from calm.core.claims import Claim
from calm.core.edits import Expects, perturbation
from calm.core.reasons import Kind
from calm.engine.money import Caps
from calm.experiment.lookahead import Order
from calm.experiment.setup import Setup
from calm.gate.question import WEIGHT, by_weight, shortage
from calm.results.audit import AGREEMENT, CONTROLS, read
from tests.inside import calm_inside
from tests.planted import Planted, fair, pairs

JUDGE = "planted:formatting=0.9,noise=0.03"
SOME = "consistency or rewording or sensitivity or injection or position or formatting or sentiment or diversity"
OPTIONS = ("--sample", "40", "--cache", "off")
DECIDED = ("PASS", "FAIL")


def edit_of(bias):
    """Return an edit of a bias."""

    @perturbation(bias=bias, expects=Expects.NOT_BETTER)
    def thank(case, rng):
        return case.edit(case.target, lambda text: f"{text} Thank you.")

    return thank


def order(bias):
    """Return what a probe of a bias asks of 20 pairs."""
    return Order(Setup(Planted(fair), pairs(20), None), edit_of(bias), (Claim("gain", "<=", 0.15),))


def test_the_controls_come_first_then_tests_of_ones_own_then_the_biases_by_weight():
    """Whatever the order of the tests; orders of one bias stay as they are."""
    biases = [*CONTROLS, AGREEMENT, "an-own-one", *WEIGHT]
    twice = [order(bias) for bias in (*reversed(biases), "injection")]

    found = by_weight(twice)

    assert list(dict.fromkeys(one.bias for one in found)) == biases
    assert [one for one in found if one.bias == "injection"] == [one for one in twice if one.bias == "injection"]


@pytest.mark.parametrize("caps", [Caps(calls=30), Caps(tokens=10**9, calls=30), Caps(minutes=1e-9, calls=30)])
def test_what_a_cap_leaves_open_is_named_before_anything_is_asked(caps):
    """The first order fits, the second one does not; without a cap, or with one that suffices, nothing is said."""
    some = [order("injection"), order("sentiment")]

    assert "sentiment" in shortage(some, caps)
    assert shortage(some, Caps()) == shortage(some, Caps(calls=10_000)) == ""
    assert not any(one.setup.judge.asked for one in some)


def test_a_capped_run_decides_the_weightiest_claims(tmp_path):
    """Two thirds of the calls decide the controls and several biases as the whole run does; the rest says why not."""
    whole = audited(tmp_path, "whole")
    made = whole.run.calls["made"]
    capped = audited(tmp_path, "capped", "--max-calls", str(2 * made // 3))

    assert capped.run.calls["made"] <= 2 * made // 3
    outcomes = {f.key: f.outcome.value for f in whole.findings}
    decided = [f for f in capped.findings if f.outcome.value in DECIDED and f.bias not in ("run",)]
    assert {f.bias for f in decided} >= {*CONTROLS, "injection", "position"}
    assert all(f.outcome.value == outcomes[f.key] for f in decided)
    left = [f for f in capped.findings if f.outcome.value == "INCOMPLETE"]
    assert {"sentiment", "diversity"} <= {f.bias for f in left}
    assert all(f.reason.has(Kind.CAPPED) for f in left)
    untested = {f.key for f in capped.findings if f.outcome.value == "NOT_TESTED"}
    assert untested <= {f.key for f in whole.findings if f.outcome.value == "NOT_TESTED"}


def audited(folder, name, *options):
    """Audit the planted judge, and return the record; a run that is cut is never green."""
    done = calm_inside(folder, "audit", JUDGE, "-o", name, *OPTIONS, *options, "--", "-k", SOME)
    assert done.returncode == 1, done.stdout + done.stderr
    assert json.loads((folder / name / "results.json").read_text())["outcome"] != "PASS"
    return read(folder / name / "results.json")
