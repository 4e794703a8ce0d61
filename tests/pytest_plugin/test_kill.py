"""kill -9 at any moment, and run again: nothing kept is lost or paid again, and the findings are the same."""

from random import Random

from tests.servers.deaths import campaign, mortal


def test_runs_that_are_killed_lose_and_repeat_nothing_that_was_kept(tmp_path):
    """Two sudden deaths, in two workers, and of one worker while the other goes on; more: tests/slow/test_kill.py."""
    rng = Random(1)
    with mortal(tmp_path) as made:
        plain = made.whole()
        made.needed = made.committed()
        assert made.answered == made.needed
        assert made.needed.total() > 300

        together = campaign(made, rng, 1, "-n2")
        made.forget()
        made.lose_a_worker(rng)
        after = made.whole()

    assert made.kills == 2
    assert together == after == plain
    assert made.committed() == made.needed
