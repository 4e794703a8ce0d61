"""judge.toml: every key, and every fault told at once."""

import asyncio
import json
import tomllib
from dataclasses import dataclass

import pytest

from calm.core.case import Answer as Text
from calm.core.case import Case
from calm.core.verdict import Scale, Score
from calm.errors import ConfigError, JudgeError
from calm.judges.judgefile import KEYS as LISTED
from calm.judges.judgefile import read_judge
from calm.models.apis import APIS, PROVIDERS
from calm.models.transport import ours
from calm.models.wire import Limits, Message, Price
from tests.inside import offered
from tests.servers import wire_server

CANARY = "canary-7f3a91-key"
LEAST = """
[judge]
name = "j"
task = "{task}"

[model]
provider = "openai"
model = "tiny"
base_url = "http://127.0.0.1:9/v1"
"""
PAIR = Case("c1", "Which?", (Text("a", "first text"), Text("b", "second text")))


@dataclass
class Direct:
    """`send` without an engine: every request goes to its endpoint."""

    ask: int = 1

    async def __call__(self, request):
        return await request.endpoint.call(request.body)


@pytest.fixture
def write(tmp_path):
    """Write a judge.toml and the files beside it, and return its path."""

    def write(text, **files):
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name.replace("__", ".")).write_bytes(data)
        path = tmp_path / "judge.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def least(task="pairwise", extra=""):
    return LEAST.format(task=task) + extra


def problems(path, env=None):
    with pytest.raises(ConfigError) as caught:
        read_judge(path, env or {})
    assert all(p.startswith(str(path)) for p in caught.value.problems)
    return [p.removeprefix(f"{path}: ") for p in caught.value.problems]


EVERYTHING = """
[judge]
name = "support-judge"
task = "score"
family = "gpt"
mitigations = []

[model]
provider = "openai"
model = "judge-prod"
served_as = "gpt-4.1-mini-2025-04-14"
base_url = "http://127.0.0.1:8000/v1"
api_key_env = "SOME_KEY"
headers = { "X-Team" = "evals" }
headers_env = { "X-Gateway-Token" = "GATEWAY_TOKEN" }
query = { "api-version" = "2026-05-01" }
extra_body = { reasoning_effort = "low", nested = { list = [1, 2.5, true] } }
max_tokens = 1024
temperature = 0.5
timeout_s = 60
greeting = false
concurrency = 8
rpm = 500
tpm = 200000
price_usd_per_mtok = { input = 0.40, output = 1.60 }

[prompt]
system_file = "system.jinja"
user_file = "judge.jinja"
negative_system_file = "system-negative.jinja"
negative_user_file = "judge-negative.jinja"
order = "as-given"

[verdict]
format = "json"
field = "result.score"
schema_file = "schema.json"
scale = { low = 1, high = 5, step = 1, best = "high" }
values = { GOOD = 5, BAD = 1 }
"""
FILES = {
    "system__jinja": "You judge.\r\n",
    "judge__jinja": "Q: {{ question }}\nA: {{ answers[0].text }}\n",
    "system-negative__jinja": "You find fault.",
    "judge-negative__jinja": "How bad is {{ answers[0].text }}?",
    "schema__json": '{"type": "object"}',
}
KEYS = {"SOME_KEY": CANARY, "GATEWAY_TOKEN": f"{CANARY}-2"}


