"""Faults of a judge's prompt, found before any call. The rules in words: docs/reference/lint.md."""

from calm.judges.lint.bare import subject_of
from calm.judges.lint.catalogue import RULES, SEVERITIES, Rule, Severity
from calm.judges.lint.from_judge import judges_of, subjects_of
from calm.judges.lint.linting import Finding, Linted, lint

__all__ = [
    "RULES",
    "SEVERITIES",
    "Finding",
    "Linted",
    "Rule",
    "Severity",
    "judges_of",
    "lint",
    "subject_of",
    "subjects_of",
]
