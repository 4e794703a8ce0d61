"""Importing other people's files: what becomes of each record, and what each fault is called."""

import json
import sys
from dataclasses import replace

import pytest

from calm import Answer, Case, ConfigError
from calm.cases import read_cases, read_files
from calm.cases.foreign import columns_from, import_cases
from calm.cases.lines import line
from calm.core.order import clashes
from calm.core.releases import install

REVIEWS = "prompt,first,second,winner\nWhy?,So.,Thus.,m1\nHow?,Well.,Badly.,m2\nWhen?,Now.,Then.,tie\n"
JSON_REVIEWS = [
    {"prompt": "Why?", "first": "So.", "second": "Thus.", "winner": "m1"},
    {"prompt": "How?", "first": "Well.", "second": "Badly.", "winner": "m2"},
    {"prompt": "When?", "first": "Now.", "second": "Then.", "winner": "tie"},
]
MAPS = ["question=prompt", "answer_a=first", "answer_b=second", "better=winner"]
PLAN = columns_from(MAPS, ["m1=a", "m2=b"])


def wrote(path, content):
    """Write records as JSON, or a text or bytes as they are, and return the path."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def problems(path, **how):
    """Return the faults of a file that nothing is imported from, without the file's name."""
    with pytest.raises(ConfigError) as caught:
        import_cases(path, **how)
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


# ---------------------------------------------------------------------------------------------------------- CALM's own

BOOK = {
    "question": "q1",
    "answer1": "good",
    "answer2": "bad",
    "data_resource": "truthy",
    "answer1_with_reference_book": "good (book)",
    "answer2_with_reference_book": "bad (book)",
}


def test_a_calm_file_keeps_every_record_its_order_and_its_variants(tmp_path):
    """Each record is a pair with the first answer as the better one; equal records stay apart."""
    path = wrote(tmp_path / "authority.json", [BOOK, {**BOOK, "question": "q0"}, BOOK])

    found = import_cases(path, form="calm")

    assert found.records == 3
    assert [case.question for case in found.cases] == ["q1", "q0", "q1"]
    assert [case.id[:-8] for case in found.cases] == ["authority-00001-", "authority-00002-", "authority-00003-"]
    assert replace(found.cases[0], id="") == Case(
        "",
        "q1",
        (Answer("answer1", "good"), Answer("answer2", "bad")),
        better="answer1",
        variants={"cite_book": {"answer1": "good (book)", "answer2": "bad (book)"}},
        tags={"data_resource": "truthy"},
    )
    assert found.notes == ()


@pytest.mark.parametrize(
    ("key", "name", "answer"),
    [
        ("answer2_longer", "lengthen", "answer2"),
        ("answer1_with_reference_url", "cite_url", "answer1"),
        ("answer2_with_reference_quote", "cite_quote", "answer2"),
        ("answer1_cheerful", "cheerful", "answer1"),
        ("answer2_fear", "fearful", "answer2"),
        ("answer1_fallacy_oversight", "fallacy", "answer1"),
    ],
)
def test_a_perturbed_answer_gets_the_name_of_the_edit_that_does_the_same(tmp_path, key, name, answer):
    """The suffix of a key says which edit the text is ready for."""
    path = wrote(tmp_path / "f.json", [{"question": "q", "answer1": "x", "answer2": "y", key: "z"}])

    found = import_cases(path, form="calm")

    assert found.cases[0].variants == {name: {answer: "z"}}


@pytest.mark.parametrize(
    "gap", [{}, {"answer2_longer": None}, {"answer2_longer": " "}], ids=["absent", "null", "blank"]
)
def test_a_missing_variant_is_noted_and_the_record_kept(tmp_path, gap):
    """The note names key and record, a tag of the case names the key."""
    whole = {"question": "q", "answer1": "x", "answer2": "y", "answer2_longer": "yy"}
    path = wrote(tmp_path / "f.json", [whole, {k: v for k, v in whole.items() if k != "answer2_longer"} | gap])

    found = import_cases(path, form="calm")

    assert len(found.cases) == 2
    assert found.cases[1].variants == {}
    assert found.cases[1].tags == {"missing_variants": "answer2_longer"}
    assert found.notes == ("answer2_longer: no text in 1 of 2: record 2",)


