"""Edits of the judge's own prompt: which arm they reach, what is asked, and when nothing is tested."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import pytest

from calm.core.claims import Outcome
from calm.core.edits import Expects, Message, Prompt, perturbation, prompt_edit, rotate
from calm.core.measures import gain, net_robustness
from calm.core.verdict import Scale, Score
from calm.errors import EditError
from calm.experiment.pairs import pair_up
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.gate.plan import PlanSettings, survey
from calm.gate.prices import plan_of
from calm.judges.prompted import PromptedJudge
from calm.judges.prompts import bundled
from calm.judges.reading import Format
from calm.models.server import Server
from tests.planted import Planted, fair, pair, pairs, setup, single, traced
from tests.servers import wire_server

OWN = Prompt((Message("user", "{{ question }} A: {{ answers[0].text }} B: {{ answers[1].text }}"),))
ROBUST = [net_robustness >= 0.95]
TWO = Design(2, 2)


def ending(word, **options):
    """Return an edit that ends the prompt with a word."""

    def end(prompt, rng):
        last = prompt.messages[-1]
        return replace(prompt, messages=(*prompt.messages[:-1], replace(last, text=f"{last.text} {word}")))

    end.__name__ = word
    end.__doc__ = f"End the prompt with {word}."
    return prompt_edit(**{"bias": "judge-prompt", "expects": Expects.SAME} | options)(end)


please, kindly = ending("please"), ending("kindly")


@contextmanager
def judging(respond, task="pairwise", wrap=lambda judge: judge, cases=None, **settings):
    """Run a server with a prompted judge before it, and prepare a run; yields the setup and the server."""
    defaults = {"scale": Scale(), "prompt": OWN, "form": Format()}
    with wire_server(respond) as wire:
        server = Server("openai", "tiny", base_url=wire.url, retries=0)
        judge = wrap(PromptedJudge("j", task, server=server, **{**defaults, **settings}))
        with setup(judge, cases or pairs(12), design=TWO) as ready:
            yield ready, wire


def knowing(messages, body=None):
    """Prefer the good answer, which says "four"."""
    text = messages[-1][1]
    return "[[A]]" if text.index("four") < text.index("five") else "[[B]]"


def swayed(messages, body=None):
    """Prefer the other answer where the prompt says please."""
    right = knowing(messages)
    return {"[[A]]": "[[B]]", "[[B]]": "[[A]]"}[right] if "please" in messages[-1][1] else right


def decided(result):
    """Return outcome and reason of the first claim."""
    return result.rulings[0].decision.outcome, str(result.rulings[0].decision.reason)


def test_the_perturbed_arm_is_asked_with_the_edited_prompt():
    """A third of the asks end with the word; those of the case and of inert words are the judge's own prompt."""
    with judging(knowing) as (ready, wire):
        result = run(ready, please, ROBUST, top_up=False)

    asked = Counter(seen.messages[-1][1].endswith(" please") for seen in wire.judged)
    row = result.rulings[0].trials.rows[0]
    assert asked == {True: 24, False: 48}
    assert (row.edit, row.channel, row.target) == ("please", "prompt", "bad")


def test_a_judge_that_its_prompt_sways_fails():
    """Every verdict turns with the word, so that both claims are disproven."""
    with judging(swayed, cases=pairs(24)) as (ready, _):
        result = run(ready, please, [gain <= 0.10, net_robustness >= 0.5])

    outcomes = {d.decision.measure: d.decision.outcome for d in result.rulings}
    assert outcomes["gain"] is Outcome.FAIL
    assert outcomes["net_robustness"] is Outcome.FAIL


def test_a_judge_without_a_prompt_is_not_tested():
    """A Python judge has nothing that could be rewritten, and the reason says so."""
    with setup(Planted(fair), pairs(3)) as ready:
        found = decided(run(ready, please, ROBUST))

    assert found == (Outcome.NOT_TESTED, "the judge has no prompt that can be rewritten")


