"""SIGTERM and SIGHUP end a run as Ctrl-C does: nothing more is asked, what was answered is kept and recorded."""

import signal
import subprocess
import sys
import threading
from random import Random

import pytest

from calm.engine.signals import Signals
from tests.inside import offered
from tests.lanes import slow
from tests.servers.deaths import CONCURRENCY, mortal

FOREIGN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


WORKERS = [(signal.SIGHUP, ("-n2",)), (signal.SIGTERM, ("-n2",))]


@pytest.mark.parametrize("told", [[(signal.SIGTERM, ())], slow(WORKERS)], ids=["one-process", "two-workers"])
def test_a_run_that_is_told_to_end_keeps_what_was_answered_and_says_what_is_missing(tmp_path, told):
    """In one process, and with workers, and told twice: no post comes after it."""
    rng = Random(3)
    with mortal(tmp_path) as made:
        made.whole()
        made.needed = made.committed()
        for number, options in told:
            made.forget()
            ended = made.end(rng, number, *options)
            assert ended.sound, ended

        made.forget()
        twice = made.end(rng, signal.SIGTERM, twice=True)

    assert twice.after == 0
    assert twice.lost <= CONCURRENCY
    assert twice.record is not None or twice.answered == 0


@pytest.mark.slow
def test_workers_of_a_run_that_was_killed_notice_and_stop(tmp_path):
    """They keep what they were answered, and ask no more."""
    with mortal(tmp_path) as made:
        made.whole()
        made.needed = made.committed()
        made.forget()
        killed = made.end(Random(3), signal.SIGKILL, "-n2")

    assert killed.lost == 0
    assert killed.answered < made.needed.total() / 2
    assert killed.record is None


def handlers():
    """Return who handles which signal."""
    return {number: signal.getsignal(number) for number in FOREIGN}


def test_the_signals_are_given_back():
    """However often they were taken, and as they were."""
    before, signals = handlers(), Signals()

    with signals.caught(), signals.caught():
        assert signal.getsignal(signal.SIGTERM) == signals._came
    assert handlers() == before


def test_another_signal_shortens_the_wait_and_interrupts_nothing():
    """The first one interrupts; after the second, calls under way are waited for no more."""
    signals = Signals()
    with signals.caught():
        assert signals.patience_s(10) == 10
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert 0 < signals.patience_s(10) <= 4
        signal.raise_signal(signal.SIGTERM)
        assert signals.patience_s(10) == 0


def test_a_record_that_is_being_written_is_not_interrupted():
    """The signal is remembered."""
    signals = Signals()
    with signals.caught(), signals.held():
        signal.raise_signal(signal.SIGHUP)
        assert signals.came


def test_a_signal_that_is_ignored_or_somebody_elses_stays_so():
    """As under `nohup`, and in a program that has handlers of its own."""
    mine = {signal.SIGHUP: signal.SIG_IGN, signal.SIGTERM: lambda *_: None}
    before = {number: signal.signal(number, handler) for number, handler in mine.items()}
    try:
        with Signals().caught():
            assert {number: signal.getsignal(number) for number in mine} == mine
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_no_handler_is_set_outside_of_the_main_thread():
    """Python forbids it, and the host's signals are not ours to take there."""
    before, failed = handlers(), []

    def take():
        try:
            with Signals().caught():
                assert handlers() == before
        except BaseException as error:  # noqa: BLE001 - told in the main thread
            failed.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert failed == []


COMMANDS = {
    "attack": ("attack", "judge.toml", "--cache-file", "cache.sqlite", "-o", "attack.json"),
    "mitigate": ("mitigate", "judge.toml", "--try", "swap", "--cache-file", "cache.sqlite", "--out", "m"),
}


@pytest.mark.parametrize("name", [*offered("attack"), *map(slow, offered("mitigate"))])
def test_a_command_that_is_told_to_end_keeps_what_was_answered(tmp_path, name):
    """It says what it spent and how to go on."""
    with mortal(tmp_path) as made:
        command = [sys.executable, "-m", "calm", *COMMANDS[name]]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(command, cwd=tmp_path, **pipes) as running:
            made.until_answered(20)
            running.send_signal(signal.SIGTERM)
            output, _ = running.communicate(timeout=60)
        made.settle()

        assert running.returncode == 130
        assert "calm: interrupted" in output
        assert made.committed() == made.answered
