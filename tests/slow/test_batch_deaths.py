"""
20 times kill -9 during runs by batch: nothing is handed in twice, nothing is lost, and nothing is paid twice.

    pytest tests/slow/test_batch_deaths.py -s      # some minutes
"""

import os
import signal
from collections import defaultdict
from random import Random
from time import monotonic, sleep

import pytest

from calm.cases import bundled
from calm.plugins.batches.batcher import BATCH_RETRIES
from tests.servers.batching import Conduct, batch_server
from tests.servers.batching.runs import BATCH, Runs
from tests.servers.planted import planted_respond

KILLS = 10
"""For each provider."""
MOMENTS = ("submit", "wait", "collect", "any")
TAKES_S = 0.4


def taken_twice(server):
    """Return the calls that stand in two batches although the first one answered them, or may have."""
    places = defaultdict(list)
    for batch in server.batches:
        for custom_id, outcome in batch.items.items():
            if batch.status != "failed":
                places[custom_id].append(outcome)
    lost = ("expired", "cancelled", "429", "500")
    return {custom_id: found for custom_id, found in places.items() if any(one not in lost for one in found[:-1])}


def until(running, happened, within_s=60):
    """Wait until something happened or the run is over."""
    end = monotonic() + within_s
    while not happened() and running.poll() is None and monotonic() < end:
        sleep(0.001)


def killed(server, runs, rng, moment):
    """Start a run and kill it at such a moment; return whether it was still running."""
    with runs.start(*BATCH) as running:
        made, over = len(server.batches), sum(batch.over for batch in server.batches)
        if moment == "submit":  # while the file is on its way, or its batch just made
            files = server.desk.made
            until(running, lambda: server.desk.made > files)
            sleep(rng.uniform(0, 0.03))
        elif moment == "wait":
            until(running, lambda: len(server.batches) > made)
            sleep(rng.uniform(0, TAKES_S))
        elif moment == "collect":
            until(running, lambda: sum(batch.over for batch in server.batches) > over)
            sleep(rng.uniform(0, 0.4))
        else:
            sleep(rng.uniform(0.5, 8))
        alive = running.poll() is None
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=60)
    return alive


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_deaths_neither_repeat_nor_lose(provider, tmp_path):
    """Started again until it ends: the bill and the findings are those of a run that nobody killed."""
    conduct = Conduct(seed=2, takes_s=TAKES_S, fails={500: 0.02}, expires=0.03, most_failures=BATCH_RETRIES)
    rng = Random(11)
    with batch_server(planted_respond("planted:authority=0.6,seed=1", bundled("pairwise")), conduct=conduct) as server:
        runs = Runs.of(tmp_path, server.url, provider)
        plain, _ = runs.whole(*BATCH, cache="plain.sqlite")
        bill = dict(server.billed)
        kills = campaigns = 0
        while kills < KILLS:
            server.desk.forget()
            campaigns += 1
            for moment in rng.sample(MOMENTS, len(MOMENTS)):
                kills += killed(server, runs, rng, moment)
            for batch in server.batches:
                assert batch.ended.wait(60)

            found, run = runs.whole(*BATCH)

            assert not taken_twice(server)
            assert server.billed == bill
            assert found == plain
            assert run["calls"]["failed"] == 0
            for file in tmp_path.glob("cache.sqlite*"):
                file.unlink()
        print(f"{provider}: {kills} kills in {campaigns} campaigns, {len(bill)} judgments each")
