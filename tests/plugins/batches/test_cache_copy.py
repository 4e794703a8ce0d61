"""A copy of a record leaves the calls that stand in batches where they are."""

import json
from time import time

from calm.commands.cli import main
from calm.engine.store import Mode, Store
from calm.plugins.batches.records import BatchedCall, BatchRecords


def test_a_copy_says_which_calls_stay_in_batches(tmp_path, capsys):
    """They are copied once they were collected; a record without batches says nothing."""
    cache, target = tmp_path / "cache.sqlite", tmp_path / "other.sqlite"
    Store(cache, Mode.ON).close()
    assert main(["cache", "copy", str(cache), str(target)]) == 0
    assert "batches" not in capsys.readouterr().out
    store = Store(cache, Mode.ON)
    BatchRecords(store).add(
        "one", json.dumps({"model": {"model": "big"}}), time(), [BatchedCall(bytes([9]) * 32, "{}")]
    )
    store.close()

    assert main(["cache", "copy", str(cache), str(target)]) == 0

    assert "1 calls stand in batches of" in capsys.readouterr().out
    store = Store(target, Mode.ON)
    assert not BatchRecords(store).rows()
    store.close()
