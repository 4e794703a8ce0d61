"""What the code of users returns and raises as a judge: functions, classes and scorers are checked alike."""

import asyncio
import concurrent.futures

import pytest

from calm import Answer, Case, JudgeError, Preferred, Refused, Score, Tie, Unreadable
from calm.core.reasons import Kind, reason_of
from calm.core.verdict import NoReply, Scale
from calm.engine.asks import PlainQuestion
from calm.judges.panel import panel
from calm.judges.python import PythonJudge, judge_of
from tests.planted import Planted, engine, pairs, tied

PAIR = Case("c1", "Why?", (Answer("good", "So."), Answer("bad", "No.")), better="good").present(order=("bad", "good"))
ONE = Case("c1", "Why?", (Answer("only", "So."),))
RAISED = (
    asyncio.CancelledError,
    asyncio.TimeoutError,
    concurrent.futures.CancelledError,
    GeneratorExit,
    StopIteration,
    StopAsyncIteration,
    SystemExit,
    pytest.skip.Exception,
    pytest.fail.Exception,
    pytest.exit.Exception,
)


class Own:
    """A class of a user's own: its verdicts are what a function makes of a case."""

    name, scale, fingerprint, about, endpoints = "own", Scale(), None, {}, ()

    def __init__(self, function, task="pairwise"):
        self.function, self.task = function, task

    def sees(self, case):
        """Return the case."""
        return case

    async def judge(self, case, send):
        """Return what the function makes of it."""
        return self.function(case)


def judges(function, task="pairwise"):
    """Yield a function in each of its forms, as judges."""

    async def waits(case):
        return function(case)

    def in_thread(case):
        return function(case)

    def quick(case):
        return function(case)

    def later(case):
        return waits(case)

    quick.quick = later.quick = True
    for one in (waits, in_thread, quick, later):
        one.task = task
        yield one.__name__, PythonJudge(one)
    yield "class", judge_of(Own(function, task))


def kind_of(judge, case):
    """Return why an ask of a judge fails; the judge has it in its remarks."""
    with pytest.raises(JudgeError) as caught:
        asyncio.run(judge.judge(case, None))
    assert judge.remarks.unread
    return reason_of(caught.value).kind


@pytest.mark.parametrize(
    ("value", "task", "case"),
    [
        (Preferred("Z"), "pairwise", PAIR),
        (Preferred(None), "pairwise", PAIR),
        ("Z", "pairwise", PAIR),
        (Score(3.0), "pairwise", PAIR),
        (Score(-90.0), "score", ONE),
        (Score(float("nan")), "score", ONE),
        (Preferred("A"), "score", ONE),
        (object(), "pairwise", PAIR),
    ],
)
def test_what_is_no_verdict_is_one_of_no_judge(subtests, value, task, case):
    """An answer that the case has not, a number off the scale, and a verdict of another task are failed asks."""
    for form, judge in judges(lambda _: value, task):
        with subtests.test(form=form):
            assert kind_of(judge, case) is Kind.VALUE_WRONG


def test_what_stands_for_a_verdict_is_one_of_every_judge(subtests):
    """A letter becomes the id of its answer; None could not be read; what is a verdict is left as it is."""
    for value, verdict in (("A", Preferred("bad")), ("tie", Tie()), (Refused("no"), Refused("no"))):
        for form, judge in judges(lambda _, value=value: value):
            with subtests.test(value=value, form=form):
                assert asyncio.run(judge.judge(PAIR, None)) == verdict
    for form, judge in judges(lambda _: None):
        with subtests.test(form=form):
            assert isinstance(asyncio.run(judge.judge(PAIR, None)), Unreadable)
            assert [one.kind for one in judge.remarks.unread] == [Kind.VALUES_UNREAD]
    looked_up = judge_of(Own(lambda _: Preferred("bad")))
    assert asyncio.run(looked_up.judge(PAIR, None)) == Preferred("bad")


@pytest.mark.parametrize("raised", RAISED)
def test_what_code_raises_is_a_failed_ask(subtests, raised):
    """Whatever would end a task, a loop or a test, too."""

    def fails(case):
        raise raised("by itself")

    for form, judge in judges(fails):
        with subtests.test(form=form):
            assert kind_of(judge, PAIR) is Kind.CODE_RAISED


def test_a_group_of_exceptions_is_a_failed_ask(subtests):
    """So is one that holds what is no `Exception`."""

    def fails(case):
        raise BaseExceptionGroup("all", [SystemExit(1), asyncio.CancelledError()])

    for form, judge in judges(fails):
        with subtests.test(form=form):
            assert kind_of(judge, PAIR) is Kind.CODE_RAISED


@pytest.mark.parametrize("wait", [True, False])
def test_code_that_cancels_its_own_task_is_a_failed_ask(subtests, wait):
    """It is not the task of the engine."""

    async def stops(case, send=None):
        asyncio.current_task().cancel()
        if wait:
            await asyncio.sleep(5)

    own = Own(None)
    own.judge = stops
    for form, judge in (("function", PythonJudge(stops)), ("class", judge_of(own))):
        with subtests.test(form=form):
            assert kind_of(judge, PAIR) is Kind.CODE_RAISED


def test_a_stop_of_the_ask_stops_the_code(subtests):
    """Code that waits is cancelled with the ask, and its `CancelledError` is no fault of it."""

    async def waits(case, send=None):
        await asyncio.Event().wait()

    async def stopped(judge):
        task = asyncio.create_task(judge.judge(PAIR, None))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    own = Own(None)
    own.judge = waits
    for form, judge in (("function", PythonJudge(waits)), ("class", judge_of(own))):
        with subtests.test(form=form):
            assert asyncio.run(stopped(judge))
            assert judge.remarks.unread == ()


def test_a_run_goes_on_after_one_ask_was_cancelled_by_its_code(subtests):
    """One ask of 30 has no reply, in a panel, too; nobody waits for ever."""

    def once(case):
        if case.id == "c005":
            raise asyncio.CancelledError
        return "A"

    def other(case):
        return "A"

    for form, judge in (*judges(once), ("panel", panel([PythonJudge(other), judge_of(Own(once))]))):
        with subtests.test(form=form), engine() as running:
            found = running.ask_each([PlainQuestion(judge, case, 1) for case in pairs(30)])
            assert sum(isinstance(one.verdict, NoReply) for one in found) == 1


def test_code_that_says_what_it_sees_stops_nobody():
    """Whoever waits gets an error, which is no stop."""

    class Blind(Own):
        fingerprint = "blind"

        def sees(self, case):
            raise asyncio.CancelledError

    with engine() as running, pytest.raises(RuntimeError):
        running.ask_each([PlainQuestion(judge_of(Blind(lambda case: "A")), case, 1) for case in pairs(3)])
    with engine() as running:
        assert len(running.ask_each([PlainQuestion(Planted(tied), case, 1) for case in pairs(3)])) == 3
