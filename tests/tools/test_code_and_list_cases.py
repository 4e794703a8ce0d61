"""The shipped cases about code and those for listwise judges: their gold is verified, their files are reproduced."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

import calm
from calm.cases import bundled, code_cases
from calm.cases.generate.scores import gold
from calm.core.edits import Edit
from calm.core.validation import refusal
from calm.perturbations import code_comments, code_style, injection_smuggling
from tests.lanes import slow
from tools.cases.code import MOST, PROBLEMS, passed, source
from tools.cases.code import code_cases as make_code
from tools.cases.lists import KINDS, list_cases

FOLDER = Path(calm.__file__).parent / "cases" / "data"
CODE = re.compile(r"```python\n(.*?)\n```\n\nIt prints (.*?)\.(?: [A-Z]|$)", re.DOTALL)
WAYS = ("good", "near", "far")
FORBIDDEN = ("[[", "expert", "study", "judge", "score", "ignore", "http", "once more", "thank you", "% of people")


def rows(name):
    """Return the rows of a shipped file."""
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


def test_a_file_is_what_its_generator_makes(subtests):
    """Nothing in it is set by hand."""
    for name, make in [("code-1.jsonl", lambda: make_code(MOST)), ("listwise-1.jsonl", lambda: list_cases(110, 20261))]:
        with subtests.test(name=name, make=make):
            assert rows(name) == json.loads(json.dumps(make()))


def test_the_right_code_passes_all_tests_and_each_other_one_fewer(subtests):
    """The order of the answers is that of the tests which they pass, and one test at least tells each two apart."""
    for problem in PROBLEMS:
        with subtests.test(problem=problem.names[0]):
            shares = [sum(passed(problem, getattr(problem, way))) for way in WAYS]

            assert len(problem.tries) == shares[0] > shares[1] > shares[2]
            assert len({source(problem, getattr(problem, way), "f") for way in WAYS}) == len(WAYS)


def test_what_an_answer_says_that_it_prints_is_what_it_prints(capsys):
    """The code of every answer is run as it stands in its text."""
    for row in rows("code-1.jsonl"):
        for answer in row["answers"]:
            code, said = CODE.search(answer["text"]).groups()
            exec(code, {})

            assert capsys.readouterr().out == ("\n" if said.endswith("an empty line") else f"{said}\n"), row["id"]


def test_code_cases_have_questions_of_their_own_and_more_than_sixty():
    """No two have one question or one id; each has its three answers and a grade for each."""
    cases = rows("code-1.jsonl")

    assert len({case["question"] for case in cases}) == len({case["id"] for case in cases}) == len(cases) == MOST >= 60
    for case in cases:
        assert {answer["id"] for answer in case["answers"]} == set(WAYS)
        assert case["scores"]["good"] == 10 > case["scores"]["near"] > case["scores"]["far"]


def test_more_code_cases_than_there_are_is_an_error():
    """The message says how many there are."""
    with pytest.raises(ValueError, match=f"count from 1 to {MOST}"):
        make_code(MOST + 1)


def test_code_stands_in_for_bundled_cases_and_for_no_others(subtests):
    """Every answer of them holds Python; whoever gives cases is asked about these and no others."""
    for task in ["pairwise", "score", "listwise"]:
        with subtests.test(task=task):
            shipped = bundled(task)
            found = code_cases(task, shipped)

            assert len(found) >= 100
            assert len({case.id for case in found}) == len(found)
            assert all("```python" in answer.text for case in found for answer in case.answers)
            assert code_cases(task, shipped[::-1]) == found
            assert code_cases(task, shipped[:-1]) is None


def test_a_task_without_code_cases_has_none(subtests):
    """Criteria that a program could check on code are not shipped."""
    for task in ["rubric", "rubric-all", "points"]:
        with subtests.test(task=task):
            assert code_cases(task, bundled(task)) is None


def test_pairs_and_single_answers_keep_the_gold_of_their_case():
    """The right answer is the better one, a grade is that of the text taken, and neither length nor slot tells."""
    whole = {row["id"]: row for row in rows("code-1.jsonl")}
    pairs = [case for case in code_cases("pairwise", bundled("pairwise")) if case.id in whole]
    single = code_cases("score", bundled("score"))
    graded = {(row["id"], a["text"]): row["scores"][a["id"]] for row in whole.values() for a in row["answers"]}

    assert len(pairs) == len(whole)
    for case in pairs:
        assert case.better == "good"
        assert graded[case.id, case["good"].text] == 10 > graded[case.id, case["bad"].text]
    assert {case.tags["margin"] for case in pairs} == {"close", "clear"}
    longer = sum(len(case["good"].text) > len(case["bad"].text) for case in pairs) / len(pairs)
    first = sum(case.answers[0].id == "good" for case in pairs) / len(pairs)
    assert 0.4 < longer < 0.6
    assert 0.35 < first < 0.65
    assert all(case.scores == {"only": graded[case.id, case["only"].text]} for case in single)
    assert len({case.scores["only"] for case in single}) >= 8


CODE_EDITS = [
    edit
    for module in (code_comments, code_style, injection_smuggling)
    for name, edit in vars(module).items()
    if isinstance(edit, Edit) and (module is not injection_smuggling or name.startswith("order_in_"))
]


@pytest.mark.parametrize("task", ["pairwise", slow("score"), slow("listwise")])
def test_an_edit_of_code_can_be_asked_about_nearly_all_of_them(subtests, task):
    """It applies, and what it makes keeps to its rules: else the suites would have too few cases again."""
    for edit in CODE_EDITS:
        with subtests.test(edit=edit.name):
            shipped = code_cases(task, bundled(task))
            cases = [c.treat(next((a.id for a in c.answers if a.id != c.better), "only")) for c in shipped]
            edited = [(case, edit.apply(case, 0)) for case in cases]

            assert sum(after is not None and refusal(edit, case, after) is None for case, after in edited) >= 95


def test_listwise_cases_have_a_strict_order_and_all_kinds():
    """No two answers of a case are as good, the best one is named, and each kind comes as often."""
    cases = rows("listwise-1.jsonl")

    assert len({case["question"] for case in cases}) == len(cases) == 110
    assert [case["tags"]["category"] for case in cases[:5]] == list(KINDS)
    for case in [*cases, *rows("code-1.jsonl")]:
        ids = [answer["id"] for answer in case["answers"]]
        assert 3 <= len(ids) <= 5
        assert set(case["scores"]) == set(ids)
        assert len(set(case["scores"].values())) == len(ids)
        assert case["better"] == max(ids, key=case["scores"].get)


def test_grades_of_a_list_count_the_results_that_are_right():
    """Where a reference states all results, the grade of an answer is that of its sentences which are among them."""
    for case in rows("listwise-1.jsonl"):
        if "reference" in case:
            wanted = case["reference"].removesuffix(".").split(". ")
            for answer in case["answers"]:
                right = sum(f"{sentence}." in answer["text"].replace("\n", " ") for sentence in wanted)
                assert case["scores"][answer["id"]] == gold(right, len(wanted)), case["id"]


def test_the_texts_are_clean(subtests):
    """No text speaks of judging, cites anybody, or leads on."""
    for name in ["code-1.jsonl", "listwise-1.jsonl"]:
        with subtests.test(name=name):
            for case in rows(name):
                texts = [case["question"], case.get("reference", ""), *(answer["text"] for answer in case["answers"])]
                assert not [phrase for phrase in FORBIDDEN for text in texts if phrase in text.lower()], case["id"]


def test_the_best_place_is_in_no_slot_more_often_than_chance_allows():
    """Of the answers as they stand in the file, the best one is the first in about a third of the cases."""
    cases = [*rows("listwise-1.jsonl"), *rows("code-1.jsonl")]
    first = sum(case["answers"][0]["id"] == case["better"] for case in cases)

    assert 0.2 < first / len(cases) < 0.45
    assert all(a["id"] < b["id"] for a, b in pairwise(rows("listwise-1.jsonl")))
