"""What a question is known by in a run: the judge and all that stands in the case."""

from dataclasses import replace
from enum import StrEnum

from calm.core.case import Answer, Case, Framing
from calm.engine.asks import _content_key, _Handle

CASE = Case("c", "What? \ud800 é", (Answer("a", "One."), Answer("b", "Two.")), tags={"x": "1"})
HANDLE = _Handle(None, "judge", None)


class Level(StrEnum):
    HARD = "hard"


def test_equal_cases_have_one_key_and_others_have_another():
    """Also where their texts are other objects."""
    again = Case("c", "".join(["What", "? \ud800 é"]), (Answer("a", "One."), Answer("b", "Two.")), tags={"x": "1"})
    others = [
        replace(CASE, question="What?"),
        replace(CASE, tags={"x": "2"}),
        CASE.present(framing=Framing.NEGATIVE),
        CASE.present(order=("b", "a")),
    ]

    assert _content_key(HANDLE, CASE) == _content_key(HANDLE, again)
    assert len({_content_key(HANDLE, one) for one in (CASE, *others)}) == 5
    assert _content_key(_Handle(None, "other", None), CASE) != _content_key(HANDLE, CASE)


def test_a_case_that_code_made_of_odd_values_has_a_key():
    """A member of an enumeration is a text, but no plain one."""
    odd = replace(CASE, tags={"level": Level.HARD}, question=Level.HARD)

    assert _content_key(HANDLE, odd) == _content_key(HANDLE, replace(odd, tags={"level": Level.HARD}))
    assert _content_key(HANDLE, odd) != _content_key(HANDLE, CASE)
