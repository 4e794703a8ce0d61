"""What may be written in `.proves(...)` and `.observe(...)`: claims or measures, for the judge's kind of verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from calm.core.claims import Claim
from calm.core.verdict import FAMILIES, Family
from calm.errors import ClaimError

T = TypeVar("T")


def chosen_claims(
    question: object, family: Family, claims: Sequence[Claim], by_task: Mapping[str, Sequence[Claim]]
) -> Sequence[Claim]:
    """
    Return the claims for a kind of verdict: those of its keyword, else the positional ones.

    Raises:
        ClaimError: no claims, something that is no claim, or two claims about one measure.
    """
    chosen = chosen_for(family, claims, by_task)
    for name, group in by_task.items():
        if isinstance(group, Claim):
            raise ClaimError(f"{question!r}: expected a list of claims, {name}=[...], got {name}={group}")
    if not claims and not by_task:
        raise ClaimError(f"{question!r}: expected at least one claim such as net_robustness >= 0.95")
    for claim in (*claims, *(c for group in by_task.values() for c in group)):
        if not isinstance(claim, Claim):
            raise ClaimError(f"{question!r}: expected claims such as net_robustness >= 0.95, got {claim!r}")
    if len({c.measure for c in chosen}) < len(chosen):
        raise ClaimError(f"{question!r}: two claims about one measure; claim the stricter one")
    return chosen


def chosen_for(family: Family, positional: Sequence[T], by_task: Mapping[str, Sequence[T]]) -> Sequence[T]:
    """
    Return what is meant for a kind of verdict: its keyword's value, else the positional arguments.

    Raises:
        ClaimError: a keyword that is no kind of verdict.
    """
    if unknown := set(by_task) - set(FAMILIES):
        raise ClaimError(f"unknown kind of verdict {min(unknown)!r}; known: {', '.join(FAMILIES)}")
    return by_task.get(family, positional)
