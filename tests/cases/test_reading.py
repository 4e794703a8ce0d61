"""Reading case files: what is taken, and what each fault is called."""

import json
from io import BytesIO
from pathlib import Path

import pytest

from calm import Answer, Case, ConfigError, Criterion
from calm.cases import bundled, read_cases, sample, sha256
from calm.cases.reading import MAX_LINE_BYTES, MAX_SHOWN, read

PLAIN = {"id": "c", "question": "Why?", "answers": [{"id": "a", "text": "So."}, {"id": "b", "text": "Thus."}]}
ALONE = {**PLAIN, "answers": [{"id": "a", "text": "So."}]}
THREE = {**PLAIN, "answers": [*PLAIN["answers"], {"id": "c", "text": "Hence."}]}
RUBRIC = {**ALONE, "criteria": [{"id": "k", "text": "It is short."}]}


def lines(*rows):
    """Write rows as JSON Lines (a text is taken as it is)."""
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()


def read_bytes(data, task=None):
    return read(BytesIO(data), "f", task=task)


def problems(data, task=None):
    with pytest.raises(ConfigError) as caught:
        read_bytes(data, task)
    return caught.value.problems


def test_a_full_case_is_read(tmp_path):
    """Every key of the format arrives in its place."""
    row = {
        "id": "fact-1",
        "question": "How high?",
        "answers": [
            {"id": "good", "text": "x", "author": "v/x", "history": ["draft", "note"]},
            {"id": "bad", "text": "b"},
        ],
        "better": "good",
        "reference": "r",
        "criteria": [{"id": "c1", "text": "t", "points": -2, "check": {"kind": "max_words", "value": 4}}],
        "met": {"good": {"c1": True}},
        "scores": {"good": 4},
        "fields": {"context": "x"},
        "variants": {"expand": {"bad": "bb"}},
        "tags": {"category": "math"},
    }
    path = tmp_path / "cases.jsonl"
    path.write_bytes(lines(row))

    cases = read_cases(path, task="pairwise")

    assert cases == [
        Case(
            id="fact-1",
            question="How high?",
            answers=(Answer("good", "x", "v/x", ("draft", "note")), Answer("bad", "b")),
            better="good",
            reference="r",
            criteria=(Criterion("c1", "t", -2.0, {"kind": "max_words", "value": 4}),),
            met={"good": {"c1": True}},
            scores={"good": 4.0},
            fields={"context": "x"},
            variants={"expand": {"bad": "bb"}},
            tags={"category": "math"},
        )
    ]


def test_byte_order_mark_blank_lines_and_windows_line_ends_are_taken():
    """A BOM at the start, blank lines, CRLF and a last line without an end are no faults."""
    data = (
        b"\xef\xbb\xbf"
        + lines(PLAIN).replace(b"\n", b"\r\n")
        + b"\r\n \t\n"
        + json.dumps({**PLAIN, "id": "d"}).encode()
    )

    cases = read_bytes(data)

    assert [case.id for case in cases] == ["c", "d"]


def test_null_stands_for_an_optional_key_that_is_absent():
    """Exports write null for what they do not have."""
    optional = ("better", "reference", "criteria", "met", "scores", "fields", "variants", "tags")

    (case,) = read_bytes(lines({**PLAIN, **dict.fromkeys(optional)}))

    assert case == read_bytes(lines(PLAIN))[0]


