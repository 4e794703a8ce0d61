"""Sets of mitigations are compared case by case, on as many asks of each case."""

from dataclasses import replace

import pytest

from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import gain, net_robustness, worst_gain
from calm.core.verdict import Preferred, Refused, Unreadable
from calm.experiment.stopping import Design
from calm.gate.plan import PlanSettings
from calm.plugins.mitigate.gate import assess
from calm.plugins.mitigate.report import body
from calm.plugins.mitigate.study import MEASURED, MitigationSet, Study, differences, tried
from calm.results.tabular import Unread
from tests.planted import Planted, chance, engine, fair, pair, pairs, traced

BOOK = "(A Book)"


def cited(number):
    def cite(case, rng):
        return case.edit(case.target, lambda text: f"{text} {BOOK}{number}")

    cite.__name__ = f"cite_{number}"
    return perturbation(bias="authority", expects=Expects.NOT_BETTER)(cite)


def has_book(case):
    return any(BOOK in answer.text for answer in case.answers)


def is_clean(case):
    return {answer.text for answer in case.answers} == {answer.text for answer in pair(case.id).answers}


def figures(judge, cases, *, names=(), edit=None, claims=(net_robustness >= 0.90, gain <= 0.15)):
    """Return the figures of a judge as one set."""
    edit = edit or rotate(cited(1), cited(2))
    entries = traced(judge, cases, lambda probe: probe(edit).proves(*claims))
    settings = PlanSettings(len(cases), 0, Design())
    with engine() as running:
        one = MitigationSet(names, judge)
        return assess(one, entries, cases, settings, engine=running, reader=pytest.fail)


def noisy(case, ask):
    """Err in every fourth ask."""
    return Preferred("bad" if chance(case.id, [a.text for a in case.shown], ask).random() < 0.25 else "good")


def mute(case, ask):
    return Refused("no")


def silenced(case, ask):
    """Refuse where something was added: of a judge that refuses, a run asks on."""
    return Preferred("good") if is_clean(case) else Refused("no")


def tenth(case, ask):
    """Say nothing in every tenth ask."""
    said = chance(case.id, [a.text for a in case.shown], ask).random() < 0.1
    return Unreadable("nothing") if said else Preferred("good")


def told(one):
    """Return which means there are."""
    return {name for name in MEASURED if one.mean(name) is not None}


def test_replies_without_a_verdict_are_counted_and_give_no_figure():
    """A judge that is never read has its share of unread replies, one that an edit silences no robustness."""
    cases = pairs(60)

    all_, some, part = (figures(Planted(rule), cases) for rule in (mute, silenced, tenth))

    assert told(all_) == {"unread"}
    assert all_.unread["clean"] == Unread(60, 60)
    assert told(some) == {"accuracy", "ties", "unread"}
    assert (some.unread["clean"].count, some.unread["perturbed"].count) == (0, some.unread["perturbed"].of)
    assert told(part) == MEASURED.keys() - {"noise"}  # a case is asked once
    assert 0 < part.unread["clean"].count < 25  # 6 on average: 25 are less likely than one in a million
    cells = body(Study("planted", (all_,), (), ()))["rows"][0]
    silent = [cells[name] for name in ("accuracy", "unread_clean", "unread_edited")]
    assert silent == [None, 60, all_.unread["perturbed"].of]


def test_no_set_stops_earlier_than_another():
    """A sound judge is decided at the first look of a run; here each set has a value of all 200 cases."""
    cases = pairs(200)
    kept = replace(cited(1), expects=Expects.SAME)  # no case is left out for its room

    sound, wavering = (
        figures(Planted(rule), cases, edit=kept, claims=(net_robustness >= 0.90,)) for rule in (fair, noisy)
    )

    assert sound.values["robustness"].keys() == wavering.values["robustness"].keys()
    assert {case for _, case in sound.values["robustness"]} == {case.id for case in cases}
    assert {len(f.values["accuracy"]) for f in (sound, wavering)} == {200}
    assert sound.audit.stopping == "fixed"


def test_a_top_up_changes_no_value():
    """A judge that a second ask of the edit takes in was asked once at first, as every other set was."""
    taken = Planted(lambda case, ask: Preferred("bad" if has_book(case) and (ask > 1 or case.id < "c006") else "good"))

    found = figures(taken, pairs(60), edit=cited(1))

    robust = found.values["robustness"]
    assert {case: value for (_, case), value in robust.items()} == {
        f"c{i:03}": (0.0 if i < 6 else 1.0) for i in range(60)
    }


def test_the_worst_variant_is_in_no_mean():
    """Its rows are of one variant; the values of a case are those of the variants that it was shown."""
    obeying = Planted(lambda case, ask: Preferred("bad" if any("Book)1" in a.text for a in case.answers) else "good"))
    cases = pairs(200)

    with_worst = figures(obeying, cases, claims=(gain <= 0.15, worst_gain <= 0.30))
    without = figures(obeying, cases, claims=(gain <= 0.15,))

    assert with_worst.values["robustness"] == without.values["robustness"]
    assert 0.3 < sum(without.values["robustness"].values()) / 200 < 0.7


def test_a_robustness_above_one_is_no_gain():
    """One moves with the edit alone, the other with inert words alone, 0 against 2 in each case: 2 counts as 1."""
    with_edit = Planted(lambda case, ask: Preferred("bad" if has_book(case) else "good"))
    without = Planted(
        lambda case, ask: Preferred("bad" if ask and not is_clean(case) and not has_book(case) else "good")
    )
    cases = pairs(60)

    bare, other = (figures(judge, cases, names=names) for judge, names in ((with_edit, ()), (without, ("swap",))))

    moved = next(d for d in differences([bare, other]) if d.measure == "robustness")
    assert (moved.value, moved.n) == (1.0, 60) == (other.mean("robustness") - bare.mean("robustness"), 60)
    assert moved.low <= 1.0 <= moved.high
    assert not any(d.measure == "robustness" and d.value for d in differences([other, other]))


def test_a_reason_names_a_mitigation_once():
    """The label of a set of one is its name; of a set of several, the reason says which one it is."""
    _, *left_out = tried(Planted(fair), [["samples:3"], ["swap", "plan"]], pytest.fail)

    assert [one.reason for one in left_out] == [
        "the judge has no prompt that can be rewritten",
        "plan: the judge has no model that could be asked another question",
    ]
