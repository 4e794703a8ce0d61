"""
What a claim means, in plain words: one sentence for each measure and limit.

A claim is made at one of three resolutions: of all probes of a run together, of one probe, or of the worst variant of
its edit. Findings are read in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from calm.core.claims import Claim
from calm.core.measures import ADVANTAGE, MEASURES
from calm.results.audit import BASELINE, RUN, Finding
from calm.results.records import family_of


class Resolution(IntEnum):
    """What a finding is about, in the order in which findings are read."""

    RUN = 0
    """All probes of the run together, or the run held against its baseline."""
    PROBE = 1
    VARIANT = 2
    """The worst variant of a rotation, or one variant by itself."""


_WHO: Final[Mapping[Resolution, str]] = {
    Resolution.RUN: "on average over all probes, an edit",
    Resolution.PROBE: "an edit",
    Resolution.VARIANT: "even the worst variant of an edit",
}
_SCORED: Final = ("score", "rubric")
_OF_AN_EDIT: Final[Mapping[str, str]] = {
    "net_robustness": "moves at most {rest} of the verdicts beyond what inert words move",
    "gain": "wins at most {limit} of the cases that it could win",
    "abs gain": "wins or loses at most {limit} of the cases that it could win",
    "pull": "wins at most {limit} more of the pairs of equally good answers than it loses",
    "abs pull": "wins or loses at most {limit} more of the pairs of equally good answers than the reverse",
    "net_detection": "that does harm is marked down at least {limit} more often than up",
    "unreadable_gain": "makes at most {limit} more of the replies unreadable",
    "tie_rate": "that leaves nothing to choose ends in a tie in at least {limit} of the asks",
    "attack_success_rate": "wins at most {limit} of the cases that it had lost",
    "acknowledgement_rate": "that moves a verdict is named in at least {limit} of the reasons for it",
    "robustness_rate": "leaves at least {limit} of the verdicts as they were",
}
"""What a claim says of an edit, on pairs and lists; `abs` marks one with a limit on both sides of zero."""
_ON_A_SCALE: Final[Mapping[str, str]] = {
    "net_robustness": "moves verdicts by at most {rest} of the scale beyond what inert words move",
    "gain": "raises the answer by at most {limit} of the scale, where it could rise",
    "abs gain": "raises or lowers the answer by at most {limit} of the scale, where it could rise",
    "lift": "raises an answer that is not perfect, good or weak, by at most {limit} of the scale",
    "abs lift": "raises or lowers an answer that is not perfect by at most {limit} of the scale",
    "mean_shift": "raises the answer by at most {limit} of the scale",
    "abs mean_shift": "raises or lowers the answer by at most {limit} of the scale",
}
"""The same on scores and rubrics, where it differs."""
_OF_CLASSES: Final[Mapping[str, str]] = {
    "gain": "moves at most {limit} of the verdicts in a bad direction, where one is open",
    "abs gain": "moves at most {limit} of the verdicts more in a bad direction than in its reverse, or less",
    "lift": "moves at most {limit} of the verdicts more in a bad direction than in its reverse",
    "abs lift": "moves at most {limit} of the verdicts more in a bad direction than in its reverse, or less",
    "mean_shift": "moves at most {limit} of the verdicts more in a bad direction than in its reverse",
    "abs mean_shift": "moves at most {limit} of the verdicts more in a bad direction than in its reverse, or less",
    "net_detection": "that does harm leads at least {limit} more often to the class of harmed answers than away",
}
"""The same of classes, where it differs."""
_OF_THE_JUDGE: Final[Mapping[str, str]] = {
    "rewording_rate": "inert words move at most {limit} of the verdicts beyond what asking again moves",
    "consistency_rate": "asked again, the judge says the same in at least {limit} of the asks",
    "repeat_distance": "asked again, the judge is at most {limit} of the scale away",
    "scale_use": "the scores of two cases are at least {limit} of the scale apart, on average over all pairs of cases",
    "readable_rate": "at least {limit} of the replies hold a verdict",
    "accuracy": "at least {limit} of the verdicts agree with the gold label",
    "balanced_accuracy": "at least {limit} of each gold label are found, on average over the labels",
    "kappa": "the judge agrees with the gold labels beyond chance, at {limit} of what is possible beyond it",
    "weighted_kappa": "scores agree with the gold beyond chance, at {limit} of what is possible beyond it",
    "gwet_ac": "verdicts agree with the gold beyond chance (by Gwet's AC) at {limit} of what is possible beyond it",
    "rank_agreement": "of the pairs that the gold ranks, {limit} more are put in its order than in the other one",
    "correlation": "the ranks of verdicts and gold have a correlation of at least {limit}",
    "mean_error": "on average the judge is above the gold by at most {limit} of the scale",
    "abs mean_error": "on average the judge is above or below the gold by at most {limit} of the scale",
    "mean_absolute_error": "a verdict is on average at most {limit} of the scale away from the gold",
    "accuracy_gain": "the edit makes at least {limit} more of the verdicts right",
    "slot_pull": "the first slot wins at most {limit} more of the asks than the last",
    "abs slot_pull": "neither the first slot nor the last wins more than {limit} more of the asks than the other",
}
_AS_A_PERSON: Final = (
    "the judge agrees with people at least as well as a person does, but for at most {share} more of the cases"
)
_ABOVE_A_PERSON: Final = "the judge agrees with people better than a person does in at least {share} more of the cases"


def resolution(finding: Finding) -> Resolution:
    """Return what a finding is about: the run, a probe, or a variant."""
    if finding.bias in (RUN, BASELINE):
        return Resolution.RUN
    measure = MEASURES.get(finding.measure)
    return Resolution.VARIANT if finding.single or (measure is not None and measure.worst_of) else Resolution.PROBE


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings about the run first, then those about probes, then those about variants."""
    return sorted(findings, key=resolution)


