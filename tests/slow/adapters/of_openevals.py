"""openevals and langchain: evaluators that wait and that block, of one answer and of two."""

import json

import pytest

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.plugins.adapters.judge import adapted
from tests.plugins.adapters.twins import by_hand, cases_in, found, module_of, posted
from tests.servers import wire_server
from tests.servers.biased import biased, place_of, score_of
from tests.slow.adapters.audits import both

SOURCE = """
import os
from langchain_openai import ChatOpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge

model = ChatOpenAI(model="gpt-4.1-mini", base_url=os.environ["JUDGE_URL"], api_key="key-for-a-test-1")
PROMPT = "Q: {inputs}\\nA: {outputs}\\nR: {reference_outputs}"
waits = create_async_llm_as_judge(prompt=PROMPT, judge=model, continuous=True)
blocks = create_llm_as_judge(prompt=PROMPT, judge=model, choices=[n / 10 for n in range(11)])
truth = create_llm_as_judge(prompt="Q: {inputs} A: {outputs} C: {context}", judge=model)
blind = create_llm_as_judge(prompt="Q: {inputs}", judge=model)

async def plain(inputs, outputs):
    reply = await model.ainvoke(f"Q: {inputs} A: {outputs}")
    return {"score": float(reply.content.strip("[]")) / 10}
"""
LANGCHAIN = """
from langchain_classic.evaluation import load_evaluator
from my_evaluators import model

points = load_evaluator("score_string", criteria="helpfulness", llm=model)
pairs = load_evaluator("labeled_pairwise_string", llm=model)
"""


@pytest.fixture
def server(tmp_path, monkeypatch):
    def plain(text, body):
        views = text.partition("[The Start of Assistant A")[2]
        return f"[[{'AB'[place_of(views)]}]]" if views else f"[[{score_of(text)}]]"

    def score(text):
        return score_of(text) > 5 if "C: " in text else score_of(text) / 10

    with wire_server(biased(plain, score=score), limitless=True) as running:
        module_of(tmp_path, monkeypatch, "my_evaluators", SOURCE, JUDGE_URL=running.url)
        module_of(tmp_path, monkeypatch, "my_chains", LANGCHAIN)
        yield running


@pytest.mark.parametrize("name", ["waits", "blocks"])
def test_an_evaluator_finds_what_the_same_request_finds_that_is_posted_by_hand(server, tmp_path, name):
    """Verdict for verdict, and decision for decision."""
    judge = adapted(f"openevals:my_evaluators:{name}")
    cases = cases_in(tmp_path)

    def read(data):
        return json.loads(data["choices"][0]["message"]["content"])["score"]

    verdicts, decisions = found(judge, cases)

    assert (verdicts, decisions) == found(posted(judge, read), cases)
    assert decisions[0].estimate.value == pytest.approx(0.3)
    assert judge.evaluator.asynchronous == (name == "waits")


@pytest.mark.parametrize("name", ["truth", "plain"])
def test_other_evaluators_find_what_they_find_by_hand(server, tmp_path, name):
    """One that says true or false of an answer with its context, and a function of the user's own."""
    import my_evaluators

    judge = adapted(f"{'langchain' if name == 'plain' else 'openevals'}:my_evaluators:{name}")

    def own(case):
        given = {"inputs": case.question, "outputs": case.answers[0].text, "context": case.fields["context"]}
        return float(my_evaluators.truth(**given)["score"])

    async def plain(case):
        return (await my_evaluators.plain(case.question, case.answers[0].text))["score"]

    cases = cases_in(tmp_path, count=8)
    twin = by_hand(plain, judge, waits=True) if name == "plain" else by_hand(own, judge)
    assert found(judge, cases) == found(twin, cases)


def test_evaluators_of_langchain_find_what_they_find_by_hand(server, tmp_path):
    """A score of 1 to 10, and two answers in the order that calm shows."""
    import my_chains

    points, pairs = adapted("langchain:my_chains:points"), adapted("langchain:my_chains:pairs")

    def own(case):
        given = {"prediction": case.answers[0].text, "input": case.question}
        return my_chains.points.evaluate_strings(**given)["score"]

    def law(case):
        return case.answers[place_of(f"{case.answers[0].text}\n{case.answers[1].text}")].id

    singles, both = cases_in(tmp_path, count=8), cases_in(tmp_path, pairwise=True, count=8)

    assert points.scale == Scale(1, 10)
    assert found(points, singles) == found(by_hand(own, points), singles)
    assert found(pairs, both) == found(by_hand(law, pairs), both)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("blink", "did you mean 'blind'"),
        ("PROMPT", "expected an evaluator, as create_llm_as_judge"),
        ("blind", "its prompt does not show the answer"),
    ],
)
def test_what_is_no_evaluator_is_refused_with_the_fix(server, name, said):
    """A wrong name, an object of a wrong kind, and a prompt that shows no answer."""
    with pytest.raises(ConfigError, match=said):
        adapted(f"openevals:my_evaluators:{name}")


READ = """
def read(data):
    return json.loads(data["choices"][0]["message"]["content"])["score"]
"""


def test_a_whole_audit_finds_what_the_same_judge_by_hand_finds(server, tmp_path):
    """Finding by finding, with a reference."""
    theirs, ours = both(tmp_path, "openevals:my_evaluators:waits", READ)

    assert theirs == ours
    assert theirs["authority/gain"]["value"] == pytest.approx(0.3)
