"""Importing conversations: which messages become turns, which the question, which the answers."""

import json

import pytest

from calm import ConfigError
from calm.cases.foreign import columns_from, import_cases
from calm.cases.foreign.records import load
from calm.cases.proposed import proposal


def messages(*texts, role="role", content="content", names=("user", "assistant")):
    """Return messages of two who take turns."""
    return [{role: names[at % 2], content: text} for at, text in enumerate(texts)]


def imported(tmp_path, *rows, plan=None):
    """Return what is imported from some records."""
    path = tmp_path / "talks.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return import_cases(path, columns=plan)


def faults(tmp_path, *rows, plan=None):
    """Return why nothing is imported."""
    with pytest.raises(ConfigError) as caught:
        imported(tmp_path, *rows, plan=plan)
    return " ".join(caught.value.problems)


def content(case):
    """Return the turns of a case as pairs, its question, and its answers."""
    return [(t.role, t.text) for t in case.turns], case.question, [answer.text for answer in case.answers]


ONE = ([("user", "I am Ann."), ("assistant", "Hello.")], "Who am I?", ["Ann."])
SAID = ("I am Ann.", "Hello.", "Who am I?", "Ann.")
IN_PARTS = {"role": "user", "content": [{"type": "text", "text": "Who am I?"}]}
FORMS = {
    "openai": {"messages": messages(*SAID)},
    "parts": {"messages": [*messages(*SAID[:2]), IN_PARTS, *messages("", "Ann.")[1:]]},
    "sharegpt": {"conversations": messages(*SAID, role="from", content="value", names=("human", "gpt"))},
    "pairs": {"history": [list(SAID[:2]), list(SAID[2:])]},
    "text": {"messages": json.dumps(messages(*SAID))},
    "whole": {"conversation": {"messages": messages(*SAID)}},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_chat_becomes_turns_a_question_and_an_answer(tmp_path, form):
    (case,) = imported(tmp_path, FORMS[form]).cases

    assert content(case) == ONE


PREFERRED = {
    "whole": {"chosen": messages("A", "B", "C", "D"), "rejected": messages("A", "B", "C", "E")},
    "prompt": {"prompt": messages("A", "B", "C"), "chosen": messages("", "D")[1:], "rejected": messages("", "E")[1:]},
    "texts": {"messages": messages("A", "B", "C"), "chosen": "D", "rejected": "E"},
}


@pytest.mark.parametrize("form", PREFERRED)
def test_chosen_and_rejected_replies_are_a_pair(tmp_path, form):
    (case,) = imported(tmp_path, PREFERRED[form]).cases

    assert content(case) == ([("user", "A"), ("assistant", "B")], "C", ["D", "E"])
    assert case.better == "a"


def test_a_history_stands_before_its_question(tmp_path):
    """The question has a column of its own; where the history ends with it, it is not said twice."""
    histories = [messages("A", "B"), messages("A", "B", "C"), None]
    rows = [{"question": "C", "answer_a": f"D{n}", "answer_b": "E", "history": h} for n, h in enumerate(histories)]

    found = imported(tmp_path, *rows)

    assert [len(case.turns) for case in found.cases] == [2, 2, 0]
    assert "2 of 3 records hold a conversation" in " ".join(found.notes)


def test_a_column_of_another_name_is_mapped(tmp_path):
    plan = columns_from(["turns=talk", "answer_a=mine", "answer_b=theirs"])

    found = imported(tmp_path, {"talk": messages("A", "B", "C", "D"), "mine": "E", "theirs": "F"}, plan=plan)

    assert content(found.cases[0]) == ([("user", "A"), ("assistant", "B")], "C", ["E", "F"])
    assert "a reply follows the last message of the user" in " ".join(found.notes)


def test_tools_are_no_turns_and_a_note_counts_them(tmp_path):
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}
    talk = [*messages("A", "B", "C"), call, {"role": "tool", "content": "42"}, *messages("", "D")[1:]]

    found = imported(tmp_path, {"messages": talk})

    assert content(found.cases[0]) == ([("user", "A"), ("assistant", "B")], "C", ["D"])
    assert "in 1 of 1 records tools were used" in " ".join(found.notes)


