"""No sentence decides anything: with nonsense for every message outcomes, redaction and exit codes stay as they are."""

import ast
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.nonsense import CONTENT, ROOT, copy, released
from tests.pytest_plugin.conftest import Project

CANARY = "canary4711"
JUDGES = f'''

def talking(case):
    """Let thanks win, and fail with a text in three cases of a hundred."""
    if number(case) % 33 == 7:
        raise RuntimeError("the reply was {CANARY}")
    return thanked(case) or case.better

talking.reads, talking.fingerprint = KNOWN, "talking"
'''
SUITE = """
from calm import accuracy, gain, net_robustness, rotate
from edits import flatter, flatter_first, greet, remind
from never import never

openings = rotate(flatter, flatter_first, greet, never)


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(net_robustness >= 0.90, gain <= 0.10)


def test_a_greeting_does_not_win(probe):
    assert probe(greet).proves(gain <= 0.10)


def test_a_note_changes_nothing(probe):
    assert probe(remind).proves(net_robustness >= 0.90)


def test_no_opening_wins(probe):
    assert probe(openings).proves(gain <= 0.10)


def test_it_is_right(probe):
    assert probe().proves(accuracy >= 0.90)
"""
NEVER = """
from calm import Expects, perturbation


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def never(case, rng):
    '''Find nothing to change.'''
    return None
"""
STOP = """
def test_that_is_stopped():
    raise KeyboardInterrupt
"""
GATE = """
[[waive]]
key = "flattery/gain/flatter"
reason = "known since spring"
expires = 2999-01-01

[[limit]]
key = "flattery/gain/greet"
limit = 0.2
reason = "agreed"
expires = 2999-01-01
"""
RUNS = {
    "undecided": ("torn", "--calm-results=undecided.json", "--calm-summary=undecided.md"),
    "failed": ("fond", "--calm-results=failed.json", "--calm-sarif=failed.sarif"),
    "gated": ("fond", "--calm-results=gated.json", "--calm-gate=gate.toml", "-k", "thanks or greeting"),
    "lost": ("talking", "--calm-results=lost.json"),
    "capped": ("counted", "--calm-results=capped.json", "--calm-max-calls=399", "-k", "right", "--calm-cache=off"),
    "private": ("talking", "--calm-results=private.json", "--calm-texts=none", "--calm-report=private.html"),
    "early": ("gold", "--calm-results=early.json", "--calm-stopping=anytime"),
    "worse": ("fond", "--calm-results=worse.json", "--calm-baseline=baseline.json"),
    "stopped": (
        "gold",
        "--calm-results=stopped.json",
        *("test_gate.py::test_it_is_right", "stop.py", "test_gate.py::test_a_greeting_does_not_win"),
    ),
    "planned": ("torn", "--calm-plan"),
    "nowhere": ("nobody", "--calm-results=nowhere.json"),
    "other": ("marked", "--calm-results=other.json"),
    "replayed": ("noisy", "--calm-results=replayed.json", "--calm-cache=replay", "--calm-cache-file=none.sqlite"),
}
"""Each run of the gate: its judge, and its options."""
COMMANDS = (
    ("accept", "early.json", "-o", "never.json"),
    ("report", "undecided.json", "-o", "page.html"),
    ("report", "capped.json", "-o", "junit.xml"),
    ("report", "stopped.json", "-o", "log.sarif"),
    ("report", "lost.json", "--texts", "none", "-o", "published.json"),
    ("report", "worse.json", "--texts", "none", "-o", "worse-published.json"),
    ("report", "nowhere.json"),
    ("compare", "undecided.json", "failed.json"),
    ("try", "judges:gold", "--cases", "cases.jsonl", "--edit", "nobody"),
    ("try", "judges:gold", "--cases", "cases.jsonl", "--edit", "never:never"),
)


def environment(root):
    """Return the environment in which Python finds the calm of a folder."""
    return {**os.environ, "PYTHONPATH": str(root), "COLUMNS": "100"}


def calm(project, root, *arguments):
    """Run a command of calm; return its exit code."""
    command = [sys.executable, "-m", "calm", *arguments]
    done = subprocess.run(
        command, cwd=project.path, env=environment(root), capture_output=True, text=True, timeout=120, check=False
    )
    assert CANARY not in done.stdout + done.stderr
    return done.returncode


def shape(value):
    """Return a code without what its details say: its kind, and the kinds of its details."""
    if isinstance(value, dict) and "kind" in value:
        return [value["kind"], value.get("count"), [shape(detail) for detail in value["details"]]]
    return "said" if isinstance(value, dict) else type(value).__name__


def decided(path):
    """Return all of a record that is no sentence, and which sentences there are."""
    body = json.loads(path.read_text("utf-8"))
    findings = [
        {
            **{name: value for name, value in one.items() if name not in ("reason", "excluded", "accepted", "summary")},
            "reason_code": shape(one["reason_code"]) if "reason_code" in one else None,
            "excluded_codes": [shape(code) for code in one.get("excluded_codes", [])],
            "unused_codes": [shape(code) for code in one.get("unused_codes", [])],
            "reason": bool(one["reason"]),
            "excluded": sorted(one["excluded"].values()),
            "unused": sorted(one.get("unused", {}).values()),
            "accepted": one["accepted"] is not None,
        }
        for one in body["findings"]
    ]
    notes = [shape(code) for code in body["run"].get("note_codes", [])]
    return {"outcome": body["outcome"], "findings": findings, "notes": notes, "fields": sorted(body)}


