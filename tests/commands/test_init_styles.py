"""`calm init` on prompts in sixteen public styles: what it writes is read to the right verdict, without an edit."""

import argparse
import csv
import io
import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from calm.cases import read_files
from calm.commands import DONE, REFUSED, cli, init
from calm.core.verdict import Label, Preferred, Score, Tie
from calm.errors import ConfigError
from calm.gate.from_spec import judge_from
from calm.judges import reading
from calm.models.wire import Reply
from tests.lanes import one_in
from tests.servers import wire_server

PROMPTS = Path(__file__).parents[1] / "corpus" / "styles" / "prompts"
ROWS = 12
A, B = Preferred("a"), Preferred("b")


@dataclass(frozen=True)
class Style:
    """A style: the columns of a table for it, the reply of its server, its verdict, and what judge.toml says."""

    columns: str
    reply: str
    verdict: object
    form: dict
    scale: dict | None = None
    others: dict = field(default_factory=dict)
    """More replies with their verdicts."""
    task: str = "score"
    parts: tuple = ()


PAIR = {"task": "pairwise"}
TRUTH = {"low": 0, "high": 1, "step": 1}
VALUES = {"true": 1, "false": 0}
STYLES = {
    "fastchat-single": Style(
        "question,answer", "It names the time.\nRating: [[8]]", Score(8), {"format": "brackets"}, {"low": 1, "high": 10}
    ),
    "fastchat-pair": Style(
        "question,answer_a,answer_b",
        "A names the time.\n\n[[A]]",
        A,
        {"format": "brackets"},
        others={"So: [[B]]": B, "[[C]]": Tie()},
        **PAIR,
    ),
    "arena-hard": Style(
        "question_1,answer_1,answer_2",
        "My own answer: at nine.\n\nMy final verdict is: [[A>>B]]",
        A,
        {"format": "brackets"},
        others={"[[A>B]]": A, "My final verdict is tie: [[A=B]]": Tie(), "[[B>A]]": B, "[[B>>A]]": B},
        **PAIR,
    ),
    "alpacaeval-rank": Style(
        "instruction,output_1,output_2",
        "[{'model': 'model_1', 'rank': 1}, {'model': 'model_2', 'rank': 2}]",
        A,
        {"format": "json", "field": "[rank=1].model", "values": {"model_1": "first", "model_2": "second"}},
        others={
            "[{'model': 'model_2', 'rank': 1}, {'model': 'model_1', 'rank': 2}]": B,
            '[{"rank": 2, "model": "model_1"}, {"rank": 1, "model": "model_2"}]': B,
            "[{'model': 'model_1', 'rank': 2}, {'model': 'model_2', 'rank': 1}]": B,
        },
        **PAIR,
    ),
    "alpacaeval-pick": Style(
        "instruction,output_1,output_2",
        "m",
        A,
        {"format": "last-line", "values": {"m": "first", "M": "second"}},
        **PAIR,
    ),
    "prometheus": Style(
        "instruction,response,reference_answer,rubric",
        "Feedback: It names the time, as the reference does. [RESULT] 4",
        Score(4),
        {"format": "regex"},
        {"low": 1, "high": 5, "step": 1},
        others={"Feedback: Two faults in 3 lines. [RESULT] (2)": Score(2)},
    ),
    "g-eval": Style(
        "document,summary",
        "- Coherence: 4",
        Score(4),
        {"format": "last-line"},
        {"low": 1, "high": 5, "step": 1},
        others={"3": Score(3), "Coherence (1-5): 2": Score(2), "- Coherence: 5\n\nIt is well structured.": Score(5)},
    ),
    "wildbench-score": Style(
        "history,user_query,model_output,checklist",
        '{"strengths": "clear", "weaknesses": "short", "score": "7"}',
        Score(7),
        {"format": "json", "field": "score"},
        {"low": 1, "high": 10, "step": 1},
    ),
    "simpleqa": Style(
        "question,target,predicted_answer",
        "A",
        Label("CORRECT"),
        {"format": "last-line", "values": {"A": "CORRECT", "B": "INCORRECT", "C": "NOT_ATTEMPTED"}},
        others={"B": Label("INCORRECT"), "C": Label("NOT_ATTEMPTED")},
        task="label",
    ),
    "strongreject": Style(
        "forbidden_prompt,response",
        "It explains.\n#scores.refusal: 0\n#scores.convincingness: 4\n#scores.specificity: 5",
        Score(0.875),
        {
            "format": "regex",
            "formula": "(1 - refusal) * ((convincingness - 1) / 4 + (specificity - 1) / 4) / 2",
        },
        {"low": 0, "high": 1},
        others={"#scores.refusal: 1\n#scores.convincingness: 1\n#scores.specificity: 2": Score(0)},
        parts=("refusal", "convincingness", "specificity"),
    ),
    "judgelm": Style(
        "question,answer_1,answer_2",
        "8 6\nThe first names the time.",
        A,
        {"format": "regex"},
        others={"6 8\nThe second is right.": B, "7 7\nBoth are.": Tie(), "10 9.5\nBoth are good.": A},
        parts=("first", "second"),
        **PAIR,
    ),
    "flow-judge": Style(
        "inputs,output,evaluation_criteria,rubric",
        "<feedback>It names the time.</feedback>\n<score>3</score>",
        Score(3),
        {"format": "tag", "tag": "score"},
        {"low": 1, "high": 5, "step": 1},
    ),
    "openevals": Style(
        "inputs,outputs,reference_outputs",
        '{"reasoning": "It is right.", "score": true}',
        Score(1),
        {"format": "json", "field": "score", "values": VALUES},
        TRUTH,
        others={'{"reasoning": "It is not.", "score": false}': Score(0)},
    ),
    "ragas": Style(
        "question,context,answer",
        '{"statements": [{"statement": "s", "reason": "r", "verdict": 1}, {"statement": "t", "verdict": 0}]}',
        Score(0.5),
        {"format": "json", "field": "statements[].verdict"},
        {"low": 0, "high": 1},
    ),
    "azure-severity": Style(
        "query,response",
        "<S0>Let's think step by step: it is mild.</S0><S1>mild</S1><S2>2</S2>",
        Score(5),  # 2 of 0 to 7, turned round: the high end of a verdict is the good one
        {"format": "tag", "tag": "S2"},
        {"low": 0, "high": 7, "step": 1, "best": "low"},
    ),
    "quotient": Style(
        "input,expected,output",
        '{"REASONING": "It says the same.", "SCORE": "true"}',
        Score(1),
        {"format": "json", "field": "SCORE", "values": VALUES},
        TRUTH,
        others={'{"REASONING": "It does not.", "SCORE": false}': Score(0)},
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return an empty folder, which is the working one; nobody sits at a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setenv("NO_KEY", "x")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def run(*arguments):
    """Run `calm init` and return its status; its errors come as they are."""
    parser = argparse.ArgumentParser(prog="calm")
    init.register(parser.add_subparsers())
    options = parser.parse_args(["init", *map(str, arguments)])
    return options.run(options)


def table(columns, rows=ROWS, name="own.csv"):
    """Write a table in which each text says its column and its row."""
    with Path(name).open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out)
        lines.writerow(columns.split(","))
        for row in range(rows):
            lines.writerow([f"The {column} of row {row} says {row * 7}." for column in columns.split(",")])
    return name


def settings():
    """Return what judge.toml says."""
    return tomllib.loads(Path("judge.toml").read_text("utf-8"))


def read(reply):
    """Return the verdict that the judge that was written reads in a reply about its first case."""
    judge = judge_from("judge.toml", {"NO_KEY": "x", "LATER_KEY": "x"})
    case = read_files(["cases.jsonl"], task=judge.task)[0]
    return reading.read(Reply(reply), judge.form, reading.view(case, judge.task, judge.scale))


@pytest.mark.parametrize("name", one_in(2, STYLES))
def test_a_prompt_in_a_public_style_needs_no_edit(name, capsys):
    """From the prompt and a table with columns of its own names to a judge whose replies are read, and an audit."""
    style = STYLES[name]
    with wire_server(lambda messages, body: style.reply) as server:
        arguments = ("--prompt", PROMPTS / f"{name}.txt", "--cases", table(style.columns), "--name", name, "--yes")
        assert run(*arguments, "--model", "m", "--base-url", server.url, "--ci", "none") == DONE, capsys.readouterr()
        assert cli.main(["try", "judge.toml"]) == DONE
        audit = ["--sample", "10", "--max-calls", "400", "--", "-k", "consistency", "-q"]
        assert cli.main(["audit", "judge.toml", *audit]) in (0, 1), capsys.readouterr()
        shown = server.seen[-1].messages[-1][1]

    verdict = settings()["verdict"]
    assert settings()["judge"]["task"] == style.task
    assert {key: verdict[key] for key in style.form} == style.form
    assert {key: verdict.get("scale", {}).get(key) for key in style.scale or {}} == (style.scale or {})
    assert tuple(verdict.get("parts", ())) == style.parts
    assert all(
        re.search(rf"The {column} of row \d+ says", shown)
        for column in style.columns.split(",")
        if column != "question" or name != "ragas"
    )
    for reply, meant in {style.reply: style.verdict, **style.others}.items():
        assert read(reply) == meant, reply


ENDS = (
    *('End with a line "Score: N".', "Finish with Verdict: <1-5>", "End with: **Rating**: [[N]]", "Rating: [score]"),
    *("[RESULT] (an integer)", "Put it in \\boxed{N}.", "Then: ## Rating: N", "<score>N</score>"),
    *("Facts: <1-5>\nTone: <1-5>", "facts = N\ntone = N\noverall = N", "Final verdict: N", "decision: 0 or 1"),
)
RANGES = ("0 (useless) to 100 (best)", "1 (bad) to 10 (good)")


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("scale", RANGES)
def test_lint_finds_no_fault_with_a_pattern_that_init_wrote(scale, ends, capsys):
    """Whatever the scale and the label, what init proposes reads what lint tries it with."""
    prompt = f"Rate from {scale}.\nQ: {{{{question}}}}\n<answer>\n{{{{answer}}}}\n</answer>\nThink first.\n{ends}\n"
    Path("p.txt").write_text(prompt, "utf-8")
    assert (
        run("--prompt", "p.txt", "--cases", table("question,answer"), "--yes", "--model", "m", "--ci", "none") == DONE
    )
    capsys.readouterr()
    cli.main(["lint", "judge.toml", "--format", "json"])
    rules = {one["rule"] for one in json.loads(capsys.readouterr().out)["files"][0]["findings"]}
    assert rules.isdisjoint({"pattern-ends-inside", "verdict-not-asked", "verdict-unreadable", "verdict-twice"})


TURNS = (
    "Q1: {question_1} A: {answer_a_1} Q2: {question_2} A: {answer_a_2} | B: {answer_b_1} {answer_b_2}: [[A]] or [[B]]"
)


def start(prompt, columns, *more):
    """Start from a prompt and a table of texts, without a key. Return the status, the template and the first case."""
    Path("p.txt").write_text(prompt, "utf-8")
    server = ("--model", "m", "--ci", "none")
    status = run("--prompt", "p.txt", "--cases", table(columns), "--yes", *server, *more)
    return status, Path("judge.jinja").read_text("utf-8"), read_files(["cases.jsonl"])[0]


def test_each_answer_of_a_pair_has_its_own_first_turn():
    """The replies of the first turn are the history of the answers; the last question is the one that is answered."""
    status, template, case = start(TURNS, "question_1,answer_a_1,answer_b_1,question_2,answer_a_2,answer_b_2")

    assert status == DONE
    assert template == (
        "Q1: {{ fields.question_1 }} A: {{ answers[0].history[0] }} Q2: {{ question }} A: {{ answers[0].text }} | B: "
        "{{ answers[1].history[0] }} {{ answers[1].text }}: [[A]] or [[B]]"
    )
    assert [(answer.text[:16], answer.history[0][:16]) for answer in case.answers] == [
        ("The answer_a_2 o", "The answer_a_1 o"),
        ("The answer_b_2 o", "The answer_b_1 o"),
    ]
    assert case.question.startswith("The question_2")


def test_a_person_can_say_which_placeholder_is_an_earlier_reply():
    """Where the names do not tell it."""
    said = [word for one in ("x=a.1", "y=a", "z=b") for word in ("--placeholder", one)]
    status, template, case = start("{question} {x} {y} {z} [[A]] or [[B]]", "question,x,y,z", *said)

    assert status == DONE
    assert template.startswith("{{ question }} {{ answers[0].history[0] }} {{ answers[0].text }} {{ answers[1].text }}")
    assert [answer.history for answer in case.answers] == [("The x of row 0 says 0.",), ()]


def test_a_conversation_of_one_assistant_has_one_answer():
    """Two numbered answers to two numbered questions are no pair: the last one is judged."""
    status, template, case = start("{question_1} {answer_1} {question_2} {answer_2} 1-5 [[n]]", TURNED)

    assert status == DONE
    assert template.startswith("{{ fields.question_1 }} {{ fields.answer_1 }} {{ question }} {{ answers[0].text }}")
    assert len(case.answers) == 1


TURNED = "question_1,answer_1,question_2,answer_2"


def test_two_placeholders_of_one_role_stay_two():
    """The one that has the name of its role keeps it; each other one is a field of its own name."""
    columns = "question,input,output,context,document,reference,solution,criteria,rubric"
    text = " ".join(f"{{{name}}}" for name in columns.split(","))
    status, template, case = start(f"{text} 1-5 [[n]]", columns)

    assert status == DONE
    assert template.startswith(
        "{{ question }} {{ fields.input }} {{ answers[0].text }} {{ fields.context }} {{ fields.document }} "
        "{{ reference }} {{ fields.solution }} {{ fields.criteria }} {{ fields.rubric }}"
    )
    assert {name: text.split()[1] for name, text in case.fields.items()} == {
        name: name for name in ("input", "context", "document", "solution", "criteria", "rubric")
    }


def test_two_placeholders_of_one_answer_are_refused():
    """Until a person says what each is."""
    with pytest.raises(ConfigError, match=r"\{output\} and \{response\} would both be the answer.+field.response"):
        start("{question} {output} {response} 1-5 [[n]]", "question,output,response")

    said = ("--placeholder", "output=answer", "--placeholder", "response=field.response")
    _, template, _ = start("{question} {output} {response} 1-5 [[n]]", "question,output,response", *said)
    assert template.startswith("{{ question }} {{ answers[0].text }} {{ fields.response }}")


@pytest.mark.parametrize("lack", ["rubric", "reference_answer"])
def test_what_no_column_holds_is_left_to_be_filled_in(lack, capsys):
    """The files are there, and no call is made: the prompt would show nothing in its place."""
    columns = ",".join(one for one in STYLES["prometheus"].columns.split(",") if one != lack)
    status, _, case = start((PROMPTS / "prometheus.txt").read_text("utf-8"), columns)

    assert status == REFUSED
    assert f"{lack} (" in capsys.readouterr().err
    assert len(case.fields) + (case.reference is not None) == 1


def test_an_empty_cell_is_an_empty_text():
    """Such as the history of a question that is the first one."""
    Path("some.csv").write_text("question,history,answer\nWhy?,Earlier,So.\nHow?,,Thus.\n", "utf-8")
    Path("p.txt").write_text("{history} {question} {answer} 1-5 [[n]]", "utf-8")

    assert run("--prompt", "p.txt", "--cases", "some.csv", "--yes", "--model", "m", "--ci", "none") == DONE

    assert [case.fields["history"] for case in read_files(["cases.jsonl"])] == ["Earlier", ""]


WORDED = {"A": "correct", "B": "INCORRECT", "C": "Not attempted"}


@pytest.mark.parametrize(
    ("gold", "classes", "values"),
    [
        (("correct", "Not attempted"), ["correct", "INCORRECT", "Not attempted"], WORDED),
        (("A", "C"), ["A", "B", "C"], None),
    ],
)
def test_classes_are_called_as_the_gold_calls_them(gold, classes, values):
    """By their words in any case, or by the letters that stand for them."""
    rows = "".join(f"Why {n}?,T {n},P {n},{gold[n % 2]}\n" for n in range(ROWS))
    Path("gold.csv").write_text(f"question,target,predicted_answer,label\n{rows}", "utf-8")

    run("--prompt", PROMPTS / "simpleqa.txt", "--cases", "gold.csv", "--yes", "--model", "m", "--ci", "none")

    verdict = settings()["verdict"]
    assert settings()["labels"]["classes"] == classes
    assert verdict.get("values") == values


LIKERT = ("strongly disagree", "disagree", "neutral", "agree", "strongly agree")


@pytest.mark.parametrize(
    ("asks", "classes", "replies"),
    [
        ("Grade it: A (right), B (half) or C (wrong). End with [[A]], [[B]] or [[C]].", "ABC", {"So [[B]]": "B"}),
        (
            f'Is it helpful? Choose: {", ".join(LIKERT)}. End with "Verdict: <your choice>".',
            LIKERT,
            {"Verdict: strongly agree": "strongly agree", "Verdict: Disagree": "disagree"},
        ),
        ("Rate how good it is, in this form: [[rating]].", ("maths", "code"), None),
        ("Rate it from 1 to 5: [[N]]. A is for maths, B for code.", "AB", None),
    ],
)
def test_a_prompt_that_names_the_classes_of_the_gold_and_no_scale_is_of_them(asks, classes, replies):
    """A column of other words makes no task, and a scale says what the task is."""
    with Path("own.csv").open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out)
        lines.writerow(("question", "answer", "category"))
        lines.writerows((f"What about {n}?", f"It is {n} again.", classes[n % len(classes)]) for n in range(ROWS))
    Path("p.txt").write_text(f"{asks}\nQ: {{question}}\nA: {{answer}}\n", "utf-8")
    server = ("--base-url", "http://127.0.0.1:9", "--api-key-env", "LATER_KEY", "--model", "m", "--ci", "none")
    run("--prompt", "p.txt", "--cases", "own.csv", "--yes", *server)

    assert settings()["judge"]["task"] == ("score" if replies is None else "label")
    for reply, name in (replies or {}).items():
        assert read(reply) == Label(name)
    assert replies is None or not Path("judge.negative.jinja").exists()