def test_a_fault_is_named_with_its_place(subtests):
    """Each fault gives one message of its own: file, line, field, what was expected and what came."""
    for row, expected in [
        ("[1]", "f:1: line: expected a JSON object, got a list of 1"),
        ('"text"', "f:1: line: expected a JSON object, got 'text'"),
        ("null", "f:1: line: expected a JSON object, got null"),
        ('{"id": "c" "d"}', "f:1: column 12: expected JSON"),
        ('{"id": "c"', "f:1: column 11: expected JSON, got an error: Expecting ',' delimiter; write"),
        ('{"id": "c"\r', "f:1: column 11: expected JSON, got an error: Expecting ',' delimiter; write"),
        (
            '{"id": "c", "question": "Wh',
            "f:1: column 25: expected JSON, got an error: a text that is not closed, as its last quote is missing",
        ),
        ('{"id": "c", "id": "d"}', "f:1: line: expected each key once in an object, got 'id' twice"),
        ('{"id": NaN}', "f:1: line: expected a finite number, got NaN"),
        ("[" * 200_000, "f:1: line: expected brackets nested at most 100 deep"),
        ("9" * 5_000, "f:1: line: "),
        ({**PLAIN, "id": 7}, "f:1: id: expected a text, got 7"),
        ({**PLAIN, "id": " "}, "f:1: id: expected an id, got an empty text"),
        ({**PLAIN, "question": ""}, "f:1: question: expected a question, got an empty text"),
        ({**PLAIN, "question": None}, "f:1: question: expected a text, got null"),
        ({**PLAIN, "answers": {}}, "f:1: answers: expected a list, got an object"),
        ({**PLAIN, "answers": None}, "f:1: answers: expected a list, got null"),
        ({**PLAIN, "answers": []}, "f:1: answers: expected 1 to 26 of them, got 0"),
        ({**PLAIN, "answers": ["So."]}, "f:1: answers[0]: expected an object, got 'So.'"),
        ({**PLAIN, "answers": [{"id": "a"}]}, "f:1: answers[0].text: expected a text, got none"),
        ({**PLAIN, "answers": [{"text": "a"}]}, "f:1: answers[0].id: expected a text, got none"),
        (
            {**PLAIN, "answers": [{"id": "a", "text": " "}]},
            "f:1: answers[0].text: expected an answer, got an empty text",
        ),
        ({**PLAIN, "answers": [{"id": "tie", "text": "x"}]}, "f:1: answers[0].id: expected an id other than 'tie'"),
        ({**PLAIN, "answers": [{"id": "!a", "text": "x"}]}, "f:1: answers[0].id: expected an id other than 'tie'"),
        ({**PLAIN, "answers": [{"id": "a~b", "text": "x"}]}, "f:1: answers[0].id: expected an id other than 'tie'"),
        (
            {**PLAIN, "answers": [{"id": "a", "text": "x"}, {"id": "a", "text": "x"}]},
            "f:1: answers[1].id: expected ids that differ, got 'a' as in answers[0]",
        ),
        (
            {**PLAIN, "answers": [{"id": "a", "txt": "", "text": "x"}]},
            "f:1: answers[0].txt: expected a known key, got 'txt'; did you mean 'text'?",
        ),
        (
            {**PLAIN, "answers": [{"id": "a", "text": "x", "author": 1}]},
            "f:1: answers[0].author: expected a text, got 1",
        ),
        ({**PLAIN, "answers": [{"id": "a", "text": "x", "history": "x"}]}, "f:1: answers[0].history: expected a list"),
        (
            {**PLAIN, "answers": [{"id": "a", "text": "x", "history": [2]}]},
            "f:1: answers[0].history[0]: expected a text",
        ),
        ({**PLAIN, "beter": "a"}, "f:1: beter: expected a known key, got 'beter'; did you mean 'better'?"),
        ({**PLAIN, "better": "A"}, "f:1: better: expected an answer's id or 'tie', got 'A'"),
        ({**PLAIN, "better": True}, "f:1: better: expected a text, got true"),
        ({**PLAIN, "reference": ["r"]}, "f:1: reference: expected a text, got a list of 1"),
        ({**PLAIN, "scores": {"a": True}}, "f:1: scores.a: expected a number, got true"),
        ({**PLAIN, "scores": {"a": "4"}}, "f:1: scores.a: expected a number, got '4'"),
        ({**PLAIN, "scores": {"x": 4}}, "f:1: scores.x: expected an answer's id, got 'x'"),
        ({**PLAIN, "scores": [4]}, "f:1: scores: expected an object, got a list of 1"),
        (json.dumps(PLAIN)[:-1] + ', "scores": {"a": 1e999}}', "f:1: scores.a: expected a finite number, got inf"),
        (json.dumps(PLAIN)[:-1] + ', "scores": {"a": 1' + "0" * 400 + "}}", "f:1: line: expected numbers of"),
        ({**PLAIN, "fields": {"n": 1}}, "f:1: fields.n: expected a text, got 1"),
        ({**PLAIN, "tags": {"n": False}}, "f:1: tags.n: expected a text, got false"),
        ({**PLAIN, "variants": {"expand": {"x": "t"}}}, "f:1: variants.expand.x: expected an answer's id, got 'x'"),
        ({**PLAIN, "variants": {"expand": "t"}}, "f:1: variants.expand: expected an object, got 't'"),
        ({**PLAIN, "variants": {"expand": {"a": 1}}}, "f:1: variants.expand.a: expected a text, got 1"),
        ({**PLAIN, "criteria": [{"id": "k"}]}, "f:1: criteria[0].text: expected a text, got none"),
        ({**PLAIN, "criteria": [{"id": "k", "text": " "}]}, "f:1: criteria[0].text: expected a criterion"),
        ({**RUBRIC, "criteria": RUBRIC["criteria"] * 2}, "f:1: criteria[1].id: expected ids that differ, got 'k'"),
        (
            {**PLAIN, "criteria": [{"id": "k", "text": "t", "points": True}]},
            "f:1: criteria[0].points: expected a number",
        ),
        ({**PLAIN, "criteria": [{"id": "k", "text": "t", "point": 1}]}, "f:1: criteria[0].point: expected a known key"),
        ({**PLAIN, "criteria": [{"id": "k", "text": "t", "check": "x"}]}, "f:1: criteria[0].check: expected an object"),
        (
            {**PLAIN, "criteria": [{"id": "k", "text": "t", "check": {"kind": "max_word", "value": 3}}]},
            "f:1: criteria[0].check: expected a check that a program can verify, got a fault: "
            "unknown check kind 'max_word'; did you mean 'max_words'?",
        ),
        ({**RUBRIC, "met": {"a": {"x": True}}}, "f:1: met.a.x: expected a criterion's id, got 'x'"),
        ({**RUBRIC, "met": {"x": {"k": True}}}, "f:1: met.x: expected an answer's id, got 'x'"),
        ({**RUBRIC, "met": {"a": {"k": 1}}}, "f:1: met.a.k: expected true or false, got 1"),
        ({**RUBRIC, "met": {"a": True}}, "f:1: met.a: expected an object, got true"),
        ({**PLAIN, "question": "a\0b"}, "f:1: question: expected a text without NUL, got one at character 1"),
        ({**PLAIN, "question": "a\ud800"}, "f:1: question: expected Unicode text, got half a surrogate pair (\\ud800)"),
        ({**PLAIN, "fields": {"\ud800": "x"}}, "f:1: fields: expected Unicode text"),
    ]:
        with subtests.test(row=row, expected=expected):
            found = problems(lines(row))

            assert found[0].startswith(expected)
            assert len(found) == 1


