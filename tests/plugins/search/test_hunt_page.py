"""`calm hunt --report`: what was found as a page, made of the record that lies beside it."""

import json

import pytest

from calm.commands.cli import main
from calm.plugins.search import pages

HUNT = ["hunt", "planted:injection=1", "--asks", "60", "--findings", "1", "--sample", "10", "--edits", "injection"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty folder to write to."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_shows_the_record(here):
    """The page is what the record says, with the marked words in it."""
    assert main([*HUNT, "--report", "hunt.html"]) == 0

    page = (here / "hunt.html").read_text("utf-8")
    assert page == pages.render(json.loads((here / "hunt.json").read_text("utf-8")))
    assert page.count('class="headline">Found: ') == 1
    assert "<ins>" in page


def test_a_page_that_would_replace_a_file_of_yours_is_refused_before_anything_is_asked(here, capsys):
    """It is said before the first call, and the file stays."""
    (here / "mine.html").write_text("<p>mine</p>", "utf-8")

    assert main([*HUNT, "--report", "mine.html"]) == 4

    assert "--report" in capsys.readouterr().err
    assert (here / "mine.html").read_text("utf-8") == "<p>mine</p>"
    assert not (here / "hunt.json").exists()