def test_every_key_is_read(write):
    """Each key of the file is where it belongs."""
    judge = read_judge(write(EVERYTHING, **FILES), KEYS)

    server = judge.server
    assert (judge.name, judge.task, judge.family, judge.traits.as_given) == ("support-judge", "score", "gpt", True)
    assert judge.scale == Scale(1, 5, 1, "high")
    assert judge.schema == {"type": "object"}
    assert (judge.form.kind, judge.form.field, dict(judge.form.values)) == (
        "json",
        "result.score",
        {"GOOD": 5, "BAD": 1},
    )
    assert judge.prompt.messages == (
        Message("system", "You judge.\r\n"),
        Message("user", "Q: {{ question }}\nA: {{ answers[0].text }}\n"),
    )
    assert judge.prompt.negative == (
        Message("system", "You find fault."),
        Message("user", "How bad is {{ answers[0].text }}?"),
    )
    assert (server.model, server.served_as, server.max_tokens, server.timeout_s) == (
        "judge-prod",
        "gpt-4.1-mini-2025-04-14",
        1024,
        60,
    )
    assert not server.greeting
    assert (server.limits, server.price) == (Limits(8, 500, 200000), Price(0.40, 1.60, "judge.toml"))
    assert judge.parameters == {
        "max_tokens": 1024,
        "temperature": 0.5,
        "top_p": 1.0,
        "reasoning_effort": "low",
        "nested": {"list": [1, 2.5, True]},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": {"type": "object"}},
        },
    }


def test_each_listed_key_is_one_that_is_read(write, subtests):
    """A date fits no key: each one says so, and a key that is not listed is unknown."""
    for table, keys in LISTED.items():
        for key in keys:
            with subtests.test(table=table, key=key):
                beside = "[judge]\nname = 'p'\n" if table == "panel" else ""
                found = problems(write(f"{beside}[{table}]\n{key} = 2026-01-01\n{key}y = 1"))

                assert [p for p in found if p.startswith(f"[{table}] {key}: ") and "unknown key" not in p]
                assert [p for p in found if p.startswith(f"[{table}] {key}y: unknown key")]


def test_no_secret_is_shown(write):
    """Values of variables are in nothing that is written: repr, identity, fingerprint, about, the request."""
    judge = read_judge(write(EVERYTHING, **FILES), KEYS)

    shown = [repr(judge), judge.server.identity, judge.fingerprint, json.dumps(judge.about), repr(judge.endpoints)]

    assert judge.server.secrets.values == (f"{CANARY}-2", CANARY)
    assert not [text for text in shown if CANARY in text]


def test_defaults(write):
    """What the file leaves out has the documented default."""
    judge = read_judge(write(least()), {})

    server = judge.server
    assert (server.max_tokens, server.timeout_s, server.limits) == (4096, 120, Limits(32, None, None))
    assert (judge.form.kind, judge.prompt.bundled, judge.schema) == ("brackets", True, None)
    assert not judge.traits.as_given
    assert server.secrets.values == ()
    assert read_judge(write(least("score")), {}).scale == Scale(1, 10)
    assert read_judge(write(least("points")), {}).scale == Scale(0, 1)


def test_each_task_has_a_bundled_prompt_for_each_format(write, subtests):
    """Without [prompt] the task's own prompt is used."""
    for task in ["pairwise", "score", "rubric", "rubric-all", "points", "listwise"]:
        for form in ["brackets", "json", "last-line", "tag"]:
            with subtests.test(task=task, form=form):
                judge = read_judge(write(least(task, f'[verdict]\nformat = "{form}"')), {})

                assert judge.prompt.bundled
                assert judge.form.kind == form


def test_a_judge_answers_through_a_server(write):
    """A judge.toml is enough to get a verdict from a server, key, headers and query included."""
    with wire_server(
        lambda *_: '{"result": {"score": "GOOD"}}',
        api_key=CANARY,
        headers={"X-Team": "evals", "X-Gateway-Token": f"{CANARY}-2"},
        query={"api-version": "2026-05-01"},
    ) as wire:
        path = write(EVERYTHING.replace("http://127.0.0.1:8000/v1", wire.url), **FILES)
        judge = read_judge(path, KEYS)
        case = Case("c", "Why?", (Text("a", "Because."),))
        greeted = asyncio.run(judge.server.greet())
        verdict = asyncio.run(judge.judge(case, Direct()))

    assert greeted.text == "ready"
    assert verdict == Score(5.0)
    assert wire.judged[0].messages == [("system", "You judge.\r\n"), ("user", "Q: Why?\nA: Because.\n")]


