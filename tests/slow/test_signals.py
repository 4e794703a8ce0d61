"""36 signals at random moments, over three suites in one process, two and four workers, to one process and to all."""

import signal
from itertools import product
from random import Random

from tests.servers.deaths import CONCURRENCY, mortal

ROUNDS = 2
LONGEST_S = 5.0
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WORKERS = (0, 2, 4)


def test_signals_lose_no_answer_and_leave_a_record(tmp_path):
    """No answer is lost, no call begins after the signal, the end comes soon, and the record says what lacks."""
    rng = Random(11)
    seconds: list[float] = []
    late: list[int] = []
    with mortal(tmp_path) as made:
        plain = made.whole()
        made.needed = made.committed()
        for turn, (number, workers, all_of_it) in enumerate([*product(NUMBERS, WORKERS, (False, True))] * ROUNDS):
            if turn % 6 == 0:
                made.forget()
            options = (f"-n{workers}",) if workers else ()
            ended = made.end(rng, number, *options, all_of_it=all_of_it)
            seconds.append(ended.seconds)
            late.append(ended.late)
            print(
                f"{turn}: {number.name} -n{workers} all={all_of_it}: {ended.status} {ended.answered} answered, "
                f"{ended.lost} lost, {ended.late} after the signal, {ended.after} after the end; {ended.seconds:.1f} s"
            )
            assert ended.sound, ended
            assert ended.late <= max(1, workers) * CONCURRENCY, ended
        assert made.whole() == plain
    print(
        f"{len(seconds)} signals: {made.wasted} answers lost; {max(late)} calls at most after one; "
        f"{sorted(seconds)[len(seconds) // 2]:.1f} s to the end, the longest {max(seconds):.1f} s"
    )
    assert max(seconds) <= LONGEST_S
