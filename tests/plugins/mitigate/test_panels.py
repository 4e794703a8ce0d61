"""Panels, peer rank and discussion: who decides, who is silent, and when it ends."""

import re
from contextlib import contextmanager
from dataclasses import replace

import pytest

from calm.cases import bundled
from calm.core.claims import Outcome
from calm.core.measures import gain, net_robustness
from calm.core.reasons import Kind, reason_of
from calm.core.verdict import NoReply, Preferred, Score, Tie, Unreadable
from calm.errors import ConfigError
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.perturbations.planted import planted
from calm.perturbations.self_authorship import claim_authorship
from calm.plugins.mitigate.mitigation import NotApplicable
from calm.plugins.mitigate.mitigations import mitigated
from calm.statistics.ratings import CAP, peer_rank
from tests.judges.judging import PAIR, SINGLE, judge_at, system, user, verdict
from tests.planted import Planted, engine, setup
from tests.plugins.mitigate.judging import asked, member
from tests.servers import Answer, wire_server

SAYS = {
    "a": Planted(lambda case, ask: Preferred("a"), name="a"),
    "b": Planted(lambda case, ask: Preferred("b"), name="b"),
    "b2": Planted(lambda case, ask: Preferred("b"), name="b2"),
    "mute": Planted(lambda case, ask: Unreadable("hm"), name="mute", fingerprint="mute"),
}


def panel(name, inner="a"):
    """Return a judge with other planted ones beside it."""
    return mitigated(SAYS[inner], [name], SAYS.__getitem__)


def test_the_majority_decides():
    """Two against one; with one on each side it is a tie."""
    assert verdict(panel("panel:b+b2"), PAIR) == Preferred("b")
    assert isinstance(verdict(panel("panel:b"), PAIR), Tie)


def test_a_judge_is_no_panel_with_itself(subtests):
    """Its replies are the same ones: they would count twice, and say nothing new."""
    for name in ["panel:b+b", "panel:a", "panel-mean:b+a", "discussion:a", "perplexity-panel:a"]:
        with subtests.test(name=name):
            with pytest.raises(ConfigError, match=r"expected different judges, got [ab] 2 times"):
                panel(name)


def test_a_silent_member_does_not_decide_and_is_named():
    """The others decide without it, and the run is told."""
    judge = panel("panel:b2+mute", inner="b")

    found = [verdict(judge, PAIR, ask) for ask in range(5)]

    assert found == [Preferred("b")] * 5
    assert any("mute" in str(note) and "5 of 5" in str(note) for note in judge.remarks.notes)
    assert tuple(map(str, judge.remarks.agreement)) == ("panel b: its members agree: 1.00 of pairs of verdicts alike",)


def test_a_panel_that_is_half_silent_has_no_verdict():
    """One member of two is not enough."""
    assert isinstance(verdict(panel("panel:mute"), PAIR), Unreadable)


# ---------------------------------------------------------------------------------------------------- perplexity panel


def first_is_likely(text):
    """Return the log-probability of each word: one finds the first answer of the pair likely, the other one not."""
    return -0.2 if "blue" in text or "Paris" in text else -3.0


def never_likely(text):
    """Return the same of a model that finds nothing likely."""
    return -2.5


def slot_of(word):
    """Return what always prefers the answer with a word in it."""
    return lambda turns: "A" if re.search(rf'label="A">\n[^<]*{word}', user(turns)) else "B"


@contextmanager
def weighed(one, two):
    """Yield a perplexity panel of two judges, of whom one says blue and one green, its engine, and the servers."""
    with wire_server(member("one", one, slot_of("blue"))) as first, wire_server(two) as second, engine() as running:
        made = mitigated(
            judge_at(first.url, name="one"), ["perplexity-panel:two"], lambda spec: judge_at(second.url, name=spec)
        )
        yield made, running, (first, second)


def kinds(wire):
    """Return how many calls for log-probabilities, and how many for verdicts, a server got."""
    likely = sum("prompt_logprobs" in seen.body for seen in wire.judged)
    return likely, len(wire.judged) - likely


def test_who_finds_the_answers_likely_weighs_less():
    """0.2 nats a token stand against 2.5; each server is asked about each answer once, whatever the repeats."""
    with weighed(first_is_likely, member("two", never_likely, slot_of("green"))) as (judge, running, wires):
        found = [one.verdict for one in running.ask(judge, [(PAIR, ask) for ask in (1, 2, 3)])]

    assert [one.answer for one in found] == ["b"] * 3
    assert found[0].probabilities == pytest.approx({"a": 0.2 / 2.7, "b": 2.5 / 2.7, "tie": 0})
    assert [kinds(wire) for wire in wires] == [(1 + 2, 3)] * 2
    assert not judge.remarks.notes
    assert "member 1 (one) 0.07, member 2 (two) 0.93" in " ".join(map(str, judge.remarks.agreement))


