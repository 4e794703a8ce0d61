"""50 times SIGTERM at random moments, over three suites in one process and in two workers."""

import signal
from random import Random

from tests.servers.deaths import mortal

ROUNDS = 50


def test_fifty_ends_lose_no_answer_and_leave_a_record(tmp_path):
    """No answer is lost, no post comes after the first process of the run has ended, and the record says what lacks."""
    rng = Random(11)
    seconds: list[float] = []
    with mortal(tmp_path) as made:
        plain = made.whole()
        made.needed = made.committed()
        for turn in range(ROUNDS):
            if turn % 10 == 0:
                made.forget()
            ended = made.end(rng, signal.SIGTERM, *(("-n2",) if turn % 2 else ()))
            seconds.append(ended.seconds)
            print(
                f"{turn}: {ended.status} {ended.answered} answered, {ended.lost} lost, {ended.after} after; "
                f"{ended.seconds:.1f} s"
            )
            assert ended.sound, ended
        assert made.whole() == plain
    print(
        f"{ROUNDS} SIGTERM: {made.wasted} answers lost; {sorted(seconds)[ROUNDS // 2]:.1f} s to the end, the longest "
        f"{max(seconds):.1f} s"
    )
