"""`calm report`: the record of a run in another form, later and elsewhere."""

import json
from dataclasses import replace

import jsonschema
import pyarrow.parquet
import pytest

from calm.commands.cli import main
from calm.core.reasons import Kind, because
from calm.results.audit import read, write
from calm.results.codes import Ending, State
from calm.results.reports import html, markdown, sarif, tables
from tests.reports.planted_audit import sample
from tests.reports.test_schema import SCHEMA


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the results of a run and their texts."""
    monkeypatch.chdir(tmp_path)
    write(sample(), tmp_path / "results.json")
    return tmp_path


def test_the_default_is_the_page(folder, capsys):
    """Without options the report for people is written, as the run itself would have."""
    assert main(["report", "results.json"]) == 0

    assert (folder / "report.html").read_text("utf-8") == html.render(read(folder / "results.json"))
    assert capsys.readouterr().out == "wrote report.html\n"


def test_the_form_is_as_the_name_ends(folder, subtests):
    """Each form is what its module renders of the record."""
    for name, render in [
        ("a.html", html.render),
        ("a.md", markdown.render),
        ("a.sarif", sarif.render),
        ("a.csv", tables.render_csv),
    ]:
        with subtests.test(repr(name)):
            assert main(["report", "results.json", "-o", name]) == 0

            assert (folder / name).read_text("utf-8") == render(read(folder / "results.json"))


def test_a_form_can_be_named(folder):
    """`--format` wins over the name, and gives a name of its own."""
    assert main(["report", "results.json", "--format", "markdown", "-o", "out.txt"]) == 0
    assert main(["report", "results.json", "--format", "parquet"]) == 0

    assert (folder / "out.txt").read_text("utf-8").startswith("# calm: RED")
    assert pyarrow.parquet.read_table(folder / "trials.parquet").num_rows == len(list(tables.rows(sample())))


def test_a_comment_has_a_limit(folder):
    """`--limit` bounds a summary, and nothing else."""
    assert main(["report", "results.json", "-o", "comment.md", "--limit", "2500"]) == 0
    assert main(["report", "results.json", "-o", "a.html", "--limit", "2500"]) == 4

    assert (folder / "comment.md").stat().st_size <= 2500


def test_texts_can_be_left_out_later(folder):
    """A page, and a record to publish, without any text."""
    assert main(["report", "results.json", "--texts", "none"]) == 0
    assert main(["report", "results.json", "--texts", "none", "-o", "public.json"]) == 0

    for name in ("report.html", "public.json"):
        shown = (folder / name).read_text("utf-8")
        assert "mountain" not in shown
        assert "compare two answers" not in shown
    assert not (folder / "public.texts.jsonl").exists()
    public, whole = (read(folder / name).findings for name in ("public.json", "results.json"))
    assert [(f.key, f.outcome, f.value, f.trials) for f in public] == [
        (f.key, f.outcome, f.value, f.trials) for f in whole
    ]


def older(path):
    """Rewrite results as the version before inert words wrote them."""
    body = json.loads(path.read_text("utf-8"))
    body |= {"schema": "calm-results/1", "stopping": "fixed"}
    for finding in body["findings"]:
        finding.pop("scale", None)
        for row in finding["trials"]:
            for name in ("inert", "floor", "cluster", "chances", "places"):
                row.pop(name, None)
    path.write_text(json.dumps(body), "utf-8")


def test_results_of_an_older_version_are_still_shown(folder):
    """Every form of report reads them; what they found stands as it was."""
    before = [(f.key, f.outcome, f.value) for f in read(folder / "results.json").findings]
    older(folder / "results.json")

    for name in ("a.html", "a.md", "a.sarif", "a.csv", "a.xml"):
        assert main(["report", "results.json", "-o", name]) == 0

    assert [(f.key, f.outcome, f.value) for f in read(folder / "results.json").findings] == before


def test_missing_texts_are_said(folder, capsys):
    """In the terminal and in the report itself."""
    (folder / "results.texts.jsonl").unlink()

    assert main(["report", "results.json", "-o", "a.md"]) == 0

    said = "the texts of this run were not found: results.texts.jsonl does not lie beside results.json"
    assert said in capsys.readouterr().err
    assert "results.texts.jsonl" in (folder / "a.md").read_text("utf-8").replace("&#46;", ".")


def test_texts_that_were_left_out_are_not_missed(folder, capsys):
    """A record that says so needs no file beside it."""
    main(["report", "results.json", "--texts", "none", "-o", "public.json"])
    capsys.readouterr()

    assert main(["report", "public.json"]) == 0

    assert "not found" not in capsys.readouterr().err
    assert "texts were left out" in (folder / "report.html").read_text("utf-8")


def test_an_interrupted_run_says_what_is_missing(folder, capsys):
    """In the terminal and in every form that people read."""
    tests = (Ending("a", State.NOT_RUN), Ending("b", State.NOT_RUN), Ending("c", State.DECIDED))
    write(replace(sample(), faults=(because(Kind.INTERRUPTED),), tests=tests), folder / "results.json")

    for name in ("a.html", "a.md", "a.sarif"):
        assert main(["report", "results.json", "-o", name]) == 0
        assert "2 of 3 tests did not run: a, b" in (folder / name).read_text("utf-8"), name

    assert "calm: 2 of 3 tests did not run: a, b" in capsys.readouterr().err
    assert json.loads((folder / "a.sarif").read_text())["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_a_note_cannot_act_on_a_terminal(folder, capsys):
    """Escapes of a record are shown."""
    write(replace(sample(), tests=(Ending("\x1b[31mred", State.NOT_RUN),)), folder / "results.json")

    main(["report", "results.json"])

    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["results.json", "./results.json", "results.texts.jsonl"])
def test_the_record_is_not_overwritten(folder, name, capsys):
    """A report never takes the place of what it is made from."""
    before = (folder / "results.json").read_bytes(), (folder / "results.texts.jsonl").read_bytes()

    assert main(["report", "results.json", "-o", name, "--format", "json"]) == 4

    assert ((folder / "results.json").read_bytes(), (folder / "results.texts.jsonl").read_bytes()) == before
    assert "expected a file other than the inputs of the run" in capsys.readouterr().err


def test_a_name_that_says_nothing_is_refused(folder, capsys):
    """The message lists the endings."""
    assert main(["report", "results.json", "-o", "report.docx"]) == 4

    assert "expected --format, or a FILE that ends in .html" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        ("cut.json", '{"schema": "calm-results/2", "calm": "1', "breaks off"),
        ("cut-baseline.json", '{"schema": "calm-baseline/2", "calm": "1', "breaks off"),
        ("cases.csv", "id,question\n1,Why?\n", "CSV"),
        ("cases.jsonl", '{"id": "1"}\n{"id": "2"}\n', "JSON Lines"),
        ("later.json", '{"schema": "calm-results/99"}', "another release"),
        ("other.json", '{"name": "x"}', "no schema"),
        ("empty.json", "", "empty"),
        ("folder", None, "folder"),
        ("none.json", None, "no such file"),
    ],
)
@pytest.mark.parametrize("command", ["report", "accept", "compare"])
def test_a_file_that_is_no_record_is_named_for_what_it_is(folder, capsys, command, name, text, cause):
    """One line, the same exit status in each command, and nothing is written."""
    if text is not None:
        (folder / name).write_text(text)
    elif name == "folder":
        (folder / name).mkdir()
    before = set(folder.iterdir())

    status = main([command, *(["results.json"] if command == "compare" else []), name])

    said = capsys.readouterr().err
    assert status == 4
    assert said.startswith(f"calm: {name}: ")
    assert cause in said
    assert said.count("\n") == 1
    assert set(folder.iterdir()) == before


def test_what_is_no_record_is_an_error(folder, capsys, subtests):
    """A file of another kind is refused, and nothing is written."""
    for text in ["", "{}", "[1]", '{"schema": "calm-results/2"}']:
        with subtests.test(repr(text)):
            (folder / "other.json").write_text(text)

            assert main(["report", "other.json"]) == 4

            assert capsys.readouterr().err.startswith("calm: ")
            assert not (folder / "report.html").exists()


def test_a_report_of_a_real_run(project, monkeypatch, capsys):
    """What a run wrote is rendered to the same page later, and its record keeps to the schema."""
    project.run("--calm-results=results.json", "--calm-report=then.html", judge="judges:fond")
    monkeypatch.chdir(project.path)

    assert main(["report", "results.json", "-o", "now.html"]) == 0

    assert (project.path / "now.html").read_text("utf-8") == (project.path / "then.html").read_text("utf-8")
    jsonschema.Draft202012Validator(SCHEMA).validate(project.results())