def test_a_file_of_refinements_has_one_answer_a_case(tmp_path):
    """Without second answers the cases are for scoring."""
    path = wrote(tmp_path / "f.json", [{"question": "q", "answer1": "x", "answer1_polished": "xx"}])

    found = import_cases(path, form="calm")

    assert replace(found.cases[0], id="") == Case(
        "", "q", (Answer("answer1", "x"),), variants={"polish": {"answer1": "xx"}}
    )


def test_a_malformed_calm_file_names_record_and_field_and_imports_nothing(tmp_path):
    """All faults are told at once."""
    rows = [BOOK, {"question": "", "answer1": 3, "answer2": "y"}, {"question": "q", "answer2": "y"}]
    path = wrote(tmp_path / "f.json", rows)

    assert problems(path, form="calm") == [
        "record 2: answer1: expected a text, got 3; write it in quotes or leave it out",
        "nothing in it is used",
    ]


# --------------------------------------------------------------------------------------------------------------- pairs


def talk(*texts):
    return [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(texts)]


def vote(winner, *, turn=1, a="A", b="B", models=("m1", "m2")):
    return {
        "question_id": 81,
        "model_a": models[0],
        "model_b": models[1],
        "winner": winner,
        "turn": turn,
        "conversation_a": talk("q", a, "more", a * 2),
        "conversation_b": talk("q", b, "more", b * 2),
    }


def test_votes_on_a_pair_become_one_case_with_the_majority_as_gold(tmp_path):
    """A vote on the swapped pair counts for the same answer."""
    rows = [vote("model_a"), vote("model_b"), vote("model_b", a="B", b="A", models=("m2", "m1"))]
    path = wrote(tmp_path / "votes.jsonl", "\n".join(json.dumps(row) for row in rows))

    found = import_cases(path, form="mtbench")

    assert [(case.better, case.tags["votes"]) for case in found.cases] == [("m1", "m1: 2, m2: 1")]
    assert found.cases[0].answers == (Answer("m1", "A", "m1"), Answer("m2", "B", "m2"))
    assert found.notes == ("3 votes are on 1 pairs: the votes on a pair became one case",)


@pytest.mark.parametrize(
    ("winners", "majority", "plurality"),
    [
        (["model_a", "model_a", "model_b", "tie"], None, "m1"),
        (["model_a", "model_b"], None, None),
        (["tie", "tie (bothbad)", "model_a"], "tie", "tie"),
        (["model_b", "tie (inconsistent)"], "m2", "m2"),
    ],
)
def test_votes_make_what_the_rule_says(tmp_path, winners, majority, plurality):
    """A majority, a plurality, or a label for each vote, which a reader counts as the import does."""
    path = wrote(tmp_path / "votes.json", [vote(winner) for winner in winners])

    by = {rule: import_cases(path, form="mtbench", votes=rule).cases[0] for rule in ("majority", "plurality", "each")}

    assert (by["majority"].better, by["plurality"].better, by["each"].better) == (majority, plurality, None)
    assert by["each"].tags == by["majority"].tags
    [again] = read_cases(wrote(tmp_path / "each.jsonl", line(by["each"])))
    assert len(again.annotations) == sum(winner != "tie (inconsistent)" for winner in winners)
    assert again.better == majority


def test_more_votes_than_a_case_can_hold_are_refused(tmp_path):
    """Nothing is imported; the message names the pair and the way out."""
    path = wrote(tmp_path / "votes.json", [vote("model_a")] * 51)

    with pytest.raises(ConfigError, match="at most 50 votes on a pair, got 51 on that of record 1; import with"):
        import_cases(path, form="mtbench", votes="each")
    assert import_cases(path, form="mtbench").cases[0].better == "m1"


@pytest.mark.parametrize(
    ("winners", "better"),
    [
        (["tie"], "tie"),
        (["tie (bothbad)", "tie"], "tie"),
        (["tie (inconsistent)"], None),
        (["model_a", "model_b"], None),
    ],
)
def test_only_a_majority_is_gold(tmp_path, winners, better):
    """A declared tie is a verdict; a split vote, or one that went with the order, is none."""
    path = wrote(tmp_path / "votes.json", [vote(winner) for winner in winners])

    found = import_cases(path, form="mtbench")

    assert [case.better for case in found.cases] == [better]
    assert any("no majority" in note for note in found.notes) == (better is None)


