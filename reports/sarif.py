"""
The audit for the machines of a CI. SARIF 2.1.0: a rule for each bias, a result for each finding, red or accepted.

A result points to the test that makes the claim. For one of calm's own tests it points to the file of the judge's
prompt, which its reader can change.

`render_junit` is the audit as JUnit XML, for a CI server that did not see the run: a test case for each test, a
property for each claim.
Properties have the names and words of the file that `--junit-xml` writes during the run. A test fails here if one of
its findings is red, and is an error if it crashed or did not run. Anything else that keeps the gate from being green
has a test case of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from hashlib import sha256
from importlib.resources import files
from math import isfinite
from pathlib import Path, PurePosixPath
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from calm.core.claims import Outcome
from calm.core.reasons import Reason, in_words
from calm.models.wire import Json
from calm.results import outputs
from calm.results.audit import BASELINE, RUN, Audit, Finding
from calm.results.codes import Ending, State
from calm.results.reports.html import visible
from calm.results.sentences import sentence
from calm.results.steps import verdict_of
from calm.results.tabular import as_read, unread_in
from calm.results.wording import claim, measured

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Mapping[Outcome, str] = {Outcome.FAIL: "error", Outcome.INCOMPLETE: "error", Outcome.UNDECIDED: "warning"}
MEANS = {
    BASELINE: "The judge has become worse than in the accepted run.",
    RUN: "The edits of all probes together move the judge's verdicts.",
    "consistency": "The judge does not say the same again when it is asked the same.",
    "sensitivity": "The judge does not notice harm that it should notice.",
    "rewording": "The judge's verdicts turn on words that say nothing.",
}
"""What a broken rule means where it is not about a bias."""
LONGEST = 1_000
"""Characters shown of one text."""
LONGEST_PATH = 250
ROOT = "%SRCROOT%"
"""The base of relative paths: the folder where the tests ran."""


def write(audit: Audit, path: Path, *, root: Path | None = None) -> None:
    """Write the file; it appears whole or not at all."""
    outputs.write_whole(path, [render(audit, root=root)], outputs.SARIF)


def render(audit: Audit, *, root: Path | None = None) -> str:
    """Return the audit as SARIF; with `root`, results are put at the line of their test in its file."""
    return json.dumps(to_sarif(audit, root=root), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def to_sarif(audit: Audit, *, root: Path | None = None) -> dict[str, Json]:
    """Return the audit as a SARIF log."""
    audit = as_read(audit)
    shown = [f for f in audit.findings if _shown(f)]
    ids = _ids(sorted({f.bias for f in audit.findings}))
    rules: list[Json] = [_rule(bias, one, [f for f in audit.findings if f.bias == bias]) for bias, one in ids.items()]
    places = {bias: (one, number) for number, (bias, one) in enumerate(ids.items())}
    results: list[Json] = [_result(f, *places[f.bias], audit, root) for f in shown]
    run: dict[str, Json] = {
        "tool": {"driver": {"name": "calm", "version": audit.calm or "unknown", "rules": rules}},
        "automationDetails": {"id": f"calm/{text_of(audit.judge.name)}/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The folder where the tests ran."}}},
        "invocations": [_invocation(audit)],
        "results": results,
        "properties": {
            "outcome": audit.outcome.value,
            "headline": text_of(": ".join(verdict_of(audit, green=audit.green()))),
            "judge": text_of(audit.judge.name),
            "model": text_of(audit.judge.model or ""),
            "promptSha256": text_of(audit.judge.prompt_sha256 or ""),
            "cases": _plain(audit.cases.get("n")),
            "casesSampledFrom": _plain(audit.cases.get("of")),
            "seed": audit.seed,
        },
    }
    return log_of(run)


def log_of(run: dict[str, Json]) -> dict[str, Json]:
    """Return a SARIF log of one run, with what all of calm's runs have in common."""
    common: dict[str, Json] = {"columnKind": "unicodeCodePoints"}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{**common, **run}]}


def _shown(one: Finding) -> bool:
    return one.red or (one.accepted is not None and one.outcome in LEVELS)