def test_a_needed_key_that_is_missing_is_named(subtests):
    """A case needs id, question and answers."""
    for key in ["id", "question", "answers"]:
        with subtests.test(key=key):
            row = {k: v for k, v in PLAIN.items() if k != key}

            found = problems(lines(row))

            assert len(found) == 1
            assert found[0].startswith(f"f:1: {key}: expected a ")
            assert found[0].endswith("got none; add it")


def test_a_case_that_does_not_fit_the_task_is_a_fault(subtests):
    """The number of answers and the criteria must fit what the judge is asked to do."""
    for task, row, expected in [
        ("score", PLAIN, "f:1: answers: expected 1 of them (task=score), got 2"),
        ("points", {**RUBRIC, "answers": PLAIN["answers"]}, "f:1: answers: expected 1 of them (task=points), got 2"),
        ("rubric", {**RUBRIC, "answers": PLAIN["answers"]}, "f:1: answers: expected 1 of them (task=rubric), got 2"),
        ("pairwise", THREE, "f:1: answers: expected 1 to 2 of them (task=pairwise), got 3"),
        ("listwise", ALONE, "f:1: answers: expected 2 to 26 of them (task=listwise), got 1"),
        ("rubric", ALONE, "f:1: criteria: expected at least one criterion (task=rubric), got none"),
        ("rubric-all", {**ALONE, "criteria": []}, "f:1: criteria: expected at least one criterion (task=rubric-all)"),
        ("points", ALONE, "f:1: criteria: expected at least one criterion (task=points), got none"),
    ]:
        with subtests.test(task=task, row=row, expected=expected):
            found = problems(lines(row), task)

            assert [p.startswith(expected) for p in found] == [True]


def test_a_case_that_fits_the_task_is_taken(subtests):
    """The same cases are no fault where they fit."""
    for task, row in [
        *(("pairwise", row) for row in (PLAIN, ALONE)),
        *(("listwise", row) for row in (PLAIN, THREE)),
        ("score", ALONE),
        ("rubric", RUBRIC),
    ]:
        with subtests.test(task=task, row=row):
            assert len(read_bytes(lines(row), task)) == 1


