"""`calm schema`: an editor refuses a file, and marks its faults, where calm does; what it cannot know is listed."""

import datetime
import json
import re
import subprocess
import sys
import tomllib
from io import BytesIO
from itertools import product
from pathlib import Path

import pytest
from jsonschema import Draft7Validator

from calm.cases import BUNDLED, CODE, LANGUAGES, TIES
from calm.cases.reading import ANSWERS, read
from calm.cases.shapes import SHAPED
from calm.commands import cli
from calm.errors import ConfigError
from calm.judges.judgefile import KEYS, read_judge
from calm.results.gatefile import KINDS, LIMITS, read_gate
from tests.docs.pages import PAGES, blocks
from tests.lanes import one_in
from tools import schemas

SCHEMAS = {name: json.loads(text) for name, text in schemas.written().items()}
JUDGE, GATE, CASE = (Draft7Validator(SCHEMAS[f"{name}.schema.json"]) for name in ("judge", "gate", "case"))
TODAY = datetime.date(2026, 1, 1)
SHOWN = "[prompt]\nuser = '{{ answers }}{{ criterion }}{{ criteria }}'\n"
LABELS = "[labels]\nclasses = ['bad', 'ok']\n"
PANEL = "[panel]\nmembers = ['a.toml', 'b.toml']\n"
RECORDED = "[judge]\nname = 'r'\ntask = 'pairwise'\n{}\n[recorded]\nfile = 'r.csv'\n"


def plain(rest="", task="pairwise", judge="", model=""):
    """Return a judge.toml with more keys in its tables, and more tables."""
    return (
        f"[judge]\nname = 'j'\ntask = '{task}'\n{judge}\n[model]\nprovider = 'openai'\nmodel = 'm'\n{model}\n\n{rest}"
    )


@pytest.fixture
def faults_of(tmp_path):
    """Return what calm says of a judge.toml that has all files beside it."""
    (tmp_path / "a.toml").write_text(plain().replace("'j'", "'a'"))
    (tmp_path / "b.toml").write_text(plain(model="max_tokens = 9").replace("'j'", "'b'"))
    (tmp_path / "r.csv").write_text("case,verdict\nc1,A\n")
    (tmp_path / "u.txt").write_text("{{ answers }}")
    (tmp_path / "m.json").write_text('[{"role": "user", "content": "{{ answers }}"}]')

    def told(text):
        path = tmp_path / "judge.toml"
        path.write_text(text)
        try:
            read_judge(path, {}, keyless=True)
        except ConfigError as error:
            return [problem.removeprefix(f"{path}: ") for problem in error.problems]
        return []

    return told


def in_editor(text, schema=JUDGE):
    """Return the faults that an editor finds in a TOML file: to it, a day is a text."""
    document = json.loads(json.dumps(tomllib.loads(text), default=str))
    return list(schema.iter_errors(document))


def places(errors):
    """Return the keys that an editor's faults are about, as (table, key)."""
    found = set()
    for error in errors:
        path = [str(part) for part in error.absolute_path]
        if error.validator == "required":
            path.append(re.match("'(.+)' is a required", error.message)[1])
        if error.validator == "additionalProperties":
            path.append(re.search(r"\('(.+)' (?:was|were) unexpected", error.message)[1])
        found.add((".".join(path[:-1]), path[-1]))
    return found