def _ids(biases: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for bias in biases:
        stem = one = text_of(bias) or "unnamed"
        number = 1
        while one in found.values():
            number += 1
            one = f"{stem}-{number}"
        found[bias] = one
    return found


def _rule(bias: str, one: str, findings: Iterable[Finding]) -> dict[str, Json]:
    meaning = MEANS.get(bias, f"The judge's verdict is moved by {text_of(bias)}.")
    done = dict.fromkeys(text_of(f.summary) for f in findings if f.summary)
    return {
        "id": one,
        "name": camel(bias),
        "shortDescription": {"text": meaning},
        "fullDescription": {"text": " ".join([meaning, *done])[:LONGEST]},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["llm-judge", "bias"]},
    }


def camel(name: str) -> str:
    """Return a name as SARIF writes that of a rule."""
    return "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", name))[:LONGEST] or "Unnamed"


def _result(one: Finding, rule: str, index: int, audit: Audit, root: Path | None) -> dict[str, Json]:
    here, also = _places(one, audit, root)
    numbers: dict[str, Json] = {
        "key": text_of(one.key),
        "outcome": one.outcome.value,
        "claim": text_of(claim(one)),
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "level": one.level,
        "n": one.n,
        **({"lost": one.lost} if one.lost else {}),
        "robustnessRate": one.robustness_rate,
        "consistencyRate": one.consistency_rate,
        "flips": dict(one.flips),
        "unread": {arm: found.count for arm, found in unread_in(one, audit).items()},
        "excluded": {text_of(reason): count for reason, count in in_words(one.excluded).items()},
        "ownTexts": one.own,
        "textsNotShown": {text_of(reason): count for reason, count in in_words(one.unused).items()},
        "control": _control(one),
    }
    found: dict[str, Json] = {
        "ruleId": rule,
        "ruleIndex": index,
        "kind": "fail",
        "level": LEVELS[one.outcome],
        "message": {"text": message_of(f"{one.outcome.value}: {sentence(one)} ({one.key})")},
        "locations": [here],
        "partialFingerprints": {"calmKey/v1": sha256(one.key.encode("utf-8", "backslashreplace")).hexdigest()},
        "properties": {name: number for name, number in numbers.items() if number is not None},
    }
    if also:
        found["relatedLocations"] = also
    accepted: list[Json] = []
    if one.accepted is not None:
        accepted = [{"kind": "external", "status": "accepted", "justification": text_of(one.accepted)}]
    found["suppressions"] = accepted  # the standard wants them on every result of a run or on none
    return found


def _control(one: Finding) -> Json:
    if one.control is None:
        return None
    floor, moved, gain, n = astuple(one.control)
    return {"floor": text_of(floor), "moved": moved, "gain": gain, "n": n}


def _invocation(audit: Audit) -> dict[str, Json]:
    lost = [f"{one.node}: {one.state.value}: {one.reason}" for one in audit.tests if one.lost]
    gaps = [str(gap) for gap in audit.gaps]
    loose = [end for end in audit.loose_ends if end not in gaps]
    said = {"error": [*gaps, *lost], "warning": loose, "note": [str(note) for note in audit.run.notes if note]}
    notifications: list[Json] = [
        {"level": level, "message": {"text": message_of(text)}} for level, texts in said.items() for text in texts
    ]
    return {"executionSuccessful": not gaps, "toolExecutionNotifications": notifications}


