"""Logs of other tools: the same support desk in six of them gives the same cases and the same verdicts."""

import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from calm import ConfigError
from calm.cases import read_files
from calm.cases.lines import line
from calm.cases.logs import Log, Wanted, gathered, is_log, read_logs
from calm.cases.logs.values import prompt_of
from calm.cases.rows import turns_of_messages as turns_of
from calm.core.verdict import Scale
from calm.judges.recorded.live import format_in, prompt_in
from calm.plugins.logs.opening import READERS, sniffed
from tests.plugins.logs.desk import CONTEXT, ITEMS, REPEATS, prompt

LOGS = Path(__file__).parent
FILES = {
    "promptfoo": ["promptfoo.json"],
    "deepeval": ["deepeval.json"],
    "inspect": ["inspect.eval"],
    "mlflow": ["mlflow.jsonl"],
    "langfuse": ["langfuse.json", "langfuse-scores.json"],
    "otel": ["otel.jsonl"],
}
GOLD = {"promptfoo": "vars.person", "deepeval": "metadata.person", "inspect": "metadata.person"}
NO_REFERENCE = ("otel",)
OWN_PROMPTS = ("mlflow", "langfuse")
WORDED = ("inspect", "mlflow")
"""Their judges say one of two words, or letters; those of the others give scores, of which the log holds two."""


def log_of(tool, **how):
    """Return what the log of a tool holds."""
    columns = {"score": GOLD[tool]} if tool in GOLD else {}
    return gathered(read_logs([LOGS / name for name in FILES[tool]]), Wanted(columns=columns, **how))


@pytest.mark.parametrize("tool", FILES)
def test_a_log_gives_the_cases_and_the_verdicts_of_the_judge(tool):
    """Each item is one case with its texts, its gold and as many verdicts as it was judged, in their order."""
    found = log_of(tool)

    cases = {case.answers[0].text: case for case in found.cases}
    said = {case.answers[0].text: [a.verdict for a in found.asks if a.case == case.id] for case in found.cases}
    for item in ITEMS:
        case = cases[item.answer]
        assert (case.question, tuple(said[item.answer])) == (item.question, item.said)
        assert case.reference == (None if tool in NO_REFERENCE else item.reference)
        held = case.fields.get("context") or " ".join(passage.text for passage in case.context)
        assert held.split() == " ".join(CONTEXT).split()
        assert tool in NO_REFERENCE or case.scores == {"only": item.person}
    assert (len(cases), len(found.asks), found.task) == (len(ITEMS), REPEATS * len(ITEMS), "score")
    assert found.scale == Scale(0.0, 1.0, 1.0 if tool in WORDED else None)


@pytest.mark.parametrize("tool", FILES)
def test_a_tool_is_known_by_what_its_file_holds(tool, tmp_path):
    """The name says nothing, and a packed file is unpacked."""
    for name in FILES[tool]:
        other = tmp_path / "file"
        shutil.copy(LOGS / name, other)
        assert is_log(other)
        if tool != "inspect":
            (tmp_path / "packed").write_bytes(gzip.compress(other.read_bytes()))
            assert read_logs([tmp_path / "packed"]).kind == tool


@pytest.mark.parametrize("tool", OWN_PROMPTS)
def test_the_template_of_a_prompt_is_found_in_the_prompts_of_a_log(tool):
    """It shows all prompts byte for byte, and a format is found that reads all replies as the log does."""
    found = log_of(tool)

    made, reads = prompt_in(found), format_in(found)

    assert (made.shown, made.of, reads.right, reads.of) == (16, 16, 16, 16)
    assert (reads.form.kind, reads.form.field) == ("json", "score")
    shown = made.templates[0]
    for name, text in (
        ("question", ITEMS[0].question),
        ("answers[0].text", ITEMS[0].answer),
        ("reference", ITEMS[0].reference),
        ("fields.context", "\n".join(CONTEXT)),
    ):
        shown = shown.replace(f"{{{{ {name} }}}}", text)
    assert shown == prompt(ITEMS[0])


def test_a_text_that_no_case_has_leaves_no_whole_template():
    """The spans hold no reference, so the best guess holds one item's own."""
    made = prompt_in(log_of("otel"))

    assert not made.whole
    assert made.shown == 4


