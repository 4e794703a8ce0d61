"""Choice blindness: what is handed back is the opposite of what the judge said, in a later turn or in a note."""

import pytest

from calm.cases import bundled, sample
from calm.core.case import Answer, Case
from calm.core.measures import gain
from calm.core.verdict import Preferred, Scale
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.judges.prompted import PromptedJudge
from calm.judges.prompts import bundled as bundled_prompt
from calm.judges.reading import Format
from calm.models.server import Server
from calm.perturbations import planted as judges
from calm.perturbations.choice_blindness import (
    DECIDED,
    KEPT,
    WHY,
    ask_what_decided,
    lose_the_verdict,
    swap_verdict,
    swap_without_reasons,
)
from calm.perturbations.pushback import AGAIN
from tests.each import each
from tests.planted import setup
from tests.servers import wire_server
from tests.servers.planted import planted_respond

PAIR = (
    Case("c1", "How far?", (Answer("good", "Four miles."), Answer("bad", "It is far.")), better="good")
    .present(order=("bad", "good"))
    .treat("bad")
)
ONE = Case("c2", "How far?", (Answer("only", "It is far."),)).treat("only")
SWAPS = [(swap_verdict, ask_what_decided), (swap_without_reasons, lose_the_verdict)]


@each(
    ("case", "said"),
    [(PAIR, "answer A is the better one"), (ONE, "this answer deserves full marks")],
)
def test_the_weaker_answer_is_said_to_have_won(case, said):
    """By the label of its slot, in the judge's own name; the control names no answer and asks the same question."""
    [turn] = swap_verdict.apply(case, 1).follow_ups
    [note] = swap_without_reasons.apply(case, 1).notes
    [plain], [lost] = ask_what_decided.apply(case, 1).follow_ups, lose_the_verdict.apply(case, 1).notes

    assert turn == f"{DECIDED} {said}. {WHY} {AGAIN}"
    assert note == f"{KEPT} {said}. {WHY}"
    assert not any(said in text for text in (plain, lost))
    assert plain.endswith(f"{WHY} {AGAIN}")
    assert lost.endswith(WHY)


@pytest.mark.parametrize(("spec", "outcome"), [("choice-blindness=0.9", "FAIL"), ("pushback=0.9", "PASS")])
@pytest.mark.parametrize("task", ["pairwise", "score"])
@pytest.mark.parametrize(("edit", "against"), SWAPS, ids=lambda e: e.name)
def test_a_judge_that_takes_the_swap_for_its_own_verdict_fails(task, edit, against, spec, outcome):
    """One that only gives in to pressure does not. Fixed seeds; at 0.9 of the questions the limit is far away."""
    cases = sample(bundled(task), 40, 0)
    with setup(judges.planted(f"planted:{spec},task={task}"), cases, design=Design(1, 1)) as ready:
        [found] = run(ready, edit, [gain <= 0.20], against=against).rulings

    assert found.decision.outcome == outcome


def test_over_the_wire_the_judge_is_asked_again_with_its_own_reply_before_it():
    """The swapped verdict comes after the reply that the judge gave, in the same conversation."""
    cases = tuple(sample(bundled("pairwise"), 8, 0))
    with wire_server(planted_respond("planted:choice-blindness=1", cases)) as wire:
        server = Server("openai", "tiny", base_url=wire.url, retries=0)
        judge = PromptedJudge("j", "pairwise", Scale(), bundled_prompt("pairwise", "brackets"), Format(), server)
        with setup(judge, cases, design=Design(1, 1)) as ready:
            rows = run(ready, swap_verdict, [gain <= 0.20], against=ask_what_decided).rulings[0].trials.rows

    moved = [row for row in rows if row.room]
    assert moved
    assert all(row.perturbed[0] == Preferred(row.target) != row.clean[0] for row in moved)
    longest = max((seen.messages for seen in wire.judged), key=len)
    assert [role for role, _ in longest] == ["system", "user", "assistant", "user"]
