"""
The audit as JUnit XML, for a CI server that did not see the run: a test case for each test, a property for each claim.

Properties have the names and words of the file that `--junit-xml` writes during the run. A test fails here if one of
its findings is red, and is an error if it crashed or did not run. Anything else that keeps the gate from being green
has a test case of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from calm.core.claims import Outcome
from calm.core.reasons import Reason
from calm.results import outputs
from calm.results.audit import Audit, Finding
from calm.results.endings import Ending, State
from calm.results.reports.html import visible
from calm.results.sentences import sentence
from calm.results.tabular import as_read
from calm.results.troubles import verdict_of
from calm.results.wording import measured

LONGEST = 1_000
"""Characters shown of one text."""
WHOLE = "the gate as a whole"
"""The name of the test case that holds what no test can: that nothing was proven, or that the run was cut short."""


def write(audit: Audit, path: Path) -> None:
    """Write the file; it appears whole or not at all."""
    outputs.write_whole(path, [render(audit)], outputs.JUNIT)


def render(audit: Audit) -> str:
    """Return the audit as one test suite in JUnit's XML."""
    audit = as_read(audit)
    endings = {one.node: one for one in audit.tests}
    tests: dict[str, list[Finding]] = {node: [] for node in endings}
    for one in audit.findings:
        tests.setdefault(one.node or one.key, []).append(one)
    suite = Element("testsuite", name="calm", time=f"{audit.run.seconds:.3f}", timestamp=_text(audit.run.started))
    facts = [
        ("judge", audit.judge.name),
        ("outcome", audit.outcome.value),
        ("headline", ": ".join(verdict_of(audit, green=audit.green()))),
    ]
    _properties(suite, [*facts, *(("note", str(note)) for note in audit.run.notes)])
    for node, findings in tests.items():
        _case(suite, node, findings, endings.get(node))
    whole = SubElement(suite, "testcase", classname="calm", name=WHOLE)
    if audit.loose_ends:
        _add_result(whole, "failure", "; ".join(audit.loose_ends), type=Outcome.INCOMPLETE.value)
    counts = {
        "tests": "testcase",
        "failures": "testcase/failure",
        "skipped": "testcase/skipped",
        "errors": "testcase/error",
    }
    for name, place in counts.items():
        suite.set(name, str(len(suite.findall(place))))
    root = Element("testsuites", name="calm")
    root.append(suite)
    indent(root, " ")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{tostring(root, encoding="unicode")}\n'


def _case(suite: Element, node: str, findings: Sequence[Finding], ending: Ending | None) -> None:
    """Add the test case of a test: red if a finding is or the test is lost, skipped if nothing of it was tested."""
    place, bracket, parameters = node.partition("[")
    path, _, test = place.partition("::")
    *groups, name = [*test.split("::")[:-1], f"{test.rpartition('::')[2]}{bracket}{parameters}"] if test else [node]
    file = path.removesuffix(".py").replace("\\", ".").replace("/", ".") if test else "calm"
    case = SubElement(suite, "testcase", classname=_text(".".join([file, *groups])), name=_text(name))
    _properties(case, [(f.key, f"{f.outcome.value} {measured(f)}") for f in findings])
    red = [f for f in findings if f.red]
    message = "\n".join(_text(f"{f.key}: {f.outcome.value}: {sentence(f)}") for f in red)
    if ending is not None and ending.lost:
        _add_result(case, "error", f"{ending.state.value}: {ending.reason}", type=ending.state.value).text = message
    elif red:
        worst = next(
            o for o in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED) if any(f.outcome is o for f in red)
        )
        _add_result(
            case, "failure", sentence(next(f for f in red if f.outcome is worst)), type=worst.value
        ).text = message
    elif (why := _untested(findings, ending)) is not None:
        _add_result(case, "skipped", f"NOT_TESTED: {why}", type=Outcome.NOT_TESTED.value)
    accepted = [_text(f"{f.key}: accepted: {f.accepted}") for f in findings if f.accepted is not None]
    if accepted:
        SubElement(case, "system-out").text = "\n".join(accepted)


def _untested(findings: Sequence[Finding], ending: Ending | None) -> Reason | None:
    """Return why nothing of a test was tested; None where something was."""
    if findings:
        return findings[0].reason if all(f.outcome is Outcome.NOT_TESTED for f in findings) else None
    return ending.reason if ending is not None and ending.state is State.NOT_TESTED else None


def _add_result(case: Element, kind: str, message: str, *, type: str) -> Element:
    return SubElement(case, kind, message=_text(message), type=type)


def _properties(parent: Element, facts: Sequence[tuple[str, str]]) -> None:
    if facts:
        properties = SubElement(parent, "properties")
        for name, value in facts:
            SubElement(properties, "property", name=_text(name), value=_text(value))


def _text(text: str) -> str:
    """Return a text on one line that XML can hold: what cannot be seen is made visible."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."