def test_the_key_of_a_provider_goes_to_its_own_server_unasked(write):
    """Without base_url the provider's usual variable is used, and named if it is missing."""
    path = write(least().replace('base_url = "http://127.0.0.1:9/v1"\n', ""))

    judge = read_judge(path, {"OPENAI_API_KEY": CANARY})

    assert judge.server.secrets.key == CANARY
    assert problems(path) == [
        "[model] api_key_env: the environment variable 'OPENAI_API_KEY' is not set; set it, or name another one"
    ]


def test_a_header_that_takes_the_key_of_a_provider_holds_it(write, subtests):
    """At its own server too, no other key is asked for or sent where headers_env names that header."""
    for provider, api in APIS.items():
        with subtests.test(provider):
            given = f'headers_env = {{ "{api.key_header.title()}" = "MY_KEY" }}'
            text = least(extra=given).replace('provider = "openai"', f'provider = "{provider}"')
            judge = read_judge(write(text.replace('base_url = "http://127.0.0.1:9/v1"\n', "")), {"MY_KEY": CANARY})

            assert judge.server.own
            assert ours(judge.server.address)[api.key_header] == CANARY


def test_a_key_of_the_environment_stays_at_home(write):
    """A compatible server is not given the key of OpenAI."""
    judge = read_judge(write(least()), {"OPENAI_API_KEY": CANARY})

    assert judge.server.secrets.key is None


def test_a_key_in_the_place_of_its_variable_is_not_shown(write, subtests):
    """A key written into the file is refused without repeating it."""
    for value in ["sk-proj-abcdefghijk", "0123456789abcdef0123456789abcdef", "aB3dE5gH7jK9mN1pQ3sT5vW7"]:
        with subtests.test(value=value):
            found = problems(write(least(extra=f'api_key_env = "{value}"\nheaders_env = {{ X = "{value}-" }}')))

            assert [p.split(":")[0] for p in found] == ["[model] headers_env", "[model] api_key_env"]
            assert not [p for p in found if value in p]


def test_a_missing_variable_is_named(write):
    """A variable that is not set or empty is told by its name."""
    path = write(least(extra='api_key_env = "SOME_KEY"\nheaders_env = { "X-Token" = "OTHER" }'))

    found = problems(path, {"OTHER": " "})

    assert found == [
        "[model] headers_env: the environment variable 'OTHER' is empty; set it, or name another one",
        "[model] api_key_env: the environment variable 'SOME_KEY' is not set; set it, or name another one",
    ]


def test_a_variable_of_almost_the_name_is_meant(write):
    """Only one that is set, and never its value; one that merely begins alike is not."""
    path = write(least(extra='api_key_env = "KITCHN_KEY"'))

    (found,) = problems(path, {"KITCHEN_KEY": CANARY, "KITCHEN_KEYS": ""})
    (other,) = problems(path, {"KITCHEN_URL": CANARY, "KEY": CANARY, "KITCHEN_KEY": " "})

    said = "[model] api_key_env: the environment variable 'KITCHN_KEY' is not set"
    assert found == f"{said} (did you mean KITCHEN_KEY?); set it, or name another one"
    assert other == f"{said}; set it, or name another one"


def test_the_key_of_another_maker_is_not_meant(write):
    """A name with another letter in it would send a credential to somebody else."""
    for wanted, there in (("OPENAI_API_KEY", "OPENPIPE_API_KEY"), ("GROK_API_KEY", "GROQ_API_KEY")):
        (found,) = problems(write(least(extra=f'api_key_env = "{wanted}"')), {there: CANARY})

        assert there not in found


def test_a_key_over_plain_http_is_refused(write):
    """A key goes over plain http to this machine only."""
    text = least(extra='api_key_env = "SOME_KEY"').replace("127.0.0.1", "judge.example.com")

    found = problems(write(text), {"SOME_KEY": CANARY})

    assert len(found) == 1
    assert "plain http to this machine only, not to 'judge.example.com'" in found[0]
    assert CANARY not in found[0]