IMAGE = {"type": "image_url", "image_url": {"url": "x"}}


@pytest.mark.parametrize("image", [IMAGE, {"type": "image", "source": {}}, {"type": "input_image"}])
def test_an_image_is_named_in_its_place(tmp_path, image):
    """An image alone is a question, too: what was replied to it is not the answer to another one."""
    alone = {"messages": [*messages("Hi", "Hello"), {"role": "user", "content": [image]}, messages("", "A cat.")[1]]}
    beside = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}, messages("", "D")[1]]
    }

    found = imported(tmp_path, alone, beside, {"messages": messages("Q", "A")})

    assert content(found.cases[0]) == ([("user", "Hi"), ("assistant", "Hello")], "[image]", ["A cat."])
    assert content(found.cases[1]) == ([], "What?\n[image]", ["D"])
    assert "in 2 of 3 records a part of a message is no text" in " ".join(found.notes)


CLOSED = {
    "alone": {"messages": messages("A", "B", "C", "D", "thanks")},
    "pair": {"chosen": messages("A", "B", "C", "D", "thanks"), "rejected": messages("A", "B", "C", "D", "no!")},
}


@pytest.mark.parametrize("form", CLOSED)
def test_a_chat_ends_with_its_last_reply(tmp_path, form):
    found = imported(tmp_path, CLOSED[form])

    assert content(found.cases[0]) == ([("user", "A"), ("assistant", "B")], "C", ["D"] * (1 + (form == "pair")))
    assert "in 1 of 1 records the user speaks last" in " ".join(found.notes)


def test_a_refusal_is_a_reply(tmp_path):
    beside = {"messages": [*messages("A"), {"role": "assistant", "content": None, "refusal": "No."}]}
    part = {"messages": [*messages("A"), {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}]}

    assert [content(case) for case in imported(tmp_path, beside, part).cases] == [([], "A", ["No."])] * 2


BAD = {
    "no conversation": ({"messages": messages("A", "B")}, {"messages": "hello"}, "expected a conversation"),
    "a number": ({"messages": messages("A", "B")}, {"messages": 7}, "expected a conversation"),
    "unknown roles": (
        {"messages": messages("A", "B")},
        {"messages": messages("A", "B", names=("x", "y"))},
        "its roles are user and assistant",
    ),
    "nobody asks": (
        {"messages": messages("A", "B")},
        {"messages": messages("", "B")[1:]},
        "expected a message of the user",
    ),
    "two talks": (
        {"chosen": messages("A", "B"), "rejected": messages("A", "C")},
        {"chosen": messages("A", "B"), "rejected": messages("X", "B")},
        "differ in their last reply alone",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_what_is_no_conversation_is_named_by_its_record(tmp_path, fault):
    good, bad, words = BAD[fault]

    said = faults(tmp_path, good, bad)

    assert words in said
    assert "record 2" in said
    assert "record 1:" not in said


def test_a_table_without_conversations_is_read_as_before(tmp_path):
    """A column that is called messages and holds none takes no part; nor does one that is mapped by a path."""
    plain = {"question": "Q", "answer_a": "A", "answer_b": "B", "messages": "none kept"}
    path = {"messages": messages("Q", "A"), "other": "B"}

    (case,) = imported(tmp_path, plain).cases
    (mapped,) = imported(
        tmp_path,
        path,
        plan=columns_from(["question=messages.0.content", "answer_a=messages.1.content", "answer_b=other"]),
    ).cases

    assert content(case) == ([], "Q", ["A", "B"])
    assert content(mapped) == ([], "Q", ["A", "B"])


def test_guesses_leave_conversations_to_the_import(tmp_path):
    path = tmp_path / "talks.jsonl"
    path.write_text(json.dumps(FORMS["openai"]), "utf-8")

    found = proposal(load(path), {}, {}, {})
    assert (found.columns, found.words, found.lacking) == ((), (), ())
