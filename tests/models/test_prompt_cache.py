"""Beginnings that prompts share are marked; what a judge reads, and its keys, do not change."""

from contextlib import closing
from dataclasses import replace

import pytest

from calm.core.case import Answer, Case
from calm.core.edits import Message, Prompt
from calm.core.verdict import Preferred
from calm.engine.calls import prepared
from calm.engine.engine import Engine
from calm.engine.money import Caps
from calm.engine.servers import Servers
from calm.engine.store import Mode, Store
from calm.gate.from_spec import judge_from
from calm.models.apis import ANTHROPIC as MESSAGES
from calm.models.apis import OPENAI_CHAT as CHAT
from calm.models.apis import OPENAI_RESPONSES as RESPONSES
from calm.models.pricing import cost
from calm.models.prompt_cache import LEAST_CHARACTERS, ends_in, marked
from calm.models.wire import Price, Request, Usage
from tests.servers import turns_of
from tests.servers.caching import caching_server

RUBRIC = "An answer must be right, and say plainly why.\n" * 180
"""About 2,000 tokens."""
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions", "openai-responses": "/v1/responses"}
JUDGE = """[judge]
name = "j"
task = "pairwise"
[model]
provider = "{provider}"
model = "{model}"
base_url = "{url}"
api_key_env = "KEY_OF_NOBODY"
concurrency = 4
prompt_cache = true
price_usd_per_mtok = {{ input = 4.0, output = 8.0, cache_read = 0.4, cache_write = 5.0 }}
[prompt]
{system}
user_file = "user.jinja"
[verdict]
format = "brackets"
"""
ASKS = "{{ question }}\n{{ reference }}\n\nA: {{ answers[0].text }}\nB: {{ answers[1].text }}\nEnd with [[A]] or [[B]]."
CASES = [Case(f"c{n}", f"What is {n} + {n}?", (Answer("a", f"{2 * n}"), Answer("b", "1"))) for n in range(6)]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Return a function that makes a judge with a long rubric."""
    monkeypatch.setenv("KEY_OF_NOBODY", "none")

    def make(url, model, provider="anthropic", *, inside=False):
        (tmp_path / "rubric.txt").write_text(RUBRIC, "utf-8")
        (tmp_path / "user.jinja").write_text(f"{RUBRIC}{ASKS}" if inside else ASKS, "utf-8")
        url = url.removesuffix("/v1") if provider == "anthropic" else url
        system = "" if inside else 'system_file = "rubric.txt"'
        text = JUDGE.format(provider=provider, model=model, url=url, system=system)
        (tmp_path / "judge.toml").write_text(text, "utf-8")
        return judge_from(str(tmp_path / "judge.toml"))

    return make


def judged(judge, cases=CASES, *, asks=1, caps=None):
    """Return the engine after a judge was asked about cases, and what it said."""
    with closing(Engine(Store(None, Mode.OFF), caps=caps or Caps())) as engine:
        found = engine.ask(judge, [(case, ask) for case in cases for ask in range(1, asks + 1)])
    return engine, [one.verdict for one in found]


def answer(messages, body):
    """Answer as a judge does."""
    return "[[A]]"


def marks_in(seen):
    """Return the blocks of a request that end a marked beginning."""
    blocks = [block for turn in seen.body["messages"] for block in turn["content"] if isinstance(block, dict)]
    system = seen.body.get("system", [])
    return [b for b in [*(system if isinstance(system, list) else []), *blocks] if "cache_control" in b]


@pytest.mark.parametrize("inside", [False, True], ids=["system", "user"])
def test_a_rubric_is_written_once_and_read_by_all_other_calls(made, inside):
    """And the run costs what the server counted."""
    with caching_server(answer, delay_s=0.01) as server:
        engine, _ = judged(made(server.url, "claude-sonnet-4-5", inside=inside))

    counted = server.counted
    assert counted.calls == 6
    assert counted.written >= len(RUBRIC) // 4
    assert counted.read == 5 * counted.written
    usage, price = Usage(counted.input, 7 * 6, counted.read, counted.written), Price(4.0, 8.0, "", read=0.4, write=5.0)
    assert engine.ledger.usd == pytest.approx(cost(price, usage))
    assert counted.cost(0.1, 1.25) < 0.4


def test_openai_keeps_the_same_beginning_without_a_mark(made):
    """And is sent none."""
    with caching_server(answer, delay_s=0.01) as server:
        judged(made(server.url, "gpt-4.1-mini", "openai"))

    assert server.counted.read == 5 * 2048
    assert all(isinstance(turn["content"], str) for seen in server.seen for turn in seen.body["messages"])


@pytest.mark.parametrize("provider", ["openai", "openai-responses"])
def test_a_model_of_openai_that_caches_by_marks_writes_the_rubric_alone(made, provider):
    """Without a mark it would write each prompt, at a higher price."""
    with caching_server(answer, delay_s=0.01, explicit=True) as server:
        judged(made(server.url, "gpt-5.6", provider))

    assert server.counted.written == len(RUBRIC) // 4
    assert server.counted.read == 5 * server.counted.written


def test_a_reference_is_marked_from_the_second_call_about_its_case_on(made):
    """A single call would pay for the mark, and nothing would read it."""
    cases = [replace(case, reference=f"{case.id} {RUBRIC}") for case in CASES[:2]]
    with caching_server(answer) as server:
        judged(made(server.url, "claude-sonnet-4-5"), cases, asks=3)

    assert sorted(len(marks_in(seen)) for seen in server.judged) == [1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("tiny", {}),
        ("gpt-4.1-mini", {}),
        ("claude-sonnet-4-5", {"refusal": 400}),
        ("claude-sonnet-4-5", {"refusal": 500}),
    ],
)
def test_who_does_not_take_marks_is_not_sent_any_for_long(made, model, settings):
    """Another model behind the same API gets none; a gateway that refuses them gets the same text without."""
    with caching_server(answer, **settings) as server:
        engine, found = judged(made(server.url, model))

    assert all(isinstance(one, Preferred) for one in found)
    assert sum(bool(marks_in(seen)) for seen in server.judged) == bool(settings)
    assert engine.ledger.calls["made"] == 6


def test_a_gateway_is_sent_no_mark_unasked(made, tmp_path):
    """It may join what a mark cuts in two with a line break: the text would change."""
    with caching_server(answer) as server:
        judge = made(server.url, "claude-sonnet-4-5")
        file = tmp_path / "judge.toml"
        file.write_text(file.read_text("utf-8").replace("prompt_cache = true\n", ""), "utf-8")
        gateway = judge_from(str(file))
        judged(gateway)

    assert judge.endpoints[0].cached_from == 1024
    assert gateway.endpoints[0].cached_from == 0
    assert not any(marks_in(seen) for seen in server.judged)


def test_a_beginning_that_is_too_short_for_the_model_is_not_written(made):
    """This model keeps 4,096 tokens or more, and says nothing."""
    with caching_server(answer, least=4096) as server:
        judged(made(server.url, "claude-haiku-4-5"))

    assert (server.counted.read, server.counted.written) == (0, 0)


def test_what_is_kept_is_forgotten_after_five_minutes(made):
    """Then it is written again."""
    with caching_server(answer) as server:
        judged(made(server.url, "claude-sonnet-4-5"), CASES[:2])
        once = server.counted.written
        server.later(301)
        judged(made(server.url, "claude-sonnet-4-5"), CASES[:2])

    assert server.counted.written == 2 * once


def test_a_cap_in_dollars_holds_where_all_prompts_are_written(made):
    """The most that a call can cost is a prompt of which all is written."""
    with caching_server(answer) as server:
        engine, _ = judged(made(server.url, "claude-sonnet-4-5"), asks=9, caps=Caps(usd=0.06))

    assert 0 < engine.ledger.usd <= 0.06
    assert engine.ledger.calls["unmade"]


@pytest.mark.parametrize(
    ("rates", "most"), [("cache_read = 0.4, cache_write = 0.0", 0.06), ("cache_read = 9.0, cache_write = 0.0", 0.2)]
)
def test_a_cap_in_dollars_holds_whatever_a_cache_costs(made, tmp_path, rates, most):
    """A server may write nothing, or give all of it: the most is by the dearest of the three prices."""
    with caching_server(answer) as server:
        made(server.url, "gpt-4.1-mini", "openai")
        path = tmp_path / "judge.toml"
        path.write_text(path.read_text("utf-8").replace("cache_read = 0.4, cache_write = 5.0", rates), "utf-8")
        engine, _ = judged(judge_from(str(path)), asks=9, caps=Caps(usd=most))

    assert 0 < engine.ledger.usd <= most
    assert engine.ledger.calls["unmade"]


def test_a_model_of_openai_that_caches_by_marks_writes_no_prompt_that_nobody_shares(made):
    """It would write each of them, for a quarter more."""
    cases = [Case(one.id, f"{one.id} {RUBRIC}", one.answers) for one in CASES]
    with caching_server(answer, explicit=True) as server:
        judge = made(server.url, "gpt-5.6", "openai", inside=True)
        judged(judge.with_prompt(Prompt((Message("user", ASKS),))), cases)

    assert (server.counted.calls, server.counted.read, server.counted.written) == (6, 0, 0)


@pytest.mark.parametrize("provider", PATHS)
def test_a_mark_changes_no_text(provider):
    """Joined, the blocks of each turn are the text of before; none is empty."""
    prompt = (Message("system", RUBRIC), Message("user", f"{RUBRIC}A case.\n\n{RUBRIC}And an answer."))
    api = {"anthropic": MESSAGES, "openai": CHAT, "openai-responses": RESPONSES}[provider]
    body = api.body(prompt, 9, False)
    ends = ends_in(prompt, (2 * len(RUBRIC), 3 * len(RUBRIC) + len("A case.\n\n")))

    made = marked(provider, body, ends)

    assert len(ends) == 2
    assert made != body
    assert turns_of(PATHS[provider], made) == turns_of(PATHS[provider], body)


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": RUBRIC}], "cache_control": {"type": "ephemeral"}},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": RUBRIC, "cache_control": {}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
        {"messages": [], "system": [3]},
        {"messages": "text"},
        {},
    ],
)
def test_a_body_that_holds_more_than_texts_is_left_alone(body):
    """So are a user's own marks."""
    assert marked("anthropic", body, (LEAST_CHARACTERS,)) is None


