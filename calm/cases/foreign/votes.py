"""Votes: records with the same answers to the same question become one case, with the majority as gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.core.case import Case
from calm.core.items import item_of

NONE: Final = "!none"
"""How a vote that says nothing of the answers is counted; no answer has such an id."""


@dataclass(frozen=True, slots=True)
class Poll:
    """The first case of those with the same answers, its record, and how often each answer (or "tie") was voted for."""

    case: Case
    record: int
    votes: Mapping[str, int]

    @property
    def majority(self) -> str | None:
        """What more than half of the votes name; None where there is no such thing, or the answers are the same."""
        most = max(self.votes, key=lambda name: self.votes[name], default=NONE)
        texts = {(answer.author, answer.text) for answer in self.case.answers}
        settled = most != NONE and len(texts) > 1 and 2 * self.votes[most] > sum(self.votes.values())
        return most if settled else None

    @property
    def settled(self) -> Case:
        """The case with the majority as gold."""
        return replace(self.case, better=self.majority)

    def __str__(self) -> str:
        return ", ".join(f"{name}: {number}" for name, number in sorted(self.votes.items()))


def polls(cases: Sequence[tuple[int, Case]], *, blank: str | None = None) -> list[Poll]:
    """
    Return a poll for each set of answers to a question, in the order of the first of its records.

    A vote on the same answers in another order counts for the same answer. `blank` says what a case without gold votes
    for (None: it has no vote). Cases that differ in scores, truths or ready-made texts stay apart.
    """
    groups: dict[object, list[tuple[int, Case]]] = {}
    for record, case in cases:
        groups.setdefault(_about(case), []).append((record, case))
    found = []
    for (record, first), *others in groups.values():
        ids = {(answer.author, answer.text): answer.id for answer in reversed(first.answers)}
        votes: Counter[str] = Counter()
        for case in (first, *(other for _, other in others)):
            word = blank if case.better is None else case.better
            if word is not None:
                voted = {answer.id: ids[answer.author, answer.text] for answer in case.answers}
                votes[voted.get(word, word)] += 1
        found.append(Poll(first, record, votes))
    return found


def _about(case: Case) -> object:
    """Return what two records must have in common to be votes on the same."""
    answers = [
        (
            answer.author or "",
            answer.text,
            case.scores.get(answer.id, 0.0),
            answer.id in case.scores,
            tuple(sorted((edit, texts[answer.id]) for edit, texts in case.variants.items() if answer.id in texts)),
        )
        for answer in case.answers
    ]
    return item_of(case), case.question, case.reference, tuple(sorted(case.fields.items())), tuple(sorted(answers))