def test_all_faults_are_told_at_once(write):
    """One run tells everything that is wrong with a file."""
    text = """
[judge]
nam = "j"
task = "pair-wise"
mitigations = ["swop"]

[model]
provider = "openay"
model = 3
base_url = "localhost:8000"
max_tokens = true
temperature = -1
timeout_s = "60"
greeting = "no"
concurrency = 0
rpm = 1.5
query = "x"
headers = { "X-A" = 1 }
extra_body = { when = 2026-01-01, bad = nan, stream = true }
price_usd_per_mtok = { input = -1, outputs = 2 }
tempurature = 1

[prompt]
system = "a"
system_file = "missing.jinja"
order = "random"

[verdict]
format = "jsonn"
scale = { low = 5, high = 1 }

[verdicts]
x = 1
"""
    found = problems(write(text))

    for expected in (
        "unknown table [verdicts]; did you mean 'verdict'?",
        "[judge] nam: unknown key; did you mean 'name'?",
        "[judge] task: unknown value, got task='pair-wise'; did you mean 'pairwise'?",
        *(["[judge] mitigations: unknown name 'swop'; did you mean 'swap'?"] if offered("mitigate") else []),
        "[model] provider: unknown value, got provider='openay'; did you mean 'openai'?",
        "[model] model: expected a text in quotes, got model=3",
        "[model] max_tokens: expected a whole number above 0, got max_tokens=True",
        "[model] temperature: expected a number of at least 0, got temperature=-1",
        "[model] timeout_s: expected a number above 0, got timeout_s='60'",
        "[model] greeting: expected true or false, got greeting='no'",
        "[model] concurrency: expected a whole number above 0, got concurrency=0",
        "[model] rpm: expected a whole number above 0, got rpm=1.5",
        "[model] query: expected a table such as { name = value }, got query='x'",
        "[model.headers] X-A: expected a text in quotes, got X-A=1",
        "[model] extra_body: 'stream' is not for extra_body; expected only what calm does not set or read itself",
        "[model.price_usd_per_mtok] input: expected a number of at least 0, got input=-1",
        "[model.price_usd_per_mtok] outputs: unknown key; did you mean 'output'?",
        "[model] tempurature: unknown key; did you mean 'temperature'?",
        "[prompt] system: system and system_file are both given; expected one of them",
        "[prompt] system: expected user or user_file beside it: without it the bundled prompt would be used",
        "[prompt] order: unknown value, got order='random'; known: as-given, balanced",
        "[verdict] format: unknown value, got format='jsonn'; did you mean 'json'?",
        "[verdict] scale: is for task = 'score' only, got task='pairwise'; take it out",
        "[verdict.scale] low: expected less than high, got low=5, high=1",
    ):
        assert expected in found
    for begin in (
        "[model] base_url: expected an address",
        "[prompt] system_file: the file",
        "[model] extra_body: expected what JSON",
    ):
        assert [p for p in found if p.startswith(begin)]
    assert len(found) == 28


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('format = "json"', 'format = "jsn"'),
        ("user_file", "user_fil"),
        ("[prompt]", "[promt]"),
        ("task", "taks"),
        ("[verdict.scale]", "[verdict.scal]"),
    ],
)
def test_what_is_misspelt_is_one_fault(write, tmp_path, right, wrong):
    """Nothing else is said of what follows from it."""
    (tmp_path / "score.jinja").write_text("{{ question }} {{ answers[0].text }} {{ scale.high }}: JSON with a score")
    text = """
[judge]
name = "j"
task = "score"

[model]
provider = "openai"
model = "m"

[prompt]
user_file = "score.jinja"

[verdict]
format = "json"
field = "score"

[verdict.scale]
low = 1
high = 10
"""
    assert text.count(right) == 1

    [fault] = problems(write(text.replace(right, wrong)), {"OPENAI_API_KEY": "k"})

    assert "did you mean" in fault


@pytest.mark.parametrize("name", ["auth_token", "token", "tokens", "api_keys", "bearer", "extra_headers"])
def test_what_may_be_a_secret_is_never_shown(write, name):
    """Not as the value of a key that is spelt alike, such as max_tokens."""
    text = f'[judge]\nname = "j"\ntask = "score"\n[model]\nprovider = "openai"\nmodel = "m"\n{name} = "sk-live-1234"\n'

    told = problems(write(text), {"OPENAI_API_KEY": "k"})

    assert len(told) == 1
    assert name in told[0]
    assert "1234" not in told[0]