def test_the_prompt_and_the_grades_of_inspect_are_found():
    """Its replies end with a letter, which means a number."""
    reads = format_in(log_of("inspect"))

    assert reads.right == reads.of == 16
    assert reads.form.values == {"C": 1.0, "I": 0.0}


# ----------------------------------------------------------------------------------------------------- hand-made logs


def promptfoo(*components, **row):
    """Return results of promptfoo with one row for each component."""
    base = {
        "vars": {"query": "q", **row.pop("vars", {})},
        "response": {"output": row.pop("output", "an answer")},
        "testIdx": 0,
        "promptIdx": 0,
        **row,
    }
    rows = [{**base, "gradingResult": {"componentResults": [one]}} for one in components]
    return {"results": {"version": 3, "results": rows}}


def component(score=1.0, metric=None, kind="llm-rubric", **more):
    """Return what one grader said."""
    assertion = {"type": kind, "value": "r", **({"metric": metric} if metric else {})}
    return {"assertion": assertion, "pass": bool(score), "score": score, "reason": "", **more}


def found_in(tmp_path, document, **how):
    """Return what is gathered from a document."""
    path = tmp_path / "results.json"
    path.write_text(json.dumps(document), "utf-8")
    return gathered(read_logs([path]), Wanted(**how))


def test_several_judges_are_listed(tmp_path):
    """The message names each with how many verdicts it has, and a wrong name is answered with the nearest."""
    document = promptfoo(component(metric="correct"), component(metric="correct"), component(metric="polite"))

    with pytest.raises(ConfigError, match=r"--metric NAME.+2 judges: correct \(2\), polite \(1\)"):
        found_in(tmp_path, document)
    with pytest.raises(ConfigError, match=r"got 'polit'; did you mean 'polite'"):
        found_in(tmp_path, document, metric="polit")


def test_a_grader_that_failed_is_left_out_and_an_unread_reply_counts(tmp_path):
    """Neither is a verdict that the answer is bad."""
    failed = component(0.0, metadata={"graderError": True})
    unread = component(0.0, reason="Could not extract JSON from llm-rubric response")

    found = found_in(tmp_path, promptfoo(component(0.7), failed, unread))

    assert [ask.verdict for ask in found.asks] == [0.7, None]
    assert any("1 of 3 verdicts are left out: the judge failed" in note for note in found.notes)


def test_a_choice_between_two_outputs_is_a_verdict_on_a_pair(tmp_path):
    """The answers stand in the order in which they were shown, each with its author."""
    rows = [
        promptfoo(
            component(float(place), kind="select-best"),
            promptIdx=place,
            output=f"answer {place}",
            provider={"id": f"p{place}"},
        )
        for place in (1, 0)
    ]
    rows = [row for one in rows for row in one["results"]["results"]]

    found = found_in(tmp_path, {"results": {"version": 3, "results": rows}})

    assert found.task == "pairwise"
    assert [ask.verdict for ask in found.asks] == ["b"]
    assert [answer.author for answer in found.cases[0].answers] == ["p0", "p1"]


def table(scores, word="score"):
    """Return a table of the older MLflow."""
    columns = ["inputs", "outputs", f"m/v1/{word}", "m/v1/justification"]
    return {"columns": columns, "data": [[f"q{n}", f"a{n}", score, ""] for n, score in enumerate(scores)]}


@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        ([1, 5, 3], Scale(1, 5, 1.0)),
        ([0.25, 0.5], Scale(0, 1)),
        ([1, 2, 2], Scale(1, 5)),
        ([7, 10, 8], Scale(1, 10, 1.0)),
        ([0, 4.5, 10], Scale(0, 10, 0.5)),
        ([70, 99, 71], Scale(0, 100, 1.0)),
    ],
)
def test_the_scale_is_the_first_usual_one_that_holds_all_scores(tmp_path, scores, scale):
    """Steps are assumed if three different scores or more are all on them: two values show no step."""
    assert found_in(tmp_path, table(scores)).scale == scale


def test_a_scale_can_be_given(tmp_path):
    """A score beyond it is refused."""
    assert found_in(tmp_path, table([1, 2]), scale=Scale(0, 3)).scale == Scale(0, 3)
    with pytest.raises(ConfigError, match=r"scores from 0 to 3, got 5; correct it, or say the scale"):
        found_in(tmp_path, table([1, 5]), scale=Scale(0, 3))
    with pytest.raises(ConfigError, match=r"usual scale.+from 1 to 500"):
        found_in(tmp_path, table([1, 500]))


