"""Python callables as judges: what they declare, what they are given, what they return."""

import asyncio
import json
import threading
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import pytest

from calm import (
    Answer,
    Case,
    ConfigError,
    Criteria,
    Criterion,
    Framing,
    JudgeError,
    Preferred,
    Ranking,
    Refused,
    Scale,
    Score,
    Tie,
    Unreadable,
)
from calm.core.verdict import NoReply
from calm.judges.blind import READABLE
from calm.judges.python import PythonJudge
from calm.models.wire import Judge, Reply, Request

PAIR = Case("c1", "Why?", (Answer("good", "So."), Answer("bad", "No.")), better="good").present(order=("bad", "good"))
ONE = Case("c1", "Why?", (Answer("only", "So."),), criteria=(Criterion("k1", "Short."), Criterion("k2", "Kind.")))
MANY = Case("c1", "Why?", tuple(Answer(i, i) for i in "xyz"))


@dataclass(frozen=True)
class Echo:
    """A `send` that answers with the prompt's first message."""

    ask: int = 3

    async def __call__(self, request):
        await asyncio.sleep(0)
        return Reply(request.prompt[0])


def ask(judge, case, send=Echo()):
    return asyncio.run(judge.judge(case, send))


def returning(value, **attributes):
    """Build a judge whose callable returns one value."""

    def function(case):
        return value

    for name, one in attributes.items():
        setattr(function, name, one)
    return PythonJudge(function)


def test_the_defaults_are_those_of_a_pairwise_judge_that_may_not_be_cached():
    """A bare function is pairwise, reads question and answers, and has no fingerprint."""

    def first(case):
        return case.answers[0].id

    judge = PythonJudge(first)
    protocol: Judge = judge

    assert (judge.task, judge.reads, judge.fingerprint, judge.traits.concurrency) == (
        "pairwise",
        ("question", "answers"),
        None,
        1,
    )
    assert (protocol.endpoints, protocol.traits.as_given, protocol.scale) == ((), False, Scale())
    assert judge.name.endswith("first")
    assert judge.about == {"callable": judge.name, "reads": ["question", "answers"]}


def test_what_the_callable_declares_is_taken():
    """Attributes of a callable object, a scale as a mapping among them."""

    class Mine:
        name = "mine"
        task = "score"
        reads = ("answers", "question", "notes")
        scale = MappingProxyType({"low": 0, "high": 4, "step": 1})
        fingerprint = "v1"
        concurrency = 7

        async def __call__(self, case):
            return 3

    judge = PythonJudge(Mine(), name="a specification")

    assert (judge.name, judge.task, judge.fingerprint, judge.traits.concurrency) == ("mine", "score", "v1", 7)
    assert judge.reads == ("question", "answers", "notes")
    assert judge.scale == Scale(0.0, 4.0, 1.0)
    assert ask(judge, ONE) == Score(3.0)


def test_an_async_callable_may_run_many_at_a_time():
    """The default is 1 for a sync callable, which may not be safe in threads, and 32 for an async one."""

    async def first(case):
        return case.answers[0].id

    assert PythonJudge(first).traits.concurrency == 32


def test_points_are_scored_from_0_to_1():
    """The scale of points is the share of points earned."""
    assert returning(0.5, task="points").scale == Scale(0.0, 1.0)


