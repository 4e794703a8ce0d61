"""`edits()` and `stacks()`: what the catalogue has, with parameters drawn, the simplest first."""

from random import Random

import pytest
from hypothesis import find, given, settings

from calm.cases import bundled
from calm.core.edits import Edit, Expects
from calm.core.verdict import FAMILIES, FAMILY
from calm.errors import ConfigError
from calm.gate.catalogue import STANDS_FOR, entries
from calm.strategies import cases, edits, stacks
from calm.strategies.cases import during
from calm.strategies.edits import NEVER, VARIATIONS, by_simplicity, difference, step, weight
from tests.planted import pair, pairs

QUIET = settings(database=None, deadline=None)
CASE = bundled("pairwise")[0]


def smallest(strategy, holds=lambda _: True, seed=1):
    """Return what Hypothesis shrinks to, with a fixed seed."""
    return find(strategy, holds, settings=settings(QUIET, max_examples=2_000), random=Random(seed))


def weaker(change):
    """Return the weaker answer after a change, or nothing where it does not apply."""
    edited = change.apply(CASE)
    return "" if edited is None else next((a.text for a in edited.answers if a.id == "bad"), "")


def test_the_first_edit_is_the_one_that_changes_least():
    """Among those of a bias the shortest addition comes first; nothing odd is written."""
    for bias in ("authority", "verbosity", "injection"):
        found = smallest(edits(bias=bias))
        samples = [case.with_order() for case in bundled("pairwise")[:20]]
        others = [e.edit for e in entries() if isinstance(e.edit, Edit) and e.edit.bias == bias]

        assert weight(found.edits[0], samples) == min(weight(edit, samples) for edit in others)


def test_an_edit_that_changes_nothing_but_the_order_is_simpler_than_one_that_adds_words():
    """And odd characters weigh more than plain ones."""
    case = pair("x").with_order()
    swapped = case.arranged(case.slots[::-1])
    plain, odd = (case.edit("bad", lambda text, add=add: f"{text}{add}") for add in ("abc", "\u200babc"))

    assert difference(case, case) == 0
    assert difference(case, swapped) == 1
    assert difference(case, plain) == 3
    assert difference(case, odd) > 10 * difference(case, plain)


def test_every_edit_of_a_case_can_be_drawn_and_none_of_a_prompt():
    """For each kind of verdict those that serve it, once."""
    known = [e for e in entries() if isinstance(e.edit, Edit)]

    for family in FAMILIES:
        drawn = [entry.key for group in by_simplicity(family) for entry in group]
        assert sorted(drawn) == sorted(e.key for e in known if family in e.edit.tasks)


def test_every_parameter_is_drawn_and_fits():
    """No factory is left with its sample argument; at least one variation of each makes an edit."""
    for family in FAMILIES:
        for entry in (entry for group in by_simplicity(family) for entry in group if entry.takes):
            made = [step(entry, variation) for variation in range(VARIATIONS)]
            fits = {one.name for one in made if one is not None}

            assert fits, entry.key
            assert all(name.startswith(f"{entry.key}(") for name in fits), entry.key
    assert {"percent", "tokens", "share"} <= set(STANDS_FOR)


def test_a_parameter_shrinks_to_the_least_that_fails():
    """The dose is no larger than it has to be."""
    found = smallest(edits(names=["verbosity.expand"]), lambda edit: len(weaker(edit)) > 2.5 * len(CASE["bad"].text))

    assert repr(found) == "verbosity.expand(3.0)"


