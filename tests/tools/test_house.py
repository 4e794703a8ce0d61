"""The figures of a checkout: each is counted of a small one, where a person can count it, too."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.house import arrows, counted, fields, floors, lazy, modules, private_once

ROOT = Path(__file__).parents[2]
FILES = {
    "calm/__init__.py": "",
    "calm/__main__.py": "import argparse\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--version', action='version', version='1')\nverbs = parser.add_subparsers()\n"
    "one = verbs.add_parser('audit', help='run')\none.add_argument('--seed')\nverbs.add_parser('hunt', help='search')\n"
    "parser.parse_args()\n",
    "calm/core/case.py": '"""A case."""\n\n# a remark\nclass Trial:\n    a: int\n    b: int = 0\n\n'
    "    def put(self):\n        self.c = self.b = 1\n",
    "calm/engine/desk.py": "from calm.core.case import Trial\n\ndef _once():\n    import calm.core.case\n\n"
    "def twice():\n    return _once(), Trial\n",
    "calm/plugins/hunt/run.py": "from calm.engine import desk\n\nFOUND = 1\n",
    "suites/test_a.py": "from calm.plugins.hunt.run import FOUND\n\ndef test_it():\n    pass\n",
    "tests/test_b.py": "def test_one():\n    pass\n\nasync def test_two():\n    pass\n",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def test_a_module_is_named_as_python_has_it_and_its_code_has_no_words(checkout):
    """Lines of docstrings, remarks and space are lines, and no code."""
    found = {one.name: one for one in modules(checkout)}

    assert found["calm.suites.test_a"].room == "suites"
    assert (found["calm.core.case"].lines, found["calm.core.case"].code) == (9, 5)


def test_arrows_are_pairs_of_rooms_and_floors_the_longest_chain(checkout):
    """Suites, plug-ins, engine, core; a circle adds no floor."""
    found = arrows(modules(checkout))

    assert found == {("suites", "plugins"), ("plugins", "engine"), ("engine", "core")}
    assert floors(found) == 4
    assert floors(found | {("core", "engine")}) == 4


def test_fields_and_functions_are_counted_wherever_they_stand(checkout):
    """Fields that are declared or set on `self`; private functions that their module names once; imports in them."""
    found = modules(checkout)
    (trial,) = (node for one in found for node in one.tree.body if getattr(node, "name", "") == "Trial")

    assert fields(trial) == 3
    assert private_once(found) == (1, 4)
    assert sum(map(lazy, found)) == 1


def test_the_table_of_a_checkout(checkout):
    """The core is all but the plug-ins, and core commands stand in its help before any others."""
    rows = counted(checkout)

    assert rows["plug-ins"] == "3, 2"
    assert rows["modules, of the core"] == "6, 5"
    assert rows["commands, of the core"] == "2, 2"
    assert rows["options of commands, of the core"] == "1, 1"
    assert rows["fields"].startswith("Session 0, Collector 0, Finding 0, Trial 3")
    assert rows["tests: lines, functions"] == "5, 2"
    assert rows["names that a newcomer must look up"] == "desk"


@pytest.mark.slow
def test_a_probe_and_an_ask_are_followed_through_this_checkout():
    """By one command: how many rooms a reader enters, and which objects an ask meets."""
    command = [sys.executable, "-m", "tools.house", str(ROOT), "--markdown", "--way"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    rows = dict(line.strip("| ").split(" | ") for line in said.splitlines()[2:])
    assert all(int(n) > 0 for n in rows["a probe to its finding: rooms, modules, returns, functions"].split(", "))
    assert "Engine" in rows["objects between an ask and the wire"]
