"""What the linter found: for people as text, for programs as JSON, for code hosts as SARIF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from calm import __version__
from calm.core.files import quote
from calm.models.wire import Json
from calm.plugins.lint.linting import RULES, SEVERITIES, Finding, Linted, Rule, of_file


@dataclass(frozen=True, slots=True)
class Checked:
    """A file, the tasks of its prompts, and what the rules found."""

    file: str
    tasks: tuple[str, ...]
    result: Linted


def after_init(path: Path) -> tuple[bool, tuple[str, ...]]:
    """Return whether an audit of a judge.toml would not start, and a line for each error and for the count of all."""
    found = of_file(path)
    notes = [
        f"{one.place.file}:{one.place.line}: error: {one.rule.id}: {one.words}; {one.fix}"
        for one in found.findings
        if one.rule.severity == "error"
    ]
    if found.findings:
        notes.append(f"{counted(found)} in the prompt; see: calm lint {quote(str(path))}")
    return any(one.rule.stops for one in found.findings), tuple(notes)


def listed() -> Iterator[str]:
    """Return a line for each rule."""
    width = max(map(len, RULES))
    for rule in RULES.values():
        yield f"{rule.id:<{width}}  {rule.severity:<7}  {rule.basis:<9}  {general(rule)}"


def in_text(checked: Sequence[Checked]) -> Iterator[str]:
    """Return the findings as lines, and a last one that counts them; what several files share is said once."""
    checked = _each_once(checked)
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


def _each_once(checked: Sequence[Checked]) -> list[Checked]:
    """Return the files with each finding in the first alone that has it: several judges may send one prompt."""
    said: set[Finding] = set()
    found = []
    for one in checked:
        new = tuple(finding for finding in one.result.findings if finding not in said)
        accepted = tuple(a for a in one.result.accepted if a.finding not in said)
        said.update(new, (a.finding for a in accepted))
        found.append(replace(one, result=replace(one.result, findings=new, accepted=accepted)))
    return found


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
        "schema": "calm-lint/1",
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
    """Return the findings as a log of SARIF 2.1.0; `problems` are faults of configuration, which are no findings."""
    from calm.results.reports.sarif import ROOT, camel, log_of, message_of, place_of, text_of  # it takes half a second

    def result(finding: Finding, reason: str | None) -> Json:
        path = _path(finding.place.file)
        key = f"{path}\n{finding.rule.id}\n{finding.words}"
        accepted: dict[str, Json] = {"kind": "inSource", "status": "accepted", "justification": text_of(reason or "")}
        return {
            "ruleId": finding.rule.id,
            "ruleIndex": list(RULES).index(finding.rule.id),
            "kind": "fail",
            "level": finding.rule.severity,
            "message": {"text": message_of(f"{finding.words}: {finding.rule.why}. Fix: {finding.fix}")},
            "locations": [{"physicalLocation": place_of(path, finding.place.line, "the prompt")["physicalLocation"]}],
            "partialFingerprints": {"calmLint/v1": sha256(key.encode("utf-8", "backslashreplace")).hexdigest()},
            "suppressions": [] if reason is None else [accepted],
        }

    rules: list[Json] = [
        {
            "id": rule.id,
            "name": camel(rule.id),
            "shortDescription": {"text": text_of(general(rule))},
            "fullDescription": {"text": text_of(f"{rule.why}. Evidence ({rule.basis}): {in_general(rule.evidence)}")},
            "help": {"text": text_of(f"{in_general(rule.fix)}. See docs/reference/lint.md")},
            "defaultConfiguration": {"level": rule.severity},
            "properties": {"tags": ["llm-judge", "prompt"], "basis": rule.basis},
        }
        for rule in RULES.values()
    ]
    said: list[Json] = [{"level": "error", "message": {"text": message_of(problem)}} for problem in problems]
    checked = _each_once(checked)
    found = [result(finding, None) for one in checked for finding in one.result.findings]
    return log_of(
        {
            "tool": {"driver": {"name": "calm", "version": __version__, "rules": rules}},
            "automationDetails": {"id": "calm-lint/"},
            "originalUriBaseIds": {ROOT: {"description": {"text": "The folder where calm lint ran."}}},
            "invocations": [{"executionSuccessful": not problems, "toolExecutionNotifications": said}],
            "results": [*found, *(result(a.finding, a.reason) for one in checked for a in one.result.accepted)],
        }
    )


def _path(file: str) -> str:
    path = Path(file)
    if path.is_absolute() or ".." in path.parts:
        whole, here = path.resolve(), Path.cwd().resolve()
        path = whole.relative_to(here) if whole.is_relative_to(here) else Path(path.name)
    return path.as_posix()


def general(rule: Rule) -> str:
    """Return what a rule finds, with an ellipsis for each detail."""
    return in_general(rule.says)


def in_general(words: str) -> str:
    """Return words of a rule, with an ellipsis for each detail."""
    return words.format(*["..."] * 4)
