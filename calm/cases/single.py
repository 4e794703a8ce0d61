"""Cases with one answer of which nothing says what it is worth: what can be done with them."""

from __future__ import annotations

from collections.abc import Sequence

from calm.core.case import Case

TASKS_OF_ONE = 'a judge with task = "score" or "label" takes one (a planted one: task=score)'
"""Which judge takes a case with one answer."""


def about_single(cases: Sequence[Case]) -> str:
    """
    Return what to do with cases of one answer without gold; nothing if there are none.

    >>> from calm.core.case import Answer
    >>> print(about_single([Case("c", "Why?", (Answer("a", "So."),))]))  # doctest: +ELLIPSIS
    1 of 1 cases have one answer and no gold: a judge with task = "score" or "label" takes one (a planted ...
    """
    bare = [case for case in cases if len(case.answers) == 1 and not (case.scores or case.criteria or case.label)]
    if not bare:
        return ""
    example = f'"scores": {{"{bare[0].answers[0].id}": 7}}'
    return (
        f"{len(bare)} of {len(cases)} cases have one answer and no gold: {TASKS_OF_ONE}. A judge of pairs is asked "
        "whether a cue decides between the answer and its copy, and whether harm to one of them is noticed. "
        "All suites for scores run without gold, except self-preference, which then only observes. Planted judges need "
        f"it. To say what an answer is worth, add {example} to its line"
    )