def test_an_answer_is_likely_after_its_question_and_its_fields():
    """So are they sent, and the answer is the model's own turn."""
    case = replace(PAIR, fields={"policy": "Be kind."})
    with weighed(first_is_likely, member("two", never_likely, slot_of("green"))) as (judge, running, (wire, _)):
        running.ask(judge, [(case, 1)])

    asked = {seen.messages[-1][1]: seen.messages[:-1] for seen in wire.seen if "prompt_logprobs" in seen.body}
    assert asked["The sky is green."] == [("user", "policy:\nBe kind.\n\nWhich is right?")]


@pytest.mark.parametrize(
    "two",
    [
        member("two", lambda text: None, slot_of("green")),
        lambda turns, body: (
            Answer(status=400, message="prompt_logprobs: unknown parameter")
            if "prompt_logprobs" in body
            else Answer("[[B]]" if "blue" in user(turns).partition('label="B"')[0] else "[[A]]")
        ),
    ],
    ids=["ignores", "refuses"],
)
def test_a_member_whose_server_gives_no_log_probabilities_has_the_mean_weight(two):
    """It is asked for them once in a run, it votes all the same, and the run is told."""
    with weighed(first_is_likely, two) as (judge, running, (_, wire)):
        found = [one.verdict for one in running.ask(judge, [(PAIR, ask) for ask in (1, 2, 3)])]

    assert [type(one) for one in found] == [Tie] * 3
    assert kinds(wire) == (1, 3)
    assert [note.kind for note in judge.remarks.notes] == [Kind.PANEL_MEAN_WEIGHT]
    assert "member 2 (two)" in str(judge.remarks.notes[0])
    assert "in 3 of 3 asks" in str(judge.remarks.notes[0])


def test_where_no_server_gives_log_probabilities_no_verdict_is_asked_for():
    """The reason names what to do; only the one call to each server is paid for."""
    with weighed(lambda text: None, member("two", lambda text: None)) as (judge, running, wires):
        found = [one.verdict for one in running.ask(judge, [(PAIR, 1), (PAIR, 2)])]

    assert {reason_of(one.reason).kind for one in found} == {Kind.PANEL_UNABLE}
    assert [kinds(wire) for wire in wires] == [(1, 0)] * 2


def test_a_server_that_fails_is_not_taken_for_one_that_gives_none():
    """A weight that depends on luck would be another judge: the ask has no reply, and says who failed."""
    down = lambda turns, body: Answer(status=500) if "prompt_logprobs" in body else Answer("[[A]]")  # noqa: E731
    with weighed(first_is_likely, down) as (judge, running, _):
        [found] = running.ask(judge, [(PAIR, 1)])

    assert isinstance(found.verdict, NoReply)
    assert "member 2 (two)" in str(found.verdict.reason)
    assert "500" in str(found.verdict.reason)


def test_log_probabilities_that_are_none_weigh_nothing(subtests):
    """Infinite ones, and tokens in which the answer does not stand; where nobody has a weight, all weigh the same."""
    real = dict.fromkeys(["The capital of France is Paris."], -1.0)
    for what, likely, weighs in [
        ("infinite", lambda text: real.get(text, -1e999), False),
        ("certain", lambda text: 0.0, True),
    ]:
        with subtests.test(what), weighed(likely, member("two", likely, slot_of("green"))) as (judge, running, _):
            [found] = running.ask(judge, [(PAIR, 1)])

            assert isinstance(found.verdict, Tie)
            assert [note.kind for note in judge.remarks.notes] == ([] if weighs else [Kind.PANEL_UNWEIGHED])


def test_a_perplexity_panel_needs_a_server_that_may_say_it():
    """Python judges and the providers' own servers are known beforehand to say nothing: nothing is asked."""
    with pytest.raises(NotApplicable, match="no member's server gives log-probabilities"):
        panel("perplexity-panel:b")


def test_unlike_judges_repair_a_bias_that_one_of_them_has():
    """A judge that falls for claims of its own authorship does not decide among two that do not."""
    judge = planted("planted:self-authorship=0.8,seed=1")
    others = {"p": planted("planted:seed=2"), "q": planted("planted:seed=3")}
    cases = bundled("pairwise")[:80]
    claims = [net_robustness >= 0.9, gain <= 0.2]

    outcomes = []
    for one in (judge, mitigated(judge, ["panel:p+q"], others.__getitem__)):
        with setup(one, cases, design=Design(2, 2)) as ready:
            found = run(ready, claim_authorship("planted"), claims)
            outcomes.append({d.decision.outcome for d in found.rulings})

    assert outcomes[0] >= {Outcome.FAIL}
    assert outcomes[1] == {Outcome.PASS}


# ------------------------------------------------------------------------------------------------------------ peer rank


def test_peer_rank_finds_the_best_member():
    """Who wins in the eyes of all weighs most, at a fixed point."""
    found = peer_rank({0: {1: 0.5, 2: 0.0}, 1: {0: 1.0, 2: 0.0}, 2: {0: 1.0, 1: 0.5}}, 3)

    assert found.converged
    assert found.values[0] > found.values[1] > found.values[2]
    assert sum(found.values) == pytest.approx(1.0)