def test_what_is_not_toml_is_told_with_its_place(write, subtests):
    """Syntax errors name the line."""
    for text, what in [
        (b"[judge]\nname = \xff", "not in UTF-8 (line 2 holds the byte 0xff)"),
        (b"[judge\nname = 1", "line 1: "),
        (b'[judge]\nname = "a"\nname = "b"\n', "line 3: the key name is there twice"),
        (b"x = " + b"[" * 5000, "line 1: expected brackets nested at most 100 deep"),
    ]:
        with subtests.test(text=text, what=what):
            assert what in problems(write(text))[0]


def test_no_file_is_told(tmp_path):
    """A judge.toml that does not exist, or is a folder, is an error of configuration."""
    assert "there is no such file" in problems(tmp_path / "none.toml")[0]
    assert "is a folder" in problems(tmp_path)[0]


def test_a_byte_order_mark_is_no_fault(write):
    """Some editors write a mark before the text."""
    assert read_judge(write(b"\xef\xbb\xbf" + least().encode()), {}).name == "j"


def test_an_empty_file_names_what_is_needed(write):
    """The required keys are told."""
    assert problems(write("")) == [
        "[judge] name: missing; expected a text",
        "[judge] task: missing; expected one of pairwise, score, rubric, rubric-all, points, listwise, label",
        f"[model] provider: missing; expected one of {', '.join(PROVIDERS)}",
        "[model] model: missing; expected a text",
    ]


def test_a_prompt_that_cannot_work_is_a_fault(write, subtests):
    """A prompt is checked before the first call."""
    for task, prompt, what in [
        ("pairwise", "user = 'Which one? {{ question }}'", "the prompt shows no answers"),
        (
            "score",
            "user = 'Q: {question} A: {answer} {tone}'",
            "the prompt shows no answers: {question}, {answer} are plain text here, as `calm init` alone reads such "
            "placeholders; write {{ question }}, {{ answers[0].text }}, or let it do so: calm init --prompt FILE",
        ),
        (
            "score",
            "user = '{{ question }} ${output}'",
            "no answers: ${output} is plain text here, as `calm init` alone",
        ),
        (
            "pairwise",
            "user = '<<answer_a>> <<answer_b>>'",
            "write {{ answers[0].text }}, {{ answers[1].text }}, or let",
        ),
        ("rubric", "user = '{answer}'", "the prompt shows no answers and no criterion: {answer} is plain text here"),
        (
            "score",
            "user = '{{ question }} {\"score\": N} {tone}'",
            "shows no answers; expected {{ answers }} or a loop",
        ),
        ("pairwise", "user = '{{ answers }}'\nnegative_user = 'Worse?'", "the negative prompt shows no answers"),
        ("rubric", "user = '{{ answers[0].text }}'", "the prompt shows no criterion"),
        ("score", "user = '{{ answers[0].text }} {{ qestion }}'", "did you mean 'question'?"),
        ("score", "user = '{{ answers[0].text }} {% if %}'", "user in "),
        ("score", "user = ''", "a text that is not blank"),
        ("score", "user_file = 'bad.jinja'", "not in UTF-8 (line 1 holds the byte 0xff)"),
        ("score", "messages_file = 'turns.json'\nuser = '{{ answers }}'", "messages_file holds the whole prompt"),
        ("score", "negative_user = '{{ answers }}'", "expected user or user_file beside it"),
    ]:
        with subtests.test(task=task, prompt=prompt, what=what):
            files = {"bad__jinja": b"\xff", "turns__json": '[{"role": "user", "content": "{{ answers[0].text }}"}]'}

            found = problems(write(least(task, f"[prompt]\n{prompt}"), **files))

            assert [p for p in found if what in p]


