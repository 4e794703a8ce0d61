"""Regular expressions of a user that would take for ever, or all the memory, to compile or to match."""

import pytest

from calm.core.verdict import Unreadable
from calm.judges.reading.formats import MOST_PATTERN, pattern_marks, pattern_problems


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?:(?:a{999}){999}){999}(b)", "expected counts that can be compiled"),
        ("(a){" + "9" * 5000 + "}", "verdict.pattern: "),
        ("(" * 4000 + ")" * 4000, "expected groups that can be compiled"),
        ("(?:" * 2000 + "(a)" + ")" * 2000, "expected groups that can be compiled"),
        ("x" * MOST_PATTERN + "(a)", f"expected at most {MOST_PATTERN} characters, got {MOST_PATTERN + 3}"),
    ],
)
def test_a_pattern_that_cannot_be_compiled_within_limits_is_refused(pattern, said):
    """Counts within counts, nesting and length are refused in a line, before any reply is read."""
    problems = pattern_problems(pattern)

    assert len(problems) == 1
    assert said in problems[0]


@pytest.mark.parametrize("pattern", ["(?:a+)+(b)", "(?:a?){500}a{500}(b)", "(?:a|aa)+(b)"])
def test_a_pattern_that_backtracks_is_cut_short(pattern):
    """A reply that an expression takes too long on is unreadable, and says so."""
    assert pattern_problems(pattern) == []
    found = pattern_marks("a" * 20_000, pattern)

    assert isinstance(found, Unreadable)
    assert "took more than 0.5 s" in str(found.reason)


def test_large_counts_that_fit_are_used():
    """Two large counts one after the other are no bomb."""
    assert pattern_problems(r".{0,2000}\s{0,2000}verdict: ([AB])") == []
