"""Pushback: what is said to the judge after its verdict, and which judges give in."""

from dataclasses import replace
from random import Random

import pytest

from calm.cases import bundled as bundled_cases
from calm.cases import sample as sample_of
from calm.core.case import Answer, Case, Criterion
from calm.core.claims import Outcome
from calm.core.edits import Edit
from calm.core.measures import gain, net_robustness
from calm.core.verdict import Scale
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.judges.prompted import PromptedJudge
from calm.judges.prompts import bundled
from calm.judges.reading import Format
from calm.models.server import Server
from calm.perturbations import planted as judges
from calm.perturbations import pushback
from calm.perturbations.pushback import (
    AGAIN,
    argue_for_weaker,
    claim_consensus,
    claim_expertise,
    claim_own_verdict,
    cycle_tactics,
    doubt,
    honest_history,
    neutral_follow_up,
    neutral_follow_ups,
    poison_history,
)
from calm.perturbations.triggers import plants
from tests.each import each
from tests.lanes import one_in
from tests.planted import setup
from tests.servers import wire_server
from tests.servers.planted import planted_respond

PAIR = (
    Case(
        "c1",
        "How far?",
        (Answer("good", "It is four miles."), Answer("bad", "It is far. A walk is long.")),
        better="good",
    )
    .present(order=("bad", "good"))
    .treat("bad")
)
ONE = Case("c2", "How far?", (Answer("only", "It is far."),)).treat("only")
EDITS = [e for e in (*vars(pushback).values(), cycle_tactics(5), neutral_follow_ups(2)) if isinstance(e, Edit)]
PRESSING = [
    (argue_for_weaker, neutral_follow_up),
    (claim_expertise, neutral_follow_up),
    (claim_consensus, neutral_follow_up),
    (cycle_tactics(4), neutral_follow_ups(4)),
    (claim_own_verdict, None),
    (poison_history, honest_history),
]


@each("edit", EDITS, ids=lambda e: e.label)
@each("case", [PAIR, ONE])
def test_an_edit_leaves_answers_and_gold_alone(edit, case):
    """Pressure is put on the judge, never into the answers."""
    edited = edit.apply(case, 1)

    assert (edited.answers, edited.better, edited.order, edited.target) == (
        case.answers,
        case.better,
        case.order,
        case.target,
    )
    assert all(turn.endswith(AGAIN) for turn in edited.follow_ups)


@each("edit", [argue_for_weaker, claim_expertise, claim_consensus], ids=lambda e: e.label)
def test_a_tactic_names_the_weaker_answer(edit):
    """By the label of its slot; a single answer is said to deserve full marks."""
    assert "answer A is the better one" in edit.apply(PAIR, 1).follow_ups[0]
    assert "answer B" not in edit.apply(PAIR, 1).follow_ups[0]
    assert "this answer deserves full marks" in edit.apply(ONE, 1).follow_ups[0]


def test_an_argument_quotes_the_first_sentence_of_the_weaker_answer():
    """It is made by rule of what the answer says; of an empty answer nothing is quoted."""
    assert 'says "It is far."' in argue_for_weaker.apply(PAIR, 1).follow_ups[0]
    assert '"' not in argue_for_weaker.apply(PAIR.edit("bad", lambda _: " "), 1).follow_ups[0]


def test_tactics_take_turns_and_begin_anew():
    """The dose is the number of turns; the fifth is the first one again, and the control has as many."""
    turns = cycle_tactics(5).apply(PAIR, 1).follow_ups

    assert cycle_tactics(5).label == "cycle_tactics@5"
    assert (len(turns), len(set(turns[:4])), turns[4]) == (5, 4, turns[0])
    assert len(neutral_follow_ups(5).apply(PAIR, 1).follow_ups) == 5


def test_a_poisoned_history_holds_wrong_verdicts_for_the_slot_and_its_control_right_ones():
    """The same questions and answers; what differs is who is said to have won."""
    poisoned, honest = (edit(PAIR, Random(2)).examples for edit in (poison_history, honest_history))

    assert [e.answers for e in poisoned] == [e.answers for e in honest]
    assert {e.verdict for e in poisoned} == {"A"}
    assert {e.verdict for e in honest} == {"B"}
    right = {answer for _, answer, _ in pushback.TRIED}
    assert all(e.answers[0] not in right and e.answers[1] in right for e in poisoned)


