"""
A run by batch finds what a live run finds, whatever the provider does with its batches.

    pytest tests/slow/test_batch_equal.py -s      # some minutes

Items fail, expire and come in another order, lines come twice, polls and downloads break: each judgment is paid once.
"""

import pytest

from calm.cases import bundled
from calm.plugins.batches.batcher import BATCH_RETRIES
from tests.servers.batching import Conduct, batch_server
from tests.servers.batching.runs import BATCH, Runs
from tests.servers.planted import planted_respond

JUDGE = "planted:authority=0.6,seed=1"
ROUGH = {"fails": {500: 0.01, 429: 0.008}, "expires": 0.012, "repeated": 5, "unknown": 3, "lies": True, "takes_s": 0.1}
ONCE = {"fail_polls": 3, "refuse_submits": 2, "cut_downloads": 2}


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
@pytest.mark.parametrize("way", ["smooth", "rough"])
def test_a_run_by_batch_finds_what_a_live_run_finds(provider, way, tmp_path):
    """Claim by claim, with every row and number of the record."""
    conduct = Conduct(seed=5, **ROUGH, **ONCE, most_failures=BATCH_RETRIES) if way == "rough" else Conduct()
    with batch_server(planted_respond(JUDGE, bundled("pairwise")), conduct=conduct) as server:
        runs = Runs.of(tmp_path, server.url, provider)
        live, by_live = runs.whole(cache="live.sqlite")
        asked = len(server.wire.judged)

        batched, by_batch = runs.whole(*BATCH)

        assert batched == live
        assert len(server.wire.judged) == asked, "a call was made live"
        assert {bill.times for bill in server.billed.values()} == {1}
        assert len(server.billed) == asked
        failed = sum(batch.count("expired", "429", "500") for batch in server.batches)
        assert by_batch["calls"] == by_live["calls"] | {"made": 1 + asked + failed, "retried": failed}
        assert bool(failed) == (way == "rough")
        for name in ONCE:
            assert getattr(server.conduct, name) == 0
        print(f"{provider}, {way}: {asked} judgments, {len(server.batches)} batches, {failed} items failed or expired")