def test_a_second_turn_is_shown_with_the_first(tmp_path):
    """Question and answers hold every turn that was judged, under its number."""
    path = wrote(tmp_path / "votes.json", [vote("model_b", turn=2)])

    case = import_cases(path, form="mtbench").cases[0]

    assert case.question == "Turn 1:\nq\n\nTurn 2:\nmore"
    assert case.answers[0].text == "Turn 1:\nA\n\nTurn 2:\nAA"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"winner": "m1"},
            "winner: expected one of model_a, model_b, tie, tie (bothbad), tie (inconsistent), got 'm1'",
        ),
        ({"model_a": None}, "model_a: expected a text, got null; add it"),
        ({"turn": True}, "turn: expected a whole number of at least 1, got true; or leave it out"),
        ({"turn": 3}, "conversation_a: expected 3 turns, got 4 messages; complete the conversation"),
        ({"conversation_a": []}, "conversation_a: expected a list of messages, got a list of 0"),
        ({"conversation_b": talk("other", "B", "more", "BB")}, "conversation_b: expected the user's messages"),
        (
            {"conversation_b": [{"role": "user"}]},
            "conversation_b[0]: expected a text of the user, got role='user', con",
        ),
    ],
)
def test_a_malformed_vote_names_record_and_field(tmp_path, change, said):
    """Nothing is imported from a file with such a record."""
    path = wrote(tmp_path / "votes.json", [vote("model_a"), vote("model_a") | change])

    told = problems(path, form="mtbench")

    assert told[0].startswith(f"record 2: {said}")
    assert told[-1] == "nothing in it is used"


def test_an_llmbar_record_is_a_pair_with_its_label_as_gold(tmp_path):
    """The label names the better output."""
    path = wrote(tmp_path / "natural.json", [{"input": "q", "output_1": "x", "output_2": "y", "label": 2}])

    found = import_cases(path, form="llmbar")

    assert [replace(case, id="") for case in found.cases] == [
        Case("", "q", (Answer("output_1", "x"), Answer("output_2", "y")), better="output_2"),
    ]


@pytest.mark.parametrize("label", [0, 3, True, None, "first"])
def test_another_label_is_a_fault(tmp_path, label):
    """Only 1 and 2 name an output."""
    path = wrote(tmp_path / "f.json", [{"input": "q", "output_1": "x", "output_2": "y", "label": label}])

    assert problems(path, form="llmbar")[0].startswith("record 1: label: expected 1 or 2, got ")


# -------------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", REVIEWS),
        ("r.csv", "\ufeff" + REVIEWS.replace("\n", "\r\n")),
        ("r.csv", REVIEWS.replace(",", ";")),
        ("r.tsv", REVIEWS.replace(",", "\t")),
        ("r.json", JSON_REVIEWS),
    ],
    ids=["csv", "bom and crlf", "semicolons", "tsv", "json"],
)
def test_the_same_table_gives_the_same_cases_however_it_is_written(tmp_path, name, content):
    """Ending, separator, line ends and byte order mark make no difference."""
    path = wrote(tmp_path / name, content)

    found = import_cases(path, columns=PLAN)

    assert [(c.id[:8], c.question, c["a"].text, c["b"].text, c.better) for c in found.cases] == [
        ("r-00001-", "Why?", "So.", "Thus.", "a"),
        ("r-00002-", "How?", "Well.", "Badly.", "b"),
        ("r-00003-", "When?", "Now.", "Then.", "tie"),
    ]


