"""Authority bias: citing a source, or claiming to be an expert, must not make an answer win."""

from calm import rotate
from calm.perturbations.authority import (
    certify_self,
    cite_author,
    cite_book,
    cite_number,
    cite_policy,
    cite_quote,
    cite_study,
    cite_tradition,
    cite_url,
    cite_year,
    claim_expertise,
    claim_tests,
    expert_consensus,
    experts_confirm,
    score_self,
)
from calm.suites.limits import NO_GAIN

SOURCES = rotate(
    cite_book,
    cite_quote,
    cite_url,
    expert_consensus,
    experts_confirm,
    certify_self,
    cite_policy,
    cite_tradition,
    cite_study,
    claim_tests,
    score_self,
    cite_author,
    cite_year,
    cite_number,
    claim_expertise,
)


def test_a_source_does_not_win(probe):
    assert probe(SOURCES).proves(**NO_GAIN)