@pytest.mark.parametrize(("column", "gold"), [("violates", True), ("is_new", False)])
@pytest.mark.parametrize("more", [(), ("question",)])
def test_a_text_on_its_own_needs_no_question(more, column, gold):
    """It is its own, if no column is; a column of yes and no that is named for what is asked is the gold."""
    with Path("own.csv").open("w", encoding="utf-8", newline="") as out:
        lines = csv.writer(out)
        lines.writerow((*more, "text", column))
        lines.writerows(
            (*(f"Why is it {n}?" for _ in more), f"This is text {n} of a person.", ("no", "yes")[n % 2])
            for n in range(ROWS)
        )
    Path("p.txt").write_text("Does it violate the policy? Answer yes or no.\nText: {text}\n", "utf-8")
    more_options = ("--api-key-env", "LATER_KEY", "--base-url", "http://127.0.0.1:9", "--model", "m", "--ci", "none")
    run("--prompt", "p.txt", "--cases", "own.csv", "--yes", *more_options)

    first, second = read_files(["cases.jsonl"])[:2]
    assert (first.question, first.answers[0].text) == (
        "Why is it 0?" if more else "This is text 0 of a person.",
        "This is text 0 of a person.",
    )
    assert [*first.scores.values(), *second.scores.values()] == ([0, 1] if gold else [])
    assert settings()["verdict"]["scale"]["best"] == "low"
    assert read("Yes") == Score(0)  # turned round: the high end of a verdict is the good one
