"""Text in a prompt that looks like a placeholder and was not read as one."""

import pytest

from calm.core.names import of_pair
from calm.judges.prompts.foreign import missed, translate

COLUMNS = ("ticket id", "KB article (policy)", "Bot v1")
SOUND = "{{question}} {{policy}} {{reply_a}} {{reply_b}}"


def found(text, columns=COLUMNS):
    return [(one.written, one.broken) for one in missed([text], translate(text), columns)[0]]


@pytest.mark.parametrize("written", ["{{reply_b}", "{reply_b}}", "{{reply_b", "reply_b}}", "{{ reply_b }"])
def test_a_brace_that_lacks_is_found(written):
    text = SOUND.replace("{{reply_b}}", f"\n{written}\n")

    assert found(text) == [(written, True)]


@pytest.mark.parametrize(
    "written", ["<<policy>>", "<policy>", "[[policy]]", "{policy}", "${policy}", "%policy%", "%(policy)s", "$policy"]
)
def test_the_notation_of_another_tool_is_found(written):
    """The name is part of that of a column; without the table nothing says that it is a text of the case."""
    text = SOUND.replace("{{policy}}", written)

    assert found(text) == [(written, False)]
    assert found(text, ()) == []


@pytest.mark.parametrize(
    "text",
    [
        '{question} {answer} Reply in JSON: {{"score": 7, "why": {{"text": "..."}}}}',
        '{{question}} {{answer}} Reply in JSON: {"answer": {"score": N}, "question": [1, {"a": 2}]}',
        "{{question}} <answer>{{answer}}</answer> <b>bold</b> <response>text</response> <br>",
        "<question>\n{{question}}\n<answer>\n{{answer}}\nEnd with [[A]] or [[B]], or <score>, {verdict}, <rating>",
        "<answer_a>\n{{answer_a}}\n<answer_b>\n{{answer_b}}\n<<SYS>> be strict <</SYS>>",
        "{{question}} {{answer}} costs $10 or 5% of 20% and x < y > z {",
        "{% for answer in answers %}{{ answer.text }}{% endfor %} {{ question | trim }} {# {{reply} #}",
        "function f() {\n return {question: 1}\n} {{question}} {{answer}}",
    ],
)
def test_json_tags_and_forms_of_a_reply_are_text(text):
    assert found(text, ("question", "answer", "score", "verdict")) == []


def test_a_prompt_without_any_placeholder_names_all():
    assert [one for one, _ in found("<reply_a> and <reply_b> to %ticket%")] == ["<reply_a>", "<reply_b>", "%ticket%"]


@pytest.mark.parametrize(("name", "other"), [("reply_a", "reply_b"), ("2nd", None), ("answer", None), ("a", None)])
def test_the_other_one_of_two_answers_is_named(name, other):
    assert of_pair(name) == other