def test_a_wrong_attribute_is_a_fault_of_configuration(subtests):
    """The message names the attribute, what came and what is known."""
    for attributes, expected in [
        ({"task": "pairwize"}, "did you mean 'pairwise'?"),
        ({"reads": ("question", "note")}, "got 'note'; did you mean 'notes'?"),
        ({"reads": ("question", "target")}, "got 'target'"),
        ({"reads": "question"}, "expected reads to be a tuple"),
        ({"reads": ()}, "expected reads to be a tuple"),
        ({"scale": 5}, "expected scale to be a Scale or a mapping, got scale=5"),
        ({"scale": {"lo": 1}}, "got 'lo'; did you mean 'low'?"),
        ({"scale": {"low": 5, "high": 1}}, "expected low < high, got low=5, high=1"),
        ({"scale": {"low": True}}, "expected a number, got low=True"),
        ({"scale": {"high": float("inf")}}, "expected a number, got high=inf"),
        ({"scale": {"low": 1, "high": 5, "step": 0}}, "expected a step above 0"),
        ({"scale": {"best": "up"}}, "got best='up'"),
        ({"scale": Scale(2.0, 2.0)}, "expected low < high"),
        ({"fingerprint": 3}, "got fingerprint=3"),
        ({"concurrency": 0}, "got concurrency=0"),
        ({"concurrency": True}, "got concurrency=True"),
        ({"quick": "yes"}, "got quick='yes'"),
    ]:
        with subtests.test(attributes=attributes, expected=expected):
            with pytest.raises(ConfigError) as caught:
                returning("good", **attributes)

            assert len(caught.value.problems) == 1
            assert expected in caught.value.problems[0]


def test_all_faults_are_raised_at_once():
    """Three wrong attributes are three messages."""
    with pytest.raises(ConfigError) as caught:
        returning("good", task="x", fingerprint=1, concurrency=-1)

    assert len(caught.value.problems) == 3


def test_what_cannot_be_called_with_a_case_is_refused(subtests):
    """A judge takes a case, or a case and send."""
    for function in [lambda: "good", lambda case, send, more: "good", lambda *, case: "good", 5, "text"]:
        with subtests.test(function=function):
            with pytest.raises(ConfigError, match=r"expected a callable f\(case\) or f\(case, send\)"):
                PythonJudge(function)


def test_a_quick_sync_callable_may_not_take_send():
    """It would hold up the loop that its own call is waiting for."""

    def function(case, send):
        return "good"

    function.quick = True

    with pytest.raises(ConfigError, match="quick=True"):
        PythonJudge(function)


def test_a_returned_value_becomes_a_verdict(subtests):
    """Verdicts, ids, numbers, mappings and lists, each for its task; None is unreadable."""
    for case, task, value, verdict in [
        (PAIR, "pairwise", "A", Preferred("bad")),
        (PAIR, "pairwise", "tie", Tie()),
        (PAIR, "pairwise", Preferred("B", {"B": 0.9, "A": 0.1}), Preferred("good", {"good": 0.9, "bad": 0.1})),
        (PAIR, "pairwise", Tie(), Tie()),
        (PAIR, "pairwise", None, Unreadable("the callable returned None")),
        (PAIR, "pairwise", Unreadable("lost"), Unreadable("lost")),
        (PAIR, "pairwise", NoReply("down"), NoReply("down")),
        (ONE, "score", 7, Score(7.0)),
        (ONE, "score", Fraction(7, 2), Score(3.5)),
        (ONE, "score", Score(7), Score(7.0)),
        (ONE, "score", Refused("no"), Refused("no")),
        (ONE, "points", 0.25, Score(0.25)),
        (ONE, "rubric", {"k2": True, "k1": None}, Criteria({"k1": None, "k2": True})),
        (ONE, "rubric-all", Criteria({"k1": False, "k2": True}), Criteria({"k1": False, "k2": True})),
        (MANY, "listwise", ["B", "A", "C"], Ranking((("y",), ("x",), ("z",)))),
        (MANY, "listwise", ("B", ["A", "C"]), Ranking((("y",), ("x", "z")))),
        (MANY, "listwise", Ranking((("C",), ("A", "B"))), Ranking((("z",), ("x", "y")))),
    ]:
        with subtests.test(case=case, task=task, value=value, verdict=verdict):
            found = ask(returning(value, task=task), case)

            assert found == verdict