def test_a_parquet_table_is_read(tmp_path):
    """A missing value is missing, not NaN, and a nested one is found by its path."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [
        {"prompt": "Why?", "chosen": [{"content": "So."}], "bad": "No.", "source": "x"},
        {"prompt": "How?", "chosen": [{"content": "Thus."}], "bad": "Not.", "source": None},
    ]
    path = tmp_path / "r.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    plan = columns_from(
        ["question=prompt", "answer_a=chosen.0.content", "answer_b=bad", "tag.source=source"], always="a"
    )

    found = import_cases(path, columns=plan)

    assert [case["a"].text for case in found.cases] == ["So.", "Thus."]
    assert [dict(case.tags) for case in found.cases] == [{"source": "x"}, {}]
    assert {case.better for case in found.cases} == {"a"}
    assert found.notes == ()


def test_without_pyarrow_the_error_names_the_extra(tmp_path, monkeypatch):
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = wrote(tmp_path / "r.parquet", b"PAR1")

    assert install("parquet") in problems(path)[0]


def test_every_field_can_be_mapped(tmp_path):
    """Ids, authors, scores, tags, fields, references and variants arrive in their places; numbers serve as names."""
    row = {
        "n": 7, "prompt": "q", "one": "x", "two": "y", "by": "m1", "s1": "4.5", "s2": 2, "ref": "r", "doc": "d",
        "long": True, "two_long": "yy",
    }  # fmt: skip
    maps = [
        "id=n", "question=prompt", "answer_a=one", "answer_b=two", "author_a=by", "score_a=s1", "score_b=s2",
        "reference=ref", "field.context=doc", "tag.long=long", "variant.lengthen.b=two_long",
    ]  # fmt: skip

    found = import_cases(wrote(tmp_path / "f.jsonl", row), columns=columns_from(maps))

    assert found.cases == (
        Case(
            "7",
            "q",
            (Answer("m1", "x", "m1"), Answer("b", "y")),
            reference="r",
            scores={"m1": 4.5, "b": 2.0},
            fields={"context": "d"},
            variants={"lengthen": {"b": "yy"}},
            tags={"long": "true"},
        ),
    )


def test_a_list_may_have_fewer_answers_in_a_record(tmp_path):
    """From the third on an answer may be absent."""
    whole = {"question": "q", "answer_a": "x", "answer_b": "y", "answer_c": "z"}
    path = wrote(tmp_path / "f.json", [whole, {**whole, "answer_c": None}])

    found = import_cases(path)

    assert [len(case.answers) for case in found.cases] == [3, 2]


def test_what_was_not_taken_is_noted(tmp_path):
    """Columns that nothing was taken from, and cases without gold, are named."""
    path = wrote(tmp_path / "f.csv", "question,answer_a,answer_b,better,extra\nq,x,y,a,1\nr,x,y,,2\n")

    found = import_cases(path)

    assert found.notes == (
        "1 of 2 cases have no gold: record 2",
        "columns that are not used: extra",
    )


def test_a_map_that_does_not_fit_lists_the_columns(tmp_path):
    """Every fault of the map is told, with the columns that there are."""
    path = wrote(tmp_path / "f.csv", REVIEWS)

    assert problems(path, columns=columns_from(["question=promt", "answer_b=second"])) == [
        f"--map: expected a column of {path}, got question='promt'; did you mean 'prompt'?",
        "--map: expected answer_a, answer_b and so on without a gap, got answer_b",
        "its columns: prompt, first, second, winner",
    ]
    assert problems(path)[-1] == "its columns: prompt, first, second, winner"


def test_a_file_of_a_known_format_is_told_its_name(tmp_path):
    """A person who maps columns that a format knows is told of the format."""
    path = wrote(tmp_path / "votes.json", '[{"conversation_a": [], "conversation_b": [], "winner": "tie"}]')
    plan = columns_from(["better=winner"], [])

    assert "these are the columns of --format mtbench: add it instead of --map" in problems(path, columns=plan)


@pytest.mark.parametrize(
    ("maps", "said"),
    [
        (["answer=first", "better=winner"], "expected several answers where one of them is better"),
        (["answer=first", "answer_a=first", "answer_b=second"], "expected answer or answer_a, answer_b, ..., got both"),
        ([*MAPS[1:], "score_c=winner"], "expected an answer for score_c, got no answer_c"),
        ([*MAPS[1:], "score=winner"], "expected score_a, score_b, ... beside several answers"),
        ([*MAPS[1:], "variant.x=winner"], "expected variant.x.a or another letter beside several answers"),
    ],
)
def test_a_map_that_contradicts_itself_is_refused(tmp_path, maps, said):
    """One answer or several, and every lettered field with its answer."""
    path = wrote(tmp_path / "f.csv", REVIEWS)

    assert said in " ".join(problems(path, columns=columns_from(["question=prompt", *maps])))


def test_a_map_that_spells_nothing_is_refused(subtests):
    """The message says what was expected."""
    for maps, values, always, said in [
        (["question"], [], None, "--map: expected FIELD=COLUMN, got 'question'"),
        (["anser_a=x"], [], None, "--map: expected a field of a case, got 'anser_a'; did you mean 'answer_a'?"),
        (["id=x", "id=y"], [], None, "--map: expected 'id' once, got it twice; keep one"),
        (
            [],
            ["m1=first"],
            None,
            "--value: expected the letter of an answer, 'tie', a number, or 'none' for what is no verdict, behind m1=",
        ),
        ([], [], "first", "--better: expected the letter of an answer, got 'first'"),
        (["better=w"], [], "a", "--better: expected it alone"),
    ]:
        with subtests.test(maps=maps, values=values, always=always, said=said):
            with pytest.raises(ConfigError) as caught:
                columns_from(maps, values, always)

            assert caught.value.problems[0].startswith(said)


ROW = {"question": "q", "answer_a": "x", "answer_b": "y"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": 3}, "question: expected a text, got 3; write it in quotes or leave it out"),
        ({"answer_b": ["y"]}, "answer_b: expected a text, got a list of 1; name a part of it"),
        ({"answer_b": "y\0"}, "answers[1].text: expected a text without NUL, got one at character 1; remove it"),
        ({"answer_b": "\ud800"}, "answers[1].text: expected Unicode text, got half a surrogate pair"),
        ({"better": "m1"}, "better: expected a, b or tie, got 'm1'"),
        ({"score_a": True}, "score_a: expected numbers, got 'true'"),
        ({"score_a": "high"}, "score_a: expected numbers, got 'high'"),
        ({"score_a": 10**400}, "record: expected numbers of at most 300 digits, got one of 401"),
        ({"id": "one"}, "id: expected a new id, got 'one' again (first in record 1); rename one"),
        ({"id": [1]}, "id: expected a text or a number, got a list of 1"),
    ],
)
def test_a_faulty_record_is_named_with_its_column(tmp_path, change, said):
    """Nothing is imported from a file with one bad record."""
    rows = [{"id": "one", **ROW}, {"id": "two", **ROW} | change]
    path = wrote(tmp_path / "f.jsonl", "\n".join(json.dumps(row) for row in rows))

    told = problems(path)

    assert told[0].startswith((f"record 2: {said}", said))
    assert "record 2" in told[0]
    assert told[-1] == "nothing in it is used"


def test_words_of_the_gold_that_nobody_explained_are_named_once(tmp_path):
    """With their first records: a column of two words is no list of a fault for each record."""
    rows = [{**ROW, "question": f"q{at}", "better": "m1" if at % 2 else "m2"} for at in range(50)]

    told = problems(wrote(tmp_path / "f.json", rows))

    assert len(told) == 2
    assert all(word in told[0] for word in ("'m1' (records 2, 4, 6 and 22 more)", "'m2'", "--value m2=a"))


def test_many_faults_are_counted(tmp_path):
    """The first twenty are spelled out."""
    path = wrote(tmp_path / "f.json", [{**ROW, "answer_a": [1]}] * 50)

    told = problems(path)

    assert len(told) == 22
    assert told[20] == "and 30 more; fix these first"


# --------------------------------------------------------------------------------------------------------- whole files


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("f.json", b"", "expected at least one record, got an empty file"),
        ("f.jsonl", b"\xef\xbb\xbf \r\n", "expected at least one record, got none"),
        ("f.json", b"[]", "expected at least one record, got none"),
        ("f.csv", b"question,answer_a,answer_b\n", "expected at least one record, got none"),
        ("f.json", b"[{", "line 1, column 3: expected JSON, got an error"),
        ("f.json", b"[" * 100_000, "record: expected brackets nested at most 100 deep"),
        ("f.jsonl", b'{"a": 1}\n{"a"\n', "record 2: column 5: expected JSON, got an error"),
        ("f.jsonl", b'{"a": 1}\n{"a": "b\n', "record 2: column 7: expected JSON, got an error: a text that is not"),
        ("f.json", b'[{"a": "b\n}]', "line 1, column 10: expected JSON, got an error: a text that is not closed"),
        ("f.jsonl", b"3\n", "record 1: record: expected a JSON object, got 3"),
        ("f.json", b'{"rows": [\n{"a": 1}]}', "expected a list of records, or one JSON object a line, got an object"),
        ("f.json", b'{"schema": "calm-design/1"}', "expected a table, got a record of another kind (calm-design/1)"),
        ("f.csv", b"a,a\n1,2\n", "expected columns with names that differ, got 'a' twice"),
        ("f.csv", b"a,b\n1\n", "record 1: line 2: expected 2 cells as in the first line, got 1; mind the quotes"),
        ("f.csv", b'a,b\n1,"2\n', "record 1: line 2: expected CSV, got an error: unexpected end of data"),
        ("f.json", b"\xff\xfe[\0", "byte 0: expected UTF-8, got byte 0xff; save the file as UTF-8"),
        ("f.csv", b"a\0,b\0\n", "expected UTF-8 text, got NUL bytes"),
        ("f.csv", b"PK\x03\x04", "expected text, got a zip file or a spreadsheet"),
        ("f.json", b"\x1f\x8b\x08", "expected text, got a gzip file"),
        ("f.json", b"PAR1", "expected text, got a Parquet file"),
        ("f.xlsx", b"PK\x03\x04", "it is a spreadsheet"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_refused_in_a_line(tmp_path, name, content, said):
    """Empty, broken, binary or wrongly named: the message says what was found."""
    path = wrote(tmp_path / name, content)

    assert problems(path)[0].startswith(said)


def test_a_broken_parquet_file_is_refused(tmp_path):
    """What the reader says is passed on, in one line."""
    pytest.importorskip("pyarrow")
    path = wrote(tmp_path / "f.parquet", b"PAR1 and no more")

    assert problems(path)[0].startswith("expected a Parquet file, got an error: ")


def test_a_folder_or_a_missing_file_is_refused(tmp_path):
    """The message says which it is."""
    assert "is a folder" in problems(tmp_path)[0]
    assert problems(tmp_path / "nothere")[0].startswith("there is no such file")
    assert "no such file" in problems(tmp_path / "none.csv")[0]


def test_a_large_file_is_imported_whole(tmp_path):
    """Five thousand records, one of them of a million characters, lose nothing."""
    rows = [{**ROW, "question": f"q{n}", "answer_a": "x" * (1_000_000 if n == 7 else 40)} for n in range(5_000)]
    path = wrote(tmp_path / "f.jsonl", "\n".join(json.dumps(row) for row in rows))

    found = import_cases(path)

    assert (len(found.cases), found.cases[-1].id[:8]) == (5_000, "f-05000-")
    assert len(found.cases[7]["a"].text) == 1_000_000


# ----------------------------------------------------------------------------------------------------------------- ids


def test_an_answer_is_named_after_its_author_and_after_its_text_where_one_author_has_two(tmp_path):
    """Under one question an id stands for one answer, in every pair that has it; elsewhere it is the author's name."""
    rows = [
        vote("model_a", turn=None, a="A", b="B"),
        vote("model_b", turn=None, a="A", b="other B"),
        vote("model_a", turn=None, a="other B", b="C", models=("m2", "m3")),
    ]
    rows += [{**row, "conversation_a": talk("r", "A"), "conversation_b": talk("r", "B")} for row in rows[:1]]
    path = wrote(tmp_path / "votes.json", rows)

    found = import_cases(path, form="mtbench").cases

    ids = [[answer.id for answer in case.answers] for case in found]
    assert ids[0][0] == ids[1][0] == ids[3][0] == "m1"
    assert ids[3][1] == "m2"
    assert ids[1][1] == ids[2][0]
    assert ids[0][1] != ids[1][1]
    assert all(name.startswith("m2-") for name in (ids[0][1], ids[1][1]))
    assert [case.better for case in found] == ["m1", ids[1][1], ids[2][0], "m1"]
    assert not clashes(found, strict=True)


