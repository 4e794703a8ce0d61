"""Faults of a judge's prompt, found before any call. The rules in words: docs/reference/lint.md."""

from calm.judges.lint.linting import RULES, SEVERITIES, Finding, Linted, Rule, Severity, lint
from calm.judges.lint.subject import judges_of, subject_of, subjects_of

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
