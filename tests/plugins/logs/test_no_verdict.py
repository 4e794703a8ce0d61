"""What is no verdict and what is no case: words for "unsure", empty texts, failed runs, and numeric preferences."""

import json

import pytest

from calm import ConfigError
from calm.cases.foreign import columns_from, import_cases
from calm.cases.logs import Wanted, gathered, read_logs
from calm.cases.logs.values import question_in
from calm.core.case import Answer, Case, Criterion
from calm.core.verdict import Criteria, Scale, Unreadable
from calm.judges import reading
from calm.judges.reading import Format
from calm.judges.recorded.replay import Replay, table_in
from calm.judges.recorded.results_table import results_in
from calm.models.wire import Reply


def wrote(tmp_path, rows, name="file.jsonl"):
    """Write records, one a line, and return the path."""
    path = tmp_path / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def pairs(*better):
    """Return records of pairs with what was said to be better."""
    return [
        {"question": f"q{n}", "answer_a": f"x{n}", "answer_b": f"y{n}", "better": said} for n, said in enumerate(better)
    ]


def gold(result):
    """Return the better answer of each case as a letter."""
    return [case.better for case in result.cases]


def traces(tmp_path, *said, gold=None, **how):
    """Return what is gathered from traces whose judge said some words, and people others."""
    rows = []
    for n, word in enumerate(said):
        scores = [{"id": f"s{n}", "source": "EVAL", "stringValue": word}]
        scores += [{"id": f"p{n}", "source": "ANNOTATION", "stringValue": gold[n]}] if gold else []
        shared = {"traceId": f"t{n}", "name": "g", "dataType": "CATEGORICAL"}
        about = {"id": f"t{n}", "timestamp": "", "input": f"q{n}", "output": f"a{n}", "observations": []}
        rows.append({**about, "scores": [{**one, **shared} for one in scores]})
    return gathered(read_logs([wrote(tmp_path, rows)]), Wanted(**how))


# ------------------------------------------------------------------------------------------------- numeric preferences


@pytest.mark.parametrize("kind", [float, str])
def test_numbers_from_1_to_2_are_a_preference(tmp_path, kind):
    """Below 1.5 the first answer is better, above it the second one; null is no gold."""
    said = [None if one is None else kind(one) for one in (1.0000051, 1.99, 1.0, 2.0, 1.5, None)]

    assert gold(import_cases(wrote(tmp_path, pairs(*said)))) == ["a", "b", "a", "b", "tie", None]


@pytest.mark.parametrize(
    ("said", "values"),
    [((1, 1, 1), ()), ((0, 1, 2), ()), ((1, 1.5, 3), ()), ((1, 2, 1.5), ("1=b",)), ((1, 2, -1), ())],
)
def test_other_numbers_are_none(tmp_path, said, values):
    """All 1 may be true values; what a user says of one number goes before the others."""
    with pytest.raises(ConfigError):
        import_cases(wrote(tmp_path, pairs(*said)), columns=columns_from([], values))


def test_what_a_user_says_of_a_number_wins(tmp_path):
    columns = columns_from([], ["0=tie", "-1=none", "1.5=none"])

    assert gold(import_cases(wrote(tmp_path, pairs(0, -1, 1.5, 1.2, 2)), columns=columns)) == [
        "tie",
        None,
        None,
        "a",
        "b",
    ]


