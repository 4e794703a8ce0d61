"""Passages, as a judge of another tool gets them."""

from calm.core.verdict import Scale
from calm.plugins.adapters.evaluator import Evaluator
from tests.judges.test_passages_in_prompts import CASE


def test_the_judge_of_another_tool_is_passed_a_list_of_the_texts():
    """As JSON, which its adapter unfolds; it is said to read the passages."""
    names = {"response": "answer", "retrieved_contexts": "context"}
    found = Evaluator("r 1", "score", Scale(), names, call=lambda values: 1.0, asynchronous=False)

    assert found.values(CASE)["retrieved_contexts"] == '["Returns take 30 days.", "Bulbs are sold."]'
    assert "context" in found.reads