SOUND = [
    plain(),
    plain("[verdict.scale]\nlow = 1\nhigh = 5\nstep = 1\n", task="score"),
    plain(LABELS + "harm = ['bad -> ok']\nmeanings = { bad = 'not good' }\n", task="label"),
    plain(LABELS + "harm = [['bad', 'ok']]\n[verdict]\nvalues = { Y = 'ok' }\n", task="label"),
    plain(SHOWN + "system = ' '\nnotes = 'end'\n[verdict]\nformat = 'json'\nfield = 'x'\n"),
    plain(SHOWN + "[verdict]\nformat = 'regex'\npattern = 'V: (A|B)'\n"),
    plain(SHOWN + "[verdict.parts]\nfirst = { label = 'F' }\nsecond = { label = 'S' }\n"),
    plain(SHOWN + "[verdict]\nformula = 'a'\n[verdict.parts]\na = { label = 'F' }\n", task="score"),
    plain("[verdict]\nvalues = { A = 'first', B = 'second', C = 'none' }\n"),
    plain("[verdict]\nvalues = { Y = 1, N = 0, M = 'met' }\n", task="rubric"),
    plain("[prompt]\nmessages_file = 'm.json'\n", judge="mitigations = ['swap']\ncases = []"),
    plain(model="api_key_env = 'OPENAI_API_KEY'\nextra_body = { top_k = 5 }\nbase_url = 'http://127.0.0.1:1/v1'"),
    f"[judge]\nname = 'p'\n{PANEL}",
    f"{PANEL}rule = 'weighted'\nweights = [1, 2.5]\n",
    RECORDED.format("family = 'gpt'") + "columns = { case = 'case' }\n",
]
WRONG = [
    "x = 1\n",
    "judge = 1\n",
    "[judge]\nname = 'x'\ntask = 'pairwise'\n",
    plain("[promt]\nuser = 'x'\n"),
    plain(task="pairwize"),
    plain(judge="name2 = 'x'"),
    plain(judge='family = "a\\u0007"'),
    plain(judge="cases = ['']"),
    plain(judge="mitigations = ['swop']"),
    plain(judge="mitigations = ['swap', 'swap']"),
    plain(judge="mitigations = ['swap']", task="score"),
    plain(model="tempurature = 0"),
    plain(model="temperature = -1"),
    plain(model="timeout_s = 0"),
    plain(model="rpm = 1.5"),
    plain(model="rpm = true"),
    plain(model="greeting = 'no'"),
    plain(model="transport = 'x'"),
    plain(model="headers = { X = 1 }"),
    plain(model="headers = { 'X Y' = '1' }"),
    plain(model="headers_env = { A = 'my key' }"),
    plain(model="api_key_env = 'sk-abcdefghijklmnopqrstuvwxyz'"),
    plain(model="base_url = 'localhost:80/v1'"),
    plain(model="base_url = 'http://name:word@host/v1'"),
    plain(model="extra_body = { stream = true }"),
    plain(model="price_usd_per_mtok = { input = 1 }"),
    plain(model="price_usd_per_mtok = { input = 1, output = 1, batch = 2 }"),
    plain("[prompt]\nuser = '{{ answers }}'\nuser_file = 'u.txt'\n"),
    plain("[prompt]\nuser = '{{ answers }}'\nmessages_file = 'm.json'\n"),
    plain("[prompt]\nuser = ' '\n"),
    plain("[prompt]\nsystem = 'x'\n"),
    plain("[prompt]\nnotes = 'end'\n"),
    plain("[verdict]\nfield = 'x'\n"),
    plain("[verdict]\nformat = 'json'\nfield = 'x'\n"),
    plain(SHOWN + "[verdict]\nformat = 'regex'\n"),
    plain(SHOWN + "[verdict]\nformat = 'tag'\npattern = 'x'\n"),
    plain(SHOWN + "[verdict.parts]\na = { label = 'F' }\n", task="score"),
    plain(SHOWN + "[verdict]\nformula = 'a'\n", task="score"),
    plain(SHOWN + "[verdict]\nformula = 'a'\n[verdict.parts]\na = { label = 'F' }\n", task="rubric"),
    plain(SHOWN + "[verdict]\nformat = 'json'\nformula = 'a'\n[verdict.parts]\na = { label = 'F' }\n", task="score"),
    plain(SHOWN + "[verdict]\nformat = 'regex'\nformula = 'a'\n[verdict.parts]\na = { low = 1 }\n", task="score"),
    plain(SHOWN + "[verdict]\nformat = 'logprobs'\nformula = 'a'\n[verdict.parts]\na = { low = 1 }\n", task="score"),
    plain(SHOWN + "[verdict]\nformula = 'min'\n[verdict.parts]\nmin = { low = 1 }\n", task="score"),
    plain("[verdict]\nvalues = { A = 1 }\n"),
    plain("[verdict]\nvalues = { Y = 2 }\n", task="rubric"),
    plain("[verdict]\nvalues = { Y = 'met' }\n", task="score"),
    plain("[verdict.scale]\nlow = 1\n"),
    plain("[verdict.scale]\nstep = 0\n", task="score"),
    plain("[verdict.scale]\nbest = 'hi'\n", task="score"),
    plain(task="label"),
    plain(LABELS),
    plain("[labels]\nclasses = ['bad']\n", task="label"),
    plain("[labels]\nclasses = ['bad', 'bad']\n", task="label"),
    plain("[labels]\nclasses = ['bad', '~ok']\n", task="label"),
    plain("[labels]\nclasses = ['bad', 'o,k']\n", task="label"),
    plain(LABELS + "harm = ['bad => ok']\n", task="label"),
    plain(LABELS + "ordered = 'yes'\n", task="label"),
    plain(LABELS + "[verdict]\nvalues = { Y = 1 }\n", task="label"),
    "[panel]\nmembers = ['a.toml']\n",
    f"{PANEL}rule = 'most'\n",
    f"judge = 'j'\n{PANEL}",
    f"{PANEL}weights = [1, 2]\n",
    f"{PANEL}rule = 'weighted'\n",
    f"{PANEL}rule = 'weighted'\nweights = [1, 0]\n",
    f"[judge]\nname = 'p'\ntask = 'score'\n{PANEL}",
    "[judge]\nname = 'r'\ntask = 'pairwise'\n[recorded]\n",
    RECORDED.format("") + "[model]\nmodel = 'x'\n",
    RECORDED.format("mitigations = ['swap']"),
    RECORDED.format("") + "columns = { cas = 'x' }\n",
    RECORDED.format("") + "[verdict]\nformat = 'logprobs'\n",
]
ONLY_CALM = {
    "a whole number that is written as 2.0 is a whole number to a schema": plain(model="rpm = 2.0"),
    "a day is a text to a schema": plain(model="extra_body = { d = 2020-01-01 }"),
    "JSON has no nan": plain(model="temperature = nan"),
    "one value cannot be compared with another": plain("[verdict.scale]\nlow = 5\nhigh = 1\n", task="score"),
    "one key cannot name what another one lists": plain(LABELS + "damaged = 'x'\n", task="label"),
    "a template is a text": plain("[prompt]\nuser = '{{ answers'\n"),
    "an expression is a text": plain(SHOWN + "[verdict]\nformat = 'regex'\npattern = '(A'\n"),
    "no other file is read": plain("[prompt]\nuser_file = 'none.txt'\n"),
}
"""Faults that calm names and no schema can."""


