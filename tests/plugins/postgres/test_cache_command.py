"""`calm cache` of a record on a server."""

import json

from calm.commands.cli import main
from calm.core.edits import Message
from calm.engine.store import Mode, Store
from calm.models.wire import Reply
from tests.commands.test_cache import HOSTILE


def test_a_record_on_a_server_is_shown_pruned_and_exported(shared, tmp_path, capsys, monkeypatch):
    """Also texts that the server cannot hold as they are."""
    from calm.plugins.postgres.server import read_address

    monkeypatch.chdir(tmp_path)
    url = shared()
    store = Store(read_address(url, "--cache-url", {}), Mode.ON)
    for number, model in enumerate(("big", "big", "a\0b\\u0000", "")):
        body = {"model": "named"} if model else {}
        store.put(bytes([number]) * 32, (Message("user", HOSTILE),), body, Reply(HOSTILE, model=model))
    store.close()
    out = tmp_path / "out.jsonl"

    assert main(["cache", "show", f"--cache-url={url}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["cache", "export", str(out), f"--cache-url={url}"]) == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").split("\n") if line]
    assert main(["cache", "prune", "--model=big", f"--cache-url={url}"]) == 0
    pruned = capsys.readouterr().out

    assert ": 4 replies, 0." in lines[0]
    assert sorted(line.split(None, 1)[0] for line in lines[2:]) == ["1", "1", "2"]
    assert [row["reply"]["text"] for row in rows] == [HOSTILE] * 4
    assert "deleted 2 replies, kept 2" in pruned
    assert main(["cache", "show", "--cache-url=postgresql://u:topsecret-word@h/d"]) == 4
    assert "topsecret-word" not in capsys.readouterr().err