def test_expects_bias_and_names_choose():
    """Each narrows what is drawn; a name may be short, long, or have its argument."""
    same = edits(expects=Expects.SAME)
    tones = edits(bias="sentiment", expects=Expects.NOT_BETTER)
    named = edits(names=["cite_url", "verbosity.pad", "expand@3"])

    @settings(QUIET, max_examples=60, derandomize=True)
    @given(same, tones, named)
    def holds(one, two, three):
        assert one.edits[0].expects is Expects.SAME
        assert (two.edits[0].bias, two.edits[0].expects) == ("sentiment", Expects.NOT_BETTER)
        assert three.edits[0].name in ("cite_url", "pad", "expand")
        assert three.edits[0].name != "expand" or three.edits[0].dose == 3

    holds()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bias": "authorty"}, "did you mean 'authority'"),
        ({"names": ["cite_bok"]}, "did you mean 'cite_book'"),
        ({"names": "cite_book"}, r"write names=\[\"cite_book\"\]"),
        ({"expects": "BETTER"}, "expected one of SAME"),
    ],
)
def test_what_nobody_knows_is_refused_at_once(given, said):
    """When the strategy is made, not in the middle of a search."""
    for strategy in (edits, stacks):
        with pytest.raises(ConfigError, match=said):
            strategy(**given)


def test_a_stack_has_at_least_one_edit():
    """A size below 1 is refused."""
    with pytest.raises(ConfigError, match="at least 1"):
        stacks(0)


def test_edits_that_leave_nothing_are_refused_when_drawn():
    """The task of the judge is known only then."""
    with pytest.raises(ConfigError, match="no edit of a pairwise case"):
        smallest(edits(bias="hindsight", expects=Expects.TIE))


def test_an_edit_is_a_function_of_its_case():
    """Called twice it makes the same, on the answer that a probe would treat; gold labels stay."""

    @settings(QUIET, max_examples=150, derandomize=True)
    @given(case=cases(generated=True) | cases(), edit=edits(expects=Expects.NOT_BETTER))
    def holds(case, edit):
        edited = edit(case)

        assert edited == edit(case)
        assert edited.target != case.better
        assert (edited.better, edited.scores) == (case.better, case.scores)
        assert edited.untreated() != case

    holds()


def test_edits_serve_the_task_of_the_run():
    """A judge of scores is shown no swapped answers."""
    drawn = set()

    @settings(QUIET, max_examples=40, derandomize=True)
    @given(edits())
    def draw(edit):
        drawn.add(edit.edits[0].tasks)

    for task, family in FAMILY.items():
        drawn.clear()
        with during(bundled(task), task, ""):
            draw()

        assert all(family in tasks for tasks in drawn)


def test_the_model_of_the_run_is_named():
    """An edit that names the judge's model takes the name from the run."""
    with during(pairs(2), "pairwise", "m-1"):
        found = smallest(edits(names=["claim_authorship"]))

    assert repr(found) == "self_authorship.claim_authorship('m-1')"


def test_a_stack_shrinks_to_the_edits_that_it_takes():
    """One where one will do; two where it takes two, each the simplest of its bias."""
    long = len(CASE["bad"].text) + 140

    one = smallest(stacks(bias="authority"), lambda edit: "authority" in {e.bias for e in edit.edits})
    two = smallest(stacks(names=["cite_url", "cite_study", "plea"]), lambda edit: len(weaker(edit)) > long)

    assert len(one.steps) == 1
    assert repr(one) == repr(smallest(edits(bias="authority")))
    assert len(two.steps) == 2


def test_a_stack_holds_every_edit_of_it_in_its_order():
    """The later edit is made on what the earlier one left, and each is there once."""

    @settings(QUIET, max_examples=100, derandomize=True)
    @given(stacks(3, names=["cite_url", "plea", "claim_tests"]))
    def holds(edit):
        text = edit(CASE)["bad"].text
        for k in range(1, len(edit.steps) + 1):
            assert type(edit)(edit.steps[:k])(CASE)["bad"].text in text
        assert len({e.name for e in edit.edits}) == len(edit.steps) <= 3

    holds()


def test_stacks_leave_out_what_changes_the_truth():
    """WORSE and TIE are never drawn."""

    @settings(QUIET, max_examples=200, derandomize=True)
    @given(stacks())
    def holds(edit):
        assert {e.expects for e in edit.edits} <= {Expects.SAME, Expects.NOT_BETTER, Expects.OBSERVE}

    holds()


def test_an_edit_that_never_applies_weighs_the_most():
    """So that it comes last."""
    code = next(e.edit for e in entries() if e.key == "code_style.shorten_names")

    assert weight(code, [pair("x").with_order()]) == NEVER
