"""Logs of agents become cases: messages as OpenAI and Anthropic write them, with the gold that their records hold."""

import json
import subprocess
import sys

import pytest

from calm.cases import read_cases
from calm.commands.cli import main
from calm.core.case import Step, Turn
from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.plugins.logs.agents import holds_runs, import_runs

CHAT = {
    "messages": [
        {"role": "system", "content": "You run a shop."},
        {"role": "user", "content": "Cancel order 7."},
        {
            "role": "assistant",
            "content": "I look it up.",
            "reasoning_content": "Which one is it?",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read_order", "arguments": '{"order": "7"}'}},
                {"id": "c2", "type": "function", "function": {"name": "read_stock", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "3"},
        {"role": "tool", "tool_call_id": "c1", "content": '{"status": "open"}'},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c3", "function": {"name": "cancel_order", "arguments": '{"order": "7", "why": {"a": [1]}}'}}]},
        {"role": "assistant", "content": "Order 7 is cancelled."},
    ]
}  # fmt: skip
RESPONSES = {
    "instructions": "You run a shop.",
    "input": "Cancel order 9.",
    "output": [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "First a look."}]},
        {"type": "function_call", "call_id": "f1", "name": "read_order", "arguments": '{"order": 9}'},
        {"type": "function_call_output", "call_id": "f1", "output": [{"type": "input_text", "text": "open"}]},
        {"type": "web_search_call", "id": "w1", "action": {"query": "order 9"}},
        {"type": "mcp_call", "id": "m1", "name": "cancel_order", "arguments": "{}", "error": "no right to do so"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is done."}]},
    ],
}
CLAUDE = {
    "system": [{"type": "text", "text": "You run a shop."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Cancel order 8."}, {"type": "image", "source": {}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Which one?", "signature": "x"},
            {"type": "text", "text": "I cancel it."},
            {"type": "tool_use", "id": "t1", "name": "cancel_order", "input": {"order": "8"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": "It is shipped."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is done."}]},
    ],
}  # fmt: skip


def imported(tmp_path, *records, lines=True, **more):
    """Import records as JSON Lines, or as one value of JSON."""
    path = tmp_path / "agent.json"
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records[0], indent=2)
    path.write_text(text, "utf-8")
    assert holds_runs(path) or not any("messages" in str(record) for record in records)
    return import_runs([path], **more)


def only(result):
    """Return the one case of an import, and its one answer."""
    (case,) = result.cases
    return case, case.answers[0]


@pytest.mark.parametrize("lines", [True, False])
def test_a_run_of_chat_completions(tmp_path, lines):
    """Parallel calls are steps of their own, each with its result; nested arguments stay as they were written."""
    result = imported(tmp_path, CHAT, lines=lines)
    case, answer = only(result)

    assert (case.question, case.turns) == ("Cancel order 7.", (Turn("system", "You run a shop."),))
    assert answer.text == "Order 7 is cancelled."
    assert answer.steps == (
        Step("Which one is it?\n\nI look it up.", "read_order", '{"order": "7"}', '{"status": "open"}'),
        Step("", "read_stock", "{}", "3"),
        Step("", "cancel_order", '{"order": "7", "why": {"a": [1]}}', ""),
    )
    assert "record 1: a call has no result" in result.notes


def test_a_list_of_messages_is_a_run_and_so_is_each_in_a_list_of_them(tmp_path):
    one, two = imported(tmp_path, CHAT["messages"], lines=False), imported(tmp_path, [CHAT, CLAUDE], lines=False)

    assert [case.question for case in one.cases] == ["Cancel order 7."]
    assert [case.question for case in two.cases] == ["Cancel order 7.", "Cancel order 8.\n[image]"]


def test_a_run_of_responses(tmp_path):
    """A tool of the server's own is a step, too; an error is called one."""
    case, answer = only(imported(tmp_path, RESPONSES))

    assert (case.question, case.turns[0].role, answer.text) == ("Cancel order 9.", "system", "It is done.")
    assert answer.steps == (
        Step("First a look.", "read_order", '{"order": 9}', "open"),
        Step("", "web_search", '{"query": "order 9"}', ""),
        Step("", "cancel_order", "{}", "Error: no right to do so"),
    )


def test_a_run_of_anthropic(tmp_path):
    result = imported(tmp_path, CLAUDE)
    case, answer = only(result)

    assert case.question == "Cancel order 8.\n[image]"
    assert answer.steps == (
        Step("Which one?\n\nI cancel it.", "cancel_order", '{"order": "8"}', "Error: It is shipped."),
    )
    assert "record 1: a part that is no text is shown as [image]" in result.notes


