"""What pytest prints of a run does nothing but show itself, whatever cases, judges, servers and settings say."""

import json

import pytest

from tests.commands.test_terminal import ACTS, HOSTILE, TITLE, judge, row
from tests.servers import Answer, wire_server

LEAKY = """
HOSTILE = {text!r}


def raising(case):
    raise RuntimeError(HOSTILE)

raising.reads = ("question", "answers", "better")


def naming(case):
    return case.better

naming.reads, naming.fingerprint, naming.name = ("question", "answers", "better"), HOSTILE, HOSTILE
"""
SUITE = """
from dataclasses import replace

import pytest
from calm import gain, net_robustness
from calm.errors import ConfigError, EditError, JudgeError
from edits import flatter
from judges import HOSTILE


@pytest.mark.parametrize("name", [HOSTILE])
def test_thanks_do_not_win(probe, name):
    assert probe(flatter).proves(net_robustness >= 0.90, gain <= 0.10), name


@pytest.mark.parametrize("error", [ConfigError, EditError, JudgeError, RuntimeError])
def test_errors(probe, error):
    raise error(HOSTILE)


@pytest.mark.xfail(reason=HOSTILE)
def test_known(probe):
    assert probe(replace(flatter, name="known")).proves(gain <= 0.01)
"""


@pytest.mark.parametrize(
    "spec", ["judges:raising", "judges:naming", "judge.toml", f"planted:{TITLE}", f"j{TITLE}.toml"]
)
def test_nothing_that_pytest_prints_of_a_run_acts(projects, spec, tmp_path):
    """Ids, reasons, errors, settings, and the words of a server, with all that pytest can be asked to show."""
    project = projects("hostile")
    project.write("judges.py", LEAKY.format(text=HOSTILE))
    project.write("test_flattery.py", SUITE)
    project.write("cases.jsonl", "".join(f"{json.dumps(row(number))}\n" for number in range(30)))
    with wire_server(lambda *_: Answer(status=400, message=HOSTILE)) as server:
        project.write("judge.toml", judge(server.url))

        run = project.run_here("-rA", "-vv", "--calm-sample=10", f"--calm-report=x{TITLE}.html", judge=spec)

    assert not ACTS.search(run.stdout), (ACTS.search(run.stdout), run.stdout)
    assert "owned" in run.stdout


@pytest.mark.parametrize("option", ["cases", "limits", "seed", "repeats", "cache-file", "gate", "baseline", "families"])
def test_a_hostile_setting_is_shown_and_not_obeyed(projects, option):
    """A usage error quotes what it got."""
    project = projects("settings")

    run = project.run_here(f"--calm-{option}={HOSTILE}")

    assert "calm" in run.stdout
    assert not ACTS.search(run.stdout), (ACTS.search(run.stdout), run.stdout)