def test_the_files_that_ship_are_those_that_the_readers_describe(capsys):
    """`python -m tools.schemas` would change nothing, each is a schema, and the command prints it."""
    for name, schema in SCHEMAS.items():
        Draft7Validator.check_schema(schema)
        assert (schemas.FOLDER / name).read_text("utf-8") == schemas.written()[name]

        assert cli.main(["schema", name.partition(".")[0]]) == 0
        assert json.loads(capsys.readouterr().out) == schema


@pytest.mark.parametrize("turn", one_in(4, range(4)))
def test_sound_files_pass_both_and_wrong_ones_neither(faults_of, turn):
    """A file is refused by an editor if calm refuses it."""
    assert [text for text in SOUND[turn::4] if faults_of(text) or in_editor(text)] == []
    assert [text for text in WRONG[turn::4] if not faults_of(text) or not in_editor(text)] == []


def test_what_calm_alone_refuses(faults_of):
    """Each difference has its reason."""
    assert [why for why, text in ONLY_CALM.items() if not faults_of(text) or in_editor(text)] == []


def test_three_faults_are_named_at_once_and_in_the_same_places(faults_of):
    """An unknown key, a wrong name and a number out of range: the editor marks the keys that calm names."""
    text = plain(task="pairwize", model="tempurature = 0\nmax_tokens = 0")

    told = {tuple(re.match(r"\[(.+?)\] (\S+): ", one).groups()) for one in faults_of(text)}

    assert told == places(in_editor(text)) == {("judge", "task"), ("model", "tempurature"), ("model", "max_tokens")}


