"""The page of aligned ratings: it shows the figures of its record, and opens whatever the record lacks."""

import json
from random import Random

import numpy as np

from calm.plugins.uda import page as uda_page
from calm.plugins.uda.report import report
from calm.results.reports import pages
from tests.plugins.test_record_pages import words

JUDGES = ("m0", "m1", "j-3", "j-4", "<b>j-5</b>")
MODELS = tuple(f"m{i}" for i in range(9))
LEAN = 250 * np.array([1, 1, -1, 0, 0, 0, -1, 0.5, -0.5])


def record(**more):
    """Return a record of five judges, of which two share a lean; one has a name that would be markup."""
    rng = Random(4)
    truth = np.array([rng.gauss(1200, 100) for _ in MODELS])
    before = truth + np.array([[rng.gauss(0, 40) for _ in MODELS] for _ in JUDGES])
    before[:2] += LEAN
    after = 1200 + 0.5 * (before - 1200)
    weights = np.array([0.1, 0.1, 0.2, 0.3, 0.3])
    made = report(before, after, JUDGES, MODELS, gold=None, rng=Random(0), weights=weights)
    told = {
        "weighting": "agreement",
        "training": {"comparisons": 1234, "features": ["perplexity"]},
        "unread": 7,
        **more,
    }
    return json.loads(json.dumps(made | told))


def test_the_page_shows_the_figures_of_its_record():
    """Ratings, deviations, self-deviations, weights, clusters, training and warnings are there; names stay text."""
    body = record(leave_one_judge_out={"m0": {"before": {"correlation_with_others": 0.123}, "after": {}}})

    page = uda_page.render(body)
    shown = words(page)

    assert f"{body['before']['inter_judge_std']:,.1f} {body['after']['inter_judge_std']:,.1f}" in shown
    assert f"{body['before']['ratings']['m0']['m0']:,.0f} self" in shown
    assert f"{body['before']['self_deviation']['m1']:.3f}" in shown
    assert f"m0 0.10 {body['before']['squared_error_to_consensus']['m0'] ** 0.5:.1f}" in shown
    assert "m0, m1 lean alike" in shown
    assert f"They favour {', '.join(body['clusters']['found'][0]['favours'])}" in shown
    assert "A judge counts by its agreement" in shown
    assert "7 verdicts could not be read" in shown
    assert "0.123" in shown
    assert "looks like truth" in shown
    assert "1,234" in shown
    assert "<b>j-5" not in page
    assert pages.render(body, "x.json") == page


def test_a_record_without_most_of_it_is_a_page():
    """What an older or damaged record lacks is left out."""
    for body in ({"schema": "calm-uda-report/1"}, record(clusters=None, training=None, weights=[], warnings="no")):
        assert uda_page.render(body).rstrip().endswith("</html>")
