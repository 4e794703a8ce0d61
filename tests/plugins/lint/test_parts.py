"""Verdicts of several parts, as the linter sees them."""

from calm.plugins.lint.linting import lint
from calm.plugins.lint.subject import subjects_of
from tests.judges.test_parts import HEAD


def test_lint_looks_for_what_each_part_is_written_with(tmp_path):
    def rules(verdict):
        path = tmp_path / "judge.toml"
        path.write_text(HEAD.format(task="score") + verdict)
        return [one.rule.id for one in lint(subjects_of(path)).findings]

    assert "verdict-not-asked" not in rules("formula = 'facts'\nparts = { facts = { label = 'Facts' } }")
    assert "verdict-not-asked" in rules("formula = 'facts - b'\nparts = { facts = {}, b = { label = 'Tone' } }")
    assert "verdict-not-asked" not in rules("format = 'json'\nformula = 'facts'\nparts = { facts = {} }")
    for kind in ("json", "tag"):
        assert "verdict-not-asked" in rules(f"format = '{kind}'\nformula = 'tone'\nparts = {{ tone = {{}} }}")