def test_few_shot_turns_come_from_a_file(write):
    """messages_file is a list of turns, in order."""
    turns = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "example"},
        {"role": "assistant", "content": "[[A]]"},
        {"role": "user", "content": "{{ answers[0].text }} {{ answers[1].text }}"},
    ]

    judge = read_judge(write(least(extra='[prompt]\nmessages_file = "m.json"'), m__json=json.dumps(turns)), {})

    assert judge.prompt.messages == tuple(Message(t["role"], t["content"]) for t in turns)


def test_a_bad_messages_file_is_a_fault(write, subtests):
    """Each fault of the turns is told with its number."""
    for content, what in [
        ("nope", "expected JSON"),
        ("[]", "expected a list"),
        ('["x"]', "message 1: expected an object"),
        ('[{"role": "robot", "content": "x"}]', "message 1: expected a role of system, user, assistant"),
        ('[{"role": "user", "text": "x"}]', "unknown key 'text'"),
        ('[{"role": "user"}]', "expected a text as content"),
        ('[{"role": "user", "content": "{{ answers }}"}, {"role": "system", "content": "x"}]', "last message"),
        ("[" * 100_000, "expected JSON"),
    ]:
        with subtests.test(content=content, what=what):
            found = problems(write(least(extra='[prompt]\nmessages_file = "m.json"'), m__json=content))

            assert [p for p in found if what in p]


def test_anthropic_wants_system_messages_first(write):
    """A prompt that the provider cannot take is a fault of configuration."""
    turns = [{"role": r, "content": "{{ answers }}"} for r in ("user", "system", "user")]
    text = least(extra='[prompt]\nmessages_file = "m.json"').replace('"openai"', '"anthropic"')

    assert [p for p in problems(write(text, m__json=json.dumps(turns))) if "system messages before all others" in p]


def test_a_verdict_that_cannot_be_read_is_a_fault(write, subtests):
    """The way a reply is read is checked before the first call."""
    for task, verdict, what in [
        ("pairwise", "format = 'regex'", "pattern: missing"),
        ("pairwise", "format = 'regex'\npattern = '('", "pattern: "),
        ("pairwise", "format = 'regex'\npattern = 'A|B'", "one group"),
        ("pairwise", "format = 'tag'\ntag = '<v>'", "the name of a tag"),
        ("pairwise", "field = 'x'", "is for format = 'json' only"),
        ("pairwise", "format = 'json'\nfield = 'x'", "the bundled prompt asks for 'verdict'"),
        ("pairwise", "format = 'json'\nschema_file = 's.json'", "expected a JSON object"),
        ("pairwise", "format = 'json'\nschema_file = 'n.json'", "NaN is no JSON"),
        ("pairwise", "values = { A = 1 }", "'tie' or 'none', as the task is 'pairwise', got A=1"),
        ("score", "values = { A = 'first' }", "expected a number"),
        ("score", "values = { A = true }", "expected a number"),
        ("score", "values = { A = 99 }", "on the scale"),
        ("rubric", "values = { A = 2 }", "0 or 1 or 'met' or 'unmet'"),
        ("score", "scale = { low = 0, high = 1, step = 0.3 }", "steps that lead from low to high"),
        ("score", "scale = { low = inf }", "expected a number"),
        ("score", "scale = { best = 'up' }", "best: unknown value"),
        ("pairwise", "scale = { low = 0, high = 1 }", "is for task = 'score' only"),
        ("listwise", "format = 'logprobs'", "logprobs"),
    ]:
        with subtests.test(task=task, verdict=verdict, what=what):
            found = problems(write(least(task, f"[verdict]\n{verdict}"), s__json="[1]", n__json='{"a": NaN}'))

            assert [p for p in found if what in p]


def test_log_probabilities_need_a_model_that_gives_them(write, subtests):
    """A format that the model cannot serve is told before the first call."""
    for provider, model in [("anthropic", "claude-opus-4-8"), ("openai", "gpt-5-mini")]:
        with subtests.test(provider=provider, model=model):
            text = (
                least(extra="[verdict]\nformat = 'logprobs'")
                .replace('"openai"', f'"{provider}"')
                .replace("tiny", model)
            )

            assert [
                p for p in problems(write(text)) if p.startswith("[verdict] format: 'logprobs' needs log-probabilities")
            ]


