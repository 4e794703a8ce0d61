"""`calm watch`: each run asks anew and adds to a history; an alarm is exit status 1, and nothing decided is 4."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from calm.cases import bundled
from calm.cases.lines import line
from calm.core.files import forget
from calm.errors import ConfigError
from calm.plugins.watch import command as watch
from calm.plugins.watch.history import held, read_history
from tests.disk import MOUNTS, small_disk
from tests.servers import wire_server

TASKS = ("pairwise", "score", "rubric", "rubric-all", "points", "listwise")


def calm(folder, judge, *arguments, cases=None):
    """Run `calm watch` in this process, with all its files in a folder; return its exit status."""
    if cases is None:
        cases = folder / "anchors.jsonl"
        if not cases.exists():
            anchors(cases, bundled("pairwise")[:40])
    parser = argparse.ArgumentParser()
    watch.register(parser.add_subparsers())
    given = ["watch", judge, f"--cases={cases}", *options(folder), *arguments]
    forget()  # as the command line does
    read = parser.parse_args(given)
    return read.run(read)


def options(folder):
    """Return the options that keep all files in a folder."""
    return [
        f"--history={folder / 'watch.jsonl'}",
        f"--out={folder / 'watch.json'}",
        f"--cache-file={folder / 'cache.sqlite'}",
    ]


def anchors(path, cases):
    """Write cases and return their file."""
    path.write_text("".join(map(line, cases)), "utf-8")
    return path


def record(folder):
    """Return the record of the last run."""
    return json.loads((folder / "watch.json").read_text("utf-8"))


def runs(folder):
    """Return the runs of the history."""
    return read_history(folder / "watch.jsonl").runs


def refused(folder, judge, *arguments, cases=None):
    """Return the one paragraph that a refused run says; the history is as it was."""
    path = folder / "watch.jsonl"
    before = path.read_bytes() if path.exists() else b""
    with pytest.raises(ConfigError) as error:
        calm(folder, judge, *arguments, cases=cases)
    assert (path.read_bytes() if path.exists() else b"") == before
    return str(error.value)


# ---------------------------------------------------------------------------------------------------------------- tasks


@pytest.mark.parametrize("task", TASKS)
def test_a_judge_of_any_task_that_drifts_is_reported(tmp_path, capsys, task):
    """Three runs as before; from the fourth on, it decides half of the questions otherwise."""
    judge = f"planted:noise=0.05,drift=0.8,since=4,task={task}"
    cases = anchors(tmp_path / "anchors.jsonl", bundled(task)[:40])
    statuses = [calm(tmp_path, judge, cases=cases) for _ in range(6)]
    told = capsys.readouterr().out

    assert statuses[:3] == [0] * 3
    assert 1 in statuses[3:]
    assert "first run: nothing to compare it with yet" in told
    assert "ALARM: the judge does not answer these anchors as before" in told
    assert record(tmp_path)["schema"] == "calm-watch/1"
    assert [run.alarm for run in runs(tmp_path)] == [status == 1 for status in statuses]


def test_a_judge_that_repeats_itself_stays_quiet(tmp_path):
    """As a server at temperature 0 does: all runs are the same, and nothing is beyond noise."""
    assert [calm(tmp_path, "planted:noise=0.1,frozen=1") for _ in range(3)] == [0, 0, 0]
    assert record(tmp_path)["figures"]["beyond_noise"]["value"] == 0
    assert len({run.verdicts for run in runs(tmp_path)}) == 1


# ---------------------------------------------------------------------------------------------------------- fresh asks


def test_each_run_asks_anew(tmp_path, capsys):
    """The cache of the run before answers nothing, and the noise of each run is its own."""
    for _ in range(2):
        calm(tmp_path, "planted:noise=0.3")
    told = capsys.readouterr().out

    assert told.count("\n80 calls,") == 2
    assert runs(tmp_path)[0].verdicts != runs(tmp_path)[1].verdicts


def test_a_run_that_reached_a_cap_goes_on_and_pays_once(tmp_path, capsys):
    """Nothing is recorded before it is whole."""
    said = refused(tmp_path, "planted:noise=0.3", "--max-calls=50")

    assert "run 1 is not complete, so nothing was recorded and nothing decided: 30 of 80 asks have no reply" in said
    assert calm(tmp_path, "planted:noise=0.3") == 0
    told = capsys.readouterr().out
    assert "30 calls, 50 replies from the cache" in told
    assert "replayed 50 replies of a stopped run" in told
    assert record(tmp_path)["replayed"] == 50
    assert calm(tmp_path, "planted:noise=0.3") == 0
    assert "replayed" not in capsys.readouterr().out
    assert record(tmp_path)["replayed"] == 0


def second(folder):
    """Return another history than the usual one."""
    return folder / "second.jsonl"


def test_a_second_history_asks_anew(tmp_path, capsys):
    """A drifted judge must not look unmoved because a second history has the replies of the first."""
    calm(tmp_path, "planted:noise=0.3")
    calm(tmp_path, "planted:noise=0.3", f"--history={second(tmp_path)}")

    assert capsys.readouterr().out.count("\n80 calls,") == 2


def test_a_copied_history_asks_anew(tmp_path, capsys):
    """Both go on, each by itself."""
    calm(tmp_path, "planted:noise=0.3")
    second(tmp_path).write_bytes((tmp_path / "watch.jsonl").read_bytes())
    calm(tmp_path, "planted:noise=0.3")
    calm(tmp_path, "planted:noise=0.3", f"--history={second(tmp_path)}")

    assert capsys.readouterr().out.count("\n80 calls,") == 3


def test_a_history_that_was_cut_asks_anew(tmp_path, capsys):
    """The run that is missing is made again, and not found in the cache; so is one of a history that is gone."""
    calm(tmp_path, "planted:noise=0.3")
    path = tmp_path / "watch.jsonl"
    whole = path.read_bytes()
    calm(tmp_path, "planted:noise=0.3")
    path.write_bytes(whole)
    calm(tmp_path, "planted:noise=0.3")
    path.unlink()
    calm(tmp_path, "planted:noise=0.3")

    assert capsys.readouterr().out.count("\n80 calls,") == 4


def test_a_stopped_run_goes_on_in_its_own_history_alone(tmp_path, capsys):
    """Not in a copy, even with the file that lies beside it."""
    refused(tmp_path, "planted:noise=0.3", "--max-calls=50")
    second(tmp_path).touch()
    (tmp_path / "second.jsonl.begun").write_bytes((tmp_path / "watch.jsonl.begun").read_bytes())
    calm(tmp_path, "planted:noise=0.3", f"--history={second(tmp_path)}")

    assert "\n80 calls," in capsys.readouterr().out
    assert calm(tmp_path, "planted:noise=0.3") == 0
    assert "30 calls, 50 replies from the cache" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.begun"))


def test_a_python_judge_with_a_fingerprint_is_asked_anew_by_each_history(tmp_path, capsys):
    """Its verdicts are kept, too."""
    for _ in range(2):
        calm(tmp_path, "tests.plugins.watch.test_command:known")
    calm(tmp_path, "tests.plugins.watch.test_command:known", f"--history={second(tmp_path)}")

    assert capsys.readouterr().out.count("\n80 calls,") == 3


@pytest.mark.parametrize("text", ["", "[" * 900, "{}", '{"run":3,"after":""}', "\0"])
def test_a_damaged_file_of_a_stopped_run_stops_nothing(tmp_path, text):
    """One of calm's own is replaced, and any other file stays."""
    begun = tmp_path / "watch.jsonl.begun"
    begun.write_text('{"schema":"calm-watch-begun/1"' + text if text else "", "utf-8")
    assert calm(tmp_path, "planted:noise=0.3") == 0

    begun.write_text("mine", "utf-8")
    assert "expected a new file" in refused(tmp_path, "planted:noise=0.3")
    assert begun.read_text("utf-8") == "mine"


