"""The door for other tools' judges: real clients of OpenAI and Anthropic, and a real server behind calm's engine."""

import asyncio
import json
import queue
import socket
import threading
from dataclasses import replace

import anthropic
import httpx2
import openai
import pytest

from calm.core.case import Answer as Text
from calm.core.case import Case
from calm.core.verdict import NoReply, Refused, Score, Unreadable
from calm.engine.money import Caps
from calm.engine.store import Mode
from calm.errors import ConfigError
from calm.models.wire import Outlined
from calm.plugins.adapters.evaluator import ANSWER, QUESTION, REFERENCE, SHARE, Evaluator
from calm.plugins.adapters.judge import adapted_judge
from tests.planted import engine
from tests.servers import Answer, wire_server

CASE = Case("c1", "What holds?", (Text("a", "This holds."),), reference="This.")
KEY = "key-for-a-test-1"


def evaluator(call, *, passes=None, asynchronous=True):
    passed = passes or {"input": QUESTION, "output": ANSWER}
    return Evaluator("tool 1.0", "score", SHARE, passed, call, asynchronous)


def judged(call, server, *, asynchronous=True, asks=1, path=None, caps=None, passes=None):
    judge = adapted_judge("tool:x:y", evaluator(call, asynchronous=asynchronous, passes=passes))
    with engine(path, Mode.OFF if path is None else Mode.ON, caps=caps) as running:
        running.admit(judge)
        return judge, running.ask(judge, [(CASE, ask + 1) for ask in range(asks)])


def chat(url, **more):
    async def call(values):
        client = openai.AsyncOpenAI(base_url=url, api_key=KEY)
        reply = await client.chat.completions.create(
            model="gpt-4.1-mini", messages=[{"role": "user", "content": values["input"]}], temperature=0, **more
        )
        return float(reply.choices[0].message.content)

    return call


def test_a_request_is_made_by_calm_with_the_body_of_the_client():
    """The server sees calm's own connection, the key and the client's body, and the tool gets the reply."""
    with wire_server(lambda messages, body: "0.5", api_key=KEY, limitless=True) as server:
        judge, found = judged(chat(server.url, seed=7), server)

    assert found[0].verdict == Score(0.5)
    assert [seen.headers["user-agent"].partition("/")[0] for seen in server.seen] == ["calm-judge"] * 2
    assert server.judged[0].body == {
        "messages": [{"role": "user", "content": "What holds?"}],
        "model": "gpt-4.1-mini",
        "seed": 7,
        "temperature": 0,
    }
    assert [seen.body.get("seed") for seen in server.seen] == [7, 7], "the greeting has the judge's parameters"
    assert judge.about["parameters"] == {"seed": 7, "temperature": 0}
    assert KEY not in repr(judge.endpoints) + repr(judge.about) + judge.endpoints[0].identity


def test_a_client_that_blocks_is_answered_in_a_thread_and_in_a_loop():
    """Neither waits for itself."""

    def blocking(values):
        client = openai.OpenAI(base_url=url, api_key=KEY)
        reply = client.responses.create(model="gpt-4.1-mini", input=values["input"])
        return float(reply.output_text)

    async def inside(values):
        return blocking(values)

    with wire_server(lambda messages, body: "0.25", limitless=True) as server:
        url = server.url
        verdicts = [judged(call, server, asynchronous=call is inside)[1][0].verdict for call in (blocking, inside)]

    assert verdicts == [Score(0.25)] * 2


def test_tools_of_anthropic_come_back_as_its_client_expects_them():
    """The call of a tool, its arguments and the version of the API that the client chose."""

    async def call(values):
        client = anthropic.AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key=KEY)
        schema = {"type": "object", "properties": {"score": {"type": "number"}}}
        reply = await client.messages.create(
            model="claude-haiku-4-5",
            max_tokens=50,
            messages=[{"role": "user", "content": values["input"]}],
            tools=[{"name": "grade", "description": "grade it", "input_schema": schema}],
            extra_headers={"anthropic-version": "2023-06-01"},
        )
        return reply.content[0].input["score"]

    with wire_server(lambda messages, body: Answer(calls=(("grade", {"score": 0.75}),)), limitless=True) as server:
        url = server.url
        _, found = judged(call, server)

    assert found[0].verdict == Score(0.75)
    assert server.judged[0].headers["anthropic-version"] == "2023-06-01"


@pytest.mark.parametrize("path", ["chat", "responses"])
def test_tools_of_openai_come_back_as_its_client_expects_them(path):
    """The same through both of its APIs; the cache keeps them."""
    schema = {"type": "object", "properties": {"score": {"type": "number"}}}

    async def call(values):
        client = openai.AsyncOpenAI(base_url=url, api_key=KEY)
        if path == "chat":
            tool = {"type": "function", "function": {"name": "grade", "parameters": schema}}
            reply = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": values["input"]}], tools=[tool]
            )
            called = reply.choices[0].message.tool_calls[0].function
        else:
            tool = {"type": "function", "name": "grade", "parameters": schema, "strict": False}
            reply = await client.responses.create(model="m", input=values["input"], tools=[tool])
            called = reply.output[0]
        return json.loads(called.arguments)["score"]

    with wire_server(lambda messages, body: Answer(calls=(("grade", {"score": 1}),)), limitless=True) as server:
        url = server.url
        _, found = judged(call, server)

    assert found[0].verdict == Score(1.0)


