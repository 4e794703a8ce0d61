"""Why replies hold no verdict: the commonest reason with its share and an example, and the step that mends it."""

import pytest

from calm import readable_rate
from calm.core.reasons import Kind, Said, because
from calm.core.verdict import Refused, Scale, Score, Unreadable, unreadable
from calm.experiment.run import run
from calm.results.findings import finding
from calm.results.plain import to_plain
from calm.results.redaction import finding_without_texts
from calm.results.sentences import sentence
from calm.results.steps import next_step
from tests.planted import Planted, setup, singles
from tests.reports.planted_audit import empty

NINE, TEN = (unreadable(because(Kind.OFF_SCALE, Said(number), "1", "5", " in steps of 1")) for number in ("9", "10"))
HALF = unreadable(because(Kind.OFF_SCALE, Said("2.5"), "1", "5", " in steps of 1"))
RATIO = unreadable(because(Kind.OUT_OF, Said("'8/10'"), "10", "5"))
CUT, ODD, NO = unreadable(because(Kind.REPLY_CUT)), Unreadable("the reply has no field 'score'"), Refused("I will not")
SCALE = "let [verdict.scale] in judge.toml and the prompt name the same scale"


def found_of(*silent, every=2):
    """Return the finding about a judge that gives these verdicts in turn in the place of each second score."""

    def rule(case, _):
        number = int(case.id[1:])
        return Score(4.0) if number % every else silent[number // every % len(silent)]

    judge = Planted(rule, task="score", scale=Scale(1, 5, 1))
    with setup(judge, singles(60)) as given:
        [ruling] = run(given, None, [readable_rate >= 0.95]).rulings
    about = {"node": "suites/test_consistency.py::test_it", "edit": None, "against": None, "task": "score"}
    return finding(bias="consistency", decision=ruling.decision, trials=ruling.trials, **about)


@pytest.mark.parametrize(
    ("silent", "said", "mend"),
    [
        ([NINE], "50 of 100 replies name a number that is not on the scale 1 to 5, such as 9", SCALE),
        ([NINE, TEN, NINE], "50 of 100 replies name a number that is not on the scale 1 to 5, such as 9", SCALE),
        ([NINE, NINE, ODD], "33 of 100 replies name a number that is not on the scale 1 to 5, such as 9", SCALE),
        ([HALF], "50 of 100 replies name a number that is not on the scale 1 to 5 in steps of 1, such as 2.5", SCALE),
        ([RATIO], "50 of 100 replies hold no verdict, such as: '8/10' is out of 10; expected a score up to 5", SCALE),
        ([CUT], "50 of 100 replies hold no verdict, such as: cut by max_tokens", "raise max_tokens"),
        ([ODD], "50 of 100 replies hold no verdict, such as: the reply has no field 'score'", "end its reply with"),
    ],
)
def test_the_commonest_reason_is_said_and_mended_first(silent, said, mend):
    """With its share of all replies, and the reply that is met most often; no mitigation comes before it."""
    found = found_of(*silent)
    step = next_step(empty(findings=(found,)), "", green=False)

    assert said in sentence(found)
    assert step.what.startswith("Do this first: ")
    assert mend in step.what
    assert step.command.startswith("calm try ")
    assert "--case=c" in step.command


def test_no_number_of_a_reply_is_left_where_texts_are_left_out():
    """It may be that of an account."""
    found = finding_without_texts(found_of(unreadable(because(Kind.OFF_SCALE, Said("482913"), "1", "5", ""))))

    assert "50 of 100 replies hold no verdict; why is left out" in sentence(found)
    assert "482913" not in f"{to_plain(found)}"


def test_refusals_and_replies_that_can_be_read_have_no_such_reason():
    """What declines is no matter of reading; and nothing is said of the few that are unread."""
    assert not found_of(NO).reason.has(Kind.UNREAD_BY)
    assert not found_of(NINE, every=60).reason.has(Kind.UNREAD_BY)
    assert found_of(NINE, every=10).reason.has(Kind.UNREAD_BY)
