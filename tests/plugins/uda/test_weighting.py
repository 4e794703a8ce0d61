"""How much each judge counts: hand-computed weights, and what they change."""

import json
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from calm.errors import ConfigError
from calm.plugins.uda import ratings as consensus
from calm.plugins.uda.network import Settings
from calm.plugins.uda.ratings import choice_of, refuse_strangers, weights_of
from calm.plugins.uda.report import report
from calm.plugins.uda.training import apply, gradient, judge_weights, new_state

JUDGES = ("x", "y", "z")
RATINGS = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
BY_HAND = np.array([0.5, 0.5, 0.0])
"""
The others of x are y and z: their mean is 2, 1.5, 2.5, which correlates with 1, 2, 3 by .5; y is the same. Those of z
have the mean 1, 2, 3, which correlates with 3, 1, 2 by -.5: it counts as 0.
"""


def test_agreement_is_the_correlation_with_the_others():
    """The weights are those computed by hand, and sum to 1; equal weights are none."""
    assert weights_of("agreement", RATINGS, JUDGES) == pytest.approx(BY_HAND)
    assert weights_of("equal", RATINGS, JUDGES) is None
    assert weights_of((("x", 1.0), ("y", 3.0), ("z", 0.0)), RATINGS, JUDGES) == pytest.approx([0.25, 0.75, 0])


def test_huge_weights_do_not_overflow():
    """Two weights whose sum is infinite count as two of 1."""
    huge = (("x", 1e308), ("y", 1e308), ("z", 0.0))
    assert weights_of(huge, RATINGS, JUDGES) == pytest.approx([0.5, 0.5, 0])


def test_a_name_that_is_no_judge_is_refused(tmp_path):
    """The message names the file and the name; a file of judges only is taken, also of all judges alike."""
    path = tmp_path / "w.json"
    path.write_text('{"x": 1, "nobody": 2}')
    with pytest.raises(ConfigError, match=r"w\.json names 'nobody', who is no judge"):
        refuse_strangers(str(path), JUDGES)

    path.write_text('{"x": 1, "y": 2}')
    for said in (str(path), "agreement", None):
        refuse_strangers(said, JUDGES)


def test_gold_that_matches_no_model_is_told():
    """By name, and that too few are left; nothing is said where all match."""

    def told(gold):
        made = report(RATINGS, RATINGS, JUDGES, "abc", gold=gold, rng=Random(0))
        return [text for text in made["warnings"] if "true ratings" in text], made["before"]

    warned, side = told({"a": 1, "b": 2, "typo": 3})
    assert warned == [
        "the true ratings name 'typo', which match no model",
        "true ratings of 2 of 3 models: with fewer than 3 they are not used",
    ]
    assert "correlation_with_gold" not in side
    assert told({"a": 1, "b": 2, "c": 3})[0] == []


def test_nobody_agrees_and_a_judge_without_weight_are_refused():
    """Each message says what to do."""
    with pytest.raises(ConfigError, match="no judge can be weighed by agreement; use --weights equal"):
        weights_of("agreement", np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]), ("x", "y"))
    with pytest.raises(ConfigError, match="expected a weight of each judge, got none of 'z'"):
        weights_of((("x", 1.0), ("y", 1.0)), RATINGS, JUDGES)


@pytest.mark.parametrize(
    "body", ["[1]", '{"x": -1}', '{"x": 0}', '{"x": "1"}', '{"x": true}', f'{{"x": 1{"0" * 309}}}', "no json"]
)
def test_a_file_of_weights_holds_numbers(tmp_path, body):
    """Anything else is refused with an example; numbers are read."""
    path = tmp_path / "weights.json"
    path.write_text(body)
    with pytest.raises(ConfigError, match="such as"):
        choice_of(str(path))

    path.write_text('{"y": 2, "x": 1}')
    assert choice_of(str(path)) == (("x", 1.0), ("y", 2.0))


def test_the_report_takes_the_weighted_consensus():
    """The consensus is the weighted mean; the deviation between judges stays what it is."""
    made, plain = (
        report(RATINGS, RATINGS, JUDGES, "abc", gold=None, rng=Random(0), weights=w) for w in (BY_HAND, None)
    )

    assert list(made["before"]["consensus"].values()) == pytest.approx([1, 2, 3])
    assert list(plain["before"]["consensus"].values()) == pytest.approx([5 / 3, 5 / 3, 8 / 3])
    assert made["before"]["correlation_with_consensus"]["z"] == pytest.approx(-0.5)
    assert made["before"]["consensus_spread"] == pytest.approx(1)
    assert made["before"]["inter_judge_std"] == plain["before"]["inter_judge_std"]
    assert json.dumps(made)


def test_weights_move_the_loss_as_its_formula_says(small):
    """The loss of an untrained network, written out in numpy with the weights in the anchor and the last term."""
    _, data = small
    chosen = tuple(zip(data.judges, (0.0, 1.0, 2.0, 1.0), strict=True))
    settings = Settings(hidden=(4,), weights=chosen)
    params = new_state(data.dims, settings).params
    before, after = apply(params, data, settings)
    w = np.array([0, 0.25, 0.5, 0.25])
    anchor = w @ before
    near = sum(0.1 * consensus.squared_error(r, anchor) for r in after)
    alike = sum(1000 * (1 - consensus.correlation(r, anchor)) for r in after)
    last = 0.2 * consensus.squared_error(w @ after, anchor)

    loss, _ = gradient(params, data, settings)

    assert loss == pytest.approx(near + alike + last, rel=1e-6)
    assert loss != pytest.approx(gradient(params, data, replace(settings, weights="equal"))[0])
    assert judge_weights(data, settings) == pytest.approx(w)
