"""How many calls may be in flight: halved when a server asks for fewer, and grown again while it answers."""

import asyncio
import random
from time import monotonic

from calm.models.pacing import Pace
from calm.models.wire import Limits


def places(pace):
    """Return how many places can be had at once, and give them back."""
    taken = 0
    while pace.grab():
        taken += 1
    for _ in range(taken):
        pace.give()
    return taken


def test_it_begins_with_what_the_user_allows():
    """And answers never raise it above that."""
    pace = Pace(Limits(concurrency=8))
    for _ in range(100):
        pace.answered()

    assert places(pace) == 8


def test_a_limit_halves_what_may_be_in_flight_once_for_all_calls_of_that_moment():
    """Of calls that began before the cut, only the first counts; at least one call may always be made."""
    pace = Pace(Limits(concurrency=32))
    began = monotonic()

    widths = []
    for _ in range(5):
        pace.limited(began, monotonic())
    widths.append(places(pace))
    for _ in range(10):
        pace.limited(monotonic(), monotonic())
        widths.append(places(pace))

    assert widths == [16, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1]


def test_it_grows_by_one_for_each_window_of_answers():
    """After 4 answers 5 calls may be in flight, after 5 more 6; a limit begins the window anew."""
    pace = Pace(Limits(concurrency=8))
    pace.limited(monotonic(), monotonic())

    widths = []
    for _ in range(9):
        pace.answered()
        widths.append(places(pace))

    assert widths == [4, 4, 4, 5, 5, 5, 5, 5, 6]


def test_who_waits_gets_a_place_as_soon_as_there_are_more():
    """A place that comes from growing goes to a call that waits for one; one that is cut is not handed on."""

    async def tried():
        pace = Pace(Limits(concurrency=4))
        for _ in range(4):
            await pace.take(0)
        pace.limited(monotonic(), monotonic())
        waiting = [asyncio.ensure_future(pace.take(0)) for _ in range(3)]
        seen = []
        for act in (pace.give, pace.give, pace.give, pace.answered, pace.answered):
            await asyncio.sleep(0)
            act()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            seen.append(sum(w.done() for w in waiting))
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return seen

    assert asyncio.run(tried()) == [0, 0, 1, 1, 2]


def test_it_settles_near_what_a_server_takes():
    """Against one that answers at most 10 calls at once and limits the others, the calls in flight stay near 10."""

    async def served():
        pace, rng = Pace(Limits(concurrency=200)), random.Random(1)
        most, limited, in_flight = 0, 0, 0

        async def call(number):
            nonlocal in_flight, limited, most
            while True:
                await pace.take(0)
                began = monotonic()
                in_flight += 1
                most = max(most, in_flight) if number > 1000 else most
                full = in_flight > 10
                await asyncio.sleep(rng.random() / 1000)
                in_flight -= 1
                pace.give()
                if not full:
                    pace.answered()
                    return
                limited += 1
                pace.limited(began, monotonic())
                await asyncio.sleep(0.001)

        await asyncio.gather(*(call(n) for n in range(3000)))
        return most, limited

    most, limited = asyncio.run(served())

    assert most <= 30
    assert limited <= 1500
