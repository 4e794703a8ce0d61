"""`calm power`: the cases and repeats that a claim needs."""

import re
import subprocess
import sys

import pytest

from calm.commands.cli import main
from calm.plugins.power.command import SIZED
from tests.lanes import slow


def test_the_default_question_is_answered(capsys):
    """A table, the smallest numbers of cases, and how they were computed; exit status 0."""
    status = main(["power", "--probes=2"])

    told = capsys.readouterr().out
    assert status == 0
    assert told.startswith("net_robustness >= 0.90, where it is truly 1.000; a judge that errs in 0.05 of asks")
    assert "it says: " in told
    assert re.search(r"^2\+1 asks, topped up +\d+ ", told, re.MULTILINE)
    assert "Computed by simulation" in told


def test_one_number_of_cases_is_enough(capsys):
    """`--cases` leaves one row."""
    main(["power", "--cases=90", "--probes=3", "--noise=0.02"])

    rows = [line for line in capsys.readouterr().out.splitlines() if "|" in line][2:]
    assert [row.split("|")[0].strip() for row in rows] == ["90"]


@pytest.mark.parametrize("measures", [SIZED[-1:], slow(SIZED[:-1])], ids=["one", "the others"])
def test_each_measure_has_a_default_question(capsys, subtests, measures):
    """With nothing but its name a measure is sized."""
    for measure in measures:
        with subtests.test(repr(measure)):
            status = main(["power", f"--measure={measure}", "--cases=100", "--probes=2"])

            assert status == 0
            assert capsys.readouterr().out.startswith(f"{measure} ")


def test_an_impossible_value_names_its_option(capsys, subtests):
    """Exit status 4, and the option's name in the message."""
    for option in [
        "--measure=gane",
        "--limit=1.5",
        "--true=2",
        "--noise=0.5",
        "--close-calls=-1",
        "--probes=0",
        "--cases=0",
        "--repeats=4",
    ]:
        with subtests.test(repr(option)):
            status = main(["power", option])

            assert status == 4
            assert capsys.readouterr().err.startswith(f"calm: {option.partition('=')[0]}: ")


def test_what_is_no_number_is_a_usage_error(capsys):
    """Exit status 2, as is the custom of command lines."""
    with pytest.raises(SystemExit) as raised:
        main(["power", "--limit=x"])

    assert raised.value.code == 2
    assert "--limit" in capsys.readouterr().err


@pytest.mark.slow
def test_it_runs_as_a_command():
    """`python -m calm power` does the same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "calm", "power", "--cases=60", "--probes=2"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "smallest n for" in done.stdout