def meaning(finding: Finding) -> str:
    """
    Return what the claim of a finding says, or nothing for one that claims nothing, or of which no words are known.

    `worst_gain <= 0.30` is "even the worst variant of an edit wins at most 30 % of the cases that it could win".
    """
    claim = finding.claim
    if claim is None or finding.bias == BASELINE:
        return ""
    return words_of(Claim(finding.measure, claim.op, claim.limit), resolution(finding), finding.task)


def words_of(claim: Claim, at: Resolution, task: str) -> str:
    """Return what a claim at a resolution says of judges of a task, or nothing where no words are known."""
    measure = MEASURES.get(claim.measure)
    if claim.measure == ADVANTAGE:
        of_people = _AS_A_PERSON if claim.limit <= 0 else _ABOVE_A_PERSON
        return of_people.format(share=percent(abs(claim.limit)))
    if measure is None or claim.limit < 0:
        return ""
    name = f"{'abs ' if claim.op == 'abs<=' else ''}{measure.worst_of or measure.name}"
    shares = {"limit": percent(claim.limit), "rest": percent(1 - claim.limit)}
    if name in _OF_THE_JUDGE:
        return _OF_THE_JUDGE[name].format(**shares)
    family = family_of(task)
    own = _ON_A_SCALE if family in _SCORED else _OF_CLASSES if family == "label" else {}
    words = {**_OF_AN_EDIT, **own}
    return f"{_WHO[at]} {words[name].format(**shares)}" if name in words else ""


def meanings(findings: Iterable[Finding]) -> dict[str, str]:
    """Return the claims of findings by their words, each once, those about the run first."""
    found: dict[str, str] = {}
    for one in in_order(findings):
        if one.claim is not None and (said := meaning(one)):
            where = f"{RUN}/" if one.bias == RUN else ""
            found.setdefault(said, f"{where}{Claim(one.measure, one.claim.op, one.claim.limit)}")
    return found


def percent(share: float) -> str:
    """
    Return a share in percent, with as many places as it has.

    >>> percent(0.05), percent(0.125), percent(1 - 0.95)
    ('5 %', '12.5 %', '5 %')
    """
    return f"{round(100 * share, 4):g} %"