def text_of(text: str) -> str:
    """Return a text on one line, with what cannot be seen made visible."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."


def message_of(text: str) -> str:
    """Return a text as a message, with the characters of links and placeholders escaped."""
    return text_of(text).replace("](", "] (").replace("{", "{{").replace("}", "}}")


def _plain(value: Json) -> Json:
    return value if isinstance(value, int) or (isinstance(value, float) and isfinite(value)) else None


# Places


def _places(one: Finding, audit: Audit, root: Path | None) -> tuple[Json, list[Json]]:
    path, _, test = one.node.partition("::")
    suite, own = _suite(path, root)
    judges = [name for name in _files(audit) if _inside(name)]
    tested = place_of(suite, _line_of(test, root, suite) if own else 1, "the test that claims it") if suite else None
    asked = [place_of(name, 1, "what the judge is asked with") for name in judges]
    places = [*([tested] if tested and own else []), *asked, *([tested] if tested and not own else [])]
    if not places:
        places = [place_of("calm/suites", 1, "the suites of calm")]
    first = {"physicalLocation": places[0]["physicalLocation"]}
    if one.node:
        first["logicalLocations"] = [{"fullyQualifiedName": text_of(one.node), "kind": "function"}]
    also: list[Json] = [{"id": number, **place} for number, place in enumerate(places[1:], 1)]
    return first, also


def place_of(path: str, number: int, what: str) -> dict[str, Json]:
    """Return a location: a line of a file below the folder where the tests ran, and the text there."""
    location: dict[str, Json] = {"uri": quote(str(PurePosixPath(path))), "uriBaseId": ROOT}
    return {
        "physicalLocation": {"artifactLocation": location, "region": {"startLine": number}},
        "message": {"text": what},
    }


def _suite(path: str, root: Path | None) -> tuple[str, bool]:
    if not path or not _writable(path):
        return "", False
    name = PurePosixPath(path.replace("\\", "/"))
    present = root is not None and _inside(path) and (root / path).is_file()
    if name.is_relative_to("calm/suites") and not present:
        return str(name), False
    shipped = files("calm.suites").joinpath(name.name).is_file()
    if shipped and (len(name.parts) == 1 or "site-packages" in name.parts) and not present:
        return f"calm/suites/{name.name}", False
    return (str(name), True) if _inside(path) else (name.name, False)


def _inside(path: str) -> bool:
    name = PurePosixPath(path.replace("\\", "/"))
    drive = re.match(r"[A-Za-z]:", path)
    return _writable(path) and not name.is_absolute() and not drive and ".." not in name.parts


def _writable(path: str) -> bool:
    return 0 < len(path) <= LONGEST_PATH and path.isprintable()


def _files(audit: Audit) -> list[str]:
    named = audit.judge.about.get("files")
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def _line_of(test: str, root: Path | None, path: str) -> int:
    name = test.rpartition("::")[2].partition("[")[0]
    if root is None or not name:
        return 1
    try:
        lines = (root / path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError, ValueError):
        return 1
    begin = re.compile(rf"\s*(async\s+)?def\s+{re.escape(name)}\s*\(")
    return next((number for number, text in enumerate(lines, 1) if begin.match(text)), 1)


WHOLE = "the gate as a whole"
"""The name of the test case that holds what no test can: that nothing was proven, or that the run was cut short."""


def write_junit(audit: Audit, path: Path) -> None:
    """Write the file; it appears whole or not at all."""
    outputs.write_whole(path, [render_junit(audit)], outputs.JUNIT)


def render_junit(audit: Audit) -> str:
    """Return the audit as one test suite in JUnit's XML."""
    audit = as_read(audit)
    endings = {one.node: one for one in audit.tests}
    tests: dict[str, list[Finding]] = {node: [] for node in endings}
    for one in audit.findings:
        tests.setdefault(one.node or one.key, []).append(one)
    suite = Element("testsuite", name="calm", time=f"{audit.run.seconds:.3f}", timestamp=text_of(audit.run.started))
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
    place, bracket, parameters = node.partition("[")
    path, _, test = place.partition("::")
    *groups, name = [*test.split("::")[:-1], f"{test.rpartition('::')[2]}{bracket}{parameters}"] if test else [node]
    file = path.removesuffix(".py").replace("\\", ".").replace("/", ".") if test else "calm"
    case = SubElement(suite, "testcase", classname=text_of(".".join([file, *groups])), name=text_of(name))
    _properties(case, [(f.key, f"{f.outcome.value} {measured(f)}") for f in findings])
    red = [f for f in findings if f.red]
    message = "\n".join(text_of(f"{f.key}: {f.outcome.value}: {sentence(f)}") for f in red)
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
    accepted = [text_of(f"{f.key}: accepted: {f.accepted}") for f in findings if f.accepted is not None]
    if accepted:
        SubElement(case, "system-out").text = "\n".join(accepted)


def _untested(findings: Sequence[Finding], ending: Ending | None) -> Reason | None:
    if findings:
        return findings[0].reason if all(f.outcome is Outcome.NOT_TESTED for f in findings) else None
    return ending.reason if ending is not None and ending.state is State.NOT_TESTED else None


def _add_result(case: Element, kind: str, message: str, *, type: str) -> Element:
    return SubElement(case, kind, message=text_of(message), type=type)


def _properties(parent: Element, facts: Sequence[tuple[str, str]]) -> None:
    if facts:
        properties = SubElement(parent, "properties")
        for name, value in facts:
            SubElement(properties, "property", name=text_of(name), value=text_of(value))
