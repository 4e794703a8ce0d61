"""Where no set passes, the nearest is the one that helps most, if any is better than doing nothing."""

from dataclasses import replace

import pytest

from calm.core.claims import Outcome
from calm.models.pricing import Cost
from calm.plugins.mitigate.report import body
from calm.plugins.mitigate.study import MEASURED, Difference, Figures, MitigationSet, Study, excess, nearest
from calm.results.audit import Limit
from tests.reports.planted_audit import empty, finding

NOTHING = {name: {} for name in MEASURED}


def one(name, outcome, value, *, usd=1.0, calls=1.0, off=0.02):
    """Return the figures of a set with one claim, a gain of at most 0.10, whose bounds are so far off its value."""
    bounds = {} if value is None else {"low": value - off, "high": value + off}
    claim = Limit("<=", 0.10)
    found = finding(measure="gain", claim=claim, outcome=outcome, value=value, accepted=None, **bounds)
    names = () if name == "none" else (name,)
    return Figures(MitigationSet(names, None), empty(findings=(found,)), NOTHING, calls, Cost(usd, ()), ())


def of(*figures, differences=()):
    """Return a study of sets."""
    return Study("j", figures, (), differences)


@pytest.mark.parametrize(
    ("measure", "op", "limit", "value", "share"),
    [
        ("gain", "<=", 0.10, 0.55, 0.5),  # 0.45 of the 0.90 up to 1
        ("gain", "<=", 0.10, 0.05, 0.0),
        ("net_robustness", ">=", 0.95, 0.475, 0.5),  # half of the way down to 0
        ("net_robustness", ">=", 0.95, 0.97, 0.0),
    ],
)
def test_an_excess_is_a_share_of_the_room(measure, op, limit, value, share):
    """How far beyond the limit, of how far one can be."""
    found = excess(finding(measure=measure, claim=Limit(op, limit), value=value))

    assert found == pytest.approx(share)


def test_what_has_no_estimate_has_no_excess():
    """Nothing is made up."""
    assert excess(finding(measure="gain", claim=Limit("<=", 0.1), value=None)) is None


def test_the_nearest_is_better_than_doing_nothing(subtests):
    """Undecided before failed, then the worst excess, then the price; none that the bare judge is not worse than."""
    fail, open_, lost = Outcome.FAIL, Outcome.UNDECIDED, Outcome.INCOMPLETE
    for sets, expected in [
        ([one("none", fail, 0.5), one("swap", fail, 0.3, usd=2), one("cot", fail, 0.4)], "swap"),
        ([one("none", fail, 0.7, usd=2), one("swap", fail, 0.5, usd=3), one("cot", fail, 0.5, usd=1)], "cot"),
        ([one("none", fail, 0.3), one("swap", open_, 0.2, usd=9), one("cot", fail, 0.15)], "swap"),
        ([one("none", fail, 0.47), one("swap", open_, 0.506, usd=9)], None),  # undecided, and worse than nothing
        ([one("none", open_, 0.11), one("swap", open_, 0.2, usd=9)], None),
        ([one("none", fail, 0.2), one("swap", fail, 0.6)], None),
        ([one("none", fail, 0.5), one("swap", fail, 0.45, off=0.1)], None),  # not beyond chance
        ([one("none", open_, 0.08), one("swap", open_, 0.05)], None),  # the bare judge is beyond no limit
        ([one("none", fail, 0.9), one("swap", lost, None)], None),
    ]:
        with subtests.test(expected=expected):
            found = nearest(of(*sets))
            assert (found and found.tried.label) == expected


def test_what_makes_the_judge_less_right_does_not_help():
    """A set that takes the bias away and the accuracy with it is no better than doing nothing."""
    sets = one("none", Outcome.FAIL, 0.5), one("swap", Outcome.FAIL, 0.2)
    less_right = Difference("swap", "accuracy", -0.2, -0.3, -0.1, 60, 0.001, 0.001)
    perhaps = replace(less_right, p_adjusted=0.4)

    assert nearest(of(*sets, differences=(less_right,))) is None
    assert nearest(of(*sets, differences=(perhaps,))).tried.label == "swap"


def test_the_record_names_what_helps_and_nothing_else():
    """The data come first, and the words are made of them."""
    helping = body(of(one("none", Outcome.FAIL, 0.55), one("swap", Outcome.FAIL, 0.28, usd=2)))
    none = body(of(one("none", Outcome.FAIL, 0.28), one("swap", Outcome.FAIL, 0.55, usd=2)))

    assert helping["nearest"]["set"] == "swap"
    assert helping["nearest"]["excess"] == pytest.approx(0.2)
    assert [row["excess"] for row in helping["rows"]] == pytest.approx([0.5, 0.2])
    assert none["nearest"] is None
