"""
Files in the place of a provider: the requests of each wave go out by `calm batch write`, the replies in by `read`.

    pytest tests/slow/test_batch_files.py
"""

import json

from tests.plugins.batches.test_batch import calm, findings, gate, judge, server

__all__ = ["calm", "server"]


def test_files_carry_every_wave_to_another_engine(server, calm, tmp_path):
    """The engine answers from files alone; in the end the findings are those of a live run."""
    calm(*gate("--calm-results=live.json", "--calm-cache=off"))
    judge(tmp_path, server.url, greeting=False)
    calm(*gate("--calm-results=ungreeted.json", "--calm-cache=off"))
    before = len(server.wire.seen)
    for _ in range(40):
        status, said = calm(
            *("calm", "batch", "write", "judge.toml", "-o", "requests.jsonl"),
            *("--", "--calm-sample=14", "-k", "test_authority", "--calm-looks-ahead=9"),
        )
        assert status == 0, said
        if "no call is left" in said:
            break
        lines = (tmp_path / "requests.jsonl").read_text("utf-8").splitlines()
        (tmp_path / "replies.jsonl").write_text("\n".join(map(_answered(server), lines)), "utf-8")
        status, said = calm("calm", "batch", "read", "replies.jsonl")
        assert (status, f"{len(lines)} replies kept" in said) == (0, True), said
    status, said = calm(*gate("--calm-results=read.json", "--calm-cache=replay"))

    assert len(server.wire.seen) == before
    assert findings(tmp_path / "read.json") == findings(tmp_path / "ungreeted.json"), said
    status, said = calm("calm", "batch", "read", "replies.jsonl")
    assert (status, "about no call that is held" in said) == (1, True)


def _answered(server):
    def answer(line):
        asked = json.loads(line)
        turns = [(turn["role"], turn["content"]) for turn in asked["body"]["messages"]]
        message = {"role": "assistant", "content": server.wire.respond(turns, asked["body"])}
        body = {"model": "tiny", "choices": [{"message": message, "finish_reason": "stop"}]}
        return json.dumps({"custom_id": asked["custom_id"], "response": {"status_code": 200, "body": body}})

    return answer
