"""
The audit as JUnit XML, for a CI server that did not see the run: a test case for each test, a property for each claim.

Properties have the names and words of the file that `--junit-xml` writes during the run. A test fails here if one of
its findings is red. Anything else that keeps the gate from being green has a test case of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from calm.core.claims import Outcome
from calm.core.reasons import Kind
from calm.results import outputs
from calm.results.audit import Audit, Finding
from calm.results.reports.html import visible
from calm.results.wording import headline, line, measured

LONGEST = 1_000
"""Characters shown of one text."""
WHOLE = "the gate as a whole"
"""The name of the test case that holds what no test can: that nothing was proven, or that the run was cut short."""


def write(audit: Audit, path: Path) -> None:
    """Write the file; it appears whole or not at all."""
    outputs.write_whole(path, [render(audit)], outputs.JUNIT)


def render(audit: Audit) -> str:
    """Return the audit as one test suite in JUnit's XML."""
    tests: dict[str, list[Finding]] = {}
    for one in audit.findings:
        tests.setdefault(one.node or one.key, []).append(one)
    suite = Element("testsuite", name="calm", time=f"{audit.run.seconds:.3f}", timestamp=_text(audit.run.started))
    facts = [("judge", audit.judge.name), ("outcome", audit.outcome.value), ("headline", headline(audit))]
    _properties(suite, [*facts, *(("note", str(note)) for note in audit.run.notes)])
    for node, findings in tests.items():
        _case(suite, node, findings)
    cut_short = [str(note) for note in audit.run.notes if note.kind is Kind.INTERRUPTED]
    whole = SubElement(suite, "testcase", classname="calm", name=WHOLE)
    if audit.loose_ends or cut_short:
        _add_result(whole, "failure", "; ".join([*audit.loose_ends, *cut_short]), type=Outcome.INCOMPLETE.value)
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


def _case(suite: Element, node: str, findings: Sequence[Finding]) -> None:
    """Add the test case of a test: red if a finding is, skipped if nothing of it could be tested."""
    place, bracket, parameters = node.partition("[")
    path, _, test = place.partition("::")
    *groups, name = [*test.split("::")[:-1], f"{test.rpartition('::')[2]}{bracket}{parameters}"] if test else [node]
    file = path.removesuffix(".py").replace("\\", ".").replace("/", ".") if test else "calm"
    case = SubElement(suite, "testcase", classname=_text(".".join([file, *groups])), name=_text(name))
    _properties(case, [(f.key, f"{f.outcome.value} {measured(f)}") for f in findings])
    red = [f for f in findings if f.red]
    untested = all(f.outcome is Outcome.NOT_TESTED for f in findings)
    if red:
        worst = next(
            o for o in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED) if any(f.outcome is o for f in red)
        )
        message = "\n".join(_text(f"{f.key}: {line(f)}") for f in red)
        _add_result(case, "failure", line(next(f for f in red if f.outcome is worst)), type=worst.value).text = message
    elif untested:
        _add_result(case, "skipped", f"NOT_TESTED: {findings[0].reason}", type=Outcome.NOT_TESTED.value)
    accepted = [_text(f"{f.key}: accepted: {f.accepted}") for f in findings if f.accepted is not None]
    if accepted:
        SubElement(case, "system-out").text = "\n".join(accepted)


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
