"""Which form of a verdict a prompt asks for."""

import pytest

from calm.core.verdict import Scale
from calm.judges.prompts.forms import form_in, other_range


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


@pytest.mark.parametrize(
    ("text", "task", "seen"),
    [
        ("Rate it. End with: Score: <1-5>", "score", True),
        ("Rate it from 1 to 5. Finish with rating: N", "score", True),
        ("Think. Then write Verdict: <A, B or tie>", "pairwise", True),
        ("End with Verdict: A or B", "pairwise", True),
        ("Give a score: 1-5", "score", False),
        ("Rate the {{ answer }} with score: {{ fields.score }} from 1 to 3", "score", False),
        ("Say the score: it is from 1 to 5", "score", False),
    ],
)
def test_a_label_before_a_sign_is_seen_in_running_text(text, task, seen):
    """A sentence about the score, and a score of the case, show no form."""
    assert (form_in(text, task) is not None) == seen


@pytest.mark.parametrize(
    ("text", "scale", "other"),
    [
        ("You grade answers from 1 (useless) to 10 (excellent).", (0, 100), (1, 10)),
        ("You grade answers from 1 (useless) to 10 (excellent).", (1, 5), (1, 10)),
        ("You grade answers from 1 (useless) to 10 (excellent).", (1, 10), None),
        ("Rate it 0-5. A score of 0-5 is a number.", (1, 10), (0, 5)),
        ("Rate it from 1 to 5. Write the score as a number up to 10.", (1, 10), None),
        ("Rate truth from 1 to 5 and tone from 1 to 10.", (0, 100), None),
        ("Rate three parts from 1 to 5, and write their total.", (3, 15), None),
        ("Rate each part from 1 to 5.", (0, 1), None),
        ("Give a mark out of 5.", (0, 5), None),
        ("Rate it.", (1, 10), None),
        ("Rate it from 1 to 10. If the answer is off-topic, give it a 0.", (0, 10), None),
        ("Rate it from 0 to 1 000.", (0, 1000), None),
        ("Rate it from 0 to 10,0.", (0, 10), None),
        ("Give 1 to 5 stars. Then double your stars.", (2, 10), None),
        ("Rate it from 1 to 5 and subtract 1 for each error.", (0, 4), None),
    ],
)
def test_a_prompt_names_another_scale_only_beyond_doubt(text, scale, other):
    """One range, and no word for what is made of it; several ranges, totals and a top alone leave a doubt."""
    found = other_range(text, Scale(*map(float, scale)))

    assert (found and found[:2]) == other