def test_an_edit_of_bundled_wording_is_not_tested_on_another_prompt():
    """It would know nothing of it, and the reason says so; on a bundled prompt it is asked."""
    edit = ending("please", bundled=True)
    with judging(knowing) as (ready, wire):
        outcome, reason = decided(run(ready, edit, ROBUST))
        assert wire.judged == []
    with judging(knowing, prompt=bundled("pairwise", "brackets")) as (ready, wire):
        run(ready, edit, ROBUST, top_up=False)
        assert len(wire.judged) == 12 * (2 + 2 + 2)

    assert outcome is Outcome.NOT_TESTED
    assert "the wording of the bundled prompts alone" in reason


def test_an_edit_that_the_model_would_not_see_is_not_tested():
    """A change of the framing twin alone leaves what is sent as it was."""
    edit = prompt_edit(bias="judge-prompt", expects=Expects.SAME)(
        lambda prompt, rng: replace(prompt, negative=prompt.messages)
    )
    with judging(knowing) as (ready, _):
        assert decided(run(ready, edit, ROBUST)) == (Outcome.NOT_TESTED, "the judge is not shown the other prompt")


def test_an_edit_that_changes_nothing_is_an_error():
    """Whoever returns the prompt as it is has to be told."""
    edit = prompt_edit(bias="judge-prompt", expects=Expects.SAME)(lambda prompt, rng: prompt)
    with judging(knowing) as (ready, _), pytest.raises(EditError, match="unchanged"):
        run(ready, edit, ROBUST)


def test_a_rotation_gives_each_case_one_of_the_wordings():
    """Both are drawn, and a wording that does not apply is stood in for by the next one."""
    never = prompt_edit(bias="judge-prompt", expects=Expects.SAME)(lambda prompt, rng: None)
    with judging(knowing, cases=pairs(40)) as (ready, _):
        both = pair_up(ready, rotate(please, kindly), None)
        one = pair_up(ready, rotate(never, kindly), None)

    assert {p.variant for p in both.pairs} == {"please", "kindly"}
    assert {p.variant for p in one.pairs} == {"kindly"}
    assert not one.excluded


def test_another_wording_can_be_the_control():
    """All arms are asked with an edited prompt, the inert one with that of the control."""
    with judging(swayed) as (ready, wire):
        result = run(ready, please, [gain <= 0.10], against=kindly)

    asked = Counter(seen.messages[-1][1].rpartition(" ")[2] for seen in wire.judged)
    edited = {word: asked[word] for word in ("please", "kindly")}
    assert edited == {"please": 24, "kindly": 48}
    assert len(wire.judged) == 72
    assert decided(result)[0] is Outcome.FAIL


def test_two_runs_compare_although_the_prompt_changed_between_them():
    """What identifies a case is its content and the edit's name, not the judge's prompt; two edits differ."""
    found = []
    for prompt, edit in ((OWN, please), (replace(OWN, bundled=True), please), (OWN, kindly)):
        with judging(knowing, prompt=prompt) as (ready, _):
            found.append([p.hash for p in pair_up(ready, edit, None).pairs])

    assert found[0] == found[1]
    assert found[0] != found[2]


def planned_and_made(against, **how):
    """Return how many calls the plan of a rotation says, and how many its run makes."""
    edit = rotate(please, ending("truly"))
    with judging(knowing, **how) as (ready, _):
        entries = traced(ready.judge, ready.cases, lambda probe: probe(edit, against=against).proves(*ROBUST))
        found = survey(entries, ready.judge, ready.cases, PlanSettings(design=TWO))
        plan = plan_of(found, len(found.cases), TWO)
        ready.engine.greet(*ready.judge.endpoints)
        run(ready, edit, ROBUST, against=against)
        return plan.most.calls, ready.engine.ledger.calls["made"]


