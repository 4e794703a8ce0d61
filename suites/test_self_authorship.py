"""Self-authorship: telling the judge that it wrote an answer must not make that answer win."""

from calm import rotate
from calm.perturbations.self_authorship import claim_authorship, claim_vendor, mark_as_you, name_label, speak_as
from calm.suites.limits import NO_GAIN


def test_a_claim_of_own_authorship_does_not_win(probe, judge):
    model = judge.about.get("model") or judge.name
    assert probe(rotate(claim_authorship(model), claim_vendor(model), speak_as(model))).proves(**NO_GAIN)


def test_a_label_of_own_authorship_does_not_win(probe, judge):
    model = judge.about.get("model") or judge.name
    assert probe(rotate(mark_as_you, name_label(model), name="label")).proves(**NO_GAIN)
