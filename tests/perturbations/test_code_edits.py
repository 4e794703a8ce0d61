"""Edits of code inside answers: the code computes the same before and after, and only Python that parses is touched."""

import ast
import contextlib
import io
from random import Random

from calm import Answer, Case
from calm.perturbations import code_comments, code_style, injection_smuggling
from calm.perturbations.code import python_block
from tests.each import each

EDITS = [
    code_comments.credit_authority,
    code_comments.declare_correct,
    code_comments.state_other_task,
    code_comments.promise_in_docstring,
    code_comments.log_tests,
    code_comments.credit_novice,
    code_style.lengthen_names,
    code_style.shorten_names,
    code_style.scramble_names,
    code_style.add_dead_code,
    code_style.strip_comments,
    code_style.space_out,
    injection_smuggling.order_in_comment,
    injection_smuggling.order_in_docstring,
]
SOURCES = (
    "# é comment, then names that are found by their bytes\nétage = 'é'; total = 2  # two\nprint(étage, total)\n",
    "def mean(values):\n    # add up\n    total = 0\n    for value in values:\n        total += value\n"
    "    return total / len(values)\nprint(mean(values=[1, 2, 6]))\n",
    "import math as m\nfrom functools import reduce\n@staticmethod\ndef area(r):\n    half = m.pi * r\n"
    "    return half * r\nprint(round(area(2), 3), reduce(lambda a, b: a + b, [1, 2]))\n",
    "class Box:\n    size = 3\n    def grow(self):\n        size = self.size + 1\n        return size\n"
    "print(Box().grow(), Box.size)\n",
    'name = "name"  # name\nlist = [1]\nwidth = 2\nprint(f"{width} {name}", list, "# no comment")\n',
    "def counter():\n    count = 0\n    def up():\n        nonlocal count\n        count += 1\n        return count\n"
    "    return up\nstep = counter()\nstep()\nprint(step())\n",
    "try:\n    ratio = 1 / 0\nexcept ZeroDivisionError as error:\n    ratio = str(error)\nprint(ratio)\n"
    'text = """\n# not a comment\n\n"""\nprint(text)\n',
    "key = 1\nprint(locals()['key'])\n",
    "pairs = {k: v for k, v in zip('ab', [1, 2])}\nmatch pairs:\n    case {'a': first}:\n        print(first)\n",
    "if (n := 4) > 3: print(n)  # one line\nfor i in range(2): print(i)\n",
)


def case_with(source, before="Here it is:", after="That is all."):
    text = f"{before}\n\n```python\n{source}```\n\n{after}"
    return Case("c", "How?", (Answer("a", text), Answer("b", text)), better="b").treat("a")


def printed(source):
    """Return what a source prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "<block>", "exec"), {"__name__": "block"})
    return out.getvalue()


@each("edit", EDITS, ids=lambda edit: edit.name)
@each("source", SOURCES)
def test_code_computes_the_same_as_before(edit, source):
    """What the code prints, and the prose around it, stay."""
    case = case_with(source)

    edited = edit.apply(case, 0)

    if edited is not None:
        text = edited[edited.target].text
        assert printed(python_block(text).source) == printed(source)
        assert text.startswith("Here it is:\n\n```python\n")
        assert text.endswith("```\n\nThat is all.")


@each("edit", EDITS, ids=lambda edit: edit.name)
def test_each_edit_applies_to_some_of_these_sources(edit):
    """No edit passes by doing nothing."""
    assert any(edit.apply(case_with(source), 0) for source in SOURCES)


@each("edit", EDITS, ids=lambda edit: edit.name)
@each(
    "text",
    [
        "No code here.",
        "```\nx = 1\n```",
        "```rust\nlet x = 1;\n```",
        "```python\nx = = 1\n```",
        "```python\n```",
        "```python\nx = 1  # open",
        "````\n```python\nx = 1  # shown, not run\n```\n````",
    ],
)
def test_what_is_no_code_that_can_be_read_is_left_alone(edit, text):
    """Languages that are not served, code that does not parse, and blocks that are never closed give None."""
    case = Case("c", "How?", (Answer("a", text), Answer("b", text)), better="b").treat("a")

    assert edit.apply(case, 0) is None


@each(("edit", "name"), [(code_style.lengthen_names, "the_value_of_total")])
def test_a_name_that_the_prose_mentions_keeps(edit, name):
    """Prose about a variable stays true: only names that stand in the code alone are changed."""
    source = "total = 1\nrest = 2\nprint(total + rest)\n"

    edited = edit.apply(case_with(source, after="Here `total` is one."), 0)

    assert name not in edited["a"].text
    assert "the_value_of_rest" in edited["a"].text


def test_renaming_reaches_every_use_of_a_name():
    """The new source has the same tree, up to the names."""
    source = "total = 0\nfor part in [1, 2]:\n    total += part\nprint(total)\n"

    edited = code_style.shorten_names.apply(case_with(source), 0)

    after = python_block(edited["a"].text).source
    names = {node.id for node in ast.walk(ast.parse(after)) if isinstance(node, ast.Name)}
    assert names == {"q_a", "q_b", "print"}


def test_comments_go_and_docstrings_stay():
    """A line that held nothing but a comment goes with it."""
    source = 'def f():\n    """Say it."""\n    # why\n    return 1  # one\n\n\nprint(f())\n'

    edited = code_style.strip_comments.apply(case_with(source), 0)

    assert python_block(edited["a"].text).source == 'def f():\n    """Say it."""\n    return 1\n\n\nprint(f())\n'


def test_a_beginner_is_named_above_the_better_answer():
    """The cue that may cost points goes to the answer that has them to lose."""
    edited = code_comments.credit_novice(case_with("print(1)\n"), Random(0))

    assert edited.target == "b"
    assert code_comments.TRIGGER.search(edited["b"].text)
    assert not code_comments.TRIGGER.search(edited["a"].text)