def test_a_value_that_is_no_verdict_is_a_broken_judge(subtests):
    """The error names the judge, the case and the value; it is never data."""
    for case, task, value, expected in [
        (PAIR, "pairwise", "good", "got 'good'; known: A, B, tie"),
        (PAIR, "pairwise", Preferred("C"), "got 'C'"),
        (PAIR, "pairwise", Preferred("tie"), "got 'tie'"),
        (PAIR, "pairwise", True, "got True of type bool"),
        (PAIR, "pairwise", 0, "got 0 of type int"),
        (PAIR, "pairwise", Score(1.0), "of type Score"),
        (PAIR, "pairwise", ["good", "bad"], "of type list"),
        (ONE, "score", "7", "expected a number, got '7' of type str"),
        (ONE, "score", True, "got True of type bool"),
        (ONE, "score", 11, "expected a number from 1 to 10, got 11"),
        (ONE, "score", float("nan"), "got nan"),
        (ONE, "score", Score(0.0), "got 0.0"),
        (ONE, "rubric", {"k1": True}, "got none for 'k2'"),
        (ONE, "rubric", {"k1": True, "k2": True, "k3": True}, "got 'k3'"),
        (ONE, "rubric", {"k1": True, "k2": 1}, "for criterion 'k2', got 1 of type int"),
        (ONE, "rubric", True, "got True of type bool"),
        (MANY, "listwise", ["A", "B"], "expected each answer's id once (A, B, C)"),
        (MANY, "listwise", ["A", "B", "B", "C"], "expected each answer's id once"),
        (MANY, "listwise", ["A", "B", "w"], "got 'w'"),
        (MANY, "listwise", "x", "of type str"),
    ]:
        with subtests.test(case=case, task=task, value=value, expected=expected):
            judge = returning(value, task=task)

            with pytest.raises(JudgeError) as caught:
                ask(judge, case)

            assert expected in str(caught.value)
            assert str(caught.value).startswith(f"judge {judge.name}: its code returned no verdict: ")


def test_a_number_off_the_steps_of_the_scale_is_a_broken_judge():
    """A scale with steps holds whole steps only."""
    with pytest.raises(JudgeError, match=r"from 1 to 5 in steps of 1, got 2\.5"):
        ask(returning(2.5, task="score", scale={"low": 1, "high": 5, "step": 1}), ONE)


def test_a_number_of_a_scale_whose_low_end_is_good_is_turned_over():
    """A score always has its high end good; a `Score` says so already."""
    low_is_good = {"low": 1, "high": 5, "best": "low"}

    assert ask(returning(1, task="score", scale=low_is_good), ONE) == Score(5.0)
    assert ask(returning(Score(1.0), task="score", scale=low_is_good), ONE) == Score(1.0)


def test_an_exception_is_a_broken_judge_with_its_cause():
    """The error says the kind and the line of the user's own code, the remarks its message and the first case."""

    def fails(case):
        return json.loads(f"no JSON, but case {case.id}")

    judge = PythonJudge(fails, "my.judges:fails")
    for case in (PAIR, replace(PAIR, id="c2")):
        with pytest.raises(JudgeError) as caught:
            ask(judge, case)

    assert isinstance(caught.value.__cause__, json.JSONDecodeError)
    line = fails.__code__.co_firstlineno + 1
    place = f"{Path(__file__).relative_to(Path.cwd())}, line {line}, in fails"
    assert str(caught.value) == f"judge my.judges:fails: its code raised JSONDecodeError in {place}"
    (said,) = judge.remarks.notes
    assert f"its code raised an exception in 2 asks in {place}, first about case c1: JSONDecodeError: Exp" in str(said)
    assert judge.remarks.unread == (said,)


def test_a_stop_iteration_does_not_hang(subtests):
    """A future cannot hold a StopIteration; the judge is broken all the same."""
    for quick in [True, False]:
        with subtests.test(quick=quick):

            def fails(case):
                return next(iter(()))

            fails.quick = quick

            with pytest.raises(JudgeError, match=r"raised StopIteration in .*, in fails"):
                ask(PythonJudge(fails), PAIR)


