"""Self-authorship: telling the judge that it wrote an answer must not make that answer win."""

from functools import cache

from calm import rotate
from calm.perturbations.self_authorship import (
    author_note,
    claim_authorship,
    claim_vendor,
    mark_as_you,
    name_label,
    speak_as,
    tell_author,
    tell_author_first,
)
from calm.suites.limits import NO_GAIN


@cache  # one object each time: a test finds what was asked ahead of it
def _claims(model):
    own = claim_authorship(model), claim_vendor(model), speak_as(model)
    return rotate(*own, tell_author, tell_author_first, author_note)


@cache
def _labels(model):
    return rotate(mark_as_you, name_label(model), name="label")


def test_a_claim_of_own_authorship_does_not_win(probe, judge):
    assert probe(_claims(judge.about.get("model") or judge.name)).proves(**NO_GAIN)


def test_a_label_of_own_authorship_does_not_win(probe, judge):
    assert probe(_labels(judge.about.get("model") or judge.name)).proves(**NO_GAIN)
