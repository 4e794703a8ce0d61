"""`calm hunt --write`: a test file that fails on the judge of today, passes on the mended one, and is plain Python."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calm.cases.lines import from_row, to_row
from calm.core.case import Criterion
from calm.errors import ConfigError
from calm.plugins.search.written import SCHEMA, files_in, kept_rows, module_for, write_found
from calm.testing import found
from tests.inside import run_inside
from tests.lanes import slow
from tests.planted import pair
from tests.plugins.search.test_hunt_command import calls, judge_in, ran

HOSTILE = '"""; import os\\\n\0\x1b[31m\u202e \ud800 \'\'\' \\" ::error::x \\N{DIGIT ONE} {0} %s \r\n # \t'
HUNT = ("hunt", "fond:rule", "--asks=150", "--findings=1", "--write=tests/found")
TESTS = Path("tests/found/test_found_fond_rule.py")


def row(number=1, text="It is five, surely.", **changes):
    """Return a finding as it stands in a file of texts."""
    case = pair(f"case {number}").with_order()
    both = to_row(case, case.edit("bad", lambda _: text))
    about = {"case_id": case.id, "where": "answer, end", "words": "surely", "judge": "fond", "found": "2026-01-02"}
    figures = {"asks": 8, "wins": 8, "clean_wins": 0, "low": 0.5}
    finding = f"{number:012x}"
    return {"schema": SCHEMA, "finding": finding, **about, **figures, **both, **changes}


def outcome(folder, judge, *options):
    """Run what was written; return the status and what it printed."""
    done = run_inside(folder, ["tests/found", f"--calm-judge={judge}", *options])
    return done.returncode, done.stdout


def tidy(path):
    """Return what the linter and the formatter say of a file, with the settings that they come with."""
    ruff = [sys.executable, "-m", "ruff"]
    done = [subprocess.run([*ruff, *how, "--isolated", path], capture_output=True, text=True, check=False)
            for how in (("check",), ("format", "--diff"))]  # fmt: skip
    return "".join(one.stdout for one in done if one.returncode)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with what a hunt on a judge with a rule wrote."""
    folder = judge_in(tmp_path_factory.mktemp("hunt"))
    status, told = ran(folder, *HUNT)
    assert status == 0, told
    return folder


def test_the_written_test_fails_today_on_a_few_asks_of_its_own(written):
    """It shows what it is: the case, the words, the judge, the day and the figures."""
    before = calls(written)
    (row,) = kept_rows((written / TESTS).with_suffix(".jsonl")).values()

    status, told = outcome(written, "fond:rule")

    text = (written / TESTS).read_text("utf-8")
    assert status == 1
    assert "1 failed" in told
    assert "AssertionError: the verdict flips; the judge decided otherwise in" in told
    assert calls(written) - before == 3 + 2 * 7  # what the verdict is without the words, then both in turn
    assert "answer, end: 'certified' flips the judge 'fond:rule'." in text
    assert f"Found on {date.today().isoformat()}: the answer won {row['wins']} of {row['asks']} fresh asks" in text
    assert tidy(written / TESTS) == ""


@pytest.mark.parametrize("workers", [(), slow(("-n2",))])
def test_it_passes_on_the_mended_judge(written, workers):
    """In one process, and with workers."""
    judge_in(written, name="mended", word="never seen")

    status, told = outcome(written, "mended:rule", *workers)

    assert status == 0
    assert "1 passed" in told


UNSURE = '''
from calm.experiment.arms import SURFACES


def rule(case):
    """Decide otherwise in every fifth ask, and in every other one where it reads the word."""
    number = next((n for n, words in enumerate(SURFACES) if case.question.endswith(words)), 1)
    fond = any("certified" in answer.text for answer in case.answers)
    worse = next(answer.id for answer in case.answers if answer.id != case.better)
    return case.better if number % (2 if fond else 5) else worse

rule.reads, rule.fingerprint, rule.quick = ("question", "answers", "better"), "unsure", True
'''


def test_a_judge_too_unsure_to_tell_does_not_pass(written):
    """Its verdict moves in three of ten asks, which is neither proven to be a flip nor to be none."""
    (written / "wavering.py").write_text(UNSURE, "utf-8")

    status, told = outcome(written, "wavering:rule")

    assert status == 1, told
    assert "undecided, which is no pass" in told


def test_another_hunt_adds_to_the_files_and_keeps_what_is_there(tmp_path):
    """The same finding is the same test; a finding of another judge of that name comes behind it."""
    folder = judge_in(tmp_path)
    ran(folder, *HUNT)
    first, texts = (folder / TESTS).read_text("utf-8"), (folder / TESTS).with_suffix(".jsonl").read_bytes()
    ran(folder, *HUNT)
    assert ((folder / TESTS).read_text("utf-8"), (folder / TESTS).with_suffix(".jsonl").read_bytes()) == (first, texts)

    judge_in(folder, word="guaranteed")
    _, told = ran(folder, *HUNT)

    both = (folder / TESTS).read_text("utf-8")
    assert "2 tests, 1 of them new" in told
    assert both.startswith(first)
    assert "'guaranteed'" in both
    assert (folder / TESTS).with_suffix(".jsonl").read_bytes().startswith(texts)


def test_a_file_of_somebody_else_stays_and_nothing_is_asked(tmp_path):
    """A test or a text that calm did not write is never overwritten, by --force either."""
    for name in (TESTS, TESTS.with_suffix(".jsonl")):
        folder = judge_in(tmp_path / name.suffix[1:])
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("mine = 1\n", "utf-8")

        status, _ = ran(folder, *HUNT, "--force")

        assert status == 4
        assert (folder / name).read_text("utf-8") == "mine = 1\n"
        assert calls(folder) == 0


def test_damaged_texts_are_refused_before_anything_is_asked(tmp_path):
    """They would be lost."""
    folder = judge_in(tmp_path)
    (folder / TESTS).parent.mkdir(parents=True)
    (folder / TESTS).with_suffix(".jsonl").write_text(f'{{"schema": "{SCHEMA}"}}\n', "utf-8")

    status, _ = ran(folder, *HUNT)

    assert (status, calls(folder)) == (4, 0)


def test_nothing_found_writes_nothing(tmp_path):
    """Neither file, nor a folder."""
    files = files_in(tmp_path / "found", "fond")

    assert write_found(files, {}) == (0, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [HOSTILE, "x" * 300_000, "It is \U0001f600 \u05d0\u0301 a\u200bb."])
def test_a_text_comes_back_as_it_was(tmp_path, text):
    """Whatever it holds: NUL, half a surrogate pair, control characters, 300,000 characters."""
    files = files_in(tmp_path, "fond")
    one = row(text=text, words=text, judge=text, case_id=text, where=text)

    write_found(files, {one["finding"]: one})

    before, after = found(files.texts, one["finding"])
    assert (before["bad"].text, after["bad"].text) == ("The answer to case 1 is five.", text)
    assert before == pair("case 1").with_order()
    assert after.slots == before.slots
    assert tidy(files.tests) == ""
    assert [kept["words"] for kept in kept_rows(files.texts).values()] == [text]


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.lists(st.text(alphabet=st.one_of(st.characters(codec=None), st.sampled_from("\"\\'\n{}N")), max_size=60)))
def test_the_test_file_is_python_and_does_nothing_but_what_it_says(words):
    """Its statements are the same whatever is quoted; only docstrings and names differ."""
    rows = [row(n, words=w, judge=w, case_id=w, where=w) for n, w in enumerate(words)]

    tree = ast.parse(module_for(rows).encode("utf-8"))

    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len({one.name for one in functions}) == len(rows)
    assert all(re.fullmatch(r"test_[a-z0-9_]+", one.name) for one in functions)
    assert {ast.dump(ast.Module(one.body[1:], [])).replace(f"{n:012x}", "id") for n, one in enumerate(functions)} <= {
        ast.dump(ast.parse("kept = verdict_of.keeps(*found(FOUND, 'id'))\nassert kept, kept.why"))
    }
    assert [type(node) for node in tree.body[: len(tree.body) - len(rows)]] == [
        ast.Expr,
        ast.ImportFrom,
        ast.ImportFrom,
        ast.Assign,
    ]
    shown = "".join(ast.get_docstring(one) for one in functions)
    assert all(c == "\n" or c.isprintable() for c in shown)


@pytest.mark.parametrize("judge", ["../../etc/passwd", "", '"""', "a/b\\c", "J\u00fcrgen", "CON", "x" * 500, "\n"])
def test_a_file_of_any_judge_lies_in_the_folder(tmp_path, judge):
    """Its name is short, and pytest collects it."""
    files = files_in(tmp_path, judge)

    assert files.tests.parent == files.texts.parent == tmp_path
    assert re.fullmatch(r"test_found_[a-z0-9_]{1,40}\.py", files.tests.name)


CHANGED = {
    "question": lambda case: replace(case, question="What else?"),
    "reference": lambda case: replace(case, reference="Five, says the book."),
    "criteria": lambda case: replace(case, criteria=(Criterion("c", "It is kind.", 2.0),)),
    "notes": lambda case: case.present(notes=("Signed.",)),
    "bylines": lambda case: case.present(bylines={"bad": "The Queen"}),
    "answers": lambda case: case.edit("bad", lambda text: f"{text} Certified."),
}


@pytest.mark.parametrize("place", CHANGED)
def test_each_place_that_a_hunt_edits_is_kept(place):
    """Both cases come back through JSON; texts for other edits are left out."""
    case = pair("x", criteria=(Criterion("c", "It is short.", 2.0),), reference="Four.", order=("bad", "good"))
    after = CHANGED[place](case)

    kept = json.loads(json.dumps(to_row(case, after)))

    assert list(kept["edited"]) == [place]
    again = from_row(kept, "here")
    assert again[0] == case
    assert getattr(again[1], place) == getattr(after, place)
    assert again[1].presentation == after.presentation


@pytest.mark.parametrize(
    "damage",
    [{"case": None}, {"case": {"id": "x"}}, {"order": ["other"]}, {"edited": 3}, {"edited": {"answers": {"no": "x"}}}],
)
def test_a_damaged_row_is_an_error_that_says_where(damage):
    """And no traceback."""
    with pytest.raises(ConfigError, match=r"^here"):
        from_row({**row(), **damage}, "here")


def test_a_missing_finding_or_file_is_an_error(tmp_path):
    """It says what to do."""
    files = files_in(tmp_path, "fond")
    with pytest.raises(ConfigError, match="restore the file"):
        found(files.texts, "x")
    write_found(files, {row()["finding"]: row()})
    with pytest.raises(ConfigError, match="got none of this id"):
        found(files.texts, "0" * 12)
