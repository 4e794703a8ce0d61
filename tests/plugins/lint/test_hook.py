"""The hook of pre-commit that runs `calm lint`."""

import re

from calm.commands.cli import main
from tests.ci.test_action import HOOKS


def test_the_hook_lints_the_judge_of_a_template_that_changed(tmp_path, monkeypatch, capsys):
    """As `calm init` writes one; a template of no judge is linted alone."""
    (hook,) = HOOKS
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["init", "--dir", "judges", "--ci", "none"]) == 0
    written = [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*")) if path.is_file()]
    changed = [name for name in written if re.search(hook["files"], name) and not re.search(hook["exclude"], name)]
    assert changed == ["judges/judge.jinja", "judges/judge.negative.jinja", "judges/judge.toml"]
    capsys.readouterr()
    entry = hook["entry"].split()[1:]
    for names in (changed, changed[:1]):
        assert main([*entry, *names]) == 0
        assert capsys.readouterr().out == "judges/judge.toml: nothing found\n"
    template = tmp_path / changed[0]
    template.write_text("{{ question }} <a>{{ answers[0].text }}</a> Say [[A]], [[B]] or [[C]].", "utf-8")
    assert main([*entry, changed[0]]) == 1
    assert "error: answer-not-shown" in capsys.readouterr().out
    (tmp_path / "judges" / "judge.toml").unlink()
    main([*entry, changed[0]])
    assert capsys.readouterr().out.splitlines()[-1].startswith("judges/judge.jinja: ")
