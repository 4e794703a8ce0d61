"""Templates that would take for ever, or all the memory: each is stopped where it can be, with one clear message."""

import os
import subprocess
import sys
from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.core.edits import FORMS, Prompt
from calm.core.verdict import Task
from calm.errors import ConfigError
from calm.judges.prompts import bundled, check, render, sandbox
from calm.judges.prompts.sandbox import MOST_WORK, ROUND
from calm.judges.prompts.variables import context_of
from calm.models.wire import Message
from tests.judges.test_prompts import CRITERIA, SCALE, a_case, written
from tests.lanes import slow

DOUBLING = "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}"
GROWING = "{{ 'x'" + "|replace('x', 'xxxxxxxxxx')" * 12 + " }}"
ENDLESS = "{% set r = range(99999) %}{% for i in r %}{% for j in r %}{% endfor %}{% endfor %}"
NESTED = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"

BOMBS = {
    "Range too big": ["{{ range(10**9)|sum }}", "{% for i in range(9999999) %}x{% endfor %}"],
    "within 1000 MB of memory": [
        "{{ 'x'|center(10**10) }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ answers|batch(10**10, 'x')|list }}",
        "{{ 'x' * 10**10 }}",
        "{{ ['x'] * 10**10 }}",
    ],
    # which of the two limits stops this first is the machine's to say
    "got one that needs more and was stopped": [DOUBLING],
    "within 2 s of processor time": [ENDLESS, NESTED],
    "more than 20000000 characters": ["{{ 'x'.zfill(10**8) }}", "{{ 'x' * 10**8 }}"],
    "does not end": ["{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"],
    "nested too deeply": [
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{{ " + "not " * 20000 + "1 }}",
        "{% if 1 %}" * 200 + "{% endif %}" * 200,
        "{% for a in answers %}" * 30 + "{% endfor %}" * 30,
    ],
    "of at most 4300 digits": ["{{ " + "9" * 100_000 + " }}", "{{ 10 ** 99999 }}"],
    "at most 500000 characters": ["x" * 500_001],
}
MORE = {
    "within 1000 MB of memory": [
        "{{ 'x'.ljust(10**10) }}",
        "{{ '%9999999999d'|format(1) }}",
        "{{ question|indent(10**10) }}",
        "{{ {'a': 1}|tojson(indent=10**10) }}",
    ],
    # which of the two limits stops it first is the machine's to say
    "got one that needs more and was stopped": [GROWING],
    "nested too deeply": ["{{ " + "+".join("1" * 20000) + " }}"],
}
"""Those of the slow lane."""


@pytest.mark.parametrize(
    ("said", "texts"),
    [*BOMBS.items(), *(slow(*row) for row in MORE.items())],
    ids=[*BOMBS, *(f"more {said}" for said in MORE)],
)
def test_a_bomb_in_a_template_is_stopped(said, texts, subtests):
    """Loops, filters, products, formats, macros, doubling and nesting end in a message that names the template."""
    for text in texts:
        with subtests.test(text=text[:60]):
            with pytest.raises(ConfigError, match="template 1") as refused:
                written(text, a_case(question="a\n" * 1000))

            assert said in str(refused.value)
            assert len(refused.value.problems) == 1
            assert len(str(refused.value)) < 400