def test_a_case_id_that_comes_again_names_the_first_line():
    """Results refer to cases by id, so two of one name would be mixed up."""
    found = problems(lines(PLAIN, "", {**PLAIN, "id": "d"}, PLAIN))

    assert found == ("f:4: id: expected a new id, got 'c' again (first in line 1); rename one",)


def test_a_byte_that_is_not_utf_8_is_named_by_its_offset_in_the_file():
    """The offset counts from the start of the file, as a hex viewer does."""
    first = lines(PLAIN)
    second = b'{"id": "\xff"}\n'

    found = problems(first + second)

    assert found == (
        f"f:2: byte {len(first) + 8}: expected UTF-8, got byte 0xff (invalid start byte); save the file as UTF-8",
    )


def test_the_offset_counts_a_byte_order_mark():
    """A BOM is skipped, and still a part of the file."""
    found = problems(b"\xef\xbb\xbf\xff\n")

    assert found[0].startswith("f:1: byte 3: expected UTF-8, got byte 0xff")


def test_a_file_without_cases_is_a_fault(subtests):
    """No cases, no test: never a silent nothing."""
    for data in [b"", b"\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \r\n"]:
        with subtests.test(data=data):
            assert problems(data) == ("f: expected at least one case, got an empty file; write one JSON object a line",)


def test_a_raw_nul_byte_is_a_fault_of_json():
    """JSON forbids control characters in texts."""
    found = problems(b'{"id": "a\0b"}\n')

    assert found[0].startswith("f:1: column 10: expected JSON, got an error: Invalid control character")


def test_a_line_that_is_too_long_is_a_fault_and_the_next_line_is_read():
    """A long line is not kept in memory, and line numbers and offsets go on behind it."""
    long = b"x" * (2 * MAX_LINE_BYTES + 17) + b"\n"

    found = problems(long + lines(PLAIN) + b"\xff\n")

    assert found == (
        "f:1: line: expected at most 5 MB, got a longer line; write one case a line",
        f"f:3: byte {len(long + lines(PLAIN))}: "
        "expected UTF-8, got byte 0xff (invalid start byte); save the file as UTF-8",
    )


def test_the_longest_line_allowed_is_read():
    """The limit is on the line with its end, and it is inclusive."""
    shell = len(lines({**PLAIN, "reference": ""}))
    row = {**PLAIN, "reference": "x" * (MAX_LINE_BYTES - shell)}

    assert len(read_bytes(lines(row))) == 1


def test_no_more_than_a_line_is_held_in_memory():
    """A file is read in pieces of bounded size, however long it is and however few lines it has."""

    class Endless(BytesIO):
        sizes = ()

        def readline(self, size=-1):
            self.sizes = (*self.sizes, size)
            return b"x" * size if len(self.sizes) < 50 else b""

        def read(self, size=-1):
            raise AssertionError("read at once")

    stream = Endless()

    with pytest.raises(ConfigError):
        read(stream, "f")

    assert all(0 < size <= MAX_LINE_BYTES + 1 for size in stream.sizes)


def test_all_faults_are_collected_and_the_rest_counted():
    """Two faults in one line are two messages; beyond the limit only their number is given."""
    bad = {"id": 1, "question": 2, "answers": PLAIN["answers"]}

    few = problems(lines(bad, bad))
    many = problems(lines(*({**bad, "id": n, "question": -n} for n in range(1, 31))))

    assert [p.split(": ")[0:2] for p in few] == [["f:1", "id"], ["f:1", "question"], ["f:2", "id"], ["f:2", "question"]]
    assert len(many) == MAX_SHOWN + 1
    assert many[-1] == f"f: and {60 - MAX_SHOWN} more; fix these first"


