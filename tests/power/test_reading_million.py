"""A million replies read as a careful reader would read them. Takes about a quarter of an hour on one core."""

from random import Random

from calm.core.verdict import Refused, Unreadable
from calm.judges.reading import read
from calm.models.wire import Reply
from tests.replies import FORMATS, VIEWS, reply

REPLIES = 1_000_000


def test_no_reply_of_a_million_is_read_as_what_it_does_not_say():
    """Every verdict that is there is read, and none that is not."""
    kinds, tasks = list(FORMATS), list(VIEWS)
    wrong, verdicts = [], 0
    for seed in range(REPLIES):
        rng = Random(seed)
        kind, task = rng.choice(kinds), rng.choice(tasks)
        text, expected = reply(rng, kind, task)
        verdict = read(Reply(text), FORMATS[kind], VIEWS[task])
        verdicts += expected is not None
        if verdict != expected if expected is not None else not isinstance(verdict, Unreadable | Refused):
            wrong.append((seed, kind, task, text, expected, verdict))

    assert wrong == []
    assert verdicts > REPLIES // 5