def test_a_judge_may_say_a_numeric_preference(tmp_path):
    """In a table of results, and in a table of verdicts on cases that have an order of their own."""
    rows = [
        {**row, "better": None, "judge": said}
        for row, said in zip(pairs(1, 2, 3, 4), (1.1, 1.9, 1.5, "huh"), strict=True)
    ]
    results = results_in(wrote(tmp_path, rows), {"verdict": "judge"}, {"huh": "none"})
    assert [entry.said for entry in results.judge.record.entries.all] == ["a", "b", "tie", None]

    case = Case(id="c", question="q", answers=(Answer("x", "1"), Answer("y", "2")))
    table = table_in(wrote(tmp_path, [{"case": "c", "repeat": n, "verdict": v} for n, v in ((1, 1.2), (2, 1.7))]))
    judge = Replay("j", "pairwise", Scale(), table, Format())
    judge.record.recall([case])
    assert [one.answer for one in judge.record.verdicts(case)] == ["x", "y"]
    ordered = wrote(tmp_path, [{"case": "c", "order": ["y", "x"], "verdict": v} for v in (1.2,)])
    with pytest.raises(ConfigError):
        Replay("j", "pairwise", Scale(), table_in(ordered), Format()).record.recall([case])


# -------------------------------------------------------------------------------------------- words that are no verdict


def test_a_word_of_the_gold_may_be_no_verdict(tmp_path):
    """Only if a user says so: the word none itself is asked about, as is a word in another case."""
    columns = columns_from([], ["unsure=none"])

    assert gold(import_cases(wrote(tmp_path, pairs("a", "unsure", "B")), columns=columns)) == ["a", None, "b"]
    for word in ("none", "None", "Unsure"):
        with pytest.raises(ConfigError):
            import_cases(wrote(tmp_path, pairs("a", word)), columns=columns)
    rows = [{"question": f"q{n}", "answer": "x", "score": said} for n, said in enumerate((3, -1.0, "N/A", 5))]
    scored = import_cases(wrote(tmp_path, rows), columns=columns_from([], ["-1=none", "N/A=none"]))
    assert [case.scores.get("only") for case in scored.cases] == [3, None, None, 5]
    rows = [{"question": f"q{n}", "answer": "x", "label": said} for n, said in enumerate(("ok", "unsure"))]
    assert [case.label for case in import_cases(wrote(tmp_path, rows), columns=columns).cases] == ["ok", None]


def test_a_word_of_a_log_may_be_no_verdict(tmp_path):
    """It counts as unreadable for a judge, and is no gold of a person."""
    said, people = ("yes", "unsure", "no"), ("yes", "yes", "unsure")
    with pytest.raises(ConfigError):
        traces(tmp_path, *said)

    found = traces(tmp_path, *said, gold=people, words={"unsure": None})

    assert [ask.verdict for ask in found.asks] == [1.0, None, 0.0]
    assert [case.scores.get("only") for case in found.cases] == [1.0, 1.0, None]


def test_words_that_differ_by_case_alone_are_two(tmp_path):
    """One of them explains the other nowhere: not in a log that holds both, and not in a table."""
    assert [ask.verdict for ask in traces(tmp_path, "M", "m", words={"M": 1, "m": 0}).asks] == [1, 0]
    assert [ask.verdict for ask in traces(tmp_path, "Good", "no", words={"good": 1}).asks] == [1, 0]
    with pytest.raises(ConfigError):
        traces(tmp_path, "M", "m", words={"M": 1})
    two = import_cases(wrote(tmp_path, pairs("M", "m")), columns=columns_from([], ["M=b", "m=a"]))
    assert gold(two) == ["b", "a"]
    for values in (["M=a"], ["A=b", "M=a"]):
        with pytest.raises(ConfigError):
            import_cases(wrote(tmp_path, pairs("M", "m", "a")), columns=columns_from([], values))


def test_letters_of_inspect_are_no_grades(tmp_path):
    """C is correct beside I and P, and unknown beside A and B."""
    assert [ask.verdict for ask in traces(tmp_path, "C", "I", "P").asks] == [1, 0, 0.5]
    with pytest.raises(ConfigError):
        traces(tmp_path, "A", "B", "C", words={"A": 1, "B": 0.5})


