"""Grading scales: what another scale asks for, what is read of it, and how much of a scale is used."""

from dataclasses import replace
from random import Random

import pytest

from calm.cases import bundled, sample
from calm.core.measures import MEASURES, mean_shift, net_robustness
from calm.core.reasons import Kind
from calm.core.trials import Trial, Trials
from calm.core.verdict import Scale, Score, Unreadable
from calm.errors import EstimateError
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.judges.prompted import PromptedJudge
from calm.judges.prompts import bundled as bundled_prompt
from calm.judges.reading import Format
from calm.models.server import Server
from calm.perturbations import planted as judges
from calm.perturbations.bundled_prompt import rephrase
from calm.perturbations.grading_scale import to_five, to_grades, to_hundred, to_ten
from calm.perturbations.planted.mind import moved
from calm.suites.test_grading_scale import SCALES
from tests.planted import setup
from tests.servers import wire_server
from tests.servers.planted import planted_respond

ALL = (to_five, to_ten, to_hundred, to_grades)
CLAIMS = [net_robustness >= 0.80, abs(mean_shift) <= 0.15]


def asked(scale, form="brackets"):
    """Return the bundled prompt for a score as its judge asks it."""
    return replace(bundled_prompt("score", form), form=form, scale=scale)


def test_each_scale_has_its_ends_and_whole_numbers():
    """Grades stand for the numbers from 0 to 4, whichever end of the judge's own scale is the best."""
    found = {edit.name: edit(asked(Scale()), Random(0)) for edit in ALL}

    assert [(p.scale.low, p.scale.high, p.scale.step) for p in found.values()] == [
        (0, top, 1) for top in (5, 10, 100, 4)
    ]
    assert found["to_grades"].values == {"F": 0.0, "D": 1.0, "C": 2.0, "B": 3.0, "A": 4.0}
    low = to_grades(asked(Scale(1.0, 6.0, 1.0, "low")), Random(0))
    assert (low.values["A"], low.values["F"], low.scale.best) == (0.0, 4.0, "low")


@pytest.mark.parametrize("edit", ALL, ids=lambda e: e.name)
def test_a_scale_that_cannot_be_changed_is_left_alone(edit):
    """One with those ends already, and a verdict that is the first token of a reply."""
    assert edit(asked(Scale(), "logprobs"), Random(0)) is None
    assert to_ten(asked(Scale(0.0, 10.0)), Random(0)) is None
    assert edit(replace(asked(Scale()), scale=None), Random(0)) is None


@pytest.mark.parametrize(("spec", "outcome"), [("noise=0.05", "PASS"), ("grading-scale=0.8", "FAIL")])
def test_a_judge_that_compresses_other_scales_fails_and_a_sound_one_passes(spec, outcome):
    """A sound one rounds to the steps of the scale. Fixed seeds, 80 cases; the limits are far from both."""
    cases = sample(bundled("score"), 80, 0)
    with setup(judges.planted(f"planted:{spec},task=score"), cases, design=Design(2, 1)) as ready:
        found = run(ready, SCALES, CLAIMS).rulings

    assert {one.decision.outcome for one in found} == {outcome}


def test_behind_a_wire_the_score_is_put_on_the_judges_own_scale():
    """A prompt that asks for grades is read by its grades: what comes back is as far as rounding lets it be."""
    cases = tuple(sample(bundled("score"), 6, 0))
    with wire_server(planted_respond("planted:noise=0,task=score", cases)) as wire:
        server = Server("openai", "tiny", base_url=wire.url, retries=0)
        judge = PromptedJudge("j", "score", Scale(), bundled_prompt("score", "brackets"), Format(), server)
        with setup(judge, cases, design=Design(1, 1)) as ready:
            rows = [row for edit in (to_grades, to_hundred) for row in run(ready, edit, CLAIMS).rulings[0].trials.rows]

    assert len(rows) == 12
    for row in rows:
        step = 9 / 4 if row.edit == "to_grades" else 9 / 100
        assert abs(row.perturbed[0].value - row.clean[0].value) <= step / 2 + 1e-9


def test_a_prompt_of_its_own_and_words_alone_are_not_tested():
    """Of a user's own prompt no edit knows the scale; the planted judge has a scale, and no words to change."""
    cases = sample(bundled("score"), 8, 0)
    with setup(judges.planted("planted:noise=0,task=score"), cases) as ready:
        [words] = run(ready, rephrase, [net_robustness >= 0.8]).rulings
    with setup(judges.planted("planted:noise=0,task=rubric"), sample(bundled("rubric"), 8, 0)) as ready:
        [other] = run(ready, to_ten, [net_robustness >= 0.8]).rulings
    prompt = replace(bundled_prompt("score", "brackets"), bundled=False)
    mine = PromptedJudge("j", "score", Scale(), prompt, Format(), Server("openai", "m", base_url="http://localhost:1"))
    with setup(mine, cases) as ready:
        [own] = run(ready, to_ten, [net_robustness >= 0.8]).rulings

    kinds = [one.decision.reason.kind for one in (words, other, own)]
    assert {one.decision.outcome for one in (words, other, own)} == {"NOT_TESTED"}
    assert kinds == [Kind.NO_PROMPT, Kind.OTHER_TASK, Kind.OWN_PROMPT]


@pytest.mark.parametrize(("value", "high", "step", "there"), [(1, 5, 1, 0), (10, 5, 1, 5), (4, 100, None, 100 / 3)])
def test_a_gold_score_has_its_place_on_another_scale(value, high, step, there):
    """The nearest step of it; without steps the same place."""
    assert moved(float(value), Scale(), Scale(0.0, float(high), step)) == pytest.approx(there)


def trials(*scores):
    """Return the trials of a judge that gave these scores on 0 to 10."""
    said = [Unreadable("?") if score is None else Score(float(score)) for score in scores]
    rows = tuple(Trial(f"c{number}", clean=(verdict,)) for number, verdict in enumerate(said))
    return Trials(rows, "score", Scale(0.0, 10.0))


@pytest.mark.parametrize(
    ("scores", "use"), [((7, 7, 7, 7), 0.0), ((0, 10), 1.0), ((0, 5, 10), 2 / 3), ((7, 8, None, 7), 2 / 30)]
)
def test_the_use_of_a_scale_is_the_mean_distance_of_two_cases(scores, use):
    """By all pairs; a case whose reply holds no score is left out."""
    estimate = MEASURES["scale_use"].estimate(trials(*scores), 0.05)

    assert estimate.value == pytest.approx(use)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_the_bounds_of_the_use_of_a_scale_hold_its_true_value():
    """
    Of 200 samples of 60 uniform scores, whose mean distance is 1/3, nearly all have it between their bounds.

    Both one-sided bounds are at 95 %, so a miss has probability 0.1: more than 38 of 200 has probability below 1e-4.
    """
    rng = Random(5)
    missed = 0
    for _ in range(200):
        estimate = MEASURES["scale_use"].estimate(trials(*(10 * rng.random() for _ in range(60))), 0.05)
        missed += not estimate.low <= 1 / 3 <= estimate.high

    assert missed <= 38


def test_the_use_of_a_scale_needs_two_cases():
    """One score is at no distance from another."""
    with pytest.raises(EstimateError):
        MEASURES["scale_use"].estimate(trials(7), 0.05)
