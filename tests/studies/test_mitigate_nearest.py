"""Where no set passes, the nearest is the one that loses least."""

import pytest

from calm.core.claims import Outcome
from calm.models.pricing import Cost
from calm.results.audit import Limit
from calm.studies.mitigate.nearest import excess, nearest
from calm.studies.mitigate.report import body, conclusion
from calm.studies.mitigate.study import MEASURED, Figures, MitigationSet, Study
from tests.reports.planted_audit import empty, finding

NOTHING = {name: {} for name in MEASURED}


def one(name, outcome, value, *, usd=1.0, calls=1.0):
    """Return the figures of a set with one claim: a gain of at most 0.10."""
    found = finding(measure="gain", claim=Limit("<=", 0.10), outcome=outcome, value=value, accepted=None)
    names = () if name == "none" else (name,)
    return Figures(MitigationSet(names, None), empty(findings=(found,)), NOTHING, calls, Cost(usd, ()), ())


def of(*figures):
    """Return a study of sets."""
    return Study("j", figures, (), ())


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


def test_the_nearest_is_what_loses_least(subtests):
    """Undecided before failed, then the worst excess, then the price; missing data last."""
    fail, open_, lost = Outcome.FAIL, Outcome.UNDECIDED, Outcome.INCOMPLETE
    for sets, expected in [
        ([one("none", fail, 0.5), one("swap", fail, 0.3, usd=2), one("cot", fail, 0.4)], "swap"),
        ([one("none", fail, 0.5, usd=2), one("swap", fail, 0.5, usd=3), one("cot", fail, 0.5, usd=1)], "cot"),
        ([one("none", fail, 0.11), one("swap", open_, 0.2, usd=9)], "swap"),
        ([one("none", open_, 0.11), one("swap", open_, 0.2, usd=9)], "swap"),
        ([one("none", fail, 0.2), one("swap", fail, 0.6)], "none"),
        ([one("none", fail, 0.9), one("swap", lost, None)], "none"),
    ]:
        with subtests.test(expected=expected):
            assert nearest(of(*sets)).tried.label == expected


def test_the_terminal_and_the_record_say_the_same():
    """The data come first, and the words are made of them."""
    study = of(one("none", Outcome.FAIL, 0.55), one("swap", Outcome.FAIL, 0.28, usd=2))

    found = body(study)

    assert found["nearest"]["set"] == "swap"
    assert found["nearest"]["excess"] == pytest.approx(0.2)
    assert [row["excess"] for row in found["rows"]] == pytest.approx([0.5, 0.2])
    assert found["said"] == conclusion(study)
    assert "The nearest is swap (FAIL; its worst claim is" in found["said"]
    assert "at 0.280 for gain <= 0.10: 20% of the room beyond the limit" in found["said"]
