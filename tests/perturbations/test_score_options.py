"""Score options: a list of classes is turned round only where a reply means the same class as before."""

from random import Random

import pytest

from calm.core.classes import checked
from calm.core.edits import Message, Prompt
from calm.core.verdict import Scale
from calm.judges import prompts
from calm.perturbations.score_options import reverse_classes

SCALE = Scale(classes=checked(["bad", "ok", "good"], ordered=True))


def turned(text, *more):
    """Return what the edit makes of a prompt of these messages."""
    messages = tuple(Message("user", one) for one in (text, *more))
    return reverse_classes(Prompt(messages, form="logprobs", scale=SCALE), Random(0))


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("{{ loop.index }}. {{ c.name }}\n", ""),
        ("{{ loop.index0 }}: {{ c.name }}\n", ""),
        ("{{ loop . revindex }} {{ c.name }}\n", ""),
        ("{{ 'ABC'[loop.index0] }}) {{ c.name }}", ""),
        ("{{ loop.cycle('A', 'B') }} {{ c.name }}", ""),
        ("{% if loop.first %}worst: {% endif %}{{ c.name }}", ""),
        ("{% for d in c.name %}{{ d }}{% endfor %}{{ loop.index }}", ""),
        ("{% set ns.i = ns.i + 1 %}{{ ns.i }}. {{ c.name }}", ""),
        ("{{ count.next() }} {{ c.name }}", ""),
        ("\n1. {{ c.name }}", ""),
        ("- {{ c.name }}\n", "Reply with the number of the class."),
        ("- {{ c.name }}\n", "Reply with its position in the list."),
    ],
)
def test_a_list_in_which_the_place_of_a_class_counts_is_left_alone(body, more):
    """Else a reply of 1 would be another class than the reader takes it for."""
    loop = f"{{% for c in classes %}}{body}{{% endfor %}}"

    assert turned(f"{loop} {more}") is None
    assert turned(loop, more) is None


@pytest.mark.parametrize(
    "body",
    [
        "- {{ c.name }}: {{ c.meaning }}\n",
        "{{ c.number }}. {{ c.name }}\n",
        "{{ c.name }}{% if not loop.last %}, {% endif %}",
        "{{ ', ' if not loop.first }}{{ c.name }}",
    ],
)
def test_a_list_of_names_is_turned_round(body):
    """Also one with the numbers that belong to the classes, and one with signs between them."""
    after = turned(f"{{% for c in classes %}}{body}{{% endfor %}} {{{{ loop }}}}")

    assert after.messages[0].text.startswith("{% for c in classes|reverse %}" + body)


@pytest.mark.parametrize("form", ["brackets", "json", "tag", "logprobs"])
def test_the_bundled_prompt_is_turned_round_and_its_numbers_stay_with_their_classes(form):
    """So a reply by number means the same."""
    after = reverse_classes(prompts.bundled("label", form), Random(0))

    assert after is not None
    assert any("in classes|reverse" in message.text for message in after.messages)
