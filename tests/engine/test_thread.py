"""Waits for work of other threads, in slices."""

import asyncio
from concurrent.futures import Future

import pytest

from calm.engine.thread import LoopThread, settled


class JustInTime(Future):
    """Ends when a wait for it is over and the next question is whether it has ended."""

    asked = 0

    def done(self):
        """Return whether it has ended; the second who asks finds that it just has."""
        self.asked += 1
        if self.asked == 2:
            self.set_result("here")
        return super().done()


def test_what_ends_at_the_end_of_a_slice_has_ended():
    """The wait and the work may end at once: it is then no timeout."""
    work = JustInTime()

    assert settled(work)
    assert work.result() == "here"


def test_a_timeout_of_the_work_is_its_result():
    """It is raised once, by who takes the result, and does not look like a wait that goes on."""
    work: Future[None] = Future()
    work.set_exception(TimeoutError("of the work"))

    assert settled(work)
    with pytest.raises(TimeoutError, match="of the work"):
        work.result()


def test_what_has_not_ended_is_waited_for_once_more():
    """A slice ends without the work, and who waits can look after other things."""
    assert not settled(Future())


def test_work_that_ends_as_a_slice_ends_is_no_timeout(monkeypatch):
    """With slices of no length the two meet in most runs of a thousand; each work's own end is what its caller gets."""

    async def work(number):
        await asyncio.sleep(0)
        if number % 10 == 0:
            raise TimeoutError(f"of work {number}")
        return number

    def ended(number):
        try:
            return thread.run(work(number), lambda: None)
        except TimeoutError as error:
            return str(error)

    monkeypatch.setattr("calm.engine.thread.SLICE_S", 0.0)
    thread = LoopThread("slices")
    try:
        found = [ended(number) for number in range(3000)]
    finally:
        thread.close()

    assert found == [number if number % 10 else f"of work {number}" for number in range(3000)]
