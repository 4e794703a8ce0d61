"""What a judge's own code can learn beside what it declares: nothing about which answer is which."""

import asyncio
import copy
import pickle
import sys
import time
from dataclasses import dataclass, replace
from math import sqrt

import pytest

from calm import Answer, Case, ConfigError, Criterion, Preferred, Ranking, Tie
from calm.cases import bundled
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.experiment.pairs import pair_up
from calm.experiment.setup import Setup
from calm.judges.blind import GOLD, READABLE, blinded, visible
from calm.judges.panel import panel
from calm.judges.python import VISIBLE, PythonJudge, judge_of
from calm.perturbations.planted import planted
from calm.suites.test_sensitivity import DEFECTS
from tests.each import each
from tests.planted import Planted

WHOLE = Case(
    "c1",
    "Why?",
    (Answer("good", "So.", "gpt-5", ("S",)), Answer("bad", "No.", "gpt-2")),
    better="good",
    reference="So it is.",
    criteria=(Criterion("k1", "Short."),),
    met={"good": {"k1": True}, "bad": {"k1": False}},
    scores={"good": 9.0, "bad": 2.0},
    fields={"context": "So."},
    variants={"lengthen": {"bad": "No, no."}},
    tags={"winner": "good"},
).present(order=("bad", "good"), bylines={"good": "Ann", "bad": "Bob"}, notes=("A note.",), labels=("1", "2"))


@dataclass(frozen=True)
class Once:
    """A `send` that nobody uses."""

    ask: int = 1


def ask(judge, case):
    return asyncio.run(judge.judge(case, Once()))


def python(function, **attributes):
    """Return a callable as a judge that declares some attributes."""
    function.quick = True
    for name, value in attributes.items():
        setattr(function, name, value)
    return PythonJudge(function)


# ----------------------------------------------------------------------------------------------------------- leaks

LEAKS = {
    "the order of the ids": lambda a, b: a.id < b.id,
    "the length of the ids": lambda a, b: (len(a.id), a.id) < (len(b.id), b.id),
    "a hash of the ids": lambda a, b: hash(a.id) < hash(b.id),
    "where the objects lie in memory": lambda a, b: id(a) < id(b),
    "where the texts lie in memory": lambda a, b: id(a.text) < id(b.text),
    "how often the texts are referred to": lambda a, b: sys.getrefcount(a.text) <= sys.getrefcount(b.text),
    "what repr shows beside the texts": lambda a, b: _frame(a) <= _frame(b),
    "what a copy holds beside the text": lambda a, b: _rest(a) <= _rest(b),
    "what pickle writes beside the texts": lambda a, b: len(_packed(a)) <= len(_packed(b)),
    "the clock": lambda a, b: time.perf_counter_ns() // 100 % 2 == 0,
}


def _frame(answer):
    shown = repr(answer)
    return shown.replace(repr(answer.text), "")


def _rest(answer):
    return repr(replace(copy.copy(answer), text="")).replace(repr(answer.id), "")


def _packed(answer):
    return pickle.dumps(replace(answer, text=""))


def looked_at(cases):
    """Ask a judge that looks for leaks about some pairs, and return for each leak how often it names the better one."""
    picks = []

    def look(case):
        first, second = case.answers
        found = {name: bool(leak(first, second)) for name, leak in LEAKS.items()}
        found["the number of the call"] = len(picks) % 2 == 0
        found["the parts of the case"] = repr(replace(case, answers=(first,))) <= repr(replace(case, answers=(second,)))
        picks.append(found)
        return "A"

    judge = python(look)
    for case in cases:
        ask(judge, case)
    first = [case.slots[0] == case.better for case in cases]
    return {name: sum(pick[name] == is_first for pick, is_first in zip(picks, first, strict=True)) for name in picks[0]}


def harmed():
    """Return pairs of an original and its harmed copy, as the suite of sensitivity shows them."""
    engine = Engine(Store(None, Mode.OFF))
    try:
        found = pair_up(Setup(planted("planted:noise=0"), tuple(bundled("pairwise")), engine), DEFECTS, None).pairs
    finally:
        engine.close()
    return [case().treat(None) for pair in found for case in (pair.shown, pair.turned) if case().better in case.slots]


@pytest.mark.parametrize("kind", ["as they are asked", "with a harmed copy"])
def test_no_leak_tells_the_better_answer(kind):
    """
    A judge that goes by an id, an object, a copy, `repr` or the clock is right as often as a coin.

    More than 5.5 standard errors from that: with 13 leaks and 2 kinds, chance does it less than once in a million runs.
    What tells the slots apart is no leak, as the order is drawn by a hash: one that always names the same slot is right
    as often as that slot holds the better answer.
    """
    if kind == "with a harmed copy":
        cases = harmed()
    else:
        cases = [
            case.balanced(f"leak {salt}") for case in bundled("pairwise") for salt in range(2) if case.better != "tie"
        ]

    found = looked_at(cases)

    bound = 5.5 * sqrt(len(cases)) / 2
    assert len(cases) > 300
    assert {name: hits for name, hits in found.items() if abs(hits - len(cases) / 2) > bound} == {}


def test_ids_say_nothing_and_the_verdict_names_the_answers():
    """A is the first slot, whatever the file calls it; a verdict comes back by the file's ids."""
    seen = []

    def first(case):
        seen.append([a.id for a in case.answers])
        return case.answers[0].id

    assert ask(python(first), WHOLE) == Preferred("bad")
    assert ask(python(first), WHOLE.arranged(("good", "bad"))) == Preferred("good")
    assert seen == [["A", "B"], ["A", "B"]]


