"""Passages in prompts of one's own: apart, as a whole, and where a prompt of another tool shows one text."""

import pytest

from calm.core.case import Answer, Case, Passage
from calm.core.edits import Message, Prompt
from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.judges import prompts
from calm.judges.prompts.foreign import translate

WHOLE = "[p1] Returns take 30 days.\n[p2] Bulbs are sold."
CASE = Case(
    "c",
    "May I?",
    (Answer("a", "Yes [p1]."),),
    context=(Passage("p1", "Returns take 30 days."), Passage("p2", "Bulbs are sold.")),
)


def shown(template, case=CASE):
    """Return what a template of one's own shows of a case."""
    prompt = Prompt((Message("user", template),))
    return prompts.rendered_with_places(prompt, case, "score", Scale(), None)[0][0].text


@pytest.mark.parametrize("template", ["{{ context }}", "{{ fields.context }}", "{{ fields['context'] }}"])
def test_passages_as_a_whole_are_a_line_for_each(template):
    """By the name of the variable, and by the name that prompts of other tools have for it."""
    assert shown(f"{template} {{{{ answers[0].text }}}}") == f"{WHOLE} Yes [p1]."


def test_a_loop_shows_them_apart():
    """Each with its id and its text."""
    loop = "{% for passage in context %}{{ passage.id }}: {{ passage.text }} {% endfor %}"

    assert shown(loop) == "p1: Returns take 30 days. p2: Bulbs are sold. "


def test_a_field_of_the_name_goes_first_and_no_field_is_added():
    """A case with a text of its own under that name shows it; going through the fields finds no other ones."""
    both = Case("c", "May I?", CASE.answers, fields={"context": "K"}, context=CASE.context)

    assert shown("{{ fields.context }}", both) == "K"
    assert shown("{{ fields | length }}{% for name in fields %}{{ name }}{% endfor %}") == "0"


def test_another_field_that_a_case_lacks_is_still_an_error():
    """The message names it, as for a case without passages."""
    with pytest.raises(ConfigError, match=r"expected fields\.tone, got none"):
        shown("{{ fields.tone }}")


@pytest.mark.parametrize("foreign", ["{{ context }} {{ output }}", "{retrieved_contexts} {response}"])
def test_a_prompt_of_another_tool_shows_passages(foreign):
    """Whether a case has one text or passages, the prompt that `calm init` writes shows them."""
    (template,) = translate(foreign).templates

    assert shown(template) == f"{WHOLE} Yes [p1]."