def test_log_probabilities_come_back():
    """With all alternatives, as OpenAI writes them."""

    async def call(values):
        client = openai.AsyncOpenAI(base_url=url, api_key=KEY)
        reply = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], logprobs=True, top_logprobs=2
        )
        token = reply.choices[0].logprobs.content[0]
        seen.append((token.token, token.logprob, [(one.token, one.logprob) for one in token.top_logprobs]))
        return 0.5

    seen = []
    said = Answer("1", tokens=[("1", -0.25, [("1", -0.25), ("0", -2.0)])])
    with wire_server(lambda messages, body: said, limitless=True) as server:
        url = server.url
        judged(call, server)

    assert seen[-1] == ("1", -0.25, [("1", -0.25), ("0", -2.0)])


def test_equal_requests_of_one_ask_get_replies_of_their_own_and_are_kept(tmp_path):
    """A panel of three is three votes, and a second run pays for none of them."""

    async def call(values):
        votes = await asyncio.gather(*(one(values) for _ in range(3)))
        return sum(votes) / 3

    numbers = iter(["0", "1", "1", "0", "0", "0"])
    with wire_server(lambda messages, body: next(numbers), limitless=True) as server:
        one = chat(server.url)
        first = judged(call, server, path=tmp_path / "cache.sqlite")[1][0].verdict
        second = judged(call, server, path=tmp_path / "cache.sqlite")[1][0].verdict

    assert first == second == Score(pytest.approx(2 / 3))
    assert len(server.judged) == 3


def test_several_replies_in_one_request_are_asked_for_one_by_one():
    """calm keeps one reply to a request; the client gets its three choices."""

    async def call(values):
        client = openai.AsyncOpenAI(base_url=url, api_key=KEY)
        reply = await client.chat.completions.create(model="m", n=3, messages=[{"role": "user", "content": "x"}])
        seen.append([(one.index, one.message.content) for one in reply.choices])
        return 0.5

    seen = []
    numbers = iter("123")
    with wire_server(lambda messages, body: next(numbers), limitless=True) as server:
        url = server.url
        judged(call, server)

    assert seen[-1] == [(0, "1"), (1, "2"), (2, "3")]
    assert all("n" not in sent.body for sent in server.judged)


def test_an_error_is_the_server_s_own_and_is_not_tried_again_by_the_client():
    """What the client or the tool makes of it is nobody's business: the first error of `send` is the reason."""

    async def call(values):
        for _ in range(5):
            try:
                await ask(values)
            except openai.OpenAIError:
                continue
        return 1.0

    with wire_server(lambda messages, body: Answer(status=400, message="too long"), limitless=True) as server:
        ask = chat(server.url)
        _, found = judged(call, server)

    assert isinstance(found[0].verdict, NoReply)
    assert "too long" in str(found[0].verdict.reason)
    assert len(server.judged) == 1


def test_a_cap_stops_the_calls_of_a_tool():
    """`--calm-max-calls` counts them."""
    with wire_server(lambda messages, body: "0.5", limitless=True) as server:
        _, found = judged(chat(server.url), server, asks=4, caps=Caps(calls=3))

    assert [isinstance(one.verdict, NoReply) for one in found].count(True) == 2, "the greeting is a call"
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (Answer("none"), Unreadable("ValueError: could not convert string to float: 'none'")),
        (Answer("7"), Unreadable("expected a number from 0 to 1, got 7.0 of type float; set `scale`")),
        (Answer("", refusal="I will not."), Refused("I will not.")),
    ],
)
def test_what_a_tool_makes_nothing_of_is_data(said, verdict):
    """Not an error: the model did answer."""
    with wire_server(lambda messages, body: said, limitless=True) as server:
        _, found = judged(chat(server.url), server)

    assert found[0].verdict == verdict


def test_other_code_never_meets_the_door():
    """Another thread calls the server while a judge is asked."""

    async def call(values):
        thread = threading.Thread(target=other)
        thread.start()
        await asyncio.to_thread(thread.join)
        return await ask(values)

    def other():
        client = openai.OpenAI(base_url=url, api_key="of-another")
        client.chat.completions.create(model="other", messages=[{"role": "user", "content": "mine"}])

    with wire_server(lambda messages, body: "0.5", limitless=True) as server:
        url = server.url
        ask = chat(url)
        judge = adapted_judge("tool:x:y", evaluator(chat(url)))
        object.__setattr__(judge, "evaluator", evaluator(call))
        with engine() as running:
            found = running.ask(judge, [(CASE, 1)])

    assert found[0].verdict == Score(0.5)
    assert [seen.headers["user-agent"].partition("/")[0] for seen in server.seen] == ["OpenAI", "calm-judge"]


