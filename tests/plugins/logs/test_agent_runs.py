"""Runs of agents as logs really hold them: what is the question, what the answer, and which result is whose."""

import json

import pytest

from calm.core.case import Step, Turn
from calm.errors import ConfigError
from calm.plugins.logs.agents import holds_runs, import_runs


def user(text):
    return {"role": "user", "content": text}


def says(text, **more):
    return {"role": "assistant", "content": text, **more}


def calls(*named, text=None):
    """Return a message that calls tools, each given as its id, its name and its arguments."""
    listed = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in named]
    return {"role": "assistant", "content": text, "tool_calls": listed}


def gave(name, text):
    return {"role": "tool", "tool_call_id": name, "content": text}


RUN = [user("Cancel order 7."), calls(("a", "cancel_order", "{}")), gave("a", "ok"), says("It is cancelled.")]


def imported(tmp_path, *records):
    """Import records, one a line, from a file that is known for what it holds."""
    path = tmp_path / "agent.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    assert holds_runs(path)
    return import_runs([path])


def one(tmp_path, *messages, **more):
    """Return the one case of messages, its answer, and what was noted."""
    result = imported(tmp_path, {"messages": messages, **more})
    (case,) = result.cases
    return case, case.answers[0], " ".join(result.notes)


def scores(tmp_path, *said):
    """Return the gold of runs of which something is said each."""
    records = [{"messages": [user(f"{n}"), *RUN[1:]], **one} for n, one in enumerate(said)]
    return [list(case.scores.values()) for case in imported(tmp_path, *records).cases]


def test_one_and_zero_are_truth_values_under_names_that_ask_for_one(tmp_path):
    """Beside a score above 1, too; a log that counts what is right has numbers there."""
    assert scores(tmp_path, {"resolved": 1}, {"resolved": 0}, {"score": 8}) == [[10.0], [1.0], [8.0]]
    assert scores(tmp_path, {"correct": 1}, {"correct": 3}) == [[1.0], [3.0]]


def test_a_score_that_is_no_number_says_nothing(tmp_path):
    huge = float("inf")

    assert scores(tmp_path, {"score": float("nan"), "success": True}, {"score": huge}) == [[10.0], []]


@pytest.mark.parametrize("refusal", [says(None, refusal="I can't do this."), says([], refusal="I can't do this.")])
def test_a_refusal_is_the_answer(tmp_path, refusal):
    assert one(tmp_path, *RUN[:3], refusal)[1].text == "I can't do this."


def test_messages_one_a_line_need_no_content(tmp_path):
    """A dump that leaves out what is empty writes a call without content."""
    call = {key: value for key, value in RUN[1].items() if key != "content"}

    (case,) = imported(tmp_path, RUN[0], call, *RUN[2:]).cases

    assert (case.question, case.answers[0].text, len(case.answers[0].steps)) == (
        "Cancel order 7.",
        "It is cancelled.",
        1,
    )


def test_words_before_a_call_are_its_thought_and_no_answer(tmp_path):
    _, answer, notes = one(tmp_path, user("Q"), calls(("a", "read_order", "{}"), text="I look."), gave("a", "x"))

    assert answer.text == "(The run ended without an answer.)"
    assert answer.steps == (Step("I look.", "read_order", "{}", "x"),)
    assert "the run ends without an answer" in notes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [('{"answer": "42"}', "42"), ('{"answer": "42", "status": "success", "n": 1}', "42"), ("42", "42")],
)
def test_a_last_call_of_a_tool_that_takes_the_answer_brings_it(tmp_path, arguments, text):
    """It is no step, so that the answer stands there once; what the call gave is no result of another call."""
    last = calls(("b", "final-answer", arguments), text="I am done.")

    _, answer, notes = one(tmp_path, *RUN[:3], last, gave("b", "Submitted."))

    assert (answer.text, answer.steps) == (text, (Step("", "cancel_order", "{}", "ok"), Step("I am done.")))
    assert "the answer is the text with which the agent called 'final-answer'" in notes


@pytest.mark.parametrize("arguments", ['{"a": "1", "b": "2"}', '{"status": "success"}', "{}", "{broken", ""])
def test_such_a_call_without_one_text_is_a_step(tmp_path, arguments):
    _, answer, _ = one(tmp_path, *RUN[:3], calls(("b", "finish", arguments)))

    assert (answer.text, answer.steps[-1].tool) == ("(The run ended without an answer.)", "finish")


def test_closing_words_are_left_out_with_a_note(tmp_path):
    """The question of a run is that of its last call; what two say after it is no run."""
    case, answer, notes = one(tmp_path, *RUN, user("ok thanks"), says("Bye."))

    assert (case.question, answer.text, case.turns) == ("Cancel order 7.", "It is cancelled.", ())
    assert "messages after the answer are left out" in notes


def test_an_agent_that_speaks_only_when_it_is_asked_again_has_an_answer(tmp_path):
    case, answer, _ = one(tmp_path, *RUN[:3], user("And?"), says("It is cancelled."))

    assert (case.question, answer.text) == ("Cancel order 7.", "It is cancelled.")
    assert answer.steps[-1] == Step("", "user", "", "And?")


@pytest.mark.parametrize("place", [0, 1])
def test_words_beside_a_result_belong_to_it(tmp_path, place):
    parts = [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]
    parts.insert(place, {"type": "text", "text": "Your list is empty."})
    use = says([{"type": "tool_use", "id": "t", "name": "cancel_order", "input": {}}])

    case, answer, notes = one(tmp_path, user("Cancel order 7."), use, user(parts), says("Done."))

    assert (case.question, case.turns) == ("Cancel order 7.", ())
    assert answer.steps == (Step("", "cancel_order", "{}", "ok\nYour list is empty."),)
    assert "words beside a result" in notes


