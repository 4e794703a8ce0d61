"""The code of another tool, run in a thread of its own."""

import asyncio

import pytest

from calm.plugins.adapters.judge import Runner
from tests.judges.test_code import RAISED


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("raised", RAISED)
def test_what_the_code_of_a_tool_raises_stops_nobody(raised, asynchronous):
    """It comes as an error: none that would end the task of whoever waits."""

    def fails():
        raise raised("by itself")

    with pytest.raises(BaseException) as caught:
        asyncio.run(Runner().run(fails, asynchronous=asynchronous))

    assert not isinstance(caught.value, asyncio.CancelledError | GeneratorExit)