@pytest.mark.parametrize("blocks", [False, True])
def test_what_a_judge_leaves_running_asks_no_model(blocks):
    """One of its votes fails, so that it ends before another is asked: nobody would count or pay that one."""

    async def call(values):
        asyncio.get_running_loop().create_task(after_it(values))
        return float("none")

    async def after_it(values):
        await asyncio.to_thread(ended.wait)
        try:
            client = (openai.OpenAI if blocks else openai.AsyncOpenAI)(base_url=url, api_key=KEY)
            asked = client.responses.create(model="m", input="late")
            came.put(asked if blocks else await asked)
        except openai.BadRequestError as error:
            came.put(error)

    ended, came = threading.Event(), queue.SimpleQueue()
    with wire_server(lambda messages, body: "0.5", limitless=True) as server:
        url = server.url
        judge = adapted_judge("tool:x:y", evaluator(chat(url)))
        object.__setattr__(judge, "evaluator", evaluator(call))
        with engine() as running:
            running.ask(judge, [(CASE, 1)])
        ended.set()

        assert isinstance(came.get(timeout=30), openai.BadRequestError)
        assert server.judged == []


def test_calls_that_no_door_sees_are_named_and_none_is_made_before_the_run():
    """A judge that asks by another way is asked all the same, and the plan says what that means."""

    def call(values):
        reply = httpx2.post(f"{url}/other", json={}).status_code
        return 1.0 if reply == 404 else 0.0

    with wire_server(lambda messages, body: "0.5") as server:
        url = server.url
        judge, found = judged(call, server, asynchronous=False)
        host = url.removeprefix("http://").removesuffix("/v1")

    assert found[0].verdict == Score(1.0)
    assert judge.endpoints == ()
    assert not judge.traits.sends
    assert host in judge.assumes[0]
    assert "no cap stops them" in judge.assumes[0]
    assert [note.kind.value for note in judge.remarks.notes] == ["calls-elsewhere"]


def test_a_connection_by_any_other_way_is_refused_before_the_run():
    """A judge with sockets of its own is found out, too."""

    def call(values):
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return 1.0

    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        judge = adapted_judge("tool:x:y", evaluator(call, asynchronous=False))
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            pass

    assert judge.dry.elsewhere == (f"127.0.0.1:{port}",)


def test_a_judge_that_fails_by_itself_is_an_error_of_configuration():
    """Before the run, with its own words."""

    def call(values):
        raise TypeError("no such parameter")

    with pytest.raises(ConfigError, match="failed on a sample case, before it asked any model: TypeError: no such"):
        adapted_judge("tool:x:y", evaluator(call, asynchronous=False))


def test_a_stream_is_refused_with_the_fix():
    """calm cannot keep it."""

    async def call(values):
        client = openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key=KEY)
        await client.chat.completions.create(model="m", messages=[], stream=True)

    with pytest.raises(ConfigError, match="set stream=False"):
        adapted_judge("tool:x:y", evaluator(call))


def test_the_calls_of_a_judge_are_outlined_before_the_run():
    """The plan knows how many there are, and how long their prompts get with a longer case."""

    async def call(values):
        return await ask(values) + await ask({"input": values["output"]})

    ask = chat(
        "http://127.0.0.1:9/v1", response_format={"type": "json_schema", "json_schema": {"schema": {"type": "number"}}}
    )
    judge = adapted_judge("tool:x:y", evaluator(call))
    longer = Case("c2", CASE.question + "x" * 500, CASE.answers)

    assert isinstance(judge, Outlined)
    assert [size for _, size, _ in judge.outline(longer)] == [size + 500 for _, size, _ in judge.outline(CASE)]
    assert judge.assumes == ("tool:x:y: 2 calls an ask, as with a sample",)
    assert judge.fingerprint == adapted_judge("tool:x:y", evaluator(call)).fingerprint


def test_a_case_that_lacks_what_is_passed_is_named_before_the_run():
    """With the field and the name under which it is passed."""
    judge = adapted_judge(
        "tool:x:y", evaluator(chat("http://127.0.0.1:9/v1"), passes={"input": QUESTION, "expected": REFERENCE})
    )

    with pytest.raises(ConfigError, match="case c2: expected a `reference`, which the judge is passed as 'expected'"):
        judge.sees(Case("c2", "q", CASE.answers))


def test_an_empty_answer_that_the_tool_does_not_pass_on_is_a_refusal():
    """It is data, and costs no case; the same failure on any other answer is an error."""

    async def call(values):
        if "stumble" in values["output"] or not values["output"]:
            raise ValueError("'output' cannot\nbe empty")
        return await chat(url)(values)

    with wire_server(lambda messages, body: "0.5", limitless=True) as server:
        url = server.url
        judge = adapted_judge("tool:x:y", evaluator(call))
        with engine() as running:
            running.admit(judge)
            cases = [replace(CASE, answers=(Text("a", text),)) for text in ("", "I stumble.", "This holds.")]
            empty, failed, sound = (one.verdict for one in running.ask(judge, [(case, 1) for case in cases]))

    assert empty == Refused("ValueError: 'output' cannot be empty")
    assert isinstance(failed, NoReply)
    assert sound == Score(0.5)
    assert len(server.judged) == 1
