"""Judges that users wrote as classes: what they may leave out, and what is read of them where they are given."""

import ast
from dataclasses import fields
from pathlib import Path

import pytest

import calm
from calm.core.verdict import Scale, Tie
from calm.errors import ConfigError
from calm.gate.from_spec import judge_from
from calm.judges.python import NEEDED, judge_of
from calm.models.wire import Endpoint, Judge, Remarks, Traits
from tests.planted import Planted, tied


class Least:
    """A judge with the members that have no default, and no others."""

    name, task, scale, fingerprint, about, endpoints = "least", "pairwise", Scale(), None, {}, ()

    def sees(self, case):
        """Return the case."""
        return case

    async def judge(self, case, send):
        """Return a tie."""
        return Tie()


def test_a_judge_of_ours_is_taken_as_it_is():
    """Nothing is put around it."""
    judge = judge_from("lexical")

    assert judge_of(judge) is judge


def test_a_judge_of_ones_own_gets_the_traits_that_it_states():
    """What it has is taken; the case is handed to it as to any code."""
    judge = judge_of(Planted(tied))

    assert (judge.traits, judge.remarks) == (Planted(tied).traits, Remarks())


def test_traits_may_be_left_out():
    """Each has its default then, and there is nothing to remark."""
    judge = judge_of(Least())

    assert (judge.traits, judge.remarks) == (Traits(), Remarks())
    assert judge.name == "least"


def test_attributes_with_the_names_of_traits_are_read():
    """Once, where the judge is given; what it has to say is read when it is wanted."""
    given = Least()
    given.as_given, given.concurrency, given.send, given.repeats, given.notes = True, 3, "second", 1, ["early"]

    judge = judge_of(given)
    given.as_given, given.notes, given.agreement = False, ["late"], ["often"]

    assert judge.traits == Traits(as_given=True, concurrency=3, sends=True, repeats=1)
    assert judge.remarks == Remarks(("late",), ("often",))


def test_what_is_no_judge_is_refused_once():
    """The message names all that is missing."""
    with pytest.raises(ConfigError) as caught:
        judge_of(object())

    assert all(name in str(caught.value) for name in NEEDED)
    assert len(caught.value.problems) == 1


def test_nothing_is_read_of_a_judge_that_it_does_not_declare():
    """No `getattr` with a default asks a judge or an endpoint for a member: the protocols say all that is read."""
    root = Path(calm.__file__).parent
    hidden = (
        {one.name for one in fields(Traits)} | {one.name for one in fields(Remarks)} | {"traits", "remarks", "send"}
    )
    hidden |= {name for kind in (Judge, Endpoint) for name in vars(kind) if not name.startswith("_")}
    readers = {root / "judges" / name for name in ("foreign.py", "attributes.py")}

    found = []
    for path in sorted(set(root.rglob("*.py")) - readers):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name("getattr"), args=[whose, what, _]):
                    named = isinstance(what, ast.Constant) and what.value in hidden
                    named = named and ast.unparse(whose) != "options"  # those of a command line
                    if named or ast.unparse(whose).split(".")[-1] in ("judge", "endpoint", "inner", "member", "server"):
                        found.append(f"{path.relative_to(root)}:{node.lineno} {ast.unparse(node)}")

    assert found == []
