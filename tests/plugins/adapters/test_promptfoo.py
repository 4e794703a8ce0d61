"""promptfoo: what is said where it, or its configuration, is not there; `tests/slow/adapters` asks its graders."""

import pytest

from calm.errors import ConfigError
from calm.plugins.adapters.judge import adapted


def test_a_file_that_is_not_there_is_named(tmp_path, monkeypatch):
    """Before promptfoo is looked for."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"expected a promptfoo configuration, and the file 'nothing.yaml'"):
        adapted("promptfoo:nothing.yaml")


def test_promptfoo_that_is_not_there_is_named_with_its_install(tmp_path, monkeypatch):
    """One line to type."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "promptfooconfig.yaml").write_text("defaultTest: {assert: [{type: llm-rubric, value: It is right}]}")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigError, match="npm install -g promptfoo"):
        adapted("promptfoo:promptfooconfig.yaml")
