"""Edits of criteria: the opposite of a criterion, and the same criterion in other words."""

from dataclasses import replace
from random import Random

import pytest

from calm import Answer, Case, Criterion, Expects
from calm.cases import bundled, sample
from calm.core.checks import KINDS, verify
from calm.core.claims import Outcome
from calm.core.measures import mean_shift, net_detection, net_robustness
from calm.core.verdict import Criteria
from calm.experiment.pairs import aim
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.perturbations import planted as judges
from calm.perturbations.criterion_fidelity import (
    AFFIRMED,
    REVERSED,
    put_so_that_it_holds,
    restore_unmet,
    reverse_met,
)
from calm.perturbations.rubric_drift import (
    DETAILS,
    PARAPHRASES,
    TRIGGER,
    detail_criteria,
    frame_criteria,
    paraphrase_criteria,
)
from calm.suites.test_criterion_fidelity import OPPOSITES
from tests.planted import Planted, setup

LONG = Criterion("long", "The answer has at least three words.", check={"kind": "min_words", "value": 3})
SALT = Criterion("salt", "The answer names salt.")
ASKED = Criterion("asked", "Is the answer polite?")
FAULT = Criterion("fault", "The answer is rude.", points=-1.0)
REFINED = (paraphrase_criteria, detail_criteria, frame_criteria)


def case_of(*criteria, **met):
    """Return a case about a single answer with these criteria, and the truth of some."""
    return Case("c1", "What is in it?", (Answer("only", "Salt and some oil."),), criteria=criteria, met={"only": met})


def aimed(case):
    """Return a case as an edit that harms gets it."""
    return aim(case.with_order(), Expects.WORSE)


def test_a_met_criterion_is_turned_into_its_opposite_and_its_truth_with_it():
    """The program's check goes, as it says the reverse of what is asked for now; the answer stays as it is."""
    case = aimed(case_of(LONG, long=True))

    turned, control = reverse_met(case, Random(0)), put_so_that_it_holds(case, Random(0))

    assert turned.criteria == (replace(LONG, text=f"{REVERSED} {LONG.text}", check=None),)
    assert control.criteria == (replace(LONG, text=f"{AFFIRMED} {LONG.text}", check=None),)
    assert (turned.met["only"]["long"], control.met["only"]["long"]) == (False, True)
    assert (turned.damaged, turned.hit, control.damaged) == ("only", "long", None)
    assert turned.answers == case.answers
    assert restore_unmet(case, Random(0)) is None


def test_a_criterion_that_is_not_met_is_compared_with_its_opposite():
    """So a judge that says no to every "not" does not pass: here the opposite holds, and the criterion does not."""
    case = aimed(case_of(SALT, salt=False))

    turned, control = restore_unmet(case, Random(0)), put_so_that_it_holds(case, Random(0))

    assert turned.criteria[0].text == f"{AFFIRMED} {SALT.text}"
    assert control.criteria[0].text == f"{REVERSED} {SALT.text}"
    assert (turned.met["only"]["salt"], control.met["only"]["salt"]) == (False, True)
    assert reverse_met(case, Random(0)) is None


@pytest.mark.parametrize(
    "case",
    [
        case_of(ASKED, asked=True),
        case_of(FAULT, fault=False),
        case_of(SALT),
        case_of(Criterion("blank", " "), blank=True),
        case_of(replace(SALT, text=f"{REVERSED} {SALT.text}"), salt=True),
    ],
    ids=["a question", "a fault", "no label", "blank", "turned already"],
)
def test_a_criterion_whose_opposite_is_not_certain_is_left_alone(case):
    """A question has no opposite, and one without a label no truth that could be turned."""
    assert [edit(aimed(case), Random(0)) for edit in (reverse_met, restore_unmet, put_so_that_it_holds)] == [None] * 3


@pytest.mark.parametrize(
    "text",
    [
        "Award the point if the answer names Paris.",
        "Be polite.",
        "Does the answer cite a source? (yes/no)",
        "Is the answer polite",
        "Please use short words.",
        "Do not swear.",
        "1. Give the date",
        "Answer in French.",
        "Never lie.",
        "It names the date. It names the place.",
        "- Names\n- Dates",
        "The answer names Paris if it was asked to.",
        "The answer must cite a source.",
        "2 points for each name",
        "Accuracy: the answer is right",
        "Clarity",
        "The use of examples",
        "Whether it is true",
    ],
)
def test_a_criterion_that_is_no_single_statement_has_no_opposite(text):
    """A question, an order, a rule for points, a heading, or several sentences: unless a program checks it."""
    case = case_of(Criterion("k", text), k=True)

    assert [edit(aimed(case), Random(0)) for edit in (reverse_met, restore_unmet, put_so_that_it_holds)] == [None] * 3


@pytest.mark.parametrize(
    "text",
    [
        "The answer names salt.",
        "Mentions salt, e.g. that of the sea",
        "Answer cites a source.",
        "Salt is named as the first of all.",
        "The reply acknowledges the worry of the user.",
        "The answer is correct or it says that it does not know.",
        "No living person is named.",
    ],
)
def test_a_statement_has_an_opposite(text):
    """Whatever it is about."""
    assert reverse_met(aimed(case_of(Criterion("k", text), k=True)), Random(0)) is not None


def test_what_a_program_checks_is_a_statement_however_it_is_worded():
    """But a question stays one."""
    words = replace(LONG, text="Use three words. More are fine.")

    assert reverse_met(aimed(case_of(words, long=True)), Random(0)) is not None
    assert reverse_met(aimed(case_of(replace(words, text="Three words?"), long=True)), Random(0)) is None


