"""ragas: a metric of the collections, one that is given its model, and one of the older kind."""

import json
from functools import partial

import pytest

from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.plugins.adapters.judge import adapted
from tests.plugins.adapters.twins import by_hand, cases_in, found, module_of
from tests.servers import wire_server
from tests.servers.biased import biased, score_of

SOURCE = """
import os
from openai import AsyncOpenAI, OpenAI
from ragas.llms import llm_factory
from ragas.metrics import AspectCritic, DiscreteMetric, NumericMetric
from ragas.metrics.collections import DomainSpecificRubrics, Faithfulness

def llm(client=AsyncOpenAI):
    return llm_factory("gpt-4o-mini", client=client(base_url=os.environ["JUDGE_URL"], api_key="key-for-a-test-1"))

rubric = DomainSpecificRubrics(llm=llm())
numeric = (NumericMetric(name="q", prompt="A: {response} Q: {user_input}", allowed_values=(0.0, 10.0)), llm())
alone = numeric[0]
blocking = Faithfulness(llm=llm(OpenAI))
words = (DiscreteMetric(name="q", prompt="A: {response}", allowed_values=["poor", "good"]), llm())
aspect = AspectCritic(name="m", definition="Is it right?", llm=llm())
"""


def said(text, body):
    score = score_of(text)
    if "feedback" in text:
        return json.dumps({"feedback": "so it is", "score": min(5, score - 2)})
    return json.dumps(
        {"reason": "so it is", **({"verdict": int(score > 5)} if "verdict" in text else {"value": score})}
    )


@pytest.fixture
def server(tmp_path, monkeypatch):
    with wire_server(biased(said), limitless=True) as running:
        module_of(tmp_path, monkeypatch, "my_metrics", SOURCE, JUDGE_URL=running.url)
        yield running


@pytest.mark.filterwarnings("ignore")
def test_metrics_find_what_they_find_by_hand(server, tmp_path):
    """Verdict for verdict, and decision for decision."""
    judges = {name: adapted(f"ragas:my_metrics:{name}") for name in ("rubric", "numeric", "aspect")}
    import my_metrics
    from ragas.dataset_schema import SingleTurnSample

    async def own(case, name):
        given = {"user_input": case.question, "response": case.answers[0].text}
        if name == "numeric":
            metric, llm = my_metrics.numeric
            return (await metric.ascore(llm=llm, **given)).value
        if name == "rubric":
            more = {"reference": case.reference} if "reference" in judges[name].evaluator.passes else {}
            return (await my_metrics.rubric.ascore(**given, **more)).value
        passed = {**given, "reference": case.reference, "retrieved_contexts": [case.fields["context"]]}
        return await my_metrics.aspect.single_turn_ascore(SingleTurnSample(**passed))

    cases = cases_in(tmp_path, count=8)
    for name, judge in judges.items():
        assert found(judge, cases) == found(by_hand(partial(own, name=name), judge, waits=True), cases), name
    assert judges["numeric"].scale == Scale(0, 10)
    assert judges["rubric"].scale == Scale(1, 5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rubrik", "did you mean 'rubric'"),
        ("alone", r"name it with its model: name = \(metric, llm\)"),
        ("blocking", r"client=AsyncOpenAI\(\)"),
        ("words", "have no order that calm knows"),
    ],
)
def test_what_cannot_be_a_judge_is_refused_with_the_fix(server, name, said):
    """A wrong name, and metrics that cannot be asked as they are."""
    with pytest.raises(ConfigError, match=said):
        adapted(f"ragas:my_metrics:{name}")
