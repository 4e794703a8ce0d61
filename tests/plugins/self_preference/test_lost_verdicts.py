"""Verdicts that never came: the record, the page and a later run on the record say so, and the judge keeps its row."""

import json

import pytest

from calm.commands.cli import main
from calm.errors import ConfigError
from calm.plugins.self_preference.record import members_from
from tests.papers import small_runs

BROKEN = '''"""A judge that fails."""


def judge(case):
    """Fail."""
    raise RuntimeError("no <b>reply</b>")


judge.name = judge.fingerprint = "gamma"
judge.quick = True
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with judges, of whom one fails, and cases."""
    small_runs.write_inputs(tmp_path)
    tmp_path.joinpath("broken.py").write_text(BROKEN, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_was_lost_is_told_wherever_the_figures_are(folder, capsys):
    """The first run and the run on its record end alike; the page has the row and the reason."""
    given = [one.replace("three:gamma_pairwise", "broken:judge") for one in small_runs.own("pairwise")]

    first = main(given)
    told = capsys.readouterr().out
    again = main(["self-preference", "pairwise.json", "--report", "again.html"])

    body = json.loads(folder.joinpath("pairwise.json").read_text("utf-8"))
    assert (first, again) == (1, 1)
    assert body["lost"]["n"] * 3 == body["lost"]["of"]
    assert [row["judge"] for row in body["judges"]] == ["alpha", "beta", "gamma"]
    for said in (told, capsys.readouterr().out):
        assert f"{body['lost']['n']} of {body['lost']['of']} verdicts were lost" in " ".join(said.split())
        assert "gamma gave no verdict" in said
        assert "incomplete: " in said
    page = folder.joinpath("again.html").read_text("utf-8")
    assert f"{body['lost']['n']} of {body['lost']['of']} verdicts were lost" in page
    assert "<b>reply" not in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--agreement", ""], "--agreement: expected a value after it, got ''"),
        (["--slices", ","], "--slices: expected a value after it, got ','"),
    ],
)
def test_an_empty_value_is_no_value(capsys, options, message):
    """It is refused, not taken for an option that was not given."""
    assert main(["self-preference", "recorded:ifeval/GPT-5", *options]) == 4

    assert message in capsys.readouterr().err


def test_a_damaged_count_of_questions_is_refused(folder, capsys):
    """A record without one of its counts is damaged, and no figure is told."""
    main(small_runs.own("rubric"))
    body = json.loads(folder.joinpath("rubric.json").read_text("utf-8"))
    for wrong in ({"of": 40}, {"n": "many", "of": 40}):
        folder.joinpath("bad.json").write_text(json.dumps({**body, "questions": wrong}), "utf-8")
        capsys.readouterr()

        assert main(["self-preference", "bad.json"]) == 4
        assert "got one that is damaged" in capsys.readouterr().err


def test_a_choice_that_names_no_answer_is_refused(folder, capsys):
    """It was one for the other answer: of people, as gold, or of a judge; a peer's record is refused alike."""
    main(small_runs.own("pairwise"))
    whole = json.loads(folder.joinpath("pairwise.json").read_text("utf-8"))
    key = next(key for key, said in whole["judged"][0]["verdicts"].items() if not said.startswith("!"))

    def changed(**more):
        return {**whole, "cases": {**whole["cases"], key: {**whole["cases"][key], **more}}}

    wrong = [changed(labels={"1": "nobody"}), changed(labels={"1": None}), changed(better="nobody")]
    judge = {**whole["judged"][0], "verdicts": {**whole["judged"][0]["verdicts"], key: "nobody"}}
    for body in (*wrong, {**whole, "judged": [judge, *whole["judged"][1:]]}):
        folder.joinpath("bad.json").write_text(json.dumps(body), "utf-8")
        capsys.readouterr()

        assert main(["self-preference", "bad.json"]) == 4
        assert "as the better answer, got" in capsys.readouterr().err
    with pytest.raises(ConfigError, match="as the better answer, got 'nobody'"):
        members_from(body)
