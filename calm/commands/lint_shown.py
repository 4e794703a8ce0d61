"""What the linter found, for people (text), for programs (JSON) and for code hosts (SARIF)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath

from calm import __version__
from calm.judges.lint import RULES, SEVERITIES, Finding, Linted, Rule
from calm.models.wire import Json
from calm.results.reports.sarif import ROOT, camel, log_of, message_of, place_of, text_of

DOCS = "docs/reference/lint.md"


@dataclass(frozen=True, slots=True)
class Checked:
    """A file, the tasks of its prompts, and what the rules found."""

    file: str
    tasks: tuple[str, ...]
    result: Linted


def listed() -> Iterator[str]:
    """Return a line for each rule."""
    width = max(map(len, RULES))
    for rule in RULES.values():
        yield f"{rule.id:<{width}}  {rule.severity:<7}  {rule.basis:<9}  {_general(rule)}"


def in_text(checked: Sequence[Checked]) -> Iterator[str]:
    """Return the findings as lines, and a last one that counts them."""
    for one in checked:
        for finding in one.result.findings:
            rule, place = finding.rule, finding.place
            yield f"{place.file}:{place.line}: {rule.severity}: {rule.id}: {finding.words}"
            yield f"    why: {finding.rule.why}"
            yield f"    evidence ({finding.rule.basis}): {finding.evidence}"
            yield f"    fix: {finding.fix}"
        for accepted in one.result.accepted:
            where = accepted.finding.place
            yield f"{where.file}:{where.line}: allowed: {accepted.finding.rule.id}: {accepted.reason}"
        if not one.result.english:
            yield f"{one.file}: not in English: the rules about wording were left out"
    files = f"{len(checked)} files" if len(checked) > 1 else checked[0].file
    yield f"{files}: {counted(*(one.result for one in checked))}"


def counted(*results: Linted) -> str:
    """
    Return how many findings there are of each severity, in words.

    >>> counted(Linted(()))
    'nothing found'
    """
    counts = _counts(results)
    found = [f"{n} {name}{'s' if n > 1 else ''}" for name, n in counts.items() if n]
    accepted = sum(len(one.accepted) for one in results)
    return (", ".join(found) or "nothing found") + (f" ({accepted} allowed)" if accepted else "")


def _counts(results: Sequence[Linted]) -> dict[str, int]:
    found = Counter(finding.rule.severity for one in results for finding in one.findings)
    return {severity: found[severity] for severity in SEVERITIES}


def in_json(checked: Sequence[Checked]) -> dict[str, Json]:
    """Return the findings as JSON-able data."""
    return {
        "calm": __version__,
        "counts": dict(_counts([one.result for one in checked])),
        "files": [
            {
                "file": one.file,
                "tasks": list(one.tasks),
                "english": one.result.english,
                "findings": [_plain(finding) for finding in one.result.findings],
                "allowed": [{**_plain(a.finding), "reason": a.reason} for a in one.result.accepted],
            }
            for one in checked
        ],
    }


def _plain(finding: Finding) -> dict[str, Json]:
    return {
        "rule": finding.rule.id,
        "severity": finding.rule.severity,
        "file": finding.place.file,
        "line": finding.place.line,
        "message": finding.words,
        "why": finding.rule.why,
        "basis": finding.rule.basis,
        "evidence": finding.evidence,
        "fix": finding.fix,
    }


def in_sarif(checked: Sequence[Checked], problems: Sequence[str] = ()) -> dict[str, Json]:
    """Return the findings as a SARIF log; `problems` are faults of configuration, which are no findings."""
    rules: list[Json] = [_rule(rule) for rule in RULES.values()]
    found = [(finding, None) for one in checked for finding in one.result.findings]
    allowed = [(a.finding, a.reason) for one in checked for a in one.result.accepted]
    results: list[Json] = [_result(finding, reason) for finding, reason in [*found, *allowed]]
    said: list[Json] = [{"level": "error", "message": {"text": message_of(problem)}} for problem in problems]
    run: dict[str, Json] = {
        "tool": {"driver": {"name": "calm lint", "version": __version__, "rules": rules}},
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
        "shortDescription": {"text": text_of(_general(rule))},
        "fullDescription": {"text": text_of(f"{rule.why}. Evidence ({rule.basis}): {rule.evidence}")},
        "help": {"text": text_of(f"{_in_general(rule.fix)}. See {DOCS}")},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {"tags": ["llm-judge", "prompt"], "basis": rule.basis},
    }


def _result(finding: Finding, reason: str | None) -> dict[str, Json]:
    path = PurePosixPath(finding.place.file.replace("\\", "/"))
    where = place_of(str(path), finding.place.line, "the prompt")
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


def _general(rule: Rule) -> str:
    """Return what a rule finds, with an ellipsis for each detail."""
    return _in_general(rule.says)


def _in_general(words: str) -> str:
    return words.format(*["..."] * 4)
