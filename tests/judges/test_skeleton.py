"""Prompts that are put together from a skeleton, held against the same prompts rendered whole."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.core.case import Answer, Case, Criterion, Example, Framing, Passage, Presentation, Step, Turn
from calm.core.edits import FORMS, Prompt
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError
from calm.judges.prompts import bundled, render, sandbox
from calm.judges.prompts.rendering import _drawn_whole
from calm.judges.prompts.skeleton import CLOSE, OPEN, writes_texts_only
from calm.judges.prompts.variables import context_of
from calm.models.wire import Message
from tests.lanes import slow

TASKS = get_args(Task)
SEVERAL = {"pairwise": 2, "listwise": 3}
HOSTILE = (
    "",
    " ",
    "</answer>",
    "[[A]]",
    "{{ question }}",
    f"{OPEN}0{CLOSE}",
    "a\r\nb",
    '"x"',
    "</question>\n<note>",
    "é判",
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
some = st.lists(texts, max_size=2).map(tuple)
FEW, MANY = (settings(derandomize=True, deadline=None, database=None, max_examples=n) for n in (12, 60))
EXAMPLES = pytest.mark.parametrize("examples", [pytest.param(FEW, id="few"), slow(MANY, id="many")])
"""How many cases are drawn: some at every change, more in the slow lane."""

WRITES = (
    "{{ question }}",
    "Q: {{ question }} {% for a in answers %}{{ loop.index }}. {{ a.label }}: {{ a.text }}\n{% endfor %}",
    "{{ answers[0].text }} or {{ answers[1].text }}{% if reference %} by {{ reference }}{% else %} freely{% endif %}",
    "{% if reference is not none %}{{ reference }}{% endif %}{{ fields.context }}{{ fields['my note'] }}",
    "{% for name, value in fields.items() %}{{ name }}={{ value }};{% endfor %}",
    "{% for n in notes %}- {{ n }}\n{% else %}none{% endfor %}{{ notes|length }}",
    "{% for c in criteria %}{{ c.number }}/{{ c.points }} {{ c.id }} {{ c.text }}{% endfor %}{{ criterion.text }}",
    "{% for a in answers %}{% if a.history %}{% for d in a.history %}{{ d }}{% endfor %}{% endif %}{{ a.slot }}"
    "{% endfor %}",
    "{% set best = 'A' %}{{ best }} from {{ scale.low }} to {{ scale.high }}: {{ question }}{{ question }}",
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(answers[0].slot) }}{{ question }}",
    "{% for e in examples %}{{ e.question }}{% for t in e.answers %}{{ answers[loop.index0].slot }} {{ t }}{% endfor %}"
    "{{ e.verdict }}{% endfor %}",
    "{% if turns %}{% for t in turns %}{% if t.role == 'user' %}> {% endif %}{{ t.role }}: {{ t.text }}{% endfor %}"
    "{% endif %}",
    "{% if context %}{{ context }}{% for p in context %}[{{ p.id }}] {{ p.text }}{% endfor %}{% endif %}"
    "{{ turns|length }}",
    "{% for a in answers %}{% if a.steps %}{% for s in a.steps %}{% if s.thought %}{{ s.thought }}{% endif %}"
    "{{ s.tool }}({{ s.arguments }}) {{ s.result }}{% endfor %}{% endif %}{% endfor %}",
    "no variable at all",
)
ASKS = (
    "{{ question|upper }}",
    "{% if 'x' in question %}y{% endif %}",
    "{{ question[0] }}",
    "{{ answers|map(attribute='text')|join }}",
    "{% for a in answers %}{{ a.text|length }}{% endfor %}",
    "{% set q = question %}{{ q }}",
    "{{ question ~ '!' }}",
    "{{ 'long' if answers[0].text|length > 9 else 'short' }}",
    "{% if answers[0].text == answers[1].text %}same{% endif %}",
    "{% for n in notes %}{{ loop.nextitem }}{{ loop.previtem }}{% endfor %}",
    "{% for e in examples %}{{ e.question|upper }}{% endfor %}{{ question }}",
    "{% for t in turns %}{{ t.text|upper }}{% endfor %}",
    "{% for t in turns %}{{ t }}{% endfor %}{{ turns }}",
    "{% for t in turns if t.role == 'user' %}{{ t.text }}{% endfor %}",
    "{% for t in turns %}{% if t.text %}{{ t.text }}{% endif %}{% endfor %}",
    "{% for p in context %}{% if p.id == 'p1' %}{{ p.text }}{% endif %}{% endfor %}",
    "{{ context[0].text }}",
    "{% for a in answers %}{% for s in a.steps %}{% if s.tool == 'x' %}y{% endif %}{% endfor %}{% endfor %}",
    "{% for n in notes if n %}{{ n }}{% endfor %}",
    "{% for a in answers|reverse %}{{ a.text }}{% endfor %}",
    "{{ fields }}",
    "{{ answers }}",
    "{% macro m() %}{{ question }}{% endmacro %}{{ m()|upper }}",
    "{% filter upper %}{{ question }}{% endfilter %}",
    "{% if reference == 'x' %}y{% endif %}",
    "{{ criterion }}",
    "{{ question is string }}",
    "{% set ns = namespace(x=1) %}{% set ns.x = question %}{{ ns.x }}",
    "{% for k in fields %}{{ fields[k] }}{% endfor %}",
    "{% for a in answers %}{% macro m() %}{{ a.text|upper }}{% endmacro %}{{ m() }};{% endfor %}",
    "{% for n in notes %}{% macro m() %}{{ n|length }}{% endmacro %}{{ m() }};{% endfor %}",
    "{% for a in answers %}{% macro m() %}{{ loop.nextitem.text|upper }}{% endmacro %}{% endfor %}",
)


@st.composite
def cases(draw, task):
    """Draw a case of whatever shape, with hostile texts."""
    ids = [f"a{n}" for n in range(SEVERAL.get(task, 1))]
    order = tuple(draw(st.permutations(ids)))
    rubric = task.startswith("rubric") or task == "points" or draw(st.booleans())
    few = st.lists(st.sampled_from(ids), max_size=len(ids), unique=True)
    tools = st.sampled_from(["", "look_up", 'a"b'])
    steps = st.lists(st.builds(Step, texts, tools, texts, texts), max_size=2).map(tuple)
    turns = st.lists(st.builds(Turn, st.sampled_from(["user", "assistant", 'x"']), texts), max_size=2).map(tuple)
    passages = st.lists(st.builds(Passage, texts, texts), max_size=2).map(tuple)
    examples = st.lists(st.builds(Example, texts, st.tuples(*[texts] * len(ids)), texts), max_size=1).map(tuple)
    return Case(
        "case-1",
        draw(texts),
        tuple(Answer(i, draw(texts), None, draw(some), draw(steps)) for i in ids),
        reference=draw(st.one_of(st.none(), texts)),
        criteria=(Criterion("c1", draw(texts)), Criterion(draw(texts), draw(texts), -2.5)) if rubric else (),
        fields={"context": draw(texts), "my note": draw(texts)} if draw(st.booleans()) else {},
        turns=draw(turns),
        context=draw(passages),
        presentation=Presentation(
            order=order,
            labels=draw(st.sampled_from([(), tuple(f'L"{i}' for i in ids)])),
            bylines={i: draw(texts) for i in draw(few)},
            drafts={i: draw(some) for i in draw(few)},
            notes=draw(some),
            examples=draw(examples),
            framing=draw(st.sampled_from(list(Framing))),
        ),
    )


def whole(prompt, case, task, scale, criterion):
    """Render each template with all values."""
    context = context_of(case, scale, criterion, bundled=prompt.bundled)
    return _drawn_whole(prompt.framed(case.framing), case, task, context, bundled=prompt.bundled)


@EXAMPLES
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("form", FORMS)
def test_a_bundled_prompt_is_the_same_from_its_skeleton(task, form, examples):
    """Whatever stands in the texts, and whatever shape a case has."""
    prompt = bundled(task, form)

    @examples
    @given(st.data())
    def same(data):
        case = data.draw(cases(task))
        criterion = data.draw(st.sampled_from(case.criteria)) if task == "rubric" else None
        scale = data.draw(st.sampled_from([Scale(), Scale(1, 5, 1), Scale(0, 1, 0.25, "low")]))

        assert render(prompt, case, task, scale, criterion) == whole(prompt, case, task, scale, criterion)

    same()


@EXAMPLES
@pytest.mark.parametrize("text", [*WRITES, *ASKS])
def test_a_users_template_is_the_same_from_its_skeleton(text, examples):
    """Those that write texts only are put together, all others are rendered; an error is the same, too."""
    prompt = Prompt((Message("user", text),), notes="refuse")

    @examples
    @given(st.data())
    def same(data):
        case = data.draw(cases("pairwise"))
        found = []
        for way in (render, whole):
            try:
                found.append(way(prompt, case, "pairwise", Scale(), None))
            except ConfigError as error:
                found.append(str(error))
        assert found[0] == found[1]

    assert writes_texts_only(text) == (text in WRITES)
    same()


@pytest.mark.parametrize("text", [r'{{ "\ue0000\ue001" }} {{ question }}', r'{{ "\ue00099\ue001" }}', "\ue0000\ue001"])
def test_a_template_that_writes_marks_itself_is_rendered(text):
    """Its own words are never taken for the place of a text."""
    prompt = Prompt((Message("user", text),))
    case = Case("c", "What?", (Answer("a", "One."), Answer("b", "Two.")))

    assert render(prompt, case, "pairwise", Scale()) == whole(prompt, case, "pairwise", Scale(), None)
    assert OPEN in render(prompt, case, "pairwise", Scale())[0].text


def test_a_case_of_other_things_than_texts_is_rendered():
    """Somebody's code may make one: numbers as fields, a list of labels, an order that lacks an answer."""
    answers = (Answer("a", "One."), Answer("b", "Two."))
    odd = {
        "a number": Case("c", "What?", answers, fields={"n": 3, "none": None}),
        "a list": Case("c", "What?", answers, presentation=Presentation(labels=["A", "B"])),
        "half an order": Case("c", "What?", answers, presentation=Presentation(order=("b",))),
        "one id twice": Case("c", "What?", (Answer("a", "One."), Answer("a", "Two."))),
    }
    prompt = Prompt((Message("user", "{{ question }}{% for a in answers %}{{ a.text }}{% endfor %}{{ fields.n }}"),))
    plain = Prompt((Message("user", "{{ question }}{% for a in answers %}{{ a.text }}{% endfor %}"),))

    for name, case in odd.items():
        one = prompt if name == "a number" else plain
        assert render(one, case, "pairwise", Scale()) == whole(one, case, "pairwise", Scale(), None), name


def test_a_prompt_that_is_too_long_is_stopped_as_ever():
    """The limit holds for what is put together, too."""
    case = Case("c", "x" * 990_000, (Answer("a", "One."), Answer("b", "Two.")))

    with pytest.raises(ConfigError, match="20000000"):
        render(Prompt((Message("user", "{{ question }}" * 25),)), case, "pairwise", Scale())


def test_cases_of_one_shape_are_rendered_once(monkeypatch):
    """A thousand cases that differ in their texts alone take one rendering of each template."""
    drawn, real = [], sandbox.Template.render
    monkeypatch.setattr(sandbox.Template, "render", lambda self, *given: drawn.append(1) or real(self, *given))
    prompt = bundled("pairwise", "brackets")

    for number in range(1000):
        case = Case(f"shape-{number}", f"Q{number}?", (Answer("x", f"A{number}"), Answer("y", f"B{number}")))
        render(prompt, case, "pairwise", Scale(1, 7, 1))

    assert len(drawn) <= 2 * len(prompt.messages)
