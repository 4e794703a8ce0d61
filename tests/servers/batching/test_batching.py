"""The server of batches, held against the clients of the providers."""

import json
from collections import Counter
from pathlib import Path
from time import sleep

import anthropic
import openai
import pytest

from tests.servers import Answer
from tests.servers.batching import Conduct, batch_server
from tests.servers.batching.apart import apart

CHAT = "/v1/chat/completions"


def respond(messages, body):
    """Say what was asked; fail on demand."""
    said = messages[-1][1]
    return Answer(status=400, message="no") if said == "fail" else Answer(f"You said {said}.", usage=(5, 2))


@pytest.fixture
def server():
    """A server whose batches take until they are told."""
    with batch_server(respond, api_key="k-1", conduct=Conduct(takes_s=None)) as running:
        yield running


@pytest.fixture
def openai_client(server):
    """OpenAI's client."""
    with openai.OpenAI(base_url=server.url, api_key="k-1", max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic_client(server):
    """Anthropic's client."""
    root = server.url.removesuffix("/v1")
    with anthropic.Anthropic(base_url=root, api_key="k-1", max_retries=0) as client:
        yield client


def line(custom_id, said="hello", url=CHAT, **changed):
    """Return one line of a file of requests."""
    body = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": said}]}
    if url == "/v1/responses":
        body = {"model": "m", "max_output_tokens": 5, "input": [{"role": "user", "content": said}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body} | changed)


def sent(client, lines, endpoint=CHAT, **more):
    """Upload lines and begin a batch of them."""
    file = client.files.create(file=("requests.jsonl", "\n".join(lines).encode()), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h", **more)


def read(client, file_id):
    """Return the lines of a file."""
    return [json.loads(text) for text in client.files.content(file_id).text.splitlines()] if file_id else []


def asked(*said):
    """Return requests for Anthropic's batches, named by their number."""
    return [
        {"custom_id": f"r-{n}", "params": {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": t}]}}
        for n, t in enumerate(said)
    ]


@pytest.mark.parametrize("endpoint", [CHAT, "/v1/responses"])
def test_a_batch_answers_as_the_live_server_does(server, openai_client, endpoint):
    """All statuses in turn; replies in another order, errors in a file of their own, each item billed once."""
    said = [*"abcdefgh", "fail"]
    begun = sent(openai_client, [line(f"id-{t}", t, endpoint) for t in said], endpoint, metadata={"run": "1"})
    assert (begun.status, begun.metadata, begun.endpoint) == ("validating", {"run": "1"}, endpoint)
    while openai_client.batches.retrieve(begun.id).status == "validating":
        sleep(0.005)
    waiting = openai_client.batches.retrieve(begun.id)
    assert (waiting.status, waiting.request_counts.total, waiting.output_file_id) == ("in_progress", 9, None)

    server.finish()

    done = openai_client.batches.retrieve(begun.id)
    assert (done.status, done.request_counts.completed, done.request_counts.failed) == ("completed", 8, 1)
    assert (done.usage.input_tokens, done.usage.output_tokens) == (40, 16)
    lines = read(openai_client, done.output_file_id)
    assert sorted(each["custom_id"] for each in lines) == [f"id-{t}" for t in "abcdefgh"]
    assert [each["custom_id"] for each in lines] != [f"id-{t}" for t in "abcdefgh"]
    for each in lines:
        text = f"You said {each['custom_id'][-1]}."
        response = each["response"]["body"]
        if endpoint == CHAT:
            found = openai.types.chat.ChatCompletion.model_validate(response).choices[0].message.content
        else:
            found = openai.types.responses.Response.model_construct(**response).output_text
        assert found == text
    (failed,) = read(openai_client, done.error_file_id)
    assert (failed["custom_id"], failed["response"]["status_code"], failed["error"]) == ("id-fail", 400, None)
    assert failed["response"]["body"]["error"]["message"] == "no"
    assert {bill.times for bill in server.billed.values()} == {1}
    assert "id-fail" not in server.billed
    assert openai_client.files.delete(begun.input_file_id).deleted
    assert {file.purpose for file in openai_client.files.list(purpose="batch_output")} == {"batch_output"}


def test_openai_refuses_what_it_cannot_take(subtests, server, openai_client):
    """A bad file makes a failed batch that says the line; a bad request is refused at once."""
    good = line("a")
    cases = {
        "invalid_json_line": [good, '{"custom_id":'],
        "duplicate_custom_id": [good, good],
        "mismatched_model": [good, line("b", body={"model": "n"})],
        "missing_required_parameter": [good, line("b", body=3)],
        "unknown_parameter": [good, line("b", more=1)],
        "invalid_method": [good, line("b", method="GET")],
        "invalid_url": [good, line("b", url="/v1/responses")],
        "invalid_custom_id": [good, line("b" * 65)],
        "too_many_requests": [line(f"{n}") for n in range(6)],
        "token_limit_exceeded": [line(f"{n}", "w" * 400) for n in range(5)],
    }
    server.conduct.most_requests, server.conduct.most_enqueued_tokens = 5, 500
    for code, lines in cases.items():
        with subtests.test(code):
            begun = sent(openai_client, lines)
            server.batches[-1].ended.wait(5)
            found = openai_client.batches.retrieve(begun.id)
            assert (found.status, [each.code for each in found.errors.data]) == ("failed", [code])
            assert found.errors.data[0].line == (None if code.startswith(("too", "token")) else 2)
    with subtests.test("a file that is too large"):
        server.conduct.most_bytes = 100
        with pytest.raises(openai.APIStatusError) as large:
            sent(openai_client, [good])
        assert large.value.status_code == 413
        server.conduct.most_bytes = None
    file = openai_client.files.create(file=("a.jsonl", good.encode()), purpose="batch")
    bad = [{"endpoint": "/v1/no"}, {"completion_window": "1h"}, {"input_file_id": "file-no"}, {"metadata": {"a": 1}}]
    for change in [*bad, {"extra_body": {"new": 1}}]:
        given = {"input_file_id": file.id, "endpoint": CHAT, "completion_window": "24h"} | change
        with subtests.test(change), pytest.raises(openai.BadRequestError):
            openai_client.batches.create(**given)
    with subtests.test("the key"), pytest.raises(openai.AuthenticationError):
        openai_client.with_options(api_key="k-2").batches.list()
    with subtests.test("nothing there"):
        for look in (openai_client.batches.retrieve, openai_client.files.retrieve, openai_client.files.content):
            with pytest.raises(openai.NotFoundError):
                look("no")
    assert not server.billed


def test_lists_come_in_pages(server, openai_client, anthropic_client):
    """The newest first, with a cursor."""
    made = [sent(openai_client, [line("a")]).id for _ in range(5)][::-1]
    messages = [anthropic_client.messages.batches.create(requests=asked("a")).id for _ in range(5)][::-1]

    first = openai_client.batches.list(limit=2)
    assert ([each.id for each in first.data], first.has_more) == (made[:2], True)
    assert [each.id for each in first] == made
    assert len(list(openai_client.files.list(limit=2))) == 5
    page = anthropic_client.messages.batches.list(limit=2)
    assert ([each.id for each in page.data], page.has_more) == (messages[:2], True)
    assert [each.id for each in page] == messages
    before = anthropic_client.messages.batches.list(limit=2, before_id=messages[4])
    assert ([each.id for each in before.data], before.has_more) == (messages[2:4], True)
    server.vanish(made[0])
    assert [each.id for each in openai_client.batches.list()] == made[1:]


def test_anthropic_batches_live_end_and_go(server, anthropic_client):
    """Counts are zero and results a 404 until the end; then each item has its result."""
    begun = anthropic_client.messages.batches.create(requests=asked("a", "b", "c", "fail"))
    assert (begun.processing_status, begun.request_counts.processing, begun.results_url) == ("in_progress", 4, None)
    with pytest.raises(anthropic.NotFoundError):
        anthropic_client.get(f"/v1/messages/batches/{begun.id}/results", cast_to=object)
    with pytest.raises(anthropic.BadRequestError):
        anthropic_client.messages.batches.delete(begun.id)

    server.finish(begun.id)

    done = anthropic_client.messages.batches.retrieve(begun.id)
    assert (done.processing_status, done.request_counts.succeeded, done.request_counts.errored) == ("ended", 3, 1)
    results = {each.custom_id: each.result for each in anthropic_client.messages.batches.results(begun.id)}
    assert results["r-1"].message.content[0].text == "You said b."
    assert (results["r-3"].type, results["r-3"].error.error.type) == ("errored", "invalid_request_error")
    assert anthropic_client.messages.batches.delete(begun.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        anthropic_client.messages.batches.retrieve(begun.id)


def test_anthropic_refuses_what_it_cannot_take(subtests, server, anthropic_client):
    """At once: there is no batch."""
    good = asked("a", "b")
    server.conduct.most_requests = 3
    bad = {
        "not unique": [good[0], good[0]],
        "must match": [{**good[0], "custom_id": "a b"}],
        "Extra inputs": [{**good[0], "url": "/v1/messages"}],
        "Field required": [{"custom_id": "a"}],
        "at most 3": asked(*"abcd"),
        "must not be empty": [],
    }
    for words, requests in bad.items():
        with subtests.test(words), pytest.raises(anthropic.BadRequestError, match=words):
            anthropic_client.messages.batches.create(requests=requests)
    with subtests.test("another field"), pytest.raises(anthropic.BadRequestError, match="only `requests`"):
        anthropic_client.messages.batches.create(requests=good, extra_body={"metadata": {}})
    server.conduct.most_bytes = 100
    with subtests.test("too large"), pytest.raises(anthropic.APIStatusError, match="maximum"):
        anthropic_client.messages.batches.create(requests=good)
    assert not server.batches


def test_shares_expire_fail_and_are_cancelled(subtests, server, openai_client, anthropic_client):
    """What was done stands; the same seed draws the same fates, and another time another one."""
    server.conduct.expires, server.conduct.fails = 0.3, {500: 0.2, 429: 0.1}
    ids = [f"r-{n}" for n in range(100)]

    with subtests.test("openai expires"):
        begun = sent(openai_client, [line(custom_id) for custom_id in ids])
        server.finish()
        done = openai_client.batches.retrieve(begun.id)
        replies, errors = read(openai_client, done.output_file_id), read(openai_client, done.error_file_id)
        codes = Counter(each["error"]["code"] if each["error"] else each["response"]["status_code"] for each in errors)
        assert done.status == "expired"
        assert (15 < codes["batch_expired"] < 45, 5 < codes[500] < 35, 0 < codes[429] < 25) == (True, True, True)
        assert sorted(each["custom_id"] for each in replies + errors) == sorted(ids)
        assert set(server.billed) == {each["custom_id"] for each in replies}
    with subtests.test("anthropic expires"):
        server.desk.taken.clear()
        made = anthropic_client.messages.batches.create(requests=asked(*["a"] * 100))
        server.finish()
        results = Counter(each.result.type for each in anthropic_client.messages.batches.results(made.id))
        assert results["expired"] == codes["batch_expired"]
        assert results["errored"] == codes[500] + codes[429]
        assert server.billed[replies[0]["custom_id"]].times == 2
    with subtests.test("cancelled"):
        server.conduct.expires, server.conduct.fails = 0, {}
        begun = sent(openai_client, [line(custom_id) for custom_id in ids])
        made = anthropic_client.messages.batches.create(requests=asked(*["a"] * 100))
        openai_client.batches.cancel(begun.id)
        assert anthropic_client.messages.batches.cancel(made.id).cancel_initiated_at
        server.finish()
        done = openai_client.batches.retrieve(begun.id)
        errors = read(openai_client, done.error_file_id)
        assert done.status == "cancelled"
        assert {each["error"]["code"] for each in errors} == {"batch_cancelled"}
        assert 30 < len(read(openai_client, done.output_file_id)) < 70
        assert 30 < anthropic_client.messages.batches.retrieve(made.id).request_counts.canceled < 70
        with pytest.raises(openai.ConflictError):
            openai_client.batches.cancel(begun.id)
        with pytest.raises(anthropic.BadRequestError):
            anthropic_client.messages.batches.cancel(made.id)


def test_the_way_loses_and_breaks_things(subtests, server, openai_client):
    """Each fault happens as often as it is told to, and the counts show what the client cannot see."""
    conduct = server.conduct
    conduct.takes_s = 0
    with subtests.test("refused"):
        conduct.refuse_submits = 1
        with pytest.raises(openai.RateLimitError):
            sent(openai_client, [line("a")])
        assert not server.batches
    with subtests.test("lost"):
        conduct.lose_submits = conduct.lose_uploads = 1
        with pytest.raises(openai.APIConnectionError):
            openai_client.files.create(file=("a.jsonl", line("a").encode()), purpose="batch")
        with pytest.raises(openai.APIConnectionError):
            sent(openai_client, [line("a")])
        uploads = [file for file in server.desk.files.values() if file.purpose == "batch"]
        assert (len(server.batches), len(uploads)) == (1, 3)
    with subtests.test("results"):
        conduct.garbled, conduct.torn, conduct.repeated, conduct.unknown = 0.3, 0.3, 2, 3
        begun = sent(openai_client, [line(f"r-{n}", "x" * 1000) for n in range(100)])
        server.finish()
        conduct.fail_polls = 2
        with pytest.raises(openai.InternalServerError):
            openai_client.batches.retrieve(begun.id)
        conduct.poll_fault = "cut"
        with pytest.raises(openai.APIConnectionError):
            openai_client.batches.retrieve(begun.id)
        done = openai_client.batches.retrieve(begun.id)
        conduct.cut_downloads = 1
        with pytest.raises(openai.APIConnectionError):
            openai_client.files.content(done.output_file_id)
        lines = openai_client.files.content(done.output_file_id).text.splitlines()
        assert len(lines) == 100 + 2 + 3
        torn = sum(not text.endswith("}") for text in lines)
        garbled = sum("doctype" in text for text in lines)
        unknown = sum('"unknown-' in text for text in lines)
        assert (15 < torn < 45, 15 < garbled < 45, unknown) == (True, True, 3)
        assert len(server.billed) == 101 - 1 + 1
    with subtests.test("lies"):
        conduct.lies = True
        assert openai_client.batches.retrieve(begun.id).request_counts.total == 105


def test_a_server_of_its_own_process_keeps_the_counts(tmp_path):
    """It tells them over HTTP, and forgets them when told."""
    with apart("[[A]]", takes_s=None, fails={"500": 0.5}) as server:
        with openai.OpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
            begun = sent(client, [line(f"r-{n}") for n in range(20)])
            server.finish()
            done = client.batches.retrieve(begun.id)
            told = server.told()
            assert [batch["id"] for batch in told["batches"]] == [begun.id]
            kinds = Counter(told["batches"][0]["items"].values())
            assert kinds["answered"] == len(told["billed"]) == done.request_counts.completed > 0
            assert kinds["500"] == done.request_counts.failed > 0
            server.change(takes_s=0.0, fails={})
            server.forget()
            assert server.told()["batches"] == []
        pid = server.pid
    assert not Path(f"/proc/{pid}").exists()