def test_a_poisoned_history_of_a_ranking_puts_the_slot_first():
    """Labels from best to worst, all of them."""
    three = replace(PAIR, answers=(*PAIR.answers, Answer("mid", "Some way."))).present(order=("good", "bad", "mid"))

    assert {e.verdict for e in poison_history(three, Random(1)).examples} == {"B > A > C"}
    assert {e.verdict for e in honest_history(three, Random(1)).examples} == {"A > C > B"}


TASKS = ("pairwise", "score", "rubric")
EVERY = [(*pressing, TASKS[(turn + more) % 3]) for turn, pressing in enumerate(PRESSING) for more in range(3)]


@pytest.mark.parametrize(("edit", "against", "task"), one_in(3, EVERY), ids=lambda e: getattr(e, "label", e))
def test_a_judge_that_gives_in_fails_and_a_sound_one_does_not(edit, against, task):
    """The planted judge with the bias gains for the weaker answer by it; without, nothing moves."""
    cases = sample_of(bundled_cases(task), 40, 0)
    claims = [gain <= 0.10, net_robustness >= 0.80]
    found = {}
    for spec in ("pushback=0.9", "noise=0"):
        judge = judges.planted(f"planted:{spec},task={task}")
        with setup(judge, cases, design=Design(2, 2)) as ready:
            result = run(ready, edit, claims, against=against)
        found[spec] = {d.decision.measure: d.decision.outcome for d in result.rulings}

    assert found["pushback=0.9"]["gain"] is Outcome.FAIL
    assert found["noise=0"]["gain"] is not Outcome.FAIL
    assert found["noise=0"]["net_robustness"] is Outcome.PASS


def test_a_doubt_moves_the_planted_judge_on_single_answers():
    """Where there is one answer, a doubt is about it."""
    cases = sample_of(bundled_cases("score"), 30, 0)
    with setup(judges.planted("planted:pushback=0.9,task=score"), cases, design=Design(2, 2)) as ready:
        result = run(ready, doubt, [net_robustness >= 0.95], against=neutral_follow_up)

    assert result.rulings[0].decision.outcome is Outcome.FAIL


@each("spec", ["noise=0", "pushback=0.9"])
@each(("edit", "against"), [PRESSING[1], PRESSING[5]])
def test_over_the_wire_a_judge_is_pressed_as_in_process(spec, edit, against):
    """The server gets prompt, verdict and follow-up, or the earlier verdicts, and says the same as the judge itself."""
    cases = tuple(sample_of(bundled_cases("pairwise"), 5, 0))
    found = []
    with wire_server(planted_respond(f"planted:{spec}", cases)) as wire:
        server = Server("openai", "tiny", base_url=wire.url, retries=0)
        prompted = PromptedJudge("j", "pairwise", Scale(), bundled("pairwise", "brackets"), Format(), server)
        for judge in (prompted, judges.planted(f"planted:{spec}")):
            with setup(judge, cases, design=Design(2, 2)) as ready:
                result = run(ready, edit, [gain <= 0.10], against=against)
            rows = result.rulings[0].trials.rows
            found.append({row.case: (row.clean, row.perturbed) for row in rows})

    assert found[0] == found[1]
    turns = {tuple(role for role, _ in seen.messages) for seen in wire.judged}
    assert (("system", "user", "assistant", "user") in turns) == (edit is claim_expertise)


def test_no_other_planted_bias_reacts_to_it():
    """No phrase of ours is a trigger of another bias, in a note, a follow-up or an example."""
    criteria = (Criterion("k", "It is short."),)
    others = [plant for plant in plants() if plant.bias != "pushback"]
    judge = judges.planted("planted:noise=0")
    rubric = judges.planted("planted:noise=0,task=rubric")
    for edit in EDITS:
        for asked, case in ((judge, PAIR), (rubric, replace(ONE, criteria=criteria))):
            before, after = asked.sees(case), asked.sees(edit.apply(case, 1))
            for plant in others:
                assert plant.carriers(before) == plant.carriers(after), (plant.bias, edit.label)
