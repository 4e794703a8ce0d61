"""Panels, peer rank and discussion: who decides, who is silent, and when it ends."""

import json
from dataclasses import replace

import pytest

from calm.cases import bundled
from calm.core.claims import Outcome
from calm.core.measures import gain, net_robustness
from calm.core.verdict import Preferred, Score, Tie, Unreadable
from calm.errors import ConfigError
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.perturbations.planted import planted
from calm.perturbations.self_authorship import claim_authorship
from calm.plugins.mitigate.mitigations import mitigated
from calm.statistics.ratings import CAP, peer_rank
from tests.judges.judging import PAIR, SINGLE, judge_at, system, user, verdict
from tests.planted import Planted, setup
from tests.plugins.mitigate.judging import asked

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


def test_who_finds_the_answers_likely_weighs_less():
    """The tags of a case hold each member's log-perplexity; without them all weigh the same."""
    case = replace(PAIR, tags={"log_perplexity:a:a": "0.2", "log_perplexity:a:b": "3", "log_perplexity:b:a": "2.5"})

    assert verdict(panel("perplexity-panel:b"), case).answer == "b"
    assert isinstance(verdict(panel("perplexity-panel:b"), PAIR), Tie)


RECORD = {"schema": "calm-self-preference/1", "log_perplexities": {"a": {"Which is right?": {"me": 0.2, "you": 3.0}}}}


def test_a_record_tells_who_finds_the_answers_likely(tmp_path, monkeypatch):
    """Values are matched by question and author: 0.2 of the first member stands against 2.5 of the second."""
    monkeypatch.chdir(tmp_path)
    values = {**RECORD["log_perplexities"], "b": {"Which is right?": {"you": 2.5}}}
    (tmp_path / "record.json").write_text(json.dumps({**RECORD, "log_perplexities": values}))
    written = replace(
        PAIR, answers=tuple(replace(a, author=w) for a, w in zip(PAIR.answers, ("me", "you"), strict=True))
    )
    judge = panel("perplexity-panel:b+record.json")

    found = verdict(judge, written)

    assert found.answer == "b"
    assert found.probabilities == pytest.approx({"a": 0.2 / 2.7, "b": 2.5 / 2.7, "tie": 0})
    assert not judge.remarks.notes
    assert judge.fingerprint != panel("perplexity-panel:b").fingerprint
    assert isinstance(verdict(judge, replace(written, question="Another?")), Tie)
    assert "in 1 of 2 asks no member has a log-perplexity" in str(judge.remarks.notes[0])


def test_a_record_without_log_perplexities_is_refused(tmp_path, monkeypatch, subtests):
    """So is a value that is none, and a second record."""
    monkeypatch.chdir(tmp_path)
    for record, name, told in [
        ({"schema": "calm-self-preference/1"}, "record.json", "with 'log_perplexities', and it has none"),
        ({"log_perplexities": {"a": {"q": {"me": -1}}}}, "record.json", "got -1.0 by 'a' for 'me' on 'q'"),
        (
            {"log_perplexities": {"a": {"q": {"me": "low"}}}},
            "record.json",
            "log-perplexities as `calm",
        ),
        (RECORD, "record.json+record.json", "expects one record"),
    ]:
        with subtests.test(told):
            (tmp_path / "record.json").write_text(json.dumps(record))

            with pytest.raises(ConfigError, match=told):
                panel(f"perplexity-panel:b+{name}")


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