def trace(n, value, **more):
    """Return a trace of MLflow that a judge assessed."""
    judged = {"assessment_name": "m", "source": {"source_type": "LLM_JUDGE"}, "feedback": {"value": value}, **more}
    spans = [{"attributes": {"mlflow.spanInputs": json.dumps(f"q{n}"), "mlflow.spanOutputs": json.dumps(f"a{n}")}}]
    return {"info": {"trace_id": f"t{n}", "assessments": [judged]}, "data": {"spans": spans}}


def traces(tmp_path, *values, **how):
    """Return what is gathered from traces with these verdicts."""
    path = tmp_path / "traces.jsonl"
    path.write_text("\n".join(json.dumps(trace(n, value)) for n, value in enumerate(values)), "utf-8")
    return gathered(read_logs([path]), Wanted(**how))


def test_words_are_what_they_are_known_to_mean(tmp_path):
    """Others must be explained; truth values and words may be mixed."""
    assert [ask.verdict for ask in traces(tmp_path, "yes", "No", True).asks] == [1.0, 0.0, 1.0]
    with pytest.raises(ConfigError, match=r"got lovely; .+ --value lovely=1"):
        traces(tmp_path, "yes", "lovely")
    assert [ask.verdict for ask in traces(tmp_path, "yes", "lovely", words={"lovely": 0.5}).asks] == [1.0, 0.5]


def test_a_low_score_is_good_where_the_tool_passes_low_scores(tmp_path):
    """As deepeval does for toxicity: a score at or below the threshold passes."""
    metrics = [(0.0, True), (0.2, True), (0.9, False)]
    cases = [
        {
            "input": f"q{n}",
            "actualOutput": "a",
            "metricsData": [{"name": "Toxicity", "score": score, "threshold": 0.5, "success": passed}],
        }
        for n, (score, passed) in enumerate(metrics)
    ]

    assert found_in(tmp_path, {"testCases": cases}).scale.best == "low"


def test_keys_of_deepeval_may_be_written_in_two_ways(tmp_path):
    """A dump of its result has other keys than a saved run, and a database holds the run as a text."""
    case = {"input": "q", "actual_output": "a", "metrics_data": [{"name": "M", "score": 0.5, "evaluation_model": "m"}]}
    assert found_in(tmp_path, {"test_results": [case]}).model == "m"
    base = sqlite3.connect(tmp_path / "deepeval.db")
    with base:
        base.execute("CREATE TABLE test_runs (payload_json TEXT)")
        base.execute("INSERT INTO test_runs VALUES (?)", [(LOGS / "deepeval.json").read_text("utf-8")])
    base.close()
    assert len(gathered(read_logs([tmp_path / "deepeval.db"]), Wanted()).asks) == 16


def assessed(value, by, who="", **more):
    """Return what a judge or a person said of a trace of MLflow."""
    return {
        "assessment_name": "m",
        "source": {"source_type": by, "source_id": who},
        "feedback": {"value": value},
        **more,
    }


def labels(found):
    """Return what people said of the first case."""
    return json.loads(line(found.cases[0]))["labels"]


def read_of(tool, *documents, **how):
    """Return what is gathered from the documents of one tool."""
    log = Log(tool, ("log.json",))
    READERS[tool](documents, log)
    return gathered(log, Wanted(**how))


def test_a_verdict_that_a_person_corrected_is_still_the_verdict_of_the_judge():
    """MLflow marks it as no longer valid; what a person replaced by another label is left out."""
    one = trace(0, "yes", assessment_id="a1", valid=False)
    one["info"]["assessments"] += [
        assessed("yes", "HUMAN", "ann", assessment_id="h1", valid=False),
        assessed("no", "HUMAN", "ann", overrides="h1", valid=True),
    ]

    found = read_of("mlflow", one)

    assert [ask.verdict for ask in found.asks] == [1.0]
    assert labels(found) == {"ann": 0.0}
    assert "left out: 1 x m: a person replaced it" in found.notes