def test_a_run_that_got_no_reply_leaves_nothing_to_go_on_with(tmp_path):
    """The server does not answer: there is nothing that could be replayed."""
    judge = tmp_path / "judge.toml"
    judge.write_text(
        '[judge]\nname = "j"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "m-1"\nretries = 0\n'
        'base_url = "http://127.0.0.1:9"\n'
    )
    refused(tmp_path, str(judge))

    assert not (tmp_path / "watch.jsonl.begun").exists()


def test_replies_of_a_stopped_run_grow_old(tmp_path, capsys):
    """With no hours to resume in, all is asked again."""
    refused(tmp_path, "planted:noise=0.3", "--max-calls=50")
    calm(tmp_path, "planted:noise=0.3", "--resume-hours=0")

    assert "\n80 calls," in capsys.readouterr().out


def test_a_killed_run_goes_on_and_pays_once(tmp_path, capsys):
    """SIGKILL in the middle: the history is whole, the lock is gone, and what was answered is not asked again."""
    cases = anchors(tmp_path / "anchors.jsonl", bundled("pairwise")[:40])
    with wire_server(lambda messages, body: time.sleep(0.02) or "[[A]]") as server:
        judge = tmp_path / "judge.toml"
        judge.write_text(
            f'[judge]\nname = "j"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "m-1"\n'
            f'base_url = "{server.url}"\napi_key_env = "WATCH_KEY"\nconcurrency = 1\n'
        )
        command = [sys.executable, "-m", "calm", "watch", str(judge), f"--cases={cases}", *options(tmp_path)]
        process = subprocess.Popen(command, env=os.environ | {"WATCH_KEY": "k-123456789"}, stdout=subprocess.DEVNULL)
        while len(server.judged) < 30 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = subprocess.run(
            command, env=os.environ | {"WATCH_KEY": "k-123456789"}, capture_output=True, text=True, check=False
        )
        asked = len(server.judged)

    assert done.returncode == 0, done.stderr
    assert len(runs(tmp_path)) == 1
    assert asked <= 80 + 8  # what was under way, or not yet kept


