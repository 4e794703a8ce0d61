"""`calm init` on a prompt of one's own: what `calm lint` finds in it stands among the notes."""

from calm.commands import REFUSED
from tests.commands.test_init import folder, run

__all__ = ["folder"]


def test_the_linter_says_what_is_wrong_with_the_draft(folder, capsys):
    """Its errors are notes, the other findings are counted, and the status says that an audit would not start."""
    (folder / "p.txt").write_text("Is {answer_2} better than {answer_1}? Reply [[yes]] or [[no]].", "utf-8")

    assert run("--prompt", "p.txt") == REFUSED

    said = capsys.readouterr().out
    assert "note: judge.jinja:1: error: verdict-unreadable: " in said
    assert "note: 1 error, " in said