def test_peer_rank_rests_on_a_cycle_of_preferences():
    """Each prefers the next: nobody weighs more."""
    found = peer_rank({0: {1: 1.0, 2: 0.0}, 1: {2: 1.0, 0: 0.0}, 2: {0: 1.0, 1: 0.0}}, 3)

    assert found.converged
    assert found.values == pytest.approx((1 / 3,) * 3)


def test_peer_rank_stops_where_weights_go_to_and_fro():
    """Where they never come to rest, or nobody won anything, all weigh the same."""
    found = peer_rank({0: {1: 0.5, 2: 1.0}, 1: {0: 1.0, 2: 0.5}, 2: {0: 0.0, 1: 0.0}}, 3)
    none = peer_rank({}, 3)

    assert (found.converged, found.rounds, found.values) == (False, CAP, (1 / 3,) * 3)
    assert (none.converged, none.values) == (False, (1 / 3,) * 3)


def test_peer_rank_lets_the_better_answerer_decide():
    """Its members answer, review each other and vote: three answers, nine reviews, three verdicts."""

    def respond(messages, body):
        if "Answer the question" in system(messages):
            return {"best": "It is so.", "good": "Maybe.", "poor": "No."}[body["model"]]
        text = user(messages)
        for word in ("It is so.", "Maybe."):
            if word in text:
                return "[[A]]" if f'label="A">\n{word}' in text else "[[B]]"
        return "[[A]]" if body["model"] == "best" else "[[B]]"

    others = {m: lambda url, m=m: judge_at(url, name=m, model=m) for m in ("good", "poor")}
    found, seen = asked(respond, PAIR, "peer-rank:good+poor", others=others, model="best")

    assert found.answer == "a"
    assert len(seen) == 15


def test_peers_see_the_fields_of_the_case_and_are_ranked_once_in_a_run():
    """Who answers, and who reviews; a repeat asks for verdicts alone."""
    case = replace(PAIR, fields={"policy": "Be </field> kind."})
    with wire_server(member("one")) as first, wire_server(member("two")) as second, engine() as running:
        made = mitigated(
            judge_at(first.url, name="one"), ["peer-rank:two"], lambda spec: judge_at(second.url, name=spec)
        )
        running.ask(made, [(case, 1)])
        ranked = [[user(seen.messages) for seen in wire.judged] for wire in (first, second)]
        running.ask(made, [(case, 2), (case, 3)])
        asked = [len(wire.judged) for wire in (first, second)]

    assert [len(each) for each in ranked] == [1 + 1 + 1] * 2  # an answer, a review and a verdict
    assert asked == [3 + 2] * 2
    assert all("kind." in text and "Be </field>" not in text for each in ranked for text in each)


# ----------------------------------------------------------------------------------------------------------- discussion


def other(url):
    """Return the other judge of a discussion."""
    return judge_at(url, name="two", model="two")


def test_a_discussion_ends_where_they_agree():
    """One is won over by the other's review, at the first turn again."""

    def respond(messages, body):
        won = body["model"] == "two" or "<review>" in user(messages)
        return "Because. [[B]]" if won else "[[A]]"

    found, seen = asked(respond, PAIR, "discussion:two", others={"two": other}, model="one")

    assert found == Preferred("b", {"a": 0.0, "b": 1.0, "tie": 0.0})
    assert max(len(m) for m in seen) == 4  # system, prompt, own review, the other's
    assert any("Because." in user(m) for m in seen)


def test_a_discussion_that_goes_in_circles_stops_at_the_cap(subtests):
    """Each is won over by the other at every turn: no agreement, a tie."""
    for rounds in [1, 3]:
        with subtests.test(rounds=rounds):

            def respond(messages, body):
                turns = sum(role == "assistant" for role, _ in messages)
                return "[[A]]" if (body["model"] == "one") == (turns % 2 == 0) else "[[B]]"

            found, seen = asked(respond, PAIR, f"discussion:two+{rounds}", others={"two": other}, model="one")

            assert isinstance(found, Tie)
            assert max(sum(role == "assistant" for role, _ in m) for m in seen) == rounds


def test_a_review_cannot_leave_its_tags():
    """What the other judge quotes is neutralised."""

    def respond(messages, body):
        return "I was told </answer> so. [[B]]" if body["model"] == "two" else "[[A]]"

    _, seen = asked(respond, PAIR, "discussion:two+1", others={"two": other}, model="one")

    assert any("<\\/answer>" in user(m) for m in seen)


def test_scores_that_lie_near_each_other_agree():
    """A discussion of scores ends with their mean."""

    def respond(_, body):
        return "[[7]]" if body["model"] == "two" else "[[7.4]]"

    others = {"two": lambda url: judge_at(url, "score", name="two", model="two")}
    found, seen = asked(respond, SINGLE, "discussion:two", others=others, task="score", model="one")

    assert isinstance(found, Score)
    assert found.value == pytest.approx(7.2)
    assert len(seen) == 2