# --------------------------------------------------------------------------------------------------------- who answered


def test_another_model_behind_the_same_name_is_told(tmp_path, capsys, monkeypatch):
    """By itself that is no alarm: the verdicts decide."""
    monkeypatch.setenv("WATCH_KEY", "k-123456789")
    judge = tmp_path / "judge.toml"
    with wire_server(lambda messages, body: "[[A]]", model="m-1-january") as server:
        judge.write_text(
            f'[judge]\nname = "j"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "m-1"\n'
            f'base_url = "{server.url}"\napi_key_env = "WATCH_KEY"\n'
        )
        first = calm(tmp_path, str(judge))
        server.model = "m-1-may"
        second = calm(tmp_path, str(judge))

    assert (first, second) == (0, 0)
    assert "the model behind m-1 now says that it is m-1-may; it was m-1-january" in capsys.readouterr().out
    assert record(tmp_path)["model_changed"] == {"m-1": {"before": "m-1-january", "today": "m-1-may"}}


def test_another_judge_is_refused_until_a_new_reference_is_begun(tmp_path, capsys):
    """Its runs would be compared with those of the first one."""
    calm(tmp_path, "planted:noise=0.1")
    said = refused(tmp_path, "planted:noise=0.2")

    assert "its runs are those of another judge" in said
    assert "parameters.noise: 0.1 -> 0.2" in said
    assert "--new-reference" in said
    assert calm(tmp_path, "planted:noise=0.2", "--new-reference") == 0
    assert calm(tmp_path, "planted:noise=0.2") == 0
    assert [run.number for run in runs(tmp_path)] == [2, 3]