@pytest.mark.parametrize(
    "models",
    [("tie", "!x"), ("a~b", "a-b"), ("~", "!"), (" ", "\n"), ("same", "same"), ("x\ny", "x y"), ("author tie", "tie")],
)
@pytest.mark.parametrize("texts", [("A", "B"), ("A", "A")])
def test_no_name_of_an_author_breaks_the_rules_of_ids(tmp_path, models, texts):
    """What was imported can be read again, with two ids, and each vote on the answer that it was for."""
    row = {"question": "q", "x": texts[0], "y": texts[1], "model_x": models[0], "model_y": models[1], "better": "b"}
    maps = ["answer_a=x", "answer_b=y", "author_a=model_x", "author_b=model_y"]

    (case,) = import_cases(wrote(tmp_path / "f.json", [row]), columns=columns_from(maps)).cases

    path = wrote(tmp_path / "cases.jsonl", line(case))
    (again,) = read_cases(path, task="pairwise")
    assert (again.better, again.answers[1].author) == (again.answers[1].id, models[1] or None)
    assert len({answer.id for answer in again.answers}) == 2


def test_columns_name_answers_without_authors_until_they_would_stand_for_two(tmp_path):
    """A question that occurs twice with other answers gets ids with a digest; scores and variants go along."""
    row = {"question": "q", "answer_a": "x", "answer_b": "y", "score_a": 3, "variant.long.b": "yy", "better": "a"}
    path = wrote(tmp_path / "f.json", [row, {**row, "answer_a": "z"}, {**row, "question": "r"}])

    found = import_cases(path).cases

    first, second, alone = ([answer.id for answer in case.answers] for case in found)
    assert (alone, first[1], second[1]) == (["a", "b"], "b", "b")
    assert first[0].startswith("a-")
    assert first[0] != second[0]
    for case, ids in zip(found, (first, second, alone), strict=True):
        assert (case.better, case.scores, case.variants) == (ids[0], {ids[0]: 3.0}, {"long": {ids[1]: "yy"}})