def test_an_error_of_send_passes_through():
    """A judge whose model did not answer is not said to have raised an exception."""

    async def asks(case, send):
        await send(Request(endpoint=None, prompt=()))

    class Down:
        ask = 1

        async def __call__(self, request):
            raise JudgeError("the server is down")

    with pytest.raises(JudgeError, match=r"^the server is down$"):
        ask(PythonJudge(asks), PAIR, Down())


def test_the_answers_of_a_case_are_in_slot_order():
    """The first answer that the callable gets is the one shown first."""
    got = []

    def look(case):
        got.append(case)

    ask(PythonJudge(look), PAIR)

    assert [a.id for a in got[0].answers] == [a.id for a in got[0].shown] == ["A", "B"]
    assert [a.text for a in got[0].answers] == ["No.", "So."]


def test_a_sync_callable_runs_in_a_thread_unless_it_is_quick():
    """A slow function does not hold up the others; a quick one is spared the thread."""

    def where(case):
        return "B" if threading.current_thread() is threading.main_thread() else "A"

    def quick(case):
        return where(case)

    quick.quick = True

    assert ask(PythonJudge(where), PAIR) == Preferred("bad")
    assert ask(PythonJudge(quick), PAIR) == Preferred("good")


async def awaits(case, send):
    return (await send(Request(None, ("A",)))).text


def calls(case, send):
    return send(Request(None, ("A",))).text


def by_name(case, *, send):
    return send(Request(None, ("A",))).text


def in_a_loop_of_its_own(case, send):
    async def inner():
        return (await send(Request(None, ("A",)))).text

    return asyncio.run(inner())


def makes_a_coroutine(case, send):
    return awaits(case, send)


def test_send_reaches_the_model(subtests):
    """Async callables await it, sync ones call it; the verdict comes from the reply."""
    for function in [awaits, calls, by_name, in_a_loop_of_its_own, makes_a_coroutine]:
        with subtests.test(function=function):
            assert ask(PythonJudge(function), PAIR) == Preferred("bad")


@pytest.mark.parametrize("sync", [True, False])
def test_send_tells_the_repeat_index(sync):
    """A callable may tell its repeats apart."""
    got = []

    def look(case, send):
        got.append(send.ask)

    async def look_later(case, send):
        got.append(send.ask)

    ask(PythonJudge(look if sync else look_later), PAIR)

    assert got == [3]


def test_a_second_argument_with_a_default_of_its_own_is_left_alone():
    """Only `send` by name, or a second argument that must be given, is filled."""

    def function(case, weight=0.5):
        return "B" if weight == 0.5 else "A"

    assert ask(PythonJudge(function), PAIR) == Preferred("good")


def test_sees_holds_what_is_declared_and_nothing_else():
    """Equal projections mean that the judge cannot tell two cases apart."""
    judge = returning("good")
    noted = returning("good", reads=("question", "answers", "notes", "framing"))

    assert judge.sees(PAIR) == judge.sees(
        replace(PAIR, reference="r", better="bad", id="c2").present(notes=("n",)).treat("good")
    )
    assert judge.sees(PAIR) != judge.sees(replace(PAIR, question="How?"))
    assert judge.sees(PAIR) != judge.sees(PAIR.present(order=("good", "bad")))
    assert judge.sees(PAIR) != judge.sees(PAIR.edit("bad", str.upper))
    assert noted.sees(PAIR) != noted.sees(PAIR.present(notes=("n",)))
    assert noted.sees(PAIR) != noted.sees(PAIR.present(framing=Framing.NEGATIVE))


def test_sees_is_the_same_for_an_order_that_is_given_and_one_that_is_implied():
    """The order as listed and the same order by name show the same slots."""
    judge = returning("good")

    assert judge.sees(PAIR.present(order=())) == judge.sees(PAIR.present(order=("good", "bad")))


def test_every_name_that_may_be_declared_is_a_field_of_a_case():
    """What may be declared can be looked up."""
    judge = returning("good", reads=READABLE)

    assert [name for name, _ in judge.sees(PAIR)] == list(READABLE)