def test_a_recorded_judge_is_refused(tmp_path):
    """It cannot move."""
    parser = argparse.ArgumentParser()
    watch.register(parser.add_subparsers())
    read = parser.parse_args(["watch", "recorded:headlines/deepseek-chat", *options(tmp_path)])

    with pytest.raises(
        ConfigError, match="cannot be watched, since it cannot move: its verdicts were given beforehand"
    ):
        read.run(read)


def always_first(case):
    """Prefer the first answer."""
    return case.answers[0].id


def known(case):
    """Prefer the first answer, by code that has a name."""
    return case.answers[0].id


known.fingerprint = "known-1"


def test_a_python_judge_without_a_fingerprint_is_watched_with_a_note(tmp_path, capsys):
    """Nobody can tell whether its code changed."""
    assert calm(tmp_path, "tests.plugins.watch.test_command:always_first") == 0
    assert "has no `fingerprint`" in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------------------- mistakes


def test_anchors_that_were_never_asked_are_refused(tmp_path):
    """All of them were replaced: nothing could be compared, run after run."""
    calm(tmp_path, "planted:noise=0.1")
    others = anchors(tmp_path / "others.jsonl", bundled("pairwise")[50:70])

    assert "none of the 20 cases was asked in an earlier run" in refused(tmp_path, "planted:noise=0.1", cases=others)


def test_what_the_cases_changed_is_told_apart(tmp_path, capsys):
    """Ten anchors fewer, twenty more, one with another text."""
    calm(tmp_path, "planted:noise=0.1")
    cases = bundled("pairwise")
    lines = [line(case) for case in cases[10:60]]
    lines[0] = lines[0].replace('"question": "', '"question": "Please: ', 1)
    (tmp_path / "anchors.jsonl").write_text("".join(lines), "utf-8")
    calm(tmp_path, "planted:noise=0.1", f"--summary={tmp_path / 'watch.md'}")
    mix, told = record(tmp_path)["mix"], capsys.readouterr().out

    assert f"anchors: 20 added, 10 removed, 1 changed ({cases[10].id}) since the run before" in told
    assert "compared today: 29 of 50 anchors" in told
    assert mix["judge"] + mix["cases"] == pytest.approx(mix["today"] - mix["before"], abs=1e-12)
    assert (tmp_path / "watch.md").read_text("utf-8").startswith("# calm watch: no alarm\n")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--asks=0"], "--asks: expected a number from 1 to 100, got 0"),
        (["--false-alarms=0"], "--false-alarms: expected a probability above 0"),
        (["--false-alarms=nan"], "--false-alarms: expected a probability above 0"),
        (["--horizon=0"], "--horizon: expected a number of runs above 0"),
        (["--resume-hours=-1"], "--resume-hours: expected a number of hours"),
        (["--max-calls=0"], "--max-calls: expected a number above 0"),
    ],
)
def test_impossible_options_are_refused(tmp_path, given, said):
    """Before anything is asked."""
    assert said in refused(tmp_path, "planted", *given)


def test_other_settings_than_those_of_the_history_are_refused(tmp_path):
    """The promise holds for runs that are made alike."""
    calm(tmp_path, "planted:noise=0.1", "--asks=3", "--horizon=52")
    said = refused(tmp_path, "planted:noise=0.1", "--asks=2", "--horizon=365", "--false-alarms=0.05")

    assert "--asks: expected 3" in said
    assert "--horizon: expected 52" in said
    assert "--false-alarms: expected 0.01" in said
    assert calm(tmp_path, "planted:noise=0.1") == 0
    assert runs(tmp_path)[1].verdicts[0][2:]


def test_a_damaged_history_is_refused_and_left_alone(tmp_path):
    """With the line, and what to do."""
    calm(tmp_path, "planted:noise=0.1")
    path = tmp_path / "watch.jsonl"
    path.write_bytes(path.read_bytes()[:-40])

    assert "watch.jsonl: line 3: expected a line as `calm watch` wrote it" in refused(tmp_path, "planted:noise=0.1")