def test_the_same_fault_in_many_lines_is_spelled_out_once():
    """Three lines are named each; of thirty the first is, with how many more there are. Other faults stay."""
    pair = {"question": "q", "answers": [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]}
    rows = [{**pair, "id": f"c{n}"} for n in range(30)]

    few = problems(lines(*rows[:3]), task="score")
    many = problems(lines(*rows, {**pair, "id": "c30", "beter": "a"}), task="score")

    assert [one.split(": ")[0] for one in few] == ["f:1", "f:2", "f:3"]
    assert [one.split(": ")[0] for one in many] == ["f:1", "f:31"]
    assert many[0].endswith("(the same in 30 more lines)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"id": "1"},\n{"id": "2"}]\n', ("a JSON list", "jq -c '.[]' f > lines.jsonl")),
        ('\n [\n {"id": "1"}\n]', ("a JSON list", "jq -c '.[]' f > lines.jsonl")),
        ('{\n "id": "1"\n}\n', ("over several lines", "jq -c . f > lines.jsonl")),
    ],
)
def test_a_file_that_is_one_json_value_is_refused_in_a_sentence(text, words):
    """Not with a fault for each of its lines."""
    (found,) = problems(text.encode())

    assert all(part in found for part in words), found


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"turns": [{"role": "user", "content": "x"}]}, "turns[0].content: expected the key 'text', got 'content'"),
        ({"turns": [{"from": "user", "value": "x"}]}, "turns[0].from: expected the key 'role', got 'from'"),
        ({"turns": "user: hi"}, 'write [{"role": "user", "text": "..."}]'),
        ({"context": "one text"}, 'context: expected a list, got \'one text\'; write [{"id": "p1", "text": "..."}]'),
        ({"context": [{"text": "x"}]}, "its place in the list is its id"),
        ({"context": [{"id": "p", "text": " "}]}, "context[0].text: expected a passage, got an empty text"),
        ({"context": [""]}, "context[0]: expected a passage, got an empty text"),
        ({"context": ["x"], "tags": {"carries": "p9"}}, "tags.carries: expected the id of the passage"),
        ({"steps": [{"thought": "x"}]}, "move them to answers[0].steps"),
        ({"answers": [{"id": "a", "text": "x", "steps": "looked"}]}, '"tool": "stock"'),
        ({"answers": [{"id": "a", "text": "x", "steps": [{"name": "get"}]}]}, "expected the key 'tool', got 'name'"),
    ],
)
def test_a_fault_in_what_stands_beside_the_answers_says_how_it_is_written(row, words):
    """One fault, with the name or an example of what is wanted."""
    found = problems(lines({**PLAIN, **row}))

    assert words in "\n".join(found)
    assert "got none; add it" not in " ".join(found)


def test_a_message_shows_long_and_unprintable_values_safely():
    """What a file holds can neither flood nor steer a terminal."""
    found = problems(lines({**PLAIN, "better": "\x1b[31m" + "y" * 1000, "\x1b[2J": 1}))

    assert len(found) == 2
    assert all("\x1b" not in p and len(p) < 300 for p in found)


@pytest.mark.parametrize("name", ["missing.jsonl", ".", "nul\0.jsonl"])
def test_a_file_that_cannot_be_read_is_a_fault_of_configuration(tmp_path, name):
    """A wrong path is a ConfigError that names it."""
    path = f"{tmp_path}/{name}"

    with pytest.raises(ConfigError, match=r".+: ") as caught:
        read_cases(path)

    assert caught.value.problems[0].startswith(f"{Path(path)}: ")


def test_a_sample_depends_on_seed_and_ids_alone():
    """The same seed takes the same cases from a file in another order; another seed takes others."""
    cases = [Case(f"c{i}", "q", (Answer("a", ""),)) for i in range(100)]

    taken = sample(cases, 10, 1)

    assert taken == sample(cases[::-1], 10, 1)
    assert taken == sample(cases, 40, 1)[:10]
    assert {c.id for c in taken} != {c.id for c in sample(cases, 10, 2)}
    assert len({c.id for c in sample(cases, 1000, 1)}) == 100


def test_a_sample_of_nothing_is_a_fault():
    """A sample without cases would test nothing."""
    with pytest.raises(ConfigError, match="n=0"):
        sample([], 0, 1)


def test_the_hash_of_a_set_ignores_its_order_and_sees_its_content():
    """Two runs are about the same cases exactly if the hashes are equal."""
    one, two = (Case(i, "q", (Answer("a", "t"),)) for i in ("c1", "c2"))
    other = Case("c2", "q", (Answer("a", "t "),))

    assert sha256([one, two]) == sha256([two, one])
    assert sha256([one, two]) != sha256([one, other])
    assert len(sha256([one])) == 64


def test_the_bundled_set_of_a_task_can_be_read(subtests):
    """What ships fits its own format and task, and is enough for the default design."""
    for task in ["pairwise", "score", "points", "rubric", "rubric-all", "listwise"]:
        with subtests.test(task=task):
            assert len(bundled(task)) >= 150
