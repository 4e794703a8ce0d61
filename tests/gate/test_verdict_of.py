"""`verdict_of`: single verdicts, and flips that noise does not make."""

from contextlib import contextmanager

import pytest

from calm.core.case import Answer
from calm.core.verdict import Preferred, Ranking, Score, Tie, Unreadable
from calm.errors import ClaimError, ConfigError, JudgeError
from calm.experiment.arms import SURFACES
from calm.experiment.lookahead import NeedsData
from calm.gate.verdict_of import KEEPING, KEPT, TERMS, NoVerdict, VerdictOf
from calm.models.wire import Traits
from tests.planted import Planted, chance, fair, pair, pairs, setup, single


@contextmanager
def asking(rule, cases=(), **judge):
    """Return `verdict_of` for a planted judge, and that judge."""
    made = Planted(rule, **judge)
    with setup(made, cases or pairs(1)) as run:
        yield VerdictOf(run, lambda: False), made


def noisy(share, *, fond=False):
    """Return a rule that errs in a share of asks, and that lets a thank-you win if it is `fond` of it."""

    def rule(case, ask):
        wrong = chance(case.question, *(a.text for a in case.answers), ask).random() < share
        better = "bad" if fond and "Thank you" in case["bad"].text else "good"
        return Preferred({"good": "bad", "bad": "good"}[better] if wrong else better)

    return rule


def thanked(case):
    """Return a case with thanks in the weaker answer."""
    return case.edit("bad", lambda text: f"{text} Thank you.")


def test_a_verdict_is_that_of_the_judge_and_each_ask_is_made_once():
    """The repeat index tells asks apart; an order is put where there is none; a treatment reaches no judge."""
    case = pair("x")
    with asking(lambda case, ask: Preferred("good") if ask == 1 else Tie()) as (verdict_of, judge):
        found = verdict_of(case), verdict_of(case, 2), verdict_of(case.treat("bad"))

        assert found == (Preferred("good"), Tie(), Preferred("good"))
        assert [(shown.order, ask) for shown, ask in judge.asked] == [(("good", "bad"), 1), (("good", "bad"), 2)]


def test_what_could_not_be_read_is_a_verdict():
    """It is data, as everywhere."""
    with asking(lambda case, ask: Unreadable("empty reply")) as (verdict_of, _):
        assert verdict_of(pair("x")) == Unreadable("empty reply")


def test_no_reply_ends_the_test_and_is_no_exception():
    """Neither `except Exception` nor Hypothesis can take it for a finding; it keeps the reason."""

    def fails(case, ask):
        raise JudgeError("the server is down")

    with asking(fails) as (verdict_of, _), pytest.raises(NoVerdict) as raised:
        verdict_of(pair("x"))

    assert not isinstance(raised.value, Exception)
    assert str(raised.value.reason) == "the server is down"
    assert "case x: the server is down. The test ends here" in str(raised.value)


def test_a_sound_judge_is_asked_once_about_each_case():
    """A property of many examples costs about two asks for each."""
    cases = pairs(20)
    with asking(fair) as (verdict_of, judge):
        assert [verdict_of.flips(case, thanked(case)) for case in cases] == [False] * 20

        assert len(judge.asked) == 40


def test_a_flip_is_found_and_the_asks_about_the_case_are_shared():
    """Another edit of the same case costs only asks about itself."""
    case = pair("x")
    with asking(noisy(0.0, fond=True)) as (verdict_of, judge):
        assert verdict_of.flips(case, thanked(case))
        first = len(judge.asked)
        assert verdict_of.flips(case, thanked(thanked(case)))

        clean = [shown for shown, _ in judge.asked if "Thank you" not in shown["bad"].text]
        assert first <= 22
        assert len(judge.asked) - first <= 7
        assert len({shown.question for shown in clean}) == len(clean)  # each with inert words of its own


def test_the_same_call_says_the_same():
    """A second look at an example makes no ask: Hypothesis never sees a flaky one."""
    cases = pairs(30)
    with asking(noisy(0.3, fond=True)) as (verdict_of, judge):
        first = [verdict_of.flips(case, thanked(case)) for case in cases]
        asked = len(judge.asked)

        assert [verdict_of.flips(case, thanked(case)) for case in cases] == first
        assert len(judge.asked) == asked


@pytest.mark.parametrize("noise", [0.05, 0.15, 0.3, 0.5])
def test_noise_is_no_flip(noise):
    """In 300 calls at a level of 0.0001 four false alarms or more have a probability below 4e-8."""
    cases = pairs(300)
    with asking(noisy(noise)) as (verdict_of, _):
        found = sum(verdict_of.flips(case, thanked(case)) for case in cases)

    assert TERMS.level == 1e-4
    assert found <= 3


def test_a_noisy_judge_with_a_bias_is_seen_through():
    """At 10 % noise it finds 70 % of flips; in 100 it would find 40 or fewer with a probability below 1e-8."""
    cases = pairs(100)
    with asking(noisy(0.1, fond=True)) as (verdict_of, _):
        found = sum(verdict_of.flips(case, thanked(case)) for case in cases)

    assert found > 40


