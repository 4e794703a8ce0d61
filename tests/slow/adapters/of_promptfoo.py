"""promptfoo: the rubric of a configuration, by its own command, with a model on this machine as its grader."""

import json

import pytest

from calm.core.verdict import NoReply, Score, Unreadable
from calm.engine.store import Mode
from calm.plugins.adapters.judge import adapted
from tests.planted import engine
from tests.plugins.adapters.twins import cases_in
from tests.servers import Answer, wire_server
from tests.servers.biased import biased, score_of

CONFIG = """
prompts: ["{{question}}"]
providers: ["echo"]
defaultTest:
  options:
    provider:
      id: openai:chat:gpt-4.1-mini
      config: {temperature: 0, apiBaseUrl: "URL", apiKey: key-for-a-test-1}
  assert:
    - type: llm-rubric
      value: "It answers {{question}} by {{reference}}"
"""


@pytest.fixture
def server(tmp_path, monkeypatch):
    def grade(text, body):
        score = score_of(text)
        return json.dumps({"reason": "so it is", "pass": True, "score": score / 10})

    monkeypatch.chdir(tmp_path)
    with wire_server(biased(grade), limitless=True) as running:
        (tmp_path / "promptfooconfig.yaml").write_text(CONFIG.replace("URL", running.url))
        yield running


def test_answers_are_graded_by_one_process_and_kept(server, tmp_path):
    """Each verdict is the grade of its own answer; a second run starts nothing."""
    cases = cases_in(tmp_path, count=10)
    judge = adapted("promptfoo:promptfooconfig.yaml")
    for _ in range(2):
        with engine(tmp_path / "cache.sqlite", Mode.ON) as running:
            found = [one.verdict for one in running.ask(judge, [(case, 1) for case in cases])]
        assert found == [Score(score_of(f"question {number}") / 10) for number in range(10)]

    assert len(server.seen) == 10
    assert judge.endpoints == ()
    assert "do not go through calm" in judge.assumes[0]


def test_a_grader_that_fails_is_an_error_and_one_that_says_nothing_is_data(server, tmp_path):
    """promptfoo calls both of them a fail with a score of 0."""
    judge = adapted("promptfoo:promptfooconfig.yaml")
    case = cases_in(tmp_path, count=1)[0]
    with engine() as running:
        server.next(Answer(status=400, message="not for you"))
        failed = running.ask(judge, [(case, 1)])[0].verdict
        server.next(Answer("I cannot say."))
        unread = running.ask(judge, [(case, 2)])[0].verdict

    assert isinstance(failed, NoReply)
    assert "not for you" in str(failed.reason)
    assert isinstance(unread, Unreadable)
