"""Small talk: words about nothing in earlier turns must not change the verdict on the last reply."""

import pytest

from calm import rotate
from calm.cases import shaped_cases
from calm.perturbations.small_talk import chat_between, chat_first, chat_in_turns
from calm.suites.limits import SAME_VERDICT

pytestmark = pytest.mark.calm_every_variant(unless="turns")
CHAT = rotate(chat_first, chat_between, chat_in_turns)


def test_small_talk_does_not_move_the_verdict(probe, judge, cases):
    assert probe(CHAT, cases=shaped_cases("turns", judge.task, cases)).proves(**SAME_VERDICT)