def test_a_mark_is_no_part_of_a_key(made):
    """Replies that were kept before there were marks are found."""
    (request,) = made("http://127.0.0.1:1/v1", "claude-sonnet-4-5").requests(CASES[0])
    plain = Request(request.endpoint, request.prompt, request.body)

    keys = [prepared(one, Servers({})).key(1) for one in (request, plain)]

    assert request.shared
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("api", "usage", "found"),
    [
        (MESSAGES, {"input_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 60}, (95, 60, 30)),
        (MESSAGES, {"input_tokens": 5}, (5, 0, 0)),
        (MESSAGES, {"input_tokens": 5, "cache_read_input_tokens": None}, (5, 0, 0)),
        (CHAT, {"prompt_tokens": 95, "prompt_tokens_details": {"cached_tokens": 60}}, (95, 60, 0)),
        (
            CHAT,
            {"prompt_tokens": 95, "prompt_tokens_details": {"cached_tokens": 90, "cache_write_tokens": 9}},
            (95, 90, 5),
        ),
        (CHAT, {"prompt_tokens": 95, "prompt_tokens_details": {"cached_tokens": -1}}, (95, 0, 0)),
        (CHAT, {"prompt_tokens": 95, "prompt_tokens_details": "many"}, (95, 0, 0)),
        (CHAT, {"prompt_tokens_details": {"cached_tokens": 60}}, (None, 0, 0)),
        (RESPONSES, {"input_tokens": 95, "input_tokens_details": {"cached_tokens": 900}}, (95, 95, 0)),
    ],
)
def test_what_a_cache_gave_and_took_is_read_and_is_never_more_than_the_prompt(api, usage, found):
    """A server may report what cannot be."""
    data = {"content": [], "choices": [{"message": {"content": "x"}}], "output": [], "usage": usage}

    read = api.reply(data).usage

    assert (read.input, read.read, read.written) == found
