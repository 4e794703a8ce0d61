"""`calm hunt`: a planted word is found, kept and confirmed; what was asked is never paid for twice."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calm.commands.cli import main
from calm.plugins.search import hunt_command
from calm.plugins.search.hunt import Progress
from calm.plugins.search.hunt_command import progress
from calm.plugins.search.subjects import LEAST, PLACES
from tests.inside import calm_inside

ROOT = Path(__file__).parents[3]
KNOWN = '("question", "answers", "better")'
JUDGE = '''
import os, signal


def rule(case):
    """Fall for one word, and note each call."""
    with open("calls.txt", "a") as file:
        file.write(".")
    {extra}
    fond = [a.id for a in case.answers if {word!r} in a.text.lower()]
    return fond[0] if len(fond) == 1 else case.better

rule.reads, rule.fingerprint, rule.quick = {reads}, {word!r}, True
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to hunt in, with a judge that falls for a word."""
    monkeypatch.chdir(tmp_path)
    return judge_in(tmp_path)


def judge_in(folder, name="fond", word="certified", extra="", reads=KNOWN):
    """Write a judge that a word wins over, and return its folder."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(JUDGE.format(word=word, extra=extra, reads=reads), "utf-8")
    return folder


def started(folder, *arguments):
    """Start `calm` in a process of its own; return the process."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    env = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "calm", *arguments]
    return subprocess.Popen(command, cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ran(folder, *arguments):
    """Run `calm`; return its status and what it printed."""
    done = calm_inside(folder, *arguments)
    return done.returncode, done.stdout


def calls(folder):
    """Return how many calls the judge noted."""
    file = folder / "calls.txt"
    return len(file.read_text()) if file.exists() else 0


def record(folder, name="hunt.json"):
    """Return the record of a hunt."""
    return json.loads((folder / name).read_text("utf-8"))


HUNT = ("hunt", "fond:rule", "--asks=150", "--findings=1")


def test_one_word_is_found_and_told(here):
    """The record holds the word alone; the table shows it with its fresh asks, and the text with the word marked."""
    status, told = ran(here, *HUNT)

    found = record(here)
    (one,) = found["findings"]
    assert status == 0
    assert (one["confirmed"], [word.strip() for word in one["added"]]) == (True, ["certified"])
    assert found["asks"] == calls(here) <= 150
    asks = one["fresh"]["asks"]
    assert re.search(
        rf"^{one['case']} +certified +answer, end +{asks}/{asks} +0/{asks} +>= 0\.\d\d ", told, re.MULTILINE
    )
    assert "{+ certified+}" in told


def test_a_sound_judge_is_not_found_out(here):
    """The hunt has run, so its status is 0; it says what was asked, and that this proves nothing."""
    status, told = ran(here, "hunt", "planted:", "--asks=60")

    assert status == 0
    assert re.search(r"nothing was found: none of \d+ texts", told)
    assert "This does not prove that no text does" in told
    assert record(here)["findings"] == []


def test_the_same_seed_asks_nothing_again_and_writes_the_same(here):
    """Byte for byte, with `--fresh`."""
    ran(here, *HUNT, "--fresh")
    first, asked = (here / "hunt.json").read_bytes(), calls(here)
    _, told = ran(here, *HUNT, "--fresh")

    assert (here / "hunt.json").read_bytes() == first
    assert calls(here) == asked
    assert "\n0 calls" in told


def test_a_second_hunt_begins_with_what_the_first_found(here):
    """Another seed has other cases in hand, so the cases of both are few; `--fresh` does not look there."""
    ran(here, *HUNT, "--sample=4")
    ran(here, *HUNT, "--sample=4", "-o=second.json")
    ran(here, *HUNT, "--sample=4", "-o=third.json", "--fresh")

    assert record(here)["findings"][0]["found_by"] != "earlier hunt"
    assert record(here, "second.json")["findings"][0]["found_by"] == "earlier hunt"
    assert record(here, "third.json") == record(here)


def test_a_capped_hunt_is_incomplete_and_goes_on(here):
    """Its status is 1; run again and again it ends with the record of a hunt without caps, and nothing paid twice."""
    whole = judge_in(here / "whole")
    ran(whole, *HUNT, "--fresh")
    needed = calls(whole)
    ended = [ran(here, *HUNT, "--fresh", "--max-calls=40") for _ in range(-(-needed // 40))]

    assert [status for status, _ in ended] == [1] * (len(ended) - 1) + [0]
    assert "INCOMPLETE: a cap was reached" in ended[0][1]
    assert "run the same command again" in ended[0][1]
    assert record(here) == record(whole)
    assert calls(here) == needed


DIES = """if os.path.getsize("calls.txt") == 45:
        os.kill(os.getpid(), signal.SIGKILL)"""


def test_a_killed_hunt_pays_nothing_twice(here):
    """What was answered before kill -9 is in the cache; only the call that it fell into is made again."""
    whole = judge_in(here / "whole")
    ran(whole, *HUNT, "--fresh")
    mortal = judge_in(here / "mortal", extra=DIES)
    with (mortal / "fond.py").open("a") as file:
        file.write("rule.concurrency = 1\n")

    killed = started(mortal, *HUNT, "--fresh")
    killed.communicate(timeout=200)
    again, _ = ran(mortal, *HUNT, "--fresh")

    assert (killed.returncode, again) == (-signal.SIGKILL, 0)
    assert calls(mortal) == calls(whole) + 1
    assert record(mortal)["findings"] == record(whole)["findings"]


def test_two_hunts_at_once_share_one_cache(here):
    """Both write the same record, and each call is made by one of them."""
    whole = judge_in(here / "whole")
    ran(whole, *HUNT, "--fresh")
    both = [started(here, *HUNT, "--fresh", f"-o={name}") for name in ("one.json", "two.json")]
    for process in both:
        process.communicate(timeout=200)

    assert [process.returncode for process in both] == [0, 0]
    assert (here / "one.json").read_bytes() == (here / "two.json").read_bytes() == (whole / "hunt.json").read_bytes()
    assert calls(here) == calls(whole)


def test_a_plan_asks_nothing(here, capsys):
    """It names the most, and leaves no file."""
    assert main([*HUNT, "--plan"]) == 0

    assert "at most: 150 asks, 150 calls of the judge" in capsys.readouterr().out
    assert [path.name for path in here.iterdir() if path.suffix not in (".py", "")] == []
    assert calls(here) == 0


@pytest.mark.parametrize(
    ("where", "told"),
    [("notes", "got one that fond:rule is not shown"), ("criteria", "expected cases with a criteria, got none")],
)
def test_a_place_in_vain_is_refused_before_a_call(here, capsys, where, told):
    """Nobody who controls it can flip the judge."""
    assert main(["hunt", "fond:rule", f"--where={where}"]) == 4

    assert told in capsys.readouterr().err
    assert calls(here) == 0
    assert not (here / ".calm").exists()


NOTED = '''
def judge(case):
    """Let the worse answer win if a note is signed."""
    worse = next(a.id for a in case.answers if a.id != case.better)
    return worse if any("certified" in note.lower() for note in case.notes) else case.better

judge.reads, judge.fingerprint, judge.quick = ("question", "answers", "better", "notes"), "noted", True
'''


def test_several_places_share_the_asks_and_the_error(here):
    """The judge falls for a word in a note, and not in the question; each place has half of both."""
    (here / "noted.py").write_text(NOTED, "utf-8")

    status, told = ran(here, "hunt", "noted:judge", "--where=question,notes", "--asks=300", "--findings=1")

    found = record(here)
    (one,) = found["findings"]
    assert status == 0
    assert (found["where"], found["budget"], found["level"]) == ("question,notes", 300, 0.025)
    assert (one["where"], one["original"], one["text"].strip()) == ("notes", "", "certified")
    assert "in at most 5% of all runs" in told


def test_impossible_options_are_told_together(here, capsys):
    """Every fault is named."""
    options = ("--asks=0", "--findings=0", "--at-once=-1", "--where=answr", "--sample=0", "--max-calls=0")

    assert main(["hunt", "fond:rule", *options]) == 4

    told = capsys.readouterr().err
    assert all(option.partition("=")[0] in told for option in options)
    assert "did you mean 'answer'" in told
    assert f"--asks: expected a number from {LEAST} on, got 0" in told
    assert calls(here) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["recorded:ifeval/GPT-5"], "cannot be hunted: its verdicts were given beforehand"),
        (["fond:rule", "--edits=authorit"], "authorit: there is no such perturbation; did you mean"),
        (["fond:rule", "-o", "fond.py"], "it stays: choose another name, or overwrite it with --force"),
        (["fond:rule", "--write", "fond.py"], "--write"),
    ],
)
def test_a_hunt_in_vain_is_refused_before_a_call(here, capsys, arguments, told):
    """It would be paid for, and end in nothing."""
    assert main(["hunt", *arguments]) == 4

    assert told in capsys.readouterr().err
    assert calls(here) == 0


def test_asks_that_can_find_nothing_are_refused(here, capsys):
    """Each place has its share, so two places take twice the least number."""
    assert main(["hunt", "fond:rule", "--where=answer,question", f"--asks={2 * LEAST - 1}"]) == 4

    assert f"expected a number from {2 * LEAST} on, got {2 * LEAST - 1}" in capsys.readouterr().err


def test_the_names_are_those_of_the_engine():
    """They stand in the command so that `calm --help` need not load it."""
    assert tuple(PLACES) == hunt_command.WHERE


class Screen:
    """A stream that keeps what is written, and says whether it is a terminal."""

    def __init__(self, terminal):
        self.terminal, self.told = terminal, ""

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.told += text
        return len(text)

    def flush(self):
        pass


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_one_line_of_a_terminal_and_a_few_lines_elsewhere(monkeypatch, terminal):
    """A terminal sees each step in one line; a log sees a line for each quarter and each finding."""
    screen = Screen(terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "200")
    show = progress(1, 2)
    for asks in range(0, 101, 5):
        show(Progress(asks, 100, int(asks >= 60), ("certified", "!") if asks >= 30 else ()))

    lines = screen.told.split("\r" if terminal else "\n")
    last = "hunt: [####################] 100 of 100 asks (place 2 of 2); 1 finding; best: 2 words"
    assert len(lines) == (22 if terminal else 5)
    assert lines[1].startswith("hunt: [##########..........] 0 of 100 asks") is terminal
    assert last in lines[-1 if terminal else -2]
    assert ("\n" in screen.told) is not terminal
