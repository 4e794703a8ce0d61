"""The table of mitigations, and what each of them passes on."""

from dataclasses import replace
from importlib.resources import files

import pytest

from calm.cases import BUNDLED
from calm.core.edits import Message, Prompt
from calm.core.verdict import FAMILY
from calm.errors import ConfigError
from calm.plugins.mitigate.mitigation import NotApplicable
from calm.plugins.mitigate.mitigations import DEFENCES, MITIGATIONS, mitigated
from tests.judges.judging import PAIR, RUBRIC, SINGLE, TRIPLE, judge_at
from tests.planted import Planted, fair

CASES = {"pairwise": PAIR, "score": SINGLE, "rubric": RUBRIC, "listwise": TRIPLE, "label": SINGLE}
ARGUMENTS = {
    "panel": "b+c",
    "panel-mean": "b+c",
    "perplexity-panel": "b+c",
    "committee": "b+c",
    "peer-rank": "b+c",
    "discussion": "b",
}
BARE = "{{ question }} {% for a in answers %}{{ a.text }} {% endfor %}"
OTHER = Prompt((Message("user", f"{BARE}Other words."),), negative=(Message("user", f"{BARE}Which one is worse?"),))


def named(name, task="pairwise"):
    """Return a mitigation as it is asked for, with the cases that ship with calm as labelled ones."""
    arguments = {**ARGUMENTS, "autocalibrate": files("calm").joinpath("cases", "data", BUNDLED[task])}
    return f"{name}:{arguments[name]}" if name in arguments else name


def reader(task):
    """Return a reader of judges of other families."""
    return lambda spec: judge_at(task=task, name=spec, model=f"model-{spec}", family=f"family-{spec}")


def made(name, task):
    """Return a judge with one mitigation."""
    inner = judge_at(task=task, family="family-a")
    return inner, mitigated(inner, [named(name, task)], reader(task))


EACH = [(name, family) for name, one in MITIGATIONS.items() for family in one.families]


def test_a_mitigated_judge_is_a_judge_of_its_own(subtests):
    """Name, task and scale are those of the judge inside; fingerprint and record say that it is another one."""
    for name, task in EACH:
        with subtests.test(name=name, task=task):
            inner, outer = made(name, task)

            assert (outer.name, outer.task, outer.traits.as_given) == (inner.name, inner.task, inner.traits.as_given)
            assert outer.fingerprint not in {None, inner.fingerprint}
            assert outer.about["mitigations"][-1].startswith(name)
            assert {e.identity for e in inner.endpoints} <= {e.identity for e in outer.endpoints}
            assert outer.sees(CASES[task]) != outer.sees(replace(CASES[task], question="Another one?"))


def test_a_rewritten_prompt_reaches_the_judge_inside(subtests):
    """An edit of the judge's prompt is put under the mitigation, and both are in what is sent."""
    for name, task in [(n, t) for n, t in EACH if t == "pairwise"]:
        with subtests.test(name=name, task=task):
            _, outer = made(name, task)

            other = outer.with_prompt(OTHER)

            assert outer.asks is not None
            assert "Other words." in repr(other.sees(CASES[task]))
            assert other.about["mitigations"] == outer.about["mitigations"]
            assert other.fingerprint != outer.fingerprint


def test_two_mitigations_are_two_judges_whatever_the_order(subtests):
    """Each can be put around another one, and the order counts."""
    for name in sorted(MITIGATIONS):
        with subtests.test(name=name):
            task = MITIGATIONS[name].families[0]
            inner = judge_at(task=task, family="family-a")
            one = mitigated(inner, ["debias", named(name, task)], reader(task))
            two = mitigated(inner, [named(name, task), "debias"], reader(task))

            assert one.about["mitigations"] != two.about["mitigations"] or name == "debias"
            assert (one.fingerprint != two.fingerprint) or name == "debias"
            assert FAMILY[one.task] == task


def test_an_unknown_name_is_an_error_with_the_nearest_one():
    """So is an argument where none is taken, and a number out of range."""
    inner = judge_at()

    with pytest.raises(ConfigError, match="did you mean 'swap'"):
        mitigated(inner, ["swpa"])
    with pytest.raises(ConfigError, match="takes nothing after a colon, got '3'"):
        mitigated(inner, ["swap:3"])
    with pytest.raises(ConfigError, match="whole number from 1 to 16 after 'evidence:', got '0'"):
        mitigated(inner, ["evidence:0"])
    with pytest.raises(ConfigError, match="expected other judges after 'panel:'"):
        mitigated(inner, ["panel"])


def test_a_mitigation_of_the_prompt_needs_one(subtests):
    """On a judge without a prompt it is not applicable, and says why."""
    for name in ["debias", "cot", "evidence", "reference", "g-eval", "sandwich", "delimiters"]:
        with subtests.test(name=name):
            task = MITIGATIONS[name].families[0]

            with pytest.raises(NotApplicable, match=r"no prompt|no model"):
                mitigated(Planted(fair, task=task), [name])


def test_a_mitigation_that_does_not_fit_says_why(subtests):
    """Tasks and forms of replies that leave it nothing to do are named."""
    for name, task, reason in [
        ("swap", "score", "expects task = 'pairwise', got task='score'"),
        ("segments", "pairwise", "expects task = 'score'"),
        ("cot", "logprobs", "no room for reasons"),
        ("g-eval", "logprobs", "already"),
    ]:
        with subtests.test(name=name, task=task, reason=reason):
            inner = judge_at(form="logprobs") if task == "logprobs" else judge_at(task=task)

            with pytest.raises(NotApplicable, match=reason):
                mitigated(inner, [name])


def test_a_committee_needs_judges_of_different_families():
    """A family that is not known, or that two share, is an error."""
    with pytest.raises(ConfigError, match=r"the .judge. family of each judge, and member 1 .j. has none"):
        mitigated(judge_at(), ["committee:b"], reader("pairwise"))
    with pytest.raises(ConfigError, match="different families, got family-b, family-b"):
        mitigated(judge_at(family="family-b"), ["committee:b"], reader("pairwise"))


def test_every_defence_is_in_the_table():
    """The columns of a grid are names that are known, and each entry has a source."""
    assert set(DEFENCES) <= set(MITIGATIONS)
    assert all(one.source and one.does and one.calls for one in MITIGATIONS.values())
