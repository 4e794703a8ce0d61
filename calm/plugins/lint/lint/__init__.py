"""Faults of a judge's prompt, found before any call. The rules in words: docs/reference/lint.md."""

from pathlib import Path

from calm.plugins.lint.lint.linting import (
    RULES,
    SEVERITIES,
    Finding,
    Linted,
    Rule,
    Severity,
    lint,
)
from calm.plugins.lint.lint.subject import (
    CasesOf,
    judges_of,
    subject_of,
    subjects_of,
)

__all__ = [
    "RULES",
    "SEVERITIES",
    "Finding",
    "Linted",
    "Rule",
    "Severity",
    "judges_of",
    "lint",
    "of_file",
    "subject_of",
    "subjects_of",
]


def of_file(path: Path, cases_of: CasesOf | None = None) -> Linted:
    """Return what the rules find in a judge.toml. Raises `ConfigError` as `subjects_of` does."""
    return lint(subjects_of(path, cases_of))
