"""`calm audit` and `calm demo` on a terminal: one screen, the exit statuses, and what an interrupted run leaves."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest

from calm.results.audit import read
from calm.results.reports.terminal import Ended, Screen, shown
from calm.results.sentences import sentence
from calm.results.steps import name_of, troubles
from calm.results.wording import lines as broken
from tests.inside import calm_inside, offered
from tests.lanes import slow

COLUMNS, LINES = 100, 24
SOME = "authority or verbosity or bandwagon or consistency or position"
QUICK = ["--calm-sample=40", "-k", "authority"]


def calm(folder, *words):
    """Run the command as in a terminal of a known size, and return its status and its lines."""
    done = calm_inside(folder, *words, env={"COLUMNS": str(COLUMNS), "LINES": str(LINES)})
    return done.returncode, (done.stdout + done.stderr).splitlines()


def rows(lines):
    """Return how many lines of the screen the lines of an output take."""
    return sum(max(1, -(-len(line) // COLUMNS)) for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        *[pytest.param((one,), id=one) for one in offered("demo")],
        slow(
            ("audit", "planted:authority=0.9,verbosity=0.9,bandwagon=0.9", "--", "--calm-sample=30", "-k", SOME),
            id="audit",
        ),
    ],
)
def test_a_red_gate_fits_one_screen(tmp_path, words):
    """24 lines at 100 columns, one of them for the prompt; no path of an installation, no wall of s."""
    status, lines = calm(tmp_path, *words)

    assert status == (0 if words == ("demo",) else 1)
    assert rows(lines) < LINES, "\n".join(lines)
    text = "\n".join(lines)
    assert re.search(r"^RED \(exit 1\): \d+ of \d+ claims fail: ", text, re.MULTILINE)
    assert "site-packages" not in text
    assert "Traceback" not in text
    assert "sss" not in text
    failed = re.findall(r"^FAIL ([a-z ]+)(?: \(\S+\))?: ", text, re.MULTILINE)
    assert {"authority", "verbosity"} <= set(failed)
    assert len(failed) >= (2 if words == ("demo",) else 3)
    assert "\nreport: " in text


def test_the_statuses_are_those_of_the_reference(tmp_path):
    """1 not green, 4 a file that cannot be read, 5 where nothing is selected, and --lf runs what failed."""
    (tmp_path / "broken.toml").write_text("[judge\n")

    assert calm(tmp_path, "audit", "planted:authority=0.9", "--", *QUICK)[0] == 1
    again, lines = calm(tmp_path, "audit", "planted:authority=0.9", "--", "--calm-sample=40", "--lf")
    assert again == 1
    assert re.search(r"1 failed, 1\d\d deselected", lines[-1])
    assert (tmp_path / "calm-audit" / ".pytest_cache").is_dir()
    assert not (tmp_path / ".pytest_cache").exists()
    assert calm(tmp_path, "audit", "broken.toml")[0] == 4
    status, lines = calm(tmp_path, "audit", "lexical", "--", "-k", "nothing_is_called_so")
    assert status == 5
    assert any("no test was selected" in line for line in lines)


def test_an_interrupted_run_keeps_what_an_earlier_one_found(tmp_path):
    """Status 130, one line says it, no place in our code is shown, and the earlier record stays as it is."""
    (tmp_path / "slow.py").write_text(
        "import time\n\n\ndef judge(case):\n    open('asked', 'a').close()\n    time.sleep(0.05)\n"
        "    return case.better\n\n\njudge.reads = ('question', 'answers', 'better')\n"
    )
    out = tmp_path / "calm-audit"
    assert calm(tmp_path, "audit", "planted:authority=0.9", "--", *QUICK)[0] == 1
    before = json.loads((out / "results.json").read_text())

    command = [sys.executable, "-m", "calm", "audit", "slow:judge"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as running:
        while not (tmp_path / "asked").exists() and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)

    assert running.returncode == 130, output
    assert "interrupted: " in output
    assert "signals.py" not in output
    assert "KeyboardInterrupt" not in output
    assert json.loads((out / "results.json").read_text()) == before
    assert not list(out.glob("*.before"))


@pytest.mark.parametrize("judge", ["planted:authority=0.9,verbosity=0.9", "planted:noise=0.05"])
def test_a_run_is_told_whole_at_every_width(tmp_path, judge):
    """The outcome first, the report last, every bias by its name, and no line wider than the screen but a command."""
    calm(tmp_path, "audit", judge, "--", "--calm-sample=30", "-k", "authority or verbosity")
    audit = read(tmp_path / "calm-audit" / "results.json")
    ended = Ended(audit.green(), int(not audit.green()), [tmp_path / "calm-audit" / "report.html"])

    for width in (60, 80, 100):
        for height in (10, 24, 40):
            made = shown(audit, Screen(width, height), ended)
            rows = [row for line in made if not line.whole for row in broken(line.text, width)]

            assert not [row for row in rows if len(row) > width and len(row.split()) > 1]
            assert re.match(r"(GREEN|RED|NOT GREEN) \(exit [01]\): ", made[0].text)
            assert made[-1].text.startswith("report: ")
            told = " ".join(" ".join(rows).split())
            for one in troubles(audit)[:3]:
                edit = one.lead.reason.worst or one.lead.perturbation
                name = f"{name_of(one.bias)} ({edit})" if edit else name_of(one.bias)
                assert f"{one.outcome.value} {name}: {sentence(one.lead)}" in told
