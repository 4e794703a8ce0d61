"""
CALM's protocol (arXiv 2410.02736): each bias by one clean ask, one repeat and one perturbed ask, without a limit.

Beside each robustness rate (RR) the finding holds the consistency rate (CR) of the same cases. RR is the mean over both
clean asks: it has the expectation of the paper's, which compares with the first one alone, and less variance.
"""

from dataclasses import replace

import pytest

from calm import (
    Expects,
    accuracy_gain,
    mean_shift,
    net_detection,
    perturbation,
    robustness_rate,
    rotate,
    self_preference_excess,
)
from calm.core.ready_made import Own
from calm.perturbations.authority import cite_book, cite_quote, cite_url
from calm.perturbations.bandwagon import PERCENTS, crowd_note
from calm.perturbations.chain_of_thought import solve_first
from calm.perturbations.compassion_fade import STRONG, WEAK
from calm.perturbations.cues import named, noted, on_better, on_either, signed
from calm.perturbations.distraction import hobby_note, hobby_note_on_better
from calm.perturbations.diversity import GROUPS
from calm.perturbations.fallacy_oversight import fallacy
from calm.perturbations.position import swap
from calm.perturbations.refinement_aware import show_history
from calm.perturbations.sentiment import angry, cheerful, fearful, feeling_in_better, sad
from calm.perturbations.verbosity import expand
from calm.perturbations.written import lengthened, own_alone, polished_from_draft

pytestmark = [pytest.mark.calm_every_variant(folder=True), pytest.mark.calm(repeats="2+1")]


@perturbation(
    bias="fallacy-oversight",
    expects=Expects.OBSERVE,
    source="arXiv:2410.02736",
    tasks=("pairwise", "listwise"),
    own=Own(names=("fallacy",), aim=on_better),
)
def fallacy_in_place(case, rng):
    """Put a broken step into the better answer, beside the other answer: the paper's own way, without its original."""
    aimed = on_better(case)
    harmed = aimed and fallacy(aimed, rng)
    return None if aimed is None or harmed is None else aimed.edit(aimed.target, lambda _: harmed[harmed.damaged].text)


def as_one_of(group):
    """Return an edit that notes of the author of an answer, drawn at random, that it belongs to a group of people."""

    @perturbation(bias="diversity", expects=Expects.SAME, source="arXiv:2410.02736")
    def identity_note(case, rng):
        """Note that the author of an answer, drawn at random, belongs to a group of people."""
        aimed = on_either(case, rng)
        return noted(aimed, f"The author of {named(aimed)} is {group}.")

    return replace(identity_note, name=f"identity_note: {group}")


def named_as(name):
    """Return an edit that puts the name of a model beside an answer, drawn at random, and others beside the others."""

    @perturbation(bias="compassion-fade", expects=Expects.SAME, source="arXiv:2410.02736")
    def name_models(case, rng):
        """Put the name of a model beside an answer, drawn at random, and those of other models beside the others."""
        first, *rest = rng.sample(ids := sorted(answer.id for answer in case.answers), k=len(ids))
        others = rng.sample([one for one in (*STRONG, *WEAK) if one != name], k=min(len(rest), 7))
        return signed(case, {first: name, **dict(zip(rest, others, strict=False))})

    return replace(name_models, name=f"name_models: {name}")


# with OBSERVE no pilot is asked: RR needs to know nothing about room to gain
BIASES = {
    "position": swap,
    "verbosity": rotate(expand(2.0), own_alone(lengthened)),
    "compassion-fade": rotate(*map(named_as, (*STRONG, *WEAK))),
    "bandwagon": rotate(*map(crowd_note, PERCENTS)),
    "distraction": hobby_note,
    "distraction-on-better": hobby_note_on_better,
    "fallacy-oversight": fallacy_in_place,
    "authority": rotate(cite_book, cite_quote, cite_url),
    "sentiment": rotate(cheerful, sad, angry, fearful),
    "sentiment-on-better": feeling_in_better,
    "diversity": rotate(*map(as_one_of, GROUPS)),
}
OBSERVED = {name: replace(edit, expects=Expects.OBSERVE) for name, edit in BIASES.items()}
# names of their own: the suites of these biases observe the same measures of the same edits
HISTORY = replace(rotate(show_history, own_alone(polished_from_draft), name="drafts"), expects=Expects.OBSERVE)
BROKEN, SOLVED = rotate(fallacy, name="broken_step"), rotate(solve_first, name="solved_first")


@pytest.mark.parametrize("bias", OBSERVED)
def test_the_robustness_rate_is_observed(probe, bias):
    probe(OBSERVED[bias]).observe(robustness_rate)


def test_a_broken_step_is_detected_so_often(probe):
    probe(BROKEN).observe(net_detection)  # RR would call it a virtue not to notice


def test_what_solving_first_adds_is_observed(probe):
    probe(SOLVED).observe(
        robustness_rate, pairwise=[accuracy_gain, robustness_rate], rubric=[accuracy_gain, robustness_rate]
    )


def test_refined_with_its_history_is_held_against_refined_without(probe):
    probe(HISTORY).observe(robustness_rate, score=[mean_shift, robustness_rate], rubric=[mean_shift, robustness_rate])


def test_self_enhancement_is_observed_where_the_cases_name_authors(probe):
    probe.cross().observe(self_preference_excess)
