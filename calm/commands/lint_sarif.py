"""What the linter found, for code hosts: SARIF 2.1.0, built as the log of an audit is."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from calm import __version__
from calm.commands.lint_shown import Checked, general, in_general
from calm.judges.lint import RULES, Finding, Rule
from calm.models.wire import Json
from calm.results.reports.sarif import ROOT, camel, log_of, message_of, place_of, text_of

DOCS = "docs/reference/lint.md"


def in_sarif(checked: Sequence[Checked], problems: Sequence[str] = ()) -> dict[str, Json]:
    """Return the findings as a SARIF log; `problems` are faults of configuration, which are no findings."""
    rules: list[Json] = [_rule(rule) for rule in RULES.values()]
    found = [(finding, None) for one in checked for finding in one.result.findings]
    allowed = [(a.finding, a.reason) for one in checked for a in one.result.accepted]
    results: list[Json] = [_result(finding, reason) for finding, reason in [*found, *allowed]]
    said: list[Json] = [{"level": "error", "message": {"text": message_of(problem)}} for problem in problems]
    run: dict[str, Json] = {
        "tool": {"driver": {"name": "calm", "version": __version__, "rules": rules}},
        "automationDetails": {"id": "calm-lint/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder where calm lint ran."}}},
        "invocations": [{"executionSuccessful": not problems, "toolExecutionNotifications": said}],
        "results": results,
    }
    return log_of(run)


def _rule(rule: Rule) -> dict[str, Json]:
    return {
        "id": rule.id,
        "name": camel(rule.id),
        "shortDescription": {"text": text_of(general(rule))},
        "fullDescription": {"text": text_of(f"{rule.why}. Evidence ({rule.basis}): {in_general(rule.evidence)}")},
        "help": {"text": text_of(f"{in_general(rule.fix)}. See {DOCS}")},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["llm-judge", "prompt"], "basis": rule.basis},
    }


def _path(file: str) -> str:
    """Return a path as it is below the present folder; the name alone of a file that is elsewhere."""
    path = Path(file)
    if path.is_absolute() or ".." in path.parts:
        whole, here = path.resolve(), Path.cwd().resolve()
        path = whole.relative_to(here) if whole.is_relative_to(here) else Path(path.name)
    return path.as_posix()


def _result(finding: Finding, reason: str | None) -> dict[str, Json]:
    path = _path(finding.place.file)
    where = place_of(path, finding.place.line, "the prompt")
    key = f"{path}\n{finding.rule.id}\n{finding.words}"
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": list(RULES).index(finding.rule.id),
        "kind": "fail",
        "level": finding.rule.severity,
        "message": {"text": message_of(f"{finding.words}: {finding.rule.why}. Fix: {finding.fix}")},
        "locations": [{"physicalLocation": where["physicalLocation"]}],
        "partialFingerprints": {"calmLint/v1": sha256(key.encode("utf-8", "backslashreplace")).hexdigest()},
        "suppressions": []
        if reason is None
        else [{"kind": "inSource", "status": "accepted", "justification": text_of(reason)}],
    }
