"""`calm skill` writes a skill as coding agents expect it; `calm mcp` without its package says what to install."""

import re
import sys
from importlib.resources import files

import pytest

from calm.commands import CONFIGURATION, cli
from calm.plugins.agents.command import NAME

SKILL = files("calm").joinpath("plugins", "agents", "data", "SKILL.md").read_text("utf-8")


def test_the_skill_keeps_to_the_format_of_skills():
    """Front matter with a name, which is that of the folder, and a description of at most 1,024 characters."""
    found = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: ([^\n:]{1,1024})\n---\n", SKILL)

    assert found
    assert found[1] == NAME


def test_the_skill_is_written_into_the_folder_of_an_agent(tmp_path, monkeypatch):
    """A second time, too; an older one of calm is replaced."""
    monkeypatch.chdir(tmp_path)
    target = tmp_path / ".claude" / "skills" / NAME / "SKILL.md"

    assert cli.main(["skill", ".claude/skills"]) == 0
    target.write_text(SKILL[:200])
    assert cli.main(["skill", ".claude/skills"]) == 0

    assert target.read_text("utf-8") == SKILL


def test_a_file_of_somebody_else_stays(tmp_path, capsys):
    """It is named, and unchanged."""
    target = tmp_path / NAME / "SKILL.md"
    target.parent.mkdir()
    target.write_text("mine")

    assert cli.main(["skill", str(tmp_path)]) == CONFIGURATION

    assert target.read_text() == "mine"
    assert "SKILL.md" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_made_is_refused(tmp_path, monkeypatch, folder):
    """Without a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")

    assert cli.main(["skill", folder]) == CONFIGURATION


def test_a_server_without_its_package_says_what_to_install(monkeypatch, capsys):
    """By the name of the package."""
    monkeypatch.setitem(sys.modules, "mcp", None)

    assert cli.main(["mcp"]) == CONFIGURATION

    assert "mcp" in capsys.readouterr().err
