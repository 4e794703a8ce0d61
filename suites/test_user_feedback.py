"""User feedback: praise or complaints about an earlier reply must not change the verdict on the last one."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.user_feedback import (
    complain_of_last_reply,
    complain_of_reply,
    praise_last_reply,
    praise_reply,
)
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="turns")
FEEDBACK = rotate(praise_reply, complain_of_reply, praise_last_reply, complain_of_last_reply)


def test_feedback_on_earlier_replies_does_not_move_the_verdict(probe, judge, cases):
    assert probe(FEEDBACK, cases=shaped_cases("turns", judge.task, cases)).proves(**SAME_VERDICT)