def test_records_of_a_table_with_the_same_answers_are_votes(tmp_path):
    """In either order, with an id or without: one case, and the majority is its gold; a blank label is no vote."""
    head = "id,question,answer_a,author_a,answer_b,author_b,better\n"
    rows = ["1,q,x,m1,y,m2,a", "2,q,y,m2,x,m1,b", "3,q,x,m1,y,m2,b", "4,q,x,m1,y,m2,", "5,q,x,m1,y,m3,tie"]
    path = wrote(tmp_path / "f.csv", head + "\n".join(rows))

    found = import_cases(path)

    assert [(c.id, c.better, c.tags) for c in found.cases] == [
        ("1", "m1", {"votes": "m1: 2, m2: 1"}),
        ("5", "tie", {"votes": "tie: 1"}),
    ]
    assert found.notes == ("5 rows became 2 pairs: rows with the same answers are votes on one case",)


def test_five_files_of_one_name_can_be_in_one_run(tmp_path):
    """Case ids tell by what a record holds where it is from; the same file gives the same ids in every folder."""
    written = []
    for number, suffix in enumerate(("longer", "cheerful", "with_reference_book", "fear", "longer")):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = [{"question": f"q{n}", "answer1": "x", "answer2": "y", f"answer2_{suffix}": f"z{n}"} for n in range(50)]
        found = import_cases(wrote(folder / "dataset.json", rows), form="calm")
        written.append(wrote(folder / "cases.jsonl", "".join(map(line, found.cases))))

    assert len(read_files(written[:4], task="pairwise")) == 200
    assert written[0].read_text("utf-8") == written[4].read_text("utf-8")
    with pytest.raises(ConfigError, match="expected ids that differ in all files, got 'dataset-00001-"):
        read_files([written[0], written[4]])


def test_an_id_depends_on_its_own_record_alone(tmp_path):
    """A corrected label, a further vote and further records leave the ids of all others as they are."""
    rows = [vote("model_a"), vote("model_b", a="X")]
    before = import_cases(wrote(tmp_path / "v.json", rows), form="mtbench").cases

    more = [rows[0] | {"winner": "tie"}, *rows[1:], vote("model_b"), vote("tie", a="Y")]
    after = import_cases(wrote(tmp_path / "v.json", more), form="mtbench").cases

    assert [case.id for case in after[:2]] == [case.id for case in before]


def test_votes_of_mtbench_are_known_by_their_columns(tmp_path):
    """They are read as with their format named; with a map, or a column `question`, it is a table of somebody's own."""
    said = {
        f"conversation_{s}": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": s}] for s in "ab"
    }
    row = {**said, "model_a": "m", "model_b": "n", "winner": "model_a"}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))

    assert import_cases(path).cases == import_cases(path, form="mtbench").cases
    with pytest.raises(ConfigError):
        import_cases(path, columns=columns_from(["reference=winner"], []))
    path.write_text(json.dumps({**row, "question": "Why?"}))
    with pytest.raises(ConfigError):
        import_cases(path)