@pytest.mark.parametrize("against", [None, kindly])
def test_a_plan_counts_the_calls_of_an_edited_prompt(against):
    """The plan's calls are those that the run makes, the first live one included."""
    planned, made = planned_and_made(against)

    assert planned == made


def test_a_plan_says_why_a_judge_without_a_prompt_is_not_asked():
    """The reason is the run's."""
    judge = Planted(fair)
    entries = traced(judge, pairs(3), lambda probe: probe(please).proves(*ROBUST))

    found = survey(entries, judge, pairs(3), PlanSettings())

    assert found.skipped == (("judge-prompt/please", "the judge has no prompt that can be rewritten (3 cases)"),)


@pytest.mark.parametrize(("said", "score"), [("[[10]]", 1.0), ("[[60]]", 6.0), ("[[100]]", 10.0)])
def test_a_score_on_another_scale_is_put_on_the_judges_own(said, score):
    """The edited prompt shows the other scale, and what is said keeps its place."""
    wider = prompt_edit(bias="judge-prompt", expects=Expects.SAME)(
        lambda prompt, rng: replace(prompt, scale=Scale(10.0, 100.0))
    )
    shown = Prompt((Message("user", "{{ answers[0].text }}: from {{ scale.low }} to {{ scale.high }}"),))

    def respond(messages, body):
        return said if "from 10 to 100" in messages[-1][1] else "[[5]]"

    with judging(respond, "score", prompt=shown, cases=[single("c1"), single("c2")]) as (ready, _):
        row = run(ready, wider, [net_robustness >= 0.5], top_up=False).rulings[0].trials.rows[0]

    assert row.clean == (Score(5.0), Score(5.0))
    assert row.perturbed == (Score(score), Score(score))


def test_a_prompt_in_another_form_is_read_in_that_form_without_its_schema():
    """A judge of JSON that is asked for brackets is sent no schema, and its own prompt still is."""
    bracketed = prompt_edit(bias="judge-prompt", expects=Expects.SAME)(
        lambda prompt, rng: replace(ending("[[brackets]]")(prompt, rng), form="brackets")
    )

    def respond(messages, body):
        said = knowing(messages)
        return said if "[[brackets]]" in messages[-1][1] else f'{{"verdict": "{said.strip("[]")}"}}'

    schema = {"type": "object"}
    with judging(respond, form=Format("json"), schema=schema, cases=pairs(2)) as (ready, wire):
        row = run(ready, bracketed, [net_robustness >= 0.5]).rulings[0].trials.rows[0]

    assert {v.answer for v in (*row.clean, *row.perturbed)} == {"good"}
    with_schema = {"response_format" in seen.body: "[[brackets]]" in seen.messages[-1][1] for seen in wire.judged}
    assert with_schema == {True: False, False: True}


def test_the_judge_itself_says_how_it_asks():
    """Form and scale are those of the judge, and giving them back changes nothing that it sends or reads."""
    judge = PromptedJudge("j", "score", Scale(1.0, 5.0), OWN, Format("tag"), Server("openai", "tiny", retries=0))

    assert (judge.asks.form, judge.asks.scale) == ("tag", Scale(1.0, 5.0))
    same = judge.with_prompt(judge.asks)
    assert (same.fingerprint, same.form, same.prompt) == (judge.fingerprint, judge.form, judge.prompt)
    assert judge.with_prompt(replace(judge.asks, scale=Scale(0.0, 4.0))).fingerprint != judge.fingerprint


def test_a_hidden_history_is_named_for_what_it_is():
    """A judge that is shown no earlier drafts is said to be shown none."""
    drafts = perturbation(bias="refinement-aware", expects=Expects.SAME)(
        lambda case, rng: replace(case, answers=tuple(replace(a, history=("A draft.",)) for a in case.answers))
    )
    with judging(knowing, cases=[pair("c1"), pair("c2")]) as (ready, _):
        assert decided(run(ready, drafts, ROBUST)) == (Outcome.NOT_TESTED, "the judge is not shown the earlier drafts")