def test_no_label_of_a_person_is_lost_without_a_word():
    """Those without a name are numbered; of two labels of one person the later one stands, and the other is counted."""
    one = trace(0, "yes")
    said = [("no", "default"), ("yes", ""), ("no", "annotator-1"), ("no", "ann"), ("yes", "ann")]
    one["info"]["assessments"] += [assessed(value, "HUMAN", who) for value, who in said]
    other = trace(1, "yes")
    other["info"]["assessments"] = [assessed("yes", "HUMAN", "ann")]

    found = read_of("mlflow", one, other)

    assert labels(found) == {"annotator-1": 0.0, "annotator-2": 0.0, "annotator-3": 1.0, "ann": 1.0}
    assert "1 verdicts of people are left out: the same person gave another one later" in found.notes
    assert "1 verdicts of people are left out: the judge said nothing of the same answer" in found.notes


def test_words_of_the_judge_and_of_people_stand_on_one_scale():
    """A known word is an end of the scale, whoever said it; a number and an explained word are as they are."""
    one = trace(0, "pass")
    one["info"]["assessments"] += [assessed("pass", "HUMAN", "ann"), assessed("p", "HUMAN", "bob")]

    found = read_of(
        "mlflow", one, trace(1, False), trace(2, "7"), trace(3, "so"), scale=Scale(0, 10), words={"so": 4.0}
    )

    assert [ask.verdict for ask in found.asks] == [10.0, 0.0, 7.0, 4.0]
    assert labels(found) == {"ann": 10.0, "bob": 5.0}


TALK = [
    {"role": "user", "content": "What is 6*7?"},
    {"role": "assistant", "content": "", "tool_calls": [{"name": "mul"}]},
    {"role": "tool", "content": "42"},
    {"role": "assistant", "content": "It is 42."},
]
BLOCKS = [
    {"role": "user", "content": "What is 6*7?"},
    {"role": "assistant", "content": [{"type": "tool_use", "name": "mul"}]},
    {"role": "user", "content": [{"type": "tool_result", "content": "42"}]},
    {"role": "assistant", "content": [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "It is 42."}]},
]


def traced(*scores, observations=(), **texts):
    """Return a trace of Langfuse."""
    return {"id": "t", "timestamp": "1", "input": "q", "output": "a", **texts} | {
        "observations": list(observations),
        "scores": [
            {"id": f"s{n}", "traceId": "t", "name": "m", "source": "EVAL", "dataType": "NUMERIC", **score}
            for n, score in enumerate(scores)
        ],
    }


@pytest.mark.parametrize("talk", [TALK, BLOCKS])
def test_an_answer_after_a_tool_is_what_the_assistant_said_last(talk):
    """The question is what the user asked; what the tool was asked and replied is left out, and that is said."""
    found = read_of("langfuse", traced({"value": 1}, input={"messages": talk[:1]}, output={"messages": talk}))

    assert (found.cases[0].question, found.cases[0].answers[0].text) == ("What is 6*7?", "It is 42.")
    assert "in 1 of 1 cases tools were used: their calls and replies are left out" in found.notes
    assert [turn.role for turn in turns_of(talk)] == ["user", "tool", "tool", "assistant"]
    assert prompt_of(talk) == (), "a prompt without its tools is none that was sent"


def spelled(values):
    """Return attributes as OTLP writes them."""
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


@pytest.mark.parametrize("flat", [False, True])
def test_a_span_with_a_turn_of_a_tool_has_its_question_and_its_answer(flat):
    """As JSON of OpenTelemetry, or as names of OpenInference."""
    parts = [
        {"role": "user", "parts": [{"type": "text", "content": "What is 6*7?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "mul"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": "42"}]},
    ]
    reply = [{"role": "assistant", "parts": [{"type": "text", "content": "It is 42."}]}]
    attributes = {"gen_ai.input.messages": json.dumps(parts), "gen_ai.output.messages": json.dumps(reply)}
    if flat:
        attributes = {
            f"llm.{way}_messages.{place}.message.{key}": turn[key]
            for way, turns in (("input", TALK[:3]), ("output", TALK[3:]))
            for place, turn in enumerate(turns)
            for key in ("role", "content")
        } | {"llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "mul"}
    said = {"gen_ai.evaluation.name": "m", "gen_ai.evaluation.score.label": "pass"}
    span = {
        "traceId": "t",
        "spanId": "s",
        "name": "chat",
        "attributes": spelled(attributes),
        "events": [{"name": "gen_ai.evaluation.result", "attributes": spelled(said)}],
    }

    found = read_of("otel", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})

    assert (found.cases[0].question, found.cases[0].answers[0].text) == ("What is 6*7?", "It is 42.")
    assert any("tools were used" in note for note in found.notes)


