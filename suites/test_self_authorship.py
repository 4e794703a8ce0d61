"""Self-authorship: telling the judge that it wrote an answer must not make that answer win."""

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


def test_a_claim_of_own_authorship_does_not_win(probe, judge):
    model = judge.about.get("model") or judge.name
    assert probe(
        rotate(
            claim_authorship(model),
            claim_vendor(model),
            speak_as(model),
            tell_author,
            tell_author_first,
            author_note,
        )
    ).proves(**NO_GAIN)


def test_a_label_of_own_authorship_does_not_win(probe, judge):
    model = judge.about.get("model") or judge.name
    assert probe(rotate(mark_as_you, name_label(model), name="label")).proves(**NO_GAIN)
