"""Writing cases: what is written is read back equal."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calm import Answer, Case, ConfigError, Criterion
from calm.cases import bundled
from calm.cases.lines import line
from calm.cases.reading import read

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
NAMES = TEXTS.filter(str.strip)
PAIRS = st.lists(st.tuples(NAMES, st.none() | TEXTS, st.lists(TEXTS, max_size=2)), min_size=2, max_size=2)


@st.composite
def cases(draw):
    """Draw a case with everything that a file can hold."""
    answers = tuple(
        Answer(name, text, author, tuple(history))
        for name, (text, author, history) in zip(("a", "b"), draw(PAIRS), strict=True)
    )
    criteria = tuple(
        Criterion(f"c{n}", text, draw(st.floats(-9, 9)), draw(st.sampled_from([None, {"kind": "no_commas"}])))
        for n, text in enumerate(draw(st.lists(NAMES, max_size=2)))
    )
    by_answer = st.dictionaries(st.sampled_from("ab"), TEXTS)
    return Case(
        id=draw(NAMES),
        question=draw(NAMES),
        answers=answers,
        better=draw(st.sampled_from([None, "a", "b", "tie"])),
        reference=draw(st.none() | TEXTS),
        criteria=criteria,
        met={"a": {criterion.id: draw(st.booleans()) for criterion in criteria}} if criteria else {},
        scores=draw(st.dictionaries(st.sampled_from("ab"), st.floats(-1e9, 1e9))),
        fields=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
        variants=draw(st.dictionaries(TEXTS, by_answer, max_size=2)),
        tags=draw(st.dictionaries(TEXTS, TEXTS, max_size=2)),
    )


@given(cases())
def test_a_case_that_is_written_is_read_back_equal(case):
    """No text, key or number changes on the way."""
    assert read(BytesIO(line(case).encode()), "f") == [case]


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric", "listwise"])
def test_the_shipped_cases_survive_writing(task):
    """Nothing of them is lost."""
    whole = bundled(task)

    again = read(BytesIO("".join(map(line, whole)).encode()), "f", task=task)

    assert again == whole


def test_a_case_that_an_edit_has_presented_cannot_be_written():
    """A file has no place for an order or notes, so nothing is dropped in silence."""
    case = Case("c", "q", (Answer("a", "x"), Answer("b", "y")))

    with pytest.raises(ConfigError, match="case c: expected a case as read from a file"):
        line(case.balanced("salt"))
