"""A judge that cannot be read is asked no more after its first replies; one that can be, now and then, is asked on."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from calm.core.reasons import Kind, reason_of
from calm.core.verdict import Criteria, NoReply, Preferred, Refused, Unreadable, readable
from calm.engine.asks import LOOKS, Legibility, PlainQuestion
from calm.errors import JudgeError
from calm.judges.python import PythonJudge
from calm.models.wire import Limits, Reply
from tests.planted import Asking, Local, Planted, chance, engine, pairs


def asked(judge, cases, *, ask=1):
    """Return questions about cases as they are."""
    return [PlainQuestion(judge, case, ask) for case in cases]


def silent(body, number):
    """Reply with nothing."""
    return Reply("", model="m-1")


def fault(running, questions):
    """Return why a judge is asked no more."""
    with pytest.raises(JudgeError) as caught:
        running.ask_each(questions)
    return reason_of(caught.value)


def test_a_judge_that_cannot_be_read_is_not_paid_in_full():
    """Of 2,000 questions, no more are asked than the first look wants, and those in flight."""
    server = Local(silent, limits=Limits(concurrency=8))
    judge = Asking(server)

    with engine() as running:
        why = fault(running, asked(judge, pairs(2000)))
        made = len(server.begun)
        later = fault(running, asked(judge, pairs(50), ask=2))

    assert LOOKS[0][0] <= made <= LOOKS[0][0] + 8
    assert (why.kind, why.details[1:3]) == (Kind.JUDGE_UNREAD, (12, 12))
    assert later == why
    assert len(server.begun) <= made + 8


def test_one_case_asked_often_is_one_reply():
    """A judge that cannot judge five of its cases is no judge that cannot be read."""
    judge = Planted(lambda case, ask: Unreadable("no") if case.id < "c005" else Preferred("good"))

    with engine() as running:
        for ask in range(8):
            found = running.ask_each(asked(judge, pairs(40)[:5], ask=ask))
        rest = running.ask_each(asked(judge, pairs(40)))

    assert all(not readable(one.verdict) for one in found)
    assert len(rest) == 40


def test_only_questions_about_cases_as_they_are_count():
    """An edit may leave every reply unread: that is a result, and no reason to stop."""
    judge = Planted(lambda case, ask: Unreadable("no"))

    with engine() as running:
        found = running.ask(judge, [(case, 1) for case in pairs(200)])

    assert len(found) == 200


@pytest.mark.parametrize("verdict", [Refused("I would rather not"), JudgeError("the server is down")])
def test_refusals_and_errors_of_the_server_do_not_count(verdict):
    """Each has a rate, or a reason, of its own."""

    def rule(case, ask):
        if isinstance(verdict, JudgeError):
            raise verdict
        return verdict

    with engine() as running:
        assert len(running.ask_each(asked(Planted(rule), pairs(200)))) == 200


@pytest.mark.parametrize("returned", ["nothing", "first"])
def test_code_that_raises_or_returns_no_verdict_is_asked_no_more(returned):
    """After twelve cases; the reason says what the code did, and about which case first."""

    def judge(case):
        return returned if returned == "first" else {}[case.id]

    judge.quick = True
    with engine() as running:
        why = fault(running, asked(PythonJudge(judge, "m:judge"), pairs(2000)))
        made = running.ledger.calls["made"]

    assert (why.kind, why.details[1:3]) == (Kind.JUDGE_FAILS, (12, 12))
    assert made <= 12 + 1
    said = "got 'first'; known: A, B, tie" if returned == "first" else "test_legibility.py, line"
    assert said in str(why)
    assert str(why).count("first about case") == 1


def test_code_that_raises_now_and_then_is_asked_on():
    """Three of ten cases are lost, for one reason, whatever the exception says."""

    def judge(case):
        if chance(case.id, 7).random() < 0.3:
            raise KeyError(case.id)
        return "A"

    judge.quick = True
    cases = pairs(400)
    with engine() as running:
        found = running.ask_each(asked(PythonJudge(judge, "m:judge"), cases))

    reasons = {one.verdict.reason for one in found if isinstance(one.verdict, NoReply)}
    assert [reason.kind for reason in reasons] == [Kind.CODE_RAISED]


def test_a_rubric_of_which_nothing_could_be_read_counts():
    """None for every criterion is no verdict."""
    judge = Planted(lambda case, ask: Criteria({"one": None, "two": None}), task="rubric")

    with engine() as running:
        assert fault(running, asked(judge, pairs(40))).has(Kind.JUDGE_UNREAD)


def test_a_judge_that_is_unread_now_and_then_is_asked_on():
    """Three of ten replies hold no verdict: the run ends by chance in one of a million, and not with this seed."""
    judge = Planted(lambda case, ask: Unreadable("no") if chance(case.id, 7).random() < 0.3 else Preferred("good"))

    with engine() as running:
        found = running.ask_each(asked(judge, pairs(400)))

    assert 80 <= sum(not readable(one.verdict) for one in found) <= 160


def ended(unread):
    """Return the chance that a judge is stopped, summed over all courses of its first replies."""
    reached = {(0, 0): Fraction(1)}
    stopped = Fraction(0)
    for number in range(1, LOOKS[-1][0] + 1):
        after = {}
        for (seen, count), share in reached.items():
            for one, chance_of in ((1, unread), (0, 1 - unread)):
                key = seen + 1, count + one
                after[key] = after.get(key, Fraction(0)) + share * chance_of
        least = dict(LOOKS).get(number, number + 1)
        stopped += sum(share for (_, count), share in after.items() if count >= least)
        reached = {key: share for key, share in after.items() if key[1] < least}
    return stopped


def test_the_chance_of_a_stop_is_what_the_page_says():
    """By share of replies that hold no verdict: .5, .3, .1, and all."""
    assert float(ended(Fraction(1, 2))) == pytest.approx(0.0014, abs=5e-5)
    assert float(ended(Fraction(3, 10))) == pytest.approx(1.04e-6, rel=0.01)
    assert float(ended(Fraction(1, 10))) == pytest.approx(1.0e-12, rel=0.01)
    assert ended(Fraction(1)) == 1


def test_the_count_is_that_of_the_looks():
    """Every course of the first replies with at most one that is read, and the bound of the last look."""
    for place in range(20):
        watch, judge = Legibility(), Planted(lambda case, ask: Unreadable("no"))
        for number, case in enumerate(pairs(20)):
            watch.note("j", judge, case, Preferred("good") if number == place else Unreadable("no"))
        assert watch.fault("j") is not None  # 19 of 20, or 12 of the first 12
    for read in (3, 4):
        watch = Legibility()
        for number, case in enumerate(pairs(30)):
            watch.note("j", judge, case, Preferred("good") if number < read else Unreadable("no"))
        assert (watch.fault("j") is not None) == (read == 3)


@dataclass
class Silent:
    """A callable that returns what it is given."""

    value: object
    task: str = "pairwise"
    quick: bool = True

    def __call__(self, case):
        return self.value


def test_a_callable_that_returns_nothing_is_told_what_it_returned():
    """The message says what came, and what is expected."""
    with engine() as running:
        why = fault(running, asked(PythonJudge(Silent(None), name="mine"), pairs(100)))

    assert "12 of its first 12 replies hold no verdict" in str(why)
    assert "mine: expected an answer's id or 'tie', got None from the callable" in str(why)