def test_a_score_of_an_observation_is_about_its_input_and_output():
    """Not about the trace; if the observation is not among the files, the score is left out."""
    part = {"id": "o", "traceId": "t", "parentObservationId": "p", "type": "GENERATION", "input": "q1", "output": "a1"}
    scores = [{"value": 0.5}, {"value": 1, "observationId": "o"}, {"value": 0, "observationId": "gone"}]

    found = read_of("langfuse", traced(*scores, observations=[part]))

    assert [(case.id, case.question, case.answers[0].text) for case in found.cases] == [
        ("t", "q", "a"),
        ("o", "q1", "a1"),
    ]
    assert [ask.verdict for ask in found.asks] == [0.5, 1.0]
    assert "left out: 1 x a score whose observation is not among the files, or has no input or no output" in found.notes


def test_a_score_that_was_sent_is_no_second_ask_of_the_evaluator():
    """It is another judge; alone under its name it is one."""
    sent = {"value": 1, "source": "API"}

    found = read_of("langfuse", traced({"value": 0}, sent))

    assert [ask.verdict for ask in found.asks] == [0.0]
    assert any("left out: 1 x m: sent to the API" in note for note in found.notes)
    assert [ask.verdict for ask in read_of("langfuse", traced(sent)).asks] == [1.0]


@pytest.mark.parametrize(
    ("options", "panel"), [({"model": ["x", "y"]}, {}), ({}, {"panel": {"votes": ["I", "C"], "size": 2}})]
)
def test_a_panel_of_inspect_has_no_prompt_and_no_reply(options, panel):
    """The log keeps those of the first grader, who may have said the opposite."""
    grading = [{"role": "user", "content": "Grade."}, {"role": "assistant", "content": "GRADE: I", "model": "x"}]

    def log_with(options, metadata):
        score = {"value": "C", "explanation": "GRADE: I", "metadata": {"grading": grading, **metadata}}
        sample = {"id": "s", "input": "q", "target": "", "output": {"completion": "a"}, "scores": {"m": score}}
        return {"eval": {"scorers": [{"name": "m", "options": options}]}, "samples": [sample]}

    found = read_of("inspect", log_with(options, panel))
    alone = read_of("inspect", log_with({"model": "x"}, {}))

    assert [(a.verdict, a.judgment.reply, a.judgment.prompt, a.judgment.reason) for a in found.asks] == [
        (1.0, "", (), "")
    ]
    assert any("m is a panel of several graders" in note for note in found.notes)
    assert [ask.judgment.reply for ask in alone.asks] == ["GRADE: I"]


def test_a_panel_of_inspect_that_does_not_agree_said_nothing():
    """It counts as unreadable; one whose graders all failed is left out."""
    samples = [
        {
            "id": place,
            "input": f"q{place}",
            "output": {"completion": "a"},
            "scores": {
                "m": {
                    "value": value,
                    "metadata": {
                        "grading": [{"role": "user", "content": "?", "model": "x"}],
                        "panel": {"votes": votes},
                    },
                }
            },
        }
        for place, (value, votes) in enumerate([("C", ["C", "C"]), (float("nan"), ["I", "C"]), (None, [None, None])])
    ]

    found = read_of("inspect", {"eval": {}, "samples": samples})

    assert [ask.verdict for ask in found.asks] == [1.0, None]
    assert "1 of 3 verdicts are left out: the judge failed" in found.notes


def test_a_blank_question_or_answer_is_left_out_and_counted(tmp_path):
    """Of nothing else is there a word."""
    blank, asked = promptfoo(component(), output="  \n"), promptfoo(component(), vars={"query": " "})
    rows = [row for one in (promptfoo(component()), blank, asked) for row in one["results"]["results"]]

    found = found_in(tmp_path, {"results": {"results": rows}})

    assert len(found.cases) == 1
    assert "left out: 2 x a verdict on an empty question or an empty answer" in found.notes
    with pytest.raises(ConfigError, match="got empty questions or answers alone"):
        found_in(tmp_path, blank)


