"""What to do next about what a run found: in words, with a command that runs where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from calm.core.case import COPY
from calm.core.claims import Outcome
from calm.core.reasons import Kind
from calm.core.shell import join
from calm.results.audit import AGREEMENT, BASELINE, CONTROLS, RUN, Audit, Finding, TrialRecord
from calm.results.command_lines import again, hunt, mitigate
from calm.results.gatefile import WORSENING
from calm.results.remedies import HELP
from calm.results.remedies import MORE as MORE_HELP
from calm.results.sentences import capital, loudest
from calm.results.troubles import Trouble, excess, troubles
from calm.results.wording import plan

MORE: Final = "Ask about more cases"
LOOK: Final = "Look at a case that changed"
UNNOTICED: Final = "Look at a case whose damage the judge did not notice"
DETECTIONS: Final = ("net_detection", "worst_detection")
"""Measures of damage that a judge is to notice: there a verdict that stays is the fault."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do next: what it is for, and its command, or nothing where none is needed."""

    what: str
    command: str = ""


def steps_of(audit: Audit, one: Trouble, look: str = "") -> list[Step]:
    """
    Return what to do about a trouble: by its outcome, and by what fits the judge.

    `look` is the command that asks about a case that is shown beside; without it, about the one that changed most.
    """
    looks = [Step(LOOK, look)] if look and one.lead.measure not in DETECTIONS else _look(audit, one)
    if one.outcome is Outcome.INCOMPLETE and one.lead.measure == WORSENING:
        return [Step("Run the cases and tests of the baseline, or make a new baseline of this run with `calm accept`.")]
    if one.outcome is Outcome.INCOMPLETE:
        capped = any(f.reason.has(Kind.CAPPED) for f in one.findings)
        higher = " with a higher cap" if capped else ""
        return [Step(f"Run it again{higher}: {again_costs(audit)}.")]
    if one.bias in (RUN, BASELINE):
        return [Step("It sums up all probes: begin with the worst bias.")]
    if one.outcome is Outcome.UNDECIDED:
        needed = next(filter(None, map(plan, one.findings)), "")
        steps = [Step(f"{capital(needed) if needed else MORE}.")]
        if excess(one.lead):
            steps += _mitigations(audit, one)
        return [*steps, *looks]
    steps = []
    if one.bias in CONTROLS:
        steps.append(Step("Do this first: while it fails, no other finding means much."))
    failed = [f for f in one.findings if f.outcome is Outcome.FAIL]
    steps += (tried := _mitigations(audit, one))
    if not tried and one.bias != AGREEMENT:
        steps.append(Step("No ready mitigation fits a judge whose prompt calm cannot change: change its own code."))
    if command := hunt(audit, failed):
        steps.append(Step("Find the smallest text that flips it, and keep it as a test", command))
    steps += looks
    steps.append(Step("See what else can be done", HELP.get(one.bias, MORE_HELP)))
    return steps


def again_costs(audit: Audit) -> str:
    """Return what a run costs when it is made again: only what is new, if the replies were kept."""
    return "what was asked before comes from the cache" if audit.run.kept else "it asks all anew, as no reply was kept"


def next_step(audit: Audit, results: str, *, green: bool) -> Step | None:
    """
    Return the first thing to do after a run, one with a command if there is any; None where nothing is to be done.

    `results` is the file with its results, which a green run without a baseline can be accepted by; empty: none.
    """
    if green:
        known = any(f.baseline is not None or f.bias == BASELINE for f in audit.findings)
        return None if known or not results else Step("keep this as the baseline", join(["calm", "accept", results]))
    wrong = troubles(audit)
    found = [step for one in wrong for step in steps_of(audit, one)]
    if wrong and wrong[0].outcome is Outcome.INCOMPLETE:
        return found[0]
    return next((step for step in found if step.command), found[0] if found else None)


def _mitigations(audit: Audit, one: Trouble) -> list[Step]:
    """Return the step that tries what may help; none where nothing fits the judge."""
    command = mitigate(audit, one.bias, list(dict.fromkeys(f.node for f in one.findings if f.node)))
    return [Step("Try mitigations, and see which one helps (add --plan for the cost)", command)] if command else []


def _look(audit: Audit, one: Trouble) -> list[Step]:
    """Return the step that asks again about the case that changed most; none where no command line can ask it."""
    for finding in one.findings:
        most = loudest(finding)
        rows = [row for row in finding.trials if not most or row.edit == most]
        for row in sorted(rows, key=lambda row: _visible(finding, row), reverse=True):
            if _visible(finding, row)[1] and (command := again(audit, finding, row)):
                return [Step(_seen(finding), command)]
    return []


def _seen(finding: Finding) -> str:
    """Return what there is to see in a case of a finding."""
    return UNNOTICED if finding.measure in DETECTIONS else LOOK


def _visible(finding: Finding, row: TrialRecord) -> tuple[bool, float]:
    """Return whether the first ask, which `calm try` repeats, shows the finding, and the share of asks that do."""
    before = row.control or row.clean or row.inert
    if finding.measure in DETECTIONS:  # a damaged copy is noticed where its original wins, else where a verdict changes
        original = (row.target or "").removesuffix(COPY)
        missed = [code != original if original != row.target else code in before for code in row.perturbed]
        return bool(missed and missed[0]), sum(missed) / max(1, len(missed))
    return bool(before) and row.perturbed[:1] != before[:1], _changed(row)


def _changed(row: TrialRecord) -> float:
    """Return the share of asks after the edit whose verdict is none of those before it."""
    before = row.control or row.clean or row.inert
    return sum(code not in before for code in row.perturbed) / max(1, len(row.perturbed))
