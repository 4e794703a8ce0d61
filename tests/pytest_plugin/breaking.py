"""A gate that would be green, and every place at which something of it can break."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from calm.commands.cli import main

OUTPUTS = ("results.json", "report.html", "summary.md", "results.sarif")
KINDS = ("results", "report", "summary", "sarif")
WRITES = tuple(f"--calm-{kind}={name}" for kind, name in zip(KINDS, OUTPUTS, strict=True))

ACTS = {
    "raises": 'raise ValueError("it broke")',
    "exits": "raise SystemExit(0)",
    "is interrupted": "raise KeyboardInterrupt",
    "ends pytest": 'pytest.exit("enough", returncode=0)',
    "leaves": "os._exit(0)",
    "is killed": "os.kill(os.getpid(), signal.SIGKILL)",
}
"""What happens at a place, as Python; the last two end the process."""

_TOP = """import os
import signal

import pytest

from calm import gain, net_robustness
from edits import flatter, greet

"""
_ACT = f"{_TOP}\ndef act(*_args, **_kwargs):\n    {{act}}\n\n\n"
_PATCH = "patch = pytest.MonkeyPatch()\n\n\ndef pytest_unconfigure():\n    patch.undo()\n\n\n"
_CLAIM = "    assert probe(greet).proves(gain <= 0.10)\n"
_BODY = f"def test_zzz(probe):\n{_CLAIM}"
_USES = f"def test_zzz(mine, probe):\n{_CLAIM}"
LAST = f"{_TOP}\n{_BODY}"
"""The last test of the gate, as it stands where nothing breaks."""


def _body(text: str) -> dict[str, str]:
    return {"test_zzz.py": _ACT + text}


def _hook(signature: str, before: str = "") -> dict[str, str]:
    return {"conftest.py": f"{_ACT}{before}def {signature}:\n    act()\n"}


def _of_last(name: str, node: str = "item.nodeid") -> dict[str, str]:
    """Return a hook that breaks at the last test alone."""
    text = f"{_ACT}def {name}:\n    if 'zzz' in {node}:\n        act()\n"
    return {"conftest.py": text}


def _patched(target: str) -> dict[str, str]:
    return {"conftest.py": f"{_ACT}{_PATCH}patch.setattr({target!r}, act)\n"}


def _measure(name: str) -> dict[str, str]:
    text = f"from calm.core import measures\n\nkept = measures.{name}.per_case\n\n\ndef pytest_unconfigure():\n"
    undo = f"    object.__setattr__(measures.{name}, 'per_case', kept)\n\n\n"
    return {"conftest.py": f"{_ACT}{text}{undo}object.__setattr__(measures.{name}, 'per_case', act)\n"}


PLACES = {
    "the test file": _body("act()\n"),
    "the body": _body("def test_zzz(probe):\n    act()\n"),
    "the body, after its claim": _body(f"{_BODY}    act()\n"),
    "the body, before its claim is asserted": _body(
        "def test_zzz(probe):\n    found = probe(greet).proves(gain <= 0.10)\n    act()\n    assert found\n"
    ),
    "a subtest": _body(f"def test_zzz(probe, subtests):\n{_CLAIM}    with subtests.test():\n        act()\n"),
    "a test that is expected to fail": _body(f"@pytest.mark.xfail(reason='known')\n{_BODY}    act()\n"),
    "a test that takes the judge alone": _body("def test_zzz(judge):\n    act()\n"),
    "a fixture": _body(f"@pytest.fixture\ndef mine():\n    act()\n\n\n{_USES}"),
    "a fixture after the probe": _body(f"@pytest.fixture\ndef mine(probe):\n    act()\n\n\n{_USES}"),
    "the end of a fixture": _body(f"@pytest.fixture\ndef mine():\n    yield\n    act()\n\n\n{_USES}"),
    "the end of a session fixture": _body(
        f"@pytest.fixture(scope='session')\ndef mine():\n    yield\n    act()\n\n\n{_USES}"
    ),
    "the fixture judge": _hook("judge()", "@pytest.fixture(scope='session')\n"),
    "the fixture cases": _hook("cases()", "@pytest.fixture(scope='session')\n"),
    "an edit": _body(
        "from calm import Expects, perturbation\n\n\n@perturbation(bias='flattery', expects=Expects.NOT_BETTER)\n"
        "def breaking(case, rng):\n    act()\n\n\n" + _BODY.replace("greet", "breaking")
    ),
    "a judge": _patched("judges.gold"),
    "a measure": _measure("gain"),
    "the measure of a run": _patched("calm.results.pairing.pooled"),
    "the decision": _patched("calm.core.claims.decide"),
    "pytest_collection_modifyitems": _hook("pytest_collection_modifyitems()"),
    "pytest_runtestloop": _hook("pytest_runtestloop()"),
    "pytest_runtest_protocol": _of_last("pytest_runtest_protocol(item)"),
    "pytest_runtest_logstart": _of_last("pytest_runtest_logstart(nodeid)", "nodeid"),
    "pytest_runtest_setup": _of_last("pytest_runtest_setup(item)"),
    "pytest_runtest_call": _of_last("pytest_runtest_call(item)"),
    "pytest_runtest_teardown": _of_last("pytest_runtest_teardown(item)"),
    "pytest_runtest_makereport": _of_last("pytest_runtest_makereport(item)"),
    "pytest_runtest_logreport": _of_last("pytest_runtest_logreport(report)", "report.nodeid"),
    "pytest_runtest_logfinish": _of_last("pytest_runtest_logfinish(nodeid)", "nodeid"),
    "pytest_sessionfinish": _hook("pytest_sessionfinish()"),
    "the record": _patched("calm.results.audit.write"),
    "the page": _patched("calm.results.reports.html.render"),
    "the summary": _patched("calm.results.reports.markdown.render"),
    "the log": _patched("calm.results.reports.sarif.render"),
}
"""Files that replace those of the project, by the place at which they break."""


def plant(project, place: str, act: str) -> None:
    """Let something happen at a place of a gate that else were green."""
    project.write("test_zzz.py", LAST)
    for name, text in PLACES[place].items():
        project.write(name, text.format(act=ACTS[act]) if name == "conftest.py" else text.replace("{act}", ACTS[act]))


def green_before(project, kept: Path) -> None:
    """Put the green outputs of an earlier run where this one writes."""
    for file in kept.iterdir():
        shutil.copy(file, project.path / file.name)


def greens(folder: Path) -> list[str]:
    """Return which outputs, and which commands on the record, call the run green."""
    found = []
    if (folder / "summary.md").exists():
        found += ["summary"] * ((folder / "summary.md").read_text("utf-8").startswith("# calm: GREEN"))
    if (folder / "report.html").exists():
        found += ["report"] * ('class="verdict o-pass"' in (folder / "report.html").read_text("utf-8"))
    if (folder / "results.sarif").exists():
        (run,) = json.loads((folder / "results.sarif").read_text("utf-8"))["runs"]
        successful = run["invocations"][0]["executionSuccessful"]
        found += ["sarif"] * (successful and run["properties"]["outcome"] == "PASS")
    if (folder / "results.json").exists():
        record = str(folder / "results.json")
        found += ["results"] * (json.loads(Path(record).read_text("utf-8"))["outcome"] == "PASS")
        found += ["accept"] * (main(["accept", record, "-o", str(folder / "baseline.json")]) == 0)
        assert main(["report", record, "-o", str(folder / "junit.xml")]) == 0
        (suite,) = ElementTree.parse(folder / "junit.xml").getroot()
        found += ["junit"] * (suite.get("failures") == suite.get("errors") == "0")
    return found
