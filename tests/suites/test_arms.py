"""What the default gate costs: at most eighteen perturbed arms in each task, about 4,000 calls for 200 cases."""

import re
from contextlib import redirect_stdout
from functools import cache
from io import StringIO

import pytest

from calm.commands.cli import main
from tests.lanes import slow

MOST_ARMS = 18
CLEAN = {"pilot", "clean arm", "inert arm", "total", "least", "expected"}


@cache
def planned(task, cases):
    """Return the rows of `calm plan` by name: how many calls each takes at most."""
    told = StringIO()
    with redirect_stdout(told):
        assert main(["plan", f"planted:task={task}", f"--sample={cases}"]) == 0
    rows = {}
    for line in told.getvalue().splitlines():
        cells = re.split(r" {2,}", line.strip())
        if len(cells) >= 3 and (found := re.fullmatch(r"(?:up to )?(\d+)", cells[-2])):
            rows[cells[0]] = int(found[1])
    return rows


@pytest.mark.parametrize("task", ["pairwise", "score", "rubric"])
def test_the_default_gate_has_at_most_eighteen_perturbed_arms(task):
    """Each bias costs one arm or two, whatever the number of its variants."""
    rows = planned(task, 20)

    arms = [name for name, calls in rows.items() if name not in CLEAN and calls]
    assert 10 <= len(arms) <= MOST_ARMS, arms


@pytest.mark.parametrize("task", [slow("pairwise"), slow("score")])
def test_the_default_gate_takes_about_4000_calls(task):
    """Of 200 cases, where a verdict is one call: of a sound judge with a little noise, and less of one without."""
    calls = planned(task, 200)

    assert 1_500 <= calls["least"] <= calls["expected"] <= 4_500
