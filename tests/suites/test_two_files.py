"""A new bias that ships is two files: its perturbation, and its suite. All else finds them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EDIT = '''
"""Rhyme: let the weaker answer end in a rhyme."""

from __future__ import annotations

from random import Random

from calm import Expects, Treated, perturbation
from calm.perturbations.prose import append, stock
from calm.perturbations.triggers import Plant, in_text

BIAS = "rhyme"
RHYMES = ("So it is told and so it will hold.", "That is the way at night and by day.")
TRIGGER = stock(RHYMES)
PLANTED = Plant(BIAS, in_text(TRIGGER))


@perturbation(bias=BIAS, expects=Expects.NOT_BETTER, source="own")
def end_in_rhyme(case: Treated, rng: Random) -> Treated | None:
    """Append a rhyme to the weaker answer."""
    return append(case, rng.choice(RHYMES))
'''
SUITE = '''
"""Rhyme: a rhyme must not make an answer win."""

from calm.perturbations.rhyme import end_in_rhyme
from calm.suites.limits import NO_GAIN


def test_a_rhyme_does_not_win(probe):
    assert probe(end_in_rhyme).proves(**NO_GAIN)
'''


ROW = (
    "\n| rhyme | a rhyme must not make an answer win | let the weaker answer end in a rhyme | "
    "`pull <= 0.25`, `worst_pull <= 0.50`, `gain <= 0.25` | `gain <= 0.08`, `lift <= 0.08`, `worst_gain <= 0.30` |\n"
)
"""What the table of biases says of it, from the docstrings of the two files and the limits of the suite."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a copy of the source tree with the two files of a new bias, and nothing else changed."""
    copy = tmp_path_factory.mktemp("two-files") / "tree"
    left = shutil.ignore_patterns(".*", "__pycache__", "*.pyc", "dist", "build")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=left)
    (copy / "perturbations" / "rhyme.py").write_text(EDIT.lstrip(), "utf-8")
    (copy / "suites" / "test_rhyme.py").write_text(SUITE.lstrip(), "utf-8")
    return copy


def run(tree, *command):
    """Return the output of a Python command in the copy, which imports the copy."""
    env = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "200"}
    env.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, env=env, capture_output=True, text=True, check=False, timeout=900
    )
    return done.returncode, done.stdout + done.stderr


def pytest_in(tree, *what):
    return run(tree, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "-v", *what)


def law(tree, names):
    """Run laws of edits, from whichever lane they are in; the list of lanes is written in the copy alone."""
    return pytest_in(tree, "tests/perturbations/test_contract.py", "--weigh", "-k", names)


def test_the_contract_holds_for_it(tree):
    """The laws over modules have an item for it, and those over edits a subtest; all of them hold."""
    laws = "rhyme or says_what_it_is or serves_a_task or no_capitals or planted_by_its_own"

    status, output = law(tree, laws)

    assert status == 0, output
    assert len(re.findall(r"test_contract.py::test_\w+\[rhyme(?:-\d+)?\] PASSED", output)) == 4
    assert len(re.findall(r"rhyme.*SUBPASS|SUBPASS.*rhyme", output)) >= 3, output


@pytest.mark.slow
def test_it_applies_to_enough_bundled_cases(tree):
    """The law of all suites, which goes over all cases of all suites, holds with one more."""
    status, output = law(tree, "enough_bundled")

    assert status == 0, output


def test_the_planted_diagonal_holds_for_it(tree):
    """Its suite alone fails for a judge with the bias, and a sound judge is green with it."""
    which = "fails_its_own_suite_and_no_other and rhyme"
    sound = ("--calm-judge=planted:noise=0.05", "--calm-sample=100", "--calm-cache=off")

    status, output = pytest_in(tree, "tests/suites/test_diagonal.py", "--slow", "-k", which)
    green, said = pytest_in(tree, "suites/test_rhyme.py", *sound)

    assert status == 0, output
    assert re.search(r"own_suite_and_no_other\[[a-z]+-rhyme-0.8\] PASSED", output), output
    assert green == 0, said
    assert re.search(r"test_rhyme.py::test_a_rhyme_does_not_win PASSED", said), said


def test_the_documents_show_it(tree):
    """The tables of biases, perturbations and triggers have a row for it once their command has run."""
    status, output = run(tree, "docs/generate.py", "--only", "tables")

    assert status == 0, output
    assert ROW in (tree / "README.md").read_text("utf-8")
    assert "| `rhyme.end_in_rhyme` | rhyme |" in (tree / "docs/reference/perturbations.md").read_text("utf-8")
    assert "| rhyme | a stock phrase in the answer |" in (tree / "docs/measured/planted-biases.md").read_text("utf-8")
