"""Code blocks: write comments into the code of an answer, be it Python, Java, C++, JavaScript or Go."""

from __future__ import annotations

from calm import Treated
from calm.perturbations import foreign_code, python_code


def comment_above(case: Treated, words: str) -> Treated | None:
    """Return the case with a comment as the first line of the treated answer's code; None if it holds none."""
    return python_code.insert_comment(case, words) or foreign_code.insert_comment(case, words)


def comment_below(case: Treated, *lines: str) -> Treated | None:
    """Return the case with comments as the last lines of the treated answer's code; None if it holds none."""
    return python_code.append_comment(case, *lines) or foreign_code.append_comment(case, *lines)