def test_a_judge_file_with_a_bomb_is_refused_before_anything_is_asked(tmp_path):
    """`calm try` says which file holds the bomb, within limits of memory and time of its own."""
    (tmp_path / "user.jinja").write_text("{{ question|center(10**10) }}")
    (tmp_path / "judge.toml").write_text(
        '[judge]\nname = "a"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:9/v1"\n[prompt]\nuser_file = "user.jinja"\n[verdict]\nformat = "brackets"\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "calm", "try", "judge.toml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )

    assert done.returncode == 4
    assert "user.jinja: expected a template that renders within 1000 MB of memory" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bomb_is_never_set_off_in_this_process(monkeypatch):
    """Jinja2 computes constants as it compiles, so what is not plain is not even compiled here."""
    sandbox._compiled.cache_clear()
    with pytest.raises(ConfigError):
        written("{{ 'x'|center(10**10) }}")

    assert sandbox._compiled.cache_info().misses == 0


PLAIN = [
    "",
    "plain text { } {# a comment #}",
    "{{ question }}\n{% for a in answers %}[{{ a.label }}] {{ a.text|trim }}\n{% endfor %}",
    "{% if reference is not none %}{{ reference|upper }}{% elif notes %}{{ notes[0] }}{% else %}-{% endif %}",
    "{% for a in answers if a.text %}{{ loop.index }}{{ a.slot }}"
    "{% for h in a.history %}{{ h }}{% endfor %}{% endfor %}",
    "{% for c in criteria %}{{ c.number + 1 }}: {{ c.text|default('none') }} ({{ c.points }}){% endfor %}",
    "{{ notes|join('; ') }} {{ answers|length }} {{ answers[:1]|length }} {{ scale.low ~ '-' ~ scale.high }}",
    "{% for name, value in fields.items() %}{{ name }}={{ value }}{% endfor %}{{ fields.context or '' }}",
    "{% for e in examples %}{{ e.question }}{% for a in e.answers %}{{ a }}{% endfor %}{{ e.verdict }}{% endfor %}",
]
WATCHED = [
    "{% set q = question %}{{ q }}",
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(question) }}",
    "{{ question|replace('a', 'b') }}",
    "{% for c in question %}{{ c }}{% endfor %}",
    "{% for notes in notes %}{% for c in notes %}{{ c }}{% endfor %}{% endfor %}",
    "{% for c in fields.history %}{{ c }}{% endfor %}",
    "{{ question|join(question) }}",
    "{% for a in answers[:'9'|int] recursive %}{{ a.text }}{% endfor %}",
    "{{ 3 * 4 }}",
    "{% for a in answers[:('x'|center(3))|length] %}{{ a.text }}{% endfor %}",
]


@pytest.fixture
def asked(monkeypatch):
    """Note what the helper is asked, which it goes on to answer."""
    seen = []
    ask = sandbox._HELPER.ask
    monkeypatch.setattr(sandbox._HELPER, "ask", lambda question: (seen.append(question[0]), ask(question))[1])
    return seen


def test_a_plain_template_is_rendered_here(asked):
    """What puts in values, asks conditions and loops over the lists of a case costs no way to another process."""
    case = a_case(fields={"context": "c"}, notes=("n", "m"))
    for text in PLAIN:
        written(text, case)

    assert asked == []


def test_the_bundled_prompts_are_rendered_here(asked):
    """Our own templates, which set texts and have macros, cost no way to another process either."""
    for task in get_args(Task):
        for form in FORMS:
            render(bundled(task, form), a_case(task), task, SCALE, CRITERIA[0] if task == "rubric" else None)

    assert asked == []


def test_what_is_not_plain_is_rendered_in_the_helper(asked, subtests):
    """A loop over a text, a hidden name, a call, a filter that can grow: none is trusted, each renders all the same."""
    case = a_case(fields={"history": "abc"}, notes=("n", "m"))
    for text in WATCHED:
        with subtests.test(text=text):
            assert written(text, case) is not None
            assert asked[-1:] == [text]


def test_loops_within_loops_are_watched_once_they_run_often(asked):
    """Two loops over a thousand criteria are a million rounds: such a case is rendered in the helper."""
    text = "{% for c in criteria %}{% for d in criteria %}{% endfor %}{% endfor %}"
    few, many = ([CRITERIA[0]] * n for n in (int((MOST_WORK / ROUND / 7) ** 0.5), 1000))
    written(text, a_case(criteria=tuple(few)))
    before = list(asked)
    written(text, a_case(criteria=tuple(many)))

    assert (before, set(asked)) == ([], {text})


