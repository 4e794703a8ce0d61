"""Replies without a verdict: what they hold instead, and the line of judge.toml that reads them."""

import pytest

from calm.core.case import Answer, Case
from calm.core.reasons import Said
from calm.core.verdict import Preferred, Scale, Unreadable
from calm.judges import reading
from calm.judges.reading import Format, UnreadReply
from calm.models.wire import Reply

CASE = Case("c", "Which?", (Answer("x", "One answer."), Answer("y", "Another answer.")))
VIEW = reading.view(CASE, "pairwise", Scale(), None)
READ_BY = {
    "another key": (
        Format("json"),
        ('{"winner": "A", "why": "x"}', '{"why": "y", "winner": "B"}'),
        "the JSON keys winner, why",
        "format = 'json', field = 'winner'",
    ),
    "a key of an object inside": (
        Format("json"),
        ('{"result": {"choice": "A", "n": 1}}', '{"result": {"choice": "B", "n": 2}}'),
        "the JSON keys result.choice, result.n",
        "format = 'json', field = 'result.choice'",
    ),
    "JSON in place of brackets": (
        Format("brackets"),
        ('{"verdict": "A"}', '{"verdict": "B"}'),
        "the JSON keys verdict",
        "format = 'json', field = 'verdict'",
    ),
    "brackets in place of JSON": (
        Format("json"),
        ("Best: [[A]]", "Best: [[B]]"),
        "[[A]], [[B]]",
        "format = 'brackets'",
    ),
    "another tag": (
        Format("tag"),
        ("<think>A</think><answer>A</answer>", "<answer>B</answer>"),
        "the tags <think>, <answer>",
        "format = 'tag', tag = 'answer'",
    ),
    "a last line": (Format("brackets"), ("Well.\nA", "Hm.\nB"), "no JSON, no tag", "format = 'last-line'"),
}


def unread(form, texts):
    """Return replies as a judge keeps them."""
    kept = [UnreadReply(Reply(text), VIEW, "why") for text in texts]
    assert not any(isinstance(reading.read(one.reply, form, VIEW), Preferred) for one in kept)
    return kept


@pytest.mark.parametrize("name", READ_BY)
def test_what_replies_hold_and_what_reads_them_is_said(name):
    """The line that is named does read all of them."""
    form, texts, holds, line = READ_BY[name]
    kept = unread(form, texts)

    assert holds in reading.held(kept)
    assert line in reading.fix(form, kept, bundled=False)


def test_no_line_is_named_that_would_not_read_them():
    """Nothing in these is a verdict."""
    kept = unread(Format("json"), ('{"note": "good"}', '{"note": "bad"}'))

    assert "which reads these" not in reading.fix(Format("json"), kept, bundled=False)
    assert "the JSON keys note" in reading.held(kept)


def test_a_bundled_prompt_keeps_its_names():
    """judge.toml refuses another field with a bundled prompt, so none is named."""
    kept = unread(Format("json"), ('{"winner": "A"}',))

    assert "schema_file" in reading.fix(Format("json"), kept, bundled=True)
    assert "winner" not in reading.fix(Format("json"), kept, bundled=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x1b[31m" + "{" * 5000,
        '{"a":' * 3000,
        '{"' + "k" * 100_000 + '": 1}',
        "<x>" * 5000,
        "[[" * 50_000,
        '\ud83d {"winner": "A"}',
        '{"a.b[": 1, "": {"": 2}}',
        "<a-" + "b" * 200 + ">1</a>",
    ],
)
def test_hostile_and_huge_replies_are_only_looked_at(text):
    """Nothing is raised, and what is shown is short."""
    kept = [UnreadReply(Reply(text), VIEW, "why")]

    shown = [reading.held(kept), reading.fix(Format("json"), kept, bundled=False), reading.example(kept[0])]

    assert all(len(one) < 2500 for one in shown)
    assert isinstance(Said(shown[0]).text, str)


@pytest.mark.parametrize(
    ("form", "text", "where"),
    [
        (Format(), "[[A]]\n\n[[B]]", ("'A' in line 1, on its own", "'B' in line 3, on its own")),
        (Format("json"), '{"verdict": "A"}\nor\n{"verdict": "B"}', ("'A' in line 1", "'B' in line 3")),
        (
            Format("tag"),
            "It is <verdict>A</verdict> and <verdict>B</verdict>.",
            ("'A' in line 1, in a sentence", "'B'"),
        ),
        (Format(), "Draft: [[A]]", ("'A' in line 1, on its own", "draft")),
        (Format(), "[[A]]\n\nI take that back.", ("'A' in line 1", "taken back")),
        (Format(), "The verdict is not [[B]].", ("'B' in line 1", "denied")),
    ],
)
def test_a_doubtful_reply_names_what_stands_where_and_the_fix(form, text, where):
    """Both candidates with their lines, the wording of the prompt, and the schema that rules a second one out."""
    verdict = reading.read(Reply(text), form, VIEW)
    assert isinstance(verdict, Unreadable)
    kept = [UnreadReply(Reply(text), VIEW, verdict.reason)]

    fix = reading.fix(form, kept, bundled=True)

    assert all(words in verdict.reason for words in where)
    assert "exactly one verdict" in fix
    assert "format = 'json', schema_file" in fix


def test_numbers_that_are_not_on_the_scale_are_no_matter_of_the_format():
    """What is to be changed is the scale, and no other format reads them."""
    view = reading.view(CASE, "score", Scale(1, 5, 1), None)
    kept = [UnreadReply(Reply(text), view, "why") for text in ("[[9]]", "[[8/10]]")]

    assert "[verdict.scale]" in reading.fix(Format("brackets"), kept, bundled=False)