def test_probabilities_ties_and_rankings_come_back_by_the_ids_of_the_file():
    """All that names answers is translated."""
    three = replace(WHOLE, answers=tuple(Answer(i, i * 3) for i in "xyz"), better=None, scores={}, met={}).present(
        order=()
    )

    assert ask(python(lambda case: Tie({"A": 0.4, "B": 0.4, "tie": 0.2})), WHOLE) == Tie(
        {"bad": 0.4, "good": 0.4, "tie": 0.2}
    )
    assert ask(python(lambda case: ["C", ["A", "B"]], task="listwise"), three) == Ranking((("z",), ("x", "y")))


HARMED = WHOLE.treat("good").damage("good", lambda _: "Never.").untreated()


def looking():
    """Return a judge that is a function, one of a user's class, and the list where both note the ids that they see."""
    seen = []

    def look(case):
        seen.append(sorted(a.id for a in case.answers))
        return "A"

    class Own(Planted):
        """A judge of a user's class."""

        async def judge(self, case, send):
            """Note the ids."""
            look(case)
            return Preferred("A")

    return python(look), Own(None, fingerprint="own"), seen


def test_a_harmed_copy_is_called_like_any_answer():
    """The `~` of its id reaches no judge, alone, in a panel and by its path."""
    one, other, seen = looking()

    for judge in (one, panel([one, other]), judge_of(other)):
        ask(judge, HARMED)

    assert set(map(tuple, seen)) == {("A", "B")}
    assert len(seen) == 4


# ----------------------------------------------------------------------------------------------------- what is declared


@each("name", [name for name in READABLE if name not in ("question", "answers")])
def test_what_is_not_declared_is_an_error_that_says_what_to_declare(name):
    """A default in its place would be another prompt than the judge sends elsewhere; declared, it can be read."""

    def read(case):
        holder = case.answers[0] if name in ("history", "steps") else case
        return "A" if getattr(holder, name) is not NotImplemented else ""

    undeclared = python(read)
    with pytest.raises(ConfigError) as caught:
        ask(undeclared, WHOLE)
    declared = python(read, reads=("question", "answers", name))

    missing = (
        f"its `reads` does not name {name!r}; write below the function: NAME_OF_IT.reads = ('question', 'answers', "
    )
    assert missing in str(caught.value)
    assert str(caught.value).startswith(f"judge {undeclared.name}: ")
    assert ask(declared, WHOLE) == Preferred("bad")


@each("name", ["tags", "variants", "presentation"])
def test_what_is_not_for_judges_is_an_error(name):
    """No declaration helps, and the message says what does."""
    with pytest.raises(ConfigError, match="the judge's code reads"):
        ask(python(lambda case: getattr(case, name) and "A", reads=READABLE), WHOLE)


def test_an_author_is_not_for_judges():
    """A name that a judge may see is a byline."""
    with pytest.raises(ConfigError, match="is a byline"):
        ask(python(lambda case: case.answers[0].author), WHOLE)


def test_what_is_declared_comes_by_slot():
    """Gold labels and names beside the labels, too, for judges that are there for tests."""
    case = blinded(WHOLE, READABLE).case

    assert (case.better, case.scores, case.bylines) == ("B", {"A": 2.0, "B": 9.0}, {"A": "Bob", "B": "Ann"})
    assert case.met == {"A": {"k1": False}, "B": {"k1": True}}
    assert case.slot_labels == ("1", "2")
    assert [a.history for a in case.answers] == [(), ("S",)]


def test_a_check_of_a_criterion_is_not_handed_over():
    """It computes what is true of an edited text, as the gold does; no prompt shows it."""
    checked = replace(WHOLE, criteria=(Criterion("k1", "Short.", 2.0, {"kind": "max_words", "value": 3}),))

    assert blinded(checked, READABLE).case.criteria == (Criterion("k1", "Short.", 2.0),)


def test_code_may_copy_and_arrange_what_it_is_handed():
    """A judge that asks in both orders turns its case; the copy withholds the same."""
    handed = blinded(WHOLE, ("question", "answers")).case

    for made in (handed.arranged(("B", "A")), copy.deepcopy(handed), pickle.loads(pickle.dumps(handed))):
        assert {a.text for a in made.answers} == {"So.", "No."}
        with pytest.raises(ConfigError, match="reference"):
            _ = made.reference
        with pytest.raises(ConfigError, match="author"):
            _ = made.answers[0].author


def test_a_rubric_may_read_its_criteria_without_a_word():
    """They are what it is asked about."""
    for task in ("rubric", "rubric-all", "points"):
        assert PythonJudge(_judging(task)).reads == ("question", "answers", "criteria")


def _judging(task):
    def judge(case):
        return {c.id: True for c in case.criteria}

    judge.task = task
    return judge


def test_an_edit_that_only_shows_drafts_is_not_seen_by_code_that_reads_texts():
    """It would pass a test of what it never sees."""
    drafted = WHOLE.drafted("bad", "N")

    assert visible(WHOLE, ("question", "answers")) == visible(drafted, ("question", "answers"))
    assert visible(WHOLE, ("answers", "history")) != visible(drafted, ("answers", "history"))


def test_a_class_of_a_users_is_handed_all_but_the_gold_unless_it_declares():
    """Its `reads` is read like a callable's."""
    told = []

    class Own(Planted):
        """A judge of a user's class."""

        async def judge(self, case, send):
            """Read the reference."""
            told.append(case.reference)
            return Preferred("A")

    gold = Own(None)
    gold.reads = ("answers", "better")

    assert ask(judge_of(Own(None)), WHOLE) == Preferred("bad")
    assert set(VISIBLE) | GOLD == set(READABLE)
    with pytest.raises(ConfigError, match="'reference'"):
        ask(judge_of(gold), WHOLE)
    gold.reads = ("answer",)
    with pytest.raises(ConfigError, match="did you mean 'answers'"):
        judge_of(gold)
