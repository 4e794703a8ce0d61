"""The words of a diagnosis: what moves the verdicts of a judge, why something is named, and whether anything can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calm.results.tabular import Unread

WORDS: Final[Mapping[str, str]] = {
    "noise": "two asks in the same words differ by",
    "prompt": "another wording of the prompt adds",
    "criterion": "another wording of the criteria adds",
}
"""What is measured, by its source."""
CAUSES: Final[Mapping[str, str]] = {
    "noise": "the same words get different verdicts",
    "prompt": "the verdict turns on the wording of the prompt",
    "criterion": "the verdict turns on the wording of the criterion",
}
"""Why a case or a criterion is named, by its source."""
UNASKED: Final[Mapping[str, str]] = {
    "noise": "no case was asked twice in the same words",
    "prompt": "there is no prompt that calm can reword, or no wording of it was asked twice",
    "criterion": "the judge is shown no criteria, or no wording of them was asked twice",
}
"""Why a source has no figure."""
SILENT: Final = "-: no reply in these words could be read"
"""The same where it was asked."""
UNREAD: Final = "verdicts that could not be read"
KINDS: Final[Mapping[str, str]] = {"prompt": " in other prompts", "criterion": " in other criteria"}
"""Where a reply stood, by the kind of its wording."""


def silent(source: str, unread: Mapping[str, Unread]) -> bool:
    """Return whether no reply in the judge's own words could be read, or none in those of a source."""
    asked = [one for kind in ("base", source) if (one := unread.get(kind)) and one.of]
    return any(one.count == one.of for one in asked)


def unread_in_words(unread: Mapping[str, Unread]) -> str:
    """
    Return how many verdicts could not be read, by the kind of wording.

    >>> unread_in_words({"base": Unread(1, 80), "prompt": Unread(0, 160)})
    '1 of 80, 0 of 160 in other prompts'
    """
    return ", ".join(f"{one}{KINDS.get(kind, '')}" for kind, one in unread.items())


def title_of(named: int, most: int, needed: int) -> str:
    """
    Return a diagnosis in a line: how much is named, or that no case could be, as each was asked too few times.

    >>> title_of(0, 4, 12), title_of(0, 32, 12), title_of(1, 32, 12)
    ('Too few asks to name a case', 'Nothing is named', '1 case or criterion named')
    """
    if named:
        return f"{named} {'case or criterion' if named == 1 else 'cases and criteria'} named"
    return "Too few asks to name a case" if most < needed else "Nothing is named"


def count_in_words(cases: int, criteria: int) -> str:
    """
    Return how much was tested.

    >>> count_in_words(1, 0), count_in_words(20, 3)
    ('1 case', '20 cases and 3 criteria')
    """
    shown = f"{cases} {'case' if cases == 1 else 'cases'}"
    return f"{shown} and {criteria} {'criterion' if criteria == 1 else 'criteria'}" if criteria else shown


def rule_in_words(rate: float, wrong: float) -> str:
    """Return for what a case or a criterion is named, and how many of the names are wrong."""
    return (
        f"another verdict than usual in more than {rate:.0%} of asks; on average at most {wrong:.0%} of the names "
        f"are wrong"
    )
