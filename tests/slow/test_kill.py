"""100 times kill -9 at random moments, over three suites."""

from random import Random

from tests.servers.deaths import campaign, mortal

ROUNDS = 10


def test_a_hundred_deaths_lose_and_repeat_nothing_that_was_kept(tmp_path):
    """Whole runs, runs of two workers, and single workers: what is paid twice was in flight or not yet committed."""
    rng = Random(7)
    with mortal(tmp_path) as made:
        plain = made.whole()
        made.needed = made.committed()
        for turn in range(ROUNDS):
            options = ("-n2",) if turn % 2 else ()
            assert campaign(made, rng, 8, *options) == plain
            print(f"round {turn}: {made.kills} kills, {made.wasted} answers paid and not kept")
        while made.kills < 100:
            made.forget()
            made.lose_a_worker(rng)
            assert made.whole() == plain
            assert made.committed() == made.needed
        print(f"{made.kills} kills, {made.wasted} answers paid and not kept, of {made.needed.total()} a run")
