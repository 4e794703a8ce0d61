"""autoevals: a whole audit of a scorer that answers by the call of a tool."""

import pytest

from tests.plugins.adapters.twins import module_of
from tests.servers import wire_server
from tests.servers.biased import biased, score_of
from tests.slow.adapters.audits import both

SOURCE = """
import os
from autoevals import LLMClassifier
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url=os.environ["JUDGE_URL"], api_key="key-for-a-test-1")
GRADES = {str(n): n / 10 for n in range(11)}
graded = LLMClassifier("graded", "Q: {{input}} A: {{output}} R: {{expected}}", GRADES, model="gpt-4o", client=client)
"""
READ = """
def read(data):
    called = data["choices"][0]["message"]["tool_calls"][0]["function"]
    return int(json.loads(called["arguments"])["choice"]) / 10
"""


def test_a_whole_audit_finds_what_the_same_judge_by_hand_finds(tmp_path, monkeypatch):
    """Finding by finding, with a reference."""
    with wire_server(biased(choice=lambda text: str(score_of(text))), limitless=True) as server:
        module_of(tmp_path, monkeypatch, "my_scorers", SOURCE, JUDGE_URL=server.url)

        theirs, ours = both(tmp_path, "autoevals:my_scorers:graded", READ)

    assert theirs == ours
    assert theirs["authority/gain"]["value"] == pytest.approx(0.3)