def reports(folder):
    """Return what programs read of the other forms of a record."""
    log = json.loads((folder / "log.sarif").read_text("utf-8"))["runs"][0]
    failed = json.loads((folder / "failed.sarif").read_text("utf-8"))["runs"][0]
    suite = ET.parse(folder / "junit.xml").getroot()
    return {
        "successful": log["invocations"][0]["executionSuccessful"],
        "levels": [(one["ruleId"], one["level"]) for one in failed["results"]],
        "junit": [(one.tag, sorted(child.tag for child in one)) for one in suite.iter("testcase")],
        "canary": sorted(p.name for p in folder.iterdir() if p.is_file() and CANARY in p.read_text("utf-8", "replace")),
    }


def outcome(root, folder):
    """Run all of it with the calm of a folder; return exit codes, records and reports."""
    folder.mkdir()
    project = Project(folder)
    project.write("judges.py", (folder / "judges.py").read_text("utf-8") + JUDGES)
    project.write("test_gate.py", SUITE)
    project.write("never.py", NEVER)
    project.write("stop.py", STOP)
    project.write("gate.toml", GATE)
    (folder / "test_flattery.py").unlink()
    env = environment(root)
    where = [sys.executable, "-c", "import calm; print(calm.__file__)"]
    found = subprocess.run(where, cwd=folder, env=env, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(root)
    codes = {}
    for name, (judge, *options) in RUNS.items():
        if name == "worse":
            codes["baseline"] = calm(project, root, "accept", "good.json", "-o", "baseline.json")
        done = project.run_alone(*options, judge=f"judges:{judge}", env=env)
        codes[name] = done.returncode
        assert name != "private" or CANARY not in done.stdout
        if name == "undecided":
            fine = ("--calm-results=good.json", "-k", "greeting or right")
            codes["good"] = project.run_alone(*fine, judge="judges:gold", env=env).returncode
    for arguments in COMMANDS:
        codes[" ".join(arguments)] = calm(project, root, *arguments)
    records = {path.name: decided(path) for path in sorted(folder.glob("*.json")) if path.name != "baseline.json"}
    return {"codes": codes, "records": records, "reports": reports(folder)}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Return what the product decides, and what it decides with nonsense for its messages."""
    base = tmp_path_factory.mktemp("words")
    count = copy(base / "nonsense" / "calm")
    plain = base / "plain"
    released(plain)
    assert count > 1000
    return outcome(plain, base / "as-it-is"), outcome(base / "nonsense", base / "with-nonsense")


@pytest.mark.slow
def test_the_gate_meets_every_outcome(told):
    """Else the comparison would say little."""
    before, _ = told
    seen = {one["outcome"] for record in before["records"].values() for one in record["findings"]}

    assert seen >= {"PASS", "FAIL", "UNDECIDED", "NOT_TESTED", "INCOMPLETE", "OBSERVED"}
    assert {0, 1, 4} <= set(before["codes"].values())


@pytest.mark.slow
def test_outcomes_exit_codes_and_redaction_are_the_same(told):
    """Whatever calm says, it decides, keeps, leaves out and returns the same."""
    before, after = told

    assert after["codes"] == before["codes"]
    assert after["reports"] == before["reports"]
    for name, record in before["records"].items():
        assert after["records"][name] == record, name
    assert after["records"].keys() == before["records"].keys()


SAYS = re.compile(
    r"\.(?:reason|reasons|notes|why|words|message)\b|\b(?:reason|note|why|said_why)$|str\(error\)|\bproblem\b"
)
"""What an expression looks like that is a sentence."""
LOOKS = {"startswith", "endswith", "partition", "rpartition", "find", "index", "count", "split"}
ALLOWED = {
    "judges/judgefile": "a problem of a table of the file is named by its key, and the key is put before it",
    "cases/foreign/records.py": "the same for a row of a file that is imported",
    "core/files.py": "the reader of TOML in Python gives the line and the kind of a fault in words alone",
    "pytest_plugin/trace.py": "the first line of an error is shown",
}
"""Modules that take a message apart to show it in another form; nothing is decided by it."""


def looked_into(tree):
    """Return the expressions of a module that look into a sentence."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            regex = ast.unparse(node.func.value) == "re" and len(node.args) > 1
            of = node.args[1] if regex else node.func.value
            asked = regex or node.func.attr in LOOKS
        elif isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            literal = isinstance(node.left, ast.Constant | ast.JoinedStr) and isinstance(
                node.comparators[0], ast.Name | ast.Attribute
            )
            of, asked = node.comparators[0], literal
        else:
            continue
        if asked and SAYS.search(ast.unparse(of)):
            found.append(ast.unparse(node))
    return found


def test_no_module_looks_into_a_sentence():
    """What asks for the beginning, the end or a part of a reason, a note or an error would decide by its words."""
    paths = [p for p in ROOT.rglob("*.py") if not p.relative_to(ROOT).as_posix().startswith((*CONTENT, *ALLOWED))]

    assert len(paths) > 100
    assert {p.name: found for p in paths if (found := looked_into(ast.parse(p.read_text("utf-8"))))} == {}
    assert looked_into(ast.parse("reason.startswith('a cap') or 'did not run' in note or re.match('a', str(error))"))