def test_a_request_beside_its_response(tmp_path):
    """Messages as they went to the server, and the last one as it came back, of either form."""
    chat = {
        "request": {"messages": CHAT["messages"][:-1]},
        "response": {"choices": [{"message": CHAT["messages"][-1]}]},
    }
    claude = {"request": {**CLAUDE, "messages": CLAUDE["messages"][:-1]}, "response": CLAUDE["messages"][-1]}

    found = imported(tmp_path, chat, claude).cases

    assert [case.answers[0].text for case in found] == ["Order 7 is cancelled.", "It is done."]
    assert [len(case.answers[0].steps) for case in found] == [3, 1]


def test_earlier_turns_stay_and_what_comes_after_the_run_is_left_out_with_a_note(tmp_path):
    messages = [
        *CHAT["messages"],
        {"role": "user", "content": "And order 8?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c9", "function": {"name": "read_order"}}]},
        {"role": "tool", "tool_call_id": "c9", "content": "none"},
        {"role": "assistant", "content": "It is gone."},
        {"role": "user", "content": "Ok, thanks."},
        {"role": "assistant", "content": "Bye.", "reasoning_content": "They are happy."},
    ]

    result = imported(tmp_path, {"messages": messages})
    case, answer = only(result)

    assert [turn.role for turn in case.turns] == ["system", "user", "assistant"]
    assert (case.question, answer.text, len(answer.steps)) == ("And order 8?", "It is gone.", 4)
    assert "record 1: messages after the answer are left out" in result.notes
    assert any("the user spoke between calls" in note for note in result.notes)


def test_a_run_without_an_answer_and_results_without_a_call(tmp_path):
    messages = [*CHAT["messages"][1:3], {"role": "tool", "tool_call_id": "x9", "content": "a\0b"}]
    messages[1] = {**messages[1], "content": None}

    result = imported(tmp_path, {"messages": messages})
    _, answer = only(result)

    assert answer.text == "(The run ended without an answer.)"
    assert answer.steps[-1] == Step("", "tool", "", "a\N{SYMBOL FOR NULL}b")
    assert len([note for note in result.notes if "no call" in note or "without an answer" in note]) == 2


def test_a_huge_result_is_kept_and_named(tmp_path):
    record = json.loads(json.dumps(CHAT))
    record["messages"][3]["content"] = "x" * 150_000

    result = imported(tmp_path, record)

    assert len(only(result)[1].steps[1].result) == 150_000
    assert any("more than 100,000 characters; it was not cut" in note for note in result.notes)


@pytest.mark.parametrize(
    ("more", "scale", "words", "gold"),
    [
        ({"success": True}, None, {}, 10),
        ({"success": False}, Scale(0, 1), {}, 0),
        ({"metadata": {"resolved": True}}, Scale(1, 5), {}, 5),
        ({"reward": 0.5}, Scale(1, 5), {}, 3),
        ({"score": 7, "success": False}, None, {}, 7),
        ({"label": "Failure"}, None, {}, 1),
        ({"label": "so-so"}, None, {"so-so": 4.0}, 4),
        ({"success": True}, Scale(1, 10, None, "low"), {}, 1),
    ],
)
def test_gold_is_what_the_record_says_of_its_run(tmp_path, more, scale, words, gold):
    case, _ = only(imported(tmp_path, {**CHAT, **more}, scale=scale, words=words))

    assert case.scores == {"only": gold}


def test_words_without_a_meaning_and_scores_beyond_the_scale_are_notes(tmp_path):
    unknown = imported(tmp_path, {**CHAT, "label": "so-so"})
    beyond = imported(tmp_path, {**CHAT, "score": 70})

    assert only(unknown)[0].scores == {}
    assert any("'so-so'" in note for note in unknown.notes)
    assert any("lie outside 1..10, such as 70" in note for note in beyond.notes)


def test_a_chosen_run_beside_a_rejected_one_is_a_pair(tmp_path):
    """The messages before both may stand once, under `prompt`."""
    pair = {"prompt": CHAT["messages"][:2], "chosen": CHAT["messages"][2:], "rejected": [CHAT["messages"][-1]]}

    (case,) = imported(tmp_path, {"id": "p", **pair}).cases

    assert [answer.id for answer in case.answers] == ["chosen", "rejected"]
    assert (case.better, case.question, len(case["chosen"].steps)) == ("chosen", "Cancel order 7.", 3)


