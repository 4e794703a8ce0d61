"""Requests without a judge: the same cache, caps and errors as the calls of judges."""

import pytest

from calm.core.verdict import NoReply, Preferred
from calm.engine.money import Caps
from calm.engine.store import Mode
from calm.errors import JudgeError
from calm.models.wire import Message, Reply, Request
from tests.planted import Asking, Local, engine, pair


def request(server, text):
    """Return a request that sends one text."""
    return Request(server, (Message("user", text),), {"text": text})


def test_responses_come_in_the_order_of_the_requests():
    """Several servers, several repeat indices; each response holds the reply that the cache keeps under its key."""
    servers = [Local(lambda body, n, name=name: Reply(f"{name} {body['text']}")) for name in ("one", "two")]
    for number, server in enumerate(servers):
        server.identity = f"server {number}"
    requests = [(request(server, str(k)), 1) for k in range(300) for server in servers]

    with engine() as running:
        found = running.generate(requests)
        kept = [running.store.get(response.key) for response in found]

    assert [response.reply.text for response in found] == [f"{name} {k}" for k in range(300) for name in ("one", "two")]
    assert kept == [response.reply for response in found]


def test_equal_requests_are_one_call_and_another_repeat_index_is_another():
    """Whether they stand in one batch or come later."""
    server = Local()

    with engine() as running:
        found = running.generate([(request(server, "a"), 1)] * 5 + [(request(server, "a"), 2)])
        again = running.generate([(request(server, "a"), 1)])

    assert len(server.begun) == 2
    assert len({response.key for response in found}) == 2
    assert again == found[:1]


def test_a_request_and_the_equal_call_of_a_judge_share_the_cache():
    """The key is the request and the repeat index, whoever asks."""
    server = Local()
    case = pair("c1")
    text = "\n".join([case.question, *(a.text for a in case.shown)])

    with engine() as running:
        asked = running.ask(Asking(server), [(case, 1)])
        response = running.generate([(request(server, text), 1)])[0]

    assert [a.verdict for a in asked] == [Preferred("good")]
    assert asked[0].calls == (response.key,)
    assert len(server.begun) == 1
    assert running.ledger.calls["cached"] == 1


def test_a_request_that_fails_is_no_error_of_the_others():
    """It has a reason in place of its reply, and may be made again."""

    def answer(body, number):
        return JudgeError("no, never") if body["text"] == "bad" and number < 3 else Reply("fine")

    server = Local(answer)

    with engine() as running:
        first, second = running.generate([(request(server, "bad"), 1), (request(server, "good"), 1)])
        third = running.generate([(request(server, "bad"), 1)])[0]

    assert isinstance(first.reply, NoReply)
    assert "no, never" in str(first.reply.reason)
    assert second.reply == third.reply == Reply("fine")
    assert first.key == third.key
    assert running.ledger.calls["failed"] == 1


def test_caps_hold_for_requests():
    """What passes a cap is not sent."""
    server = Local()

    with engine(caps=Caps(calls=3)) as running:
        found = running.generate([(request(server, str(k)), 1) for k in range(10)])

    assert len(server.begun) == 3
    assert sum(isinstance(response.reply, NoReply) for response in found) == 7


def test_a_replay_makes_no_request(tmp_path):
    """What the cache holds comes back, and nothing else does."""
    server = Local()
    with engine(tmp_path / "c.sqlite", Mode.ON) as running:
        before = running.generate([(request(server, "a"), 1)])

    with engine(tmp_path / "c.sqlite", Mode.REPLAY) as running:
        found = running.generate([(request(server, "a"), 1), (request(server, "b"), 1)])

    assert found[:1] == before
    assert isinstance(found[1].reply, NoReply)
    assert len(server.begun) == 1


def test_no_requests_no_responses():
    """An empty batch returns at once."""
    with engine() as running:
        assert running.generate([]) == []


def test_what_is_no_error_of_a_call_is_raised():
    """A fault of a program is not taken for a reason."""
    server = Local(lambda body, n: ZeroDivisionError("planted"))

    with engine() as running, pytest.raises(ZeroDivisionError, match="planted"):
        running.generate([(request(server, "a"), 1)])
