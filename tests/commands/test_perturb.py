"""`calm perturb`: an edit as a word diff, and the list of all edits, those of installed packages included."""

import json
import re

import pytest

from calm.commands.cli import main
from calm.core.edits import Expects
from calm.core.reasons import Kind, because
from calm.core.verdict import FAMILIES


def told(capsys, *arguments):
    """Return the exit status of `calm perturb` and what it printed."""
    status = main(["perturb", *map(str, arguments)])
    found = capsys.readouterr()
    return status, found.out + found.err


# ----------------------------------------------------------------------------------------------------------- an edit


def test_an_edit_is_shown_by_each_of_its_names(capsys, subtests):
    """Its plain name, with its module, and as an attribute of a module are one edit."""
    for name in ["cite_book", "authority.cite_book", "calm.perturbations.authority:cite_book"]:
        with subtests.test(repr(name)):
            status, out = told(capsys, name)

            assert status == 0
            assert out.startswith("cite_book (authority, expects NOT_BETTER): ")
            assert "-- question (unchanged)" in out
            assert len(re.findall(r"-- answer \S+ \(treated\)$", out, re.MULTILINE)) == 1
            assert re.search(r"\{\+ Source: .*\+\}", out, re.DOTALL)


def test_a_factory_takes_what_follows_an_at_sign(capsys, subtests):
    """The dose is part of the name that is shown."""
    for name, shown in [("expand@3", "expand@3"), ("verbosity.pad@2", "pad@2"), ("crowd_note@80", "crowd_note@80")]:
        with subtests.test(repr(name)):
            status, out = told(capsys, name)

            assert status == 0
            assert out.startswith(f"{shown} (")


def test_a_factory_of_a_model_is_shown_with_one(capsys):
    """An edit that names a model needs no argument to be looked at."""
    status, out = told(capsys, "claim_authorship")

    assert status == 0
    assert "judge-model" in out


def test_what_cannot_be_shown_is_a_configuration_error(capsys, subtests):
    """The message says what was expected and what came."""
    for arguments, said in [
        (("cite_bok",), r"cite_bok: there is no such perturbation.*did you mean 'cite_book'"),
        (("expand@much",), r"expand@much: expected expand@DOSE with a fitting dose, got 'much'"),
        (("no_such_module:edit",), r"no_such_module:edit: No module named"),
        (("json:dumps",), r"json:dumps: "),
        ((), r"expected either the NAME of a perturbation or --list"),
        (("cite_book", "--list"), r"expected either the NAME of a perturbation or --list"),
        (("cite_book", "--task", "pair"), r"--task: unknown task 'pair'.*pairwise"),
        (("cite_book", "--case", "none"), r"--case: there is no case 'none' among \d+"),
    ]:
        with subtests.test(repr(arguments)):
            status, out = told(capsys, *arguments)

            assert status == 4
            assert re.search(said, out)


def test_an_edit_is_shown_on_a_case_of_the_task_that_is_asked_for(capsys, subtests):
    """A score or a rubric has one answer, which is treated."""
    for task in ["pairwise", "score", "rubric"]:
        with subtests.test(repr(task)):
            status, out = told(capsys, "cite_book", "--task", task)

            assert status == 0
            assert len(re.findall(r"^-- answer ", out, re.MULTILINE)) == (2 if task == "pairwise" else 1)


def test_an_order_a_history_and_a_note_are_shown(capsys):
    """What an edit changes beside the texts is shown, too."""
    assert "-- order" in told(capsys, "swap")[1]
    assert "-- history of " in told(capsys, "show_history")[1]
    assert "-- notes" in told(capsys, "hobby_note")[1]


def test_an_edit_of_the_prompt_is_shown_on_the_bundled_prompt(capsys):
    """Its diff is that of the messages."""
    _, listed = told(capsys, "--list", "--bias", "judge-prompt")
    name = listed.split("  ")[0]

    status, out = told(capsys, name)

    assert status == 0
    assert "the bundled prompt of task " in out
    assert re.search(r"-- message \d+ \((system|user)", out)
    assert "{+" in out or "[-" in out


def test_an_edit_that_applies_nowhere_says_so(capsys, tmp_path):
    """One case without a number has none to change, and no image to write on; the exit status is that of a refusal."""
    case = {"id": "plain", "question": "Why?", "answers": [{"id": "a", "text": "So."}, {"id": "b", "text": "No."}]}
    file = tmp_path / "cases.jsonl"
    file.write_text(f"{json.dumps(case)}\n", "utf-8")

    status, out = told(capsys, "change_number", "--cases", file, "--task", "pairwise")

    assert status == 1
    assert out.endswith("it does not apply to case 'plain'\n")

    status, out = told(capsys, "image_injection.order_in_image", "--cases", file)

    assert status == 1
    assert str(because(Kind.NOT_DRAWN, "no-image")) in out


