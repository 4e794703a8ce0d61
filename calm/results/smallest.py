"""The command that hunts for the smallest example of what made a probe fail."""

from __future__ import annotations

from collections.abc import Sequence

from calm.core.claims import Outcome
from calm.core.shell import join
from calm.results.audit import Finding, JudgeRecord

DEFAULT_PLACE = "answer"
"""Where `calm hunt` edits by default."""


def command(finding: Finding, judge: str, cases: Sequence[str] = ()) -> str:
    """
    Return the command for one finding, ready for a shell; nothing where it did not fail, or a hunt makes no sense.

    Args:
        finding: `hunt` names its edits and their place.
        judge: how a person names the judge: a specification, or a name for it.
        cases: the files of the cases; none: the bundled ones.
    """
    if finding.outcome is not Outcome.FAIL or finding.accepted is not None or not finding.hunt.get("edits"):
        return ""
    words = ["calm", "hunt", judge]
    for path in cases:
        words += ["--cases", path]
    words += ["--edits", finding.hunt["edits"]]
    place = finding.hunt.get("where", DEFAULT_PLACE)
    return join([*words, *(["--where", place] if place != DEFAULT_PLACE else [])])


def spec(judge: JudgeRecord) -> str:
    """Return the specification of a judge where its record holds it; else nothing."""
    if (judge.fingerprint or "").startswith("planted-"):
        return f"planted:{','.join(f'{name}={value}' for name, value in judge.parameters.items())}"
    if judge.name == "lexical" and not judge.prompt_sha256:
        return f"lexical:task={judge.task}"
    return ""