def test_an_error_of_the_server_has_no_secret_in_it(write):
    """A wrong key is told by its variable."""
    with wire_server(lambda *_: "", api_key="right") as wire:
        text = least(extra='api_key_env = "SOME_KEY"').replace("http://127.0.0.1:9/v1", wire.url)
        judge = read_judge(write(text), {"SOME_KEY": CANARY})
        with pytest.raises(JudgeError) as caught:
            asyncio.run(judge.judge(PAIR, Direct()))

    assert caught.value.fatal
    assert "'SOME_KEY'" in str(caught.value)
    assert CANARY not in str(caught.value)


def test_the_fingerprint_changes_with_what_decides(write):
    """Model, prompt, parameters, format, scale and schema are in the fingerprint; name and pace are not."""
    base = tomllib.loads(least("score"))
    assert base["judge"]["name"] == "j"
    same = [least("score"), least("score").replace('"j"', '"k"'), least("score", "rpm = 5\ntimeout_s = 5")]
    other = [
        least("score").replace("tiny", "tiny2"),
        least("score", "temperature = 0.5"),
        least("score", "max_tokens = 5"),
        least("score", "extra_body = { seed = 1 }"),
        least("score", "query = { v = '1' }"),
        least("score", "[prompt]\nuser = '{{ answers[0].text }}'"),
        least("score", "[verdict]\nformat = 'json'"),
        least("score", "[verdict]\nscale = { low = 1, high = 5 }"),
        least("points"),
    ]

    prints = [read_judge(write(text), {}).fingerprint for text in same + other]

    assert len(set(prints[:3])) == 1
    assert len(set(prints)) == 1 + len(other)


def test_a_replay_needs_no_key(write):
    """Without its variables the judge is the same, and makes no call."""
    path = write(EVERYTHING, **FILES)

    keyless = read_judge(path, {}, keyless=True)
    also = read_judge(path, KEYS, keyless=True)

    assert keyless.fingerprint == also.fingerprint == read_judge(path, KEYS).fingerprint
    assert keyless.server.identity == read_judge(path, KEYS).server.identity
    assert keyless.server.secrets.values == also.server.secrets.values == ()
    for judge in (keyless, also):
        with pytest.raises(JudgeError, match="without its keys") as caught:
            asyncio.run(judge.server.greet())
        assert caught.value.fatal
    assert problems(path, {}) != []


def test_a_replay_refuses_a_key_in_the_file_all_the_same(write):
    """What stands where a variable's name belongs may be the key itself."""
    text = least().replace('model = "tiny"', f'model = "tiny"\napi_key_env = "{CANARY}"')

    with pytest.raises(ConfigError, match="never the key itself") as caught:
        read_judge(write(text), {}, keyless=True)

    assert CANARY not in str(caught.value)


def test_control_characters_in_what_is_shown_are_refused(write, subtests):
    """A name that moves the cursor, or turns the text around, reaches neither terminal nor report."""
    for odd in ["\\u001b[2J", "\\u0000", "\\n", "\\u0085", "\\u2028", "\\u202e"]:
        for key in ["name", "family", "model", "served_as"]:
            with subtests.test(odd=odd, key=key):
                table = "model" if key in {"model", "served_as"} else "judge"
                kept = [line for line in least().splitlines() if not line.startswith(f"{key} =")]
                text = "\n".join(kept).replace(f"[{table}]", f'[{table}]\n{key} = "a{odd}b"')

                found = problems(write(text))

                assert len(found) == 1
                assert found[0].startswith(
                    f"[{table}] {key}: expected a text without control characters, got {key} with U+"
                )
                assert all(c.isprintable() for c in found[0])


def test_a_name_may_be_in_any_script(write):
    """Letters, marks, joiners and pictures are no control characters."""
    name = "Richter \u00e9 \u4e2d\u6587 \u0939\u093f \U0001f468\u200d\u2696\ufe0f"

    assert read_judge(write(least().replace('"j"', f'"{name}"')), {}).name == name
