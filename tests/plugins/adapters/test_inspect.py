"""Inspect: model-graded scorers, alone and as a panel, and one without a model."""

import pytest

from calm.core.verdict import Score, Unreadable
from calm.errors import ConfigError
from calm.plugins.adapters.judge import adapted
from tests.planted import engine
from tests.plugins.adapters.twins import by_hand, cases_in, found, module_of
from tests.servers import Answer, wire_server
from tests.servers.biased import biased, score_of

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")  # Inspect's own
SOURCE = """
import os
from inspect_ai.model import get_model
from inspect_ai.scorer import match, model_graded_fact, model_graded_qa

def model(name="gpt-4o"):
    return get_model(f"openai/{name}", base_url=os.environ["JUDGE_URL"], api_key="key-for-a-test-1")

graded = model_graded_qa(model=model(), partial_credit=True)
panel = model_graded_fact(model=[model(), model(), model()])
newer = model_graded_qa(model=model("gpt-5-mini"))
exact = match()
threshold = 0.5
"""


def grade(text, body):
    score = score_of(text)
    return f"GRADE: {'C' if score > 5 else 'P' if score > 4 and 'partially' in text else 'I'}"


@pytest.fixture
def server(tmp_path, monkeypatch):
    with wire_server(biased(grade), limitless=True) as running:
        module_of(tmp_path, monkeypatch, "my_scorers", SOURCE, JUDGE_URL=running.url)
        yield running


def own(scorer):
    """Return a function that calls a scorer of Inspect by hand."""

    async def call(case):
        from inspect_ai.model import ChatMessageUser, ModelName, ModelOutput
        from inspect_ai.scorer import Target, value_to_float
        from inspect_ai.solver import TaskState

        state = TaskState(
            model=ModelName("none/none"),
            sample_id="1",
            epoch=1,
            input=case.question,
            messages=[ChatMessageUser(content=case.question)],
            output=ModelOutput.from_content("none/none", case.answers[0].text),
            metadata={"context": case.fields["context"]},
        )
        return value_to_float()((await scorer(state, Target(case.reference))).value)

    return call


@pytest.mark.parametrize("name", ["graded", "newer", "exact"])
def test_a_scorer_finds_what_it_finds_by_hand(server, tmp_path, name):
    """Verdict for verdict, and decision for decision, through both APIs of OpenAI, and without a model."""
    import my_scorers

    judge = adapted(f"inspect:my_scorers:{name}")
    cases = cases_in(tmp_path, count=12)

    assert found(judge, cases) == found(by_hand(own(getattr(my_scorers, name)), judge, waits=True), cases)


def test_a_panel_of_one_model_has_three_votes(server, tmp_path):
    """Equal requests of one ask get replies of their own."""
    judge = adapted("inspect:my_scorers:panel")
    with engine() as running:
        server.next(Answer("GRADE: C"), Answer("GRADE: I"), Answer("GRADE: C"))
        verdict = running.ask(judge, [(cases_in(tmp_path, count=1)[0], 1)])[0].verdict

    assert verdict == Score(1.0)
    assert len(server.judged) == 3
    assert judge.assumes == ("inspect:my_scorers:panel: 3 calls an ask, as with a sample",)


def test_a_grader_that_gives_no_grade_is_unreadable(server, tmp_path):
    """Inspect says nan of it."""
    judge = adapted("inspect:my_scorers:graded")
    with engine() as running:
        server.next(Answer("I do not know."))
        verdict = running.ask(judge, [(cases_in(tmp_path, count=1)[0], 1)])[0].verdict

    assert verdict == Unreadable("it gave no score")


@pytest.mark.parametrize(("name", "said"), [("grated", "did you mean 'graded'"), ("threshold", "expected a scorer of")])
def test_what_is_no_scorer_is_refused_with_the_fix(server, name, said):
    """A wrong name, and an object of a wrong kind."""
    with pytest.raises(ConfigError, match=said):
        adapted(f"inspect:my_scorers:{name}")
