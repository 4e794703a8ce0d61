"""What the default gate costs: at most eighteen edited arms, thirteen of equal answers, and so many calls."""

import re
from contextlib import redirect_stdout
from functools import cache
from io import StringIO

import pytest

from calm.commands.cli import main
from tests.lanes import slow

MOST_ARMS = 18
MOST_EQUAL = 13
"""Twelve probes that put a cue on an answer, and what a judge does without one."""
CLEAN = {"first look", "cases as they are", "cases with neutral words", "total", "least", "expected"}


@cache
def planned(task, cases):
    """Return the rows of `calm plan` by name: how many calls each takes at most."""
    told = StringIO()
    with redirect_stdout(told):
        assert main(["plan", f"planted:task={task}", f"--sample={cases}", "-v"]) == 0
    rows = {}
    for line in told.getvalue().splitlines():
        cells = re.split(r" {2,}", line.strip())
        if len(cells) >= 3 and (found := re.fullmatch(r"(?:up to )?([\d,]+)", cells[-2])):
            rows[cells[0]] = int(found[1].replace(",", ""))
    return rows


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
def test_the_default_gate_has_at_most_eighteen_perturbed_arms(task):
    """Each bias costs one arm or two, whatever the number of its variants."""
    rows = planned(task, 20)

    arms = [name for name, calls in rows.items() if name not in CLEAN and calls]
    equal = [name for name in arms if name.endswith(": equal answers")]
    assert 10 <= len(arms) - len(equal) <= MOST_ARMS, arms
    assert len(equal) == (MOST_EQUAL if task == "pairwise" else 0), equal


@pytest.mark.parametrize(("task", "least", "most"), [slow("pairwise", 1_500, 2_750), slow("score", 3_200, 4_500)])
def test_the_default_gate_takes_so_many_calls(task, least, most):
    """Of 200 cases, where a verdict is one call: of a sound judge with a little noise, and less of one without."""
    calls = planned(task, 200)

    assert 1_000 <= calls["least"] <= least
    assert calls["least"] <= calls["expected"] <= most