NEEDED = {"labels": "classes = ['x', 'y']\n", "panel": "members = ['a.toml', 'b.toml']\n"}
"""What the other keys of a table are checked against."""


@pytest.mark.slow
def test_each_key_takes_the_same_kinds_of_values(faults_of):
    """A text, a number, a truth, a list and a table are put to each key: both take it, or neither."""
    values = ["' '", "'x'", "1", "1.5", "-1", "true", "[]", "[1]", "['x']", "{}", "{ x = 1 }", "{ x = 'y' }"]
    differ = []
    for table, keys in KEYS.items():
        name, task = table.replace("NAME", "a"), "label" if table == "labels" else "score"
        for key, value in product(keys, values):
            beside = NEEDED.get(table, "") if key not in NEEDED.get(table, "") else ""
            rest = f"[{name}]\n{beside}{key} = {value}\n"
            text = rest if table in ("judge", "model", "panel") else plain(rest, task=task)

            begins = (f"[{name}] {key}: ", f"[{name}.{key}")
            here = [one for one in faults_of(text) if table == "panel" or one.startswith(begins)]
            deep = name.count(".") + 1
            marked = [error for error in in_editor(text) if [*error.absolute_path][deep : deep + 1] == [key]]

            if (any(f"got {key}=" in one for one in here) and not marked) or (marked and not here):
                differ.append((table, key, value, here, [error.message for error in marked]))
    assert differ == []


def test_judges_of_the_documentation_pass():
    """Each whole judge.toml that a page shows is sound to an editor."""
    shown = [(page.name, text) for page in PAGES for text in blocks(page, "toml")]
    whole = [(name, text) for name, text in shown if "[judge]" in text and "task" in text and "..." not in text]

    assert len(whole) >= 3
    assert [(name, error.message) for name, text in whole for error in in_editor(text)] == []


ENTRY = "[[{}]]\nkey = '{}'\n{}reason = 'why'\nexpires = 2030-01-31\n"


def gate_faults(text, tmp_path):
    path = tmp_path / "gate.toml"
    path.write_text(text)
    try:
        read_gate(path, TODAY)
    except ConfigError as error:
        return error.problems
    return ()


def test_gates_pass_both_or_neither(tmp_path):
    """The key of each measure, and a limit on either side of each end of its range; forms of keys; missing parts."""
    texts = [ENTRY.format(kind, "position/gain", "limit = 0.2\n" if kind == "limit" else "") for kind in KINDS]
    for measure in LIMITS:
        about = f"baseline/{measure}/gain" if measure == "worsening" else f"position/{measure}"
        limits = (-1.5, -1, -0.5, 0, 0.5, 1, 1.5, 3)
        texts += [ENTRY.format("limit", about, f"limit = {limit}\n") for limit in limits]
    keys = (
        "position",
        "position/gian",
        "Position/gain",
        "position/gain/x",
        "a/gain/x/y",
        "a//gain",
        "a/gain/",
        "a-b/pull",
        "\u5e8f\u5217-\xe9/gain",
        "a_b/gain",
        "a--b/gain",
        "a.b/gain",
    )
    texts += [ENTRY.format(kind, key, "") for key in keys for kind in ("waive", "not_tested")]
    texts += ["[[waive]]\nkey = 'a/gain'\n", "[waive]\nkey = 'a/gain'\n", "[[wave]]\n", "x = 1\n", ""]
    texts += [ENTRY.format("waive", "a/gain", "limit = 0.1\n"), ENTRY.format("limit", "a/gain", "limit = '0.1'\n")]
    texts += [ENTRY.format("waive", "a/gain", "").replace("'why'", "' '")]
    assert [text for text in texts if bool(gate_faults(text, tmp_path)) != bool(in_editor(text, GATE))] == []


