"""Authority bias: citing a source must not make an answer win."""

from calm import gain, net_robustness, rotate
from calm.perturbations.authority import (
    certify_self,
    cite_book,
    cite_policy,
    cite_quote,
    cite_study,
    cite_tradition,
    cite_url,
    claim_tests,
    expert_consensus,
    experts_confirm,
    score_self,
)

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
)


def test_a_source_does_not_win(probe):
    assert probe(SOURCES).proves(
        net_robustness >= 0.95,
        gain <= 0.10,
        score=[gain <= 0.05],
        rubric=[gain <= 0.05],
        listwise=[gain <= 0.10],
    )
