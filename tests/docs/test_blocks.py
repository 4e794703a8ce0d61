"""Every block of every quick page is run, or `not_run.toml` says why not; `tests/slow/test_doc_blocks.py` runs all."""

import re
import shlex
import textwrap

import pytest

from calm import perturbations
from tests.docs.pages import ROOT, name, parse
from tests.docs.running import BLOCK, LANGUAGES, NOT_RUN, PROGRAM, QUICK, RUN, TALES, Reader, blocks_of, lines_of


def test_each_reason_is_about_a_line_that_is_there():
    """A reason stays no longer than its block, says something, and names no test that is gone."""
    there = {name(page): {line.strip() for block in blocks_of(page) for line in lines_of(*block)} for page in TALES}
    whys = [why for lines in NOT_RUN.values() for why in lines.values()]

    stale = [(page, line) for page, lines in NOT_RUN.items() for line in lines if line not in there.get(page, ())]

    assert stale == []
    assert [why for why in whys if len(why.split()) < 3] == []
    assert [
        why for why in whys for path in re.findall(r"tests/[\w/]+(?:\.py)?", why) if not (ROOT / path).exists()
    ] == []


def test_no_command_hides_in_a_block_of_text():
    """What a reader is to type stands in a block that is run."""
    hidden = [
        (name(page), line)
        for page in TALES
        for found in BLOCK.finditer(page.read_text("utf-8"))
        if found[3] not in LANGUAGES
        for line in PROGRAM.findall(textwrap.dedent(found[4]))
    ]

    assert hidden == []


SPAN = re.compile(r"(?<!`)`(calm [^`\n]+)`")
UNFINISHED = ("the following arguments are required", "expected one argument", "expected at least one argument")
"""What a command in a sentence may lack."""


def test_a_command_in_a_sentence_has_only_words_that_exist(capsys):
    """It may be cut short, but no option and no command of it is unknown."""
    wrong = []
    for page in TALES:
        for span in SPAN.findall(without_code_blocks(page)):
            try:
                parse(shlex.split(span)[1:])
            except SystemExit:
                said = capsys.readouterr()
                if said.err and not any(known in said.err for known in UNFINISHED):
                    wrong.append((name(page), span, said.err.splitlines()[-1]))

    assert wrong == []


def without_code_blocks(page):
    """Return a page without its blocks."""
    return BLOCK.sub("", page.read_text("utf-8"))


def test_each_quick_page_is_there():
    """No page is left in the list under a name that is gone."""
    assert {name(page) for page in RUN} >= QUICK


@pytest.mark.parametrize("page", [page for page in RUN if name(page) in QUICK], ids=name)
def test_each_block_of_a_page_runs(page, pytester, monkeypatch, capfd, subtests):
    """As it stands, after the ones above it."""
    Reader(page, pytester, monkeypatch, capfd).does_all(subtests)


def test_the_two_files_of_contributing_run(pytester, monkeypatch):
    """The new bias of the page, at its place among those of calm, on a sound judge: one test, and it is decided."""
    edit, suite = (text for language, text in blocks_of(ROOT / "CONTRIBUTING.md") if language == "python")
    (pytester.path / "politeness.py").write_text(edit)
    (pytester.path / "test_politeness.py").write_text(suite)
    monkeypatch.setattr(perturbations, "__path__", [*perturbations.__path__, str(pytester.path)])

    result = pytester.runpytest_inprocess("test_politeness.py", "--calm-judge=planted:noise=0.01")

    assert result.ret == 0, result.outlines[-20:]
    assert "GREEN (exit 0): every claim holds" in result.outlines
    assert "tested: 1 of 1 bias" in result.outlines