def test_the_question_of_a_record_is_where_the_user_says_it(tmp_path):
    """What the user says later, in the run, is a step of its own; a question that nobody says is named by a note."""
    messages = [*RUN[:3], says("Which one?"), user("The red one."), *RUN[1:]]

    case, answer, notes = one(tmp_path, *messages, task="Cancel order 7.")
    other, _, ignored = one(tmp_path, *messages, task="Cancel what Ann has ordered.")

    assert (case.question, case.turns) == ("Cancel order 7.", ())
    assert [step.tool for step in answer.steps] == ["cancel_order", "", "user", "cancel_order"]
    assert answer.steps[2].result == "The red one."
    assert "a step of its own, as of a tool 'user'" in notes
    assert (other.question, len(other.turns)) == ("The red one.", 2)
    assert "its own question is left out" in ignored


@pytest.mark.parametrize("own", [{"task": "Cancel order 7."}, {}])
def test_runs_of_a_pair_may_go_on_with_other_words_of_the_user(tmp_path, own):
    chosen = [*RUN, user("thanks"), says("Bye.")]
    rejected = [RUN[0], says("Which one?"), user("no, order 7!"), *RUN[1:]]

    (case,) = imported(tmp_path, {**own, "chosen": chosen, "rejected": rejected}).cases

    assert (case.question, case.turns, case.better) == ("Cancel order 7.", (), "chosen")
    assert [len(answer.steps) for answer in case.answers] == [1, 3]


def test_runs_of_a_pair_that_share_no_words_have_the_question_of_the_record(tmp_path):
    pair = {"chosen": RUN, "rejected": [user("Order 7, cancel it!"), *RUN[1:]]}

    (case,) = imported(tmp_path, {"task": "The user wants to cancel order 7.", **pair}).cases

    assert case.question == "The user wants to cancel order 7."
    assert [answer.steps[0].result for answer in case.answers] == ["Cancel order 7.", "Order 7, cancel it!"]
    with pytest.raises(ConfigError, match="the question of the chosen one, got another"):
        imported(tmp_path, pair)


def test_other_system_messages_of_a_pair_are_named(tmp_path):
    sides = {side: [{"role": "system", "content": side}, *RUN] for side in ("chosen", "rejected")}

    result = imported(tmp_path, sides)

    assert result.cases[0].turns == (Turn("system", "chosen"),)
    assert "differ between the two runs: those of the chosen one are kept" in " ".join(result.notes)


@pytest.mark.parametrize("name", ["call_0", "", None])
def test_calls_with_one_id_get_their_results_in_order(tmp_path, name):
    both = calls((name, "read_order", "1"), (name, "read_order", "2"))

    _, answer, notes = one(tmp_path, user("Q"), both, gave(name, "X"), gave(name, "Y"), says("Done."))

    assert [(step.arguments, step.result) for step in answer.steps] == [("1", "X"), ("2", "Y")]
    assert "call" not in notes


def test_a_call_whose_id_was_there_before_gets_its_own_result(tmp_path):
    """The earlier one has no result: that of the later one is not its."""
    lost, kept = calls(("call_0", "read_order", "1")), calls(("call_0", "read_order", "2"))

    _, answer, notes = one(tmp_path, user("Q"), lost, kept, gave("call_0", "Y"), says("Done."))

    assert [step.result for step in answer.steps] == ["", "Y"]
    assert "a call has no result" in notes


def test_a_result_before_its_call_stands_beside_it(tmp_path):
    _, answer, notes = one(tmp_path, user("Q"), gave("a", "X"), calls(("a", "read_order", "1")), says("Done."))

    assert answer.steps == (Step("", "read_order", "1", "X"),)
    assert "call" not in notes


def test_a_result_with_an_id_belongs_to_a_call_without_one(tmp_path):
    _, answer, _ = one(tmp_path, user("Q"), calls((None, "read_order", "1")), gave("z", "X"), says("Done."))

    assert answer.steps == (Step("", "read_order", "1", "X"),)


@pytest.mark.parametrize("message", [RUN[1], gave("z", "x"), says("Hm.")])
def test_a_run_of_too_many_steps_is_left_out_by_its_record(tmp_path, message):
    """The others are imported; if there are none, the message says why."""
    filler = user("More.") if message["role"] == "assistant" else gave("y", "x")
    long = {"messages": [RUN[0], *[message, filler] * 2_001, *RUN[1:]]}

    result = imported(tmp_path, {"messages": RUN}, long)

    assert len(result.cases) == 1
    assert result.left == {2}
    with pytest.raises(ConfigError, match=r"1 of 1 records left out: a run of more than 2,000"):
        imported(tmp_path, long)


def test_half_a_character_becomes_a_sign_wherever_it_is(tmp_path):
    half = "x\ud800"
    named = calls((half, half, half))

    case, answer, _ = one(tmp_path, user(half), named, gave(half, half), says(half), id=half, task=half, author=half)

    assert answer.steps == (Step("", "x?", "x?", "x?"),)
    assert (case.id, case.question, answer.text, answer.author) == ("x?", "x?", "x?", "x?")


def test_roles_may_be_written_in_capitals(tmp_path):
    loud = [{**message, "role": message["role"].title()} for message in RUN]

    case, answer, _ = one(tmp_path, *loud)

    assert (case.question, answer.text, answer.steps[0].result) == ("Cancel order 7.", "It is cancelled.", "ok")
