"""autoevals: its scorers, in tool calls of both APIs of OpenAI, against the same object called by hand."""

import json
from contextvars import copy_context

import pytest

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.gate.from_spec import judge_from
from calm.plugins.adapters.judge import adapted
from tests.plugins.adapters.twins import by_hand, cases_in, found, module_of, posted
from tests.servers import wire_server
from tests.servers.biased import biased, place_of, score_of

SOURCE = """
import os
from autoevals import Battle, Factuality, Levenshtein, LLMClassifier, init
from openai import AsyncOpenAI, OpenAI

def client(kind=AsyncOpenAI):
    return kind(base_url=os.environ["JUDGE_URL"], api_key="key-for-a-test-1")

GRADES = {str(n): n / 10 for n in range(11)}
graded = LLMClassifier("graded", "Q: {{input}} A: {{output}} R: {{expected}}", GRADES, model="gpt-4o", client=client())
sync = client(OpenAI)
blocking = LLMClassifier("graded", "Q: {{input}} A: {{output}} C: {{context}}", GRADES, model="gpt-4o", client=sync)
newer = LLMClassifier("graded", "Q: {{input}} A: {{output}}", GRADES, model="gpt-5-mini", client=client())
battle = Battle(model="gpt-4o", client=client())
levenshtein = Levenshtein()
"""


def choice(text):
    return ("Yes", "No")[place_of(text)] if "Response 1" in text else str(score_of(text))


@pytest.fixture
def server(tmp_path, monkeypatch):
    with wire_server(biased(choice=choice), limitless=True) as running:
        module_of(tmp_path, monkeypatch, "my_scorers", SOURCE, JUDGE_URL=running.url)
        yield running


def chosen(data):
    """Return what a reply of either API says by the call of a tool."""
    called = data["output"][-1] if "output" in data else data["choices"][0]["message"]["tool_calls"][0]["function"]
    return int(json.loads(called["arguments"])["choice"]) / 10


@pytest.mark.parametrize("name", ["graded", "blocking", "newer"])
def test_a_scorer_finds_what_the_same_request_finds_that_is_posted_by_hand(server, tmp_path, name):
    """Verdict for verdict, and decision for decision: a citation adds 3 points of 10."""
    judge = adapted(f"autoevals:my_scorers:{name}")
    cases = cases_in(tmp_path)

    verdicts, decisions = found(judge, cases)

    assert (verdicts, decisions) == found(posted(judge, chosen), cases)
    assert decisions[0].estimate.value == pytest.approx(0.3)
    assert ("fields" in judge.evaluator.reads) == (name == "blocking")
    assert judge.endpoints[0].provider == ("openai-responses" if name == "newer" else "openai")


def test_a_battle_compares_the_answers_in_the_order_that_calm_shows(server, tmp_path):
    """The citation wins in either place; without one, the strong view does."""
    judge = adapted("autoevals:my_scorers:battle")
    cases = cases_in(tmp_path, pairwise=True)

    def law(case):
        return case.answers[place_of(f"{case.answers[0].text}\n{case.answers[1].text}")].id

    assert judge.task == "pairwise"
    assert judge.evaluator.passes == {"output": "answer", "instructions": "question", "expected": "second answer"}
    assert found(judge, cases) == found(by_hand(law, judge), cases)


@pytest.mark.parametrize("kind", ["AsyncOpenAI", "OpenAI"])
def test_a_client_that_is_set_for_all_scorers_is_taken(server, tmp_path, monkeypatch, kind):
    """`init` keeps it in the context in which the module is imported; one that blocks gets a thread."""
    source = f'init(client({kind}))\nshared = LLMClassifier("g", "A: {{{{output}}}}", GRADES, model="gpt-4o")\n'
    module_of(tmp_path, monkeypatch, "my_shared", SOURCE + source)
    judge = copy_context().run(adapted, "autoevals:my_shared:shared")
    verdicts, _ = found(judge, cases_in(tmp_path, count=2))

    assert verdicts
    assert judge.evaluator.asynchronous == (kind == "AsyncOpenAI")
    assert judge.endpoints[0].url.startswith(server.url)


def test_a_scorer_without_a_model_is_asked_as_it_is(server):
    """Nothing of it goes through calm, and nothing needs to."""
    judge = adapted("autoevals:my_scorers:levenshtein")

    assert (judge.endpoints, judge.scale, judge.fingerprint) == ((), Scale(0, 1), None)
    assert judge.assumes == ("autoevals:my_scorers:levenshtein: it asked no model that calm knows of about a sample",)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("grated", "did you mean 'graded'"),
        ("GRADES", "expected a scorer of autoevals, such as Factuality"),
        ("client", "'client' could not be made without arguments|expected a scorer"),
    ],
)
def test_what_is_no_scorer_is_refused_with_the_fix(server, name, said):
    """A wrong name, an object of a wrong kind, a function that makes something else."""
    with pytest.raises(ConfigError, match=said):
        adapted(f"autoevals:my_scorers:{name}")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("my_scorers:graded", "it is an object of autoevals; name it autoevals:my_scorers:graded"),
        ("autoevals:my_scorers.graded", "did you mean autoevals:my_scorers:graded"),
        ("autoevals:my_scorers.py:graded", "write it without .py: my_scorers"),
    ],
)
def test_a_name_that_is_nearly_right_is_refused_with_the_right_one(server, spec, said):
    """Without its tool, with a dot for a colon, as a file."""
    with pytest.raises(ConfigError, match=said):
        judge_from(spec)