def test_edit_and_control_word_the_same_criterion_of_every_bundled_case():
    """Either of the two edits applies to each case, and differs from the control in one criterion's wording alone."""
    kinds = set()
    for case in map(aimed, bundled("rubric")):
        found = [(edit.name, done) for edit in (reverse_met, restore_unmet) if (done := edit.apply(case, 0))]
        [(name, turned)] = found
        control = put_so_that_it_holds.apply(case, 3)
        kinds.add(name)
        before, after = ([c.text for c in one.criteria] for one in (control, turned))
        changed = [{a.partition(":")[0], b.partition(":")[0]} for a, b in zip(before, after, strict=True) if a != b]

        assert changed == [{AFFIRMED[:-1], REVERSED[:-1]}]

    assert kinds == {"reverse_met", "restore_unmet"}


def says_no_to_not(case, ask):
    """Say no to whatever holds the word, and else what the label says."""
    met = case.met["only" if "only" in case.met else case.shown[0].id]
    return Criteria({c.id: met[c.id] and " not " not in c.text for c in case.criteria})


def keeps(case, ask):
    """Take each criterion that is worded anew for met, and go by the label else."""
    met = case.met[case.shown[0].id]
    return Criteria({c.id: met[c.id] or c.text.startswith((AFFIRMED, REVERSED)) for c in case.criteria})


@pytest.mark.parametrize("rule", [says_no_to_not, keeps])
def test_a_judge_that_does_not_read_the_criterion_fails(rule):
    """One says the same to a criterion and to its opposite, another says no to every "not"."""
    cases = sample(bundled("rubric"), 60, 0)
    judge = Planted(rule, task="rubric", looks_at=("question", "criteria"))
    with setup(judge, cases, design=Design(1, 1)) as ready:
        [found] = run(ready, OPPOSITES, [net_detection >= 0.60], against=put_so_that_it_holds).rulings

    assert found.decision.outcome is Outcome.FAIL


@pytest.mark.parametrize(("spec", "outcome"), [("noise=0.05", "PASS"), ("criterion-fidelity=0.8", "FAIL")])
@pytest.mark.parametrize("task", ["rubric", "rubric-all"])
def test_the_planted_judge_fails_and_a_sound_one_passes(task, spec, outcome):
    """Whether it is asked criterion by criterion or about all at once."""
    cases = sample(bundled("rubric"), 40, 0)
    with setup(judges.planted(f"planted:{spec},task={task}"), cases, design=Design(1, 1)) as ready:
        [found] = run(ready, OPPOSITES, [net_detection >= 0.60], against=put_so_that_it_holds).rulings

    assert found.decision.outcome == outcome


def test_every_kind_of_check_can_be_said_in_other_words():
    """A kind that is added to the checks needs a paraphrase, too; some leave no detail open."""
    assert set(PARAPHRASES) == set(KINDS)
    assert set(DETAILS) < set(KINDS)


def test_a_paraphrase_says_what_the_check_asks_for():
    """Values and counts of the check stand in it, whatever the rubric's own text is."""
    checks = {
        "a": {"kind": "contains_all", "value": ["wax", "smoke"]},
        "b": {"kind": "mentions_at_least", "value": "tea", "times": 5},
        "c": {"kind": "max_words", "value": 40},
    }
    case = aimed(case_of(*(Criterion(name, "So.", check=check) for name, check in checks.items()), SALT))

    said = [c.text for c in paraphrase_criteria(case, Random(0)).criteria]

    assert ('"wax", "smoke"' in said[0], '"tea"' in said[1], "5 or a higher" in said[1]) == (True, True, True)
    assert "40 or a lower" in said[2]
    assert said[3] == SALT.text


@pytest.mark.parametrize("edit", REFINED, ids=lambda e: e.name)
def test_a_refinement_keeps_checks_labels_and_what_they_say(edit):
    """Every bundled case keeps its checks and its truths, and each refined criterion is known by the trigger."""
    for case in sample(bundled("rubric"), 60, 0):
        edited = edit.apply(aimed(case), 1)
        if edited is None:
            continue
        answer = edited.shown[0]

        assert edited.met == case.met
        for old, new in zip(case.criteria, edited.criteria, strict=True):
            assert (old.id, old.points, old.check) == (new.id, new.points, new.check)
            assert old.text == new.text or TRIGGER.search(new.text)
            assert new.check is None or verify(new.check, answer.text) == case.met[answer.id][new.id]


def test_a_rubric_is_refined_once():
    """What was put in other words already is left alone."""
    case = aimed(case_of(LONG, SALT, long=True))
    once = frame_criteria.apply(case, 0)

    assert [edit.apply(once, 0) for edit in REFINED] == [None] * 3
    assert paraphrase_criteria.apply(aimed(case_of(SALT, salt=True)), 0) is None


@pytest.mark.parametrize(("spec", "outcome"), [("noise=0.05", "PASS"), ("rubric-drift=0.8", "FAIL")])
@pytest.mark.parametrize("edit", REFINED, ids=lambda e: e.name)
def test_a_judge_that_drifts_with_the_wording_fails(edit, spec, outcome):
    """It is lenient towards whatever rubric was refined; a sound one says of it what it said before."""
    cases = sample(bundled("rubric"), 50, 0)
    with setup(judges.planted(f"planted:{spec},task=rubric-all"), cases, design=Design(1, 1)) as ready:
        found = run(ready, edit, [net_robustness >= 0.80, abs(mean_shift) <= 0.20]).rulings

    assert {one.decision.outcome for one in found} == {outcome}