NOTES = tuple(f"note {i}" for i in range(300))
LONG = "a" * 70_000
MANY = "{% if question|upper|lower == 'x' %}y{% endif %}"
SLOW = {
    "filters in a loop": "{% for a in notes %}" + MANY + "{% endfor %}",
    "filters in two loops": "{% for a in notes[:20] %}{% for b in notes[:20] %}" + MANY + "{% endfor %}{% endfor %}",
    "filters without a loop": MANY * 200,
    "texts put together in a loop": "{% for a in notes %}{% if question ~ a == reference %}{% endif %}{% endfor %}",
    "a text looked for in a loop": "{% for a in notes %}{% if a in question %}{% endif %}{% endfor %}",
    "a part of a text in a loop": "{% for a in notes %}{% if question[1:] == a %}{% endif %}{% endfor %}",
    "a test in a loop": "{% for a in notes %}{% if question is upper %}{% endif %}{% endfor %}",
    "a text of the template": "{% for a in notes %}{% if '" + LONG + "'|upper == 'x' %}{% endif %}{% endfor %}",
}
CHEAP = {
    "conditions in a loop": "{% for a in notes %}{% if question == '' or a is none %}{{ a }}{% endif %}{% endfor %}",
    "numbers in a loop": "{% for a in notes %}{{ loop.index }}/{{ notes|length }} {% endfor %}{{ question|trim }}",
}


def test_work_on_a_long_text_in_a_loop_is_watched(asked, subtests):
    """What goes through a long text once for each note would take minutes: it is done where it can be stopped."""
    for name, text in SLOW.items():
        with subtests.test(name):
            del asked[:]
            with suppress(sandbox.TemplateFault):  # stopped, or just done in time: both are the helper's
                sandbox.rendered(text, context_of(a_case(question=LONG, notes=NOTES), SCALE, None, bundled=False))

            assert asked == [text]


def test_work_on_a_long_text_is_done_here_where_it_is_little(asked, subtests):
    """Ordinary loops, over many notes beside a long text, cost no way to another process."""
    for name, text in CHEAP.items():
        with subtests.test(name):
            written(text, a_case(question=LONG, notes=NOTES))

            assert asked == []


def test_an_infinite_number_in_a_template_is_one_message(subtests):
    """Jinja2 computes it as it compiles, and would write a name that Python does not know."""
    for text in ("{{ '1e400'|float|int }}", "{% set x = 1 %}{{ '1e400'|float|int }}"):
        with subtests.test(text):
            with pytest.raises(
                ConfigError, match="line 1: expected a finite number, got one that is too large"
            ) as said:
                written(text)

            assert len(said.value.problems) == 1
    assert "inf -inf (inf, 1)" in written("{{ 1e400 }} {{ -1e400 }} {{ ('1e400'|float, 1) }}{{ question }}")


@settings(max_examples=60, deadline=None)
@given(text=st.sampled_from(PLAIN), question=st.text(max_size=40), note=st.text(max_size=20))
def test_the_helper_renders_what_would_be_rendered_here(text, question, note):
    """Where a template is rendered changes nothing of its text."""
    case = a_case(question=question, notes=(note,), fields={"context": note})
    context = context_of(case, SCALE, None, bundled=False)

    assert sandbox._HELPER.ask((text, context)) == sandbox.rendered(text, context)


def test_a_fault_is_the_same_wherever_the_template_is_rendered(subtests):
    """Line, variable and hint of a fault come back from the helper."""
    case = a_case(fields={"policy": "p"})
    for fault in [
        "{{ qestion }}",
        "{{ fields.polcy }}",
        "{{ 1 + 'x' }}",
        "{{ 1 / 0 }}",
        "{% if %}",
        "{{ answers[9] }}",
    ]:
        with subtests.test(fault=fault):
            said = []
            for before in ("a\n", "a\n{% set x = 1 %}"):
                with pytest.raises(ConfigError) as refused:
                    written(before + fault, case)
                said.append(str(refused.value))

            assert said[0] == said[1]
            assert "line 2" in said[0]


def test_a_check_renders_a_watched_template_on_a_sample():
    """The sample case goes to the helper, fields of every name with it."""
    prompt = Prompt((Message("user", "{% set f = fields.anything %}{{ f }}{{ question }}"),))

    assert check(prompt, "pairwise") == []