PAIR = {"id": "c1", "question": "Which?", "answers": [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}]}
ODD = (
    None,
    "",
    " ",
    "x",
    "a\0b",
    1,
    1.5,
    True,
    [],
    ["x"],
    [1],
    {},
    {"a": "x"},
    {"a": 1},
    {"a": {"k": True}},
    {"a": {"k": "x"}},
)


def case_faults(row, task=None):
    try:
        read(BytesIO(json.dumps(row).encode()), "cases.jsonl", task=task)
    except ConfigError as error:
        return error.problems
    return ()


def put(row, path, value):
    """Return a copy of a row with another value at a path."""
    copy = json.loads(json.dumps(row))
    inner = copy
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return copy


FULL = {
    **PAIR,
    "criteria": [{"id": "k", "text": "short", "points": 2, "check": {"kind": "max_words", "value": 9}}],
    "met": {"a": {"k": True}},
    "turns": [{"role": "user", "text": "hello"}],
    "context": [{"id": "p1", "text": "passage"}, "plain"],
}
FULL["answers"][0]["steps"] = [{"thought": "t", "tool": "look", "arguments": {"x": 1}, "result": "3"}]


def paths(value, before=()):
    """Yield the place of each key of a row."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*before, key)
        yield from paths(inner, (*before, key))


@pytest.mark.slow
def test_each_key_of_a_case_takes_the_same_values():
    """Odd values are put to each place of a case: both take it, or neither; ids that must differ are calm's alone."""
    more = [(key,) for key in ("reference", "fields", "variants", "tags", "author", "steps", "wrong")]
    more += [("answers", 0, key) for key in ("author", "history", "wrong")] + [("turns", 0, "x"), ("context", 0, "x")]
    differ = []
    for path, value in product([*paths(FULL), *more], ODD):
        row = put(FULL, path, value)
        calm, marked = case_faults(row), [error.message for error in CASE.iter_errors(row)]
        alone = path[:3] == ("answers", 0, "steps") or any("differ" in one or "known" in one for one in calm)
        if (marked and not calm) or (calm and not marked and not alone):
            differ.append((path, value, calm, marked))
    assert differ == []


def test_cases_that_ship_pass():
    """Lines of each file that ships are cases to an editor."""
    data = Path(schemas.ROOT, "calm", "cases", "data")
    for name in {*BUNDLED.values(), CODE, LANGUAGES, TIES, *SHAPED.values()}:
        lines = (data / name).read_text("utf-8").splitlines()
        assert [line for line in lines[::20] if not CASE.is_valid(json.loads(line))] == []


def test_each_task_counts_its_answers():
    """Cases with one to four answers, with criteria and without: a task's definition refuses those that calm does."""
    definitions = SCHEMAS["case.schema.json"]["definitions"]
    criteria = ({}, {"criteria": []}, {"criteria": [{"id": "k", "text": "short"}]})
    for task, count, author, more in product(ANSWERS, range(1, 5), ({}, {"author": "m"}), criteria):
        schema = Draft7Validator({"definitions": definitions, "$ref": f"#/definitions/{task}"})
        answers = [{"id": f"a{n}", "text": f"text {n}", **author} for n in range(count)]
        row = {"id": "c", "question": "q", "answers": answers, **more}

        assert bool(case_faults(row, task)) != schema.is_valid(row), (task, row)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_behind_the_output_is_one_sentence():
    """No traceback, and the status of what a person must set right."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "calm", "schema", "judge"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
