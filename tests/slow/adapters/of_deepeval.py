"""deepeval: GEval with log-probabilities, and a metric of several calls."""

import pytest

from calm.core.verdict import NoReply, Preferred, Score, Unreadable
from calm.engine.store import Mode
from calm.errors import ConfigError
from calm.gate.from_spec import judge_from
from calm.plugins.adapters.judge import adapted
from tests.docs.pages import load_generator
from tests.planted import engine
from tests.plugins.adapters.page import PAGE
from tests.plugins.adapters.twins import by_hand, cases_in, found, module_of
from tests.servers import Answer, wire_server
from tests.servers.biased import biased, score_of, weighed
from tests.slow.adapters.audits import both

SOURCE = """
import os
from deepeval.metrics import AnswerRelevancyMetric, ArenaGEval, ConversationalGEval, FaithfulnessMetric, GEval
from deepeval.models import OpenAIModel
from deepeval.test_case import SingleTurnParams as P, TurnParams

model = OpenAIModel(model="gpt-4.1-mini", base_url=os.environ["JUDGE_URL"], api_key="key-for-a-test-1")
both = [P.INPUT, P.ACTUAL_OUTPUT]
right = GEval(name="right", evaluation_steps=["Is it so?"], evaluation_params=both, model=model)
criteria = GEval(name="right", criteria="Is it so?", evaluation_params=both, model=model)
arena = ArenaGEval(name="arena", criteria="Which one?", evaluation_params=both, model=model)
faithful = FaithfulnessMetric(model=model)
relevant = AnswerRelevancyMetric(model=model)
tools = GEval(name="t", criteria="x", evaluation_params=[P.INPUT, P.TOOLS_CALLED], model=model)
talk = ConversationalGEval(name="c", criteria="x", model=model)

def made():
    return GEval(name="right", evaluation_steps=["Is it so?"], evaluation_params=both, model=model)
"""


@pytest.fixture
def server(tmp_path, monkeypatch):
    said = biased(
        lambda text, body: weighed(text, score_of(text)),
        steps=lambda text: ["Look whether it holds."],
        verdict=lambda text: "yes" if score_of(text) > 5 else "no",
    )
    with wire_server(said, limitless=True) as running:
        module_of(tmp_path, monkeypatch, "my_metrics", SOURCE, JUDGE_URL=running.url)
        yield running


@pytest.mark.parametrize("name", ["right", "faithful", "made"])
def test_a_metric_finds_what_it_finds_by_hand(server, tmp_path, name):
    """Verdict for verdict, and decision for decision, log-probabilities and all."""
    judge = adapted(f"deepeval:my_metrics:{name}")
    cases = cases_in(tmp_path, count=12)

    import my_metrics
    from deepeval.test_case import LLMTestCase

    def own(case):
        import copy

        metric = my_metrics.made() if name == "made" else copy.copy(getattr(my_metrics, name))
        more = {"retrieval_context": [case.fields["context"]]} if name == "faithful" else {}
        one = LLMTestCase(input=case.question, actual_output=case.answers[0].text, **more)
        return metric.a_measure(one, _show_indicator=False)

    verdicts, decisions = found(judge, cases)

    assert (verdicts, decisions) == found(by_hand(own, judge, waits=True), cases)
    if name == "right":
        assert min(verdicts)[2][0] == pytest.approx(0.34), "3 at 0.6 and 4 at 0.4, of 10"
        assert decisions[0].estimate.value == pytest.approx(0.3)


def test_the_steps_of_criteria_are_the_same_for_all_cases(server, tmp_path):
    """The request for them is the same, and a second run pays for nothing."""
    cases = cases_in(tmp_path, count=6)
    for _ in range(2):
        judge = adapted("deepeval:my_metrics:criteria")
        with engine(tmp_path / "cache.sqlite", Mode.ON) as running:
            running.admit(judge)
            asked = running.ask(judge, [(case, 1) for case in cases])
        assert all(isinstance(one.verdict, Score) for one in asked)

    steps = [
        seen for seen in server.judged if "evaluation steps" in seen.messages[-1][1] and "response_format" in seen.body
    ]
    assert len(steps) == 1
    assert len(server.judged) == 7
    assert "write evaluation_steps to fix them" in str(judge.remarks.notes[0])


def test_a_reply_that_is_no_verdict_is_data_and_a_call_that_fails_is_not(server, tmp_path):
    """The one is unreadable; the other has no reply, with the server's own words."""
    judge = adapted("deepeval:my_metrics:right")
    case = cases_in(tmp_path, count=1)[0]
    with engine() as running:
        server.next(Answer("no JSON"), Answer("no JSON"), Answer(status=403, message="not for you"))
        verdicts = [running.ask(judge, [(case, ask)])[0].verdict for ask in (1, 2, 3)]

    assert [type(one) for one in verdicts[:2]] == [Unreadable, Unreadable]
    assert "invalid JSON" in verdicts[0].reason
    assert isinstance(verdicts[2], NoReply)
    assert "not for you" in str(verdicts[2].reason)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wright", "did you mean 'right'"),
        ("both", "expected a metric of deepeval, such as GEval"),
        ("tools", "reads tools_called of a test case"),
        ("talk", "judges whole conversations"),
        ("arena", "draws the order and the names of the answers anew at each ask"),
    ],
)
def test_what_cannot_be_a_judge_is_refused_with_the_fix(server, name, said):
    """A wrong name, an object of a wrong kind, and metrics of what a case does not hold."""
    with pytest.raises(ConfigError, match=said):
        adapted(f"deepeval:my_metrics:{name}")


def test_the_function_of_the_page_asks_an_arena(tmp_path, monkeypatch):
    """By a client of its own, under the names that deepeval draws."""
    said = biased("no verdict", winner="Alice", steps=["Look."], rewritten_reason="so it is")
    with wire_server(said, limitless=True) as server:
        source = load_generator().files_in(PAGE)["my_arena.py"]
        named = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key-for-a-test-1"}
        module_of(tmp_path, monkeypatch, "my_arena", source, **named)
        judge = judge_from("my_arena:better")
        with engine() as running:
            verdict = running.ask(judge, [(cases_in(tmp_path, pairwise=True, count=1)[0], 1)])[0].verdict

    assert isinstance(verdict, Preferred), verdict


READ = """
def read(data):
    tokens = data["choices"][0]["logprobs"]["content"]
    score = json.loads(data["choices"][0]["message"]["content"])["score"]
    token = next(one for one in tokens if one["token"] == str(score))
    weights = {int(one["token"]): exp(one["logprob"]) for one in token["top_logprobs"]}
    return sum(value * weight for value, weight in weights.items()) / sum(weights.values()) / 10
"""


def test_a_whole_audit_finds_what_the_same_judge_by_hand_finds(server, tmp_path):
    """Finding by finding: the log-probabilities are weighed by hand, and an empty answer is not judged."""
    theirs, ours = both(tmp_path, "deepeval:my_metrics:right", READ, refuses=True)

    assert theirs == ours
    assert theirs["authority/gain"]["value"] == pytest.approx(0.3)