@pytest.mark.parametrize("lines", [False, True])
def test_the_choices_of_two_files_are_of_two_tests(tmp_path, lines):
    """Each file numbers its tests from 0, whether it is one document or a row a line."""
    for name in "12":
        rows = [
            row
            for place in (0, 1)
            for row in promptfoo(
                component(float(place), kind="select-best"),
                promptIdx=place,
                output=f"a{place}",
                vars={"query": f"q{name}"},
            )["results"]["results"]
        ]
        text = "\n".join(map(json.dumps, rows)) if lines else json.dumps({"results": {"results": rows}})
        (tmp_path / name).write_text(text, "utf-8")

    found = gathered(read_logs([tmp_path / "1", tmp_path / "2"]), Wanted())

    assert [(case.question, len(case.answers)) for case in found.cases] == [("q1", 2), ("q2", 2)]
    assert [ask.verdict for ask in found.asks] == ["b", "b"]


def test_the_answer_of_a_conversation_is_the_last_turn_of_the_assistant(tmp_path):
    """What the user says after it is left out, and counted."""

    def talk(*turns):
        spoken = [{"role": role, "content": text} for role, text in turns]
        return {"turns": spoken, "metricsData": [{"name": "M", "score": 1}]}

    cases = [talk(("user", "Refund?"), ("assistant", "Done."), ("user", "bye")), talk(("user", "Hello?"))]

    found = found_in(tmp_path, {"conversationalTestCases": cases})

    assert [(case.question, case.answers[0].text) for case in found.cases] == [("user: Refund?", "Done.")]
    [left] = [note for note in found.notes if note.startswith("left out")]
    assert "1 x a turn after the last one of the assistant" in left
    assert "1 x a conversation without a turn of the assistant" in left


def test_gold_of_people_under_another_name_is_named(tmp_path):
    """It is taken if it is asked for."""
    one = trace(0, "yes")
    said = {
        "assessment_name": "right",
        "source": {"source_type": "HUMAN", "source_id": "ana"},
        "feedback": {"value": False},
    }
    one["info"]["assessments"].append(said)
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(one), "utf-8")
    log = read_logs([path])

    assert any("other names: right (1)" in note for note in gathered(log, Wanted()).notes)
    assert gathered(log, Wanted(gold="right")).cases[0].scores == {"only": 0.0}
    with pytest.raises(ConfigError, match=r"--gold.+\(right \(1\)\), got 'rihgt'; did you mean 'right'"):
        gathered(log, Wanted(gold="rihgt"))


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ({"resourceSpans": []}, "otel"),
        ({"data": [{"dataType": "NUMERIC", "name": "n"}]}, "langfuse"),
        ({"eval": {}, "version": 2, "samples": []}, "inspect"),
        ({"testCases": []}, "deepeval"),
        ({"question": "q", "answer": "a"}, None),
        ([1], None),
    ],
)
def test_a_file_is_known_by_its_keys(document, kind):
    """A table of one's own is none of them."""
    assert sniffed([document]) == kind


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected results, got an empty file"),
        ('{"question": "q"}', "got a file that none of them writes"),
        ('{"run_type": "llm"}', "runs of LangSmith, by its key 'run_type'"),
        ('{"results": ', "line 1: expected JSON"),
        ('{"testCases": []}\n{"a', "line 2: expected JSON, got an error: a text that is not closed"),
        ('{"testCases": []}', r"expected verdicts of a judge, got none \(no record\)"),
        ('{"testCases": [{"input": "q", "metricsData": 7}]}', "1 x a test case without an input or an output"),
        ("[" * 100_000, "nested at most 100 deep"),
        ("Status,Score,Grader Reason\nPASS,1,x\n", "promptfoo export eval latest"),
    ],
)
def test_a_file_that_is_no_log_is_refused_in_one_paragraph(tmp_path, text, message):
    """With its name, what was found, and what to do."""
    path = tmp_path / "file.json"
    path.write_text(text, "utf-8")

    with pytest.raises(ConfigError, match=message):
        gathered(read_logs([path]), Wanted())


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x1f\x8bno", b"SQLite format 3\0"])
def test_bytes_that_are_no_text_are_refused(tmp_path, data):
    """Also what begins as a packed file or a database does."""
    (tmp_path / "file").write_bytes(data)

    with pytest.raises(ConfigError, match="expected"):
        read_logs([tmp_path / "file"])


def test_a_log_points_to_the_import():
    """Where a log is handed over as cases, after the fault of its first line."""
    with pytest.raises(ConfigError, match=r"it is a log of another tool: calm cases import .+promptfoo\.json -o cases"):
        read_files([str(LOGS / "promptfoo.json")])