def test_a_file_that_is_no_history_stays(tmp_path):
    """Also if it is the file of cases."""
    cases = anchors(tmp_path / "watch.jsonl", bundled("pairwise")[:5])

    assert "--history: expected" in refused(tmp_path, "planted", cases=cases)


def test_a_second_run_at_the_same_time_is_refused(tmp_path):
    """It makes no call."""
    calm(tmp_path, "planted:noise=0.1")
    with held(tmp_path / "watch.jsonl"):
        assert "another `calm watch` is using this history now" in refused(tmp_path, "planted:noise=0.1")


def test_a_clock_that_went_backwards_is_told(tmp_path, capsys, monkeypatch):
    """The runs count in the order of the history."""
    calm(tmp_path, "planted:noise=0.1")
    path = tmp_path / "watch.jsonl"
    history = read_history(path)
    later = history.runs[0].at.replace("20", "21", 1)
    path.unlink()
    from dataclasses import replace

    from calm.plugins.watch.history import History, with_run

    with_run(path, History(), history.reference, replace(history.runs[0], at=later))

    assert calm(tmp_path, "planted:noise=0.1") == 0
    assert "but a run was made at 21" in " ".join(capsys.readouterr().out.split())


def test_few_anchors_are_told_before_they_are_paid_for(tmp_path, capsys):
    """The plan says that no drift can raise an alarm, and from when on one can."""
    cases = anchors(tmp_path / "anchors.jsonl", bundled("pairwise")[:8])
    assert calm(tmp_path, "planted:noise=0.1", "--plan", cases=cases) == 0
    assert "no drift of any size can raise an alarm in run 2" in " ".join(capsys.readouterr().out.split())
    assert calm(tmp_path, "planted:noise=0.1", cases=cases) == 0
    assert "no drift of any size can raise an alarm in run 2" in " ".join(capsys.readouterr().out.split())


def test_a_plan_makes_no_call_and_leaves_no_file(tmp_path, capsys):
    """Not even an empty history."""
    assert calm(tmp_path, "planted:noise=0.1", "--plan") == 0
    assert "40 anchors, 2 asks each; no call is made\nat most 80 calls" in capsys.readouterr().out
    assert not (tmp_path / "watch.jsonl").exists()


@pytest.mark.skipif(not MOUNTS, reason="only root can mount a disk")
def test_a_disk_without_any_room_is_told_before_a_call_is_made(tmp_path):
    """What could not be kept is not paid for."""
    with small_disk(tmp_path / "disk") as disk:
        room = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(room.f_bavail * room.f_frsize))
        with pytest.raises(ConfigError, match="No space left"):
            calm(tmp_path, "planted:noise=0.1", f"--history={disk / 'watch.jsonl'}")

        assert not (tmp_path / "cache.sqlite").exists()


@pytest.mark.skipif(not MOUNTS, reason="only root can mount a disk")
def test_a_full_disk_loses_no_run(tmp_path, capsys):
    """The history stays as it was; with room again, the run is completed from the cache."""
    with small_disk(tmp_path / "disk") as disk:
        calm(tmp_path, "planted:noise=0.1", f"--history={disk / 'watch.jsonl'}")
        whole = (disk / "watch.jsonl").read_bytes()
        room = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes((room.f_bavail - 1) * room.f_frsize))  # room for what is under way alone
        with pytest.raises(ConfigError, match=r"watch\.jsonl"):
            calm(tmp_path, "planted:noise=0.1", f"--history={disk / 'watch.jsonl'}")
        left = (disk / "watch.jsonl").read_bytes()
        (disk / "ballast").unlink()
        capsys.readouterr()
        done = calm(tmp_path, "planted:noise=0.1", f"--history={disk / 'watch.jsonl'}")

        assert left == whole
        assert done == 0
        told = capsys.readouterr().out
        assert "0 calls, 80 replies from the cache" in told
        assert "replayed 80 replies of a stopped run" in told
        assert len(read_history(disk / "watch.jsonl").runs) == 2