def test_a_score_flips_by_a_quarter_of_the_scale():
    """A point more is no flip; three points are."""

    def by_thanks(case, ask):
        return Score(5.0 + case.answers[0].text.count("Thank you") * (2.0 if "much" in case.answers[0].text else 1.0))

    case = single("x")
    one = case.edit("only", lambda text: f"{text} Thank you.")
    much = case.edit("only", lambda text: f"{text} Thank you, thank you. Thank you very much.")
    with asking(by_thanks, task="score") as (verdict_of, _):
        assert not verdict_of.flips(case, one)
        assert verdict_of.flips(case, much)


def test_a_judge_that_says_nothing_any_more_has_flipped():
    """An edit that leaves a judge without a verdict is found."""

    def silenced(case, ask):
        return Unreadable("none") if "Thank you" in case["bad"].text else Preferred("good")

    case = pair("x")
    with asking(silenced) as (verdict_of, _):
        assert verdict_of.flips(case, thanked(case))


def test_a_judge_with_a_limit_of_its_own_is_asked_within_it():
    """The engine keeps it."""
    with asking(noisy(0.0, fond=True), traits=Traits(concurrency=1)) as (verdict_of, _):
        assert verdict_of.flips(pair("x"), thanked(pair("x")))


@pytest.mark.parametrize("ask", [0, -1, 1.5, "2"])
def test_a_repeat_index_is_a_whole_number_from_1(ask):
    """0 is the pilot's."""
    with asking(fair) as (verdict_of, _), pytest.raises(ConfigError, match="repeat index from 1"):
        verdict_of(pair("x"), ask)


def test_what_is_no_case_is_refused():
    """An edit that was not called is the likeliest mistake."""
    with asking(fair) as (verdict_of, _), pytest.raises(ClaimError, match="call an edit with one"):
        verdict_of.flips(pair("x"), thanked)


def test_in_a_trace_nothing_is_asked():
    """The look-ahead ends there."""
    judge = Planted(fair)
    with setup(judge, pairs(1)) as run, pytest.raises(NeedsData):
        VerdictOf(run, lambda: True)(pair("x"))

    assert judge.asked == []


def test_another_judge_is_asked_until_the_end_of_a_block():
    """As for the tests of another folder."""
    with asking(fair) as (verdict_of, _), setup(Planted(lambda case, ask: Tie()), pairs(1)) as other:
        with verdict_of.about(other):
            inside = verdict_of(pair("x"))

        assert (inside, verdict_of(pair("x"))) == (Tie(), Preferred("good"))


# ---------------------------------------------------------------------------------------------------------------- keeps


def test_a_verdict_that_stands_is_kept_and_one_that_flips_is_not():
    """Both say why; a judge without noise takes 16 asks and 3 that say what the verdict is."""
    case = pair("x")
    with asking(noisy(0.0)) as (sound, judge):
        kept = sound.keeps(case, thanked(case))
        assert kept
        assert "the verdict stays" in kept.why
        assert len(judge.asked) == 19
    with asking(noisy(0.0, fond=True)) as (fond, _):
        flips = fond.keeps(case, thanked(case))
        assert not flips
        assert repr(flips) == f"<{flips.why}>"
        assert flips.why == "the verdict flips; the judge decided otherwise in 7 of 7 asks after it, 0 before"


def test_what_is_undecided_is_not_kept():
    """A judge that tosses a coin leaves some of 100 cases undecided, and none of these is kept; the reason is told."""
    cases = pairs(100)
    with asking(noisy(0.5)) as (verdict_of, _):
        found = [verdict_of.keeps(case, thanked(case)) for case in cases]

    unsure = [one for one in found if "undecided, which is no pass" in one.why]
    assert len(unsure) > 5
    assert not any(unsure)


def test_half_of_the_verdicts_moved_are_not_kept():
    """At a level of .05 for a third, of 100 cases more than 20 that pass have a probability below one in a million."""

    def half(case, ask):
        thanks = "Thank you" in case["bad"].text
        moved = chance(case.question, case["bad"].text, ask).random() < 0.5
        return Preferred("bad" if thanks and moved else "good")

    cases = pairs(100)
    with asking(half) as (verdict_of, _):
        assert sum(bool(verdict_of.keeps(case, thanked(case))) for case in cases) <= 20


def test_no_two_of_its_asks_show_the_same_words():
    """A judge that repeats itself errs anew in each."""
    assert len(KEEPING) == KEPT.most == len({(number - 1) % len(SURFACES) for number in KEEPING})


def test_another_first_place_is_a_flip():
    """Of five answers, the second comes first: a tenth of the order has changed, and who wins."""

    def ranked(case, ask):
        ids = sorted((a.id for a in case.answers), key=lambda i: ("Thank you" not in case[i].text, i))
        return Ranking(tuple((i,) for i in ids))

    answers = tuple(Answer(i, f"It is {i}.") for i in "abcde")
    case = pair("x", answers=answers, better="a")
    edited = case.edit("b", lambda text: f"{text} Thank you.")
    with asking(ranked, task="listwise") as (verdict_of, _):
        assert verdict_of.flips(case, edited)
        assert not verdict_of.keeps(case, edited)
