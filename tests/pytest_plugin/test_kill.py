"""kill -9 at any moment, and run again: nothing kept is lost or paid again, and the findings are the same."""

from random import Random

from tests.servers.deaths import campaign, mortal


def test_runs_that_are_killed_lose_and_repeat_nothing_that_was_kept(tmp_path):
    """Three sudden deaths, in one process, in two workers, and of one worker while the other goes on."""
    rng = Random(1)
    with mortal(tmp_path) as made:
        plain = made.whole()
        made.needed = made.committed()
        assert made.answered == made.needed
        assert made.needed.total() > 300

        alone = campaign(made, rng, 1)
        together = campaign(made, rng, 1, "-n2")
        made.forget()
        made.lose_a_worker(rng)
        after = made.whole()

    assert made.kills == 3
    assert alone == together == after == plain
    assert made.committed() == made.needed