def test_several_runs_of_one_question_have_ids_of_their_own(tmp_path):
    other = json.loads(json.dumps(CHAT).replace("is cancelled", "is gone"))

    cases = imported(tmp_path, {"task_id": "t", **CHAT}, {"task_id": "t", **other}).cases

    assert len({case.id for case in cases}) == len({case.answers[0].id for case in cases}) == 2


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": "x"}, "no list of messages under one of messages,"),
        (3, "record 1: record: expected a list of messages, got int"),
        ({"messages": [3]}, "message 1: expected an object with role and content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "message 1: role: expected one of user, assistant"),
        ({"messages": [{"role": "user", "content": "x"}]}, "no word and no call of the agent"),
        ({"messages": CHAT["messages"][2:]}, "no message of a user and no question"),
        ({"chosen": CHAT["messages"]}, "expected a chosen and a rejected run, got chosen alone"),
        ({"chosen": CHAT, "rejected": CLAUDE}, "expected a run with the question of the chosen one, got another"),
    ],
)
def test_what_is_no_run_is_a_fault_with_its_record(tmp_path, record, message):
    (tmp_path / "agent.json").write_text(json.dumps([record]), "utf-8")

    with pytest.raises(ConfigError) as caught:
        import_runs([tmp_path / "agent.json"])

    assert message in str(caught.value)


def test_files_without_calls_hold_no_runs(tmp_path):
    """A conversation is no run, nor is a table, nor a file that cannot be read."""
    talk = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Yes?"}]
    for number, text in enumerate((json.dumps({"messages": talk}), '{"question": "x"}', "{", "")):
        (tmp_path / f"{number}.json").write_text(text, "utf-8")

        assert not holds_runs(tmp_path / f"{number}.json")
    assert not holds_runs(tmp_path / "missing.json")


def test_the_command_writes_cases_and_says_what_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.jsonl").write_text(
        "\n".join(json.dumps({**r, "success": True}) for r in (CHAT, CLAUDE)), "utf-8"
    )

    status = main(["cases", "import", "agent.jsonl", "-o", "runs.jsonl", "--scale", "0..1"])

    assert status == 0
    assert "wrote runs.jsonl: 2 cases of 2 records of agents, 4 steps, 2 with gold" in capsys.readouterr().out
    assert [case.scores for case in read_cases("runs.jsonl", task="score")] == [{"only": 1.0}] * 2
    assert main(["cases", "import", "agent.jsonl", "-o", "runs.jsonl"]) == 4
    assert main(["cases", "import", "agent.jsonl", "-o", "x.jsonl", "--format", "agent", "--better", "a"]) != 0
    assert not (tmp_path / "x.jsonl").exists()


def logged(number):
    """Return a record of a log: an errand that was done, or one that failed and is called done."""
    done = number % 4 == 0
    said = {"status": "cancelled"} if done else {"error": "it is shipped"}
    return {
        "success": done,
        "messages": [
            {"role": "user", "content": f"Cancel order {number}."},
            {"role": "assistant", "content": "Is it open?", "tool_calls": [
                {"id": "a", "function": {"name": "read_order", "arguments": json.dumps({"order": number})}}]},
            {"role": "tool", "tool_call_id": "a", "content": json.dumps({"order": number, "price": number + 3})},
            {"role": "assistant", "content": "I cancel it.", "tool_calls": [
                {"id": "b", "function": {"name": "cancel_order", "arguments": json.dumps({"order": number})}}]},
            {"role": "tool", "tool_call_id": "b", "content": json.dumps(said)},
            {"role": "assistant", "content": f"Order {number} is cancelled."},
        ],
    }  # fmt: skip


def test_from_a_log_to_a_report_in_three_commands(tmp_path):
    """A judge that believes what an agent thinks is found on the user's own runs; the suites about runs are asked."""
    (tmp_path / "agent.jsonl").write_text("\n".join(json.dumps(logged(number)) for number in range(120)), "utf-8")
    judge = "planted:agent-thoughts=0.9,task=score"
    only_runs = ["--", "-k", "thoughts or failed_call"]

    for command in (
        ["cases", "import", "agent.jsonl", "-o", "runs.jsonl"],
        ["cases", "check", "runs.jsonl"],
        ["audit", judge, "--cases", "runs.jsonl", "-o", "report", *only_runs],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "calm", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == (1 if command[0] == "audit" else 0), done.stdout + done.stderr

    findings = json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))["findings"]
    failed = {one["bias"] for one in findings if one["outcome"] == "FAIL"} - {"run"}
    assert failed == {"agent-thoughts"}
    assert {one["bias"] for one in findings} >= {"agent-thoughts", "failed-calls"}
    assert "agent-thoughts" in (tmp_path / "report" / "report.html").read_text("utf-8")