@pytest.mark.parametrize(
    ("kind", "reply"),
    [
        ("json", '{"verdict": "unsure"}'),
        ("brackets", "First [[yes]]. In the end: [[unsure]]"),
        ("last-line", "yes\n\nunsure"),
        ("tag", "<verdict>unsure</verdict>"),
        ("regex", "Verdict: unsure"),
    ],
)
def test_a_reply_may_say_a_word_that_is_no_verdict(kind, reply):
    """It is unreadable, and no verdict before it counts."""
    form = Format(kind=kind, pattern=r"Verdict: (\w+)", values={"yes": 1.0, "no": 0.0, "unsure": "none"})
    view = reading.view(
        Case(id="c", question="q", answers=(Answer("x", "1"),)).with_order(), "score", Scale(0, 1), None
    )

    assert reading.check(form, "score") == []
    assert isinstance(reading.read(Reply(reply), form, view), Unreadable)


@pytest.mark.parametrize("reply", ['{"verdict": {"M": true, "m": false}}', "M: yes\nm: no"])
def test_criteria_that_differ_by_case_alone_are_two(reply):
    criteria = (Criterion("M", "polite"), Criterion("m", "short"))
    case = Case(id="c", question="q", answers=(Answer("x", "1"),), criteria=criteria)
    form = Format(kind="json") if reply[0] == "{" else Format(kind="last-line")

    verdict = reading.read(Reply(reply), form, reading.view(case.with_order(), "rubric-all", Scale(), None))

    assert verdict == Criteria({"M": True, "m": False})


# ----------------------------------------------------------------------------------------------------- what is no case


def test_a_record_without_a_question_or_an_answer_is_left_out(tmp_path):
    """The others keep their places; a file of such records alone is refused with the reasons."""
    rows = pairs("a", "b", "a", "b")
    rows[1]["answer_b"], rows[2]["question"] = float("nan"), " "

    found = import_cases(wrote(tmp_path, rows))

    assert (found.left, gold(found)) == ({2, 3}, ["a", "b"])
    with pytest.raises(ConfigError, match="1 of 1 records left out: no answer b"):
        import_cases(wrote(tmp_path, rows[1:2]))
    judged = [{**row, "judge": said} for row, said in zip(rows, "abba", strict=True)]
    results = results_in(wrote(tmp_path, judged), {"verdict": "judge"}, {})
    assert ([entry.said for entry in results.judge.record.entries.all], results.left) == (["a", "a"], 2)


@pytest.mark.parametrize(
    ("form", "bad", "good"),
    [
        ("llmbar", {"output_1": ""}, {"input": "q", "output_1": "x", "output_2": "y", "label": 1}),
        ("calm", {"answer1": None}, {"question": "q", "answer1": "x", "answer2": "y"}),
        ("ifeval", {"responses": {"m": ""}}, {"prompt": "q", "instruction_id_list": ["a:b"], "responses": {"m": "x"}}),
    ],
)
def test_so_it_is_in_known_formats(tmp_path, form, bad, good):
    found = import_cases(wrote(tmp_path, [good | bad, good]), form=form)

    assert (len(found.cases), found.left) == (1, {1})
    assert {answer.text for answer in found.cases[0].answers} <= {"x", "y"}


@pytest.mark.parametrize("empty", [{}, [], None, "", {"question": "", "lang": "en"}, {"messages": []}])
def test_an_empty_input_is_no_question(empty):
    assert question_in(empty) == ""


def test_a_value_that_is_nothing_is_no_verdict(tmp_path):
    """Neither NaN nor null refuses the other verdicts of a log."""
    said = {0: float("nan"), 1: None, 2: 0.5}
    results = [{"assertion": {"type": "llm-rubric"}, "score": score} for score in said.values()]
    rows = [
        {"vars": {"query": f"q{n}"}, "response": {"output": "a"}, "gradingResult": {"componentResults": [one]}}
        for n, one in enumerate(results)
    ]
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"results": {"results": rows}}), "utf-8")

    assert [ask.verdict for ask in gathered(read_logs([path]), Wanted()).asks] == [None, None, 0.5]
