"""What a server loses proves nothing: a hunt takes no missing reply for a verdict that speaks for a flip."""

from calm.core.verdict import NoReply, Preferred
from calm.experiment.referee import Flip, Terms
from calm.plugins.search.arms import arms_for
from calm.plugins.search.hunt import hunt
from calm.plugins.search.proposers import bandit_for
from calm.plugins.search.subjects import FRESH, PLACES, Bounds, Subject
from tests.planted import Planted, fair, pair, pairs, setup

TERMS = Terms(level=0.05, clean_each=1, noise=0.3)


def subject_of(setting):
    """Return a case in hand, with asks left."""
    case = setting.cases[0].with_order()
    return Subject(setting, PLACES["answer"], case, case.treat("bad"), Preferred("good"), terms=TERMS, left=100)


def edited(case):
    """Return whether an answer was edited."""
    return any("certified" in answer.text for answer in case.answers)


def test_lost_asks_about_the_original_prove_no_flip():
    """The answer wins whenever the judge replies; only asks about the text as it was are lost."""

    def rule(case, ask):
        return Preferred("bad") if edited(case) else NoReply("the server is down")

    with setup(Planted(rule), [pair("x")]) as setting:
        one = subject_of(setting)

        assert one.ruled(f"{one.original} certified", TERMS, FRESH).flip is not Flip.YES
        assert one.lost.total() > 0


def test_lost_asks_about_the_text_prove_no_flip():
    """They are no wins."""
    with setup(Planted(lambda case, ask: NoReply("down") if edited(case) else fair(case, ask)), [pair("x")]) as setting:
        one = subject_of(setting)

        assert one.ruled(f"{one.original} certified", TERMS, FRESH).flip is not Flip.YES


def test_a_hunt_that_loses_many_asks_is_incomplete():
    """On a server that is down, and on one that fails on edited texts alone: no result is not the same as nothing."""

    def edited_fail(case, ask):
        return fair(case, ask) if case["bad"].text in texts else NoReply("the server is down")

    cases = pairs(6)
    texts = {case["bad"].text for case in cases}
    for rule in (edited_fail, lambda case, ask: NoReply("the server is down")):
        with setup(Planted(rule), cases) as setting:
            arms, place = arms_for("pairwise", ["cue"]), PLACES["answer"]
            found = hunt(setting, place, bandit_for(arms, place, setting), Bounds(60))

        assert not found.findings
        assert "the server is down" in str(found.incomplete)
