"""A copy of the process (`os.fork`) has none of its threads: it asks nothing, waits for nothing, and can be ended."""

import os
import signal

import pytest

from calm.engine.engine import Engine
from calm.engine.signals import SIGNALS
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from tests.planted import Planted

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*fork:RuntimeWarning"),  # of packages that other tests have loaded
]


def in_a_fork(act):
    """Return the exit status of a fork that does something and returns what that returns."""
    child = os.fork()
    if not child:
        status = 99
        try:
            status = act()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def engine():
    made = Engine(Store(None, Mode.OFF))
    yield made
    made.close()


def test_a_fork_asks_nothing(engine):
    """It is refused, by whichever door it comes; stop and close have nothing to do."""
    judge = Planted(lambda case, ask: None)
    doors = (lambda: engine.ask(judge, []), engine.refuse_fork, lambda: engine.each(print, [1, 2]))

    def act():
        for door in doors:
            with pytest.raises(ConfigError):
                door()
        engine.stop()
        engine.close()
        return 7

    assert in_a_fork(act) == 7
    assert engine.ask(judge, []) == []


def test_a_child_of_a_judge_can_be_terminated():
    """The signals that a run takes are its own; a child has those that were there before."""
    with SIGNALS.caught():
        before = signal.getsignal(signal.SIGTERM)
        status = in_a_fork(lambda: os.kill(os.getpid(), signal.SIGTERM) or 1)

        assert status == -signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) == before
