"""Which form of a verdict a prompt asks for."""

import pytest

from calm.judges.prompts.forms import form_in


@pytest.mark.parametrize(
    ("shown", "field"),
    [
        ('{"relevance": <1-5>, "tone": <1-5>, "overall": <1-5>, "explanation": "..."}', "overall"),
        ('{"relevance": <1-5>, "overall_score": <1-5>}', "overall_score"),
        ('{"facts": <0-5>, "total": <0-10>}', "total"),
        ('{"reasoning": "...", "faithful": true/false}', "faithful"),
        ('{"reasoning": "...", "faithful": <bool>}', "faithful"),
    ],
)
def test_the_field_of_a_json_reply_is_that_of_the_whole(shown, field):
    """Of several numbers the one on the whole; of one truth value that one."""
    form = form_in(f"Return JSON: {shown}", "score")

    assert form is not None
    assert (dict(form.table), form.parts) == ({"format": "json", "field": field}, {})


def test_two_truth_values_name_no_verdict():
    """Nothing says which of them it is."""
    assert form_in('Return JSON: {"polite": true/false, "faithful": true/false}', "score") is None