HOSTILE = "red \x1b[31m alert \x07 and \u202e turned \x9b2J\nnext line"


@pytest.mark.parametrize("name", ["cite_book", "swap"])
def test_a_hostile_text_does_not_reach_the_terminal(capsys, tmp_path, name):
    """Control characters of a case are shown, not obeyed, whether the edit touches their text or not."""
    answers = [{"id": "good", "text": HOSTILE}, {"id": "bad", "text": HOSTILE + " It is worse."}]
    case = {"id": "c\u202e1", "question": HOSTILE, "answers": answers, "better": "good"}
    file = tmp_path / "cases.jsonl"
    file.write_text(f"{json.dumps(case)}\n", "utf-8")

    status, out = told(capsys, name, "--cases", file, "--task", "pairwise")

    assert status == 0
    assert all(character.isprintable() or character == "\n" for character in out)
    assert "\\x1b[31m" in out


# ---------------------------------------------------------------------------------------------------------- the list


def test_the_list_holds_every_edit_and_counts_them(capsys):
    """Its last line is the number of lines before it."""
    status, out = told(capsys, "--list")

    *rows, last = out.splitlines()
    assert status == 0
    assert last.startswith(f"{len(rows)} perturbations of ")
    assert len(rows) >= 120


def test_the_list_is_filtered_by_what_is_expected(capsys, subtests):
    """Every line is of that kind."""
    for expects in [str(e) for e in Expects]:
        with subtests.test(repr(expects)):
            status, out = told(capsys, "--list", "--expects", expects)

            rows = out.splitlines()[:-1]
            assert status == 0
            assert rows
            assert all(f"  {expects} " in row for row in rows)


def test_the_list_is_filtered_by_bias_and_task_together(capsys, subtests):
    """Both filters hold; where nothing is left the list is empty, and says so by its exit status."""
    for task in FAMILIES:
        with subtests.test(repr(task)):
            status, out = told(capsys, "--list", "--bias", "position", "--task", task)

            rows = out.splitlines()[:-1]
            assert all(row.startswith("position.") for row in rows)
            assert bool(rows) is (status == 0) is (task in ("pairwise", "listwise"))


def test_a_filter_that_means_nothing_is_an_error(capsys, subtests):
    """The nearest known value is named."""
    for arguments, said in [
        (("--bias", "authorty"), "--bias: there is no such bias.*authority"),
        (("--expects", "BETTER"), "--expects: there is no such expects"),
        (("--task", "rubrics"), "--task: there is no such task.*rubric"),
    ]:
        with subtests.test(repr(arguments)):
            status, out = told(capsys, "--list", *arguments)

            assert status == 4
            assert re.search(said, out)


# ------------------------------------------------------------------------------------------------- of other packages

MODULE = '''
"""Shouting."""

from calm import Case, Expects, perturbation


@perturbation(bias="shouting", expects=Expects.NOT_BETTER, source="own")
def shout(case: Case, rng):
    """Append a shout to the weaker answer.\\x1b[31m"""
    return case.edit(case.target, lambda text: f"{text} HEAR, HEAR!")
'''


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Lay out a package as pip installs it, with an entry point of ours, where Python looks for packages."""
    (tmp_path / "shouting_probe.py").write_text(MODULE, "utf-8")
    about = tmp_path / "shouting_probe-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting-probe\nVersion: 1.0\n", "utf-8")
    (about / "entry_points.txt").write_text("[calm.perturbations]\nshouting = shouting_probe\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("published")
def test_edits_of_an_installed_package_are_listed_and_shown(capsys):
    """They are found through their entry point, by the name that it gives their module, and shown as harmlessly."""
    listed, rows = told(capsys, "--list", "--bias", "shouting")
    shown, diff = told(capsys, "shouting.shout")

    assert (listed, shown) == (0, 0)
    assert rows.startswith("shouting.shout  shouting  NOT_BETTER  all  Append a shout")
    assert "HEAR, HEAR!" in diff
    assert "\x1b" not in rows + diff


def test_cases_of_any_task_are_shown_without_naming_it(tmp_path, capsys):
    """The number of answers says which tasks a case is for; an edit that serves none of them is refused with both."""
    case = {"id": "one", "question": "Why?", "answers": [{"id": "a", "text": "It rains, and so the road is wet."}]}
    (tmp_path / "own.jsonl").write_text(json.dumps(case) + "\n", "utf-8")

    status, shown = told(capsys, "authority.cite_book", "--cases", str(tmp_path / "own.jsonl"))

    assert status == 0
    assert "case one, cite_book" in shown
    status, said = told(capsys, "position.swap", "--cases", str(tmp_path / "own.jsonl"))
    assert status != 0
    assert "swap serves pairwise, listwise, and a case with 1 answer is for score, rubric, label" in said
